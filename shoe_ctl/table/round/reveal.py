"""From face down to complete: cards revealed, totals announced, third cards due.

In: exposures, ticks. Out: round.card_revealed .total_announced; what follows a card that is seen.
Must not know: how cards are drawn, what a round pays, what an irregularity is.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from shoe_ctl.games.table_of_play import next_hand, total
from shoe_ctl.texts.message import Message, message

from ..arguments import HandName, require_args
from ..shoe import ledger as card_ledger
from ..state import DealtCard, TableState
from ..turn import Turn
from . import hands
from .hands import check_exposure, check_exposure_by_anyone


class ExposedCards(HandName, frozen=True, kw_only=True):
    """Which cards lie open: the hand's, or one of them; ``by`` whom, where it is not plain."""

    index: int | None = None
    by: Literal["dealer", "holder"] | None = None


# What was seen.


def shows_cards_at_once(turn: Turn) -> bool:
    """Cards are dealt face up: time alone reveals them."""
    return turn.settings.faces == "face_up" and turn.faces == "face_up"


def check_exposing(turn: Turn, args: ExposedCards | None) -> Message | None:
    """What stands against turning these cards over now."""
    none = message("refused_no_card_face_down")
    if args is not None:
        if not named_to_expose(turn, args):
            return none
        return check_exposure(turn, args.hand, args.by)
    hands = dict.fromkeys(dealt.hand for dealt in turn.round.cards if not dealt.revealed)
    found = [check_exposure_by_anyone(turn, hand) for hand in hands]
    if None in found:
        return None
    return message("refused_each", reasons=found) if found else none


def check_totals(turn: Turn, _args: object = None) -> Message | None:
    """The initial four were not all seen, or their totals are announced."""
    if not turn.round.all_revealed:
        return message("refused_not_every_card_seen")
    return message("refused_totals_announced") if turn.round.totals_announced else None


def is_complete(turn: Turn) -> bool:
    """Totals are announced, every card is seen, and the Table of Play wants no further card."""
    played = turn.round
    return played.totals_announced and played.all_revealed and due_hand(turn) is None


def is_result_awaited(now: TableState) -> bool:
    """Shoes of this profile judge too, and the open round's result did not come yet."""
    played = now.round
    if played is None or not now.link.judges:
        return False
    return played.result is None and not played.result_overruled


def named_to_expose(turn: Turn, args: ExposedCards) -> list[DealtCard]:
    """The cards lying face down that the command names, also those nobody could read."""
    return turn.round.face_down(args.hand, args.index)


def due_hand(turn: Turn) -> str | None:
    """The hand that the Table of Play gives a third card; all cards so far must be revealed."""
    return next_hand(turn.round.hand("player"), turn.round.hand("banker"))


# What is done.


def expose(turn: Turn) -> None:
    """The dealer, or the Player who holds the hand, turns the named cards of it."""
    seen = named_to_expose(turn, require_args(turn, ExposedCards))
    reveal(turn, seen, hands.note_exposure(turn, seen[0].hand))


def reveal_face_up_cards(turn: Turn) -> None:
    """Reveal the cards that lie face up long enough for the table to have seen them."""
    if shows_cards_at_once(turn):
        drawn_by_us = turn.now.t_us - turn.settings.face_up_after_ms * 1000
        due = [d for d in turn.round.cards if not d.revealed and d.drawn_us <= drawn_by_us]
        if due:
            reveal(turn, due)


def reveal(turn: Turn, seen: list[DealtCard], exposed: dict[str, str | None] | None = None) -> None:
    """The room has seen these cards; one that nobody could read stays as it is."""
    shown = [dealt for dealt in seen if dealt.card is not None]
    cards = [replace(d, revealed=True) if d in shown else d for d in turn.round.cards]
    turn.set_round(cards=tuple(cards))
    for dealt in shown:
        assert dealt.card is not None
        card_ledger.show_card(turn, dealt.card)
        data = {"hand": dealt.hand, "index": dealt.index, "card": dealt.card.code}
        turn.tell("round.card_revealed", data, restricted={**data, **exposed} if exposed else None)


def advance_round(turn: Turn) -> None:
    """What follows once every card is seen: totals, a third card, or the outcome."""
    if turn.state != "revealing" or not turn.round.all_revealed:
        return
    if not turn.round.totals_announced:
        if not turn.implied:
            return
        announce_totals(turn)
    if due_hand(turn) is not None:
        turn.then("third_card_due")
        return
    if turn.now.early:
        turn.then("overdrawn")
        return
    if turn.round.complete_us is None:
        turn.set_round(complete_us=turn.now.t_us)
    if turn.implied and not is_result_awaited(turn.now):
        turn.then("outcome_due")


def announce_totals(turn: Turn) -> None:
    """Both totals of the initial deal (I 3.13, N/F 3.14, T 3.15)."""
    turn.set_round(totals_announced=True)
    for hand in ("player", "banker"):
        data = {"hand": hand, "total": total(turn.round.hand(hand)[:2])}
        turn.announce("round.total_announced", data, by="announce_totals")


def call_totals(turn: Turn) -> None:
    """The dealer announces both totals, and play goes on."""
    announce_totals(turn)
    advance_round(turn)


def call_for_third_card(turn: Turn) -> None:
    """A third card is due: only now, that revealed cards imply it, may it be armed."""
    turn.set_round(due=due_hand(turn))
