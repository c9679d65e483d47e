"""What a shoe can say of its body: lid, buttons, power, tests, and cards that went odd ways.

In: nothing. Out: ShoeEvent values; ``events`` gives them to everyone.
Must not know: which profile said it, bytes, the round, the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .cards import Card
from .shoe_event import ShoeEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsDrawn(ShoeEvent):
    """Several cards left the shoe as one, two to four (rule 5.8).

    ``number`` is the draw of the first; the others follow it. With ``order_known`` they stand in
    the order in which they left the shoe, else in any. One that was not read is None. ``armed`` is
    as in ``CardDrawn``, of the first.
    """

    type: ClassVar[str] = "cards_drawn"
    cards: tuple[Card | None, ...]
    number: int | None = None
    order_known: bool
    armed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPushedBack(ShoeEvent):
    """Draw ``number`` went back into the shoe. Drawn again, it will be a draw of its own."""

    type: ClassVar[str] = "card_pushed_back"
    card: Card | None
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lid(ShoeEvent):
    """The lid was opened or closed."""

    type: ClassVar[str] = "lid"
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tamper(ShoeEvent):
    """Someone meddled with the shoe: ``what`` is seal, opened_without_power, sensor or other."""

    type: ClassVar[str] = "tamper"
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Button(ShoeEvent):
    """A button of the shoe was pressed, counted from 1 as its maker counts them."""

    type: ClassVar[str] = "button"
    button: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeEmpty(ShoeEvent):
    """The last card of the set left the shoe; ``drawn`` cards are out."""

    type: ClassVar[str] = "shoe_empty"
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTested(ShoeEvent):
    """A self-test ended; ``failed`` are the parts that failed, none when all is well.

    ``command_id`` is the command that asked for it, None when the shoe tested itself.
    """

    type: ClassVar[str] = "self_test"
    failed: tuple[str, ...] = ()
    command_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLow(ShoeEvent):
    """The shoe runs out of power; ``percent`` is what it has left, where it can tell."""

    type: ClassVar[str] = "power_low"
    percent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRestored(ShoeEvent):
    """The shoe has enough power again."""

    type: ClassVar[str] = "power_restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetDone(ShoeEvent):
    """The shoe was reset: it is locked, its faults are forgotten. Cards and counts stay."""

    type: ClassVar[str] = "reset_done"
    command_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswered(ShoeEvent):
    """What the shoe was asked: ``what`` as in ``Query``; ``value`` is None where it cannot tell."""

    type: ClassVar[str] = "query_answered"
    command_id: int
    what: str
    value: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotated(ShoeEvent):
    """The shoe keeps a new key; the older ones count until a host has proved this one."""

    type: ClassVar[str] = "key_rotated"
    key_id: int
