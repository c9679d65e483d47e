"""Every (state, trigger) pair: defined in the table, and taken for real from many sides."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from unittest.mock import patch

import pytest

from firmware_proto.events import EVENTS
from shoe_ctl.table import cases, controller, transitions
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.effects import Instance
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.situations import LEFT_FOR_A_HALT, NO_ROUND, SITUATIONS, STATES, situation
from shoe_ctl.table.state import Halt, TableState, from_bytes, to_bytes
from shoe_ctl.table.transitions import UNFORESEEN, Line
from shoe_ctl.table.turn import Turn
from shoe_testing import table_lines
from shoe_testing.for_each import for_each
from shoe_testing.generators import EVENTS_TRIED, FACTS, OfferingTable, inputs
from shoe_testing.invariants import assert_transition
from shoe_testing.table_corpus import WAYS, at, goes_on, passed_through
from shoe_testing.tables import TableHarness, game, settings

OUTSIDE = tuple(sorted(transitions.triggers() - transitions.OWN_TRIGGERS))
OF_THE_ROUND = {(state, trigger) for state, rows in transitions.ROUND.items() for trigger in rows}
OF_THE_ROUND_ALONE = {t for _, t in OF_THE_ROUND} - transitions.SHOE.keys()
LEADS = {
    transitions.BY_CARDS: ("dealing", "drawing", "revealing"),
    transitions.RESUME: tuple(state for state in STATES if state != "suspended"),
}


def leads(line: Line) -> tuple[str, ...]:
    """The states that this line may lead to."""
    return (line.to,) if isinstance(line.to, str) else LEADS[line.to]


# The tables themselves.


def test_the_inputs_tried_cover_every_trigger_from_outside() -> None:
    tried = {trigger for trigger, _ in inputs(OfferingTable(TableState(), game(), settings()))}
    assert tried == set(OUTSIDE)


def test_every_shoe_event_and_command_is_a_trigger() -> None:
    named = {event.type for event in EVENTS_TRIED} - {"command"}
    assert named <= EVENTS.keys()
    assert set(OUTSIDE) == {*named, *FACTS, *COMMANDS, UNFORESEEN}


def test_there_are_ten_states() -> None:
    assert len(STATES) == len(set(STATES)) == 10
    every = [line for lines in transitions.lines().values() for line in lines]
    assert {line.state for line in every} == set(STATES)
    assert {state for line in every for state in leads(line)} == set(STATES)


def test_the_situations_cover_the_ten_states_and_a_halt_of_each() -> None:
    assert {state for states in SITUATIONS.values() for state in states} == set(STATES)
    plain = [
        s for name, states in SITUATIONS.items() if name not in LEFT_FOR_A_HALT for s in states
    ]
    left = [state for states in LEFT_FOR_A_HALT.values() for state in states]
    assert (
        sorted(plain) == sorted(left) == sorted(state for state in STATES if state != "suspended")
    )
    for message in transitions.SHOE:
        assert transitions.cells_by_situation(message).keys() == SITUATIONS.keys()


@for_each(STATES)
def test_a_halted_tables_situation_is_the_one_of_the_state_that_it_left(state: str) -> None:
    if state == "suspended":
        return
    halted = situation("suspended", Halt(resume_state=state, stack=(), instance=Instance(1, 1)))
    assert halted in LEFT_FOR_A_HALT and state in LEFT_FOR_A_HALT[halted]


def test_every_line_is_played() -> None:
    messages = table_lines.MESSAGES.keys() | {message for message, _ in table_lines.OF_ITS_OWN}
    assert messages == transitions.SHOE.keys()
    assert table_lines.ALONE.keys() | table_lines.ANSWERS.keys() == transitions.ALWAYS.keys()
    assert table_lines.ROUND.keys() == OF_THE_ROUND


def lines_played() -> dict[tuple[str, str], Callable[[], table_lines.Play]]:
    """What comes and the state or situation, or none → the play that is to take this line."""
    found: dict[tuple[str, str], Callable[[], table_lines.Play]] = {}
    for message, place in itertools.product(transitions.SHOE, SITUATIONS):
        if message in table_lines.MESSAGES or (message, place) in table_lines.OF_ITS_OWN:
            found[message, place] = functools.partial(table_lines.play_message, message, place)
    for (state, trigger), play in table_lines.ROUND.items():
        found[trigger, state] = play
    return found | {(message, ""): play for message, play in table_lines.ALONE.items()}


@for_each(sorted(lines_played()))
def test_each_play_takes_its_line(line: tuple[str, str]) -> None:
    play, taken = lines_played()[line](), set[tuple[str, str]]()

    def note(turn: Turn, trigger: str) -> str:
        case = cases.find_case(turn, trigger)
        halted = turn.state == "suspended" and turn.now.halt is None
        where = turn.state if halted else situation(turn.state, turn.now.halt)
        taken.update({(case, where), (case, turn.state), (case, "")})
        return case

    with patch.object(controller, "find_case", note):
        play.act(play.table)
    assert line in taken or line == ("hello.another_set", "halted_closed")


@for_each(STATES, OUTSIDE)
def test_every_pair_ends_in_one_line(state: str, trigger: str) -> None:
    found = {case: transitions.lines().get((state, case)) for case in cases.list_cases(trigger)}
    missing = {case for case, lines in found.items() if lines is None}
    assert missing <= OF_THE_ROUND_ALONE and missing != set(found)
    for lines in found.values():
        if lines is not None and state == "suspended" and len(lines) > 1 and lines[-1].when:
            assert [bool(line.when) for line in lines] == [True] * len(LEFT_FOR_A_HALT)
        elif lines is not None:
            assert [bool(line.when) for line in lines] == [True] * (len(lines) - 1) + [False]


@for_each(OUTSIDE)
def test_only_a_halted_table_has_more_than_one_line_for_a_trigger(trigger: str) -> None:
    for case in cases.list_cases(trigger):
        for state in STATES:
            lines = transitions.lines().get((state, case), ())
            assert len(lines) <= 1 or (state == "suspended" and trigger not in COMMANDS)


def test_no_line_stands_for_a_case_that_nothing_is() -> None:
    known = {case for trigger in transitions.triggers() for case in cases.list_cases(trigger)}
    assert {trigger for _, trigger in transitions.lines()} <= known


def test_no_pair_stands_in_two_tables() -> None:
    everywhere = [*transitions.SHOE, *transitions.ALWAYS]
    assert len(everywhere) == len(set(everywhere))
    assert not {trigger for _, trigger in OF_THE_ROUND} & set(everywhere)


def test_every_cell_says_why_in_plain_sentences() -> None:
    rounds = [cell for rows in transitions.ROUND.values() for cell in rows.values()]
    shoe = [cell for rows in transitions.SHOE.values() for cell in rows.values()]
    for cell in (*rounds, *shoe, *transitions.ALWAYS.values()):
        assert cell.why[0].isupper() and cell.why[-1] == "." and cell.rule != ""


def test_the_rounds_triggers_stand_only_where_they_are_meant() -> None:
    meant = {
        "set.admitted": set(NO_ROUND),
        "set.refused": set(NO_ROUND),
        "set.taken_out": set(NO_ROUND),
        "first_wager": {"idle"},
        "card.in_turn": {"idle", "betting", "closed", "dealing", "drawing"},
        "card.fourth": {"dealing"},
        "pull.opens_round": {"idle", "betting"},
        "cards_placed": {"idle", "betting", "closed", "dealing", "drawing"},
        "deal.ran_out": {"betting", "closed", "dealing"},
        "third_card_due": {"revealing"},
        "third_card.early": {"revealing"},
        "third_card.aside": {"revealing"},
        "third_card.ran_out": {"revealing"},
        "outcome_due": {"revealing"},
        "opening_due": {"closed"},
        "round_over": {"resolved", "suspended"},
        "change_due": {"idle"},
        "change_decided": {"idle"},
        "halt_ended": {"suspended"},
        "round_voided": {"suspended"},
        "round_entered": {"suspended"},
        "card_corrected": {"dealing", "revealing", "resolved", "suspended"},
        "card_corrected.card_due": {"resolved"},
    }
    stands: dict[str, set[str]] = {}
    for state, trigger in OF_THE_ROUND:
        if trigger not in COMMANDS:
            stands.setdefault(trigger, set()).add(state)
    assert stands == meant


def test_one_machine_moves_every_turn_and_holds_none() -> None:
    assert controller.machine().models == []
    assert set(controller.machine().events) == {trigger for _, trigger in transitions.lines()}
    turn = Turn(game(), settings(), PROCEDURES)
    assert not [name for name in vars(turn) if name in transitions.triggers()]


# Taken for real.


def test_the_sessions_pass_through_every_state() -> None:
    assert {now.state for _, _, now in passed_through()} == set(STATES)


def test_a_tables_states_survive_their_bytes() -> None:
    for _, _, now in passed_through():
        assert from_bytes(to_bytes(now)) == now


@functools.cache
def listed(state: str, trigger: str) -> frozenset[str]:
    """Where the table may be after this trigger, with what it gives itself on the way."""
    reached = {state} if trigger in COMMANDS else set()
    reached |= _led_to(state, trigger)
    while more := {d for s in reached for t in transitions.OWN_TRIGGERS for d in _led_to(s, t)}:
        if more <= reached:
            break
        reached |= more
    return frozenset(reached)


def _led_to(state: str, trigger: str) -> set[str]:
    return {
        dest
        for case in cases.list_cases(trigger)
        for line in transitions.lines().get((state, case), ())
        for dest in leads(line)
    }


def test_every_input_in_every_state_does_what_the_table_lists() -> None:
    kinds = {(shoe, now.state): (shoe, way, now) for shoe, way, now in distinct()}
    assert does_what_is_listed(list(kinds.values())) == {(s, t) for s in STATES for t in OUTSIDE}


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=15)
def test_it_does_at_every_step_and_however_far_the_round_is() -> None:
    does_what_is_listed(distinct())


def does_what_is_listed(places: list[tuple[str, int, TableState]]) -> set[tuple[str, str]]:
    """The pairs that were tried."""
    tried: set[tuple[str, str]] = set()
    for shoe, way, now in places:
        for trigger, happened in inputs(OfferingTable(now, game(), settings(**WAYS[way]))):
            table = at(shoe, way, now)
            effects = table.feed(happened)
            tried.add((now.state, trigger))
            assert table.now.state in listed(now.state, trigger), (now.state, happened)
            assert_transition(now, table.now, effects)
    return tried


def distinct() -> list[tuple[str, int, TableState]]:
    """One of each kind of place: what differs only by counts and cards is tried once."""
    kinds = {}
    for shoe, way, now in passed_through():
        played, halt, link = now.round, now.halt, now.link
        kind = (
            shoe, way, now.state, now.shoe is None, now.pending_set is None, bool(now.held),
            link.up, link.aligned,
            halt and (halt.current.key, halt.current.step, halt.resume_state, halt.earlier),
            played and (len(played.cards), played.all_revealed, played.result is None, played.due),
        )  # fmt: skip
        kinds[kind] = (shoe, way, now)
    return list(kinds.values())


@pytest.mark.parametrize(
    "command",
    [name for name, command in COMMANDS.items() if "no_shoe" not in command.states],
)
def test_a_command_refused_for_the_state_names_the_states_that_take_it(command: str) -> None:
    lowest = COMMANDS[command].position
    refused = TableHarness().asks(command, position=lowest, choice="void", reason="r")
    assert not refused.accepted
    takes = refused.needs["state"].split(", ")
    assert takes == list(COMMANDS[command].states)
    assert takes and "no_shoe" not in takes
    assert refused.error == f"{command} cannot be taken now (the table is no shoe)"


def test_from_every_state_a_willing_staff_comes_to_a_new_round_and_its_outcome() -> None:
    for shoe, way, now in distinct():
        table = at(shoe, way, now)
        for _ in range(40):
            if opened(table) > now.rounds and table.told("round.outcome"):
                break
            goes_on(table)
        else:
            pytest.fail(f"no way out of {now}")


def opened(table: TableHarness) -> int:
    """The round whose outcome was told last, by its number at the table."""
    outcomes = table.told("round.outcome")
    return int(outcomes[-1]["round_id"].rpartition("-r")[2]) if outcomes else 0
