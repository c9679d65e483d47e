"""The words for what is found at a port: a cause for programs, one line for people.

In: what was seen. Out: Diagnosis values. Must not know: how it was seen, how it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from firmware_proto.events import AuthenticationFailed
from firmware_proto.profiles import profile
from shoe_ctl.errors import PortCause

from .holders import MODEM_MANAGER, Holder
from .ports import Port, SerialPort, TcpPort
from .refusals import RefusalCause, remedy
from .trial import Tried

_LEAVE_ALONE = "install udev/70-card-shoe.rules and name the adapter in 60-card-shoe-site.rules"


Cause = (
    PortCause
    | RefusalCause
    | Literal[
        "well", "held_by_daemon", "modem_manager", "silence", "wrong_baud", "other_profile",
        "garbage", "no_answer_to_hello", "firmware", "lost", "unidentified", "no_proof",
        "suspended",
    ]
)  # fmt: skip
"""What a program is told; docs/guides/doctor.md says what each means."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``says`` is what is wrong and the next step; ``baud`` the rate that fits, where found.

    ``speaks`` is the profile that was heard, ``device_id`` who said so. ``well`` is None where a
    daemon has the port and did not say how its shoe is; ``holder`` is the daemon's process.
    """

    well: bool | None
    cause: Cause
    says: str
    device_id: str | None = None
    speaks: str | None = None
    baud: int | None = None
    holder: int | None = None


def held(holder: Holder) -> Diagnosis:
    """Another process has it: it is left alone, as two that read one shoe get half of it each."""
    if holder.daemon:
        line = f"in use by {holder}, not tried: shoectl table status tells how its shoe is"
        return Diagnosis(None, "held_by_daemon", line, holder=holder.pid)
    if holder.name == MODEM_MANAGER:
        line = f"port taken by {holder}, which looks for a modem in it: {_LEAVE_ALONE}"
        return Diagnosis(False, "modem_manager", line)
    return Diagnosis(False, "taken", f"port taken by {holder}: end it, then try again")


def of_daemon(held: Diagnosis, link: str, reason: str | None, next_step: str) -> Diagnosis:
    """What the daemon that has the port says of its shoe: the status of its table."""
    start = f"{held.says.partition(',')[0]}, not tried; its table "
    if link == "up":
        return replace(held, well=True, says=f"{start}says that the link is up")
    words: dict[str, tuple[Cause, str]] = {
        "refused": (_refusal(reason), "refuses the shoe that speaks"),
        "unidentified": ("unidentified", "waits for a shoe to say who it is"),
        "suspended": ("suspended", "does not listen, because the line brought too much garbage"),
        "lost": ("lost", "does not hear the shoe"),
    }
    cause, what = words.get(link, ("lost", "does not hear the shoe"))
    return replace(held, well=False, cause=cause, says=f"{start}{what}: {next_step}")


def _refusal(reason: str | None) -> Cause:
    match reason:
        case "no_key" | "unauthenticated" | "no_proof":
            return reason
        case _:
            return "wrong_key"


def suspected(holder: Holder) -> Diagnosis:
    """Somebody has it, the system does not tell who, and ModemManager runs."""
    line = f"port taken, by {holder} perhaps: {_LEAVE_ALONE}; fuser -v tells who has it"
    return Diagnosis(False, "taken", line)


def may_be_probed(known: Diagnosis, holder: Holder) -> Diagnosis:
    """All is well, until ModemManager writes to the shoe."""
    line = f"{known.says}; but {holder} runs and may write to it: {_LEAVE_ALONE}"
    return replace(known, well=False, cause="modem_manager", says=line)


def known(name: str, tried: Tried) -> Diagnosis | None:
    """What is to be said of a shoe that introduced itself; None where none did."""
    if tried.failed is not None:
        return _refused(name, tried.failed)
    if tried.proved is not None:
        who = tried.proved.device_id
        line = f"{who} answers and proves who it is with key {tried.proved.key_id}"
        return Diagnosis(True, "well", line, device_id=who, speaks=name)
    if tried.hello is not None:
        who = tried.hello.device_id
        if tried.firmware is not None:
            line = (
                f"{who} answers, and runs firmware {tried.firmware.firmware}, which is not on the "
                "list: update it, or add its digest to shoe.firmware"
            )
            return Diagnosis(False, "firmware", line, device_id=who, speaks=name)
        line = f"{who} answers, unauthenticated: a key_file would prove that it is itself"
        return Diagnosis(True, "well", line, device_id=who, speaks=name)
    if tried.frames and not _asked(name):
        return Diagnosis(True, "well", f"a shoe speaks {name}", speaks=name)
    return None


def _asked(name: str) -> bool:
    """Whether shoes of this profile are asked who they are, and answer."""
    return profile(name).CAPABILITIES.silence_s is not None


def _refused(name: str, failed: AuthenticationFailed) -> Diagnosis:
    """The two do not have the same key."""
    who, (cause, step) = failed.device_id, remedy(failed)
    line = f"{who} answers, but {failed.reason}: {step}"
    return Diagnosis(False, cause, line, device_id=who, speaks=name)


def silent(port: Port, name: str, seconds: float) -> Diagnosis:
    """Nothing came at all."""
    if _asked(name):
        step = "is it powered, is the cable the right one, is it a shoe?"
    else:
        step = (
            "such a shoe speaks only when something happens: draw a card or turn its key while "
            "this listens (--seconds 30), then look at power and cable"
        )
    where = (
        "the device server is there, its shoe is silent" if isinstance(port, TcpPort) else "silence"
    )
    return Diagnosis(False, "silence", f"{where}: nothing came in {seconds:g} s: {step}")


def deaf(name: str) -> Diagnosis:
    """It is heard, and does not hear us."""
    line = (
        f"a shoe speaks {name}, but does not answer when it is asked who it is: look at the line "
        "to the shoe (its RX)"
    )
    return Diagnosis(False, "no_answer_to_hello", line, speaks=name)


def lost(why: str) -> Diagnosis:
    """It went away while it was listened to."""
    return Diagnosis(False, "lost", f"lost while it was tried ({why}): look at cable and power")


def wrong_baud(name: str, baud: int, fits: int) -> Diagnosis:
    """The rate is another of the profile's."""
    line = f"wrong baud rate: nothing made sense at {baud}, {name} is spoken at {fits}: "
    return Diagnosis(
        False, "wrong_baud", f"{line}set baud = {fits} in [table.shoe]", speaks=name, baud=fits
    )


def speaks_another(name: str, spoken: str, baud: int | None) -> Diagnosis:
    """A shoe, but not such a one."""
    at = "" if baud is None else f" at {baud} baud"
    line = f'the shoe speaks {spoken}{at}, not {name}: set profile = "{spoken}", or change the shoe'
    return Diagnosis(False, "other_profile", line, speaks=spoken, baud=baud)


def garbage(port: Port, name: str, received: int, rates: tuple[int, ...]) -> Diagnosis:
    """Bytes, and no frame of any profile at any rate that is known."""
    amount = "1 byte" if received == 1 else f"{received} bytes"
    if isinstance(port, SerialPort):
        at = ", ".join(map(str, rates))
        step = (
            f"at {at} baud: is the rate another, the ground missing, is it no shoe? shoectl "
            "capture keeps them"
        )
    elif isinstance(port, TcpPort):
        at = " or ".join(map(str, rates))
        step = f"is the device server's line at {at} baud, 8N1, its mode raw TCP?"
    else:
        step = "is it a shoe's interface? shoectl capture keeps them"
    line = f"{amount} came and made no frame of {name}: {step}"
    return Diagnosis(False, "garbage", line)
