"""What is wrong at a shoe's port, in one line that names the next step.

In: a port, the profile that should be spoken there, who to ask. Out: a Diagnosis.
Must not know: how it is shown, tables; it sends nothing but what ``trial`` sends.
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
from firmware_proto.profiles import PROFILES, Profile, SerialSettings, profile
from firmware_proto.profiles import profile as profile_named
from firmware_proto.session import ReceivedEvent
from shoe_ctl.clock import Clock
from shoe_ctl.errors import PortCause, PortError
from shoe_ctl.link.address import Address, SerialAddress, TcpAddress, UsbAddress
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.discovery import System, find_usb_candidates, left_alone_by_modem_manager
from shoe_ctl.link.keyring import RefusalCause, troubleshooting_hint
from shoe_ctl.link.openers import opener
from shoe_ctl.link.port_users import (
    MODEM_MANAGER,
    PortUser,
    find_connected,
    find_modem_manager,
    find_port_users,
)
from shoe_ctl.link.serial import DeviceNode, why_no_port
from shoe_ctl.link.transport import Transport, TransportLost
from shoe_ctl.link.usb_discovery import Backends

ENOUGH_BYTES = 1024
"""Without one frame in it: four of the longest. More of the same would say no more."""


class _ProfileListener(Protocol):
    """What each profile's ``codec`` offers under this name."""

    def feed(self, data: bytes) -> list[ReceivedEvent]: ...

    def end(self) -> list[ReceivedEvent]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTarget:
    """A port and what should be spoken there, at which rate."""

    port: Address
    name: str
    profile: Profile
    settings: Mapping[str, object]
    serial: SerialSettings


@dataclass(slots=True, kw_only=True)
class ProbeResult:
    """What an attempt brought. ``frames`` counts those of the profile, whoever they were for.

    ``lost`` says why the transport ended by itself.
    """

    heard: bytearray = field(default_factory=bytearray)
    frames: int = 0
    hello: Hello | None = None
    proved: Authenticated | None = None
    failed: AuthenticationFailed | None = None
    firmware: UnknownFirmware | None = None
    lost: str | None = None


async def probe(
    transport: Transport, target: ProbeTarget, *, clock: Clock, seconds: float
) -> ProbeResult:
    """Listens until the shoe is known or the time is over, and closes the transport.

    What the session has to say is sent up to the moment that the shoe is known: hello_request and
    challenge in ``reference`` (SPEC 6, 7), which change nothing that it keeps; in the others
    nothing at all. Nothing is acknowledged, nothing desired.
    """
    tried = ProbeResult()
    frames = _listener(target.name)
    profile, settings = target.profile, target.settings
    asks = profile.CAPABILITIES.silence_s is not None
    over = asyncio.Event()

    async def take(reception: Reception) -> None:
        tried.heard += reception.chunk
        tried.frames += _count_shoe_frames(frames.feed(reception.chunk))
        for heard in reception.heard:
            _record_event(tried, heard.event)
        known = tried.hello or tried.proved or tried.failed or (tried.frames and not asks)
        if known or reception.fault or (not tried.frames and len(tried.heard) >= ENOUGH_BYTES):
            over.set()
            await asyncio.Event().wait()  # while this does not return, nothing is sent

    silent = {key: value for key, value in settings.items() if key != "commands"}
    connection = Connection(
        name=str(target.port),
        number=1,
        transport=transport,
        session=profile.host_session(resume=None, settings=silent),
        clock=clock,
        on_reception=take,
    )
    serving = asyncio.create_task(connection.run(), name="trial")
    timer = clock.call_later(seconds, over.set)
    serving.add_done_callback(lambda _: over.set())
    try:
        await over.wait()
    finally:
        timer.cancel()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            why = await serving
            tried.lost = None if connection.fell_silent else why
        transport.close()
    return tried


async def listen_only(transport: Transport, *, clock: Clock, seconds: float) -> bytes:
    """The bytes that come in so many seconds, or enough of them. Nothing is sent."""
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
    """The profiles of which these bytes hold a whole frame."""
    found = []
    for name in names:
        listener = _listener(name)
        if _count_shoe_frames(listener.feed(heard)):
            found.append(name)
    return found


def _listener(name: str) -> _ProfileListener:
    return cast(_ProfileListener, import_module(f"firmware_proto.{name}.codec").Listener())


def _count_shoe_frames(heard: list[ReceivedEvent]) -> int:
    """How many can only be a shoe's: a reply may be one stray byte, a command is a host's."""
    return sum(not isinstance(h.event, Discarded | HostTraffic | Reply) for h in heard)


def _record_event(tried: ProbeResult, event: ShoeEvent) -> None:
    match event:
        case Hello():
            tried.hello = event
        case Authenticated():
            tried.proved = event
        case AuthenticationFailed():
            tried.failed = event
        case UnknownFirmware():
            tried.firmware = event


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


def diagnose_in_use(holder: PortUser) -> Diagnosis:
    """Another process has it: it is left alone, as two that read one shoe get half of it each."""
    if holder.daemon:
        line = f"in use by {holder}, not tried: shoectl table status tells how its shoe is"
        return Diagnosis(None, "held_by_daemon", line, holder=holder.pid)
    if holder.name == MODEM_MANAGER:
        line = f"port taken by {holder}, which looks for a modem in it: {_LEAVE_ALONE}"
        return Diagnosis(False, "modem_manager", line)
    return Diagnosis(False, "taken", f"port in use by {holder}: stop it, then try again")


def diagnose_from_status(
    held: Diagnosis, link: str, reason: str | None, next_step: str
) -> Diagnosis:
    """What the daemon that has the port says of its shoe: the status of its table."""
    start = f"{held.says.partition(',')[0]}, not tried; its table "
    if link == "up":
        return replace(held, well=True, says=f"{start}says that the link is up")
    words: dict[str, tuple[Cause, str]] = {
        "refused": (_refusal_cause(reason), "refuses the shoe that speaks"),
        "unidentified": ("unidentified", "waits for a shoe to say who it is"),
        "suspended": ("suspended", "does not listen, because the line brought too much garbage"),
        "lost": ("lost", "does not hear the shoe"),
    }
    cause, what = words.get(link, ("lost", "does not hear the shoe"))
    return replace(held, well=False, cause=cause, says=f"{start}{what}: {next_step}")


def _refusal_cause(reason: str | None) -> Cause:
    match reason:
        case "no_key" | "unauthenticated" | "no_proof":
            return reason
        case _:
            return "wrong_key"


def diagnose_modem_manager(holder: PortUser) -> Diagnosis:
    """Somebody has it, the system does not tell who, and ModemManager runs."""
    line = f"port taken, by {holder} perhaps: {_LEAVE_ALONE}; fuser -v tells who has it"
    return Diagnosis(False, "taken", line)


def warn_of_modem_manager(known: Diagnosis, holder: PortUser) -> Diagnosis:
    """All is well, until ModemManager writes to the shoe."""
    line = f"{known.says}; but {holder} runs and may write to it: {_LEAVE_ALONE}"
    return replace(known, well=False, cause="modem_manager", says=line)


def diagnose_shoe(name: str, tried: ProbeResult) -> Diagnosis | None:
    """What is to be said of a shoe that introduced itself; None where none did."""
    if tried.failed is not None:
        return _diagnose_refused(name, tried.failed)
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
    if tried.frames and not _introduces_itself(name):
        return Diagnosis(True, "well", f"a shoe speaks {name}", speaks=name)
    return None


def _introduces_itself(name: str) -> bool:
    """Whether shoes of this profile are asked who they are, and answer."""
    return profile(name).CAPABILITIES.silence_s is not None


def _diagnose_refused(name: str, failed: AuthenticationFailed) -> Diagnosis:
    """The two do not have the same key."""
    who, (cause, step) = failed.device_id, troubleshooting_hint(failed)
    line = f"{who} answers, but {failed.reason}: {step}"
    return Diagnosis(False, cause, line, device_id=who, speaks=name)


def diagnose_silence(port: Address, name: str, seconds: float) -> Diagnosis:
    """Nothing came at all."""
    if _introduces_itself(name):
        step = "is it powered, is the cable the right one, is it a shoe?"
    else:
        step = (
            "such a shoe speaks only when something happens: draw a card or turn its key while "
            "this listens (--seconds 30), then look at power and cable"
        )
    where = (
        "the device server is there, its shoe is silent"
        if isinstance(port, TcpAddress)
        else "silence"
    )
    return Diagnosis(False, "silence", f"{where}: nothing came in {seconds:g} s: {step}")


def diagnose_one_way(name: str) -> Diagnosis:
    """It is heard, and does not hear us."""
    line = (
        f"a shoe speaks {name}, but does not answer when it is asked who it is: look at the line "
        "to the shoe (its RX)"
    )
    return Diagnosis(False, "no_answer_to_hello", line, speaks=name)


def diagnose_lost(why: str) -> Diagnosis:
    """It went away while it was listened to."""
    return Diagnosis(False, "lost", f"lost while it was tried ({why}): look at cable and power")


def diagnose_wrong_baud(name: str, baud: int, fits: int) -> Diagnosis:
    """The rate is another of the profile's."""
    line = f"wrong baud rate: nothing made sense at {baud}, {name} is spoken at {fits}: "
    return Diagnosis(
        False, "wrong_baud", f"{line}set baud = {fits} in [table.shoe]", speaks=name, baud=fits
    )


def diagnose_other_profile(name: str, spoken: str, baud: int | None) -> Diagnosis:
    """A shoe, but not such a one."""
    at = "" if baud is None else f" at {baud} baud"
    line = f'the shoe speaks {spoken}{at}, not {name}: set profile = "{spoken}", or change the shoe'
    return Diagnosis(False, "other_profile", line, speaks=spoken, baud=baud)


def diagnose_garbage(port: Address, name: str, received: int, rates: tuple[int, ...]) -> Diagnosis:
    """Bytes, and no frame of any profile at any rate that is known."""
    amount = "1 byte" if received == 1 else f"{received} bytes"
    if isinstance(port, SerialAddress):
        at = ", ".join(map(str, rates))
        step = (
            f"at {at} baud: is the rate another, the ground missing, is it no shoe? shoectl "
            "capture keeps them"
        )
    elif isinstance(port, TcpAddress):
        at = " or ".join(map(str, rates))
        step = f"is the device server's line at {at} baud, 8N1, its mode raw TCP?"
    else:
        step = "is it a shoe's interface? shoectl capture keeps them"
    line = f"{amount} came and made no frame of {name}: {step}"
    return Diagnosis(False, "garbage", line)


class Doctor:
    """Tries ports read-only. ``seconds`` is how long each is listened to at one rate."""

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
        """Why no shoe is heard at this port, or which one is."""
        looking = asyncio.get_running_loop().run_in_executor
        if no_port := await looking(self._executor, self._no_port, target.port):
            return Diagnosis(False, no_port.cause, str(no_port))
        if holders := await looking(self._executor, self._holders, target.port):
            return diagnose_in_use(holders[0])
        try:
            transport = await self._open(target, target.serial)
        except PortError as error:
            return self._does_not_open(target.port, error)
        tried = await probe(transport, target, clock=self._clock, seconds=self._seconds)
        known = diagnose_shoe(target.name, tried)
        if known is None:
            return await self._unknown(target, tried)
        return self._beside_modem_manager(target.port, known)

    def _no_port(self, port: Address) -> PortError | None:
        """Why nobody should open it; it is asked first: whoever holds such a thing may keep it."""
        return (
            why_no_port(port.path, self._system.proc) if isinstance(port, SerialAddress) else None
        )

    def _holders(self, port: Address) -> list[PortUser]:
        """Who has it; of a USB device that is only asked once it refuses to be claimed."""
        match port:
            case SerialAddress():
                found = list(find_port_users(port.path, self._system.proc))
            case TcpAddress():
                found = find_connected(_addresses(port), self._system.proc)
            case _:
                found = []
        return [holder for holder in found if holder.pid != os.getpid()]

    async def _open(self, target: ProbeTarget, serial: SerialSettings) -> Transport:
        port = target.port
        node = None
        if isinstance(port, SerialAddress):  # tried at several rates, it is to be one and the same
            node = self._nodes.setdefault(port, DeviceNode(port.path))
        return await opener(port, serial, self._executor, self._usb, node)()

    def _does_not_open(self, port: Address, error: PortError) -> Diagnosis:
        if error.cause == "taken":
            if isinstance(port, UsbAddress) and (holder := self._holder_of_device(port)):
                return diagnose_in_use(holder)
            if suspect := find_modem_manager(self._system.proc):
                return diagnose_modem_manager(suspect)
        return Diagnosis(False, error.cause, str(error))

    def _holder_of_device(self, port: UsbAddress) -> PortUser | None:
        with suppress(PortError):
            for found in find_usb_candidates(self._system, self._usb()):
                if found.identity.serial == port.serial:
                    holders = find_port_users(found.node, self._system.proc)
                    return next((h for h in holders if h.pid != os.getpid()), None)
        return None

    async def _unknown(self, target: ProbeTarget, tried: ProbeResult) -> Diagnosis:
        """Nobody introduced himself: it is silent, lost, too fast, too slow, or another's."""
        if tried.lost is not None:
            return diagnose_lost(tried.lost)
        if tried.frames:
            return diagnose_one_way(target.name)
        if not tried.heard:
            return diagnose_silence(target.port, target.name, self._seconds)
        others = speaking_profiles(bytes(tried.heard), [n for n in PROFILES if n != target.name])
        if others:
            return diagnose_other_profile(target.name, others[0], None)
        if isinstance(target.port, SerialAddress):
            return await self._at_other_rates(target, len(tried.heard))
        return diagnose_garbage(target.port, target.name, len(tried.heard), target.serial.rates)

    async def _at_other_rates(self, target: ProbeTarget, received: int) -> Diagnosis:
        """Tries every other rate of this profile, then of the others. Nothing is sent."""
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
                return self._does_not_open(target.port, error)
            heard = await listen_only(transport, clock=self._clock, seconds=self._seconds)
            spoken = speaking_profiles(heard, [name for name in rates if rate in rates[name]])
            if target.name in spoken:
                return diagnose_wrong_baud(target.name, target.serial.baud, rate)
            if spoken:
                return diagnose_other_profile(target.name, spoken[0], rate)
        return diagnose_garbage(target.port, target.name, received, tuple(tried))

    def _beside_modem_manager(self, port: Address, known: Diagnosis) -> Diagnosis:
        if known.well and isinstance(port, SerialAddress):
            running = find_modem_manager(self._system.proc)
            ignored = left_alone_by_modem_manager(port.path, self._system)
            if running is not None and ignored is False:
                return warn_of_modem_manager(known, running)
        return known


def _addresses(port: TcpAddress) -> list[tuple[str, int]]:
    """What the name means now; an unknown one is told of by whoever opens it."""
    with suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(port.host, port.port, type=socket.SOCK_STREAM)
        return [(str(address[0]), port.port) for *_, address in found]
    return []
