"""What a shoe says of its body: cards pushed back, lid, meddling, tests, power, who it is.

In: such events. Out: shoe.fault .cleared .noted. Must not know: the round, what
a person rules.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from firmware_proto.events import (
    Lid,
    PowerLow,
    SelfTested,
    Tamper,
    UnknownFirmware,
)

from .turn import Turn


def is_opened(turn: Turn) -> bool:
    """The lid went up."""
    event = turn.shoe_event
    assert isinstance(event, Lid)
    return event.open


def has_failed(turn: Turn) -> bool:
    """A part of the shoe failed its test."""
    event = turn.shoe_event
    assert isinstance(event, SelfTested)
    return bool(event.failed)


def is_wrong(turn: Turn) -> bool:
    """Something of the shoe is not as it should be: but for a test that found nothing."""
    event = turn.shoe_event
    return not isinstance(event, SelfTested) or bool(event.failed)


def is_refused(turn: Turn) -> bool:
    """A shoe of this firmware is not armed."""
    event = turn.shoe_event
    assert isinstance(event, UnknownFirmware)
    return event.refused


def tell_fault(turn: Turn) -> None:
    """Something is wrong with the shoe that concerns no card: the room hears of it, staff what."""
    event = turn.shoe_event
    assert isinstance(event, Tamper | SelfTested | PowerLow)
    turn.tell("shoe.fault", {}, restricted={"code": event.type, **_said(turn)})


def tell_power(turn: Turn) -> None:
    """It has enough power again."""
    turn.tell("shoe.cleared", {}, restricted={"code": PowerLow.type})


def note(turn: Turn) -> None:
    """Nothing is wrong; who looks after the shoe may want to know."""
    turn.tell_restricted("shoe.noted", {"what": turn.shoe_event.type, **_said(turn)})


def _said(turn: Turn) -> dict[str, Any]:
    """What the event carries, but for ids and the face of a card."""
    event = turn.shoe_event
    said = {f.name: getattr(event, f.name) for f in fields(event)}
    return {k: v for k, v in said.items() if k not in ("card", "command_id") and v is not None}


def tell_firmware(turn: Turn) -> None:
    """The shoe's firmware is not on the table's list."""
    event = turn.shoe_event
    assert isinstance(event, UnknownFirmware)
    secret = {
        "code": event.type,
        "firmware": event.firmware,
        "firmware_digest": event.firmware_digest,
        "refused": event.refused,
    }
    turn.tell("shoe.fault", {}, restricted=secret)
