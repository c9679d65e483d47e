"""Cards that lie on the table without a slot: added, given another role, changed, dropped.

In: cards of the state. Out: the state's one tuple of such cards; those of one role stay in the
order in which they came to it. Must not know: why a card has its role, what becomes of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.table.state import CardOnTable, Opened, Role, TableState, UnplacedCard
from shoe_ctl.table.turn import Turn


def draw_of(card: CardOnTable) -> int:
    """The number of the card's draw. Only a card that came where no shoe was known has none."""
    assert card.number is not None
    return card.number


def held_since(now: TableState, opened: Opened) -> tuple[UnplacedCard, ...]:
    """The held cards that came since this irregularity was raised."""
    return tuple(card for card in now.held if card.came_after >= opened.number)


def held_before(now: TableState, opened: Opened) -> bool:
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
    """Add a card that came now."""
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
    """Give these cards another role, behind those that have it, in the order given."""
    drop_cards(turn, cards)
    moved = tuple(msgspec.structs.replace(card, role=role) for card in cards)
    turn.change(unplaced=(*turn.now.unplaced, *moved))


def change_card(turn: Turn, lying: UnplacedCard, /, **fields: Any) -> None:
    """Replace fields of this card, where it stands."""
    changed = msgspec.structs.replace(lying, **fields)
    turn.change(unplaced=tuple(changed if one is lying else one for one in turn.now.unplaced))


def drop_cards(turn: Turn, cards: tuple[UnplacedCard, ...]) -> None:
    """These cards lie without a slot no longer. The ledger still counts them."""
    if cards:
        left = (one for one in turn.now.unplaced if not any(one is card for card in cards))
        turn.change(unplaced=tuple(left))


def drop_roles(turn: Turn, *roles: Role) -> None:
    """The same for all cards of these roles."""
    drop_cards(turn, tuple(card for card in turn.now.unplaced if card.role in roles))
