"""Events of a shoe, of any profile: its cards, its state, and the link to it.

In: nothing. Out: ShoeEvent values and their plain (JSON) form.
Must not know: which profile sent them, bytes, the round, the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Final, get_type_hints

from firmware_proto.cards import Card, card


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeEvent:
    """Base of all events of a shoe. ``type`` is its name in records and in ``decode``."""

    type: ClassVar[str] = ""


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
    """The shoe was tampered with: ``what`` is seal, opened_without_power, sensor or other."""

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
    """The shoe runs out of power; ``percent`` is what it has left, where it is known."""

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
    """The answer to a query: ``what`` as in ``Query``; ``value`` is None where it is not known."""

    type: ClassVar[str] = "query_answered"
    command_id: int
    what: str
    value: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotated(ShoeEvent):
    """The shoe keeps a new key; the older ones count until a host has proved this one."""

    type: ClassVar[str] = "key_rotated"
    key_id: int


HOST_WITHOUT_KEY: Final = "the shoe wants a key, and this host has none"
NO_KEY: Final = "no key for this shoe"
CANNOT_AUTHENTICATE: Final = "the shoe cannot prove who it is"
WRONG_PROOF: Final = "wrong proof"

_REFUSED_FOR: Final = {
    HOST_WITHOUT_KEY: "no_key",
    NO_KEY: "no_key",
    CANNOT_AUTHENTICATE: "unauthenticated",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(ShoeEvent):
    """Events the shoe sent that this host never got and never will. Both ends inclusive."""

    type: ClassVar[str] = "gap"
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(ShoeEvent):
    """A frame already received, sent again by the shoe; ``count`` of them, if more than one."""

    type: ClassVar[str] = "repeated"
    of: str
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTraffic(ShoeEvent):
    """A message of the host, in a recording of both directions; no session returns it.

    ``command`` is the profile's own name for it, the rest what it carried, where it carried it.
    """

    type: ClassVar[str] = "command"
    command: str
    through: int | None = None
    first: int | None = None
    number: int | None = None
    hand: str | None = None
    index: int | None = None
    command_id: int | None = None
    text: str | None = None
    what: str | None = None
    unix_us: int | None = None
    key_id: int | None = None
    nonce: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded(ShoeEvent):
    """Bytes that did not fit. Counted, logged, journaled; never silently dropped.

    ``reason`` is a code. ``of`` is the message that it was, and ``field`` the value in it that has
    no meaning, where that is known.

    ``history``: they fit, but are from before this host knew the shoe. A run of ``count``
    such pieces that came in one go is recorded as one, with its first and last bytes in hex;
    ``reason`` is ``several`` where they had different ones. No session returns a run.
    """

    type: ClassVar[str] = "discarded"
    reason: str
    history: bool | None = None
    count: int | None = None
    first_bytes: str | None = None
    last_bytes: str | None = None
    of: str | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUnanswered(ShoeEvent):
    """The host gave up a command, for this ``reason``: the shoe may have carried it out or not."""

    type: ClassVar[str] = "command_unanswered"
    command_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenged(ShoeEvent):
    """A shoe named itself and was challenged. Nothing that it sends is accepted yet.

    ``nonce`` is the host's, in hex.
    """

    type: ClassVar[str] = "challenged"
    device_id: str
    key_id: int
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeAnswered(ShoeEvent):
    """A shoe's answer to a challenge, in a recording; sessions report the result instead.

    ``key_id`` is another than was asked for where the shoe has not that one; ``nonce``, the
    shoe's, and ``proof`` are in hex.
    """

    type: ClassVar[str] = "challenge_answered"
    key_id: int
    nonce: str
    proof: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticated(ShoeEvent):
    """The shoe proved that it is ``device_id``: from here on only its frames are accepted.

    With ``key_id`` and both nonces, in hex, the holder of the key can check every MAC of this
    connection again.
    """

    type: ClassVar[str] = "authenticated"
    device_id: str
    boot_id: int
    key_id: int
    host_nonce: str
    shoe_nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationFailed(ShoeEvent):
    """The sender is not authenticated as a shoe of this table: its events are ignored."""

    type: ClassVar[str] = "authentication_failed"
    reason: str
    device_id: str
    key_id: int | None = None

    @property
    def code(self) -> str:
        """The reason for programs: ``no_key``, ``unauthenticated`` or ``wrong_key``."""
        return _REFUSED_FOR.get(self.reason, "wrong_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFirmware(ShoeEvent):
    """The shoe runs a firmware that is not on the list; ``refused``: so it is not armed."""

    type: ClassVar[str] = "unknown_firmware"
    firmware: str
    firmware_digest: str | None = None
    refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello(ShoeEvent):
    """The identity of the shoe, and the set of cards that is in it now.

    ``device_id`` is the hardware's serial number. ``boot_id`` changes at each power-up.
    ``set_id`` is None when no cards are loaded; ``drawn`` counts cards drawn from that set.
    ``resumed`` is true when this host already knew the device and every event since is replayed.
    ``oldest_seq`` is the number of the oldest event the shoe still keeps (its next number when it
    keeps none), ``firmware_digest`` the firmware's SHA-256 in hex, ``can_arm`` whether the host
    can lock and arm it, ``authenticates`` true when it proves who it is; each is None where the
    shoe did not report it.
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
    """A set of cards was loaded. ``decks`` is None where the shoe does not know."""

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

    ``meaning`` is how the host is configured to read it, None in a listener: ``next_round``, the
    card is the next round's; ``dealt_anew``, the hand is dealt anew.
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

    ``place``: it replaces the report of a card, one of a round (``game``) or a burned one
    (``burn``); None: it is about no card.
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
        if value is None:
            continue
        if type(value) is tuple:
            value = [_plain(each) for each in value]
        elif type(value) is Card:
            value = value.code
        plain[name] = value
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
