"""A journal of the running daemon is made a scenario, and the same comes of it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shoe_testing.daemon import play_through_daemon
from shoe_testing.examples import sampled
from shoe_testing.recordings import play_again, recording_of_journal, recording_of_scenario
from simulators.recorder.acts import NOT_DONE
from simulators.recorder.scenario_file import recorded_scenario
from simulators.table.scenario import find, parse, shipped

pytestmark = pytest.mark.slow

ONE_IN = 120
"""Of so many one is recorded in every run; the corpus has them all in process."""

NOT_FOUND = {"a card of which the shoe never told", "a card that was read unsurely"}
"""What a recording cannot hold of the cards."""


@pytest.mark.parametrize("name", sampled(shipped(), one_in=ONE_IN, cpu_s=0.4))
async def test_what_a_daemon_stored_plays_again_as_it_was(name: str, tmp_path: Path) -> None:
    _, _, stuck = await play_through_daemon(find(name), tmp_path)
    assert stuck is None
    again = await play_again(recording_of_journal(tmp_path / "journal.db"))
    assert again.wrong is None
    left_out = {what.partition(" (")[0] for what in again.made.left_out}
    assert left_out <= {*NOT_DONE.values(), *NOT_FOUND}


@pytest.mark.parametrize("name", ["shoe_change", "bee_tek_new_shoe", "shoe_change_angel_eye"])
async def test_each_set_of_one_connection_plays_again_alone(name: str, tmp_path: Path) -> None:
    _, _, stuck = await play_through_daemon(find(name), tmp_path)
    assert stuck is None
    for shoe in ("t1-s1", "t1-s2"):
        recording = recording_of_journal(tmp_path / "journal.db", shoe)
        again = await play_again(recording)
        assert again.wrong is None
        assert again.made.left_out == ()
        assert again.made.text.count("round.settled round_id=t1-s1-r1") >= 1
        assert "-r2" not in again.made.text


async def test_at_a_daemon_in_real_time_the_time_of_a_recording_passes_too(tmp_path: Path) -> None:
    shipped_one = find("explicit_face_up")
    table = {**shipped_one.table, "method_b": {"faces": "face_up", "face_up_after_ms": 1000}}
    recording = await recording_of_scenario(replace(shipped_one, table=table))
    made = recorded_scenario(recording)
    scenario = parse(made.text.encode(), "recorded.toml", name="recorded")
    assert scenario.passes_time
    public, restricted, stuck = await play_through_daemon(scenario, tmp_path)
    assert (stuck, scenario.differences(public, restricted)) == (None, None)
