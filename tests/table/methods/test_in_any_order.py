"""Wagers, refusals, squeezes, the shoe handed about, in any order: one holder, and a way on."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_proto.events import Armed
from shoe_ctl.table import state
from shoe_ctl.table.handling import Player
from shoe_ctl.table.methods import may_draw, recipient
from tests.table.methods.handing import CASINO, at
from tests.table.playing import SHIFT, Playing
from tests.table.sessions import goes_on

hands = st.sampled_from(["player", "banker"])
players = st.sampled_from(["ann", "bob", "cat"])
seats = st.integers(1, 3)
anyone = st.fixed_dictionaries({}, optional={"player": players, "seat": seats})
commands: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.tuples(
        st.just("place_wager"),
        st.fixed_dictionaries(
            {
                "player": players,
                "seat": seats,
                "wager": st.sampled_from(["player", "banker", "tie"]),
                "amount": st.integers(1, 2),
            }
        ),
    ),
    st.tuples(
        st.just("withdraw_wager"),
        st.fixed_dictionaries({"player": players, "seat": seats, "wager": hands}),
    ),
    st.tuples(
        st.sampled_from(["refuse_cards", "set_first_hand"]), st.fixed_dictionaries({"hand": hands})
    ),
    st.tuples(
        st.sampled_from(["pass_cards", "name_holder", "allow_squeeze"]),
        st.builds(lambda hand, who: {"hand": hand, **who}, hands, anyone),
    ),
    st.tuples(st.sampled_from(["offer_shoe", "allow_without_wager"]), anyone),
    st.tuples(st.sampled_from(["relinquish_shoe", "declare_out_of_view"]), st.just({})),
    st.tuples(st.just("change_method"), st.sampled_from("ABC").map(lambda m: {"method": m})),
    st.tuples(
        st.just("expose"),
        st.fixed_dictionaries(
            {"hand": hands},
            optional={"index": st.integers(1, 3), "by": st.sampled_from(["dealer", "holder"])},
        ),
    ),
    *[st.just(("goes_on", {}))] * 8,  # often enough that hands come to be passed
)


def take(table: Playing, step: tuple[str, dict[str, Any]]) -> None:
    command, args = step
    if command == "goes_on":
        on(table)
        return
    position = CASINO if command in ("change_method", "allow_without_wager") else SHIFT
    table.asks(command, position=position, **args)


def on(table: Playing) -> None:
    """One step towards the next round, by staff who hand the cards and the shoe as they must."""
    now = table.now
    if now.state == "closed" and not isinstance(table.desired, Armed):
        table.does("relinquish_shoe")
        return
    if now.state == "revealing" and not now.round.all_revealed:
        order = ("banker", "player") if now.round.hands.first == "banker" else ("player", "banker")
        down = [d.hand for d in now.round.cards if not d.revealed]
        hand = next(name for name in order if name in down)
        if not table.asks("expose", hand=hand).accepted:
            table.does("pass_cards", hand=hand)
        return
    goes_on(table)


def holds(table: Playing) -> None:
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


def passed_rightly(table: Playing, before: state.TableState, step: Any) -> None:
    """A hand that the dealer passes in Method A goes to whom the rules name, and to no other."""
    command, args = step
    if command != "pass_cards" or (before.method or "A") != "A" or before.round is None:
        return
    handling, now = before.round.hands.of(args["hand"]), table.now.round.hands.of(args["hand"])
    if now == handling or not before.wagers.history:
        return
    found = recipient(
        before.wagers, args["hand"], handling.refused, table.controller._turn.wager_rules
    )
    assert found is not None
    assert handling.holder is None
    assert now.holder == Player(id=found.player.id, seat=found.player.seat)
    assert now.holder.id not in [player.id for player in handling.refused]


@settings(max_examples=120)
@given(st.lists(commands, min_size=5, max_size=50))
def test_one_holder_at_a_time_and_always_a_way_on(order: list[tuple[str, dict[str, Any]]]) -> None:
    table = at("A", area="Paiza Club")
    table.step = lambda: holds(table)
    for step in order:
        before = table.now
        take(table, step)
        passed_rightly(table, before, step)
    assert state.from_bytes(state.to_bytes(table.now)) == table.now
    rounds = table.now.rounds
    for _ in range(40):
        outcomes = table.told("round.outcome")
        if outcomes and int(outcomes[-1]["round_id"].rpartition("-r")[2]) > rounds:
            break
        on(table)
    else:
        raise AssertionError(f"no way on from {table.now}")
    again = at("A", area="Paiza Club")
    for happened in table.inputs[len(again.inputs) :]:
        again.feed(happened)
    assert again.effects == table.effects
    assert again.now == table.now
