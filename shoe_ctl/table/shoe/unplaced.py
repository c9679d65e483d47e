"""Unplaced cards: cards that lie on the table without a slot, each in a role.

In: cards, roles. Out: ``TableState.unplaced``; the cards of one role stay in the order in which
they came to it.
Must not know: why a card has its role, what is decided about it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.table.state import CardOnTable, OpenIrregularity, Role, TableState, UnplacedCard
from shoe_ctl.table.turn import Turn


def draw_of(card: CardOnTable) -> int:
    """Return the number of the card's draw.

    Only a card that came where no shoe was known has none.
    """
    assert card.number is not None
    return card.number


def held_since(now: TableState, opened: OpenIrregularity) -> tuple[UnplacedCard, ...]:
    """Return the held cards that came since this irregularity was raised."""
    return tuple(card for card in now.held if card.came_after >= opened.number)


def has_held_before(now: TableState, opened: OpenIrregularity) -> bool:
    """True if a card is held that came before this irregularity was raised."""
    return any(card.came_after < opened.number for card in now.held)


def add_card(  # noqa: PLR0913 - what is known of the card, each by name
    turn: Turn,
    card: Card | None,
    number: int | None,
    *,
    role: Role,
    named_slot: tuple[str, int | None] | None = None,
    seen: bool = False,
    counted: bool = True,
) -> None:
    """Add a card that came with this input."""
    added = UnplacedCard(
        card=card,
        number=number,
        named_slot=named_slot,
        role=role,
        seen=seen,
        counted=counted,
        came_after=turn.now.irregularities,
    )
    turn.change(unplaced=(*turn.now.unplaced, added))


def move_cards(turn: Turn, cards: tuple[UnplacedCard, ...], role: Role) -> None:
    """Give these cards another role. They go behind those that have it, in the order given."""
    drop_cards(turn, cards)
    moved = tuple(msgspec.structs.replace(card, role=role) for card in cards)
    turn.change(unplaced=(*turn.now.unplaced, *moved))


def change_card(turn: Turn, old: UnplacedCard, /, **fields: Any) -> None:
    """Replace fields of this card; it keeps its place in the order."""
    changed = msgspec.structs.replace(old, **fields)
    turn.change(unplaced=tuple(changed if one is old else one for one in turn.now.unplaced))


def drop_cards(turn: Turn, cards: tuple[UnplacedCard, ...]) -> None:
    """Remove these cards from the unplaced ones. The ledger still counts them."""
    if cards:
        left = (one for one in turn.now.unplaced if not any(one is card for card in cards))
        turn.change(unplaced=tuple(left))


def set_aside(turn: Turn, cards: tuple[UnplacedCard, ...]) -> None:
    """Set these cards aside: they are in no hand, and a revision may still name them."""
    if not cards:
        return
    of_shoe = tuple(card for card in cards if card.counted and card.number is not None)
    drop_cards(turn, cards)
    move_cards(turn, of_shoe, "aside")


def drop_aside(turn: Turn, before: int) -> None:
    """Remove the cards that were set aside and drawn as the draw ``before``, or earlier."""
    drop_cards(turn, tuple(card for card in turn.now.aside if draw_of(card) <= before))


def drop_roles(turn: Turn, *roles: Role) -> None:
    """Remove all cards of these roles from the unplaced ones."""
    drop_cards(turn, tuple(card for card in turn.now.unplaced if card.role in roles))
