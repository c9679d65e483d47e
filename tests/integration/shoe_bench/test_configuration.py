"""What a test says of the daemon's configuration: its table, and everything else.

In: the guide's fixture, markers. Out: a file of events, a game, one line for what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shoe_testing.bench_runs import BenchRun
from shoe_testing.console_pages import blocks
from shoe_testing.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/guides/bench-tests.md").read_text("utf-8")

TESTS = """
import json, socket
import pytest

@pytest.mark.shoe_table(game="dragon_tiger_no_commission", decks=6)
@pytest.mark.shoe(decks=6)
def test_table_and_sink(shoe_bench, tmp_path):
    started = shoe_bench.events.only("table.started")
    assert (started.data["game"], started.data["decks"]) == ("dragon_tiger_no_commission", 6)
    shoe_bench.table.play("round.settled")
    shoe_bench.stop_daemon()
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    types = [json.loads(line)["type"] for line in lines]
    assert "round.outcome" in types and "round.card_drawn" not in types

@pytest.mark.shoe_table(gaem="tiger")
def test_wrong_key(shoe_bench): ...
"""


def test_a_test_chooses_the_table_and_adds_a_sink(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester
) -> None:
    (fixture,) = [b.text for b in blocks(PAGE) if "def shoe_configuration" in b.text]
    pytester.makepyfile(TESTS + fixture)
    done = bench_run()
    assert done.verdicts == {"test_table_and_sink": "passed", "test_wrong_key": "error in setup"}
    wrong = done.failures["test_wrong_key"]
    assert "the simulated shoe: no known state to begin from: the daemon ended with exit" in wrong
    assert "gaem" in wrong
