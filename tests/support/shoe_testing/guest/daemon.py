"""A daemon in the guest with its shoe in the test's loop, on a device that the guest's kernel has.

In: a guest, a kind of device. Out: the shoe, to be plugged and unplugged; what the daemon told.
Must not know: QEMU.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal

from shoe_ctl.link.hotplug import Inotify
from shoe_testing.config import (
    FACE_UP,
    PUBLIC_SINK,
    RESTRICTED_SINK,
    make_config,
    table_section,
)
from shoe_testing.daemon import ShoeAtTable, ToldEvents, nothing_is_wrong_with
from shoe_testing.guest.actions import attach, copy_to_share, run_daemon, signalled, state_of
from shoe_testing.guest.agent import SHARE
from shoe_testing.guest.machine import (
    ADAPTER_NAME,
    HOST,
    LINE_NAME,
    SERIAL_LINE,
    USB_ADAPTER,
    Call,
    Guest,
    GuestFailed,
)
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each
from simulators.faults import Line
from simulators.ports.port import Port, Wire
from simulators.ports.stream import StreamPort
from simulators.ports.usbip.port import UsbIpPort
from simulators.ports.usbip.server import UsbIpServer

DeviceKind = Literal["serial", "bulk", "adapter", "line"]
"""CDC-ACM and a bulk interface over USB/IP; an FTDI adapter; a 8250 of the computer itself."""

SERIAL_NUMBER = "SIM-0001"
"""Of the first shoe on USB/IP."""

_MODIFIED = 0x02


class QemuPort(StreamPort):
    """The far end of a serial line that QEMU gives the guest.

    For an adapter, being at that end means that it is plugged in.
    """

    def __init__(self, path: Path, address: str) -> None:
        super().__init__()
        self._path = path
        self.address = address
        self._socket: socket.socket | None = None

    def start(self, wire: Wire) -> None:
        self._wire = wire
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(self._path))
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        self._begin_stream(wire, self._socket.fileno(), self.close, loop)

    def close(self) -> None:
        gone, self._socket = self._socket, None
        if gone is not None:
            self._end_stream()
            gone.close()
            assert self._wire is not None
            self._wire.closed()

    def reopen(self) -> None:
        if self._socket is None and self._wire is not None:
            self.start(self._wire)


class GuestDaemon:
    """A daemon at work in the guest. ``folder`` holds what its sinks wrote."""

    def __init__(self, guest: Guest, folder: Path, call: Call, pid: int, journal: str) -> None:
        self.folder = folder
        self.pid = pid
        self.told = ToldEvents()
        self.is_stopping = False
        self._guest = guest
        self._call = call
        self._journal = journal

    @property
    def log(self) -> str:
        """What it wrote to stderr."""
        return self._call.log

    async def stop(self) -> None:
        """End it as a service manager does; its journal is beside its events then."""
        self.is_stopping = True
        await self._guest.call(signalled, self.pid, signal.SIGTERM)
        code = await self._guest.end_of(self._call)
        assert code == 0, self.log
        to = SHARE / self.folder.relative_to(self._guest.folder)
        await self._guest.call(copy_to_share, self._journal, str(to))

    async def follow(self) -> None:
        """Take over what it tells the public, until cancelled."""
        path = self.folder / "public.jsonl"
        path.touch()
        path.chmod(0o666)
        news = asyncio.Event()
        inotify = Inotify()
        loop = asyncio.get_running_loop()
        try:
            inotify.watch(path, _MODIFIED)
            loop.add_reader(inotify.fileno(), news.set)
            unread = b""
            with path.open("rb") as file:
                while True:
                    news.clear()
                    list(inotify.read())
                    *lines, unread = (unread + file.read()).split(b"\n")
                    await self.told.deliver(lines)
                    await news.wait()
        finally:
            loop.remove_reader(inotify.fileno())
            inotify.close()


@asynccontextmanager
async def daemon_in(guest: Guest, *shoes: ShoeAtTable) -> AsyncIterator[GuestDaemon]:
    """``shoectl run`` in the guest, as the service's user; it is killed if it was not stopped."""
    name = f"daemon-{guest.machine.calls}"
    folder = guest.folder / name
    folder.mkdir()
    folder.chmod(0o777)
    journal = f"/tmp/{name}"
    tables = [
        table_section(
            table_name(number),
            port=shoe.port.address,
            decks=4,
            announcements="implied",
            method_b=FACE_UP,
        )
        for number, shoe in enumerate(shoes)
    ]
    config = make_config(
        *tables, sink=[PUBLIC_SINK, RESTRICTED_SINK], journal={"path": f"{journal}/journal.db"}
    )
    (folder / "tables.toml").write_text(config)
    call = guest.begin(run_daemon, str(SHARE / name / "tables.toml"), journal)
    daemon = GuestDaemon(guest, folder, call, await call.pid, journal)
    following = asyncio.create_task(daemon.follow(), name="follow")
    waiting = asyncio.current_task()
    assert waiting is not None
    call.ended.add_done_callback(lambda _: daemon.is_stopping or waiting.cancel())
    try:
        yield daemon
    except asyncio.CancelledError:
        if not call.ended.done() or daemon.is_stopping:
            raise
        waiting.uncancel()
        raise GuestFailed(
            f"the daemon ended: {call.ended.exception() or call.ended.result()}\n{daemon.log}"
        ) from None
    except BaseException as error:
        error.add_note(f"the daemon in the guest said:\n{daemon.log}")
        with suppress(GuestFailed):
            error.add_note(f"the guest then:\n{await guest.call(state_of, daemon.pid)}")
        raise
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def serial_number(number: int) -> str:
    """The serial number of the shoe with this number, on USB/IP."""
    return f"SIM-{number + 1:04d}"


def table_name(number: int) -> str:
    """The table of the shoe with this number."""
    return f"bac-{number:02d}"


def nothing_was_lost_or_doubled(daemon: GuestDaemon, *shoes: ShoeAtTable) -> None:
    """Both streams of a daemon at rest hold every round and every card of every table once."""
    for stream in ("public", "restricted"):
        events = lines_of(daemon.folder / f"{stream}.jsonl")
        for number, shoe in enumerate(shoes):
            own = [event for event in events if event["id"].startswith(f"{table_name(number)}/")]
            assert once_each(own) == own
            all_agree(of_type(own, "round.outcome"), shoe.rounds)
            halts = of_type(own, "table.halted")
            assert {halt["reason"] for halt in halts} <= {"link_lost"}
            assert len(of_type(own, "table.resumed")) == len(halts)
            if stream == "restricted":
                drawn = of_type(own, "round.card_drawn")
                assert [(data["number"], data["card"]) for data in drawn] == shoe.truth.cards
    rounds = sum(len(shoe.rounds) for shoe in shoes)
    assert nothing_is_wrong_with(daemon.folder / "journal.db") == rounds


@contextmanager
def shoe_in(  # noqa: PLR0913 - what a test may choose
    guest: Guest,
    folder: Path,
    kind: DeviceKind,
    to_host: Line | None = None,
    to_shoe: Line | None = None,
    number: int = 0,
    decks: int = 4,
) -> Iterator[ShoeAtTable]:
    """A shoe in the test's loop, on a device that the guest may have."""
    with UsbIpServer("127.0.0.1", 0) as server:
        port: Port
        match kind:
            case "serial" | "bulk":
                port = UsbIpPort(server, kind, serial_number(number))
            case "adapter":
                at = guest.machine.folder / USB_ADAPTER
                port = QemuPort(at, f"/dev/card-shoe/{ADAPTER_NAME}")
            case "line":
                at = guest.machine.folder / SERIAL_LINE
                port = QemuPort(at, f"/dev/card-shoe/{LINE_NAME}")
        with ShoeAtTable(
            folder, "reference", seed=5 + number, decks=decks, port=port,
            to_host=to_host, to_shoe=to_shoe,
        ) as shoe:  # fmt: skip
            yield shoe


async def attach_to(guest: Guest, shoe: ShoeAtTable, controller: int = 0) -> int | None:
    """Attach a shoe on USB/IP to the guest, any other is there by itself; at which port it is."""
    at = shoe.port.attachment
    return None if at is None else await guest.call(attach, HOST, at.port, at.bus_id, controller)


@asynccontextmanager
async def attached_again(
    guest: Guest, shoe: ShoeAtTable, controller: int = 0
) -> AsyncIterator[None]:
    """Whenever the shoe is plugged in and nobody has it, it is attached."""
    port = shoe.port
    assert isinstance(port, UsbIpPort)
    changed = asyncio.Event()

    def plugged_in_as() -> int | None:
        return port.device_number if shoe.rig.plugged else None

    async def attach_always() -> None:
        while True:
            changed.clear()
            number = plugged_in_as()
            if number is not None and port._host is None:
                try:
                    await attach_to(guest, shoe, controller)
                except GuestFailed:
                    if plugged_in_as() == number:
                        raise
            else:
                await changed.wait()

    shoe.rig.watchers.add(changed.set)
    attaching = asyncio.create_task(attach_always(), name="attach")
    try:
        yield
    finally:
        shoe.rig.watchers.discard(changed.set)
        attaching.cancel()
        (ended,) = await asyncio.gather(attaching, return_exceptions=True)
        if isinstance(ended, GuestFailed):
            raise ended
