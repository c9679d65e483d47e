"""Cards drawn as one whose order the shoe does not have: what it read of them, until all are named.

In: the draws, what the shoe read, what people name as each lies open. Out: whether that is what was
read; the ledger, which keeps the readings. Must not know: who names a card, why the order is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from firmware_proto.cards import Card

from . import shoe_cards
from .state import CardOnTable, Pull, TableState
from .turn import Turn

# What was seen.


def find(now: TableState, number: int | None) -> Pull | None:
    """The pull that this draw is of, while nobody named the card."""
    pulls = () if now.shoe is None else now.shoe.pulls
    return next((pull for pull in pulls if number in pull.numbers), None)


def left(pull: Pull) -> list[Card | None]:
    """What is counted for the cards that nobody named yet, None for one that was not read.

    A card that was named otherwise took the place of one that the shoe could not read, if there
    was one, else of the first.
    """
    known, unread, strange = _open(pull)
    return [*known[max(0, strange - unread) :], *[None] * max(0, unread - strange)]


def _open(pull: Pull) -> tuple[list[Card], int, int]:
    """The readings that nobody named, how many could not be read, how many were named otherwise."""
    read, strange = list(pull.read), 0
    for face in pull.named:
        if face in read:
            read.remove(face)
        else:
            strange += 1
    known = [card for card in read if card is not None]
    return known, len(read) - len(known), strange


def can_be(now: TableState, faces: Iterable[tuple[int | None, Card]]) -> bool:
    """Each of these draws may be the card that is named for it, by what the shoe has read."""
    named: dict[tuple[int, ...], list[Card]] = {}
    for number, face in faces:
        if (pull := find(now, number)) is not None:
            named.setdefault(pull.numbers, []).append(face)
    return all(_fit(find(now, numbers[0]), each) for numbers, each in named.items())


def _fit(pull: Pull | None, faces: list[Card]) -> bool:
    assert pull is not None, "looked for before"
    known, unread, strange = _open(pull)
    return (Counter(faces) - Counter(known)).total() <= max(0, unread - strange)


# What is done.


def begin(turn: Turn, cards: tuple[CardOnTable, ...]) -> None:
    """Which of these is which nobody knows any more: the ledger keeps what the shoe read."""
    numbers = tuple(card.number for card in cards if card.number is not None)
    if numbers:
        pull = Pull(numbers=numbers, read=tuple(card.card for card in cards))
        turn.set_shoe(pulls=(*turn.shoe.pulls, pull))


def name(turn: Turn, number: int, face: Card) -> None:
    """The card of this draw was counted and not known: it is this one."""
    pull = find(turn.now, number)
    if pull is None:
        shoe_cards.name_unseen(turn, face)
        return
    before = left(pull)
    rest = tuple(one for one in pull.numbers if one != number)
    after = msgspec.structs.replace(pull, numbers=rest, named=(*pull.named, face))
    others = (one for one in turn.shoe.pulls if one is not pull)
    turn.set_shoe(pulls=(*others, after) if rest else tuple(others))
    _count(turn, pull, before, [face, *left(after)])


def _count(turn: Turn, pull: Pull, before: list[Card | None], now: list[Card | None]) -> None:
    """The ledger held the cards ``before``; it holds these instead."""
    for gone, come in zip(
        (Counter(before) - Counter(now)).elements(),
        (Counter(now) - Counter(before)).elements(),
        strict=True,
    ):
        assert come is not None, "what is named is known"
        if gone is None:
            shoe_cards.name_unseen(turn, come)
        else:
            shoe_cards.overrule(turn, gone, come)
            if come in pull.read:  # overruled before, and there all the same
                shoe_cards.bear_out(turn, come)


def give_up(turn: Turn, number: int) -> None:
    """One of them is in the shoe again, and nobody knows which: none of them is known."""
    pull = find(turn.now, number)
    if pull is None:
        return
    for card in left(pull):
        if card is not None:
            shoe_cards.forget(turn, card)
    turn.set_shoe(pulls=tuple(one for one in turn.shoe.pulls if one is not pull))
