"""Guided procedures: every step and end of the literals, nesting, who decides and who may not."""

from __future__ import annotations

import itertools

import pytest

from firmware_proto.events import Gap
from shoe_ctl.games import catalog
from shoe_ctl.games.irregularity_ends import ENDS
from shoe_ctl.records import Audience
from shoe_ctl.table import positions, situations, transitions
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures.procedure import BACK, DECIDES, VOID, Procedure, Step
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.turn import check_nothing
from shoe_ctl.texts.catalogue import text as english
from shoe_ctl.texts.message import message
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import declare
from shoe_testing.tables import TableHarness

IRREGULARITIES = {key: p for key, p in PROCEDURES.items() if not p.pause}
PAUSES = [pytest.param(p, id=key) for key, p in PROCEDURES.items() if p.pause]
EVERY = [pytest.param(p, id=key) for key, p in IRREGULARITIES.items()]
STEPS = [
    pytest.param(p, s, id=f"{p.key}-{s.name}") for p in IRREGULARITIES.values() for s in p.steps
]
DECLARABLE = [
    key
    for key, p in PROCEDURES.items()
    if p.declared is not None and p.declared.unless is check_nothing
]
"""What may be declared whatever the method, whoever holds what."""


def dealt(codes: str = "2D 3C TS") -> TableHarness:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def ways(step: Step) -> list[str]:
    """Where the step's choices, what it hears, and the table itself lead."""
    instead = [choice.branch[1] for choice in step.choices if choice.branch is not None]
    heard = [heard.leads_to for heard in step.accepts]
    return [c.leads_to for c in step.choices] + instead + heard + list(step.automatic)


# The literals.


@pytest.mark.parametrize("procedure", EVERY)
def test_names_are_said_once_and_every_way_leads_somewhere(procedure: Procedure) -> None:
    names = [s.name for s in procedure.steps] + [e.name for e in procedure.ends]
    assert len(names) == len(set(names))
    for step in procedure.steps:
        choices = [(c.name, c.in_round, c.offered_if) for c in step.choices]
        assert len(choices) == len(set(choices))
        assert {heard.trigger for heard in step.accepts} <= set(transitions.STEP_EVENTS)
    reached = {then for s in procedure.steps for then in ways(s)}
    assert {*reached, procedure.steps[0].name, *procedure.begins} == set(names)


@pytest.mark.parametrize(("procedure", "step"), STEPS)
def test_every_step_leads_to_an_end(procedure: Procedure, step: Step) -> None:
    seen: set[str] = set()
    new = {step.name}
    while new:
        seen |= new
        at = [s for s in procedure.steps if s.name in seen]
        new = {then for s in at for then in ways(s)} - seen
    assert any(procedure.end(name) is not None for name in seen)


@pytest.mark.parametrize("procedure", EVERY)
def test_every_end_has_its_rule_in_every_game(procedure: Procedure) -> None:
    for end in procedure.ends:
        key, name = end.cites
        assert key in (procedure.key, "other")
        assert name in ENDS[key]
        for game in catalog.shipped():
            assert name in catalog.load(game).irregularities[key]
        assert end.resumes_in in (BACK, VOID, *(s for s in situations.STATES if s != "suspended"))


@pytest.mark.parametrize(("procedure", "step"), STEPS)
def test_every_choice_is_a_known_positions(procedure: Procedure, step: Step) -> None:
    assert english(step.prompt) and procedure.covers != (procedure.key,)
    for choice in step.choices:
        assert choice.by == DECIDES or choice.by in positions.POSITIONS
        end = procedure.end(choice.leads_to)
        assert choice.in_round is True or end is None or end.resumes_in != VOID


def test_cards_to_be_inspected_are_alike_in_all_that_the_room_may_see() -> None:
    shown = [
        [(s.name, s.prompt, [(c.name, c.by, c.in_round) for c in s.choices]) for s in p.steps]
        for p in PROCEDURES.values()
        if p.inspection
    ]
    assert len(shown) == 2 and shown[0] == shown[1]


def test_the_room_is_not_told_which_irregularity_follows_from_a_card_that_nobody_has_seen() -> None:
    hidden = {key: p.public_key for key, p in PROCEDURES.items() if p.public_key is not None}
    inspected = {"foreign_card": "inspection", "extra_card": "inspection"}
    assert hidden == {"overdraw": "drawn_early", **inspected}
    assert {key for key, p in PROCEDURES.items() if p.inspection} == inspected.keys()


@pytest.mark.parametrize("pause", PAUSES)
def test_a_pause_has_one_step_that_nobody_decides_and_events_of_its_own(pause: Procedure) -> None:
    (step,) = pause.steps
    assert (step.choices, step.accepts, pause.ends, pause.declared) == ((), (), (), None)
    assert pause.key not in ENDS
    assert pause.events.keys() == {"irregularity.step", "irregularity.resolved"}


def test_an_irregularity_that_no_rule_speaks_of_is_ruled_on_without_rules_of_its_own() -> None:
    broken = PROCEDURES["other"]._replace(key="broken_chair")
    table = TableHarness(**WAYS[0])
    table.controller = TableController(
        table.game, table.settings, procedures={**PROCEDURES, "broken_chair": broken}
    )
    table.open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    declare(table, "broken_chair")
    assert table.told("irregularity.raised")[-1]["rules"] == {}
    table.rules("play_on")
    assert table.now.state == "dealing"
    assert table.told("irregularity.resolved")[-1]["rule"] == table.game.rule("other", "ruled")


def test_a_table_halts_by_the_procedures_that_it_is_handed() -> None:
    asks = PROCEDURES["link_lost"]._replace(
        steps=(PROCEDURES["link_lost"].steps[0]._replace(prompt=message("prompt_other")),)
    )
    table = TableHarness(**WAYS[0])
    table.controller = TableController(
        table.game, table.settings, procedures={**PROCEDURES, "link_lost": asks}
    )
    table.open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    table.disconnect()
    assert table.told("irregularity.raised")[-1]["prompt"] == message("prompt_other").as_data()


def test_what_is_declared_is_declared_in_states_of_the_table() -> None:
    for procedure in PROCEDURES.values():
        if procedure.declared is not None:
            assert set(procedure.declared.states) <= set(situations.STATES) - {"no_shoe"}
            assert "suspended" in procedure.declared.states


# Declared.


@pytest.mark.parametrize("key", DECLARABLE)
def test_what_is_declared_halts_says_what_is_open_and_keeps_the_words_from_the_room(
    key: str,
) -> None:
    table = dealt()
    table.does("declare", key=key, reason="the 9C lay open")
    assert (table.now.state, table.key) == ("suspended", key)
    raised = table.told("irregularity.raised")[-1]
    assert "declared" in english(raised["seen"])
    assert raised["prompt"] == PROCEDURES[key].step(raised["step"]).prompt.as_data()
    assert {"void", "refer"} & {c["choice"] for c in raised["choices"]}
    assert not any("9C" in str(e.data) for e in table.public)
    told = next(e for e in table.events if e.type == "irregularity.raised")
    assert told.restricted_data is not None
    assert (english(told.restricted_data["seen"]), told.restricted_data["person"]) == (
        "the 9C lay open",
        "kim",
    )
    if key == "power_failure":  # nothing is decided: Players may withdraw, or it is ruled on
        table.refers("void")
    else:
        table.rules("void")
    assert table.now.state == "idle"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"key": "bad_luck", "reason": "r"}, "the key is one of "),
        ({"key": "gap", "reason": "r"}, "the key is one of "),
        ({"key": ["other"], "reason": "r"}, "the key is one of "),
        ({"reason": "r"}, "the key is one of "),
        ({"key": "other"}, "a reason is missing: say what was seen"),
    ],
)
def test_what_cannot_be_declared_is_refused_and_says_why(more: dict[str, str], why: str) -> None:
    table = dealt()
    answer = table.asks("declare", **more)
    assert not answer.accepted
    assert (answer.error or "").startswith(why)
    assert table.now.halt is None


def test_what_belongs_to_a_round_is_not_declared_between_rounds_nor_twice() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    refused = table.asks("declare", key="wrong_order", reason="r")
    assert not refused.accepted and "dealing" in refused.needs["state"]
    declare(table, "other")
    assert table.asks("declare", key="other", reason="r").error == "other is open already"
    nested = table.asks("declare", key="wrong_order", reason="r")
    assert nested.error == "wrong_order cannot be declared: the table was idle"


# Decided.


def test_a_choice_names_the_position_it_needs() -> None:
    table = dealt()
    declare(table, "other")
    refused = table.asks("decide", choice="void", reason="r", position="pit_manager")
    assert refused.needs == {"position": "gaming_shift_manager"}
    assert refused.error == "void needs a gaming shift manager"


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.permutations(["other", "wrong_order", "gap"], 2))
)
def test_one_that_comes_during_another_is_decided_first_and_leads_back(
    first: str, second: str
) -> None:
    table = dealt()
    for key in (first, second):
        table.says(Gap(first=1, last=2)) if key == "gap" else declare(table, key)
    assert (table.now.halt.earlier, table.key) == ((first,), second)
    assert from_bytes(to_bytes(table.now)) == table.now
    before = len(table.public)
    table.rules("play_on")
    assert (table.now.state, table.now.halt.earlier, table.key) == ("suspended", (), first)
    ended, again = table.public[before:]
    assert (ended.type, ended.data["key"]) == ("irregularity.resolved", second)
    assert (again.type, again.data["key"]) == ("irregularity.step", first)
    assert again.data["prompt"] == PROCEDURES[first].steps[0].prompt.as_data()
    table.rules("play_on")
    assert (table.now.state, table.now.halt) == ("dealing", None)
    assert table.told("table.resumed") == [{}]


def test_three_deep_the_last_is_decided_first() -> None:
    table = dealt()
    keys = ["other", "wrong_order", "order_altered"]
    for key in keys:
        declare(table, key)
    for key in reversed(keys):
        assert table.key == key
        table.rules("play_on")
    assert table.now.state == "dealing"


def test_a_void_ends_all_that_is_open_under_the_rule_of_the_one_decided() -> None:
    table = dealt()
    for key in ("other", "order_altered"):
        declare(table, key)
    table.rules("void")
    assert (table.now.state, table.now.halt) == ("idle", None)
    ended = [(d["key"], d["how"], d["rule"]) for d in table.told("irregularity.resolved")]
    assert ended == [("order_altered", "void", "5.2"), ("other", "void", "5.2")]
    assert table.told("round.void")[-1]["rule"] == "5.2"


def test_each_decides_on_the_cards_that_came_with_it() -> None:
    table = dealt("2D 3C TS")
    table.fails()
    table.draw("4C")
    declare(table, "unshuffled")
    table.rules("play_on")
    assert (table.key, len(table.now.held)) == ("other", 1)
    declare(table, "unshuffled")
    table.draw("5C")
    refused = table.asks("decide", choice="play_on", reason="r")
    assert refused.error == "cards were drawn that have no place in the round"


def test_a_lost_link_nested_in_another_ends_by_itself_and_leads_back() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    declare(table, "other")
    table.disconnect()
    table.restart("b1")
    table.connect()
    table.hello()
    assert (table.now.halt.earlier, table.key) == ((), "other")
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_lost_power_is_decided_together_with_the_link_that_it_took() -> None:
    table = TableHarness(**WAYS[0])
    table.restart("b1")
    table.open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    table.disconnect()
    table.restart("b2")
    assert (table.now.halt.earlier, table.key) == (("link_lost",), "power_failure")
    table.connect()
    table.hello()
    table.concludes()
    assert table.now.state == "dealing"
    ended = [d["key"] for d in table.told("irregularity.resolved")]
    assert ended == ["power_failure", "link_lost"]


def test_who_decided_is_in_the_restricted_stream_alone() -> None:
    table = dealt()
    declare(table, "unshuffled")
    table.does("decide", choice="play_on", reason="two packs seen", consented_by="lee")
    resolved = next(e for e in table.events if e.type == "irregularity.resolved")
    assert OwnData(resolved.data) == {"key": "unshuffled", "how": "play_on", "rule": None}
    assert resolved.restricted_data is not None
    assert resolved.restricted_data["consented_by"] == "lee"
    assert resolved.audience is Audience.PUBLIC


# Of one key.


def test_a_card_found_face_up_after_the_first_plays_on_by_the_dealers_word() -> None:
    table = dealt()
    declare(table, "face_up_in_shoe")
    table.does("decide", choice="play_face_down", position="dealer")
    assert table.now.state == "dealing"
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.6"


@pytest.mark.parametrize("opened", [False, True])
def test_a_card_found_face_up_before_the_first_is_ruled_on(opened: bool) -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    if opened:
        table.open_round()
    declare(table, "face_up_in_shoe")
    refused = table.asks("decide", choice="play_face_down", position="dealer")
    known = "the choice is one of play_on, set_aside"
    why = "no card of the round was dealt before it" if opened else known
    assert refused.error == f"{why}"
    table.rules("play_on")
    assert table.told("irregularity.resolved")[-1]["rule"] == "6.1"


def test_a_card_missing_between_rounds_leaves_earlier_outcomes_as_they_are() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    declare(table, "missing_card_in_shoe")
    offered = [c["choice"] for c in table.told("irregularity.raised")[-1]["choices"]]
    assert offered == ["play_on", "earlier_stand", "set_aside"]
    table.rules("earlier_stand")
    assert table.now.state == "idle"
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.1.2"


def test_a_card_missing_in_a_round_makes_it_void() -> None:
    table = dealt()
    declare(table, "missing_card_in_shoe")
    refused = table.asks("decide", choice="earlier_stand", reason="r")
    assert refused.error == "the choice is one of play_on, set_aside, void"
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "5.1"
