"""The corpus finds what a change alters, and names its kind."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shoe_testing.tables import ROUNDS, TableHarness
from tests.corpus import corpus
from tests.corpus.corpus import Run, Step, compare, record


@pytest.fixture(scope="module")
def run() -> Run:
    table = TableHarness()
    table.open_shoe()
    table.play(ROUNDS["both draw"])
    return record("a round", table.controller, table.inputs)


def altered(run: Run, was: str, now: str) -> Run:
    """The run with another text in its recorded effects."""
    steps = tuple(
        Step(step.input, tuple(effect.replace(was, now) for effect in step.effects))
        for step in run.steps
    )
    assert steps != run.steps
    return msgspec.structs.replace(run, steps=steps)


def test_a_run_that_nothing_altered_is_the_same(run: Run) -> None:
    assert compare(run) == []


def test_an_altered_value_is_found_at_its_step_and_named_by_its_path(run: Run) -> None:
    (found,) = compare(altered(run, '"winner":"banker"', '"winner":"nobody"'))
    assert found.kinds == [
        "event round.outcome: data winner",
        "event round.outcome: restricted_data winner",
        "answer: message args happened [] args winner",
    ]
    assert '"winner":"banker"' in str(found)


def test_an_effect_that_is_missing_is_found(run: Run) -> None:
    last = run.steps[-1]
    assert last.effects
    shorter = msgspec.structs.replace(
        run, steps=(*run.steps[:-1], Step(last.input, last.effects[1:]))
    )
    (found,) = compare(shorter)
    assert found.step == len(run.steps) - 1


def test_an_input_that_cannot_be_read_any_more_is_a_difference(run: Run) -> None:
    broken = msgspec.structs.replace(run, steps=(Step('{"type":"gone"}', ()), *run.steps))
    (found,) = compare(broken)
    assert "ValidationError" in found.now[0]


def test_runs_are_read_as_they_were_written(run: Run, tmp_path: Path) -> None:
    corpus.write(tmp_path / "one.jsonl.xz", [run, run])
    lines = list(corpus.lines(tmp_path / "one.jsonl.xz"))
    assert [corpus.decode(line) for line in lines] == [run, run]


def test_the_corpus_holds_every_source() -> None:
    assert [path.name.partition(".")[0] for path in corpus.files()] == [
        "any_order",
        "scenarios",
        "whole_shoes",
    ]
