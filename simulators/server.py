"""Serve one simulated shoe on one port until it is stopped, for a person or a parent process.

In: the options of a command line. Out: the port's address once it is open, the exit code.
Must not know: how options are spelled, the controller.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from firmware_proto.cards import DECKS
from firmware_proto.reference.mac import ShoeKeys, parse_keys
from simulators.control.changes import ShoeBench
from simulators.control.server import controlled
from simulators.errors import PortFault, WrongUsage
from simulators.faults import Faults, FaultyLine
from simulators.ports.port import Attachment, Port, PortAt, TcpAt, UsbIpAt
from simulators.ports.pty import PtyPort
from simulators.ports.tcp import TcpPort
from simulators.rig import Rig
from simulators.shoe.bee_tek import BeeTekDevice
from simulators.shoe.build import simulated_shoe
from simulators.shoe.ground_truth import GroundTruth
from simulators.table.client import SocketClient
from simulators.table.dealer import Supply, dealer_for
from simulators.table.operator import Operator

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

_MOST_KEY_BYTES = 1 << 20

_STDIN = 0
_ENOUGH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The shoes to serve. ``shoes`` counts sets, the first with ``seed``, each next one more."""

    profile: str
    port: PortAt
    deck: str
    decks: int
    seed: int
    shoes: int
    pace_ms: int
    truth: Path | None
    key_file: Path | None = None
    socket: Path | None = None
    table: str | None = None
    faults: Faults | None = None
    """Of the line, in both directions."""

    control: Path | None = None
    """The socket at which changes are taken."""


@dataclass(frozen=True, slots=True)
class Server:
    """A shoe that is served: its port's address, its id, what a host has to attach first."""

    address: str
    device_id: str
    attachment: Attachment | None = None


def any_seed() -> int:
    """Return a seed for someone who wants none in particular."""
    return random.SystemRandom().getrandbits(32)


def serve(
    settings: ServerSettings,
    *,
    opened: Callable[[Server], None],
    until_stdin_ends: bool,
    struck: Callable[[Mapping[str, int]], None] = lambda _: None,
    plugged: Callable[[bool], None] = lambda _: None,
) -> int:
    """Serve until SIGINT (130), SIGTERM (0) or, if asked, the end of stdin (0).

    SIGUSR1 pulls the shoe's plug, SIGUSR2 puts it back; the shoe keeps its cards and its memory.
    ``plugged`` is called after each. ``opened`` is called once a host can open the port, ``struck``
    at the end with how often each fault of the line struck. Each process is a device of its own:
    its event memory is new, so its id is, unless a key file names one.

    Raises:
        simulators.errors.SimulatorError: a choice that cannot be, a port or file that fails.
    """
    faults = Faults() if settings.faults is None else settings.faults
    lines = FaultyLine(settings.seed, faults), FaultyLine(settings.seed + 1, faults)
    code = asyncio.run(_serve(settings, lines, opened, plugged, until_stdin_ends))
    struck(sum((line.struck for line in lines), Counter()))
    return code


async def _serve(
    settings: ServerSettings,
    lines: tuple[FaultyLine, FaultyLine],
    opened: Callable[[Server], None],
    plugged: Callable[[bool], None],
    until_stdin_ends: bool,
) -> int:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int] = loop.create_future()
    async with contextlib.AsyncExitStack() as cleanup:
        cleanup.enter_context(signals(loop, done))
        truth = GroundTruth(cleanup.enter_context(_truth_file(settings.truth, done)))
        own = _identity(settings.key_file)
        device = simulated_shoe(
            settings.profile,
            deck=settings.deck,
            decks=settings.decks,
            seed=settings.seed,
            device_id=own.device_id,
            keys=own.keys,
            truth=truth,
        )
        supply = Supply(DECKS[settings.deck], settings.decks, settings.seed + 1, settings.shoes - 1)
        port = cleanup.enter_context(port_at(settings.port, serial=device.shoe.device_id))
        rig = Rig(device, port, to_host=lines[0], to_shoe=lines[1])
        cleanup.callback(rig.stop)
        tell = None
        if (operator := _operator(settings, rig)) is not None:
            cleanup.push_async_callback(operator.close)
            tell = operator.tell
        dealer = dealer_for(device, supply, pace_s=settings.pace_ms / 1000, tell=tell)
        rig.dealer = dealer
        dealer.open_table(rig.now)
        rig.start()
        cleanup.enter_context(_plug_signals(loop, rig, plugged, done))
        if settings.control is not None:
            bench = ShoeBench(rig, lines, supply)
            await cleanup.enter_async_context(controlled(settings.control, bench))
        opened(Server(rig.port.address, device.shoe.device_id, rig.port.attachment))
        if until_stdin_ends:
            cleanup.enter_context(stdin_watched(loop, done))
        return await done


def _operator(settings: ServerSettings, rig: Rig) -> Operator | None:
    """Return the operator for a shoe that cannot speak for itself, where a socket is named.

    Raises:
        WrongUsage: shoes of this profile speak for themselves.
    """
    if settings.socket is None or settings.table is None:
        return None
    if not isinstance(rig.device, BeeTekDevice):
        raise WrongUsage(f"--socket: a shoe of profile {settings.profile} speaks for itself")
    return Operator(SocketClient(settings.socket), table=settings.table, done=rig.turn)


@contextlib.contextmanager
def port_at(at: PortAt, *, serial: str) -> Iterator[Port]:
    """Yield the port that was asked for, not yet plugged in; unplug it on leaving.

    A pty for which no link was named has one in a folder that only this user may enter, and that
    goes with it. A USB device is listed and exported until left; ``serial`` is its serial number.

    Raises:
        simulators.errors.PortFault: there is no place for that folder, or no such address.
    """
    if isinstance(at, TcpAt):
        yield TcpPort(at.host, at.port)
    elif isinstance(at, UsbIpAt):
        from simulators.ports.usbip.port import UsbIpPort  # construct is slow to import
        from simulators.ports.usbip.server import UsbIpServer

        with UsbIpServer(at.host, at.port) as server:
            yield UsbIpPort(server, at.kind, serial)
    elif at.link is not None:
        yield PtyPort(at.link)
    else:
        try:
            folder = tempfile.TemporaryDirectory(prefix="shoe-sim-")
        except OSError as error:
            raise PortFault(f"no folder for the port's link: {error.strerror}") from None
        with folder as name:
            yield PtyPort(str(Path(name) / "shoe"))


@dataclass(frozen=True, slots=True)
class _Identity:
    device_id: str
    keys: ShoeKeys | None


def _identity(key_file: Path | None) -> _Identity:
    """Return the first shoe of a key file, with its keys; without one, nobody in particular."""
    if key_file is None:
        return _Identity(f"SIM-{random.SystemRandom().getrandbits(24):06X}", None)
    try:
        with key_file.open("rb") as file:
            text = file.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise PortFault(f"cannot read {key_file}: {error.strerror}") from None
    if len(text) > _MOST_KEY_BYTES:
        raise WrongUsage(f"{key_file} has more than {_MOST_KEY_BYTES:,} bytes: no file of keys")
    try:
        known = parse_keys(text.decode())
    except UnicodeDecodeError:
        raise WrongUsage(f"{key_file} is not text") from None
    except ValueError as error:
        raise WrongUsage(f"{key_file}: {error}") from None
    if not known:
        raise WrongUsage(f"{key_file} has no key in it")
    device_id, keys = next(iter(known.items()))
    return _Identity(device_id, ShoeKeys(keys, partial(secrets.token_bytes, 16)))


def _finish(done: asyncio.Future[int], code: int) -> None:
    if not done.done():
        done.set_result(code)


@contextlib.contextmanager
def signals(loop: asyncio.AbstractEventLoop, done: asyncio.Future[int]) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the serving with their exit codes."""
    codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: 0}
    for number, code in codes.items():
        loop.add_signal_handler(number, _finish, done, code)
    try:
        yield
    finally:
        for number in codes:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _plug_signals(
    loop: asyncio.AbstractEventLoop,
    rig: Rig,
    plugged: Callable[[bool], None],
    done: asyncio.Future[int],
) -> Iterator[None]:
    """Let SIGUSR1 pull the plug and SIGUSR2 put it back. A port that cannot be made again ends."""

    def pull() -> None:
        rig.unplug()
        plugged(False)

    def failed(error: PortFault) -> None:
        if not done.done():
            done.set_exception(error)

    def put_back() -> None:
        try:
            rig.replug()
        except PortFault as error:
            failed(error)
        else:
            plugged(True)

    rig.port_failed = failed

    handlers = {signal.SIGUSR1: pull, signal.SIGUSR2: put_back}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _truth_file(
    path: Path | None, done: asyncio.Future[int]
) -> Iterator[Callable[[str], None] | None]:
    """Yield a writer of lines. Each is in the file when it returns; a fault ends the serving."""
    if path is None:
        yield None
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise PortFault(f"cannot write {path}: {error.strerror}") from None

    def write(line: str) -> None:
        data = f"{line}\n".encode()
        try:
            while data:
                data = data[os.write(file, data) :]
        except OSError as error:
            if not done.done():
                done.set_exception(PortFault(f"cannot write {path}: {error.strerror}"))

    try:
        yield write
    finally:
        os.close(file)


@contextlib.contextmanager
def stdin_watched(loop: asyncio.AbstractEventLoop, done: asyncio.Future[int]) -> Iterator[None]:
    """End the serving when stdin does. What comes before its end is not looked at."""

    def readable() -> None:
        try:
            ended = not os.read(_STDIN, _ENOUGH)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            loop.remove_reader(_STDIN)
            _finish(done, 0)

    try:
        loop.add_reader(_STDIN, readable)
    except OSError:  # a plain file, /dev/null or nothing at all: it has ended already
        _finish(done, 0)
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(_STDIN)
