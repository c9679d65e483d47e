"""Two cards that lie in each other's place, where a person says so: they change places.

In: the places of two cards that nobody has seen. Out: the choice, the cards exchanged.
Must not know: which cards they are, why they lay there.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.table.arguments import OfChoice, by_whom, checked
from shoe_ctl.table.state import Dealt
from shoe_ctl.table.turn import Turn

from .grounds import halt_of
from .procedure import Choice, Standing

Place = Literal["player 1", "player 2", "player 3", "banker 1", "banker 2", "banker 3"]


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
    played = at.now.round
    return played is not None and sum(not dealt.revealed for dealt in played.cards) > 1


def _why_not(turn: Turn) -> str | None:
    args = checked(turn, OfTwoCards)
    if args.one == args.other:
        return "name two cards"
    lying = {_place(dealt): dealt for dealt in turn.round.cards}
    for place in (args.one, args.other):
        if place not in lying:
            return f"no card lies there: {place}"
        if lying[place].revealed:
            return f"everyone has seen {place}: it stays where it is"
        if lying[place].card is None:
            return f"nobody could read {place}: it is named when it lies open"
    return None


def _exchange(turn: Turn) -> None:
    args = checked(turn, OfTwoCards)
    lying = {_place(dealt): dealt for dealt in turn.round.cards}
    swapped: dict[str, Dealt] = {args.one: lying[args.other], args.other: lying[args.one]}
    cards = tuple(_as(dealt, swapped.get(_place(dealt), dealt)) for dealt in turn.round.cards)
    turn.set_round(cards=cards)
    data = {"key": halt_of(turn).top.key, "step": "exchanged", "moved": [args.one, args.other]}
    turn.tell("irregularity.step", data, restricted={**data, **by_whom(turn)})


def _as(here: Dealt, there: Dealt) -> Dealt:
    return msgspec.structs.replace(here, card=there.card, number=there.number)
