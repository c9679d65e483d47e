"""Message mapping: the kinds of frames (SPEC 4), and the events and commands that each carries.

In: values of a frame in declared order; events and host messages. Out: the one from the other.
Must not know: bytes, framing, connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
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
from firmware_proto.frozen_values import slot_filled
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.fields import (
    AUTHENTICATES,
    CAN_ARM,
    FAULT_CODES,
    OTHER_FAULT,
    OTHER_REASON,
    REASON_CODES,
)
from firmware_proto.reference.packing import FIRST_OF_HOST, Kind

Content = ShoeEvent | HostMessage

Values = tuple[Any, ...]
"""A frame's values in declared order, without the header that every frame of a shoe has."""


@dataclass(frozen=True, slots=True)
class _FieldMapping:
    """A kind whose fields, in the layout's order, are those of one event or host message."""

    content_type: type[Any]
    names: tuple[str, ...]
    _values: Callable[[Any], Values]
    _slot_filled: Callable[[], Any]
    _not_carried: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, content_type: type[Any], names: tuple[str, ...]) -> _FieldMapping:
        """Return the mapping for these names of fields."""
        filled = slot_filled(content_type)
        own = fields(content_type)
        rest = tuple((field.name, field.default) for field in own if field.name not in names)
        match names:
            case ():
                return cls(content_type, names, lambda _: (), filled, rest)
            case (name,):
                get = attrgetter(name)
                return cls(content_type, names, lambda content: (get(content),), filled, rest)
            case _:
                return cls(content_type, names, attrgetter(*names), filled, rest)

    def content(self, values: Values) -> Content:
        made = self._slot_filled()
        for name, value in zip(self.names, values, strict=True):
            setattr(made, name, value)
        for name, value in self._not_carried:
            setattr(made, name, value)
        made.__class__ = self.content_type
        content: Content = made
        return content

    def values(self, content: Content) -> Values:
        return self._values(content)


_HEADER = 3
"""Fields of the header that every frame of a shoe begins with: seq, boot_id, t_us."""

_RENAMED = {"wrapped": "key"}
"""Fields that the event or host message has under another name than the layout."""

_SAME_FIELDS: dict[Kind, type[Any]] = {
    Kind.STATUS: Status,
    Kind.CHALLENGE_ANSWERED: ChallengeAnswered,
    Kind.QUERY_ANSWERED: QueryAnswered,
    Kind.SHOE_LOADED: ShoeLoaded,
    Kind.CARD_DRAWN: CardDrawn,
    Kind.CUTTING_CARD: CuttingCard,
    Kind.CARDS_DRAWN: CardsDrawn,
    Kind.CARD_PUSHED_BACK: CardPushedBack,
    Kind.LID: Lid,
    Kind.BUTTON: Button,
    Kind.SHOE_EMPTY: ShoeEmpty,
    Kind.SELF_TEST: SelfTested,
    Kind.FAULT: Error,
    Kind.FAULT_CLEARED: ErrorCleared,
    Kind.POWER_LOW: PowerLow,
    Kind.POWER_RESTORED: PowerRestored,
    Kind.RESET_DONE: ResetDone,
    Kind.KEY_ROTATED: KeyRotated,
    Kind.TAMPER: Tamper,
    Kind.HELLO_REQUEST: HelloRequest,
    Kind.ACKNOWLEDGE: Acknowledge,
    Kind.ARM: Armed,
    Kind.LOCK: Locked,
    Kind.REPLAY_FROM: ReplayRequest,
    Kind.CHALLENGE: Challenge,
    Kind.SHOW: Show,
    Kind.RESET: Reset,
    Kind.TEST_SELF: TestSelf,
    Kind.QUERY: Query,
    Kind.SET_TIME: SetTime,
    Kind.ROTATE_KEY: RotateKey,
}


def _names(kind: Kind) -> tuple[str, ...]:
    own = COMPILED[kind].fields[0 if kind >= FIRST_OF_HOST else _HEADER :]
    return tuple(_RENAMED.get(field.name, field.name) for field in own)


_FIELD_MAPPINGS = {
    kind: _FieldMapping.of(content_type, _names(kind))
    for kind, content_type in _SAME_FIELDS.items()
}


# These are mapped by hand: a changed layout stops here, at import.
COMPILED[Kind.HELLO].require(
    *("seq", "boot_id", "t_us", "device_id", "firmware", "firmware_digest", "capabilities"),
    *("deck", "decks", "set_id", "drawn", "cutting_card_out", "oldest_seq"),
)
COMPILED[Kind.REPLY].require("seq", "boot_id", "t_us", "reason", "number")
COMPILED[Kind.COMMAND_REPLY].require("seq", "boot_id", "t_us", "command_id", "reason")
COMPILED[Kind.EVENTS_LOST].require("seq", "boot_id", "t_us", "last")


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
"""The content of each kind. ``Hello.boot_id`` and ``Gap.first`` are 0: the header has them."""

_WITH_FAULT_CODE = (Kind.FAULT, Kind.FAULT_CLEARED)

_KINDS: dict[Any, tuple[Kind, _FieldMapping]] = {
    same.content_type: (kind, same) for kind, same in _FIELD_MAPPINGS.items()
}


def values_of(content: Content) -> tuple[Kind, Values]:
    """Return the kind that carries this, and the values of its fields.

    Raises:
        ValueError: this profile has no kind for it.
    """
    known = _KINDS.get(type(content))
    if known is not None:
        kind, same = known
        if kind in _WITH_FAULT_CODE:
            if isinstance(content, Error) and content.code not in FAULT_CODES:
                return kind, (OTHER_FAULT, content.in_error_mode)
            if isinstance(content, ErrorCleared) and content.code not in FAULT_CODES:
                return kind, (OTHER_FAULT,)
        return kind, same.values(content)
    match content:
        case Reply():
            reason = _reason(content)
            if content.command_id is not None:
                return Kind.COMMAND_REPLY, (content.command_id, reason)
            return Kind.REPLY, (reason, content.number)
        case Hello():
            return Kind.HELLO, _hello_values(content)
        case Gap(last=last):
            return Kind.EVENTS_LOST, (last,)
    raise ValueError(f"the reference profile has no frame for {content!r}")


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
