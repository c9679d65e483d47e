"""A table as people and shoes really treat it: everything that can come, in any order.

What comes is drawn from the form (what is offered, declared, asked for) as well as from thin air,
so that rounds come to their ends and irregularities to theirs. After every step the table is whole.
"""

from __future__ import annotations

import os
import time
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardPushedBack, CardsDrawn, ShoeEvent
from shoe_ctl.games import catalog
from shoe_ctl.table import inputs, state
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.effects import Effect
from shoe_ctl.table.inputs import Input, TableCommand, Tick
from shoe_ctl.table.positions import POSITIONS
from shoe_ctl.table.preview import preview
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.generators import (
    ASKED,
    EVENTS_TRIED,
    WAGER_COMMANDS,
    by_hand,
    corrections,
    decisions,
    declarations,
    found_on_the_layout,
    hands_to_rule_on,
    retractions,
    spares,
)
from shoe_testing.invariants import RoundWatch, assert_transition
from shoe_testing.places import LIMITS
from shoe_testing.staff import at, follow
from shoe_testing.table_corpus import KINDS, WAYS, kind_of
from shoe_testing.table_situations import told_in_public
from shoe_testing.tables import SHIFT, TableHarness, game

SHOES = [shoe for shoe, _ in KINDS]
HLGA = "Paiza Club"
FACES = ("9C", "2D", "KD", "3H", "7S", "8H", "4f")
UNKNOWN = ("", "deal_the_cards")
persons = st.fixed_dictionaries(
    {"position": st.sampled_from(POSITIONS)},
    optional={
        "reason": st.just("seen"),
        "consented_by": st.sampled_from(["lee", "kim"]),
        "round_id": st.sampled_from(["bac-07-s1-r1", "bac-07-s1-r2"]),
    },
)


class Held(TableHarness):
    """A table that is looked at after every input."""

    def feed(self, happened: Input) -> list[Effect]:
        before = self.now
        effects = super().feed(happened)
        assert_transition(before, self.now, effects)
        return effects


class AnyTable(RuleBasedStateMachine):
    """One table, from its first connection to whatever becomes of it."""

    @initialize(
        shoe=st.sampled_from(SHOES), name=st.sampled_from(catalog.shipped()), data=st.data()
    )
    def opens(self, shoe: str, name: str, data: st.DataObject) -> None:
        conducted = [
            *({"name": name, "method": method, "area": HLGA} for method in game(name).methods),
            *WAYS,
        ]
        way = dict(data.draw(st.sampled_from(conducted)))
        limits = LIMITS if way.get("method") else TableLimits()
        decks = data.draw(st.sampled_from([1, 8]))
        self.given = {**kind_of(shoe), **way, "limits": limits, "decks": decks}
        self._sit_down(Held(**self.given))
        self.table.open_shoe()

    def _sit_down(self, table: Held) -> None:
        self.table, self.watch = table, RoundWatch(table)
        table.step = self.watch.look

    # What people do.

    @rule(times=st.integers(1, 6))
    def what_is_next(self, times: int) -> None:
        for _ in range(times):
            if spares(at(self.table)):
                follow(self.table)

    @rule(data=st.data())
    def what_is_offered(self, data: st.DataObject) -> None:
        if offered := list(decisions(at(self.table))):
            self._asks("decide", data.draw(st.sampled_from(offered)))

    @rule(data=st.data())
    def what_may_be_declared(self, data: st.DataObject) -> None:
        self._asks("declare", data.draw(st.sampled_from(list(declarations(at(self.table))))))

    @rule(data=st.data())
    def what_is_found_on_the_layout(self, data: st.DataObject) -> None:
        if found := list(found_on_the_layout(at(self.table))):
            self._asks("declare", data.draw(st.sampled_from(found)))

    def _asks(self, command: str, given: dict[str, Any]) -> None:
        """People look at what they are about to say, and say it."""
        args = {"position": SHIFT, **given}
        position, now = args.pop("position"), self.table.now
        asked = TableCommand(
            t_us=self.table.t_us, command_id="p", command=command, args=args, person="kim",
            position=position,
        )  # fmt: skip
        foretold = preview(self.table.controller, now, asked).answer
        assert self.table.now is now
        answer = self.table.asks(
            command, position=position, reason="seen", consented_by="lee", **args
        )
        if command != "enter_round":  # only the shoe's readings say whether that is taken
            assert foretold.accepted is answer.accepted, (command, foretold.error, answer.error)

    @rule(asked=st.sampled_from(ASKED), by=persons)
    def any_command(self, asked: tuple[str, dict[str, Any]], by: dict[str, Any]) -> None:
        command, args = asked
        self.table.asks(command, **by, **args)

    @rule(command=st.sampled_from([*COMMANDS, *UNKNOWN]), args=st.sampled_from(ASKED), by=persons)
    def a_command_with_anothers_arguments(
        self, command: str, args: tuple[str, dict[str, Any]], by: dict[str, Any]
    ) -> None:
        self.table.asks(command, **by, **args[1])

    @rule(data=st.data())
    def a_declaration_is_taken_back(self, data: st.DataObject) -> None:
        if declared := list(retractions(at(self.table))):
            self._asks("retract", data.draw(st.sampled_from(declared)))

    @rule(data=st.data())
    def what_was_declared_by_mistake(self, data: st.DataObject) -> None:
        self.what_may_be_declared(data)
        if declared := list(retractions(at(self.table))):
            self._asks("retract", declared[-1])

    @rule(data=st.data())
    def an_open_card_is_another_one(self, data: st.DataObject) -> None:
        if opened := list(corrections(at(self.table))):
            self._asks("correct_card", data.draw(st.sampled_from(opened)))

    @rule()
    def a_round_finished_by_hand(self) -> None:
        if hands := by_hand(at(self.table)):
            self._asks("enter_round", hands)
            self._asks("revise_round", hands)
        for hands in hands_to_rule_on(at(self.table)):
            self._asks("revise_round", {**hands, "against_table": True})

    @rule(
        act=st.sampled_from(WAGER_COMMANDS),
        player=st.sampled_from(["ann", "ben"]),
        wager=st.sampled_from(["player", "banker", "tie"]),
        amount=st.sampled_from([100, 500, 900]),
    )
    def a_wager(self, act: str, player: str, wager: str, amount: int) -> None:
        args: dict[str, Any] = {
            "player": player,
            "seat": 1 if player == "ann" else 3,
            "wager": wager,
        }
        if act != "withdraw_wager":
            args["amount"] = amount
        self.table.asks(act, **args)

    # What the shoe says, and what befalls it.

    @rule(event=st.sampled_from(EVENTS_TRIED))
    def the_shoe_says(self, event: ShoeEvent) -> None:
        self.table.says(event)

    @rule(code=st.sampled_from([*FACES, None]), armed=st.sampled_from([None, True, False]))
    def a_card(self, code: str | None, armed: bool | None) -> None:
        shoe, face = self.table.now.shoe, None if code is None else card(code)
        if self.table.profile == "reference" and shoe is not None:
            self.table.says(CardDrawn(card=face, number=shoe.drawn + 1, armed=armed))
        else:
            self.table.draw(code)

    @rule(
        codes=st.lists(st.sampled_from([*FACES, None]), min_size=2, max_size=4),
        known=st.booleans(),
    )
    def cards_in_one_pull(self, codes: list[str | None], known: bool) -> None:
        shoe = self.table.now.shoe
        faces = tuple(None if code is None else card(code) for code in codes)
        number = None if shoe is None else shoe.drawn + 1
        self.table.says(CardsDrawn(cards=faces, number=number, order_known=known))

    @rule(before=st.sampled_from([0, 0, 0, 1]))
    def a_card_goes_back(self, before: int) -> None:
        shoe = self.table.now.shoe
        if shoe is not None and shoe.drawn > before:
            self.table.says(CardPushedBack(card=None, number=shoe.drawn - before))

    @rule(lost=st.booleans(), back=st.booleans(), boot=st.sampled_from([7, 7, 8]))
    def the_link(self, lost: bool, back: bool, boot: int) -> None:
        if lost:
            self.table.disconnect()
        if back and not self.table.now.link.up:
            self.table.connect()
            if self.table.profile == "reference":
                self.table.hello(boot=boot, resumed=boot == 7)

    # What befalls the host.

    @rule(boot=st.sampled_from(["b1", "b1", "b2"]))
    def a_restart_on_what_was_stored(self, boot: str) -> None:
        before = self.table
        again = Held(**self.given, state=state.from_bytes(state.to_bytes(before.now)))
        again.inputs, again.effects, again.events = before.inputs, before.effects, before.events
        seen, outcomes, said = self.watch.seen, self.watch.outcomes, self.watch.told
        self._sit_down(again)
        self.watch.seen, self.watch.outcomes, self.watch.told = seen, outcomes, said
        again.restart(boot)

    @rule(us=st.sampled_from([0, 500_000, 20_000_000]))
    def time_passes(self, us: int) -> None:
        self.table.feed(Tick(t_us=self.table.t_us + us))

    @rule()
    def a_part_of_the_controller_fails(self) -> None:
        self.table.fails()

    def teardown(self) -> None:
        """The journal's inputs, read back from their bytes, give the same bytes again."""
        if not hasattr(self, "table"):
            return
        again = TableHarness(**self.given)
        for happened in self.table.inputs:
            again.feed(inputs.from_bytes(inputs.to_bytes(happened)))
        assert [told_in_public(e) for e in again.effects] == [
            told_in_public(e) for e in self.table.effects
        ]
        assert state.to_bytes(again.now) == state.to_bytes(self.table.now)


def runs(tables: int, steps: int, seed: int) -> None:
    ways = settings(
        max_examples=tables, stateful_step_count=steps, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(hypothesis.seed(seed)(AnyTable), settings=ways)


def test_whatever_comes_in_any_order_the_table_is_whole_and_replays_the_same(seed: int) -> None:
    runs(60, 40, seed)


def test_it_stays_so_for_longer(seed: int) -> None:
    runs(3, 80, seed)


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=15)
@pytest.mark.parametrize("part", range(10))
def test_it_stays_so_for_longer_in_many_more_tables(seed: int, part: int) -> None:
    runs(5, 80, seed + part)


@pytest.mark.soak
def test_it_stays_so_for_as_long_as_there_is_time(seed: int) -> None:
    until = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60")) / 4
    while time.monotonic() < until:
        seed += 1
        runs(200, 80, seed)
