"""A shoe that is served on a pty in the test's loop, and takes changes at its socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from firmware_proto.cards import DECKS
from simulators.control.changes import ShoeBench
from simulators.control.server import controlled
from simulators.faults import Faults, FaultyLine
from simulators.ports.pty import PtyPort
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe
from simulators.table.dealer import Supply, dealer_for


@asynccontextmanager
async def served_shoe(folder: Path, profile: str = "reference") -> AsyncIterator[ShoeBench]:
    """Its socket is ``shoe.ctl`` in the folder, its port ``shoe``."""
    device = simulated_shoe(profile, seed=7)
    lines = FaultyLine(7, Faults()), FaultyLine(8, Faults())
    rig = Rig(device, PtyPort(str(folder / "shoe")), to_host=lines[0], to_shoe=lines[1])
    supply = Supply(DECKS["french52"], 8, 8, 0)
    rig.dealer = dealer_for(device, supply, pace_s=0.0)
    rig.dealer.open_table(rig.now)
    rig.start()
    try:
        bench = ShoeBench(rig, lines, supply)
        async with controlled(folder / "shoe.ctl", bench):
            yield bench
    finally:
        rig.stop()
