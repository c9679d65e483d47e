"""Cards drawn together in an unknown order (a pull), counted as read until people name each one.

In: the draws of a pull, what the shoe read, what people name as each card lies open. Out: whether a
name agrees with the readings; the ledger, corrected as names come in.
Must not know: who names a card, why the order is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import CardOnTable, Pull, TableState
from shoe_ctl.table.turn import Turn

# Conditions.


def find_pull(now: TableState, number: int | None) -> Pull | None:
    """Return the pull that this draw is part of, as long as its card is not named."""
    pulls = () if now.shoe is None else now.shoe.pulls
    return next((pull for pull in pulls if number in pull.numbers), None)


def can_be_named(now: TableState, faces: Iterable[tuple[int | None, Card]]) -> bool:
    """True if the readings allow each of these draws to be the card named for it."""
    named: dict[tuple[int, ...], list[Card]] = {}
    for number, face in faces:
        if (pull := find_pull(now, number)) is not None:
            named.setdefault(pull.numbers, []).append(face)
    return all(_can_assign(find_pull(now, numbers[0]), each) for numbers, each in named.items())


def _can_assign(pull: Pull | None, faces: list[Card]) -> bool:
    """True if the cards not yet named may have these faces."""
    assert pull is not None, "found before"
    known, unread, unmatched = _unnamed(pull)
    return (Counter(faces) - Counter(known)).total() <= max(0, unread - unmatched)


def remaining_counts(pull: Pull) -> list[Card | None]:
    """Return what the ledger counts for the cards not yet named; None for an unread one.

    A card that was named as something the shoe did not read takes the place of an unread card, or
    of the first reading if there is none.
    """
    known, unread, unmatched = _unnamed(pull)
    return [*known[max(0, unmatched - unread) :], *[None] * max(0, unread - unmatched)]


def _unnamed(pull: Pull) -> tuple[list[Card], int, int]:
    """Return the readings not yet named, the number of unread cards, and of names of no reading."""
    read, unmatched = list(pull.read), 0
    for face in pull.named:
        if face in read:
            read.remove(face)
        else:
            unmatched += 1
    known = [card for card in read if card is not None]
    return known, len(read) - len(known), unmatched


# Actions.


def begin_pull(turn: Turn, cards: tuple[CardOnTable, ...]) -> None:
    """Record that nobody knows which of these cards is which; keep what the shoe read."""
    numbers = tuple(card.number for card in cards if card.number is not None)
    if numbers:
        pull = Pull(numbers=numbers, read=tuple(card.card for card in cards))
        turn.set_shoe(pulls=(*turn.shoe.pulls, pull))


def name_pulled_card(turn: Turn, number: int, face: Card) -> None:
    """Record which card this draw is, after it was counted without being known."""
    pull = find_pull(turn.now, number)
    if pull is None:
        card_ledger.name_unknown_card(turn, face)
        return
    before = remaining_counts(pull)
    rest = tuple(one for one in pull.numbers if one != number)
    after = msgspec.structs.replace(pull, numbers=rest, named=(*pull.named, face))
    others = (one for one in turn.shoe.pulls if one is not pull)
    turn.set_shoe(pulls=(*others, after) if rest else tuple(others))
    _recount(turn, pull, before, [face, *remaining_counts(after)])


def _recount(turn: Turn, pull: Pull, before: list[Card | None], now: list[Card | None]) -> None:
    """Change what the ledger counts for this pull from ``before`` to ``now``."""
    for gone, come in zip(
        (Counter(before) - Counter(now)).elements(),
        (Counter(now) - Counter(before)).elements(),
        strict=True,
    ):
        assert come is not None, "what is named is known"
        if gone is None:
            card_ledger.name_unknown_card(turn, come)
        else:
            card_ledger.overrule_reading(turn, gone, come)
            if come in pull.read:  # it was overruled before, and is in the pull after all
                card_ledger.confirm_reading(turn, come)


def forget_pull(turn: Turn, number: int) -> None:
    """Count the cards of the pull of this draw as unknown.

    One of them is in the shoe again, and nobody knows which.
    """
    pull = find_pull(turn.now, number)
    if pull is None:
        return
    for card in remaining_counts(pull):
        if card is not None:
            card_ledger.forget_card(turn, card)
    turn.set_shoe(pulls=tuple(one for one in turn.shoe.pulls if one is not pull))
