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
