"""What is wrong at a shoe's port, in one line that names the next step.

In: a port, the profile that should be spoken there, who to ask. Out: a Diagnosis.
Must not know: how it is shown, tables; it sends nothing but what ``trial`` sends.
"""

from __future__ import annotations

import asyncio
import os
import socket
from concurrent.futures import Executor
from contextlib import suppress

from firmware_proto.profiles import PROFILES, SerialSettings
from firmware_proto.profiles import profile as profile_named
from shoe_ctl.errors import PortError

from . import verdicts
from .clock import Clock
from .device_node import DeviceNode, why_no_port
from .holders import Holder, connected_to, holders_of, modem_manager
from .inventory import System, left_alone_by_modem_manager, usb_candidates
from .openers import opener
from .ports import Port, SerialPort, TcpPort, UsbPort
from .transport import Transport
from .trial import Target, Tried, listen, overhear, speakers
from .usb_devices import Backends
from .verdicts import Diagnosis


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
        self._nodes: dict[Port, DeviceNode] = {}

    async def diagnose(self, target: Target) -> Diagnosis:
        """Why no shoe is heard at this port, or which one is."""
        looking = asyncio.get_running_loop().run_in_executor
        if no_port := await looking(self._executor, self._no_port, target.port):
            return Diagnosis(False, no_port.cause, str(no_port))
        if holders := await looking(self._executor, self._holders, target.port):
            return verdicts.held(holders[0])
        try:
            transport = await self._open(target, target.serial)
        except PortError as error:
            return self._does_not_open(target.port, error)
        tried = await listen(transport, target, clock=self._clock, seconds=self._seconds)
        known = verdicts.known(target.name, tried)
        if known is None:
            return await self._unknown(target, tried)
        return self._beside_modem_manager(target.port, known)

    def _no_port(self, port: Port) -> PortError | None:
        """Why nobody should open it; it is asked first: whoever holds such a thing may keep it."""
        return why_no_port(port.path, self._system.proc) if isinstance(port, SerialPort) else None

    def _holders(self, port: Port) -> list[Holder]:
        """Who has it; of a USB device that is only asked once it refuses to be claimed."""
        match port:
            case SerialPort():
                found = list(holders_of(port.path, self._system.proc))
            case TcpPort():
                found = connected_to(_addresses(port), self._system.proc)
            case _:
                found = []
        return [holder for holder in found if holder.pid != os.getpid()]

    async def _open(self, target: Target, serial: SerialSettings) -> Transport:
        port = target.port
        node = None
        if isinstance(port, SerialPort):  # tried at several rates, it is to be one and the same
            node = self._nodes.setdefault(port, DeviceNode(port.path))
        return await opener(port, serial, self._executor, self._usb, node)()

    def _does_not_open(self, port: Port, error: PortError) -> Diagnosis:
        if error.cause == "taken":
            if isinstance(port, UsbPort) and (holder := self._holder_of_device(port)):
                return verdicts.held(holder)
            if suspect := modem_manager(self._system.proc):
                return verdicts.suspected(suspect)
        return Diagnosis(False, error.cause, str(error))

    def _holder_of_device(self, port: UsbPort) -> Holder | None:
        with suppress(PortError):
            for found in usb_candidates(self._system, self._usb()):
                if found.identity.serial == port.serial:
                    holders = holders_of(found.node, self._system.proc)
                    return next((h for h in holders if h.pid != os.getpid()), None)
        return None

    async def _unknown(self, target: Target, tried: Tried) -> Diagnosis:
        """Nobody introduced himself: it is silent, lost, too fast, too slow, or another's."""
        if tried.lost is not None:
            return verdicts.lost(tried.lost)
        if tried.frames:
            return verdicts.deaf(target.name)
        if not tried.heard:
            return verdicts.silent(target.port, target.name, self._seconds)
        others = speakers(bytes(tried.heard), [n for n in PROFILES if n != target.name])
        if others:
            return verdicts.speaks_another(target.name, others[0], None)
        if isinstance(target.port, SerialPort):
            return await self._at_other_rates(target, len(tried.heard))
        return verdicts.garbage(target.port, target.name, len(tried.heard), target.serial.rates)

    async def _at_other_rates(self, target: Target, received: int) -> Diagnosis:
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
            heard = await overhear(transport, clock=self._clock, seconds=self._seconds)
            spoken = speakers(heard, [name for name in rates if rate in rates[name]])
            if target.name in spoken:
                return verdicts.wrong_baud(target.name, target.serial.baud, rate)
            if spoken:
                return verdicts.speaks_another(target.name, spoken[0], rate)
        return verdicts.garbage(target.port, target.name, received, tuple(tried))

    def _beside_modem_manager(self, port: Port, known: Diagnosis) -> Diagnosis:
        if known.well and isinstance(port, SerialPort):
            running = modem_manager(self._system.proc)
            ignored = left_alone_by_modem_manager(port.path, self._system)
            if running is not None and ignored is False:
                return verdicts.may_be_probed(known, running)
        return known


def _addresses(port: TcpPort) -> list[tuple[str, int]]:
    """What the name means now; an unknown one is told of by whoever opens it."""
    with suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(port.host, port.port, type=socket.SOCK_STREAM)
        return [(str(address[0]), port.port) for *_, address in found]
    return []
