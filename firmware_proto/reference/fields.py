"""Values of fields and their codes on the wire (SPEC 5).

In: wire values or their meanings. Out: the one from the other, or ValueError (KeyError for codes).
Must not know: which frame a field is in, construct.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from firmware_proto.cards import DECKS, ELEMENT65, FRENCH52, Card, Element, Suit

SUIT_CODES: dict[Suit | Element, int] = {
    suit: code for code, suit in enumerate((*FRENCH52.suits, *ELEMENT65.suits), start=1)
}
"""SPEC 5: 1-4 spades hearts diamonds clubs, 5-9 fire gold earth wood water."""

CARD_CODES: dict[Card | None, int] = {None: 0} | {
    card: SUIT_CODES[card.suit] << 4 | deck.ranks.index(card.rank) + 1
    for deck in DECKS.values()
    for card in deck.cards
}
"""SPEC 5: the suit's code in the high half, 1-13 (the rank's place in its deck) in the low half;
0 is a card that was not read."""

HAND_CODES = {"player": 1, "banker": 2, "burn": 3, "set_aside": 4}
DECK_CODES = {FRENCH52.name: 1, ELEMENT65.name: 2}
OTHER_REASON = "other"
REASON_CODES = {
    None: 0,  # accepted
    "already_drawn": 1,
    "not_the_next_draw": 2,
    "locked_by_key": 3,
    "empty": 4,
    "memory_full": 5,
    "busy": 6,
    "not_supported": 7,
    OTHER_REASON: 255,
}
CAN_ARM = 1
AUTHENTICATES = 2
"""Bits of ``capabilities``; the other bits are reserved, sent as 0 and not looked at."""

OTHER_FAULT = "other"
FAULT_CODES = {
    "cannot_read": 1,
    "jam": 2,
    "reverse_run": 3,
    "draw_timeout": 4,
    "sensor": 5,
    "bolt": 6,
    "memory": 7,
    "display": 8,
    "battery": 9,
    "clock": 10,
    OTHER_FAULT: 255,
}
TAMPER_CODES = {"seal": 1, "opened_without_power": 2, "sensor": 3, "other": 255}
QUERY_CODES = {"clock": 1, "battery": 2, "lifetime_draws": 3, "temperature": 4}
PARTS = ("sensor", "bolt", "memory", "display", "battery", "clock", "lid", "other")
"""Bits of ``failed`` in self_test, from bit 0."""

YES_NO_CODES = {False: 0, True: 1}
ARMED_CODES = {False: 0, True: 1, None: 2}
"""2: this shoe cannot be armed."""

PERCENT_CODES = {None: 255} | {percent: percent for percent in range(101)}
"""255: not known."""


class Converter(ABC):
    """Converts between the wire value of a field and its meaning; both ways raise ValueError."""

    @abstractmethod
    def from_wire(self, value: Any) -> Any: ...

    @abstractmethod
    def to_wire(self, value: Any) -> Any: ...

    @property
    def reader(self) -> Callable[[Any], Any]:
        """A function that converts as ``from_wire`` does, as fast as it can be called."""
        return self.from_wire

    @property
    def writer(self) -> Callable[[Any], Any]:
        """A function that converts as ``to_wire`` does, as fast as it can be called."""
        return self.to_wire

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Unchanged(Converter):
    """A number or bytes that stand for themselves."""

    def from_wire(self, value: Any) -> Any:
        return value

    to_wire = from_wire


class Codes(Converter):
    """A byte whose values are listed; both ways raise KeyError for one that is not."""

    def __init__(self, codes: Mapping[Any, int]) -> None:
        self.codes = codes
        self.meanings = {code: meaning for meaning, code in codes.items()}

    def from_wire(self, value: int) -> Any:
        return self.meanings[value]

    def to_wire(self, value: Any) -> int:
        return self.codes[value]

    @property
    def reader(self) -> Callable[[Any], Any]:
        return self.meanings.__getitem__

    @property
    def writer(self) -> Callable[[Any], Any]:
        return self.codes.__getitem__


class OrNone(Converter):
    """A count or number in which 0 says that there is none."""

    def from_wire(self, value: int) -> int | None:
        return value or None

    def to_wire(self, value: int | None) -> int:
        return value or 0


class Positive(Converter):
    """A number that starts from 1: 0 is an error."""

    def from_wire(self, value: int) -> int:
        if not value:
            raise ValueError("0, where numbers start from 1")
        return value

    to_wire = from_wire


class Text(Converter):
    """Printable ASCII, filled with 00 to its length; all 00 is None."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.length})"

    def from_wire(self, value: bytes) -> str | None:
        try:
            text = value.rstrip(b"\0").decode("ascii")
        except UnicodeDecodeError:
            raise ValueError("not ASCII") from None
        if not text.isprintable():
            raise ValueError("not printable")
        return text or None

    def to_wire(self, value: str | None) -> bytes:
        text = value or ""
        if not (text.isascii() and text.isprintable()) or len(text) > self.length:
            raise ValueError(f"takes up to {self.length} printable ASCII characters: {text!r}")
        return text.encode("ascii").ljust(self.length, b"\0")


class Line(Text):
    """A text that may be empty: all 00 is no text rather than none."""

    def from_wire(self, value: bytes) -> str:
        return super().from_wire(value) or ""


class Name(Text):
    """A text that has to be there."""

    def from_wire(self, value: bytes) -> str:
        text = super().from_wire(value)
        if text is None:
            raise ValueError("empty")
        return text

    def to_wire(self, value: str | None) -> bytes:
        if not value:
            raise ValueError("empty")
        return super().to_wire(value)


class Digest(Converter):
    """A SHA-256 as 64 hex digits; all 00 is None."""

    def from_wire(self, value: bytes) -> str | None:
        return value.hex() if any(value) else None

    def to_wire(self, value: str | None) -> bytes:
        return bytes(32) if value is None else bytes.fromhex(value)


class Hex(Converter):
    """Bytes as hex digits."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.length})"

    def from_wire(self, value: bytes) -> str:
        return value.hex()

    def to_wire(self, value: str) -> bytes:
        wire = bytes.fromhex(value)
        if len(wire) != self.length:
            raise ValueError(f"takes {self.length} bytes")
        return wire


NO_CARD = 0xFF
MOST_TOGETHER = 4
_CARDS = {code: card for card, code in CARD_CODES.items()}


class CardsTogether(Converter):
    """Two to four cards, a byte each as in card_drawn; FF fills what is left."""

    def from_wire(self, value: bytes) -> tuple[Card | None, ...]:
        codes = value.rstrip(bytes((NO_CARD,)))
        if len(codes) < 2:
            raise ValueError("fewer than two cards")
        try:
            return tuple(_CARDS[code] for code in codes)
        except KeyError as error:
            raise ValueError(f"no card has the code {error}") from None

    def to_wire(self, value: tuple[Card | None, ...]) -> bytes:
        if not 2 <= len(value) <= MOST_TOGETHER:
            raise ValueError(f"{len(value)} cards")
        return bytes(CARD_CODES[card] for card in value).ljust(MOST_TOGETHER, bytes((NO_CARD,)))


class Failures(Converter):
    """The parts that failed, a bit each; bits beyond them are an error."""

    def from_wire(self, value: int) -> tuple[str, ...]:
        if value >> len(PARTS):
            raise ValueError("a part that does not exist")
        return tuple(part for bit, part in enumerate(PARTS) if value >> bit & 1)

    def to_wire(self, value: tuple[str, ...]) -> int:
        return sum(1 << PARTS.index(part) for part in set(value))


class OrUnknown(Converter):
    """A number of 8 bytes in which all ones say that it is not known."""

    UNKNOWN = 2**64 - 1

    def from_wire(self, value: int) -> int | None:
        return None if value == self.UNKNOWN else value

    def to_wire(self, value: int | None) -> int:
        if value == self.UNKNOWN:
            raise ValueError("stands for what is not known")
        return self.UNKNOWN if value is None else value
