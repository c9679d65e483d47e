"""Make the recording that comes with the product: the events of a scenario, as a daemon emits them.

``make docs`` runs it. In: a scenario beside this file. Out: its events of both streams, one a line.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch, Counters
from shoe_ctl.journal.group import encode_batch
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.table.effects import TableEvent
from shoe_testing.bench import play_in_process
from simulators.table.scenario import load

FOLDER = Path(__file__).parents[1] / "shoe_ctl/recordings"
SCENARIOS = sorted(Path(__file__).parent.glob("*_shoe.toml"))

EPOCH = "5ec0de00"
BEGINS_US = 1_767_268_800_000_000
"""2026-01-01 at noon, in µs since 1970 UTC."""

BETWEEN_US = 400_000
"""The scenario is played without haste or waiting; in the recording each input takes so long."""

_EVENTS = (Kind.PUBLIC.value, Kind.RESTRICTED.value)


def recorded(scenario: Path) -> bytes:
    """Return the events of a scenario as JSON lines, in the order of a journal.

    Raises:
        ValueError: something else came of it than it expects.
    """
    played = load(scenario)
    bench, stuck = asyncio.run(play_in_process(played))
    wrong = stuck or played.differences(bench.public, bench.restricted)
    if wrong is not None:
        raise ValueError(f"{scenario.name}: {wrong}")
    index, counters = EventIndex(), Counters()
    lines: list[bytes] = []
    inputs = zip(bench.inputs, bench.effects, strict=True)
    for number, (happened, effects) in enumerate(inputs):
        batch = Batch(EPOCH)
        emitted = [effect for effect in effects if isinstance(effect, TableEvent)]
        t_us = BEGINS_US + happened.t_us + number * BETWEEN_US
        later = msgspec.structs.replace(happened, t_us=t_us)
        handles = record_input(batch, bench.settings.table, later, emitted, index)
        encoded = encode_batch(batch, lambda _: counters)
        for handle, event in zip(handles, emitted, strict=True):
            index.add_event(event.type, event.subject, encoded.ids[handle])
        lines += [record.body + b"\n" for record in encoded.records if record.kind in _EVENTS]
    return b"".join(lines)


def main() -> None:
    """Write every recording."""
    for scenario in SCENARIOS:
        (FOLDER / f"{scenario.stem}.jsonl").write_bytes(recorded(scenario))


if __name__ == "__main__":
    main()
