"""What the corpus recorded is made scenarios, and they play as it was recorded.

Every shipped scenario in each method and of each profile that plays it, in all five
games; whole shoes; and tables at which anything happened in any order.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import pytest

from shoe_testing.examples import sampled
from shoe_testing.recordings import play_again, recording_of_run
from simulators.errors import WrongUsage
from simulators.recorder.recording import Recording
from simulators.recorder.rounds import only_rounds, rounds_of
from simulators.recorder.scenario_file import recorded_scenario
from simulators.table.scenario import find, parse, shipped
from tests.corpus import corpus

PARTS = 48
"""The runs of scenarios are tried in so many parts: every one in so many."""

WHOLE_SHOES = 13


def recordings(file: str, first: int = 0, one_in: int = 1) -> Iterator[Recording]:
    names = set(shipped())
    lines = corpus.lines(corpus.FOLDER / f"{file}.jsonl.xz")
    for line in itertools.islice(lines, first, None, one_in):
        run = corpus.decode(line)
        base = run.name.partition(":")[0]
        shoe = find(base).table.get("shoe", {}) if base in names else {}
        steps = [(step.input, step.effects) for step in run.steps]
        yield recording_of_run(run.name, run.game, run.settings, steps, shoe)


async def differing(found: Iterator[Recording]) -> tuple[int, dict[str, str]]:
    """How many were played, and what came otherwise at which."""
    wrong: dict[str, str] = {}
    count = 0
    for recording in found:
        count += 1
        again = await play_again(recording)
        if again.wrong is not None:
            wrong[recording.source] = again.wrong
    return count, wrong


@pytest.mark.parametrize("part", sampled(range(PARTS), one_in=PARTS, cpu_s=0.5))
async def test_a_recorded_scenario_plays_as_it_was_recorded(part: int) -> None:
    count, wrong = await differing(recordings("scenarios", part, PARTS))
    assert wrong == {}
    assert count >= 15


@pytest.mark.exhaustive(cpu_s=2.0)
@pytest.mark.parametrize("number", range(WHOLE_SHOES))
async def test_a_recorded_shoe_plays_to_its_last_card(number: int) -> None:
    count, wrong = await differing(recordings("whole_shoes", number, WHOLE_SHOES))
    assert (count, wrong) == (1, {})


@pytest.mark.parametrize("number", sampled(range(WHOLE_SHOES), one_in=WHOLE_SHOES, cpu_s=1.0))
async def test_rounds_in_the_middle_of_a_shoe_play_alone(number: int) -> None:
    (recording,) = recordings("whole_shoes", number, WHOLE_SHOES)
    rounds = rounds_of(recording)
    assert len(rounds) > 40
    part = only_rounds(recording, rounds[30], rounds[32])
    again = await play_again(part)
    assert again.wrong is None
    assert again.made.left_out == ("the rounds before: others of their cards are out",)
    assert again.made.text.count("round.outcome ") == 3
    assert "t1-s1-r3 " in again.made.text and "t1-s1-r4" not in again.made.text


@pytest.mark.parametrize("part", sampled(range(20), one_in=20, cpu_s=0.3))
def test_whatever_was_recorded_is_made_a_scenario_or_refused(part: int) -> None:
    """Inputs in any order, which no table ever gets: nothing breaks, and the rest is named."""
    for recording in recordings("any_order", part, 20):
        with contextlib.suppress(WrongUsage):
            made = recorded_scenario(recording)
            parse(made.text.encode(), "recorded.toml", name="recorded")
