"""The simulators' judge against published figures and against the rules in other words.

In: rounds. Out: verdicts. Must not know: the controller's own table.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

import pytest

from firmware_proto.cards import FRENCH52, Card, card
from simulators.shoe.judge import Judge, Verdict

BY_POINTS: list[Card] = [card(code) for code in ("KS", *(f"{r}S" for r in "A23456789"))]


def judged(text: str) -> Judge:
    judge = Judge()
    for code in text.split():
        judge.place(card(code))
    return judge


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("7D 9C TS TH", Verdict("banker", 7, 9, False, False)),
        ("4D 3C 4S 4H", Verdict("player", 8, 7, True, False)),
        ("TD TC TS TH 5D 2C", Verdict("player", 5, 2, True, True)),
        ("TD 3C JS KH 8D", Verdict("player", 8, 3, False, False)),
        ("6D 6C TS TH", Verdict("tie", 6, 6, False, False)),
        ("6D 5C TS TH 9S", Verdict("player", 6, 4, False, False)),
        ("TD KC TS KH AD 3C", Verdict("banker", 1, 3, True, True)),
    ],
)
def test_rounds_are_judged_as_a_person_would(text: str, verdict: Verdict) -> None:
    judge = judged(text)
    assert judge.complete
    assert judge.verdict() == verdict


def test_cards_are_laid_player_banker_player_banker() -> None:
    judge = Judge()
    places = [judge.place(card(c)) for c in ("2D", "2C", "2S", "2H")]
    assert places == [("player", 1), ("banker", 1), ("player", 2), ("banker", 2)]
    assert judge.next_place() == ("player", 3)


def test_no_card_is_laid_after_the_last() -> None:
    with pytest.raises(ValueError, match="no card due"):
        judged("7D 9C TS TH 2D")


def test_half_a_round_has_no_verdict() -> None:
    with pytest.raises(ValueError, match="not complete"):
        judged("7D 9C TS").verdict()


@pytest.mark.exhaustive(cpu_s=1.5)
def test_eight_decks_give_the_published_counts_of_standard_baccarat() -> None:
    """Every round of eight decks by points, weighted by the ways to draw it in order."""
    left = Counter({p: 128 if p == 0 else 32 for p in range(10)})
    counts: Counter[str] = Counter()

    def weigh(points: tuple[int, ...]) -> int:
        ways, taken = 1, Counter[int]()
        for p in points:
            ways *= left[p] - taken[p]
            taken[p] += 1
        return ways

    def finish(judge: Judge, points: tuple[int, ...], times: int) -> None:
        """Draws on; rounds of four and five cards count the cards left undrawn as well."""
        if judge.complete:
            undrawn = 1
            for n in range(len(points), 6):
                undrawn *= 416 - n
            counts[judge.verdict().winner] += weigh(points) * times * undrawn
            return
        for p in range(10):
            longer = Judge(list(judge.drawn), list(judge.player), list(judge.banker))
            longer.place(BY_POINTS[p])
            finish(longer, (*points, p), times)

    pairs = list(combinations_with_replacement(range(10), 2))
    for p1, p2 in pairs:
        for b1, b2 in pairs:
            start = Judge()
            for p in (p1, b1, p2, b2):
                start.place(BY_POINTS[p])
            finish(start, (p1, b1, p2, b2), (1 + (p1 != p2)) * (1 + (b1 != b2)))
    assert counts == {
        "banker": 2_292_252_566_437_888,
        "player": 2_230_518_282_592_256,
        "tie": 475_627_426_473_216,
    }


def test_pairs_are_by_rank_and_not_by_points() -> None:
    for first in FRENCH52.cards[:13]:
        for second in FRENCH52.cards[13:26]:
            judge = Judge([card("AS")] * 4, [first, second], [card("9S"), card("KS")])
            if judge.complete:
                assert judge.verdict().player_pair == (first.code[0] == second.code[0])
