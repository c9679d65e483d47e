"""Words for events: every type that the code emits has a text, and every text fits its events."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import shoe_ctl
from shoe_ctl.round_report import wording
from shoe_ctl.table.cases import CASES, list_cases
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_ctl.texts.screen import Words
from tests.corpus import corpus

SOURCE = Path(shoe_ctl.__file__ or "").parent
EMITS = ("table", "daemon", "link")
TYPE = re.compile(
    r"(cards|command|delivery|disk|frame|irregularity|method|outage|outcome|review|round|shoe|table|wagers?"
    r"|withdrawal)\.[a-z_]+"
)


CASE_NAMES = {case for trigger in CASES for case in list_cases(trigger)}
"""Cases of the tables have names of the same form."""


def emitted_types() -> set[str]:
    """Every event type that stands in the code which emits events."""
    modules = [path for folder in EMITS for path in (SOURCE / folder).rglob("*.py")]
    return {
        node.value
        for path in modules
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and TYPE.fullmatch(node.value)
        and node.value not in CASE_NAMES
    }


def test_every_event_type_that_the_code_emits_has_a_text_and_no_other_has() -> None:
    assert set(wording.EVENT_TEXTS) == emitted_types()


@pytest.fixture(scope="module")
def recorded() -> tuple[list[dict[str, Any]], list[tuple[str, dict[str, Any]]]]:
    """One recorded input and one event, with its restricted data, of each set of keys."""
    inputs: dict[object, dict[str, Any]] = {}
    events: dict[object, tuple[str, dict[str, Any]]] = {}
    for line in corpus.lines(corpus.FOLDER / "scenarios.jsonl.xz"):
        for step in corpus.decode(line).steps:
            given = json.loads(step.input)
            said = given.get("event", {})
            event = said if isinstance(said, dict) else {}  # elsewhere it is an event's id
            more = [*given.get("args", ()), *event]
            kind = event.get("type")
            inputs.setdefault((given["input"], kind, *sorted((*given, *more))), given)
            for event in map(json.loads, step.effects):
                if "type" in event:
                    data = event.get("restricted_data") or event["data"]
                    events.setdefault((event["type"], *sorted(data)), (event["type"], data))
    return list(inputs.values()), list(events.values())


def test_every_text_names_only_what_recorded_events_have(recorded: Any) -> None:
    _, events = recorded
    for kind, data in events:
        text, _ = wording.event_words(kind, data, commanded=False)
        assert text != kind and "(no " not in text, (text, data)
    assert len({kind for kind, _ in events}) > 40


def test_every_recorded_input_and_event_has_a_headline_in_chinese(recorded: Any) -> None:
    inputs, events = recorded
    words = Words("zh")
    shown = [(given, wording.input_words(given, words)[0]) for given in inputs]
    shown += [(k, wording.event_words(k, data, words, commanded=True)[0]) for k, data in events]
    assert [each for each in shown if not re.search("[一-鿿]", each[1])] == []


def test_no_recorded_input_or_event_is_shown_with_a_name_of_the_programs(recorded: Any) -> None:
    raw = re.compile(r"\b[a-z]+_[a-z_]+\b|\b(?:s|ms|us) \d")
    inputs, events = recorded
    assert len(inputs) > 50
    words = [wording.input_words(given) for given in inputs]
    words += [wording.event_words(kind, data, commanded=True) for kind, data in events]
    # Why a frame was discarded is a sentence of its protocol's.
    shown = {
        line for headline, more in words for line in (headline, *more) if "history" not in line
    }
    assert [text for text in sorted(shown) if raw.search(text)] == []


def test_every_setting_has_its_words() -> None:
    assert set(wording.SETTING_TEXTS) == set(TableSettings.__struct_fields__)
    plain = msgspec.to_builtins(
        TableSettings(table="t1", decks=8, layout="A", limits=TableLimits(maximum=50_000))
    )
    assert wording.settings_text(plain) == (
        "table t1; gaming area main; layout A; 8 decks; Method B; people make the announcements;"
        " the dealer turns the cards; a card dealt face up counts as seen after 1,000 ms;"
        " the table waits up to 5 s for the shoe's result;"
        " no round follows the one with the cutting card;"
        " limits in minor units: minimum 1, maximum 50,000"
    )


def test_values_are_shown_as_people_write_them() -> None:
    assert wording.values_text({"wait_s": 90, "amount": 12_500, "what": "lifetime_draws"}) == (
        "wait 90 s, amount 12,500, what lifetime draws"
    )
    assert wording.values_text({"player": "mr_x", "set_id": "set_7"}) == "player mr_x, set id set_7"
