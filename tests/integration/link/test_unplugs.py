"""Unplugs of one shoe at random bytes, on every transport: a few, fifty, a thousand in the soak."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import re
import threading
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest

from firmware_proto.events import Hello
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.link.connection import Reception
from shoe_testing.config import write_config
from shoe_testing.daemon import (
    CutLine,
    ShoeAtTable,
    ToldEvents,
    nothing_is_wrong_with,
    nothing_was_lost_or_doubled,
    serving,
)
from shoe_testing.simulated_usb import UsbBus
from shoe_testing.transports import TRANSPORT_KINDS, port_of
from simulators.rig import Rig

UNPLUGS = 50
FEW = 12
"""Each takes up to a second over TCP."""

SOAKED = 1000

BYTES_OF_A_SHOE = 15_000
BYTES_OF_ITS_HOST = 3_500
"""Fewer than either end says while four decks are dealt: each place to cut is reached."""

RESUMED_WITHIN_S = 1.0


class Watch:
    """When the device came back, and when the table then heard who it is; in the loop's time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waits_s: list[float] = []
        self.heard = asyncio.Event()
        self._back: float | None = None
        replug, receive = Rig.replug, ShoeLink.receive

        def noted_replug(rig: Rig) -> None:
            self._back = asyncio.get_running_loop().time()
            replug(rig)

        async def noted_receive(link: ShoeLink, reception: Reception) -> None:
            await receive(link, reception)
            said_hello = any(isinstance(heard.event, Hello) for heard in reception.heard)
            if said_hello and self._back is not None:
                self.waits_s.append(asyncio.get_running_loop().time() - self._back)
                self._back = None
                self.heard.set()

        monkeypatch.setattr(Rig, "replug", noted_replug)
        monkeypatch.setattr(ShoeLink, "receive", noted_receive)

    def nearly_all_in_time(self) -> bool:
        """A shared machine may stall once in a while; nine in ten it must keep."""
        waits = sorted(self.waits_s)
        return waits[len(waits) * 9 // 10] < RESUMED_WITHIN_S


async def unplugged_at_random(kind: str, folder: Path, seed: int, unplugs: int = UNPLUGS) -> None:
    """Deals one shoe whose cable is pulled so many times; nothing is lost or doubled."""
    folder.mkdir()
    chance = random.Random(f"{kind} {seed}")
    from_shoe = unplugs * 2 // 3
    to_host = CutLine(chance.sample(range(1, BYTES_OF_A_SHOE), from_shoe))
    to_shoe = CutLine(chance.sample(range(1, BYTES_OF_ITS_HOST), unplugs - from_shoe))
    told, bus = ToldEvents(), UsbBus()
    port = port_of(kind, folder, bus)
    with ShoeAtTable(
        folder, "reference", seed=seed, to_host=to_host, to_shoe=to_shoe, port=port
    ) as shoe:
        async with serving(write_config(folder, port.address, decks=4), told, usb=lambda: bus):
            await told.times(1, "shoe.change_due")
        assert (to_host.cuts, to_shoe.cuts) == ([], []), "not every place was reached"
        nothing_was_lost_or_doubled(folder, shoe)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unplugs", [FEW, pytest.param(UNPLUGS, marks=pytest.mark.exhaustive(cpu_s=1.2))]
)
@pytest.mark.parametrize("kind", TRANSPORT_KINDS)
async def test_nothing_is_lost_or_doubled_over_unplugs_at_random_bytes(
    kind: str, unplugs: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulators.rig.REPLUG_S", 0.02)
    watch = Watch(monkeypatch)
    await unplugged_at_random(kind, tmp_path / kind, seed, unplugs)
    assert len(watch.waits_s) > unplugs // 4  # the others were pulled again before a hello
    assert watch.nearly_all_in_time(), watch.waits_s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shoes", "unplugs"),
    [(1, 6), pytest.param(SOAKED // UNPLUGS, UNPLUGS, marks=pytest.mark.exhaustive(cpu_s=25))],
)
async def test_plug_cycles_on_a_pty_leave_no_descriptor_thread_or_port_behind(
    shoes: int, unplugs: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulators.rig.REPLUG_S", 0.0)
    await unplugged_at_random("pty", tmp_path / "first", seed, 1)  # opens what is kept
    gc.collect()
    before = open_things()
    for number in range(shoes):
        await unplugged_at_random("pty", tmp_path / str(number), seed + number, unplugs)
        gc.collect()
        assert open_things() == before, f"after {(number + 1) * unplugs} cycles"


def open_things() -> tuple[int, Counter[str]]:
    """Threads, and what descriptors lead to: a pty by its kind, as its number is used again."""
    leads_to = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # that of this very listing
            leads_to.append(str(descriptor.readlink()))
    kinds = Counter(re.sub("[0-9]+", "N", target) for target in leads_to)
    return threading.active_count(), kinds


@pytest.mark.slow
@pytest.mark.parametrize("kind", TRANSPORT_KINDS)
async def test_a_shoe_is_heard_again_within_a_second_of_its_return_however_long_it_was_away(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, bus, watch = ToldEvents(), UsbBus(), Watch(monkeypatch)
    port = port_of(kind, tmp_path, bus)
    with ShoeAtTable(tmp_path, "reference", seed=3, port=port) as shoe:
        shoe.rest_at(1, "banker", 1)
        async with serving(write_config(tmp_path, port.address, decks=4), told, usb=lambda: bus):
            await shoe.rests()
            for number, away_s in enumerate((0.0, 0.1, 0.2, 0.4, 0.8), 1):
                shoe.rig.unplug()
                await told.times(number, "shoe.lost")
                watch.heard.clear()
                asyncio.get_running_loop().call_later(away_s, shoe.rig.replug)
                async with asyncio.timeout(30):
                    await watch.heard.wait()
                await told.times(number, "table.resumed")
                shoe.rest_at(number + 1, "banker", 1)  # without a card it would count as dying
                shoe.go_on()
                await told.times(number + 1, "round.opened")
                await shoe.rests()
    assert len(watch.waits_s) == 5
    assert watch.nearly_all_in_time(), watch.waits_s
    nothing_is_wrong_with(tmp_path / "journal.db")


@pytest.mark.soak
async def test_nothing_is_lost_or_doubled_over_a_thousand_unplugs(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand at least, over all transports, and for a quarter of the time the soak has."""
    monkeypatch.setattr("simulators.rig.REPLUG_S", 0.02)
    until = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60")) / 4
    done = 0
    for number, kind in enumerate(cycle(TRANSPORT_KINDS), seed * 1000):
        if done >= SOAKED and time.monotonic() >= until:
            break
        try:
            await unplugged_at_random(kind, tmp_path / str(number), number)
        except BaseException as error:
            error.add_note(f"it was the {kind} with the seed {number}")
            raise
        done += UNPLUGS
    print(f"{done} unplugs")  # noqa: T201 - what a soak did
