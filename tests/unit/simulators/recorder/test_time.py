"""The time of a recording: it passes in the steps, and every deadline falls where it fell."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from firmware_proto.profiles import PROFILES
from shoe_testing.recordings import play_again, recording_of_dealt, recording_of_scenario
from simulators.table.scenario import find

ROUNDS = 8


def passed_ms(text: str) -> list[float]:
    steps: list[dict[str, Any]] = tomllib.loads(text)["steps"]
    return [step["pass_ms"] for step in steps if "pass_ms" in step]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("face_up_after_ms", [300, 1000])
async def test_cards_that_are_seen_after_a_while_are_seen_between_the_same_draws(
    profile: str, face_up_after_ms: int
) -> None:
    recording = recording_of_dealt(profile, rounds=ROUNDS, face_up_after_ms=face_up_after_ms)
    again = await play_again(recording)
    assert again.wrong is None
    assert again.made.text.count("round.settled round_id=") == 2 * ROUNDS  # a wait, an event
    last_us, first_us = (recording.happened[at].what["t_us"] for at in (-1, 0))
    assert sum(passed_ms(again.made.text)) == pytest.approx((last_us - first_us) / 1000, abs=5000)


async def test_a_recording_in_which_nothing_came_of_time_has_none() -> None:
    again = await play_again(await recording_of_scenario(find("no_third_card")))
    assert again.wrong is None
    assert passed_ms(again.made.text) == []


async def test_a_wire_that_was_cut_is_named_and_all_else_plays_as_it_was() -> None:
    again = await play_again(await recording_of_scenario(find("shoe_does_not_hear")))
    assert again.wrong is None
    assert again.made.left_out == ("a shoe that did not hear",)
    assert "hearing" not in again.made.text


@pytest.mark.parametrize("when", ["betting", "next_round"])
async def test_a_card_that_the_line_held_back_is_held_back_again(when: str) -> None:
    again = await play_again(await recording_of_scenario(find(f"early_draw_heard_of_in_{when}")))
    assert again.wrong is None
    steps = tomllib.loads(again.made.text)["steps"]
    assert [step["draw_early"] for step in steps if step.get("held_back")] == [1]
