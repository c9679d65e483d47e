"""The incidents of a shoe beside its draws, by name: its lid, its power, its lens, a jam.

In: a name and arguments, a device, the time. Out: the incident happens, or is refused by name.
Must not know: scenarios, sockets, what a table makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmware_proto.events import (
    Button,
    Error,
    ErrorCleared,
    Lid,
    PowerLow,
    PowerRestored,
    Tamper,
    Warned,
)
from simulators.arguments import Arguments, Number, Text, WholeNumber, Word, YesNo
from simulators.shoe.angel_eye import AngelEyeDevice
from simulators.shoe.clock import FASTEST_PPM, SLOWEST_PPM
from simulators.shoe.device import Device
from simulators.shoe.lens import CLEAN, Lens
from simulators.shoe.model import CannotSay, Refused
from simulators.shoe.reference import ReferenceDevice

Happen = Callable[[Device, float, Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """``about`` is a sentence on it; ``happen`` raises ``simulators.shoe.model.Refused``.

    ``example`` has arguments as a command line spells them.
    ``card``: a card leaves the shoe, or is read, with it; ``starts``: the shoe starts again.
    """

    about: str
    happen: Happen
    arguments: Arguments = field(default_factory=dict)
    example: str = ""
    card: bool = False
    starts: bool = False


_CODE = Text(about="the error's code", required=True, pattern="[A-Za-z0-9_]{1,32}",
             form="a code, such as sensor")  # fmt: skip
_SEED = WholeNumber(about="chooses the cards", default=0, at_least=0, at_most=2**32)


def _power_off(device: Device) -> None:
    if not device.powered:
        raise Refused("the shoe has no power")
    device.power_off()


def _power_on(device: Device, t: float) -> None:
    if device.powered:
        raise Refused("the shoe has power")
    device.boot(t)


def _misread(device: Device) -> None:
    shoe = device.shoe
    shoe.unreadable |= {shoe.drawn + 1}


def _install(device: Device, t: float, given: Mapping[str, Any]) -> None:
    if not isinstance(device, ReferenceDevice):
        raise CannotSay(device.profile, "its firmware")
    digest = given["digest"]
    device.install(given["version"], None if digest is None else digest.lower(), t)


def _set_key(device: Device, t: float, given: Mapping[str, Any]) -> None:
    if not isinstance(device, ReferenceDevice):
        raise CannotSay(device.profile, "a key of its own")
    device.set_key(None if given["key"] is None else bytes.fromhex(given["key"]), t)


def _judging(device: Device, what: str) -> AngelEyeDevice:
    if not isinstance(device, AngelEyeDevice):
        raise CannotSay(device.profile, what)
    return device


def _brown_out(device: Device, t: float, given: Mapping[str, Any]) -> None:
    device.brown_out(t, kept=given["card"] == "kept")


def _error(device: Device, t: float, given: Mapping[str, Any]) -> None:
    device.happen(Error(code=given["code"], in_error_mode=given["stops"]), t)


INCIDENTS: Mapping[str, Incident] = {
    "lock": Incident(
        about="Lock the shoe by its key.",
        happen=lambda device, t, _: device.turn_key(t, locked=True),
    ),
    "unlock": Incident(
        about="Unlock the shoe by its key.",
        happen=lambda device, t, _: device.turn_key(t, locked=False),
    ),
    "lid_open": Incident(
        about="Open the lid.",
        happen=lambda device, t, _: device.happen(Lid(open=True), t),
    ),
    "lid_close": Incident(
        about="Close the lid.",
        happen=lambda device, t, _: device.happen(Lid(open=False), t),
    ),
    "tamper": Incident(
        about="Tamper with the shoe.",
        happen=lambda device, t, given: device.happen(Tamper(what=given["what"]), t),
        arguments={
            "what": Word(
                about="what the shoe notices",
                default="seal",
                words=("seal", "opened_without_power", "sensor", "other"),
            )
        },
        example="what=seal",
    ),
    "button": Incident(
        about="Press a button of the shoe.",
        happen=lambda device, t, given: device.happen(Button(button=given["number"]), t),
        arguments={"number": WholeNumber(about="which button", default=1, at_least=1, at_most=255)},
        example="number=3",
    ),
    "power_low": Incident(
        about="Let the shoe run out of power.",
        happen=lambda device, t, given: device.happen(PowerLow(percent=given["percent"]), t),
        arguments={
            "percent": WholeNumber(
                about="what is left; without it the shoe does not know", at_least=0, at_most=100
            )
        },
        example="percent=4",
    ),
    "power_restored": Incident(
        about="Give the shoe enough power again.",
        happen=lambda device, t, _: device.happen(PowerRestored(), t),
    ),
    "power_off": Incident(
        about="Take the shoe's power away; the line stays open and silent.",
        happen=lambda device, _t, _: _power_off(device),
    ),
    "power_on": Incident(
        about="Give the shoe its power back: it starts.",
        happen=lambda device, t, _: _power_on(device, t),
        starts=True,
    ),
    "reboot": Incident(
        about="Take the power away and give it back at once: the shoe starts again.",
        happen=lambda device, t, _: device.boot(t),
        starts=True,
    ),
    "brown_out": Incident(
        about="Let power dip in the middle of a draw: the card is out, the shoe starts again, and "
        "what it was sending breaks off.",
        happen=_brown_out,
        arguments={
            "card": Word(
                about="whether the shoe had stored the card, or never noticed it",
                default="lost",
                words=("kept", "lost"),
            )
        },
        starts=True,
        example="card=kept",
    ),
    "clock_drift": Incident(
        about="Let the shoe's clock run too fast, or too slow, from now on.",
        happen=lambda device, t, given: device.drift(given["ppm"], t),
        arguments={
            "ppm": WholeNumber(
                about="parts per million by which it is fast; negative is slow",
                required=True,
                at_least=SLOWEST_PPM,
                at_most=FASTEST_PPM,
            )
        },
        example="ppm=200",
    ),
    "misread": Incident(
        about="Let the next card not be read.",
        happen=lambda device, _t, _: _misread(device),
    ),
    "dirty_lens": Incident(
        about="Dirty the lens: a part of the cards is not read, or read unsurely.",
        happen=lambda device, _t, given: device.change_lens(Lens(**given)),
        arguments={
            "misread": Number(about="the part that is not read", default=0.0),
            "unsure": Number(about="the part of the others that is read unsurely", default=0.0),
            "seed": _SEED,
        },
        example="misread=0.02 unsure=0.1",
    ),
    "clean_lens": Incident(
        about="Clean the lens.",
        happen=lambda device, _t, _: device.change_lens(CLEAN),
    ),
    "jam": Incident(
        about="Jam a card: nothing comes out until it is freed.",
        happen=lambda device, t, _: device.jam(t),
    ),
    "free": Incident(
        about="Free the card that is stuck.",
        happen=lambda device, t, _: device.free(t),
    ),
    "error": Incident(
        about="Let the shoe find an error, by its protocol's name of it.",
        happen=_error,
        arguments={"code": _CODE, "stops": YesNo(about="whether it stops until it is cleared")},
        example="code=sensor stops=true",
    ),
    "error_cleared": Incident(
        about="Let that error be over.",
        happen=lambda device, t, given: device.happen(ErrorCleared(code=given["code"]), t),
        arguments={"code": _CODE},
        example="code=sensor",
    ),
    "warning": Incident(
        about="Let the shoe warn of something.",
        happen=lambda device, t, given: device.happen(Warned(code=given["code"]), t),
        arguments={
            "code": Text(
                about="the warning's code",
                default="W0x01",
                pattern="[A-Za-z0-9]{1,16}",
                form="a code, such as W0x01",
            )
        },
        example="code=W0x01",
    ),
    "firmware": Incident(
        about="Give the shoe other firmware: it starts again with it.",
        happen=_install,
        arguments={
            "version": Text(
                about="what it calls itself",
                default="sim-1.1",
                pattern="[!-~]{1,24}",
                form="a name of 1 to 24 printable characters",
            ),
            "digest": Text(
                about="its SHA-256; without it the shoe names none",
                pattern="[0-9A-Fa-f]{64}",
                form="64 hex digits",
            ),
        },
        starts=True,
        example="version=2.0",
    ),
    "key": Incident(
        about="Give the shoe a separate key, or take it away: it starts again, and with a key it "
        "wants to prove who it is.",
        happen=_set_key,
        arguments={
            "key": Text(
                about="the key; without it the shoe has none",
                pattern="[0-9A-Fa-f]{64}",
                form="64 hex digits",
            ),
        },
        starts=True,
    ),
    "overdraw": Incident(
        about="Draw a card just as the shoe has judged the round: it objects and stops.",
        happen=lambda device, t, _: _judging(device, "a card drawn too many").overdraw(t),
        card=True,
    ),
    "overdraw_kept": Incident(
        about="Keep that card at the shoe: it is designated the next round's first.",
        happen=lambda device, t, _: _judging(device, "a card's new place").clear_overdraw(
            t, keep=True
        ),
    ),
    "overdraw_discarded": Incident(
        about="Discard that card at the shoe.",
        happen=lambda device, t, _: _judging(device, "a card drawn too many").clear_overdraw(
            t, keep=False
        ),
    ),
    "read_again": Incident(
        about="Read the card at which the shoe has stopped after all.",
        happen=lambda device, t, _: _judging(device, "a card that it reads again").read_again(t),
        card=True,
    ),
    "push_back": Incident(
        about="Push the card drawn last back in.",
        happen=lambda device, t, _: device.push_back(t),
    ),
    "reverse_run": Incident(
        about="Let the sensor see a card run backwards.",
        happen=lambda device, t, _: device.reverse_run(t),
    ),
}
"""Name → what happens."""
