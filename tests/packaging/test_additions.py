"""What a new irregularity and a new command touch: three or four files of the package each.

In: a copy of the package with one of each added. Out: the files that differ, and a table played at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shoe_ctl.table.irregularities import catalog, rulings
from shoe_ctl.table.irregularities.rulings import OTHER
from shoe_testing.paths import ROOT

TORN_CARD = '''"""A card is torn (``torn_card``). No document speaks of it: it is ruled on (6.1)."""

from shoe_ctl.texts.message import message

from ..procedures.procedure import Declared, Procedure
from ..procedures.shared import end_play_on, end_set_aside, end_void, ruling_step

TORN_CARD = Procedure(
    "torn_card",
    (ruling_step(message("prompt_torn_card")),),
    (end_play_on(), end_set_aside(), end_void()),
    Declared("dealer", ("dealing", "suspended"), message("seen_torn_card_declared")),
)
'''

ENTRY = """
    Command("announce_break", "pit_supervisor", methods.Break, ("idle",),
            check_nothing, methods.announce_break),
"""

ACTION = '''

class Break(NoArgs, frozen=True, kw_only=True):
    """How long the table rests."""

    minutes: int


def announce_break(turn: Turn) -> None:
    """Announce that the table rests."""
    turn.emit("table.break_announced", {"minutes": require_args(turn, Break).minutes})
'''

EVENT = '''class BreakAnnounced(Data, frozen=True, kw_only=True):
    """The table rests."""

    minutes: int
    """For how long."""


'''

EVENT_LINE = """EventType(name="table.break_announced", data=BreakAnnounced),
    """

PAGE = '"announce_break": Page(CARDS, "Announce a break.", "minutes=10"),\n    '

PLAYED = """
from shoe_ctl.cli.table_pages import PAGES
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.texts.catalogue import text
from shoe_testing.tables import TableHarness

table = TableHarness().open_shoe()
if "announce_break" in COMMANDS:
    assert PAGES["announce_break"].summary == "Announce a break."
    low = table.asks("announce_break", minutes=5, position="dealer")
    assert not low.accepted and low.needs == {"position": "pit_supervisor"}, low
    assert not table.asks("announce_break", minutes="five").accepted
    table.does("announce_break", minutes=5)
    assert table.told("table.break_announced")[-1] == {"minutes": 5}
    table.open_round()
    assert table.asks("announce_break", minutes=5).needs == {"state": "idle"}
else:
    table.open_round()
    table.deal("9C 2D")
    table.does("declare", key="torn_card", reason="it tore as it was drawn")
    assert table.now.state == "suspended"
    raised = table.told("irregularity.raised")[-1]
    assert raised["key"] == "torn_card"
    assert text(raised["seen"]) == "it was declared that a card is torn"
    assert text(raised["prompt"], "zh") == "牌原样放置"
    table.rules("play_on")
    table.deal("KD 3H")
    table.finish()
    assert table.now.state == "idle"
print("played")
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, to be changed."""
    copied = tmp_path / "shoe_ctl"
    shutil.copytree(ROOT / "shoe_ctl", copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def insert(path: Path, text: str, *, before: str) -> None:
    """Write the text into the file, before the first place where this stands."""
    written = path.read_text("utf-8")
    assert before in written, f"{path.name}: {before}"
    path.write_text(written.replace(before, text + before, 1), "utf-8")


def changed(package: Path) -> set[str]:
    """The files that are new or differ from the package's own."""
    ours = ROOT / "shoe_ctl"
    return {
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if not (own := ours / path.relative_to(package)).is_file()
        or own.read_bytes() != path.read_bytes()
    }


def play(package: Path) -> None:
    """Play at a table of this copy: a process of its own, or it would import the package itself."""
    script = package.parent / "played.py"
    script.write_text(PLAYED, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("played\n", 0), done.stderr


def test_an_irregularity_is_its_module_and_a_text_in_each_language(package: Path) -> None:
    (package / "table/irregularities/torn_card.py").write_text(TORN_CARD, "utf-8")
    texts = {
        "english": ("leave the cards as they are", "it was declared that a card is torn"),
        "chinese": ("牌原样放置", "声明有牌撕破"),
    }
    for language, (prompt, seen) in texts.items():
        insert(
            package / f"texts/{language}.py",
            f'"prompt_torn_card": "{prompt}",\n    "seen_torn_card_declared": "{seen}",\n    ',
            before='"prompt_unshuffled"',
        )
    assert changed(package) == {
        "table/irregularities/torn_card.py", "texts/english.py", "texts/chinese.py",
    }  # fmt: skip
    play(package)


def test_a_command_is_its_entry_its_action_its_event_and_its_page_of_help(package: Path) -> None:
    insert(package / "table/commands.py", ENTRY, before="    # Wagers. The ledger")
    methods = package / "table/round/methods.py"
    methods.write_text(methods.read_text("utf-8") + ACTION, "utf-8")
    insert(package / "cli/table_pages.py", PAGE, before='"declare_new_shoe"')
    insert(package / "events/irregularities.py", EVENT, before="class Halted(")
    insert(package / "events/irregularities.py", EVENT_LINE, before='EventType(name="table.halted"')
    assert changed(package) == {
        "table/commands.py", "table/round/methods.py", "cli/table_pages.py",
        "events/irregularities.py",
    }  # fmt: skip
    play(package)


def test_two_procedures_of_one_key_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert catalog.collect([rulings]).keys() == {
        "result_disagrees", "result_missing", "other", "after_void",
    }  # fmt: skip
    monkeypatch.setattr(rulings, "TWICE", OTHER._replace(of_cards=True), raising=False)
    with pytest.raises(ValueError, match=r"rulings\.TWICE: the key 'other' is another procedure's"):
        catalog.collect([rulings])
