"""Wagers, refusals, squeezes, the shoe handed about, in any order: one holder, and a way on."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import Armed
from shoe_ctl.table import state
from shoe_ctl.table.round.entitlement import find_recipient, may_draw
from shoe_ctl.table.state import Player
from shoe_testing.examples import examples
from shoe_testing.table_situations import on_hand
from shoe_testing.tables import CASINO, SHIFT, TableHarness, method_table

hands = st.sampled_from(["player", "banker"])
players = st.sampled_from(["ann", "bob", "cat"])
seats = st.integers(1, 3)
anyone = st.fixed_dictionaries({}, optional={"player": players, "seat": seats})
Asked = tuple[str, dict[str, Any]]


def asked(commands: list[str], args: st.SearchStrategy[dict[str, Any]]) -> Any:
    return st.tuples(st.sampled_from(commands), args)


whose = st.builds(lambda hand, who: {"hand": hand, **who}, hands, anyone)
methods = st.sampled_from("ABC").map(lambda letter: {"method": letter})
shoes = st.one_of(
    asked(["offer_shoe", "allow_without_wager"], anyone),
    asked(["relinquish_shoe", "declare_out_of_view"], st.just({})),
)
wagers = st.one_of(
    asked(
        ["place_wager"],
        st.fixed_dictionaries(
            {
                "player": players,
                "seat": seats,
                "wager": st.sampled_from(["player", "banker", "tie"]),
                "amount": st.integers(1, 2),
            }
        ),
    ),
    asked(
        ["withdraw_wager"],
        st.fixed_dictionaries({"player": players, "seat": seats, "wager": hands}),
    ),
)
handing = st.one_of(
    asked(["pass_cards", "refuse_cards", "set_first_hand"], st.fixed_dictionaries({"hand": hands})),
    asked(["pass_cards", "name_holder", "allow_squeeze"], whose),
    asked(
        ["expose"],
        st.fixed_dictionaries(
            {"hand": hands},
            optional={"index": st.integers(1, 3), "by": st.sampled_from(["dealer", "holder"])},
        ),
    ),
)
anything = st.one_of(asked(["change_method"], methods), shoes, wagers, handing)


def some(*own: Any, least: int = 0, most: int = 6) -> st.SearchStrategy[list[Asked]]:
    """A few commands, of those that belong here or of any."""
    return st.lists(st.one_of(*own, anything), min_size=least, max_size=most)


# What is asked while the table stands in a state, before it goes on from there.
plans = st.fixed_dictionaries(
    {
        "idle": some(asked(["change_method"], methods), shoes, most=3),
        "betting": some(wagers, shoes, least=2, most=8),
        "closed": some(shoes, most=3),
        "dealing": some(most=1),
        "revealing": some(handing, least=4, most=10),
        "drawing": some(most=1),
        "resolved": some(most=2),
    }
)


def take(table: TableHarness, step: Asked) -> None:
    command, args = step
    position = CASINO if command in ("change_method", "allow_without_wager") else SHIFT
    table.asks(command, position=position, **args)


def holds(table: TableHarness) -> None:
    """What must be so after every input."""
    now = table.now
    if isinstance(table.desired, Armed) and now.state == "closed":
        assert may_draw(now.control, now.wagers)
    if now.control.holder is not None:
        assert (now.method or table.settings.method) == "C"
    if now.round is None:
        return
    for name in ("player", "banker"):
        handling = now.round.hands.of(name)
        if handling.holder is not None:
            assert now.state in ("revealing", "drawing", "resolved", "suspended")
            assert (now.method or table.settings.method) != "B"


def passed_rightly(table: TableHarness, before: state.TableState, step: Asked) -> None:
    """A hand that the dealer passes in Method A goes to whom the rules name, and to no other."""
    command, args = step
    if (
        command != "pass_cards"
        or (before.method or table.settings.method) != "A"
        or before.round is None
    ):
        return
    handling, now = before.round.hands.of(args["hand"]), table.now.round.hands.of(args["hand"])
    if now == handling or not before.wagers.history:
        return
    found = find_recipient(
        before.wagers, args["hand"], handling.refused, table.controller._turn.wager_rules
    )
    assert found is not None
    assert handling.holder is None
    assert now.holder == Player(id=found.player.id, seat=found.player.seat)
    assert now.holder.id not in [player.id for player in handling.refused]


def play(table: TableHarness, plan: dict[str, list[Asked]]) -> None:
    """A round: in each state what the plan asks there, in the revealing one a part at a time."""
    rounds, left = table.now.rounds, {name: list(some) for name, some in plan.items()}
    for _ in range(60):
        now = table.now
        if now.state == "idle" and now.rounds > rounds:
            return
        here = left.get(now.state, [])
        for step in here[:3]:
            before = table.now
            take(table, step)
            passed_rightly(table, before, step)
        del here[:3]
        if table.now.state == now.state:
            on_hand(table)
    raise AssertionError(f"no way on from {table.now}")


@examples(100)
@given(st.sampled_from("AC"), st.lists(plans, min_size=1, max_size=3))
def test_one_holder_at_a_time_and_always_a_way_on(
    method: str, rounds: list[dict[str, list[Asked]]]
) -> None:
    table = method_table(method, area="Paiza Club")
    again = method_table(method, area="Paiza Club")
    begun = len(again.inputs)
    table.step = lambda: holds(table)
    for plan in rounds:
        play(table, plan)
    assert len(table.told("round.outcome")) == len(rounds)
    assert state.from_bytes(state.to_bytes(table.now)) == table.now
    for happened in table.inputs[begun:]:
        again.feed(happened)
    assert again.effects == table.effects
    assert again.now == table.now
