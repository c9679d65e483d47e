"""What the fields of each kind mean: values of a frame to events and back.

In: values in declared order; events and what hosts say. Out: the one from the other.
Must not know: bytes, stuffing, CRC, connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firmware_proto.events import (
    Acknowledged,
    Armed,
    Button,
    CardDrawn,
    CardPushedBack,
    CardsDrawn,
    Challenge,
    ChallengeAnswered,
    CuttingCard,
    Error,
    ErrorCleared,
    Gap,
    Hello,
    HelloAsked,
    HostSaid,
    KeyRotated,
    Lid,
    Locked,
    PowerLow,
    PowerRestored,
    Query,
    QueryAnswered,
    ReplayAsked,
    Reply,
    Reset,
    ResetDone,
    RotateKey,
    SelfTested,
    SetTime,
    ShoeEmpty,
    ShoeEvent,
    ShoeLoaded,
    Show,
    Status,
    Tamper,
    TestSelf,
)

from .codes import AUTHENTICATES, CAN_ARM, FAULT_CODES, OTHER_FAULT, OTHER_REASON, REASON_CODES
from .layouts import Kind

Said = ShoeEvent | HostSaid

Values = tuple[Any, ...]
"""A frame's values in declared order, without the header that every frame of a shoe has."""


@dataclass(frozen=True, slots=True)
class _Same:
    """A kind whose fields are, one for one, those of what it says; ``names`` are the latter's."""

    means: Callable[..., Said]
    names: tuple[str, ...] = ()

    def said(self, values: Values) -> Said:
        return self.means(**dict(zip(self.names, values, strict=True)))

    def values(self, said: Said) -> Values:
        return tuple(getattr(said, name) for name in self.names)


_SAME: dict[Kind, _Same] = {
    Kind.STATUS: _Same(Status, ("armed", "drawn", "unacknowledged", "locked_by_key")),
    Kind.CHALLENGE_ANSWERED: _Same(ChallengeAnswered, ("key_id", "nonce", "proof")),
    Kind.QUERY_ANSWERED: _Same(QueryAnswered, ("command_id", "what", "value")),
    Kind.SHOE_LOADED: _Same(ShoeLoaded, ("set_id", "decks")),
    Kind.CARD_DRAWN: _Same(CardDrawn, ("number", "card", "armed", "face_up", "confidence")),
    Kind.CUTTING_CARD: _Same(CuttingCard),
    Kind.CARDS_DRAWN: _Same(CardsDrawn, ("number", "cards", "order_known", "armed")),
    Kind.CARD_PUSHED_BACK: _Same(CardPushedBack, ("number", "card")),
    Kind.LID: _Same(Lid, ("open",)),
    Kind.BUTTON: _Same(Button, ("button",)),
    Kind.SHOE_EMPTY: _Same(ShoeEmpty, ("drawn",)),
    Kind.SELF_TEST: _Same(SelfTested, ("failed", "command_id")),
    Kind.FAULT: _Same(Error, ("code", "in_error_mode")),
    Kind.FAULT_CLEARED: _Same(ErrorCleared, ("code",)),
    Kind.POWER_LOW: _Same(PowerLow, ("percent",)),
    Kind.POWER_RESTORED: _Same(PowerRestored),
    Kind.RESET_DONE: _Same(ResetDone, ("command_id",)),
    Kind.KEY_ROTATED: _Same(KeyRotated, ("key_id",)),
    Kind.TAMPER: _Same(Tamper, ("what",)),
    Kind.HELLO_REQUEST: _Same(HelloAsked),
    Kind.ACKNOWLEDGE: _Same(Acknowledged, ("through",)),
    Kind.ARM: _Same(Armed, ("number", "hand", "index")),
    Kind.LOCK: _Same(Locked),
    Kind.REPLAY_FROM: _Same(ReplayAsked, ("first",)),
    Kind.CHALLENGE: _Same(Challenge, ("key_id", "nonce")),
    Kind.SHOW: _Same(Show, ("command_id", "text")),
    Kind.RESET: _Same(Reset, ("command_id",)),
    Kind.TEST_SELF: _Same(TestSelf, ("command_id",)),
    Kind.QUERY: _Same(Query, ("command_id", "what")),
    Kind.SET_TIME: _Same(SetTime, ("command_id", "unix_us")),
    Kind.ROTATE_KEY: _Same(RotateKey, ("command_id", "key_id", "key")),
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


SAID: dict[Kind, Callable[[Values], Said]] = {
    Kind.HELLO: _hello,
    Kind.REPLY: _reply,
    Kind.COMMAND_REPLY: _command_reply,
    Kind.EVENTS_LOST: _events_lost,
} | {kind: same.said for kind, same in _SAME.items()}
"""What each kind says. ``Hello.boot_id`` and ``Gap.first`` are 0 here: the header has them."""

_KINDS: dict[Any, tuple[Kind, _Same]] = {same.means: (kind, same) for kind, same in _SAME.items()}


def values_of(said: Said) -> tuple[Kind, Values]:
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
