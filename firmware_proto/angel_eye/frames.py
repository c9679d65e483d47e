"""One Angel Eye frame: its bytes to what it says, and back. Stateless.

In: the bytes of one frame; an event, a command, a reply. Out: what it says; its bytes.
Must not know: where frames begin in a stream, sessions, repeats, time, the round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from construct import ConstructError

from firmware_proto.angel_eye import layouts
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

BCC_BYTES: Final = 2
SEQ_AT: Final = 1
CODE_AT: Final = 2


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
"""For whoever does not know how the two ends are set."""


def bcc(checked: bytes) -> bytes:
    """Two upper-case hexadecimal digits: the XOR of these bytes."""
    value = 0
    for byte in checked:
        value ^= byte
    return b"%02X" % value


# --- events ---


def _card(fields: Any) -> Card | None:
    return CARDS[fields.rank + fields.suit] if fields.suit else None


def _read_card_drawn(f: Any) -> ShoeEvent:
    return CardDrawn(card=_card(f.card), hand=f.place.hand, index=f.place.index or None)


def _read_redesignated(f: Any) -> ShoeEvent:
    return Redesignated(card=_card(f.card), hand=f.place.hand, index=f.place.index or None)


def _read_outside(f: Any) -> ShoeEvent:
    return CardOutsideGame(card=_card(f.card), mode=f.place.mode, code=f.place.code or None)


def _read_result(f: Any) -> ShoeEvent:
    return Result(winner=f.winner, player_pair=bool(f.player_pair), banker_pair=bool(f.banker_pair))


def _read_preset(f: Any) -> ShoeEvent:
    return PresetChanged(address=bytes(f.address).decode(), value=bytes(f.value).decode())


_READ: Final[dict[str, Callable[[Any], ShoeEvent]]] = {
    "S": lambda _: Started(),
    "P": lambda _: Standby(),
    "C": lambda _: CuttingCard(),
    "D": _read_card_drawn,
    "R": _read_redesignated,
    "d": _read_outside,
    "G": _read_result,
    "E": lambda f: Error(code=f.code, in_error_mode=bool(f.in_error_mode)),
    "e": lambda f: ErrorCleared(code=f.code),
    "L": lambda f: Lock(locked=bool(f.locked)),
    "M": _read_preset,
}


def _card_fields(card: Card | None) -> dict[str, object]:
    if card is None:
        return {"suit": layouts.NO_SUIT, "rank": 0}
    if card not in FRENCH52:
        raise ValueError(f"the wire cannot name {card!r}: it carries the four suits only")
    return {"suit": card.suit.value, "rank": card.rank.value}


def _placed_fields(event: CardDrawn | Redesignated) -> dict[str, object]:
    place = {"hand": event.hand, "index": event.index or 0}
    return {"place": place, "card": _card_fields(event.card)}


def _outside_fields(event: CardOutsideGame) -> dict[str, object]:
    place = {"mode": event.mode, "code": event.code or 0}
    return {"place": place, "card": _card_fields(event.card)}


def _preset_fields(event: PresetChanged) -> dict[str, object]:
    return {"address": list(event.address.encode()), "value": list(event.value.encode())}


_WRITE: Final[dict[type[ShoeEvent], tuple[str, Callable[[Any], object]]]] = {
    Started: ("S", lambda _: None),
    Standby: ("P", lambda _: None),
    CuttingCard: ("C", lambda _: None),
    CardDrawn: ("D", _placed_fields),
    Redesignated: ("R", _placed_fields),
    CardOutsideGame: ("d", _outside_fields),
    Result: ("G", asdict),
    Error: ("E", asdict),
    ErrorCleared: ("e", asdict),
    Lock: ("L", asdict),
    PresetChanged: ("M", _preset_fields),
}

SENDABLE: Final = frozenset(_WRITE)
"""The events that the wire has a frame for."""


def encode_event(event: ShoeEvent, seq: str) -> bytes:
    """The frame of this event with this sequence character (a digit or letter).

    Raises:
        ValueError: the wire cannot say this event, or not with these values.
    """
    if type(event) not in SENDABLE:
        raise ValueError(f"the wire has no frame for {event.type}")
    code, fields_of = _WRITE[type(event)]
    try:
        fields = {"seq": ord(seq), "code": code, "data": fields_of(event)}
        body: bytes = layouts.EVENT.build(fields)
    except (ConstructError, TypeError) as error:
        raise ValueError(f"the wire cannot say {event!r} (sequence {seq!r}): {error}") from None
    return body + bcc(body[1:])


@lru_cache(maxsize=4096)
def _parse_event(body: bytes) -> ShoeEvent | None:
    """The event of a frame up to its ETX; None when a bit is not as declared."""
    try:
        frame = layouts.EVENT.parse(body)
    except ConstructError:
        return None
    return _READ[frame.code](frame.data)


def read_event(raw: bytes) -> ShoeEvent:
    """What a frame of an event says, or ``Discarded`` when its ETX, BCC or a bit is wrong.

    ``raw`` is of the length that its code tells, and its sequence character is a good one.
    """
    body, check = raw[:-BCC_BYTES], raw[-BCC_BYTES:]
    if body[-1] != layouts.ETX:
        return Discarded(reason="etx")
    if bcc(body[1:]) != check:
        return Discarded(reason="bcc")
    alike = body[:1] + b"0" + body[SEQ_AT + 1 :]  # the sequence says nothing: parse alike once
    return _parse_event(alike) or Discarded(reason="layout")


# --- commands and replies ---


def encode_command(kind: str, data: str, check: CommandBcc = CommandBcc.FROM_STX) -> bytes:
    """A command: ``kind`` and ``data`` are two ASCII characters each.

    Raises:
        ValueError: the wire cannot say it.
    """
    fields = {
        "kind": list(kind.encode()),
        "data": list(data.encode()),
    }
    try:
        body: bytes = layouts.COMMAND.build(fields)
    except ConstructError as error:
        raise ValueError(f"no such command: {kind} {data}: {error}") from None
    return body + _framed_bcc(body, check)


def encode_reply(reply: Reply, *, framed: CommandBcc | None = None) -> bytes:
    """A bare reply, or one between STX and BCC when ``framed`` says where its check begins.

    Raises:
        ValueError: a reason that the wire has no number for; a refusal must have one.
    """
    answer: dict[str, object] = {"answer": "accepted", "refusal": None}
    if not reply.accepted:
        answer = {"answer": "refused", "refusal": {"reason": reply.reason}}
    elif reply.reason is not None:
        raise ValueError("an accepted command has no reason")
    try:
        bare: bytes = layouts.REPLY.build(answer)
    except ConstructError:
        raise ValueError(f"no such refusal: {reply.reason!r}") from None
    if framed is None:
        return bare
    body = bytes((layouts.STX,)) + bare + bytes((layouts.ETX,))
    return body + _framed_bcc(body, framed)


def _framed_bcc(body: bytes, check: CommandBcc) -> bytes:
    return bcc(body if check is CommandBcc.FROM_STX else body[1:])


@lru_cache(maxsize=512)
def read_reply(bare: bytes) -> Reply | Discarded:
    """What a bare reply says, or ``Discarded`` when its number is not known."""
    try:
        reply = layouts.REPLY.parse(bare)
    except ConstructError:
        return Discarded(reason="refusal")
    if reply.answer == "accepted":
        return Reply(accepted=True)
    return Reply(accepted=False, reason=reply.refusal.reason)


def read_framed(raw: bytes, checks: Checks) -> ShoeEvent | VendorCommand:
    """What a command or a framed reply says, its check beginning there; or ``Discarded``."""
    body, check = raw[:-BCC_BYTES], raw[-BCC_BYTES:]
    if body[-1] != layouts.ETX:
        return Discarded(reason="etx")
    is_reply = body[1] in (layouts.ACK, layouts.NAK)
    wheres = checks.replies if is_reply else checks.commands
    if all(_framed_bcc(body, where) != check for where in wheres):
        return Discarded(reason="bcc")
    if is_reply:
        return read_reply(body[1:-1])
    try:
        asked = layouts.COMMAND.parse(body)
    except ConstructError:
        return Discarded(reason="layout")
    kind, data = bytes(asked.kind).decode(), bytes(asked.data).decode()
    return VendorCommand(operation=asked.operation.decode(), kind=kind, data=data)
