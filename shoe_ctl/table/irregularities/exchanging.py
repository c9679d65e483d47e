"""Two cards that lie in each other's place, where a person says so: they change places.

In: the places of two cards that nobody has seen. Out: the choice, the cards exchanged.
Must not know: which cards they are, why they lay there.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from shoe_ctl.table import early
from shoe_ctl.table.arguments import OfChoice, checked
from shoe_ctl.table.state import Dealt, Kept, Opened
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .grounds import tell_moved
from .procedure import Choice, Standing

Place = Literal[
    "player 1", "player 2", "player 3", "banker 1", "banker 2", "banker 3", "drawn early"
]
_EARLY = "drawn early"
"""Where the card lies that was drawn early, the first of them."""

_Lying = TypeVar("_Lying", Dealt, Kept)


class OfTwoCards(OfChoice, frozen=True, kw_only=True):
    """The places of both cards: hand and index."""

    one: Place
    other: Place


def exchange(then: str) -> Choice:
    """Two cards were recorded in each other's place: what was seen decides, not a guess."""
    return Choice(
        "exchange", "pit_supervisor", then, (_exchange,), _why_not, in_round=True, second=True,
        takes=OfTwoCards, when=_two_lie_face_down,
    )  # fmt: skip


def _place(dealt: Dealt) -> str:
    return f"{dealt.hand} {dealt.index}"


def _two_lie_face_down(at: Standing) -> bool:
    return at.now.round is not None and sum(not _was_seen(one) for one in _lying(at).values()) > 1


def _lying(at: Standing) -> dict[str, Dealt | Kept]:
    """What lies in each place."""
    assert at.now.round is not None
    lying: dict[str, Dealt | Kept] = {_place(dealt): dealt for dealt in at.now.round.cards}
    if at.now.early:
        lying[_EARLY] = at.now.early[0]
    return lying


def _was_seen(lying: Dealt | Kept) -> bool:
    return lying.revealed if isinstance(lying, Dealt) else lying.exposed


def _why_not(turn: Turn) -> Message | None:
    args = checked(turn, OfTwoCards)
    if args.one == args.other:
        return message("refused_name_two_cards")
    lying = _lying(turn)
    for place in (args.one, args.other):
        if place not in lying:
            return message("refused_no_card_there", place=place)
        if _was_seen(lying[place]):
            return message("refused_card_stays", place=place)
        if lying[place].card is None:
            return message("refused_card_not_known", place=place)
    return None


def _exchange(turn: Turn) -> None:
    args, lying = checked(turn, OfTwoCards), _lying(turn)
    instead: dict[str, Dealt | Kept] = {args.one: lying[args.other], args.other: lying[args.one]}
    cards = tuple(_as(dealt, instead.get(_place(dealt), dealt)) for dealt in turn.round.cards)
    turn.set_round(cards=cards)
    if _EARLY in instead:
        first, *rest = turn.now.early
        named = early.subject(_number(first)), early.subject(_number(instead[_EARLY]))
        waiting = tuple(_renamed(opened, *named) for opened in turn.now.waiting)
        turn.change(early=(_as(first, instead[_EARLY]), *rest), waiting=waiting)
    tell_moved(turn, "exchanged", [args.one, args.other])


def _as(here: _Lying, there: Dealt | Kept) -> _Lying:
    return msgspec.structs.replace(here, card=there.card, number=there.number)


def _number(lying: Dealt | Kept) -> int:
    assert lying.number is not None
    return lying.number


def _renamed(opened: Opened, old: str, new: str) -> Opened:
    """What waits for a card drawn early is known by the number of its draw."""
    return msgspec.structs.replace(opened, subject=new) if opened.subject == old else opened
