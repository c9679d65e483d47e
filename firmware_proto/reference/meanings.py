"""What the fields of each kind mean: values of a frame to events and back.

In: values in declared order; events and what hosts say. Out: the one from the other.
Must not know: bytes, stuffing, CRC, connections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firmware_proto.events import (
    Acknowledged,
    Armed,
    CardDrawn,
    CuttingCard,
    Gap,
    Hello,
    HelloAsked,
    HostSaid,
    Locked,
    ReplayAsked,
    Reply,
    ShoeEvent,
    ShoeLoaded,
    Status,
)

from .layouts import CAN_ARM, OTHER_REASON, REASON_CODES, Kind

Said = ShoeEvent | HostSaid

Values = tuple[Any, ...]
"""A frame's values in declared order, without the header that every frame of a shoe has."""


def _hello(values: Values) -> Hello:
    device_id, firmware, digest, capabilities, deck, decks, set_id, drawn, cut, oldest = values
    return Hello(
        device_id=device_id,
        firmware=firmware,
        firmware_digest=digest,
        can_arm=bool(capabilities & CAN_ARM),
        deck=deck,
        decks=decks,
        set_id=set_id,
        drawn=drawn,
        cutting_card_out=cut,
        oldest_seq=oldest,
        boot_id=0,
    )


def _status(values: Values) -> Status:
    armed, drawn, unacknowledged, locked_by_key = values
    return Status(
        armed=armed, drawn=drawn, unacknowledged=unacknowledged, locked_by_key=locked_by_key
    )


def _reply(values: Values) -> Reply:
    reason, number = values
    return Reply(accepted=reason is None, reason=reason, number=number)


def _shoe_loaded(values: Values) -> ShoeLoaded:
    set_id, decks = values
    return ShoeLoaded(set_id=set_id, decks=decks)


def _card_drawn(values: Values) -> CardDrawn:
    number, card, armed, face_up, confidence = values
    return CardDrawn(card=card, number=number, armed=armed, face_up=face_up, confidence=confidence)


def _cutting_card(values: Values) -> CuttingCard:
    () = values
    return CuttingCard()


def _events_lost(values: Values) -> Gap:
    (last,) = values
    return Gap(first=0, last=last)


def _hello_request(values: Values) -> HelloAsked:
    () = values
    return HelloAsked()


def _acknowledge(values: Values) -> Acknowledged:
    return Acknowledged(*values)


def _arm(values: Values) -> Armed:
    return Armed(*values)


def _lock(values: Values) -> Locked:
    () = values
    return Locked()


def _replay_from(values: Values) -> ReplayAsked:
    return ReplayAsked(*values)


SAID: dict[Kind, Callable[[Values], Said]] = {
    Kind.HELLO: _hello,
    Kind.STATUS: _status,
    Kind.REPLY: _reply,
    Kind.SHOE_LOADED: _shoe_loaded,
    Kind.CARD_DRAWN: _card_drawn,
    Kind.CUTTING_CARD: _cutting_card,
    Kind.EVENTS_LOST: _events_lost,
    Kind.HELLO_REQUEST: _hello_request,
    Kind.ACKNOWLEDGE: _acknowledge,
    Kind.ARM: _arm,
    Kind.LOCK: _lock,
    Kind.REPLAY_FROM: _replay_from,
}
"""What each kind says. ``Hello.boot_id`` and ``Gap.first`` are 0 here: the header has them."""


def values_of(said: Said) -> tuple[Kind, Values]:
    """The kind that says this, and the values of its fields.

    Raises:
        ValueError: this profile has no way to say it.
    """
    match said:
        case CardDrawn():
            return Kind.CARD_DRAWN, (
                said.number,
                said.card,
                said.armed,
                said.face_up,
                said.confidence,
            )
        case ShoeLoaded():
            return Kind.SHOE_LOADED, (said.set_id, said.decks)
        case CuttingCard():
            return Kind.CUTTING_CARD, ()
        case Gap(last=last):
            return Kind.EVENTS_LOST, (last,)
        case Status():
            return Kind.STATUS, (
                said.armed,
                said.drawn,
                said.unacknowledged,
                said.locked_by_key,
            )
        case Reply():
            return Kind.REPLY, (_reason(said), said.number)
        case Hello():
            return Kind.HELLO, _hello_values(said)
        case _:
            return _host_values(said)


def _host_values(said: Said) -> tuple[Kind, Values]:
    match said:
        case HelloAsked():
            return Kind.HELLO_REQUEST, ()
        case Acknowledged(through):
            return Kind.ACKNOWLEDGE, (through,)
        case Armed(number, hand, index):
            return Kind.ARM, (number, hand, index)
        case Locked():
            return Kind.LOCK, ()
        case ReplayAsked(first):
            return Kind.REPLAY_FROM, (first,)
        case _:
            raise ValueError(f"the reference profile has no frame for {said!r}")


def _hello_values(hello: Hello) -> Values:
    return (
        hello.device_id,
        hello.firmware,
        hello.firmware_digest,
        0 if hello.can_arm is False else CAN_ARM,
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
