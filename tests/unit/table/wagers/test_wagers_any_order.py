"""Wager commands of any kind in any order: nothing is lost, and a replay tells the same."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.records import Audience
from shoe_ctl.table import inputs, state
from shoe_ctl.table.irregularities.differential import DIFFERENTIAL_KEY
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_ctl.table.wagers.differential import assess
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_testing.examples import examples
from shoe_testing.tables import IMPLIED, PLAYER_WINS, TableHarness, wager_table

values = st.sampled_from(["ann", "ben", "tie", "player", "dragon", 1, 3, 99, 500, -5, None, True])
arguments = st.dictionaries(
    st.sampled_from(["player", "seat", "wager", "amount", "on_behalf", "number", "x"]), values
) | st.fixed_dictionaries(
    {
        "player": st.sampled_from(["ann", "ben"]),
        "seat": st.sampled_from([1, 3]),
        "wager": st.sampled_from(["player", "banker", "tie"]),
    },
    optional={"amount": st.integers(1, 900)},
)
steps = st.one_of(
    st.tuples(
        st.sampled_from(
            ["place_wager", "place_wager", "increase_wager", "decrease_wager", "withdraw_wager",
             "restrict_wagers"]
        ),
        arguments,
    ),
    st.tuples(
        st.just("declare"),
        st.fixed_dictionaries(
            {
                "reason": st.just("seen"),
                "key": st.sampled_from(sorted(RECORDED)),
                "player": st.sampled_from(["ann", "ben"]),
                "seat": st.sampled_from([1, 3]),
                "wager": st.sampled_from(["player", "banker", "tie"]),
            },
            optional={"amount": st.sampled_from([3, 99, 1500]), "earlier": st.just(True)},
        ),
    ),
    st.tuples(
        st.just("decide"),
        st.fixed_dictionaries(
            {
                "choice": st.sampled_from(["decrease", "increase", "remove"]),
                "reason": st.just("asked"),
                "player": st.sampled_from(["ann", "ben"]),
                "seat": st.sampled_from([1, 3]),
                "wager": st.sampled_from(["player", "banker"]),
            },
            optional={"amount": st.integers(1, 400)},
        ),
    ),
    st.tuples(st.sampled_from(["no_more_bets", "deal", "play", "void", "fault"]), st.none()),
)  # fmt: skip


@examples(80)
@given(st.booleans(), st.lists(steps, min_size=3, max_size=25))
def test_no_minor_unit_is_lost_and_replay_tells_the_same(
    explicit: bool, order: list[tuple[str, Any]]
) -> None:
    way = {} if explicit else IMPLIED
    table = wager_table({"minimum": 10, "maximum": 1000, "differential": 400}, **way)
    for command, args in order:
        if explicit and table.now.state == "idle":
            table.does("place_your_bets")
        if command == "no_more_bets" and explicit and table.now.state == "betting":
            table.does(command)
        elif command == "deal" and table.now.state == "closed":
            table.deal(PLAYER_WINS)
        elif command == "play":
            plays_out(table, explicit=explicit)
        elif command == "fault":
            table.fails()
            table.rules("play_on")
            meets_the_differential(table)
        elif command == "void" and table.now.round is not None:
            table.fails()
            table.rules("void")
        elif args is not None:
            table.asks(command, **args)
    came = sum(e["change"] for e in table.told("wager.accepted"))
    went = sum(ln["collected"] + ln["returned"] for ln in table.told("wager.settled"))
    assert came - went == sum(held.chips for held in table.now.wagers.standing)
    assert state.from_bytes(state.to_bytes(table.now)) == table.now
    again = TableHarness(limits=table.settings.limits, **way)
    for happened in table.inputs:
        again.feed(inputs.from_bytes(inputs.to_bytes(happened)))
    assert plain(again) == plain(table)
    assert again.now == table.now


def plays_out(table: TableHarness, *, explicit: bool) -> None:
    if explicit and table.now.state == "betting":
        table.does("no_more_bets")
    meets_the_differential(table)
    assert table.key is None
    codes = PLAYER_WINS.split() if table.now.state in ("idle", "betting", "closed") else []
    for code in codes:
        table.draw(code)
        meets_the_differential(table)
    table.finish()


def meets_the_differential(table: TableHarness) -> None:
    """The pit manager removes what there is on the higher hand, or a ruling lets it stand."""
    if table.key == DIFFERENTIAL_KEY and table.now.halt.current.step == "ruling":
        table.rules("play_on")
    if table.key == DIFFERENTIAL_KEY and table.now.halt.current.step == "changing":
        table.does("decide", choice="insufficient")
    while table.key == DIFFERENTIAL_KEY:
        found = assess(table.now.wagers, WagerRules(table.game, None, table.settings.limits))
        if not found.exceeded:  # what staff found on the other hand has met it
            table.rules("removed")
            return
        held = next(w for w in table.now.wagers.standing if w.amount and w.wager == found.high)
        named = {"player": held.player, "seat": held.seat, "wager": held.wager}
        table.does("decide", choice="remove", reason="named", **named)


def plain(table: TableHarness) -> bytes:
    return msgspec.json.encode(
        [(e.type, e.audience is Audience.PUBLIC, e.data, e.restricted_data) for e in table.events]
    )
