"""Cards that nobody could read: one waits face down in its slot, one that lies open is entered.

In: unread cards in their slots, exposures. Out: the misread irregularity beside the round, or as
a halt. Must not know: who enters a card, what the round wants next.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from . import placing, pulls
from .arguments import checked
from .cause import Cause
from .irregularities import stack
from .irregularities.double_draw import KEY as DOUBLE_DRAW
from .irregularities.double_draw import NAME
from .irregularities.misread import KEY, KNOWN, READ
from .revealing import ExposedCards, advance, expose, named_to_expose, shows_cards_at_once
from .state import DealtCard, Opened
from .turn import Turn

KEYS = (KEY, DOUBLE_DRAW)

# What was seen.


def waits_for_a_reading(turn: Turn) -> bool:
    """The shoe names the slot of a card that it could not read before, and reads it now."""
    drawn, played = turn.drawn, turn.now.round
    if played is None or drawn.card is None or drawn.number is not None:
        return False
    if drawn.card not in turn.game.deck:
        return False
    named = (drawn.hand, drawn.index)
    return any(d.card is None and (d.hand, d.index) == named for d in played.cards)


def exposes_unread(turn: Turn) -> bool:
    """The command turns a card that nobody could read."""
    named = named_to_expose(turn, checked(turn, ExposedCards))
    return any(dealt.card is None for dealt in named)


def is_due_for_entry(turn: Turn) -> bool:
    """A card that nobody could read lies for all to see, and nothing is open for it yet."""
    return shows_cards_at_once(turn) and bool(_open(turn))


def _open(turn: Turn) -> list[DealtCard]:
    """The unread cards of the round for which nothing is open yet."""
    unread = [dealt for dealt in turn.round.cards if dealt.card is None]
    return [d for d in unread if not any(stack.is_open(turn, k, d.subject) for k in KEYS)]


def _cause(turn: Turn, dealt: DealtCard) -> Cause:
    """Why nobody knows the card: which of a pull it is, or what the shoe said of it, or nothing."""
    noted, subject = {"hand": dealt.hand, "index": dealt.index}, dealt.subject
    if pulls.find(turn.now, dealt.number) is not None:
        seen = message("seen_card_of_a_pull", hand=dealt.hand, index=dealt.index)
        return Cause(DOUBLE_DRAW, seen, subject=subject, noted=noted, step=NAME)
    if dealt.number in turn.shoe.entered:
        seen = message("seen_card_only_entered", hand=dealt.hand, index=dealt.index)
    else:
        seen = message("seen_card_not_read", hand=dealt.hand, index=dealt.index)
    return Cause(KEY, seen, subject=subject, noted=noted, step="enter")


# What is done.


def wait_face_down(turn: Turn) -> None:
    """It holds its slot, and play goes on; it is never pulled from a squeeze."""
    for dealt in _open(turn):
        stack.wait_beside(turn, _cause(turn, dealt))


def halt_for_unread(turn: Turn) -> None:
    """It lies for all to see, and is entered at once."""
    for dealt in _open(turn):
        stack.raise_irregularity(turn, _cause(turn, dealt))


def expose_cards(turn: Turn) -> None:
    """The named cards lie open; where one is unread the table halts, else play goes on."""
    halts = exposes_unread(turn)
    expose(turn)
    if halts:
        turn.then("unread_exposed")
    else:
        advance(turn)


def halt_for_exposed(turn: Turn) -> None:
    """Those exposed now are entered now, the first of the hand first."""
    args = checked(turn, ExposedCards)
    waiting = [opened for opened in turn.now.waiting if _is_of(opened, args.hand, args.index)]
    for opened in reversed(waiting):
        stack.halt_for_waiting(turn, opened, opened.step)


def take_reading(turn: Turn) -> None:
    """The card that waited face down is known to those who may know it."""
    drawn = turn.drawn
    assert drawn.card is not None and drawn.hand is not None and drawn.index is not None
    slot = (drawn.hand, drawn.index)
    placing.read_again(turn, slot, drawn.card)
    close_read(turn, slot)


def close_read(turn: Turn, slot: tuple[str, int]) -> None:
    """The card that waited in this slot is known: nobody needs to enter it."""
    for opened in turn.now.waiting:
        if _is_of(opened, *slot):
            stack.close_waiting(turn, opened, READ)


def close_known(turn: Turn) -> None:
    """Cards that were named as a part of something else are not entered any more."""
    for opened in turn.now.waiting:
        if _is_of_a_slot(opened) and placing.find(turn, _slot(opened)).card is not None:
            stack.close_waiting(turn, opened, KNOWN)


def _slot(opened: Opened) -> tuple[str, int]:
    return opened.noted["hand"], opened.noted["index"]


def _is_of(opened: Opened, hand: object, index: object) -> bool:
    noted = opened.noted
    return _is_of_a_slot(opened) and noted["hand"] == hand and index in (None, noted["index"])


def _is_of_a_slot(opened: Opened) -> bool:
    """It waits until the card in a slot is known."""
    return (opened.key, opened.step) in ((KEY, "enter"), (DOUBLE_DRAW, NAME))
