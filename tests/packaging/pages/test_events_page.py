"""The page on events is complete, and its examples are events that were recorded."""

from __future__ import annotations

import json
import re

from shoe_ctl.events import EVENTS
from shoe_ctl.records import Envelope
from shoe_testing import recorded_events as recorded
from shoe_testing.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "events.md").read_text("utf-8")
SECTIONS = re.findall(r"^### `([a-z._]+)`$", PAGE, re.MULTILINE)


def test_every_type_has_one_section_and_the_outcome_is_first() -> None:
    assert sorted(SECTIONS) == sorted(EVENTS)
    assert SECTIONS[:3] == ["round.outcome", "round.void", "round.revised"]
    assert re.findall("^## (.+)$", PAGE, re.MULTILINE)[0] == "The outcome of a round"


def test_the_envelope_is_complete() -> None:
    envelope = PAGE.partition("## The envelope")[2].partition("\n## ")[0]
    for key in Envelope.__struct_fields__:
        assert f"| `{key}` |" in envelope


def test_the_examples_are_recorded_events() -> None:
    shown = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert [event["type"] for event in shown] == ["round.outcome", "round.void", "round.revised"]
    outcome, void, revision = shown
    assert outcome in recorded.envelopes("outcome_revised")
    assert void in recorded.envelopes("missed_draw_void")
    assert revision in recorded.envelopes("outcome_revised")
    assert revision["data"]["revises"] == outcome["id"]
