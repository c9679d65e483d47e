"""Diagnose a shoe's port without changing the shoe: probe it, decide, word it in one line.

In: a port and the profile expected there. Out: a Diagnosis with the cause and the next step.
Must not know: how it is shown, tables. It sends nothing but what ``probe`` sends.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Literal, Protocol, cast

from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Discarded,
    Hello,
    HostTraffic,
    Reply,
    ShoeEvent,
    UnknownFirmware,
)
from firmware_proto.profiles import PROFILES, Profile, SerialSettings
from firmware_proto.profiles import profile as profile_named
from firmware_proto.session import ReceivedEvent
from shoe_ctl.clock import Clock
from shoe_ctl.errors import PortCause, PortError
from shoe_ctl.link.address import Address, SerialAddress, TcpAddress, UsbAddress
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.discovery import System, find_usb_candidates, left_alone_by_modem_manager
from shoe_ctl.link.keyring import RefusalCause, troubleshooting_hint
from shoe_ctl.link.port_users import (
    MODEM_MANAGER,
    PortUser,
    find_connected,
    find_modem_manager,
    find_port_users,
)
from shoe_ctl.link.serial import DeviceNode, why_no_port
from shoe_ctl.link.transport import Transport, TransportLost
from shoe_ctl.link.transport_factory import opener
from shoe_ctl.link.usb_discovery import Backends

ENOUGH_BYTES = 1024
"""Bytes without a frame after which a probe ends: the length of four of the longest frames."""

_EXCLUDE_PORT = "install udev/70-card-shoe.rules and name the adapter in 60-card-shoe-site.rules"

Cause = (
    PortCause
    | RefusalCause
    | Literal[
        "well", "held_by_daemon", "modem_manager", "silence", "wrong_baud", "other_profile",
        "garbage", "no_answer_to_hello", "firmware", "lost", "unidentified", "no_proof",
        "suspended", "does_not_hear",
    ]
)  # fmt: skip
"""The cause for programs; docs/guides/doctor.md says what each means."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result for one port. ``says`` is the problem and the next step, in one line.

    ``well`` is None where a daemon has the port and its shoe's state is not known; ``holder`` is
    that daemon's process. ``speaks`` is the profile that was received, ``device_id`` the shoe that
    sent it, ``baud`` the rate that fits, where another one was found.
    """

    well: bool | None
    cause: Cause
    says: str
    device_id: str | None = None
    speaks: str | None = None
    baud: int | None = None
    holder: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTarget:
    """A port, with the profile and the serial settings expected there."""

    port: Address
    name: str
    profile: Profile
    settings: Mapping[str, object]
    serial: SerialSettings


class Doctor:
    """Diagnoses ports. It listens at each for ``seconds`` at one baud rate."""

    def __init__(
        self, *, system: System, clock: Clock, executor: Executor, usb: Backends, seconds: float
    ) -> None:
        self._system = system
        self._clock = clock
        self._executor = executor
        self._usb = usb
        self._seconds = seconds
        self._nodes: dict[Address, DeviceNode] = {}

    async def diagnose(self, target: ProbeTarget) -> Diagnosis:
        """Return which shoe answers at this port, or why none does."""
        run = asyncio.get_running_loop().run_in_executor
        if no_port := await run(self._executor, self._why_no_port, target.port):
            return Diagnosis(False, no_port.cause, str(no_port))
        if holders := await run(self._executor, self._find_users, target.port):
            return diagnose_in_use(holders[0])
        try:
            transport = await self._open(target, target.serial)
        except PortError as error:
            return self._diagnose_refusal(target.port, error)
        result = await probe(transport, target, clock=self._clock, seconds=self._seconds)
        known = diagnose_shoe(target.name, result)
        if known is None:
            return await self._diagnose_unknown(target, result)
        return self._check_modem_manager(target.port, known)

    def _why_no_port(self, port: Address) -> PortError | None:
        """Return why nobody should open it. This comes first: such a node's users may keep it."""
        return (
            why_no_port(port.path, self._system.proc) if isinstance(port, SerialAddress) else None
        )

    def _find_users(self, port: Address) -> list[PortUser]:
        """List the other processes that use it; a USB device's only once it refuses a claim."""
        match port:
            case SerialAddress():
                found = list(find_port_users(port.path, self._system.proc))
            case TcpAddress():
                found = find_connected(_resolve(port), self._system.proc)
            case _:
                found = []
        return [holder for holder in found if holder.pid != os.getpid()]

    async def _open(self, target: ProbeTarget, serial: SerialSettings) -> Transport:
        port = target.port
        node = None
        if isinstance(port, SerialAddress):  # the same pty at every rate
            node = self._nodes.setdefault(port, DeviceNode(port.path))
        return await opener(port, serial, self._executor, self._usb, node)()

    def _diagnose_refusal(self, port: Address, error: PortError) -> Diagnosis:
        if error.cause == "taken":
            if isinstance(port, UsbAddress) and (holder := self._find_device_user(port)):
                return diagnose_in_use(holder)
            if suspect := find_modem_manager(self._system.proc):
                return diagnose_modem_manager(suspect)
        return Diagnosis(False, error.cause, str(error))

    def _find_device_user(self, port: UsbAddress) -> PortUser | None:
        with suppress(PortError):
            for found in find_usb_candidates(self._system, self._usb()):
                if found.identity.serial == port.serial:
                    holders = find_port_users(found.node, self._system.proc)
                    return next((h for h in holders if h.pid != os.getpid()), None)
        return None

    async def _diagnose_unknown(self, target: ProbeTarget, result: ProbeResult) -> Diagnosis:
        """Diagnose a port where no shoe identified itself."""
        if result.lost is not None:
            return diagnose_lost(result.lost)
        if result.frames:
            return diagnose_one_way(target.name)
        if not result.received:
            return diagnose_silence(target.port, target.name, self._seconds)
        others = speaking_profiles(
            bytes(result.received), [n for n in PROFILES if n != target.name]
        )
        if others:
            return diagnose_other_profile(target.name, others[0], None)
        if isinstance(target.port, SerialAddress):
            return await self._try_other_rates(target, len(result.received))
        return diagnose_garbage(target.port, target.name, len(result.received), target.serial.rates)

    async def _try_other_rates(self, target: ProbeTarget, received: int) -> Diagnosis:
        """Listen at every other rate of this profile, then of the others. Send nothing."""
        rates = {target.name: target.serial.rates}
        rates |= {n: profile_named(n).SERIAL.rates for n in PROFILES if n != target.name}
        tried = [target.serial.baud]
        for rate in (rate for of_profile in rates.values() for rate in of_profile):
            if rate in tried:
                continue
            tried.append(rate)
            try:
                transport = await self._open(target, SerialSettings(baud=rate))
            except PortError as error:
                return self._diagnose_refusal(target.port, error)
            heard = await listen_only(transport, clock=self._clock, seconds=self._seconds)
            spoken = speaking_profiles(heard, [name for name in rates if rate in rates[name]])
            if target.name in spoken:
                return diagnose_wrong_baud(target.name, target.serial.baud, rate)
            if spoken:
                return diagnose_other_profile(target.name, spoken[0], rate)
        return diagnose_garbage(target.port, target.name, received, tuple(tried))

    def _check_modem_manager(self, port: Address, known: Diagnosis) -> Diagnosis:
        if known.well and isinstance(port, SerialAddress):
            running = find_modem_manager(self._system.proc)
            ignored = left_alone_by_modem_manager(port.path, self._system)
            if running is not None and ignored is False:
                return warn_of_modem_manager(known, running)
        return known


def _resolve(port: TcpAddress) -> list[tuple[str, int]]:
    """Look the name up. For an unknown one the list is empty: opening it reports that."""
    with suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(port.host, port.port, type=socket.SOCK_STREAM)
        return [(str(address[0]), port.port) for *_, address in found]
    return []


# Probing a port.


@dataclass(slots=True, kw_only=True)
class ProbeResult:
    """The result of a probe. ``frames`` counts those that only a shoe of the profile sends.

    ``lost`` is why the transport ended by itself.
    """

    received: bytearray = field(default_factory=bytearray)
    frames: int = 0
    hello: Hello | None = None
    proved: Authenticated | None = None
    failed: AuthenticationFailed | None = None
    firmware: UnknownFirmware | None = None
    lost: str | None = None


async def probe(
    transport: Transport, target: ProbeTarget, *, clock: Clock, seconds: float
) -> ProbeResult:
    """Listen until the shoe is known or ``seconds`` are over, and close the transport.

    What the session sends goes out until the shoe is known: hello_request and challenge in
    ``reference`` (SPEC 6, 7), which change nothing that the shoe keeps; in the other profiles
    nothing. Nothing is acknowledged, and no desired state is set.
    """
    result = ProbeResult()
    frames = _listener(target.name)
    asks = target.profile.CAPABILITIES.silence_s is not None
    over = asyncio.Event()

    async def take(reception: Reception) -> None:
        result.received += reception.chunk
        result.frames += _count_shoe_frames(frames.feed(reception.chunk))
        for event in (heard.event for heard in reception.heard):
            _record_event(result, event)
        known = result.hello or result.proved or result.failed or (result.frames and not asks)
        if known or reception.fault or (not result.frames and len(result.received) >= ENOUGH_BYTES):
            over.set()
            await asyncio.Event().wait()  # nothing is sent until this returns

    without_commands = {key: value for key, value in target.settings.items() if key != "commands"}
    connection = Connection(
        name=str(target.port),
        number=1,
        transport=transport,
        session=target.profile.host_session(resume=None, settings=without_commands),
        clock=clock,
        on_reception=take,
    )
    serving = asyncio.create_task(connection.run(), name="probe")
    timer = clock.call_later(seconds, over.set)
    serving.add_done_callback(lambda _: over.set())
    try:
        await over.wait()
    finally:
        timer.cancel()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            why = await serving
            result.lost = None if connection.fell_silent else str(why)
        transport.close()
    return result


def _record_event(result: ProbeResult, event: ShoeEvent) -> None:
    match event:
        case Hello():
            result.hello = event
        case Authenticated():
            result.proved = event
        case AuthenticationFailed():
            result.failed = event
        case UnknownFirmware():
            result.firmware = event


async def listen_only(transport: Transport, *, clock: Clock, seconds: float) -> bytes:
    """Return the bytes received in ``seconds``, or the first ``ENOUGH_BYTES``. Send nothing."""
    heard = bytearray()
    over, readable = asyncio.Event(), asyncio.Event()

    def end() -> None:
        over.set()
        readable.set()

    timer = clock.call_later(seconds, end)
    transport.when_readable(readable.set)
    try:
        with suppress(TransportLost):
            while not over.is_set() and len(heard) < ENOUGH_BYTES:
                await readable.wait()
                readable.clear()
                heard += transport.read()
    finally:
        timer.cancel()
        transport.when_readable(None)
        transport.close()
    return bytes(heard)


def speaking_profiles(heard: bytes, names: Sequence[str] = PROFILES) -> list[str]:
    """Return the profiles of which these bytes hold a whole frame."""
    found = []
    for name in names:
        listener = _listener(name)
        if _count_shoe_frames(listener.feed(heard)):
            found.append(name)
    return found


def _count_shoe_frames(heard: list[ReceivedEvent]) -> int:
    """Count the frames that only a shoe sends: a reply may be one stray byte."""
    return sum(not isinstance(h.event, Discarded | HostTraffic | Reply) for h in heard)


def _listener(name: str) -> _ProfileListener:
    return cast(_ProfileListener, import_module(f"firmware_proto.{name}.codec").Listener())


class _ProfileListener(Protocol):
    """The listener in each profile's ``codec`` module."""

    def feed(self, data: bytes) -> list[ReceivedEvent]: ...

    def end(self) -> list[ReceivedEvent]: ...


# Wording: each cause in one line.


def diagnose_in_use(holder: PortUser) -> Diagnosis:
    """Another process has the port. It is not opened: two readers would get half of it each."""
    if holder.daemon:
        line = (
            f"in use by {holder}, not tried: run shoectl table status to see the state of its shoe"
        )
        return Diagnosis(None, "held_by_daemon", line, holder=holder.pid)
    if holder.name == MODEM_MANAGER:
        line = f"port taken by {holder}, which probes it for a modem: {_EXCLUDE_PORT}"
        return Diagnosis(False, "modem_manager", line)
    return Diagnosis(False, "taken", f"port taken by {holder}: stop it, then run this again")


def diagnose_from_status(
    held: Diagnosis, link: str, reason: str | None, next_step: str
) -> Diagnosis:
    """A daemon has the port: report the link state in its table's status."""
    start = f"{held.says.partition(',')[0]}, not tried; "
    if reason == "does_not_hear":
        deaf: Cause = "does_not_hear"
        return replace(held, well=False, cause=deaf, says=f"{start}{next_step}")
    if link == "up":
        return replace(held, well=True, says=f"{start}its link is up")
    lost: tuple[Cause, str] = ("lost", "its shoe does not answer")
    words: dict[str, tuple[Cause, str]] = {
        "refused": (_refusal_cause(reason), "its table refuses this shoe"),
        "unidentified": ("unidentified", "its shoe has not identified itself"),
        "suspended": ("suspended", "its line is suspended: it brought too much garbage"),
    }
    cause, what = words.get(link, lost)
    return replace(held, well=False, cause=cause, says=f"{start}{what}: {next_step}")


def _refusal_cause(reason: str | None) -> Cause:
    match reason:
        case "no_key" | "unauthenticated" | "no_proof":
            return reason
        case _:
            return "wrong_key"


def diagnose_modem_manager(holder: PortUser) -> Diagnosis:
    """The port is taken, the system does not tell by whom, and ModemManager runs."""
    line = f"port taken, possibly by {holder}: {_EXCLUDE_PORT}; fuser -v names the process"
    return Diagnosis(False, "taken", line)


def warn_of_modem_manager(known: Diagnosis, holder: PortUser) -> Diagnosis:
    """The shoe answers, but ModemManager may write to it."""
    line = f"{known.says}; {holder} runs and may write to the port: {_EXCLUDE_PORT}"
    return replace(known, well=False, cause="modem_manager", says=line)


def diagnose_shoe(name: str, result: ProbeResult) -> Diagnosis | None:
    """A shoe identified itself, or sent frames of a profile that has no hello; else None."""
    if result.failed is not None:
        return _diagnose_refused(name, result.failed)
    if result.proved is not None:
        who = result.proved.device_id
        line = f"{who} answers and is authenticated with key {result.proved.key_id}"
        return Diagnosis(True, "well", line, device_id=who, speaks=name)
    if result.hello is not None:
        who = result.hello.device_id
        if result.firmware is not None:
            line = (
                f"{who} answers, but its firmware {result.firmware.firmware} is not on the list: "
                "update it, or add its digest to shoe.firmware"
            )
            return Diagnosis(False, "firmware", line, device_id=who, speaks=name)
        line = f"{who} answers, unauthenticated: configure a key_file to authenticate it"
        return Diagnosis(True, "well", line, device_id=who, speaks=name)
    if result.frames and not _answers_hello(name):
        return Diagnosis(True, "well", f"a shoe sends {name}", speaks=name)
    return None


def _diagnose_refused(name: str, failed: AuthenticationFailed) -> Diagnosis:
    """The shoe is not authenticated: the two do not have the same key."""
    who, hint = failed.device_id, troubleshooting_hint(failed)
    line = f"{who} answers, but authentication failed: {failed.reason}: {hint.step}"
    return Diagnosis(False, hint.cause, line, device_id=who, speaks=name)


def _answers_hello(name: str) -> bool:
    """Return whether shoes of this profile answer a request for their identity."""
    return profile_named(name).CAPABILITIES.silence_s is not None


def diagnose_silence(port: Address, name: str, seconds: float) -> Diagnosis:
    """Nothing was received."""
    if _answers_hello(name):
        step = "check power and cable, and that a shoe is connected"
    else:
        step = (
            "such a shoe sends only when something happens. Draw a card or turn its key while "
            "this listens (--seconds 30); then check power and cable"
        )
    where = "device server reached, shoe silent" if isinstance(port, TcpAddress) else "shoe silent"
    return Diagnosis(False, "silence", f"{where}: nothing received in {seconds:g} s: {step}")


def diagnose_one_way(name: str) -> Diagnosis:
    """The shoe is received, and does not receive the host."""
    line = (
        f"a shoe sends {name}, but does not answer a request for its identity: check the line to "
        "the shoe (its RX)"
    )
    return Diagnosis(False, "no_answer_to_hello", line, speaks=name)


def diagnose_lost(why: str) -> Diagnosis:
    """The connection ended during the probe."""
    return Diagnosis(False, "lost", f"connection lost ({why}): check power and cable")


def diagnose_wrong_baud(name: str, baud: int, fits: int) -> Diagnosis:
    """The shoe uses another baud rate of its profile."""
    line = (
        f"wrong baud rate: no frame at {baud}, frames of {name} at {fits}: set baud = {fits} in "
        "[table.shoe]"
    )
    return Diagnosis(False, "wrong_baud", line, speaks=name, baud=fits)


def diagnose_other_profile(name: str, spoken: str, baud: int | None) -> Diagnosis:
    """A shoe of another profile."""
    at = "" if baud is None else f" at {baud} baud"
    line = (
        f'wrong profile: the shoe sends {spoken}{at}, not {name}: set profile = "{spoken}", or '
        "change the shoe"
    )
    return Diagnosis(False, "other_profile", line, speaks=spoken, baud=baud)


def diagnose_garbage(port: Address, name: str, received: int, rates: tuple[int, ...]) -> Diagnosis:
    """Bytes, and no frame of any profile at any known rate."""
    amount = "1 byte" if received == 1 else f"{received} bytes"
    tried = ""
    if isinstance(port, SerialAddress):
        tried = f" at {', '.join(map(str, rates))} baud"
        step = "check baud rate, ground and what is connected; shoectl capture records the bytes"
    elif isinstance(port, TcpAddress):
        at = " or ".join(map(str, rates))
        step = f"check that the device server's line is at {at} baud, 8N1, its mode raw TCP"
    else:
        step = "check that it is a shoe's interface; shoectl capture records the bytes"
    line = f"garbage: {amount} received, no frame of {name}{tried}: {step}"
    return Diagnosis(False, "garbage", line)
