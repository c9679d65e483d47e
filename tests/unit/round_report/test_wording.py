"""Words for events: every type that the code emits has a text, and every text fits its events."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import shoe_ctl
from shoe_ctl.round_report import wording
from tests.corpus import corpus

SOURCE = Path(shoe_ctl.__file__ or "").parent
EMITS = ("table", "daemon", "link")
TYPE = re.compile(
    r"(cards|command|delivery|frame|irregularity|method|outage|review|round|shoe|table|wagers?"
    r"|withdrawal)\.[a-z_]+"
)


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
    }


def test_every_event_type_that_the_code_emits_has_a_text_and_no_other_has() -> None:
    assert set(wording.EVENT_TEXTS) == emitted_types()


def test_every_text_names_only_what_recorded_events_have() -> None:
    seen: set[tuple[str, ...]] = set()
    for line in corpus.lines(corpus.FOLDER / "scenarios.jsonl.xz"):
        for step in corpus.decode(line).steps:
            for event in map(json.loads, step.effects):
                if "type" not in event:
                    continue
                data = event.get("restricted_data") or event["data"]
                key = (event["type"], *sorted(data))
                if key not in seen:
                    seen.add(key)
                    text, _ = wording.event_words(event["type"], data, commanded=False)
                    assert text != event["type"] and "(no " not in text, (text, data)
    assert len({kind for kind, *_ in seen}) > 40
