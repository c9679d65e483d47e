"""Bots at a table: dealers that draw the cards, and scenarios with the events that must come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulators.lazy_names import lazy_names

__all__ = [
    "Bench",
    "Client",
    "Dealer",
    "DealerView",
    "JudgeDealer",
    "LampDealer",
    "LiveBench",
    "Manners",
    "Operator",
    "Pattern",
    "Scenario",
    "ScenarioPlayer",
    "ShoeSetup",
    "SocketClient",
    "StepFailed",
    "Stuck",
    "Supply",
    "TellingDealer",
    "Told",
    "dealer_for",
    "find",
    "shipped",
]

if TYPE_CHECKING:
    from simulators.table.bench import Bench, Stuck
    from simulators.table.client import Client, SocketClient
    from simulators.table.dealer import (
        Dealer,
        JudgeDealer,
        LampDealer,
        Supply,
        TellingDealer,
        dealer_for,
    )
    from simulators.table.dealer_view import DealerView, Manners
    from simulators.table.expectation import Pattern, Told
    from simulators.table.live_bench import LiveBench
    from simulators.table.operator import Operator
    from simulators.table.scenario import Scenario, find, shipped
    from simulators.table.scenario_player import ScenarioPlayer, StepFailed
    from simulators.table.shoe_setup import ShoeSetup
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Bench": "bench",
            "Stuck": "bench",
            "Client": "client",
            "SocketClient": "client",
            "Dealer": "dealer",
            "JudgeDealer": "dealer",
            "LampDealer": "dealer",
            "Supply": "dealer",
            "TellingDealer": "dealer",
            "dealer_for": "dealer",
            "DealerView": "dealer_view",
            "Manners": "dealer_view",
            "Pattern": "expectation",
            "Told": "expectation",
            "LiveBench": "live_bench",
            "Operator": "operator",
            "Scenario": "scenario",
            "find": "scenario",
            "shipped": "scenario",
            "ScenarioPlayer": "scenario_player",
            "StepFailed": "scenario_player",
            "ShoeSetup": "shoe_setup",
        },
    )
