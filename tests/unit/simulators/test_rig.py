"""Simulated shoes live on real ptys and TCP, against the real profiles' sessions.

In: a host's descriptor in the same loop. Out: rounds as heard against rounds as they were.
Must not know: the real daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_proto.cards import DECKS
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_testing.toy_table import Table
from simulators.errors import PortFault
from simulators.faults import Faults, FaultyLine
from simulators.ports.pty import PtyPort
from simulators.ports.tcp import TcpPort
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Device
from simulators.table.dealer import JudgeDealer, LampDealer, Supply


def reference_host(resume: Resume | None) -> HostSession:
    return profile("reference").host_session(resume=resume, settings={})


class Host:
    """A host on a descriptor: reads, ticks and writes until told to stop or hung up on."""

    def __init__(
        self, fd: int, session: HostSession, heard: Callable[[ReceivedEvent], None]
    ) -> None:
        self._fd = fd
        self._session = session
        self._heard = heard

    async def until(self, true: Callable[[], bool]) -> bool:
        """False when the line hung up first."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._fd, ready.set)
        try:
            async with asyncio.timeout(30):
                while not true():
                    for heard in self._session.tick(loop.time()):
                        self._heard(heard)
                    if out := self._session.outgoing():
                        assert os.write(self._fd, out) == len(out)
                    due = self._session.next_deadline
                    await self._wait(ready, 0.05 if due is None else due - loop.time())
                    if not self._take(ready, loop.time()):
                        return False
        finally:
            loop.remove_reader(self._fd)
        return True

    async def _wait(self, ready: asyncio.Event, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(0.05, max(0.001, seconds))):
                await ready.wait()

    def _take(self, ready: asyncio.Event, t: float) -> bool:
        ready.clear()
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for heard in self._session.receive(data, t):
            self._heard(heard)
        return bool(data)


def opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)


def truth_of(device: Device) -> list[object]:
    return [r["cards"] for r in device.truth.rounds]


def over(device: Device, table: Table) -> bool:
    done = device.shoe.cutting_card_out and not device.truth.round_open
    return done and len(table.rounds) == len(device.truth.rounds)


def lamp_dealer(device: Device, decks: int) -> LampDealer:
    return LampDealer(device, Supply(DECKS["french52"], decks, 9, 0), pace_s=0.0)


async def connected(table: Table, fd: int, until: Callable[[], bool]) -> bool:
    resume = None if table.device_id is None else Resume(table.device_id, table.last_seq)
    session = reference_host(resume)
    return await Host(fd, session, lambda heard: table.take(heard, session)).until(until)


async def test_a_whole_shoe_over_a_pty(tmp_path: Path) -> None:
    device = simulated_shoe("reference", seed=11)
    rig = Rig(device, PtyPort(str(tmp_path / "shoe")), lamp_dealer(device, 8))
    device.boot(rig.now)
    rig.start()
    fd = opened(rig.port.address)
    table = Table(reference_host)
    try:
        assert await connected(table, fd, lambda: over(device, table))
    finally:
        os.close(fd)
        rig.stop()
    assert table.rounds == truth_of(device)
    assert len(table.rounds) > 60


async def test_a_shoe_over_tcp() -> None:
    device = simulated_shoe("reference", seed=12, decks=1)
    rig = Rig(device, TcpPort("127.0.0.1", 0), lamp_dealer(device, 1))
    device.boot(rig.now)
    rig.start()
    table = Table(reference_host)
    host, _, number = rig.port.address.removeprefix("tcp://").rpartition(":")
    try:
        with socket.create_connection((host, int(number))) as peer:
            peer.setblocking(False)
            assert await connected(table, peer.fileno(), lambda: over(device, table))
    finally:
        rig.stop()
    assert table.rounds == truth_of(device)


async def test_unplugged_in_mid_round_and_replugged_the_shoe_goes_on(tmp_path: Path) -> None:
    device = simulated_shoe("reference", seed=13, decks=1)
    rig = Rig(device, PtyPort(str(tmp_path / "shoe")), lamp_dealer(device, 1))
    device.boot(rig.now)
    rig.start()
    table = Table(reference_host)
    try:
        for drawn in (3, 10, 17, 99):
            fd = opened(str(tmp_path / "shoe"))
            try:
                await connected(
                    table,
                    fd,
                    lambda: device.shoe.drawn >= drawn or over(device, table),  # noqa: B023
                )
                rig.unplug()
            finally:
                os.close(fd)
            rig.replug()
    finally:
        rig.stop()
    assert table.rounds == truth_of(device)
    assert over(device, table)


async def test_a_bad_cable_on_a_pty_loses_and_doubles_nothing(tmp_path: Path) -> None:
    device = simulated_shoe("reference", seed=14, decks=1)
    faults = Faults(split=0.3, flip=0.02, drop=0.02, unplug=0.02)
    rig = Rig(
        device,
        PtyPort(str(tmp_path / "shoe")),
        lamp_dealer(device, 1),
        to_host=FaultyLine(1, faults),
        to_shoe=FaultyLine(2, faults),
    )
    device.boot(rig.now)
    rig.start()
    table = Table(reference_host)
    try:
        for _ in range(50):
            while not (tmp_path / "shoe").exists():  # noqa: ASYNC110 - a file sets no event
                await asyncio.sleep(0.01)
            fd = opened(str(tmp_path / "shoe"))
            try:
                if await connected(table, fd, lambda: over(device, table)):
                    break
            finally:
                os.close(fd)
    finally:
        rig.stop()
    assert table.rounds == truth_of(device)
    assert over(device, table)


async def test_a_cable_that_a_person_pulls_stays_out(
    tmp_path: Path,
) -> None:
    device = simulated_shoe("reference", seed=14, decks=1)
    line = FaultyLine(1, Faults(unplug=1.0))
    rig = Rig(device, PtyPort(str(tmp_path / "shoe")), to_shoe=line)
    rig.start()
    failed: asyncio.Future[PortFault] = asyncio.get_running_loop().create_future()
    rig.port_failed = failed.set_result
    try:
        rig.received(b"x")
        assert (coming_back := rig._replug) is not None
        rig.replug()
        line.faults = Faults()
        rig.unplug()
        assert coming_back.cancelled()
        assert not rig.plugged
        rig.replug()
        line.faults = Faults(unplug=1.0)
        rig.received(b"x")
        (tmp_path / "shoe").write_text("something else")
        async with asyncio.timeout(30):
            assert str(await failed).startswith(f"{tmp_path}/shoe: there is a file of this name")
        (tmp_path / "shoe").unlink()
    finally:
        rig.stop()


@pytest.mark.parametrize("seed", [21, 22])
async def test_an_angel_eye_shoe_over_a_pty(seed: int, tmp_path: Path) -> None:
    device = simulated_shoe("angel_eye", seed=seed, decks=2)
    supply = Supply(DECKS["french52"], 2, 9, 0)
    dealer = JudgeDealer(device, supply, pace_s=0.0, settle_s=0.01)  # type: ignore[arg-type]
    rig = Rig(device, PtyPort(str(tmp_path / "shoe")), dealer)
    rig.start()
    kinds: list[str] = []
    drawn: list[str] = []

    def heard(what: ReceivedEvent) -> None:
        kinds.append(what.event.type)
        code = getattr(getattr(what.event, "card", None), "code", None)
        drawn.extend([code] if code is not None else [])

    fd = opened(rig.port.address)
    session = profile("angel_eye").host_session(resume=None, settings={})
    try:
        await Host(fd, session, heard).until(
            lambda: dealer.at_end and kinds.count("result") == len(device.truth.rounds)
        )
    finally:
        os.close(fd)
        rig.stop()
    assert drawn == [code for _, code in device.truth.cards]
    assert kinds.count("result") == len(device.truth.rounds) > 10
    assert "discarded" not in kinds
