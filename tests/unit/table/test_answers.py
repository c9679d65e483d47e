"""What a command is answered: one sentence that says what happened, from what the room was told."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.records import Audience
from shoe_ctl.table import answers
from shoe_ctl.table.effects import Answer, TableEvent
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.bench import played_once
from shoe_testing.examples import sampled
from shoe_testing.tables import (
    BANKER_WINS,
    PLAYER_WINS,
    ROUNDS,
    STAND,
    TableHarness,
    betting_table,
    place_bet,
)
from simulators.table.scenario import shipped

SAID_OTHERWISE = frozenset({
    # each is a part of what another event says, or of what is next
    "round.card_dealt", "irregularity.step", "review.opened", "review.closed", "outage.closed",
    "shoe.not_aligned", "shoe.answered", "shoe.unanswered", "shoe.arm_refused", "shoe.arm_taken",
    "shoe.cleared", "shoe.fault",
})  # fmt: skip


@pytest.mark.parametrize("name", sampled(shipped(), one_in=3, cpu_s=0.02))
async def test_every_command_of_a_scenario_is_answered_with_what_happened(name: str) -> None:
    bench = (await played_once(name)).bench
    words = {*answers._EACH, *answers._TOGETHER}
    for happened, effects in zip(bench.inputs, bench.effects, strict=True):
        if not isinstance(happened, TableCommand):
            continue
        (answer,) = [effect for effect in effects if isinstance(effect, Answer)]
        assert answer.message is not None
        text = english(answer.message)
        if not answer.accepted:
            assert text.startswith("next: ")
            continue
        told = [e for e in effects if isinstance(e, TableEvent) and e.audience is Audience.PUBLIC]
        assert {event.type for event in told} <= words | SAID_OTHERWISE, happened
        said, _, todo = text.rpartition("next: ")
        assert todo
        assert said or not ({event.type for event in told} & words), (happened, answer)
        for odd in ("None", "{", "}", "  ", "\n"):
            assert odd not in text
        players = {str(name) for e in told for name in [(e.restricted_data or {}).get("player")]}
        assert not {p for p in players if p.isalpha() and p not in HANDS} & set(text.split())


HANDS = ("player", "banker", "None")
"""Values of ``player`` that are a hand's, or nobody's."""


def text(table: TableHarness, command: str, **args: Any) -> str:
    return str(table.asks(command, **args).text)


def test_a_round_is_told_from_announcement_to_announcement() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    assert text(table, "place_your_bets") == "round bac-07-s1-r1 is open; next: no more bets"
    assert text(table, "no_more_bets") == "bets are closed; next: draw Player's card 1"
    table.deal(ROUNDS["Player draws an 8, Banker stands on 3"].rpartition(" ")[0])
    assert text(table, "expose", hand="player") == "Player shows 2D TS; next: expose Banker's cards"
    assert text(table, "expose", hand="banker") == "Banker shows 3C TH; next: announce both totals"
    assert text(table, "announce_totals") == "Player 2, Banker 3; next: draw Player's third card"
    table.draw("8C")
    assert text(table, "expose", hand="player") == "Player shows 8C; next: announce the outcome"
    assert text(table, "announce_outcome") == (
        "banker wins, 3 to 0; next: pay and collect, then settle"
    )
    assert text(table, "settle") == "the round is settled; next: place your bets"


@pytest.mark.parametrize(
    ("cards", "says"),
    [
        (PLAYER_WINS, "player wins, 9 to 5"),
        (BANKER_WINS, "banker wins, 8 to 2"),
        ("7D 7C TS TH", "tie, 7 to 7"),
    ],
)
def test_the_outcome_is_said_with_both_totals_the_winners_first(cards: str, says: str) -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    table.deal(cards)
    table.turn_over()
    table.does("announce_totals")
    assert text(table, "announce_outcome").startswith(f"{says}; next: ")


def test_settle_says_what_the_house_pays_and_collects_to_the_last_fraction() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "banker", 1010)
    place_bet(table, "tie", 200, player="bo", seat=4)
    table.does("no_more_bets")
    table.deal(BANKER_WINS)
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    assert text(table, "settle") == (
        "1919/2 paid, commission 101/2, 200 collected, 1010 given back; "
        "the round is settled; next: place your bets"
    )


def test_a_repeated_command_is_answered_with_its_first_sentence() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    first = table.asks("place_your_bets", command_id="x")
    table.does("no_more_bets")
    assert table.asks("place_your_bets", command_id="x") == first


def test_a_refusal_ends_with_what_is_next() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    assert table.asks("settle").text == "next: place your bets"
    table.open_round()
    table.deal(STAND)
    table.turn_over()
    table.does("announce_totals")
    refused = table.asks("expose", hand="player")
    assert (refused.error, refused.text) == (
        "Player has no card face down",
        "next: announce the outcome",
    )
