"""The file of a recording: TOML that reads back, names, what is left out, rounds, games."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.recordings import play_again, recording_of_scenario
from simulators.errors import WrongUsage
from simulators.recorder.names import Names
from simulators.recorder.recording import Happened, Recording
from simulators.recorder.rounds import only_rounds, rounds_of
from simulators.recorder.scenario_file import recorded_scenario
from simulators.table.scenario import configured, load, parse, second_persons

PLAY = """version = 1
title = "Three rounds, a Player, two persons"
table = {game = "tiger", method = "A"}
shoe = {cards = "4D 7C 5S QH  3D 2S 5C 4H  9S 9H 7D 8D", unreadable = [6]}
steps = [
  {say = "place_your_bets"},
  {wager = "player", player = "Mr Li", seat = 3, amount = 500},
  {say = "pause", reason = "no \\"pause\\" now", refused = "position"},
  {play = "round.settled"},
  {play = "round.card_dealt hand=banker index=2"},
  {say = "expose", args = {hand = "player"}},
  {say = "expose", args = {hand = "banker"}},
  {say = "decide", args = {choice = "enter", card = "2S"}, position = "pit_supervisor", reason = "read", consented_by = "lee"},
  {play = "round.settled"},
  {play = "round.settled"},
]
expect = ["round.outcome", "round.outcome", "round.outcome"]
"""  # noqa: E501 - one step a line


@pytest.fixture
async def recording() -> Recording:
    return await recording_of_scenario(parse(PLAY.encode(), "one.toml", name="one"))


def steps(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(text)["steps"]
    return found


async def test_a_file_reads_back_and_plays_as_it_was(recording: Recording) -> None:
    again = await play_again(recording)
    assert (again.wrong, again.made.left_out) == (None, ())
    plain = tomllib.loads(again.made.text)
    assert plain["table"] == {"game": "tiger", "decks": 8, "layout": "A", "method": "A"}
    assert plain["shoe"]["cards"].startswith("4D 7C 5S QH 3D 2S ")
    assert plain["shoe"]["unreadable"] == [6]
    (paused,) = [step for step in plain["steps"] if step.get("say") == "pause"]
    assert (paused["refused"], paused["reason"]) == (
        "refused_position_too_low",
        'no "pause" now',
    )


async def test_people_are_not_named_unless_that_is_asked_for(recording: Recording) -> None:
    made = recorded_scenario(recording)
    assert "Mr Li" not in made.text and "player 1" in made.text
    assert second_persons(parse(made.text.encode(), "x", name="x")) == ["Ann"]
    kept = recorded_scenario(recording, names=Names(keep=True))
    assert '"Mr Li"' in kept.text and '"lee"' in kept.text


async def test_what_no_step_does_is_named_in_the_file_and_counted(recording: Recording) -> None:
    fault = Happened({"input": "fault", "t_us": 0})
    garbage = Happened(
        {"input": "shoe", "t_us": 0, "seq": None, "event": {"type": "discarded", "reason": "crc"}}
    )
    happened = (*recording.happened, fault, garbage, garbage)
    made = recorded_scenario(replace(recording, happened=happened, source="a\nb"))
    assert made.left_out == ("an error inside shoe-ctl", "garbage on the line (2 times)")
    lines = made.text.splitlines()
    assert lines[:4] == [
        "# Recorded from a?b",
        "# Not played again: an error inside shoe-ctl",
        "# Not played again: garbage on the line (2 times)",
        "version = 1",
    ]


async def test_one_round_is_played_by_a_shoe_that_was_dealt_from(recording: Recording) -> None:
    ids = rounds_of(recording)
    assert ids == ["t1-s1-r1", "t1-s1-r2", "t1-s1-r3"]
    again = await play_again(only_rounds(recording, ids[2], ids[2]))
    assert again.wrong is None
    plain = tomllib.loads(again.made.text)
    assert plain["shoe"] == {"already_drawn": 8, "cards": "9S 9H 7D 8D"}
    assert [line for line in plain["expect"] if line.startswith("round.opened")] == [
        "round.opened round_id=t1-s1-r1 shoe_id=t1-s1"
    ]
    with pytest.raises(WrongUsage, match=r"has no 'r9' \(it has: t1-s1-r1 to t1-s1-r3\)"):
        only_rounds(recording, "r9", "r9")


async def test_a_game_that_is_not_shipped_lies_beside_the_scenario(
    recording: Recording, tmp_path: Path
) -> None:
    own = replace(recording, game_file=b"id = 'tiger'")
    assert recorded_scenario(own, shipped_games=["tiger"]).files == {}
    made = recorded_scenario(own, shipped_games=["fa_fa"])
    assert made.files == {"tiger.game.toml": "id = 'tiger'"}
    (tmp_path / "night.toml").write_text(made.text)
    table = configured(load(tmp_path / "night.toml"), "pty")
    assert table["game"] == str(tmp_path / "tiger.game.toml")


def test_a_recording_without_a_shoe_is_refused() -> None:
    empty = Recording(
        table={"game": "tiger"},
        profile="reference",
        deck="french52",
        decks=8,
        happened=(),
        source="x",
    )
    with pytest.raises(WrongUsage, match="x: no shoe was connected in it"):
        recorded_scenario(empty)
