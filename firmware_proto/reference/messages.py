"""Message mapping: the kinds of frames (SPEC 4), and the events and commands that each carries.

In: values of a frame in declared order; events and host messages. Out: the one from the other.
Must not know: bytes, framing, connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from firmware_proto.commands import (
    Acknowledge,
    Armed,
    Challenge,
    HelloRequest,
    HostMessage,
    Locked,
    Query,
    ReplayRequest,
    Reset,
    RotateKey,
    SetTime,
    Show,
    TestSelf,
)
from firmware_proto.events import (
    Button,
    CardDrawn,
    CardPushedBack,
    CardsDrawn,
    ChallengeAnswered,
    CuttingCard,
    Error,
    ErrorCleared,
    Gap,
    Hello,
    KeyRotated,
    Lid,
    PowerLow,
    PowerRestored,
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEmpty,
    ShoeEvent,
    ShoeLoaded,
    Status,
    Tamper,
)
from firmware_proto.reference.fields import (
    AUTHENTICATES,
    CAN_ARM,
    FAULT_CODES,
    OTHER_FAULT,
    OTHER_REASON,
    REASON_CODES,
)

VERSION = 1
"""The first byte of a frame without a MAC (SPEC 3)."""

VERSION_WITH_MAC = 0x80 | VERSION
"""The first byte of a frame with one."""


class Kind(IntEnum):
    """The second byte of every frame (SPEC 4)."""

    HELLO = 0x01
    STATUS = 0x02
    REPLY = 0x03
    CHALLENGE_ANSWERED = 0x04
    QUERY_ANSWERED = 0x05
    COMMAND_REPLY = 0x06
    SHOE_LOADED = 0x10
    CARD_DRAWN = 0x11
    CUTTING_CARD = 0x12
    CARDS_DRAWN = 0x13
    CARD_PUSHED_BACK = 0x14
    LID = 0x15
    BUTTON = 0x16
    SHOE_EMPTY = 0x17
    SELF_TEST = 0x18
    FAULT = 0x19
    FAULT_CLEARED = 0x1A
    POWER_LOW = 0x1B
    POWER_RESTORED = 0x1C
    RESET_DONE = 0x1D
    EVENTS_LOST = 0x1E
    KEY_ROTATED = 0x1F
    TAMPER = 0x20
    HELLO_REQUEST = 0x81
    ACKNOWLEDGE = 0x82
    ARM = 0x83
    LOCK = 0x84
    REPLAY_FROM = 0x85
    CHALLENGE = 0x86
    SHOW = 0x87
    RESET = 0x88
    TEST_SELF = 0x89
    QUERY = 0x8A
    SET_TIME = 0x8B
    ROTATE_KEY = 0x8C


FIRST_NUMBERED = 0x10
"""From here to ``FIRST_OF_HOST`` a kind is an event with a number of its own, kept until heard."""

FIRST_OF_HOST = 0x80
"""From here on only a host says it."""

Content = ShoeEvent | HostMessage

Values = tuple[Any, ...]
"""A frame's values in declared order, without the header that every frame of a shoe has."""


@dataclass(frozen=True, slots=True)
class _FieldMapping:
    """A kind whose fields are, one for one, those of what it says; ``names`` are the latter's."""

    means: Callable[..., Content]
    names: tuple[str, ...] = ()

    def content(self, values: Values) -> Content:
        return self.means(**dict(zip(self.names, values, strict=True)))

    def values(self, said: Content) -> Values:
        return tuple(getattr(said, name) for name in self.names)


_FIELD_MAPPINGS: dict[Kind, _FieldMapping] = {
    Kind.STATUS: _FieldMapping(Status, ("armed", "drawn", "unacknowledged", "locked_by_key")),
    Kind.CHALLENGE_ANSWERED: _FieldMapping(ChallengeAnswered, ("key_id", "nonce", "proof")),
    Kind.QUERY_ANSWERED: _FieldMapping(QueryAnswered, ("command_id", "what", "value")),
    Kind.SHOE_LOADED: _FieldMapping(ShoeLoaded, ("set_id", "decks")),
    Kind.CARD_DRAWN: _FieldMapping(CardDrawn, ("number", "card", "armed", "face_up", "confidence")),
    Kind.CUTTING_CARD: _FieldMapping(CuttingCard),
    Kind.CARDS_DRAWN: _FieldMapping(CardsDrawn, ("number", "cards", "order_known", "armed")),
    Kind.CARD_PUSHED_BACK: _FieldMapping(CardPushedBack, ("number", "card")),
    Kind.LID: _FieldMapping(Lid, ("open",)),
    Kind.BUTTON: _FieldMapping(Button, ("button",)),
    Kind.SHOE_EMPTY: _FieldMapping(ShoeEmpty, ("drawn",)),
    Kind.SELF_TEST: _FieldMapping(SelfTested, ("failed", "command_id")),
    Kind.FAULT: _FieldMapping(Error, ("code", "in_error_mode")),
    Kind.FAULT_CLEARED: _FieldMapping(ErrorCleared, ("code",)),
    Kind.POWER_LOW: _FieldMapping(PowerLow, ("percent",)),
    Kind.POWER_RESTORED: _FieldMapping(PowerRestored),
    Kind.RESET_DONE: _FieldMapping(ResetDone, ("command_id",)),
    Kind.KEY_ROTATED: _FieldMapping(KeyRotated, ("key_id",)),
    Kind.TAMPER: _FieldMapping(Tamper, ("what",)),
    Kind.HELLO_REQUEST: _FieldMapping(HelloRequest),
    Kind.ACKNOWLEDGE: _FieldMapping(Acknowledge, ("through",)),
    Kind.ARM: _FieldMapping(Armed, ("number", "hand", "index")),
    Kind.LOCK: _FieldMapping(Locked),
    Kind.REPLAY_FROM: _FieldMapping(ReplayRequest, ("first",)),
    Kind.CHALLENGE: _FieldMapping(Challenge, ("key_id", "nonce")),
    Kind.SHOW: _FieldMapping(Show, ("command_id", "text")),
    Kind.RESET: _FieldMapping(Reset, ("command_id",)),
    Kind.TEST_SELF: _FieldMapping(TestSelf, ("command_id",)),
    Kind.QUERY: _FieldMapping(Query, ("command_id", "what")),
    Kind.SET_TIME: _FieldMapping(SetTime, ("command_id", "unix_us")),
    Kind.ROTATE_KEY: _FieldMapping(RotateKey, ("command_id", "key_id", "key")),
}


def _hello(values: Values) -> Hello:
    device_id, firmware, digest, capabilities, deck, decks, set_id, drawn, cut, oldest = values
    return Hello(
        device_id=device_id,
        firmware=firmware,
        firmware_digest=digest,
        can_arm=bool(capabilities & CAN_ARM),
        authenticates=True if capabilities & AUTHENTICATES else None,
        deck=deck,
        decks=decks,
        set_id=set_id,
        drawn=drawn,
        cutting_card_out=cut,
        oldest_seq=oldest,
        boot_id=0,
    )


def _reply(values: Values) -> Reply:
    reason, number = values
    return Reply(accepted=reason is None, reason=reason, number=number)


def _command_reply(values: Values) -> Reply:
    command_id, reason = values
    return Reply(accepted=reason is None, reason=reason, command_id=command_id)


def _events_lost(values: Values) -> Gap:
    (last,) = values
    return Gap(first=0, last=last)


CONTENT_OF: dict[Kind, Callable[[Values], Content]] = {
    Kind.HELLO: _hello,
    Kind.REPLY: _reply,
    Kind.COMMAND_REPLY: _command_reply,
    Kind.EVENTS_LOST: _events_lost,
} | {kind: same.content for kind, same in _FIELD_MAPPINGS.items()}
"""What each kind says. ``Hello.boot_id`` and ``Gap.first`` are 0 here: the header has them."""

_KINDS: dict[Any, tuple[Kind, _FieldMapping]] = {
    same.means: (kind, same) for kind, same in _FIELD_MAPPINGS.items()
}


def values_of(said: Content) -> tuple[Kind, Values]:
    """The kind that says this, and the values of its fields.

    Raises:
        ValueError: this profile has no way to say it.
    """
    match said:
        case Reply():
            reason = _reason(said)
            if said.command_id is not None:
                return Kind.COMMAND_REPLY, (said.command_id, reason)
            return Kind.REPLY, (reason, said.number)
        case Hello():
            return Kind.HELLO, _hello_values(said)
        case Gap(last=last):
            return Kind.EVENTS_LOST, (last,)
        case Error(code=code) if code not in FAULT_CODES:
            return Kind.FAULT, (OTHER_FAULT, said.in_error_mode)
        case ErrorCleared(code=code) if code not in FAULT_CODES:
            return Kind.FAULT_CLEARED, (OTHER_FAULT,)
    try:
        kind, same = _KINDS[type(said)]
    except KeyError:
        raise ValueError(f"the reference profile has no frame for {said!r}") from None
    return kind, same.values(said)


def _hello_values(hello: Hello) -> Values:
    return (
        hello.device_id,
        hello.firmware,
        hello.firmware_digest,
        (0 if hello.can_arm is False else CAN_ARM) | (AUTHENTICATES if hello.authenticates else 0),
        hello.deck,
        hello.decks,
        hello.set_id,
        hello.drawn,
        hello.cutting_card_out,
        hello.oldest_seq,
    )


def _reason(reply: Reply) -> str | None:
    if reply.accepted:
        return None
    return reply.reason if reply.reason in REASON_CODES and reply.reason else OTHER_REASON
