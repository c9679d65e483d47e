"""What any shoe can say, and what any shoe can be told.

In: nothing. Out: ShoeEvent values, DesiredShoeState values, and their plain (JSON) form.
Must not know: which profile said it, bytes, the round, the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, get_type_hints

from .body_events import (
    Button,
    CardPushedBack,
    CardsDrawn,
    KeyRotated,
    Lid,
    PowerLow,
    PowerRestored,
    QueryAnswered,
    ResetDone,
    SelfTested,
    ShoeEmpty,
    Tamper,
)
from .cards import Card, card
from .link_events import (
    Authenticated,
    AuthenticationFailed,
    ChallengeAnswered,
    Challenged,
    CommandUnanswered,
    Discarded,
    Gap,
    Overheard,
    Repeated,
    UnknownFirmware,
)
from .orders import (
    AnyCommand,
    Armed,
    Challenge,
    ClearError,
    DesiredShoeState,
    Locked,
    Query,
    Reset,
    RotateKey,
    SetTime,
    ShoeCommand,
    Show,
    TestSelf,
)
from .shoe_event import ShoeEvent

__all__ = [
    "EVENTS",
    "Acknowledged",
    "AnyCommand",
    "Armed",
    "Authenticated",
    "AuthenticationFailed",
    "Button",
    "CardDrawn",
    "CardOutsideGame",
    "CardPushedBack",
    "CardsDrawn",
    "Challenge",
    "ChallengeAnswered",
    "Challenged",
    "ClearError",
    "CommandAsked",
    "CommandUnanswered",
    "CuttingCard",
    "DesiredShoeState",
    "Discarded",
    "Error",
    "ErrorCleared",
    "Gap",
    "Hello",
    "HelloAsked",
    "HostSaid",
    "KeyRotated",
    "Lid",
    "Lock",
    "Locked",
    "Overheard",
    "PowerLow",
    "PowerRestored",
    "PresetChanged",
    "Query",
    "QueryAnswered",
    "Redesignated",
    "Repeated",
    "ReplayAsked",
    "Reply",
    "Reset",
    "ResetDone",
    "Result",
    "RotateKey",
    "SelfTested",
    "SetTime",
    "ShoeCommand",
    "ShoeEmpty",
    "ShoeEvent",
    "ShoeLoaded",
    "Show",
    "Standby",
    "Started",
    "Status",
    "Tamper",
    "TestSelf",
    "UnknownFirmware",
    "Warned",
    "from_plain",
    "to_plain",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello(ShoeEvent):
    """Who is speaking, and the set of cards that is in it now.

    ``device_id`` is the hardware's serial number. ``boot_id`` changes at each power-up.
    ``set_id`` is None when no cards are loaded; ``drawn`` counts cards drawn from that set.
    ``resumed`` is true when this host already knew the device and every event since is replayed.
    ``oldest_seq`` is the number of the oldest event the shoe still keeps (its next number when it
    keeps none), ``firmware_digest`` the firmware's SHA-256 in hex, ``can_arm`` whether the host
    can lock and arm it, ``authenticates`` true when it proves who it is; each is None where the
    shoe did not say.
    """

    type: ClassVar[str] = "hello"
    device_id: str
    firmware: str
    boot_id: int
    deck: str
    set_id: str | None = None
    decks: int | None = None
    drawn: int = 0
    cutting_card_out: bool = False
    resumed: bool = False
    oldest_seq: int | None = None
    firmware_digest: str | None = None
    can_arm: bool | None = None
    authenticates: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(ShoeEvent):
    """The shoe booted or reset and started to communicate."""

    type: ClassVar[str] = "started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standby(ShoeEvent):
    """The shoe stands by between rounds. Never a reason to align."""

    type: ClassVar[str] = "standby"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeLoaded(ShoeEvent):
    """A set of cards was loaded. ``decks`` is None where the shoe cannot tell."""

    type: ClassVar[str] = "shoe_loaded"
    set_id: str | None = None
    decks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDrawn(ShoeEvent):
    """A card left the shoe.

    ``card`` is None when it was not read. ``number`` counts draws from the loaded set, from 1,
    where the shoe counts them. ``hand`` (player, banker, burn, first_card, burn_count) and
    ``index`` (1-3 within a hand) are as the shoe names them, None where it does not.
    ``armed`` is None where the shoe cannot be armed.
    """

    type: ClassVar[str] = "card_drawn"
    card: Card | None
    number: int | None = None
    hand: str | None = None
    index: int | None = None
    armed: bool | None = None
    face_up: bool = False
    confidence: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redesignated(ShoeEvent):
    """A card was given another place after an overdraw was cleared.

    ``meaning`` is what the host takes it for, None where nobody says: ``next_round``, the card is
    the next round's; ``dealt_anew``, the hand is dealt anew.
    """

    type: ClassVar[str] = "redesignated"
    card: Card | None
    hand: str
    index: int | None = None
    meaning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardOutsideGame(ShoeEvent):
    """A card was drawn outside a game. ``mode`` is lock, error or setting."""

    type: ClassVar[str] = "card_outside_game"
    card: Card | None
    mode: str
    code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CuttingCard(ShoeEvent):
    """The cutting card was drawn."""

    type: ClassVar[str] = "cutting_card"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(ShoeEvent):
    """The round as the shoe judged it. ``winner`` is player, banker, tie or forced_quit."""

    type: ClassVar[str] = "result"
    winner: str
    player_pair: bool
    banker_pair: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(ShoeEvent):
    """A fault of the shoe. ``code`` is the profile's own name for it, ``text`` the shoe's words.

    ``place``: it stands where a card would be told, one of a round (``game``) or a burned one
    (``burn``); None: the shoe says of no card.
    """

    type: ClassVar[str] = "error"
    code: str
    in_error_mode: bool = False
    text: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(ShoeEvent):
    """The shoe warns of something; what a ``code`` means is not known of every shoe."""

    type: ClassVar[str] = "warning"
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCleared(ShoeEvent):
    """A fault of the shoe was cleared."""

    type: ClassVar[str] = "error_cleared"
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock(ShoeEvent):
    """The shoe was locked or unlocked by its key."""

    type: ClassVar[str] = "lock"
    locked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetChanged(ShoeEvent):
    """A preset of the shoe was changed at the shoe itself."""

    type: ClassVar[str] = "preset_changed"
    address: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(ShoeEvent):
    """The shoe answered a command of ours.

    ``number`` is the draw that it named, ``command_id`` its id, where it had one or the other.
    """

    type: ClassVar[str] = "reply"
    accepted: bool
    reason: str | None = None
    number: int | None = None
    command_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(ShoeEvent):
    """The shoe's state at an interval, and whenever lock or arm state changes.

    ``armed`` is the number of the draw it is armed for, None when locked.
    """

    type: ClassVar[str] = "status"
    armed: int | None = None
    drawn: int
    unacknowledged: int
    locked_by_key: bool = False


EVENTS: dict[str, type[ShoeEvent]] = {c.type: c for c in ShoeEvent.__subclasses__()}
"""Every kind of shoe event by its name."""

_FIELDS: dict[type[ShoeEvent], tuple[str, ...]] = {
    c: tuple(f.name for f in fields(c)) for c in EVENTS.values()
}
_CARD_FIELDS: dict[type[ShoeEvent], bool] = {
    c: "card" in get_type_hints(c) for c in EVENTS.values()
}


def to_plain(event: ShoeEvent) -> dict[str, object]:
    """The event as JSON-ready values, ``type`` first, fields that are None left out."""
    plain: dict[str, object] = {"type": event.type}
    for name in _FIELDS[type(event)]:
        value = getattr(event, name)
        if value is not None:
            plain[name] = [_plain(v) for v in value] if isinstance(value, tuple) else _plain(value)
    return plain


def _plain(value: object) -> object:
    return value.code if isinstance(value, Card) else value


def from_plain(plain: dict[str, object]) -> ShoeEvent:
    """The event that ``to_plain`` gave.

    Raises:
        ValueError: unknown type or card. TypeError: a field that the event has not.
    """
    values = dict(plain)
    kind = EVENTS.get(str(values.pop("type", None)))
    if kind is None:
        raise ValueError(f"unknown shoe event: {plain.get('type')!r}")
    if _CARD_FIELDS[kind]:
        values["card"] = _card(values.get("card"))
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(map(_card, value) if name == "cards" else value)
    return kind(**values)


def _card(code: object) -> Card | None:
    return None if code is None else card(str(code))


@dataclass(frozen=True, slots=True)
class HelloAsked:
    """The host asks who is speaking; the shoe says hello, then all it has not seen acknowledged."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The host has stored every event up to and including ``through`` durably."""

    through: int


@dataclass(frozen=True, slots=True)
class ReplayAsked:
    """The host wants event number ``first``, and every one after it, said again."""

    first: int


@dataclass(frozen=True, slots=True)
class CommandAsked:
    """A vendor's command: operation, type and data as that profile's SPEC names them."""

    operation: str
    kind: str
    data: str


HostSaid = (
    HelloAsked
    | Acknowledged
    | ReplayAsked
    | CommandAsked
    | Armed
    | Locked
    | ShoeCommand
    | Challenge
    | Discarded
)
"""What a host can say to a shoe, as the shoe's end hears it."""
