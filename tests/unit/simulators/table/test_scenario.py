"""Scenario files are read strictly: each error names file, key, and what was expected."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import DECKS
from shoe_testing.for_each import for_each
from simulators.errors import WrongUsage
from simulators.shoe.model import shuffled
from simulators.table.fields import Fields, Wrong
from simulators.table.scenario import MOST_MISTAKES, SHIPPED, Scenario, find, load, parse, shipped
from simulators.table.scenario_player import shoe_for
from simulators.table.shoe_setup import ShoeSetup

GOOD = """
version = 1
title = "One"
table = {game = "tiger"}
steps = [{draw = 1}]
expect = ["round.opened"]
"""


MISTAKEN = """
version = 1
table = {decks = 8, id = "t9", shoe = {profile = "x", port = "y"}}
shoe.cards = "4D 4X QH"
shoe.seed = -1
shoe.sead = 2
shoe.unreadable = [0]
shoe.dirty_lens = {misread = 2, x = 1}
steps = [
  {draw = 0, extra = 1, when_freed = true},
  {say = "", refused = "no", round = 0, reson = "x"},
  {darw = 1},
  {play = "round.opend"},
  {draw = 1},
  {new_shoe = {memory = 4, decks = 99}},
  7,
]
expect = ["round.opened", 3, "round.otcome"]
never = ["round.outcome winner=tie"]
restrict = []
"""
MISTAKES = """
title  table.game  table.id  table.shoe.port  table.shoe.profile
shoe.seed  shoe.cards  shoe.unreadable  shoe.dirty_lens.misread  shoe.dirty_lens.x  shoe.sead
steps[0].draw  steps[0].extra  steps[0].when_freed
steps[1].say  steps[1].round  steps[1].refused  steps[1].reson
steps[2]  steps[3].play  steps[5].new_shoe.memory  steps[5].new_shoe.decks  steps[6]
expect[1]  expect[2]  never[0]  restrict
"""


def read(text: str) -> Scenario:
    return parse(text.encode(), "one.toml", name="one")


def test_the_shortest_file_is_a_scenario_of_the_usual_shoe() -> None:
    scenario = read(GOOD)
    assert (scenario.name, scenario.profile, scenario.shoe) == ("one", "reference", ShoeSetup())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("version = 1", "version = 2"), "version: expected 1, not 2"),
        (("version = 1", ""), "version: missing, expected 1"),
        (("version = 1", "version = true"), "version: expected 1, not True"),
        (('title = "One"', ""), "title: missing, expected text"),
        (('title = "One"', 'title = " "'), "title: expected text, not ' '"),
        (('table = {game = "tiger"}', ""), "table.game: missing, expected text"),
        (('"tiger"}', '"tiger", id = "x"}'), "table.id: expected no such key"),
        (('"tiger"}', '"tiger", shoe = {port = "x"}}'), "table.shoe.port: expected no such key"),
        (
            ('"tiger"}', '"tiger", shoe = {profile = "x"}}'),
            "table.shoe.profile: expected one of reference, angel_eye, bee_tek, not 'x'",
        ),
        (("steps = [{draw = 1}]", ""), "steps: missing, expected an array"),
        (("steps = [{draw = 1}]", "steps = 1"), "steps: expected an array, not 1"),
        (("{draw = 1}", "1"), "steps[0]: expected a table, not 1"),
        (("{draw = 1}", "{draw = 0}"), "steps[0].draw: expected a whole number from 1, not 0"),
        (("{draw = 1}", "{pass_ms = 0}"), "steps[0].pass_ms: expected a number above 0, at most"),
        (("{draw = 1}", "{pass_ms = true}"), "steps[0].pass_ms: expected a number above 0"),
        (("{draw = 1}", "{pass_ms = nan}"), "steps[0].pass_ms: expected a number above 0"),
        (("{draw = 1}", '{draw = "1"}'), "steps[0].draw: expected a whole number from 1, not '1'"),
        (
            ("{draw = 1}", "{draw_as_one = 1}"),
            "steps[0].draw_as_one: expected a whole number from 2 to 4",
        ),
        (
            ("{draw = 1}", "{draw_unordered = 5}"),
            "steps[0].draw_unordered: expected a whole number from 2 to",
        ),
        (
            ("{draw = 1}", "{darw = 1}"),
            "steps[0]: unknown key darw (is it draw?), expected one of say",
        ),
        (("{draw = 1}", '{draw = 1, say = "x"}'), "steps[0]: expected one of"),
        (("{draw = 1}", "{draw = 1, refused = 1}"), "steps[0].refused: unknown key"),
        (("{draw = 1}", "{draw = 1, when_freed = true}"), "steps[0].when_freed: unknown key"),
        (
            ("{draw = 1}", "{draw_as_one = 2, when_freed = 1}"),
            "steps[0].when_freed: expected true or false, not 1",
        ),
        (
            ("{draw = 1}", '{say = "rule", refused = "no"}'),
            "steps[0].refused: expected one of position, state, consent, other, not 'no'",
        ),
        (("{draw = 1}", '{say = "rule", args = 1}'), "steps[0].args: expected a table, not 1"),
        (("{draw = 1}", '{wager = "tie"}'), "steps[0].player: missing, expected text"),
        (("{draw = 1}", '{wait = "Round"}'), "steps[0].wait: expected an event's type first"),
        (
            ("{draw = 1}", '{wait = "round.outcom winner=tie"}'),
            "steps[0].wait: unknown event round.outcom (is it round.outcome?)",
        ),
        (
            ("{draw = 1}", '{play = "rounds.opened"}'),
            "steps[0].play: unknown event rounds.opened (is it round.opened?)",
        ),
        (("{draw = 1}", '{shoe = "kick"}'), "steps[0].shoe: expected one of unplug, replug"),
        (("{draw = 1}", '{disk = "kick"}'), "steps[0].disk: expected one of fail, fill, clear"),
        (("{draw = 1}", '{sink = "fail"}'), "steps[0].sink: expected one of refuse, lose, not"),
        (
            ("{draw = 1}", '{request = "status"}'),
            "steps[0].request: expected one of redeliver, applied, shoe, not 'status'",
        ),
        (
            ("{draw = 1}", '{request = "applied", event = "round.outcome"}'),
            "steps[0].reference: missing, expected text",
        ),
        (
            ("{draw = 1}", '{request = "applied", event = "round.outcom", reference = "a"}'),
            "steps[0].event: unknown event round.outcom (is it round.outcome?)",
        ),
        (
            ("{draw = 1}", '{request = "shoe", shoe_id = "t1-s1", rounds = [{void = true}]}'),
            "steps[0].rounds[0].round_id: missing, expected text",
        ),
        (
            ("{draw = 1}", '{request = "redeliver", refused = "state"}'),
            "steps[0].refused: expected a refusal's code, such as refused_applied_twice, not",
        ),
        (
            ("{draw = 1}", '{say = "settle", times = 1001}'),
            "steps[0].times: expected a whole number from 1 to 1000, not 1001",
        ),
        (
            ("{draw = 1}", '{new_shoe = {cards = "1D"}}'),
            "steps[0].new_shoe.cards: expected cards such as 7D TS 4g, not '1D'",
        ),
        (
            ("{draw = 1}", "{new_shoe = {memory = 4}}"),
            "steps[0].new_shoe.memory: expected no such key: the shoe itself stays",
        ),
        (('["round.opened"]', "[1]"), "expect[0]: expected text, not 1"),
        (('["round.opened"]', '["round.opened x"]'), "expect[0]: expected key=value, not 'x'"),
        (
            ('["round.opened"]', '["round.opened", "zzz.qqq"]'),
            "expect[1]: unknown event zzz.qqq (see: shoectl schema)",
        ),
        (
            ("steps", 'never = ["table.halt"]\nsteps'),
            "never[0]: unknown event table.halt (is it table.halted?)",
        ),
        (
            ("steps", 'restricted = ["command.refussed"]\nsteps'),
            "restricted[0]: unknown event command.refussed (is it command.refused?)",
        ),
        (('["round.opened"]', "[]"), "expect: missing, expected an array"),
        (
            ("steps", 'never = ["round.void a=1"]\nsteps'),
            "never[0]: expected an event's type alone",
        ),
        (("steps", "more = 1\nsteps"), "more: unknown key, expected one of version, title"),
        (
            ("steps", "shoe = {decks = 11}\nsteps"),
            "shoe.decks: expected a whole number from 1 to 10",
        ),
        (("steps", 'shoe = {deck = "x"}\nsteps'), "shoe.deck: expected one of french52, element65"),
        (("steps", "shoe = {unreadable = [0]}\nsteps"), "shoe.unreadable: expected draw numbers"),
        (("steps", "shoe = {x = 1}\nsteps"), "shoe.x: unknown key, expected one of deck, decks"),
        (
            ("steps", 'shoe = {decks = 1, cards = "4C 4C"}\nsteps'),
            "shoe.cards: 4C is there 2 times, expected at most 1 in 1 decks of french52",
        ),
        (
            ("steps", 'shoe = {already_drawn = 415, cards = "4C 5C"}\nsteps'),
            "shoe.cards: expected no more than the set's 416 cards",
        ),
        (("steps", "steps = ["), "expected TOML"),
    ],
)
def test_a_wrong_file_is_told_by_file_key_and_what_was_expected(
    change: tuple[str, str], error: str
) -> None:
    assert change[0] in GOOD
    with pytest.raises(Wrong) as wrong:
        read(GOOD.replace(*change, 1))
    assert str(wrong.value).startswith(f"one.toml: {error}")
    assert all(line.startswith("one.toml: ") for line in wrong.value.lines)


def test_all_mistakes_of_a_file_are_told_in_a_line_each() -> None:
    with pytest.raises(Wrong) as wrong:
        read(MISTAKEN)
    files, places, _ = zip(*(line.split(": ", 2) for line in wrong.value.lines), strict=True)
    assert (set(files), list(places)) == ({"one.toml"}, MISTAKES.split())
    assert str(wrong.value) == "\n".join(wrong.value.lines)


def test_of_very_many_mistakes_the_first_are_told_and_the_rest_counted() -> None:
    steps = ", ".join(["{draw = 0}"] * (MOST_MISTAKES + 3))
    with pytest.raises(Wrong) as wrong:
        read(GOOD.replace("{draw = 1}", steps))
    assert len(wrong.value.lines) == MOST_MISTAKES + 1
    assert wrong.value.lines[-1] == "one.toml: and 3 more mistakes"


def test_a_scenario_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"^no scenario 'nothing' \(have: "):
        find("nothing")
    with pytest.raises(WrongUsage, match="No such file"):
        find(str(tmp_path / "nothing.toml"))


def test_a_scenario_is_found_by_name_and_by_path() -> None:
    path = SHIPPED / "gap.toml"
    assert find("gap") == find(str(path)) == load(path)


@for_each(shipped())
def test_a_shipped_scenario_is_short_and_says_what_it_is(name: str) -> None:
    text = (SHIPPED / f"{name}.toml").read_text()
    assert len(text.splitlines()) <= 40
    assert 20 <= len(find(name).title) <= 90


def test_no_two_shipped_scenarios_have_one_title() -> None:
    titles = Counter(find(name).title for name in shipped())
    assert max(titles.values()) == 1


faces = st.sampled_from(DECKS["french52"].cards)


@given(
    st.lists(faces, max_size=20),
    st.lists(st.sampled_from([*DECKS["french52"].cards, *DECKS["element65"].cards]), max_size=3),
    st.integers(0, 100),
    st.integers(0, 1000),
)
def test_a_stacked_set_has_its_cards_in_front_and_its_decks_composition(
    front: list[object], extra: list[object], after: int, seed: int
) -> None:
    codes = [str(card) for card in front]
    given_in: dict[str, object] = {"decks": 20 // 2, "seed": seed, "already_drawn": after}
    if codes:
        given_in["cards"] = " ".join(codes)
    if extra:
        given_in["extra"] = " ".join(str(card) for card in extra)
    try:
        setup = ShoeSetup.read(Fields(given_in, "shoe"))
    except Wrong:
        assert max(Counter(codes).values()) > 10
        return
    cards = setup.stacked.arrange(shuffled(setup.deck, setup.decks, setup.seed))
    assert [card.code for card in cards[after : after + len(codes)]] == codes
    held = Counter(card.code for card in cards)
    assert held == Counter({c.code: 10 for c in setup.deck.cards}) + Counter(map(str, extra))


def test_a_half_used_shoe_counts_what_was_drawn_elsewhere() -> None:
    shoe = shoe_for(find("insufficient_cards_in_the_deal")).shoe
    assert (shoe.drawn, shoe.remaining) == (414, 2)
