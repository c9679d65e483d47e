"""Expected events against told ones: in order, no other of a listed type, told as a diff."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simulators.table.expectation import Told, difference, flat, pattern

OPENED = Told("round.opened", {"round_id": "r1", "inferred": True})
DEALT = Told("round.card_dealt", {"hand": "player", "index": 1, "face": "down"})
OUTCOME = Told(
    "round.outcome",
    {"player": {"cards": ["7D", "TS"], "total": 7}, "wagers": {"tie": {}}, "rule": None},
)
TOLD = [OPENED, DEALT, OUTCOME]


def differs(expected: list[str], told: list[Told], never: tuple[str, ...] = ()) -> str | None:
    return difference([pattern(line) for line in expected], never, told)


def test_nested_data_lists_and_nothing_are_written_as_one_would_read_them() -> None:
    assert flat(OUTCOME.data) == {
        "player.cards": "7D,TS",
        "player.total": "7",
        "wagers.tie": "{}",
        "rule": "null",
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("round.opened", OPENED),
        ("round.opened inferred=true round_id=r1", OPENED),
        ("round.opened round_id=*", OPENED),
        ("round.outcome player.cards=7D,TS rule=null", OUTCOME),
        ("a.b seen='two words' also=\"so\"", Told("a.b", {"seen": "two words", "also": "so"})),
    ],
)
def test_an_event_is_the_one_where_all_that_is_named_agrees(line: str, told: Told) -> None:
    assert pattern(line).matches(told)


@pytest.mark.parametrize(
    "line",
    ["round.open", "round.opened round_id=r2", "round.opened missing=*", "round.opened inferred=1"],
)
def test_an_event_with_another_type_or_value_is_not_the_one(line: str) -> None:
    assert not pattern(line).matches(OPENED)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("", "expected an event's type first"),
        ("Round x=1", "expected an event's type first"),
        ("round.opened x", "expected key=value, not 'x'"),
        ("round.opened =1", "expected key=value, not '=1'"),
        ("round.opened a=1 a=2", "a is there twice"),
        ("round.opened a='1", "No closing quotation"),
    ],
)
def test_a_line_that_is_no_pattern_says_what_was_expected(line: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        pattern(line)


def test_types_that_nobody_listed_may_come_anywhere() -> None:
    assert differs(["round.opened", "round.outcome"], TOLD) is None


@pytest.mark.parametrize(
    ("expected", "told", "never"),
    [
        (["round.opened"], [], ()),
        (["round.opened"], [OPENED, OPENED], ()),
        (["round.opened", "round.card_dealt"], [DEALT, OPENED], ()),
        (["round.opened"], TOLD, ("round.outcome",)),
        (["round.opened round_id=r2"], TOLD, ()),
    ],
)
def test_one_missing_one_too_many_another_order_or_a_forbidden_one_differs(
    expected: list[str], told: list[Told], never: tuple[str, ...]
) -> None:
    assert differs(expected, told, never) is not None


def test_a_difference_is_shown_line_by_line_with_what_was_asked_of_each_type() -> None:
    expected = ["round.opened", "round.card_dealt hand=banker index=1", "round.outcome rule=null"]
    assert differs(expected, [*TOLD, Told("round.void", {"a": "b c"})], ("round.void",)) == (
        "    round.opened\n"
        "  - round.card_dealt hand=banker index=1    <- expected, did not come\n"
        "  + round.card_dealt hand=player index=1    <- came, not expected\n"
        "    round.outcome rule=null\n"
        '  + round.void a="b c"    <- came, not expected'
    )


kinds = st.sampled_from(["a.b", "a.c", "d"])
tolds = st.lists(st.builds(lambda k, n: Told(k, {"n": n}), kinds, st.integers(0, 2)), max_size=8)


@given(tolds, tolds)
def test_streams_agree_exactly_when_their_listed_events_do(
    ours: list[Told], came: list[Told]
) -> None:
    expected = [f"{t.type} n={t.data['n']}" for t in ours]
    listed = {t.type for t in ours}
    said = differs(expected, came)
    assert (said is None) is (ours == [t for t in came if t.type in listed])
    if said is not None:  # all of both is shown, once each
        lines = said.splitlines()
        assert sum(not line.startswith("  +") for line in lines) == len(ours)
        assert sum(not line.startswith("  -") for line in lines) == sum(
            t.type in listed for t in came
        )


@given(st.text(max_size=12))
@example('"')
@example("it's a\\b")
def test_any_value_is_shown_so_that_it_reads_back(value: str) -> None:
    told = Told("a.b", {"k": value})
    shown = difference([], {"a.b"}, [told])
    assert shown is not None
    if value.isprintable():
        assert pattern(
            shown.removeprefix("  + ").removesuffix("    <- came, not expected")
        ).matches(told)
