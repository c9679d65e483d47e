"""Players with hands and wagers in the simulated world: what the rules say of both comes about."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from shoe_ctl.records import Audience
from shoe_testing.examples import sampled
from tests.simulation.plan import GAMES, Fault, Plan
from tests.simulation.promises import SOURCE
from tests.simulation.run import Run, run
from tests.simulation.world import World

pytestmark = pytest.mark.slow


class Heard(NamedTuple):
    """A public event, and when it was heard."""

    at_s: float
    kind: str
    data: dict[str, Any]


def handed(game: str, seed: int = 1) -> Plan:
    """Several Players in Method A, and nothing goes wrong."""
    return Plan(
        seed=seed, lasts_s=30.0, game=game, announces=True, face_up_after_ms=None, faults=(),
        method="A",
    )  # fmt: skip


def heard_in(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, list[Heard]]:
    """The plan's run, and what was told in public on the way."""
    heard: list[Heard] = []
    took = World._took

    def listens(world: World, remote: str, audience: Audience, events: Sequence[bytes]) -> None:
        if remote == SOURCE:
            told = (json.loads(event) for event in events)
            heard.extend(Heard(world.loop.time(), each["type"], each["data"]) for each in told)
        took(world, remote, audience, events)

    with monkeypatch.context() as patched:
        patched.setattr(World, "_took", listens)
        result = run(plan)
    assert result.failed is None, result.line
    return result, heard


@functools.cache
def heard_undisturbed(game: str) -> list[Heard]:
    """What is told where nothing goes wrong; it is run once for all tests."""
    with pytest.MonkeyPatch.context() as patched:
        return heard_in(handed(game), patched)[1]


def struck_at(plan: Plan, heard: list[Heard], kind: str, fault: str) -> Plan:
    """The same plan up to the first event of this kind, when this goes wrong."""
    at_s = next(each.at_s for each in heard if each.kind == kind)
    return replace(plan, faults=(Fault(0, at_s, fault),))


def raised(heard: list[Heard]) -> list[tuple[str, str | None]]:
    return [(h.data["key"], h.data.get("step")) for h in heard if h.kind == "irregularity.raised"]


@pytest.mark.parametrize("game", sampled(GAMES, one_in=len(GAMES), cpu_s=1.2))
def test_a_hand_that_is_held_when_power_is_lost_with_nothing_decided_is_taken_back(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = heard_undisturbed(game)
    plan = struck_at(handed(game), undisturbed, "cards.passed", "shoe_reboots")
    _, heard = heard_in(plan, monkeypatch)
    assert raised(heard)[0] == ("power_failure", "take_back")
    passed, back = [h for h in heard if h.kind in ("cards.passed", "cards.retrieved")][:2]
    assert back.kind == "cards.retrieved"
    assert (back.data["hand"], back.data["seat"]) == (passed.data["hand"], passed.data["seat"])


@pytest.mark.parametrize("game", sampled(GAMES, one_in=len(GAMES), cpu_s=1.2))
def test_power_lost_before_the_first_card_opens_the_rules_window(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = heard_undisturbed(game)
    plan = struck_at(handed(game), undisturbed, "round.bets_closed", "shoe_reboots")
    _, heard = heard_in(plan, monkeypatch)
    assert raised(heard)[0] == ("power_failure", "power")
    kinds = [h.kind for h in heard]
    assert "round.card_dealt" not in kinds[: kinds.index("irregularity.raised")]


@pytest.mark.parametrize("game", sampled(GAMES, one_in=len(GAMES), cpu_s=1.2))
def test_cards_are_corrected_and_what_was_declared_is_taken_back(game: str) -> None:
    """Outcomes, revisions and money are held to the judge and to the rule documents."""
    kinds = ("card_corrected", "taken_back", "card_corrected", "looked_beforehand")
    faults = tuple(Fault(number, 6.0 * number, kind) for number, kind in enumerate(kinds))
    result = run(replace(handed(game), faults=faults))
    assert result.failed is None, result.line
    counts = result.counts
    assert (counts["correct_card taken"], counts["retract taken"]) == (2, 1)
    assert counts["preview"] > 3
    assert counts["wagers paid"] > 0
