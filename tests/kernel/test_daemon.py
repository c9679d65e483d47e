"""The daemon at devices that a real kernel has: unplugged, frozen, cut short in mid-round."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_testing.guest.actions import ask_for_status, read
from shoe_testing.guest.daemon import (
    DeviceKind,
    attach_to,
    daemon_in,
    nothing_was_lost_or_doubled,
    shoe_in,
)
from shoe_testing.guest.machine import SERIAL_LINE, Guest

pytestmark = pytest.mark.guest

ROUNDS = 4

TIMED_OUT = 110
"""How Linux numbers it."""


@pytest.mark.parametrize("kind", ["serial", "bulk", "adapter"])
async def test_a_shoe_that_is_unplugged_in_mid_round_is_told_as_it_was_dealt(
    kind: DeviceKind, guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, kind) as shoe:
        shoe.rest_at(2, "banker", 1)
        async with daemon_in(guest, shoe) as daemon:
            await attach_to(guest, shoe)
            await daemon.told.times(1, "shoe.connected")
            await shoe.rests()
            shoe.rig.unplug()
            await daemon.told.times(1, "shoe.lost")
            shoe.rig.replug()
            await attach_to(guest, shoe)
            await daemon.told.times(2, "shoe.connected")
            shoe.rest_after(ROUNDS)
            shoe.go_on()
            await shoe.rests()
            await daemon.told.times(ROUNDS, "round.outcome")
            await daemon.stop()
    nothing_was_lost_or_doubled(daemon, shoe)
    assert len(daemon.told.data("round.outcome")) == ROUNDS


@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_a_shoe_that_freezes_goes_on_where_it_was_once_it_thaws(
    kind: DeviceKind, guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, kind) as shoe:
        shoe.rest_at(2, "player", 2)
        async with daemon_in(guest, shoe) as daemon:
            await attach_to(guest, shoe)
            await shoe.rests()
            drawn = len(shoe.truth.cards)
            assert await guest.call(ask_for_status) == 0
            shoe.rig.freeze()
            shoe.rest_after(ROUNDS)
            shoe.go_on()
            assert await guest.call(ask_for_status) == TIMED_OUT
            assert len(shoe.truth.cards) == drawn
            shoe.rig.thaw()
            assert await guest.call(ask_for_status) == 0
            await shoe.rests()
            await daemon.told.times(ROUNDS, "round.outcome")
            await daemon.stop()
    nothing_was_lost_or_doubled(daemon, shoe)


async def test_a_port_of_the_computer_has_its_lines_raised_and_survives_a_break(
    guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, "line") as shoe:
        shoe.rest_at(2, "banker", 1)
        async with daemon_in(guest, shoe) as daemon:
            await shoe.rests()
            assert {"RTS", "DTR", "CTS", "DSR", "CD"} <= await modem_lines(guest)
            guest.machine.send_break()
            shoe.rest_after(ROUNDS)
            shoe.go_on()
            await shoe.rests()
            await daemon.told.times(ROUNDS, "round.outcome")
            assert "brk" in await counters(guest)
            await daemon.stop()
        assert not {"RTS", "DTR"} & await modem_lines(guest)
    nothing_was_lost_or_doubled(daemon, shoe)
    assert daemon.told.data("table.halted") == []


async def counters(guest: Guest) -> str:
    """What the driver of the 8250 counted, and the lines that are raised."""
    number = SERIAL_LINE.removeprefix("ttyS")
    lines = (await guest.call(read, "/proc/tty/driver/serial")).splitlines()
    return next(line for line in lines if line.startswith(f"{number}:"))


async def modem_lines(guest: Guest) -> set[str]:
    return set((await counters(guest)).split()[-1].split("|"))
