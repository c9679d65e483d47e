"""Every (state, trigger) pair: defined in the table, and taken for real from many sides."""

from __future__ import annotations

import functools
import logging

import pytest

from firmware_proto.events import EVENTS
from shoe_ctl.table import engine, machine, positions
from shoe_ctl.table.irregularities.grounds import CARDS_OUT
from shoe_ctl.table.irregularities.procedures import PROCEDURES
from shoe_ctl.table.state import TableState, from_bytes, to_bytes
from shoe_ctl.table.turn import Turn
from tests.table.holding import holds
from tests.table.offers import At
from tests.table.playing import Playing, game, settings
from tests.table.sessions import WAYS, at, goes_on, passed_through
from tests.table.tried import EVENTS_TRIED, FACTS, inputs

OUTSIDE = tuple(t for t in machine.TRIGGERS if t not in machine.OWN_TRIGGERS)


# The table itself.


def test_the_inputs_tried_cover_every_trigger_from_outside() -> None:
    tried = {trigger for trigger, _ in inputs(At(TableState(), game(), settings()))}
    assert tried == set(OUTSIDE)


def test_every_shoe_event_and_command_is_a_trigger() -> None:
    named = {event.type for event in EVENTS_TRIED} - {"command"}
    assert named <= EVENTS.keys()
    assert set(OUTSIDE) == {*named, *FACTS, *positions.COMMANDS, machine.UNFORESEEN}


def test_there_are_ten_states() -> None:
    assert len(machine.STATES) == len(set(machine.STATES)) == 10
    assert {r.state for r in machine.ROWS} == set(machine.STATES)
    assert {r.dest for r in machine.ROWS} == set(machine.STATES)


@pytest.mark.parametrize("state", machine.STATES)
@pytest.mark.parametrize("trigger", OUTSIDE)
def test_every_pair_ends_in_a_row_without_conditions(state: str, trigger: str) -> None:
    rows = [r for r in machine.ROWS if (r.state, r.trigger) == (state, trigger)]
    assert rows
    assert [bool(r.when) for r in rows] == [True] * (len(rows) - 1) + [False]


def test_the_tables_own_triggers_stand_only_where_they_are_meant() -> None:
    meant = {
        "cards_ran_out": set(machine.STATES),
        "card_unread": {*machine.BEGUN, *CARDS_OUT, "suspended"},
        "cards_placed": {*machine.BETWEEN, *machine.BEGUN, *CARDS_OUT},
        "one_too_many": set(machine.STATES),
        "third_card_due": {"revealing"},
        "overdrawn": {"revealing"},
        "opening_due": {"closed", "suspended"},
        "drawn_together": {"closed"},
        "left_over": set(machine.STATES),
        "outcome_due": {"revealing"},
        "round_over": {"resolved"},
        "change_due": {"idle"},
        "set_shown": {"no_shoe", "idle", "shoe_change", *machine.BEGUN, *CARDS_OUT},
        "differential_due": {"closed", *CARDS_OUT, "resolved", "suspended"},
        "count_disagrees": {"idle", "shoe_change"},
        "face_up_first": {"dealing", "revealing", "drawing", "suspended"},
    }
    assert set(meant) == machine.OWN_TRIGGERS
    for trigger, states in meant.items():
        rows = [r for r in machine.ROWS if r.trigger == trigger]
        assert {r.state for r in rows} == states
        assert all(any(r.state == s and not r.when for r in rows) for s in states)


def test_no_name_of_the_table_clashes_with_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="transitions"):
        engine.build(Turn(game(), settings(), PROCEDURES))
    assert [r.message for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert not [name for name in machine.TRIGGERS if hasattr(Turn, name)]


# Taken for real.


def test_the_sessions_pass_through_every_state() -> None:
    assert {now.state for _, _, now in passed_through()} == set(machine.STATES)


def test_a_tables_states_survive_their_bytes() -> None:
    for _, _, now in passed_through():
        assert from_bytes(to_bytes(now)) == now


@functools.cache
def listed(state: str, trigger: str) -> frozenset[str]:
    """Where the table may be after this trigger, with what it gives itself on the way."""
    reached = {r.dest for r in machine.ROWS if (r.state, r.trigger) == (state, trigger)}
    while (
        more := {
            r.dest for r in machine.ROWS if r.trigger in machine.OWN_TRIGGERS and r.state in reached
        }
        - reached
    ):
        reached |= more
    return frozenset(reached)


def test_every_input_in_every_state_does_what_the_table_lists() -> None:
    kinds = {(shoe, now.state): (shoe, way, now) for shoe, way, now in distinct()}
    assert does_what_is_listed(list(kinds.values())) == {
        (s, t) for s in machine.STATES for t in OUTSIDE
    }


@pytest.mark.slow
def test_it_does_at_every_step_and_however_far_the_round_is() -> None:
    does_what_is_listed(distinct())


def does_what_is_listed(places: list[tuple[str, int, TableState]]) -> set[tuple[str, str]]:
    """The pairs that were tried."""
    tried: set[tuple[str, str]] = set()
    for shoe, way, now in places:
        for trigger, happened in inputs(At(now, game(), settings(**WAYS[way]))):
            table = at(shoe, way, now)
            effects = table.feed(happened)
            tried.add((now.state, trigger))
            assert table.now.state in listed(now.state, trigger), (now.state, happened)
            holds(now, table.now, effects)
    return tried


def distinct() -> list[tuple[str, int, TableState]]:
    """One of each kind of place: what differs only by counts and cards is tried once."""
    kinds = {}
    for shoe, way, now in passed_through():
        played, halt, link = now.round, now.halt, now.link
        kind = (
            shoe, way, now.state, now.shoe is None, now.loaded is None, bool(now.kept),
            link.up, link.aligned,
            halt and (halt.top.key, halt.top.step, halt.back_to, halt.earlier),
            played and (len(played.cards), played.all_revealed, played.result is None, played.due),
        )  # fmt: skip
        kinds[kind] = (shoe, way, now)
    return list(kinds.values())


@pytest.mark.parametrize(
    "command",
    [c for c in positions.COMMANDS if "no_shoe" not in machine.states_that_take(c)],
)
def test_a_command_refused_for_the_state_names_the_states_that_take_it(command: str) -> None:
    lowest = positions.COMMANDS[command]
    refused = Playing().asks(command, position=lowest, choice="void", reason="r")
    assert not refused.accepted
    takes = refused.needs["state"].split(", ")
    assert takes == list(machine.states_that_take(command))
    assert takes and "no_shoe" not in takes
    assert refused.error == f"{command} cannot be taken now (the table is no_shoe)"


def test_from_every_state_a_willing_staff_comes_to_a_new_round_and_its_outcome() -> None:
    for shoe, way, now in distinct():
        table = at(shoe, way, now)
        for _ in range(40):
            if opened(table) > now.rounds and table.told("round.outcome"):
                break
            goes_on(table)
        else:
            pytest.fail(f"no way out of {now}")


def opened(table: Playing) -> int:
    """The round whose outcome was told last, by its number at the table."""
    outcomes = table.told("round.outcome")
    return int(outcomes[-1]["round_id"].rpartition("-r")[2]) if outcomes else 0
