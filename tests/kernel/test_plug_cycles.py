"""Fifty times pulled and plugged in: nothing is lost, and nothing stays behind."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from shoe_testing.daemon import CutLine
from shoe_testing.guest.actions import (
    threads_and_descriptors,
    usb_devices,
    used_ports,
    wait_until_gone,
)
from shoe_testing.guest.daemon import (
    DeviceKind,
    attached_again,
    daemon_in,
    nothing_was_lost_or_doubled,
    shoe_in,
)
from shoe_testing.guest.machine import Guest

pytestmark = pytest.mark.guest

SHOES, CYCLES = 5, 5
"""Of each kind. Several shoes at once: most of a cycle is a wait until a hub trusts a plug."""

ROUNDS = 4

BYTES_OF_A_SHOE, BYTES_OF_ITS_HOST = range(1, 1_200), range(1, 300)
"""Fewer than either end says in those rounds."""


@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_nothing_is_lost_or_left_behind_over_plug_cycles_at_random_bytes(
    kind: DeviceKind, guest: Guest, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulators.rig.REPLUG_S", 0.0)
    chance = random.Random(f"{kind} {seed}")
    async with AsyncExitStack() as all_of_it:
        lines = [(CutLine([]), CutLine([])) for _ in range(SHOES)]
        shoes = [
            all_of_it.enter_context(shoe_in(guest, tmp_path, kind, *lines[number], number))
            for number in range(SHOES)
        ]
        for shoe in shoes:
            shoe.rest_after(1)
        daemon = await all_of_it.enter_async_context(daemon_in(guest, *shoes))
        for number, shoe in enumerate(shoes):
            again = attached_again(guest, shoe, controller=number)
            await all_of_it.enter_async_context(again)
        await asyncio.gather(*(shoe.rests() for shoe in shoes))
        await daemon.told.times(SHOES, "round.settled")
        before = await guest.call(threads_and_descriptors, daemon.pid)
        for shoe, (to_host, to_shoe) in zip(shoes, lines, strict=True):
            to_host.cut_after(chance.sample(BYTES_OF_A_SHOE, CYCLES - 1))
            to_shoe.cut_after(chance.sample(BYTES_OF_ITS_HOST, 1))
            shoe.rest_after(ROUNDS)
            shoe.go_on()
        for number in range(SHOES, ROUNDS * SHOES):
            await daemon.told.times(number + 1, "round.settled")
        await asyncio.gather(*(shoe.rests() for shoe in shoes))
        assert all(line.cuts == [] for both in lines for line in both), "a place was not reached"
        after = await guest.call(threads_and_descriptors, daemon.pid)
        assert Counter(after) - Counter(before) == {}
        assert len(await guest.call(used_ports)) == SHOES
        for shoe in shoes:
            shoe.rig.unplug()
        await daemon.told.times(SHOES, "shoe.lost")
        await daemon.stop()
        await guest.call(wait_until_gone, *(f"/dev/ttyACM{number}" for number in range(SHOES)))
        assert await guest.call(usb_devices) == []
        assert await guest.call(used_ports) == {}
    nothing_was_lost_or_doubled(daemon, *shoes)
