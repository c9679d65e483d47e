"""What the corpus records: scenarios, whole shoes, and runs in which anything may happen.

Each source yields runs under a name that stays the same from recording to recording.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterator

from firmware_proto.profiles import PROFILES
from shoe_ctl.errors import ConfigError
from shoe_ctl.games import catalog
from shoe_testing import generators as sample_inputs
from shoe_testing.bench import DealtTable, InProcessBench
from shoe_testing.generators import OfferingTable
from shoe_testing.table_corpus import WAYS, goes_on, kind_of
from shoe_testing.tables import TableHarness
from simulators.errors import WrongUsage
from simulators.shoe.model import Refused
from simulators.table.bench import Stuck
from simulators.table.fields import Wrong
from simulators.table.scenario import Scenario, find, shipped
from simulators.table.scenario_player import LeftOut, ScenarioPlayer
from tests.corpus.corpus import Run, record

ANY_ORDER_SEEDS = 300
ANY_ORDER_STEPS = 80

LEFT_OUT: Counter[str] = Counter()
"""Why scenarios are left out for a profile that cannot report what happens in them."""


async def scenarios() -> list[Run]:
    """Every scenario as it is shipped, and in each other method and profile that plays it."""
    found = []
    for name in shipped():
        scenario = find(name)
        for variant in _variants(scenario):
            run = await _played(variant, is_shipped=variant is scenario)
            if run is not None:
                found.append(run)
    return found


def _variants(scenario: Scenario) -> Iterator[Scenario]:
    yield scenario
    shipped_as = (scenario.profile, scenario.table.get("method"))
    methods = catalog.load(str(scenario.table["game"])).methods or (None,)
    for profile in PROFILES:
        for method in methods:
            if (profile, method) == shipped_as:
                continue
            shoe = {**scenario.table.get("shoe", {}), "profile": profile}
            table = {**scenario.table, "shoe": shoe}
            if method is not None:
                table["method"] = method
            name = f"{scenario.name}:{profile}:{method}"
            yield dataclasses.replace(scenario, name=name, profile=profile, table=table)


async def _played(scenario: Scenario, *, is_shipped: bool) -> Run | None:
    """The run, or None where this table or this shoe cannot play it to its end."""
    try:
        bench = InProcessBench(scenario)
        await ScenarioPlayer(scenario, bench).play()
        await bench.rest()
    except LeftOut as left_out:
        if is_shipped:
            raise
        LEFT_OUT[left_out.reason] += 1
        return None
    except (ConfigError, Refused, Stuck, Wrong, WrongUsage, ValueError, KeyError, TypeError):
        if is_shipped:
            raise
        return None
    return record(scenario.name, bench.controller, bench.inputs)


async def whole_shoes() -> list[Run]:
    """A whole shoe of every game, from each kind of shoe that can hold its cards."""
    found = []
    for game in map(catalog.load, catalog.shipped()):
        for profile in PROFILES:
            try:
                table = DealtTable(game, profile, seed=11)
            except (ValueError, WrongUsage):
                continue
            table.deal()
            found.append(record(f"{game.id}:{profile}", table.controller, table.inputs))
    return found


async def any_order() -> list[Run]:
    """Runs in which staff go on with the round most of the time, and else anything happens."""
    return [_wandered(seed) for seed in range(ANY_ORDER_SEEDS)]


def _wandered(seed: int) -> Run:
    chance = random.Random(seed)
    shoe = chance.choice(("reference", "angel_eye", "bee_tek"))
    way = chance.choice(WAYS)
    method = chance.choice(("A", "B", "C"))
    table = TableHarness(**kind_of(shoe), **way, method=method if way is WAYS[0] else "B")
    table.open_shoe()
    for _ in range(ANY_ORDER_STEPS):
        if chance.random() < 0.7:
            try:
                goes_on(table)
            except (AssertionError, StopIteration):
                pass  # willing staff are at their wits' end: something else happens
            else:
                continue
        at = OfferingTable(table.now, table.game, table.settings)
        _, happened = chance.choice(list(sample_inputs.inputs(at)))
        table.feed(happened)
    return record(f"seed:{seed}", table.controller, table.inputs)


SOURCES = {"scenarios": scenarios, "whole_shoes": whole_shoes, "any_order": any_order}
"""The corpus's files, and what fills each."""
