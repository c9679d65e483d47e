"""Simulated card-reading shoes with ports and dealers: tests and benches without hardware.

A shoe on a pty, dealt by a simulated dealer, in a running event loop:

    from firmware_proto import FRENCH52
    from simulators import Rig, simulated_shoe
    from simulators.ports import PtyPort
    from simulators.table import Supply, dealer_for

    shoe = simulated_shoe("reference", seed=7)
    rig = Rig(shoe, PtyPort("./shoe"))
    rig.dealer = dealer_for(shoe, Supply(FRENCH52, 8, 8, 0), pace_s=0.5)
    rig.dealer.open_table(rig.now)
    rig.start()

The simulators share no rule with the controller and import nothing of ``shoe_ctl``.

* ``shoe``: the shoes: cards, bolt, key, memory, what each profile sends, and the judge.
* ``ports``: what a host opens: a pty, a TCP server, or a USB device that it attaches.
* ``faults``, ``rig``: a faulty line; a shoe, its port and its dealer on one clock.
* ``incidents``: what can happen to a shoe beside its draws.
* ``control``: change a shoe while it is served.
* ``table``: dealers, scenarios and how they are played.
* ``floor``: many shoes in one process, for load tests.
* ``server``, ``capture_player``, ``scenario_runner``: what ``shoe-sim`` runs.
"""

from __future__ import annotations

from simulators.lazy_names import lazy_names

__all__ = [
    "CapturePlayer",
    "CleanLine",
    "Faults",
    "FaultyLine",
    "Line",
    "PortFault",
    "Progress",
    "Recording",
    "Rig",
    "ScenarioRun",
    "Server",
    "ServerSettings",
    "ShoeControl",
    "SimulatorError",
    "WrongUsage",
    "parse_faults",
    "recording",
    "run_scenario",
    "serve",
    "simulated_shoe",
]

TYPE_CHECKING = False  # not typing's: its import takes 10 ms, and until then Ctrl-C is not quiet
if TYPE_CHECKING:
    from simulators.capture_player import CapturePlayer, Recording, recording
    from simulators.control.client import ShoeControl
    from simulators.errors import PortFault, SimulatorError, WrongUsage
    from simulators.faults import CleanLine, Faults, FaultyLine, Line, parse_faults
    from simulators.rig import Rig
    from simulators.scenario_runner import Progress, ScenarioRun, run_scenario
    from simulators.server import Server, ServerSettings, serve
    from simulators.shoe.build import simulated_shoe
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CapturePlayer": "capture_player",
            "Recording": "capture_player",
            "recording": "capture_player",
            "ShoeControl": "control.client",
            "PortFault": "errors",
            "SimulatorError": "errors",
            "WrongUsage": "errors",
            "CleanLine": "faults",
            "Faults": "faults",
            "FaultyLine": "faults",
            "Line": "faults",
            "parse_faults": "faults",
            "Rig": "rig",
            "Progress": "scenario_runner",
            "ScenarioRun": "scenario_runner",
            "run_scenario": "scenario_runner",
            "Server": "server",
            "ServerSettings": "server",
            "serve": "server",
            "simulated_shoe": "shoe.build",
        },
    )
