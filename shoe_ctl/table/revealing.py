"""From face down to complete: cards revealed, totals announced, third cards due.

In: exposures, ticks. Out: round.card_revealed .total_announced; what follows a card that is seen.
Must not know: how cards are drawn, what a round pays, what an irregularity is.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from shoe_ctl.games.table_of_play import next_hand, total
from shoe_ctl.texts.message import Message, message

from . import passing, shoe_cards
from .arguments import OfHand, read
from .state import DealtCard, TableState
from .turn import Turn


class OfCards(OfHand, frozen=True, kw_only=True):
    """Which cards lie open: the hand's, or one of them; ``by`` whom, where it is not plain."""

    index: int | None = None
    by: Literal["dealer", "holder"] | None = None


# What was seen.


def shows_cards_at_once(turn: Turn) -> bool:
    """Cards are dealt face up: time alone reveals them."""
    return turn.faces == "face_up"


def is_misnamed(turn: Turn) -> bool:
    """The command does not say rightly what is exposed: nothing of it is, then."""
    return why_misnamed(turn) is not None


def why_misnamed(turn: Turn) -> Message | None:
    """What is wrong with how the cards are named."""
    args = read(turn, OfCards)
    return args if isinstance(args, Message) else None


def can_expose(turn: Turn) -> bool:
    """The command names cards of this round that are still face down."""
    return bool(named_to_expose(turn))


def totals_may_be_announced(turn: Turn) -> bool:
    """The initial four are seen and their totals were not announced yet."""
    return turn.round.all_revealed and not turn.round.totals_announced


def no_totals_now(turn: Turn) -> Message:
    """Why the totals cannot be announced."""
    seen = turn.round.all_revealed
    return message("refused_totals_announced") if seen else message("refused_not_every_card_seen")


def is_complete(turn: Turn) -> bool:
    """Totals are announced, every card is seen, and the Table of Play wants no further card."""
    played = turn.round
    return played.totals_announced and played.all_revealed and due_hand(turn) is None


def result_is_awaited(now: TableState) -> bool:
    """Shoes of this profile judge too, and the open round's result did not come yet."""
    played = now.round
    if played is None or not now.link.judges:
        return False
    return played.result is None and not played.result_overruled


def named_to_expose(turn: Turn) -> list[DealtCard]:
    """The cards lying face down that the command names, also those nobody could read."""
    hand, index = turn.command.args.get("hand"), turn.command.args.get("index")
    return turn.round.face_down(hand, index)


def due_hand(turn: Turn) -> str | None:
    """The hand that the Table of Play gives a third card; all cards so far must be revealed."""
    return next_hand(turn.round.hand("player"), turn.round.hand("banker"))


# What is done.


def expose(turn: Turn) -> None:
    """The dealer, or the Player who holds the hand, turns the named cards of it."""
    seen = named_to_expose(turn)
    reveal(turn, seen, passing.note_exposure(turn, seen[0].hand))


def reveal_due(turn: Turn) -> None:
    """Reveal the cards that lie face up long enough for the table to have seen them."""
    if shows_cards_at_once(turn):
        drawn_by_us = turn.now.t_us - turn.settings.face_up_after_ms * 1000
        due = [d for d in turn.round.cards if not d.revealed and d.drawn_us <= drawn_by_us]
        if due:
            reveal(turn, due)


def reveal(turn: Turn, seen: list[DealtCard], exposed: dict[str, str | None] | None = None) -> None:
    """The room has seen these cards; one that nobody could read stays as it is."""
    known = [(d, d.card) for d in seen if d.card is not None]
    shown = [dealt for dealt, _ in known]
    cards = [replace(d, revealed=True) if d in shown else d for d in turn.round.cards]
    turn.set_round(cards=tuple(cards))
    for dealt, card in known:
        shoe_cards.show(turn, card)
        data = {"hand": dealt.hand, "index": dealt.index, "card": card.code}
        turn.tell("round.card_revealed", data, restricted={**data, **exposed} if exposed else None)


def advance(turn: Turn) -> None:
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
    if turn.implied and not result_is_awaited(turn.now):
        turn.then("outcome_due")


def announce_totals(turn: Turn) -> None:
    """Both totals of the initial deal (I 3.13, N/F 3.14, T 3.15)."""
    turn.set_round(totals_announced=True)
    for hand in ("player", "banker"):
        data = {"hand": hand, "total": total(turn.round.hand(hand)[:2])}
        turn.announce("round.total_announced", data, by="announce_totals")


def want_third_card(turn: Turn) -> None:
    """A third card is due: only now, that revealed cards imply it, may it be armed."""
    turn.set_round(due=due_hand(turn))
