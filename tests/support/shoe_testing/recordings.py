"""Recordings of tables, made scenarios and played again: from the corpus, from journals.

In: a recorded run, a journal. Out: a Recording; what comes otherwise when its scenario is played.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import to_bytes
from shoe_testing.bench import DealtTable, game_of, play_in_process
from simulators.recorder.journal import read_journal
from simulators.recorder.recording import Happened, Recording, in_turn, table_of_settings
from simulators.recorder.scenario_file import RecordedScenario, recorded_scenario
from simulators.table.expectation import Told
from simulators.table.scenario import Scenario, parse

DEALT_S = 1.2
"""From card to card: a shoe that cannot be armed is dealt slower than cards are seen."""


class PlayedAgain(NamedTuple):
    """A recording's scenario, and what was otherwise when it was played; None: nothing."""

    made: RecordedScenario
    wrong: str | None


def recording_of_run(
    name: str,
    game: str,
    settings: Mapping[str, Any],
    steps: Iterable[tuple[str, Iterable[str]]],
    shoe: Mapping[str, Any] | None = None,
) -> Recording:
    """The recording in a run of the corpus: inputs and their effects as JSON.

    ``shoe`` is what the corpus does not keep: how the shoe is configured.
    """
    happened = [_happened(json.loads(what), map(json.loads, effects)) for what, effects in steps]
    profile = next((h.what["profile"] for h in happened if h.kind == "link_up"), "reference")
    hello = next((h.shoe_event for h in happened if h.shoe_event.get("type") == "hello"), {})
    configured = {key: value for key, value in (shoe or {}).items() if key != "profile"}
    if profile != "reference":
        configured["profile"] = profile
    return Recording(
        table=table_of_settings(settings, game, configured),
        profile=profile,
        deck=hello.get("deck", "french52"),
        decks=settings["decks"],
        happened=tuple(in_turn(happened)),
        source=name,
    )


async def recording_of_scenario(scenario: Scenario) -> Recording:
    """The recording of a scenario that is played in process."""
    bench, stuck = await play_in_process(scenario)
    assert stuck is None, stuck
    steps = [
        (
            to_bytes(happened).decode(),
            [_effect(effect) for effect in effects if isinstance(effect, TableEvent)],
        )
        for happened, effects in zip(bench.inputs, bench.effects, strict=True)
    ]
    settings = msgspec.to_builtins(bench.settings)
    shoe = scenario.table.get("shoe", {})
    return recording_of_run(scenario.name, bench.game.id, settings, steps, shoe)


def recording_of_dealt(profile: str, *, rounds: int, face_up_after_ms: int) -> Recording:
    """The recording of rounds that a simulated shoe's dealer dealt, a card every 1.2 s."""
    table = DealtTable(
        game_of("tiger"), profile, 7, pace_s=DEALT_S, face_up_after_ms=face_up_after_ms
    )
    table.deal()
    again = TableController(table.controller.game, table.controller.settings)
    steps: list[tuple[str, list[str]]] = []
    for happened in table.inputs:
        events = [e for e in again.handle(happened) if isinstance(e, TableEvent)]
        steps.append((to_bytes(happened).decode(), [*map(_effect, events)]))
        rounds -= sum(event.type == "round.settled" for event in events)
        if rounds == 0:
            break
    plain = msgspec.to_builtins(table.controller.settings)
    return recording_of_run("dealt", table.controller.game.id, plain, steps)


def _effect(event: TableEvent) -> str:
    return json.dumps({"effect": "event", **msgspec.to_builtins(event)})


def _happened(what: Mapping[str, Any], effects: Iterable[Mapping[str, Any]]) -> Happened:
    events = [effect for effect in effects if effect["effect"] == "event"]
    public = [Told(e["type"], e["data"]) for e in events if e["audience"] == "p"]
    restricted = [Told(e["type"], e["restricted_data"] or e["data"]) for e in events]
    return Happened(what, tuple(public), tuple(restricted))


def recording_of_journal(journal: Path, shoe: str | None = None) -> Recording:
    """The recording of the one table of a journal, or of one of its sets of cards."""
    return read_journal(journal, table=None, shoe=shoe)


async def play_again(recording: Recording) -> PlayedAgain:
    """The scenario of a recording, played in process."""
    made = recorded_scenario(recording)
    scenario = parse(made.text.encode(), "recorded.toml", name="recorded")
    bench, stuck = await play_in_process(scenario)
    differs = scenario.differences(bench.public, bench.restricted)
    wrong = "\n".join(text for text in (stuck, differs) if text is not None) or None
    return PlayedAgain(made, wrong)
