"""What the promise about outcomes holds a round's cards to, told event by event."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.records import Audience
from tests.simulation.broken import Broken
from tests.simulation.outcomes import Outcomes

SHOE, ROUND = "s1", "s1-r2"
SLOTS = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2))
DEALT = ("KC", "9D", "2S", "TH")
"""A Natural: the banker has 9, the player 2."""


def told(kind: str, subject: str, **data: Any) -> dict[str, Any]:
    return {"id": f"{kind} {data}", "type": kind, "subject": subject, "data": data}


def of_no_slot(card: str, number: int) -> dict[str, Any]:
    return told("round.card_drawn", SHOE, card=card, number=number, hand=None, placed=False)


def a_round(numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Dealt with the cards of these numbers, and ended."""
    cards = [
        told("round.card_drawn", ROUND, card=card, number=number, hand=hand, index=index)
        for card, number, (hand, index) in zip(DEALT, numbers, SLOTS, strict=True)
    ]
    hands = {
        "player": {"cards": ["KC", "2S"], "total": 2},
        "banker": {"cards": ["9D", "TH"], "total": 9},
    }
    outcome = told("round.outcome", ROUND, round_id=ROUND, winner="banker", **hands)
    return [told("round.opened", ROUND, round_id=ROUND), *cards, outcome]


def held(drawn: str, *events: dict[str, Any]) -> None:
    outcomes = Outcomes()
    outcomes.drawn += drawn.split()
    for event in events:
        outcomes.take(Audience.RESTRICTED, event)


def test_cards_of_no_slot_may_lie_behind_one_that_opens_a_round() -> None:
    aside = (of_no_slot("KC", 1), of_no_slot("9D", 2))
    held("KC 9D 9D 2S TH", *aside, *a_round((1, 3, 4, 5)))


@pytest.mark.parametrize(
    ("drawn", "before", "numbers"),
    [
        pytest.param("KC 9D 5S 2S TH", [], (1, 2, 4, 5), id="with none that opens"),
        pytest.param(
            "KC 5S 9D 2S TH", [of_no_slot("5S", 2)], (1, 3, 4, 5), id="behind one just drawn"
        ),
        pytest.param(
            "KC 5S 9D 2S TH", [of_no_slot("KC", 1)], (1, 3, 4, 5), id="which nobody told of"
        ),
        pytest.param(
            "KC 9D 5S 2S TH",
            [of_no_slot("KC", 1), of_no_slot("5S", 3)],
            (1, 2, 4, 5),
            id="further on in the round",
        ),
        pytest.param(
            "KC 5S 9D 2S TH",
            [of_no_slot("KC", 1), of_no_slot("5S", 2), told("shoe.loaded", SHOE)],
            (1, 3, 4, 5),
            id="told of another set",
        ),
    ],
)
def test_no_other_card_is_left_out_of_a_round(
    drawn: str, before: list[dict[str, Any]], numbers: tuple[int, ...]
) -> None:
    with pytest.raises(Broken, match="never a guess"):
        held(drawn, *before, *a_round(numbers))


def paid(pays: int) -> dict[str, Any]:
    line = {"wager": "banker", "stake": 100, "collected": 0, "applied": [], "result": "win"}
    return told("wager.settled", ROUND, round_id=ROUND, pays=pays, **line)


def revised(winner: str) -> dict[str, Any]:
    """The player's 2 is a 9: by the documents the player's 9 ties with the banker's."""
    hands = {
        "player": {"cards": ["KC", "9S"], "total": 9},
        "banker": {"cards": ["9D", "TH"], "total": 9},
    }
    return told("round.revised", ROUND, round_id=ROUND, winner=winner, **hands)


CORRECTED = told("round.card_corrected", ROUND, round_id=ROUND, card="9S", was="2S")


def test_a_wager_is_paid_as_the_document_says() -> None:
    drawn, dealt = "KC 9D 2S TH", a_round((1, 2, 3, 4))
    held(drawn, *dealt, paid(95))
    with pytest.raises(Broken, match="where the document has 95"):
        held(drawn, *dealt, paid(100))


def test_a_revised_outcome_is_that_of_the_corrected_cards_and_wagers_are_paid_by_it() -> None:
    drawn, dealt = "KC 9D 2S TH", a_round((1, 2, 3, 4))
    held(drawn, *dealt, CORRECTED, revised("tie"), paid(0))
    with pytest.raises(Broken, match="where the judge has"):
        held(drawn, *dealt, CORRECTED, revised("banker"))
    with pytest.raises(Broken, match="where the document has 0"):
        held(drawn, *dealt, CORRECTED, revised("tie"), paid(95))


def test_a_card_that_nobody_drew_or_named_is_in_no_round() -> None:
    with pytest.raises(Broken, match="were never drawn"):
        held("KC 9D 2S TH", *a_round((1, 2, 3, 4)), told("table.halted", ROUND), revised("tie"))
