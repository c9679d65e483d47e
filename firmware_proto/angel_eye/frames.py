"""One Angel Eye frame: its bytes to its event, command or reply, and back. Stateless.

In: the bytes of one frame; an event, a command, a reply. Out: the one from the other.
Must not know: where frames begin in a stream, sessions, repeats, time, the round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from functools import lru_cache, reduce
from operator import xor
from typing import Any, Final

from firmware_proto.angel_eye.compiled_layouts import COMMAND, EVENTS, OPERATION, REPLIES, SEQUENCE
from firmware_proto.angel_eye.fields import ACK, BCC_BYTES, ENQ, ETX, NAK, NO_SUIT, REFUSALS, STX
from firmware_proto.cards import CARDS, FRENCH52, Card
from firmware_proto.commands import VendorCommand
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Lock,
    PresetChanged,
    Redesignated,
    Reply,
    Result,
    ShoeEvent,
    Standby,
    Started,
)

SEQ_AT: Final = 1
CODE_AT: Final = 2
EVENT_BYTES: Final = {
    ord(code): CODE_AT + 1 + layout.size + 1 + BCC_BYTES for code, layout in EVENTS.items()
}
"""The length of an event's frame by its code."""
SHORTEST_EVENT: Final = min(EVENT_BYTES.values())
CARD_BYTES: Final = EVENT_BYTES[ord("D")]
"""The lengths of the shortest frame of an event, and of a card that was drawn."""


class CommandBcc(Enum):
    """Where the check of a command or a framed reply begins: integrators disagree."""

    FROM_STX = "from_stx"
    AFTER_STX = "after_stx"


@dataclass(frozen=True, slots=True)
class Checks:
    """Where checks may begin, those of commands and those of framed replies: any of these will do.

    One public integrator begins them at different bytes.
    """

    commands: tuple[CommandBcc, ...] = (CommandBcc.FROM_STX,)
    replies: tuple[CommandBcc, ...] = (CommandBcc.FROM_STX,)


EITHER: Final = Checks(tuple(CommandBcc), tuple(CommandBcc))
"""For a listener, which does not know the settings of the two ends."""


DIGITS: Final = tuple(b"%02X" % value for value in range(256))
"""A byte as two upper-case hexadecimal digits."""


def bcc(checked: bytes) -> bytes:
    """Two upper-case hexadecimal digits: the XOR of these bytes."""
    return DIGITS[reduce(xor, checked, 0)]


# --- events ---


def _card(suit: str, rank: str) -> Card | None:
    return CARDS[rank + suit] if suit else None


_EVENT_OF: Final[dict[str, Callable[..., ShoeEvent]]] = {
    "S": Started,
    "P": Standby,
    "C": CuttingCard,
    "D": lambda hand, index, suit, rank: CardDrawn(
        card=_card(suit, rank), hand=hand, index=index or None
    ),
    "R": lambda hand, index, suit, rank: Redesignated(
        card=_card(suit, rank), hand=hand, index=index or None
    ),
    "d": lambda mode, code, suit, rank: CardOutsideGame(
        card=_card(suit, rank), mode=mode, code=code or None
    ),
    "G": lambda winner, banker_pair, player_pair: Result(
        winner=winner, player_pair=bool(player_pair), banker_pair=bool(banker_pair)
    ),
    "E": lambda in_error_mode, code: Error(code=code, in_error_mode=bool(in_error_mode)),
    "e": lambda code: ErrorCleared(code=code),
    "L": lambda locked: Lock(locked=bool(locked)),
    "M": lambda address, value: PresetChanged(address=address, value=value),
}
"""The event of each code, made of its fields by name."""


def _card_fields(card: Card | None) -> dict[str, object]:
    if card is None:
        return {"suit": NO_SUIT, "rank": 0}
    if card not in FRENCH52:
        raise ValueError(f"the wire cannot name {card!r}: it carries the four suits only")
    return {"suit": card.suit.value, "rank": card.rank.value}


def _placed_fields(event: CardDrawn | Redesignated) -> dict[str, object]:
    return {"hand": event.hand, "index": event.index or 0, **_card_fields(event.card)}


def _outside_fields(event: CardOutsideGame) -> dict[str, object]:
    return {"mode": event.mode, "code": event.code or 0, **_card_fields(event.card)}


_FIELDS_OF: Final[dict[type[ShoeEvent], tuple[str, Callable[[Any], dict[str, object]]]]] = {
    Started: ("S", asdict),
    Standby: ("P", asdict),
    CuttingCard: ("C", asdict),
    CardDrawn: ("D", _placed_fields),
    Redesignated: ("R", _placed_fields),
    CardOutsideGame: ("d", _outside_fields),
    Result: ("G", asdict),
    Error: ("E", asdict),
    ErrorCleared: ("e", asdict),
    Lock: ("L", asdict),
    PresetChanged: ("M", asdict),
}
"""The code of each event, and its fields by name."""

SENDABLE: Final = frozenset(_FIELDS_OF)
"""The events that the wire has a frame for."""


_ENQ = bytes((ENQ,))


def encode_event(event: ShoeEvent, seq: str) -> bytes:
    """The frame of this event with this sequence character (a digit or letter).

    Raises:
        ValueError: the wire has no frame for this event, or not with these values.
    """
    if type(event) not in SENDABLE:
        raise ValueError(f"the wire has no frame for {event.type}")
    start = seq.encode()
    if len(start) != 1 or start not in SEQUENCE:
        raise ValueError(f"the wire has no sequence character {seq!r}")
    body = start + _pack_meaning(event)
    return _ENQ + body + bcc(body)


@lru_cache(maxsize=1024)
def _pack_meaning(event: ShoeEvent) -> bytes:
    """The frame of this event from its code to its ETX, kept: a shoe has few cards and places."""
    code, fields_of = _FIELDS_OF[type(event)]
    try:
        return pack_event("0", code, fields_of(event))[2:]
    except (KeyError, TypeError) as error:
        raise ValueError(f"the wire cannot say {event!r}: {error}") from None


def pack_event(seq: str, code: str, fields: Mapping[str, object]) -> bytes:
    """The frame of an event up to its ETX.

    Raises:
        KeyError: a sequence character, a code or a field that the layout does not have.
    """
    start = seq.encode()
    if len(start) != 1 or start not in SEQUENCE:
        raise KeyError(seq)
    return _ENQ + start + code.encode() + EVENTS[code].pack(fields) + bytes((ETX,))


def unpack_event(body: bytes) -> tuple[str, str, dict[str, Any]]:
    """Sequence character, code and fields of the frame of an event up to its ETX.

    Raises:
        KeyError: a byte or a bit is not as declared.
    """
    start, seq, code, payload, end = body[:1], body[1:2], body[2:3], body[3:-1], body[-1:]
    if start != _ENQ or not seq or seq not in SEQUENCE or end != bytes((ETX,)):
        raise KeyError(body)
    layout = EVENTS[code.decode("latin-1")]
    return seq.decode(), code.decode(), dict(zip(layout.names, layout.unpack(payload), strict=True))


@lru_cache(maxsize=4096)
def _read_layout(meaning: bytes) -> ShoeEvent | None:
    """The event of these bytes of a frame (``MEANING``); None when a bit is not as declared."""
    try:
        _, code, fields = unpack_event(_ENQ + SEQUENCE[:1] + meaning)
    except KeyError:
        return None
    event = _EVENT_OF[code](**fields)
    if isinstance(event, CardDrawn):
        CARDS_READ[meaning] = event, reduce(xor, meaning)
    return event


SEQUENCES: Final = {seq: chr(seq) for seq in SEQUENCE}
"""The sequence characters by their byte."""

MEANING: Final = slice(CODE_AT, -BCC_BYTES)
"""Where a frame has what makes its event: its code through its ETX."""

CHECK: Final = slice(-BCC_BYTES, None)
"""Where a frame has its BCC."""

CARDS_READ: Final[dict[bytes, tuple[CardDrawn, int]]] = {}
"""The cards drawn that the layouts have read, by their ``MEANING``, with its XOR: 3,564 at most.

For the fast path: neither the sequence character nor the BCC changes the event, so a card is read
by its layout only the first time that it is drawn to a place."""


def read_event(raw: bytes) -> ShoeEvent:
    """Return the event of a frame, or ``Discarded`` when its ETX, BCC or a bit is wrong.

    ``raw`` has the length of its code, and an allowed sequence character.
    """
    body, check = raw[:-BCC_BYTES], raw[CHECK]
    if body[-1] != ETX:
        return Discarded(reason="etx")
    if bcc(body[1:]) != check:
        return Discarded(reason="bcc")
    return _read_layout(raw[MEANING]) or Discarded(reason="layout")


# --- commands and replies ---


def encode_command(kind: str, data: str, check: CommandBcc = CommandBcc.FROM_STX) -> bytes:
    """A command: ``kind`` and ``data`` are two ASCII characters each.

    Raises:
        ValueError: it is no command of the wire.
    """
    try:
        body = pack_command(kind, data)
    except KeyError as error:
        raise ValueError(f"no such command: {kind} {data}: {error}") from None
    return body + _framed_bcc(body, check)


def pack_command(kind: str, data: str) -> bytes:
    """A command up to its ETX.

    Raises:
        KeyError: not two printable characters each.
    """
    payload = COMMAND.pack({"kind": kind, "data": data})
    return bytes((STX,)) + OPERATION + payload + bytes((ETX,))


def unpack_command(body: bytes) -> tuple[str, str]:
    """Type and data of a command up to its ETX.

    Raises:
        KeyError: a byte is not as declared.
    """
    head = bytes((STX,)) + OPERATION
    if not body.startswith(head) or body[-1] != ETX:
        raise KeyError(body)
    kind, data = COMMAND.unpack(body[len(head) : -1])
    return kind, data


_REPLY_OF: Final = {reason: bare for bare, reason in REPLIES.items()}


def encode_reply(reply: Reply, *, framed: CommandBcc | None = None) -> bytes:
    """A bare reply, or one between STX and BCC when ``framed`` is where its check begins.

    Raises:
        ValueError: a reason that the wire has no number for; a refusal must have one.
    """
    if reply.accepted and reply.reason is not None:
        raise ValueError("an accepted command has no reason")
    if not reply.accepted and reply.reason not in REFUSALS:
        raise ValueError(f"no such refusal: {reply.reason!r}")
    bare = _REPLY_OF[reply.reason]
    if framed is None:
        return bare
    body = bytes((STX,)) + bare + bytes((ETX,))
    return body + _framed_bcc(body, framed)


def _framed_bcc(body: bytes, check: CommandBcc) -> bytes:
    return bcc(body if check is CommandBcc.FROM_STX else body[1:])


@lru_cache(maxsize=512)
def read_reply(bare: bytes) -> Reply | Discarded:
    """Return a bare reply, or ``Discarded`` when its number is not known."""
    if bare not in REPLIES:
        return Discarded(reason="refusal")
    reason = REPLIES[bare]
    return Reply(accepted=reason is None, reason=reason)


def read_framed(raw: bytes, checks: Checks) -> ShoeEvent | VendorCommand:
    """Return a command or a framed reply with a right check, else ``Discarded``."""
    body, check = raw[:-BCC_BYTES], raw[-BCC_BYTES:]
    if body[-1] != ETX:
        return Discarded(reason="etx")
    is_reply = body[1] in (ACK, NAK)
    wheres = checks.replies if is_reply else checks.commands
    if all(_framed_bcc(body, where) != check for where in wheres):
        return Discarded(reason="bcc")
    if is_reply:
        return read_reply(body[1:-1])
    try:
        kind, data = unpack_command(body)
    except KeyError:
        return Discarded(reason="layout")
    return VendorCommand(operation=OPERATION.decode(), kind=kind, data=data)
