"""Every (state, trigger) pair: defined in the table, and taken for real from many sides."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from firmware_proto.cards import card
from firmware_proto.events import (
    EVENTS,
    Authenticated,
    AuthenticationFailed,
    Button,
    CardDrawn,
    CardOutsideGame,
    CardPushedBack,
    CardsDrawn,
    Challenged,
    CommandUnanswered,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Gap,
    Hello,
    KeyRotated,
    Lid,
    Lock,
    Overheard,
    PowerLow,
    PowerRestored,
    PresetChanged,
    QueryAnswered,
    Redesignated,
    Repeated,
    Reply,
    ResetDone,
    Result,
    SelfTested,
    ShoeEmpty,
    ShoeEvent,
    ShoeLoaded,
    Standby,
    Started,
    Status,
    Tamper,
    UnknownFirmware,
    Warned,
)
from shoe_ctl.table import engine, machine, positions
from shoe_ctl.table.effects import Answer, TableEvent
from shoe_ctl.table.inputs import (
    Fault,
    Input,
    LinkLost,
    LinkUp,
    NotTold,
    Restarted,
    ShoeSaid,
    StorageRestored,
    TableCommand,
    Tick,
)
from shoe_ctl.table.irregularities.grounds import CARDS_OUT
from shoe_ctl.table.irregularities.procedures import PROCEDURES
from shoe_ctl.table.recording import RECORDED
from shoe_ctl.table.state import TableState, from_bytes, to_bytes
from shoe_ctl.table.turn import Turn
from tests.table.playing import DEVICE, Playing, balanced, game, settings
from tests.table.sessions import DECLARED_WITH, at, goes_on, passed_through

OUTSIDE = tuple(t for t in machine.TRIGGERS if t not in machine.OWN_TRIGGERS)
FACTS = ("link_up", "link_lost", "restarted", "tick", "not_told", "fault", "storage_restored")
FACT_KINDS = (LinkUp, LinkLost, Restarted, Tick, NotTold, Fault, StorageRestored)


def hello(**more: object) -> Hello:
    fields = {"device_id": DEVICE, "boot_id": 7, "deck": "french52", "decks": 8, **more}
    return Hello(firmware="1", **fields)  # type: ignore[arg-type]


EVENTS_TRIED: tuple[ShoeEvent, ...] = (
    hello(), hello(set_id="set-1", resumed=True), hello(set_id="set-1", boot_id=8, drawn=9),
    hello(set_id="set-2"), hello(set_id="set-2", decks=6), hello(set_id="set-1", drawn=99),
    Started(), Standby(), ShoeLoaded(set_id="set-1"), ShoeLoaded(set_id="set-9", decks=8),
    ShoeLoaded(set_id="set-9", decks=4),
    CardDrawn(card=card("9S")), CardDrawn(card=None), CardDrawn(card=card("4f")),
    *(CardDrawn(card=card("9S"), number=n, armed=a) for n in (1, 4, 6, 20) for a in (True, False)),
    *(CardDrawn(card=card("9S"), number=n, armed=True, face_up=True) for n in (1, 2, 4)),
    *(CardDrawn(card=card("9S"), hand=h, index=i) for h in ("player", "banker") for i in (1, 2, 3)),
    *(CardDrawn(card=card("9S"), hand=h) for h in ("burn", "first_card", "burn_count")),
    Redesignated(card=None, hand="player"), CardOutsideGame(card=card("9S"), mode="lock"),
    CuttingCard(), Result(winner="tie", player_pair=False, banker_pair=False),
    Result(winner="forced_quit", player_pair=False, banker_pair=False),
    Error(code="cannot_read"), Error(code="overdraw", in_error_mode=True),
    ErrorCleared(code="overdraw"), ErrorCleared(code="cannot_read"), Lock(locked=True),
    PresetChanged(address="01", value="0001"), Reply(accepted=False), Gap(first=1, last=2),
    Status(drawn=9, unacknowledged=0), Repeated(of="card_drawn"), Discarded(reason="bcc"),
    CardsDrawn(cards=(card("9S"), None), number=4, order_known=True),
    CardsDrawn(cards=(card("9S"), card("4f"), card("9S")), order_known=False, armed=False),
    CardPushedBack(card=card("9S"), number=4), Lid(open=True), Lid(open=False), Tamper(what="seal"),
    Button(button=1), ShoeEmpty(drawn=416), SelfTested(), SelfTested(failed=("sensor",)),
    PowerLow(percent=3), PowerRestored(), ResetDone(command_id=1), KeyRotated(key_id=2),
    QueryAnswered(command_id=1, what="clock"), Challenged(device_id=DEVICE, key_id=1, nonce="00"),
    Authenticated(device_id=DEVICE, boot_id=7, key_id=1, host_nonce="00", shoe_nonce="01"),
    AuthenticationFailed(reason="wrong proof", device_id=DEVICE, key_id=1),
    *(UnknownFirmware(firmware="1", refused=refused) for refused in (True, False)),
    Warned(code="W0x01"), CommandUnanswered(command_id=1, reason="no reply"),
    Overheard(command="arm"),  # said by a host, heard in recordings only: no row names it
)  # fmt: skip
REFUSALS = ("command.refused", "wager.refused")
TOO_LATE = ["irregularity.raised", "irregularity.resolved"]
WAGER_COMMANDS = machine.WAGER_COMMANDS
CHOICES = (
    *dict.fromkeys(c.name for p in PROCEDURES.values() for s in p.steps for c in s.choices),
    "toss_a_coin",
)
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    *((command, {}) for command in positions.COMMANDS),
    *((command, {"hand": "player", "seat": 3}) for command in ("pass_cards", "name_holder")),
    *((command, {"hand": "banker"}) for command in ("refuse_cards", "set_first_hand")),
    ("allow_squeeze", {"hand": "banker", "designee": "eve"}),
    *((command, {"seat": 3}) for command in ("offer_shoe", "allow_without_wager")),
    ("change_method", {"method": "A"}), ("change_method", {"method": "C"}),
    ("expose", {"hand": "player"}), ("expose", {"hand": "banker", "index": 2}),
    *(("decide", {"choice": r}) for r in CHOICES),
    *((c, {"player": "ann", "seat": 1, "wager": "tie", "amount": 5}) for c in WAGER_COMMANDS),
    ("restrict_wagers", {"number": 2}),
    ("record_shoe", {"shuffle": "machine", "cut": "ann", "burn": 1, "same_backs": True}),
    ("count_remainder", {"left": 3}), ("count_remainder", {"cards": "9S 4f"}),
    *(("declare", {"key": key, **DECLARED_WITH.get(key, {})})
      for key in (*PROCEDURES, *RECORDED, "bad_luck")),
    *(("declare", {"key": key, "player": "ann", "seat": 1, "wager": "tie", "amount": 5})
      for key in RECORDED),
)  # fmt: skip


def facts(t_us: int) -> Iterator[Input]:
    for own, names in ((True, False), (False, True), (False, False)):
        yield LinkUp(
            t_us=t_us, connection=2, profile="x", arm=own, replay=own, judges=names,
            names_hands=names,
        )  # fmt: skip
    yield LinkLost(t_us=t_us, connection=2, reason="unplugged")
    yield Restarted(t_us=t_us, host_boot="b1")
    yield Restarted(t_us=t_us, host_boot="b9")
    yield Tick(t_us=t_us)
    yield Tick(t_us=t_us + 60_000_000)
    yield NotTold(t_us=t_us, number=1, why="the key file has no such key")
    yield Fault(t_us=t_us, where="ShoeSaid", what="KeyError: 9S")
    yield StorageRestored(t_us=t_us, since_us=t_us - 1, what="the disk is full")


def inputs(now: TableState) -> Iterator[tuple[str, Input]]:
    t_us = now.t_us + 1
    for fact in facts(t_us):
        yield FACTS[FACT_KINDS.index(type(fact))], fact
    for event in EVENTS_TRIED:
        named = event.type if event.type in machine.TRIGGERS else machine.UNFORESEEN
        yield named, ShoeSaid(t_us=t_us, event=event)
    for command, args in ASKED:
        yield command, TableCommand(
            t_us=t_us, command_id="new", command=command, args=args, person="kim",
            position=positions.needed(command, game(), args), reason="r",
        )  # fmt: skip


# The table itself.


def test_the_inputs_tried_cover_every_trigger_from_outside() -> None:
    tried = {trigger for trigger, _ in inputs(TableState())}
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
        "left_over": set(machine.STATES),
        "outcome_due": {"revealing"},
        "round_over": {"resolved"},
        "change_due": {"idle"},
        "set_shown": {"no_shoe", "idle", "shoe_change"},
        "differential_due": {"closed", "dealing", "suspended"},
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
        engine.build(Turn(game(), settings()))
    assert [r.message for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert not [name for name in machine.TRIGGERS if hasattr(Turn, name)]


# Taken for real.


def test_the_sessions_pass_through_every_state() -> None:
    assert {now.state for _, _, now in passed_through()} == set(machine.STATES)


def test_a_tables_states_survive_their_bytes() -> None:
    for _, _, now in passed_through():
        assert from_bytes(to_bytes(now)) == now


def listed(state: str, trigger: str) -> set[str]:
    """Where the table may be after this trigger, with what it gives itself on the way."""
    reached = {r.dest for r in machine.ROWS if (r.state, r.trigger) == (state, trigger)}
    while (
        more := {
            r.dest for r in machine.ROWS if r.trigger in machine.OWN_TRIGGERS and r.state in reached
        }
        - reached
    ):
        reached |= more
    return reached


def apart_from_the_count(now: TableState) -> TableState:
    return msgspec.structs.replace(now, t_us=0, inputs=0, answered={})


def test_every_input_in_every_state_does_what_the_table_lists() -> None:
    tried: set[tuple[str, str]] = set()
    for shoe, way, now in distinct():
        for trigger, happened in inputs(now):
            table = at(shoe, way, now)
            effects = table.feed(happened)
            tried.add((now.state, trigger))
            assert table.now.state in listed(now.state, trigger), (now.state, happened)
            assert from_bytes(to_bytes(table.now)) == table.now
            assert balanced(table.now), (now, happened)
            assert (table.now.state == "suspended") is (table.now.halt is not None)
            assert table.now.halt is not None or table.now.kept == ()
            for effect in effects:
                if isinstance(effect, TableEvent):
                    msgspec.json.encode((effect.data, effect.restricted_data))
            if any(isinstance(e, Answer) and not e.accepted for e in effects):
                told, *recorded, answer = effects
                assert [getattr(e, "type", None) for e in recorded] in ([], TOO_LATE)
                assert isinstance(told, TableEvent) and told.type in REFUSALS
                assert isinstance(answer, Answer) and answer.error
                assert apart_from_the_count(table.now) == apart_from_the_count(now)
    assert tried == {(s, t) for s in machine.STATES for t in OUTSIDE}


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
