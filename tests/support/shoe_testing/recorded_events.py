"""The events of the corpus: as the table emits them, and as they leave with their envelopes."""

from __future__ import annotations

import functools
import itertools
import json
import lzma
from collections.abc import Iterator
from typing import Any

import msgspec

from shoe_ctl.games import catalog
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch, Counters
from shoe_ctl.journal.group import encode_batch
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.table import inputs
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.settings import TableSettings
from tests.corpus import corpus

EPOCH = "b62f6b3f"


Run = list[tuple[dict[str, Any], list[TableEvent]]]
"""The inputs of a recorded run, each with its events."""


@functools.cache
def runs(one_in: int) -> tuple[Run, ...]:
    """Every recorded run, or one in so many."""
    found: list[Run] = []
    for path in corpus.files():
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            found += [
                [(json.loads(given), list(_events(each))) for given, each in _steps(line)]
                for line in itertools.islice(lines, 0, None, one_in)
            ]
    return tuple(found)


def effects(one_in: int) -> Iterator[TableEvent]:
    """Every event of these runs."""
    for run in runs(one_in):
        for _, events in run:
            yield from events


def _steps(line: str) -> list[tuple[str, list[str]]]:
    steps: list[tuple[str, list[str]]] = json.loads(line)["steps"]
    return steps


def _events(effects: list[str]) -> Iterator[TableEvent]:
    for effect in effects:
        if '"effect":"event"' in effect:
            plain = json.loads(effect)
            del plain["effect"]
            yield msgspec.convert(plain, TableEvent)


@functools.cache
def envelopes(scenario: str) -> tuple[dict[str, Any], ...]:
    """The events of a recorded scenario as they leave, of both streams."""
    path = next(path for path in corpus.files() if path.name.startswith("scenarios"))
    run = next(run for run in map(corpus.decode, corpus.lines(path)) if run.name == scenario)
    settings = msgspec.convert(run.settings, TableSettings)
    controller = TableController(catalog.load(run.game), settings)
    index, counters = EventIndex(), Counters()
    found: list[dict[str, Any]] = []
    for step in run.steps:
        happened, batch = inputs.from_bytes(step.input.encode()), Batch(EPOCH)
        emitted = [e for e in controller.handle(happened) if isinstance(e, TableEvent)]
        handles = record_input(batch, settings.table, happened, emitted, index)
        encoded = encode_batch(batch, lambda _: counters)
        for handle, event in zip(handles, emitted, strict=True):
            index.add_event(event.type, event.subject, encoded.ids[handle])
        of_events = (Kind.PUBLIC.value, Kind.RESTRICTED.value)
        found += [json.loads(r.body) for r in encoded.records if r.kind in of_events]
    return tuple(found)
