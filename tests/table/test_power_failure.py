"""Power lost in a round: what is decided by the cards seen, and the rule that then holds."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from tests.table.playing import Playing


def loses_power_after(codes: str, *, name: str = "tiger", **given: Any) -> dict[str, Any]:
    """What the room is told when the host booted with these cards on the table."""
    shown: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}
    table = Playing(name=name, **(shown | given)).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    for code in codes.split():
        table.draw(code)
    (raised,) = (
        effect
        for effect in table.restart("b2")
        if isinstance(effect, TableEvent) and effect.type == "irregularity.raised"
    )
    assert raised.audience is Audience.PUBLIC
    return raised.data


@pytest.mark.parametrize(
    ("name", "rule"), [("tiger", "5.17.1"), ("immortal_dragon_tiger", "5.15.1")]
)
def test_with_nothing_decided_each_player_may_withdraw(name: str, rule: str) -> None:
    told = loses_power_after("7D", name=name, layout="A")
    assert told["decided"] == {}
    assert (told["end"], told["rule"]) == ("withdrawal", rule)


@pytest.mark.parametrize(
    ("name", "rule"), [("tiger", "5.17.2"), ("immortal_dragon_tiger", "5.15.2")]
)
def test_with_a_wager_decided_play_goes_on(name: str, rule: str) -> None:
    # Player stands on 6, Banker draws: Banker can no longer win on 6 with two cards
    told = loses_power_after("6D 2C TS TH", name=name, layout="A")
    assert told["decided"]["small_tiger"] == "lose"
    assert "player" not in told["decided"]
    assert (told["end"], told["rule"]) == ("continued", rule)


def test_a_pair_in_players_hand_wins_tiger_pair_before_banker_is_complete() -> None:
    assert loses_power_after("4D 2C 4S")["decided"]["tiger_pair"] == "win"


def test_only_wagers_that_the_layout_offers_count() -> None:
    on = {
        layout: loses_power_after("7D 2C 4S", name="immortal_dragon_tiger", layout=layout)
        for layout in "AB"
    }
    assert "player_pair" not in on["A"]["decided"]
    assert on["B"]["decided"] == on["A"]["decided"] | {"player_pair": "lose"}


def test_cards_face_down_decide_nothing_however_they_lie() -> None:
    """Rounds alike from the table are told alike: the facts follow revealed cards only."""
    told = [
        loses_power_after(codes, face_up_after_ms=60_000)
        for codes in ("4D 2C 4S", "9D 9C KS", "7D 2C AS")
    ]
    assert told[0]["decided"] == {}
    assert told == [told[0]] * 3
