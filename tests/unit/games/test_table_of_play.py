"""The Table of Play against a copy written here by hand, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import pytest

from firmware_proto.cards import DECKS, Card, card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.conditions import CORE, core_features, reachable
from shoe_ctl.games.table_of_play import (
    End,
    ThirdCards,
    natural,
    next_hand,
    possible_ends,
    total,
)

# One row for each two-card total of Banker, one letter for each of Player's third card's points
# 0 to 9, and after the bar: what Banker does where Player stood.
BANKER = {
    0: "DDDDDDDDDD|D",
    1: "DDDDDDDDDD|D",
    2: "DDDDDDDDDD|D",
    3: "DDDDDDDDSD|D",
    4: "SSDDDDDDSS|D",
    5: "SSSSDDDDSS|D",
    6: "SSSSSSDDSS|S",
    7: "SSSSSSSSSS|S",
}
PLAYER = "DDDDDDSS"

POINTS = {points: card(code + "S") for points, code in enumerate("TA23456789")}


def hand(points: int) -> tuple[Card, Card]:
    """Two cards of this total."""
    return POINTS[0], POINTS[points]


@pytest.mark.parametrize("player", range(8))
def test_player_draws_by_the_table(player: int) -> None:
    for banker in range(8):
        due = next_hand(hand(player), hand(banker))
        if PLAYER[player] == "D":
            assert due == "player"
        else:
            assert due == ("banker" if BANKER[banker][-1] == "D" else None)


@pytest.mark.parametrize("banker", BANKER)
@pytest.mark.parametrize("third", range(10))
def test_banker_draws_by_the_table_after_players_third_card(banker: int, third: int) -> None:
    for player in range(6):
        due = next_hand((*hand(player), POINTS[third]), hand(banker))
        assert due == ("banker" if BANKER[banker][third] == "D" else None)


@pytest.mark.parametrize("points", [8, 9])
@pytest.mark.parametrize("other", range(10))
def test_a_natural_in_either_hand_ends_the_round(points: int, other: int) -> None:
    assert next_hand(hand(points), hand(other)) is None
    assert next_hand(hand(other), hand(points)) is None


def test_the_first_four_cards_go_to_player_and_banker_in_turn() -> None:
    one = POINTS[2]
    assert next_hand((), ()) == "player"
    assert next_hand((one,), ()) == "banker"
    assert next_hand((one,), (one,)) == "player"
    assert next_hand((one, one), (one,)) == "banker"


def test_a_round_is_complete_once_both_third_cards_are_dealt() -> None:
    assert next_hand((*hand(0), POINTS[0]), (*hand(0), POINTS[0])) is None
    assert next_hand(hand(7), (*hand(5), POINTS[0])) is None


@pytest.mark.parametrize(
    ("player", "banker"),
    [
        ("", "9S"),  # Banker before Player
        ("9S 9S", ""),
        ("9S 9S 9S", "9S"),
        ("2S", "2S 2S"),
        ("2S 2S 2S 2S", "2S 2S"),
        ("9S TS TS", "2S 2S"),  # a third card against a Natural
        ("2S TS", "9S TS TS"),
        ("6S TS TS", "2S 2S"),  # Player stands on six
        ("5S TS", "2S TS TS"),  # Player is due first
        ("6S TS", "6S TS TS"),  # Banker stands on six where Player stood
        ("2S TS 8S", "3S TS TS"),  # Banker stands on three against an eight
    ],
)
def test_hands_no_dealing_can_lead_to_are_refused(player: str, banker: str) -> None:
    with pytest.raises(InputRefused):
        next_hand([card(c) for c in player.split()], [card(c) for c in banker.split()])


@pytest.mark.parametrize(
    ("codes", "expected"),
    [("4S 2S 6S", 2), ("5S 6S 8S", 9), ("7S 3S", 0), ("TS JS QS", 0), ("AS KS", 1), ("Sf 9g", 9)],
)
def test_a_total_is_the_units_digit(codes: str, expected: int) -> None:
    assert total([card(code) for code in codes.split()]) == expected


def test_only_two_cards_of_eight_or_nine_are_a_natural() -> None:
    for first, second in product(POINTS.values(), repeat=2):
        assert natural((first, second)) == ((first.points + second.points) % 10 in {8, 9})
    assert not natural((POINTS[2], POINTS[3], POINTS[4]))


def third_cards_by_hand(player: int, banker: int) -> Iterator[tuple[str, ...]]:
    """Every course after the first four cards, by the copy above: who draws, and which points."""
    if player >= 8 or banker >= 8:
        yield ()
    elif PLAYER[player] == "S":
        yield from ([("banker", n) for n in "0123456789"] if BANKER[banker][-1] == "D" else [()])
    else:
        for third in "0123456789":
            if BANKER[banker][int(third)] == "D":
                yield from (("player", third, "banker", last) for last in "0123456789")
            else:
                yield "player", third


def end_by_hand(player: int, banker: int, course: tuple[str, ...]) -> End:
    """The totals and the numbers of cards after this course."""
    drawn = dict(zip(course[::2], map(int, course[1::2]), strict=True))
    return (
        (player + drawn.get("player", 0)) % 10,
        2 + ("player" in drawn),
        (banker + drawn.get("banker", 0)) % 10,
        2 + ("banker" in drawn),
    )


def test_every_round_of_every_two_hands_is_dealt_by_the_copy() -> None:
    pairs = list(combinations_with_replacement(POINTS.values(), 2))
    for first, second in product(pairs, repeat=2):
        for course in third_cards_by_hand(total(first), total(second)):
            hands: dict[str, tuple[Card, ...]] = {"player": first, "banker": second}
            for due, points in zip(course[::2], course[1::2], strict=True):
                assert next_hand(hands["player"], hands["banker"]) == due
                hands[due] += (POINTS[int(points)],)
            assert next_hand(hands["player"], hands["banker"]) is None


def test_every_end_and_every_way_to_it_are_those_of_the_copy() -> None:
    for player, banker in product(range(10), repeat=2):
        courses = list(third_cards_by_hand(player, banker))
        nothing_seen = possible_ends(player, banker)
        ways = [(end, points) for end, found in nothing_seen.items() for points in found]
        assert sorted(ways) == sorted(
            (end_by_hand(player, banker, course), tuple(map(int, course[1::2])))
            for course in courses
        )
        points = (None, *range(10))
        one_dealt = [ThirdCards(1, fifth, None) for fifth in points]
        two_dealt = [ThirdCards(2, *both) for both in product(points, repeat=2)]
        for seen in (*one_dealt, *two_dealt):
            shown = (seen.fifth, seen.sixth)[: seen.dealt]
            fitting = [
                course
                for course in courses
                if len(course[1::2]) >= seen.dealt
                and all(
                    wanted in (None, int(points))
                    for wanted, points in zip(shown, course[1::2], strict=False)
                )
            ]
            assert possible_ends(player, banker, seen).keys() == {
                end_by_hand(player, banker, course) for course in fitting
            }


def test_conditions_reach_exactly_the_ends_of_the_copy() -> None:
    ends = {
        end_by_hand(player, banker, course)
        for player, banker in product(range(10), repeat=2)
        for course in third_cards_by_hand(player, banker)
    }
    reached = {tuple(seen.items()) for seen in reachable(CORE, DECKS["french52"], 8)}
    assert reached == {tuple(core_features(*end).items()) for end in ends}
    for end in ends:
        seen = core_features(*end)
        assert seen["player_natural"] == (end[1] == 2 and end[0] >= 8)
        assert seen["banker_natural"] == (end[3] == 2 and end[2] >= 8)
