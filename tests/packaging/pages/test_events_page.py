"""The page on events names every type that the code emits, with its audience and its keys."""

from __future__ import annotations

import ast
import json
import lzma
import re
from collections import defaultdict
from pathlib import Path

import pytest

import shoe_ctl
from shoe_ctl.records import Envelope
from shoe_testing.paths import ROOT
from tests.corpus import corpus

PAGE = (ROOT / "docs" / "reference" / "events.md").read_text("utf-8")
CODE = Path(shoe_ctl.__file__).parent

FAMILIES = (
    "cards", "command", "delivery", "frame", "irregularity", "method", "outage", "review", "round",
    "shoe", "table", "wager", "wagers", "withdrawal",
)  # fmt: skip
TYPE = re.compile(rf"(?:{'|'.join(FAMILIES)})\.[a-z_]+")
SECTIONS = dict(re.findall(r"^### `([a-z._]+)`\n\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def types_in_the_code() -> set[str]:
    """Every event type that stands in the table or the daemon as a literal."""
    found: set[str] = set()
    for path in (*(CODE / "table").rglob("*.py"), *(CODE / "daemon").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if TYPE.fullmatch(node.value) else set()
    return found


def test_every_type_has_a_section_and_no_other() -> None:
    assert len(SECTIONS) > 50
    assert types_in_the_code() == set(SECTIONS)


@pytest.mark.parametrize("kind", SECTIONS)
def test_a_section_begins_with_the_audience(kind: str) -> None:
    beginning = ("**Public.** ", "**Restricted only.** ", "**Public**, or ", "As `delivery.")
    assert SECTIONS[kind].startswith(beginning)


def test_the_envelope_is_complete() -> None:
    envelope = PAGE.partition("## The envelope")[2].partition("\n## ")[0]
    for key in Envelope.__struct_fields__:
        assert f"| `{key}` |" in envelope


def recorded_keys() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The keys of the data of each type, public and restricted, in all recorded runs."""
    public: dict[str, set[str]] = defaultdict(set)
    restricted: dict[str, set[str]] = defaultdict(set)
    for path in corpus.FOLDER.glob("*.jsonl.xz"):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            effects = (e for line in lines for _, each in json.loads(line)["steps"] for e in each)
            for effect in map(json.loads, (e for e in effects if '"effect":"event"' in e)):
                kind, data = effect["type"], effect["data"]
                if effect["audience"] == "p":
                    public[kind] |= data.keys()
                restricted[kind] |= (effect["restricted_data"] or data).keys()
    return public, restricted


@pytest.mark.slow
def test_every_recorded_key_is_named() -> None:
    public, restricted = recorded_keys()
    assert len(restricted) > 50
    for kind, keys in restricted.items():
        section = SECTIONS[kind]
        named = set(re.findall(r"`([a-z0-9_]+)`", section))
        open_to_all = set(re.findall(r"`([a-z0-9_]+)`", section.partition("Restricted adds")[0]))
        assert keys <= named, kind
        assert public[kind] <= open_to_all, kind
        if section.startswith("**Restricted only.**"):
            assert not public[kind], kind
