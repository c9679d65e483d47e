"""Two cards that lie in each other's place, where a person says so: they change places.

In: the places of two cards that nobody has seen. Out: the choice, the cards exchanged.
Must not know: which cards they are, why they lay there.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.table.arguments import OfChoice, checked
from shoe_ctl.table.round import unplaced
from shoe_ctl.table.state import CardOnTable, DealtCard, Opened, subject_of_draw
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .grounds import tell_moved
from .procedure import Choice

Place = Literal[
    "player 1", "player 2", "player 3", "banker 1", "banker 2", "banker 3", "drawn early"
]
_EARLY = "drawn early"
"""Where the card lies that was drawn early, the first of them."""


class OfTwoCards(OfChoice, frozen=True, kw_only=True):
    """The places of both cards: hand and index."""

    one: Place
    other: Place


def exchange(then: str) -> Choice:
    """Two cards were recorded in each other's place: what was seen decides, not a guess."""
    return Choice(
        "exchange", "pit_supervisor", then, (_exchange,), _check_exchange, in_round=True,
        second=True, takes=OfTwoCards, when=_two_lie_face_down,
    )  # fmt: skip


def _two_lie_face_down(at: TableView) -> bool:
    return at.now.round is not None and sum(not one.seen for one in _lying(at).values()) > 1


def _lying(at: TableView) -> dict[str, CardOnTable]:
    """What lies in each place."""
    assert at.now.round is not None
    lying: dict[str, CardOnTable] = {dealt.place: dealt for dealt in at.now.round.cards}
    if at.now.early:
        lying[_EARLY] = at.now.early[0]
    return lying


def _check_exchange(turn: Turn, args: OfTwoCards | None) -> Message | None:
    if args is None:
        known = [one for one in _lying(turn).values() if one.card and not one.seen]
        return None if len(known) > 1 else message("refused_no_two_cards")
    if args.one == args.other:
        return message("refused_name_two_cards")
    lying = _lying(turn)
    for place in (args.one, args.other):
        if place not in lying:
            return message("refused_no_card_there", place=place)
        if lying[place].seen:
            return message("refused_card_stays", place=place)
        if lying[place].card is None:
            return message("refused_card_not_known", place=place)
    return None


def _exchange(turn: Turn) -> None:
    args, lying = checked(turn, OfTwoCards), _lying(turn)
    instead: dict[str, CardOnTable] = {args.one: lying[args.other], args.other: lying[args.one]}
    cards = tuple(_with_card_of(dealt, instead.get(dealt.place)) for dealt in turn.round.cards)
    turn.set_round(cards=cards)
    if _EARLY in instead:
        first, other = turn.now.early[0], instead[_EARLY]
        named = first.subject, subject_of_draw(unplaced.draw_of(other))
        waiting = tuple(_renamed(opened, *named) for opened in turn.now.waiting)
        turn.change(waiting=waiting)
        unplaced.change_card(turn, first, card=other.card, number=other.number)
    tell_moved(turn, "exchanged", [args.one, args.other])


def _with_card_of(here: DealtCard, there: CardOnTable | None) -> DealtCard:
    """What lies in this slot once the other card is put there."""
    if there is None:
        return here
    return msgspec.structs.replace(here, card=there.card, number=unplaced.draw_of(there))


def _renamed(opened: Opened, old: str, new: str) -> Opened:
    """What waits for a card drawn early is known by the number of its draw."""
    return msgspec.structs.replace(opened, subject=new) if opened.subject == old else opened
