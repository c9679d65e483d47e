"""The suite that ships with the pytest plugin, in the guest: the verdicts of a simulated shoe.

In: the suite, a simulated shoe on a pty of the host, one at the guest's kernel. Out: verdicts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from shoe_testing.bench_runs import read_verdicts, suite_command
from shoe_testing.guest.actions import run_suite, wait_for
from shoe_testing.guest.agent import SHARE
from shoe_testing.guest.daemon import DeviceKind, attach_to, attached_again, shoe_in
from shoe_testing.guest.machine import HOST, Guest
from shoe_testing.guest.relay import relayed
from simulators.control.changes import ShoeBench
from simulators.control.server import controlled
from simulators.faults import Faults, FaultyLine

pytestmark = pytest.mark.guest

LIMIT_S = 900.0
"""Each test of the suite starts a daemon of its own, under emulation."""

DECKS = 8
"""As many as a table has that does not say."""

OF_THE_GUEST_ALONE = {
    "test_a_natural_nine_wins_and_no_more_cards_are_drawn": (
        "skipped: cards: the cards of a real shoe cannot be chosen"
    ),
}
"""Verdicts that a shoe at a port has, and no simulated one."""


@pytest.mark.exhaustive(cpu_s=120)
@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_a_shoe_at_the_kernel_gets_the_verdicts_of_a_simulated_shoe(
    kind: DeviceKind, guest: Guest, tmp_path: Path
) -> None:
    lines = FaultyLine(1, Faults()), FaultyLine(2, Faults())
    with shoe_in(guest, tmp_path, kind, *lines, decks=DECKS) as shoe:
        bench = ShoeBench(shoe.rig, lines)
        await attach_to(guest, shoe)
        if kind == "serial":
            await guest.call(wait_for, shoe.port.address)
        async with control_port(guest, bench) as port, attached_again(guest, shoe):
            simulated, in_guest = await asyncio.gather(
                verdicts_here(tmp_path), verdicts_in_guest(guest, shoe.port.address, port)
            )
    assert set(simulated.values()) == {"passed"}
    assert simulated.keys() >= OF_THE_GUEST_ALONE.keys()
    assert in_guest == simulated | OF_THE_GUEST_ALONE


@asynccontextmanager
async def control_port(guest: Guest, bench: ShoeBench) -> AsyncIterator[int]:
    """A port of the host's loopback at which the shoe takes changes."""
    path = guest.machine.folder / "shoe.ctl"
    connect = partial(asyncio.open_unix_connection, path)
    listen = partial(asyncio.start_server, host="127.0.0.1", port=0)
    async with controlled(path, bench), relayed(listen, connect) as server:
        yield server.sockets[0].getsockname()[1]


async def verdicts_here(folder: Path) -> dict[str, str]:
    """Of the suite on simulated shoes, as whoever has no device runs it."""
    process = await asyncio.create_subprocess_exec(
        *suite_command(folder), cwd=folder, stdout=asyncio.subprocess.DEVNULL
    )
    await process.wait()
    return read_verdicts(folder)


async def verdicts_in_guest(guest: Guest, shoe_port: str, control_port: int) -> dict[str, str]:
    """Of the suite at a device of the guest, as whoever has one runs it."""
    folder = guest.folder / f"suite-{guest.machine.calls}"
    folder.mkdir()
    folder.chmod(0o777)
    command = suite_command(SHARE / folder.name, f"--shoe-port={shoe_port}", "--shoe-control=ctl")
    await guest.call_within(LIMIT_S, run_suite, command, "ctl", HOST, control_port)
    return read_verdicts(folder)
