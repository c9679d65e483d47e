"""Write the index of ``shoectl explain``: for each line of the table, a scenario that takes it.

``make docs`` runs it. In: the shipped scenarios. Out: JSON: the titles of the scenarios named, and
for each message its places (a state of ``ROUND``, a situation else) with the scenario's name.
Of several scenarios the one is named whose name has the most words of the message, and of these
the one that takes the fewest lines: it shows little else.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from unittest.mock import patch

from shoe_ctl.table import controller
from shoe_ctl.table.cases import find_case
from shoe_ctl.table.situations import SITUATIONS, STATES, situation
from shoe_ctl.table.transitions import ALWAYS, ROUND, SHOE
from shoe_ctl.table.turn import Turn
from shoe_testing.bench import InProcessBench, play_in_process
from simulators.table.scenario import find, shipped

INDEX = Path(__file__).parents[1] / "shoe_ctl/cli/scenarios.json"

Line = tuple[str, str]
"""A message, and the place where its line holds."""


def lines_taken(bench: InProcessBench) -> frozenset[Line]:
    """Return the lines of the table that the inputs of this run take."""
    taken: set[Line] = set()

    def note(turn: Turn, trigger: str) -> str:
        case = find_case(turn, trigger)
        if case in ROUND.get(turn.state, {}):
            taken.add((case, turn.state))
        elif case in SHOE or case in ALWAYS:
            taken.add((case, situation(turn.state, turn.now.halt)))
        return case

    table = controller.TableController(bench.game, bench.settings)
    with patch.object(controller, "find_case", note):
        for happened in bench.inputs:
            table.handle(happened)
    return frozenset(taken)


def index(taken: Mapping[str, Iterable[Line]], titles: Mapping[str, str]) -> str:
    """Return the index of these scenarios: the lines that each takes, its title."""
    lines = {name: frozenset(of_it) for name, of_it in taken.items()}
    by_line: dict[Line, list[str]] = {}
    for name in sorted(lines, key=lambda name: (len(lines[name]), name)):
        for line in lines[name]:
            by_line.setdefault(line, []).append(name)
    best = {line: max(names, key=partial(_alike, line[0])) for line, names in by_line.items()}
    places = [*SITUATIONS, *(state for state in STATES if state not in SITUATIONS)]
    by_message: dict[str, dict[str, str]] = {}
    for message, place in sorted(best, key=lambda line: (line[0], places.index(line[1]))):
        by_message.setdefault(message, {})[place] = best[message, place]
    named = sorted(set(best.values()))
    document = {"titles": {name: titles[name] for name in named}, "lines": by_message}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _alike(message: str, scenario: str) -> int:
    """Return how many words the names have in common."""
    return len(set(re.split(r"[._]", message)) & set(scenario.split("_")))


async def shipped_index() -> str:
    """Return the index of the shipped scenarios.

    Raises:
        ValueError: a scenario could not be played.
    """
    taken, titles = {}, {}
    for name in shipped():
        scenario = find(name)
        bench, stuck = await play_in_process(scenario)
        if stuck is not None:
            raise ValueError(f"{name}: {stuck}")
        taken[name], titles[name] = lines_taken(bench), scenario.title
    return index(taken, titles)


if __name__ == "__main__":
    INDEX.write_text(asyncio.run(shipped_index()), "utf-8")
