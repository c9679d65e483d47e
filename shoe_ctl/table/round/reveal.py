"""The reveal: cards exposed, totals announced, a third card or the outcome due.

In: what people expose, the time, the cards in their slots. Out: round.card_revealed
.total_announced, the trigger for what comes next.
Must not know: how cards are drawn, what a round pays, what an irregularity is.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from shoe_ctl.games.table_of_play import next_hand, total
from shoe_ctl.table.arguments import HandName, Possible, require_args
from shoe_ctl.table.round import hands
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import DealtCard, Round, TableState
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message


class ExposedCards(HandName, frozen=True, kw_only=True):
    """The cards of a hand that are exposed, and who exposes them."""

    index: int | None = None
    """The one card; None: all of the hand that lie face down."""

    by: Literal["dealer", "holder"] | None = None
    """The one who exposes them. None: the Player who holds the hand, else the dealer."""


# Conditions.


def result_due_us(view: TableView, played: Round) -> int | None:
    """Return when the shoe's own result is overdue, if the round waits for it."""
    if played.complete_us is None or not is_result_awaited(view.now):
        return None
    return played.complete_us + view.settings.result_timeout_s * 1_000_000


def check_expose(turn: Turn, args: ExposedCards | None) -> Message | None:
    """Return why these cards cannot be exposed now."""
    if args is not None:
        if not cards_to_expose(turn, args):
            return check_face_down(turn, args.hand, args.index)
        return hands.check_exposure(turn, args.hand, args.by)
    face_down = dict.fromkeys(dealt.hand for dealt in turn.round.cards if not dealt.revealed)
    found = [hands.check_exposure_by_anyone(turn, hand) for hand in face_down]
    if None in found:
        return None
    return message("refused_each", reasons=found) if found else message("refused_no_card_face_down")


def cards_that_can_be_exposed(turn: Turn) -> Possible:
    """Return the hands of which cards can be exposed now, and the places of these cards."""
    face_down = [dealt for dealt in turn.round.cards if not dealt.revealed]
    hands_of = dict.fromkeys(dealt.hand for dealt in face_down)
    free = [h for h in hands_of if hands.check_exposure_by_anyone(turn, h) is None]
    return {"hand": free, "index": sorted({d.index for d in face_down if d.hand in free})}


def check_face_down(turn: Turn, hand: str, index: int | None) -> Message | None:
    """Return that of this hand no card lies face down, or not the one at ``index``."""
    if turn.round.face_down(hand, index):
        return None
    if index is None or not turn.round.face_down(hand):
        return message("refused_hand_not_face_down", hand=hand)
    return message("refused_card_not_face_down", hand=hand, index=index)


def cards_to_expose(turn: Turn, args: ExposedCards) -> list[DealtCard]:
    """Return the face-down cards that the command names, unread ones included."""
    return turn.round.face_down(args.hand, args.index)


def check_totals(turn: Turn, _args: object = None) -> Message | None:
    """Return why the totals cannot be announced: a card is hidden, or they were announced."""
    if not turn.round.all_revealed:
        return message("refused_not_every_card_seen")
    return message("refused_totals_announced") if turn.round.totals_announced else None


def is_dealt_face_up(turn: Turn) -> bool:
    """True if cards are dealt face up: they count as revealed after a set time."""
    return turn.settings.faces == "face_up" and turn.faces == "face_up"


def is_complete(turn: Turn) -> bool:
    """True if totals are announced, all cards revealed and no further card is due."""
    played = turn.round
    return played.totals_announced and played.all_revealed and due_hand(turn) is None


def due_hand(at: TableView) -> str | None:
    """Return the hand that gets a third card by the Table of Play, or None.

    All cards dealt so far must be revealed.
    """
    return next_hand(at.round.hand("player"), at.round.hand("banker"))


def is_result_awaited(now: TableState) -> bool:
    """True if this shoe judges rounds itself and its result for this round is missing."""
    played = now.round
    if played is None or not now.link.judges:
        return False
    return played.result is None and not played.result_overruled


# Actions.


def expose(turn: Turn) -> None:
    """Reveal the cards that the dealer, or the Player who holds the hand, exposes."""
    seen = cards_to_expose(turn, require_args(turn, ExposedCards))
    reveal(turn, seen, hands.note_exposure(turn, seen[0].hand))


def reveal_face_up_cards(turn: Turn) -> None:
    """Reveal the cards that have lain face up for ``face_up_after_ms``."""
    if is_dealt_face_up(turn):
        drawn_by_us = turn.now.t_us - turn.settings.face_up_after_ms * 1000
        due = [d for d in turn.round.cards if not d.revealed and d.drawn_us <= drawn_by_us]
        if due:
            reveal(turn, due)


def reveal(turn: Turn, seen: list[DealtCard], exposed: dict[str, str | None] | None = None) -> None:
    """Reveal these cards to the room; ``exposed`` says by whom, for the restricted stream.

    A card that could not be read is skipped: it is revealed when people enter it.
    """
    shown = [dealt for dealt in seen if dealt.card is not None]
    cards = [replace(d, revealed=True) if d in shown else d for d in turn.round.cards]
    turn.set_round(cards=tuple(cards))
    for dealt in shown:
        assert dealt.card is not None
        card_ledger.show_card(turn, dealt.card)
        data = {"hand": dealt.hand, "index": dealt.index, "card": dealt.card.code}
        turn.emit("round.card_revealed", data, restricted={**data, **exposed} if exposed else None)


def advance_round(turn: Turn) -> None:
    """Once every card is revealed, do what comes next: totals, a third card or the outcome.

    Totals and the outcome are announced here only if announcements are implied.
    """
    if turn.state != "revealing" or not turn.round.all_revealed:
        return
    if not turn.round.totals_announced:
        if not turn.implied:
            return
        announce_totals(turn)
    if due_hand(turn) is not None:
        turn.fire("third_card_due")
        return
    if turn.now.early:
        turn.fire("overdrawn")
        return
    if turn.round.complete_us is None:
        turn.set_round(complete_us=turn.now.t_us)
    if turn.implied and not is_result_awaited(turn.now):
        turn.fire("outcome_due")


def call_totals(turn: Turn) -> None:
    """Announce both totals as the dealer says, and go on with the round."""
    announce_totals(turn)
    advance_round(turn)


def announce_totals(turn: Turn) -> None:
    """Announce both totals of the initial deal (I 3.13, N/F 3.14, T 3.15)."""
    turn.set_round(totals_announced=True)
    for hand in ("player", "banker"):
        data = {"hand": hand, "total": total(turn.round.hand(hand)[:2])}
        turn.announce("round.total_announced", data, by="announce_totals")


def call_for_third_card(turn: Turn) -> None:
    """Make a third card due.

    Only now may the shoe be armed for it: to arm it before the revealed cards imply the draw would
    give away a hidden card.
    """
    turn.set_round(due=due_hand(turn))
