"""Cards on their way, pulls and what people enter: over the socket, in every game and method."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from shoe_ctl.games import catalog
from shoe_testing.bench import assert_replays
from shoe_testing.bench import play_in_process as in_process
from shoe_testing.daemon import nothing_is_wrong_with, play_through_daemon
from shoe_testing.examples import sampled
from shoe_testing.tables import game
from simulators.table.scenario import Scenario, parse

CONDUCTED = [(name, method) for name in catalog.shipped() for method in game(name).methods]

HOST = 'position = "gaming_shift_manager", reason = "as it lies"'
NAMES = 'position = "pit_supervisor", consented_by = "lee"'
PIT = 'position = "pit_manager", reason = "as it lies"'


def pauses(*, then: str = "") -> str:
    return f"""
  {{draw_under_way = 1}},
  {{say = "pause", position = "surveillance", reason = "a look"}},{then}
  {{say = "resume", position = "surveillance"}},"""


def declares(key: str) -> str:
    return f"""
  {{draw_under_way = 1}},
  {{say = "declare", args = {{key = "{key}"}}, reason = "seen"}},
  {{say = "decide", args = {{choice = "play_on"}}, {HOST}}},"""


def named(hand: str, wrong: str, right: str) -> str:
    """It lies open; first it is entered as a card that the shoe did not read there."""
    return f"""
  {{say = "expose", args = {{hand = "{hand}"}}}},
  {{say = "decide", args = {{choice = "enter", card = "{wrong}"}}, {NAMES}}},
  {{say = "decide", args = {{choice = "play_on"}}, {HOST}}},
  {{say = "decide", args = {{choice = "enter", card = "{right}"}}, {NAMES}}},"""


UNDER_WAY = f"""
  {{play = "round.card_dealt hand=player index=1"}},{pauses()}
  {{play = "round.card_dealt hand=player index=2"}},{declares("other")}
  {{play = "round.total_announced hand=banker"}},{pauses()}
  {{play = "round.card_revealed hand=player index=3"}},{declares("other")}
  {{play = "round.settled"}},"""

ORDERED = f"""
  {{play = "round.total_announced hand=banker"}},
  {{draw_unordered = 2}},
  {{say = "decide", args = {{choice = "order_unknown"}}, {PIT}}},
  {{say = "decide", args = {{choice = "upper_first"}}, {PIT}}},
  {{say = "decide", args = {{choice = "close_window"}}}},
  {{say = "decide", args = {{choice = "reconstruct"}}}},
  {named("player", "@9", "@5")}{named("banker", "@5", "@4")}
  {{play = "round.settled"}},"""

ONE_PULL = f"""
  {{play = "round.card_dealt hand=banker index=2"}},
  {{say = "declare", args = {{key = "card_taken", hand = "player", index = 1}}, reason = "gone"}},
  {{say = "decide", args = {{choice = "not_known"}}, {HOST}}},
  {{draw_as_one = 2, when_freed = true}},
  {{say = "decide", args = {{choice = "sorted"}}, {HOST}}},
  {{say = "decide", args = {{choice = "determined", cards = "@1"}}, {HOST}, consented_by = "lee"}},
  {{say = "decide", args = {{choice = "replaced"}}, {HOST}, consented_by = "lee"}},
  {{play = "round.settled"}},"""

DONE = '"round.outcome player.cards=@1,@3,{} banker.cards=@2,@T,{}"'
RAISED = '"irregularity.raised key={}"'
SITUATIONS = {
    "under_way": (UNDER_WAY, [*[RAISED.format("other")] * 2, DONE.format("@4", "@5")]),
    "ordered": (ORDERED, [DONE.format("@5", "@4")]),
    "one_pull": (ONE_PULL, [RAISED.format("card_taken"), DONE.format("@4", "@5")]),
}
"""What is done, and all that is raised, where it is named, with the outcome."""

FRENCH = {"@1": "2D", "@2": "3C", "@3": "TS", "@T": "TH", "@4": "4C", "@5": "5D", "@9": "9S"}
ELEMENTS = {"@1": "2f", "@2": "3g", "@3": "Tf", "@T": "Tg", "@4": "4f", "@5": "5g", "@9": "9e"}


def scenario_of(what: str, name: str, method: str) -> Scenario:
    steps, expected = SITUATIONS[what]
    area = ', area = "Paiza Club"' if method == "C" else ""
    text = f"""version = 1
title = "In every game and method"
table = {{game = "{name}", method = "{method}"{area}}}
shoe = {{deck = "{game(name).deck.name}", cards = "@1 @2 @3 @T  @4 @5"}}
steps = [{steps}
]
expect = [{", ".join(expected)}]
never = ["round.void"]
"""
    faces = ELEMENTS if game(name).deck.name == "element65" else FRENCH
    for sign, code in faces.items():
        text = text.replace(sign, code)
    return parse(text.encode(), "one.toml", name=what)


@pytest.mark.parametrize(("name", "method"), CONDUCTED)
@pytest.mark.parametrize("what", SITUATIONS)
async def test_it_comes_out_so_and_the_same_again(what: str, name: str, method: str) -> None:
    scenario = scenario_of(what, name, method)
    bench, stuck = await in_process(scenario)
    assert (stuck, scenario.differences(bench.public, bench.restricted)) == (None, None)
    assert_replays(bench)


ONE_IN = 4
"""Of so many one is played over the socket in every run: each situation, in several games."""

EVERY = [
    pytest.param(what, name, method, id=f"{what}-{name}-{method}")
    for what, (name, method) in product(SITUATIONS, CONDUCTED)
]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "name", "method"), sampled(EVERY, one_in=ONE_IN, cpu_s=0.2))
async def test_it_comes_out_so_over_the_socket(
    what: str, name: str, method: str, tmp_path: Path
) -> None:
    scenario = scenario_of(what, name, method)
    public, restricted, stuck = await play_through_daemon(scenario, tmp_path)
    assert (stuck, scenario.differences(public, restricted)) == (None, None)
    nothing_is_wrong_with(tmp_path / "journal.db")
    unread = [told for told in restricted if "could not be read" in str(told.data)]
    assert unread == []
