"""Hands astray, Players away or gone with cards, the shoe moved, in any order: always a way on."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import Armed
from shoe_ctl.table import inputs, state
from shoe_ctl.table.irregularities import card_taken
from shoe_ctl.table.irregularities.card_taken import CARD_TAKEN
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.irregularities.players import (
    EXPOSED_WHILE_MOVING,
    HOLDER_ABSENT,
    ORDER_ALTERED_WHILE_MOVING,
    WRONG_PLAYER,
)
from shoe_ctl.table.positions import APART
from shoe_testing.examples import examples
from shoe_testing.staff import at
from shoe_testing.table_corpus import CHOSEN_WITH, spare
from shoe_testing.table_situations import on_hand
from shoe_testing.tables import SHIFT, TableHarness, balanced, dealt_table

Step = tuple[str, dict[str, Any]]

OURS = (
    WRONG_PLAYER,
    HOLDER_ABSENT,
    CARD_TAKEN,
    EXPOSED_WHILE_MOVING,
    ORDER_ALTERED_WHILE_MOVING,
)
FORWARD = {"value": 2, "first_aside": 0, "second_aside": 0, "sort": 0, "determine": 0}
"""By step of the count, the choice that leads on, where no card is awaited."""

KEYS = ["wrong_player", "holder_absent", "card_taken"]
hands = st.fixed_dictionaries(
    {"hand": st.sampled_from(["player", "banker", "both"])},
    optional={"index": st.integers(1, 3), "seat": st.integers(1, 3)},
)
declared: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.sampled_from(KEYS), hands),
    st.sampled_from(
        [
            ("holder_absent", {}),
            ("exposed_while_moving", {}),
            ("order_altered_while_moving", {}),
            ("other", {}),
        ]
    ),
)
plain = st.sampled_from(sorted({c.name for p in OURS for step in p.steps for c in step.choices}))
rarely = st.one_of(
    st.tuples(st.just("decide"), plain),
    st.tuples(st.just("passes"), hands),
    st.tuples(st.just("offer"), st.integers(1, 3)),
    st.tuples(st.just("draw"), st.sampled_from(["9C", "2D", "KD", None])),
    st.tuples(st.just("link"), st.sampled_from(["connect", "disconnect", "load"])),
)
guiding = st.tuples(st.just("guided"), st.integers(0, 6))
declaring = st.tuples(st.just("declare"), declared)
steps = st.one_of(guiding, guiding, guiding, declaring, declaring, st.just(("on", {})), rarely)


def take(table: TableHarness, step: tuple[str, Any]) -> None:
    match step:
        case "on", _:
            on_hand(table)
        case "declare", (key, more):
            table.asks("declare", key=key, reason="r", **_fitting(key, more))
        case "decide", choice:
            decide(table, choice)
        case "guided", index:
            guided(table, index)
        case "passes", more:
            table.asks("pass_cards", hand=more["hand"], seat=more.get("seat", 1))
        case "offer", seat:
            table.asks("offer_shoe", seat=seat)
        case "draw", code:
            table.draw(code)
        case "link", what:
            getattr(table, what)()


def guided(table: TableHarness, index: int) -> None:
    """One of the choices that the open step has, or the card that it wants."""
    if table.now.halt is None:
        on_hand(table)
    elif isinstance(table.desired, Armed):
        table.draw(spare(table))
    else:
        top = table.now.halt.current
        choices = PROCEDURES[top.key].step(top.step).choices
        decide(table, choices[index % len(choices)].name)


def decide(table: TableHarness, choice: str) -> None:
    said = CHOSEN_WITH.get(choice, {})
    if "cards" in said and table.key == "card_taken":
        said = {"cards": " ".join("9S" for _ in card_taken.missing_cards(at(table)))}
    position = APART if choice == "seen" else SHIFT
    table.asks("decide", choice=choice, position=position, reason="r", consented_by="lee", **said)


def _fitting(key: str, more: dict[str, Any]) -> dict[str, Any]:
    """What may be said with this key, of what is there to say."""
    takes = {
        "wrong_player": ("hand", "seat"),
        "holder_absent": ("hand",),
        "card_taken": ("hand", "index"),
    }
    return {name: value for name, value in more.items() if name in takes.get(key, ())}


def holds(table: TableHarness) -> None:
    """What must be so after every input."""
    now = table.now
    assert balanced(now), now.shoe
    assert (now.state == "suspended") is (now.halt is not None)
    if now.round is None:
        return
    lying = [*now.round.cards, *now.ahead]
    numbers = [card.number for card in lying]
    assert len(numbers) == len(set(numbers))
    assert len({(card.hand, card.index) for card in now.round.cards}) == len(now.round.cards)
    assert now.round.shoe_sorted is False or now.armed is None


def begun_with(method: str, at: str) -> TableHarness:
    """Both hands with Players, in Method C the shoe too; or one has left with cards already."""
    table = dealt_table(method=method)
    if method == "C":
        table.does("offer_shoe", seat=3)
    for hand, seat in (("player", 3), ("banker", 5)):
        table.does("pass_cards", hand=hand, seat=seat)
    if at:
        table.does("declare", key="card_taken", hand="player", reason="r")
        while table.now.halt.current.step != at:
            guided(table, FORWARD[table.now.halt.current.step])
    return table


@examples(120)
@given(
    st.sampled_from("AC"),
    st.sampled_from(["", "", *FORWARD, "replace"]),
    st.lists(steps, min_size=1, max_size=50),
)
def test_no_exception_no_card_twice_the_same_again_and_a_way_on(
    method: str, begins: str, order: list[tuple[str, Any]]
) -> None:
    table, again = begun_with(method, begins), begun_with(method, begins)
    begun = len(again.inputs)
    table.step = lambda: holds(table)
    for step in order:
        take(table, step)
    assert state.from_bytes(state.to_bytes(table.now)) == table.now
    for happened in table.inputs[begun:]:
        again.feed(inputs.from_bytes(inputs.to_bytes(happened)))
    assert again.effects == table.effects
    rounds = table.now.rounds
    for _ in range(60):
        outcomes = table.told("round.outcome")
        if outcomes and int(outcomes[-1]["round_id"].rpartition("-r")[2]) > rounds:
            return
        on_hand(table)
    raise AssertionError(f"no way on from {table.now}")
