"""What was dealt against what was told: the simulator's own list and judge beside the outcomes.

In: the truth's lines, outcomes' data. Out: rounds of both in one form, ready to be compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAIRS = ("player_pair", "banker_pair")


@dataclass(frozen=True, slots=True)
class Played:
    """One finished round: the cards of each hand in order, totals, winner."""

    player: tuple[str, ...]
    banker: tuple[str, ...]
    player_total: int
    banker_total: int
    winner: str


@dataclass(frozen=True, slots=True)
class Dealt:
    """A round as the simulator dealt and judged it, with the pairs that it saw."""

    played: Played
    player_pair: bool
    banker_pair: bool


def dealt(lines: Iterable[Mapping[str, Any]]) -> list[Dealt]:
    """The finished rounds of the truth's lines, each hand gathered from where the cards lay."""
    rounds: list[Dealt] = []
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    for line in lines:
        if line.get("place") in hands:
            hands[line["place"]].append(line["card"])
        if "round" in line:
            played = Played(
                player=tuple(hands["player"]),
                banker=tuple(hands["banker"]),
                player_total=line["player_total"],
                banker_total=line["banker_total"],
                winner=line["winner"],
            )
            rounds.append(Dealt(played, line["player_pair"], line["banker_pair"]))
        if "round" in line or "broken_off" in line:
            hands = {"player": [], "banker": []}
    return rounds


def told(outcome: Mapping[str, Any]) -> Played:
    """An outcome's data in the same form."""
    return Played(
        player=tuple(outcome["player"]["cards"]),
        banker=tuple(outcome["banker"]["cards"]),
        player_total=outcome["player"]["total"],
        banker_total=outcome["banker"]["total"],
        winner=outcome["winner"],
    )


def agrees(outcome: Mapping[str, Any], truth: Dealt) -> None:
    """Holds an outcome to the dealt round: cards, totals, winner, Natural, and what they decide."""
    assert told(outcome) == truth.played
    for hand in ("player", "banker"):
        stood = len(outcome[hand]["cards"]) == 2
        assert outcome[hand]["natural"] is (stood and outcome[hand]["total"] >= 8)
    wagers = outcome["wagers"]
    winner = truth.played.winner
    assert (wagers["tie"]["result"] == "win") is (winner == "tie")
    for side in ("player", "banker"):  # games have pushes of their own, tested where they are read
        never = {"tie": {"win", "lose"}, side: {"lose"}}.get(winner, {"win"})
        assert wagers[side]["result"] not in never
    for pair in PAIRS:
        if pair in wagers:
            paired = getattr(truth, pair)
            assert wagers[pair]["result"] == ("win" if paired else "lose")


def all_agree(outcomes: Iterable[Mapping[str, Any]], truth: list[Dealt]) -> None:
    """Holds every outcome to its round, none missing and none too many."""
    outcomes = list(outcomes)
    for outcome, dealt_round in zip(outcomes, truth, strict=False):
        agrees(outcome, dealt_round)
    assert len(outcomes) == len(truth)


def lines_of(file: Path) -> list[dict[str, Any]]:
    """A file of JSON lines; a last line that is still being written is left out."""
    text = file.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def once_each(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a receiver takes a stream that may say things twice: each id applied once.

    The ids are contiguous from 1, and what is said again is the same.
    """
    applied: dict[str, dict[str, Any]] = {}
    for event in events:
        assert applied.setdefault(event["id"], event) == event
    numbers = [int(i.rpartition("/")[2][1:]) for i in applied]
    assert numbers == list(range(1, len(numbers) + 1))
    return list(applied.values())


def of_type(events: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The data of the events of this type."""
    return [event["data"] for event in events if event["type"] == kind]


def counts(codes: Iterable[str]) -> dict[str, int]:
    """How many of each card."""
    return dict(Counter(codes))
