"""The demands of a table on every shoe: the same tests for a simulated one and for a device.

Run them: ``pytest --pyargs shoe_bench.examples``, and with ``--shoe-port PORT`` on a device. Those
marked ``shoe(profile="reference")`` need its memory or its commands.
"""

from __future__ import annotations

import pytest

from firmware_proto.cards import CARDS
from shoe_bench.bench import ShoeBench
from shoe_bench.events import Event
from simulators.shoe.judge import Judge


def judged(outcome: Event) -> Judge:
    """Return the round as the Table of Play has it, from the cards alone."""
    judge = Judge()
    hands = {hand: list(outcome.data[hand]["cards"]) for hand in ("player", "banker")}
    while (place := judge.next_place()) is not None:
        judge.place(CARDS[hands[place[0]].pop(0)])
    assert hands == {"player": [], "banker": []}
    return judge


def test_a_round_has_the_outcome_of_its_cards(shoe_bench: ShoeBench) -> None:
    shoe_bench.table.play("round.settled")
    outcome = shoe_bench.events.only("round.outcome")
    verdict = judged(outcome).verdict()
    assert outcome.data["winner"] == verdict.winner
    assert outcome.data["player"]["total"] == verdict.player_total
    assert outcome.data["banker"]["total"] == verdict.banker_total


def test_cards_come_in_the_order_in_which_the_table_asks_for_them(shoe_bench: ShoeBench) -> None:
    shoe_bench.table.play("round.bets_closed")
    cards = shoe_bench.shoe.draw(4)
    drawn = shoe_bench.events.all("round.card_drawn")[-4:]
    assert [event.data["card"] for event in drawn] == cards
    places = [(event.data["hand"], event.data["index"]) for event in drawn]
    assert places == [("player", 1), ("banker", 1), ("player", 2), ("banker", 2)]
    numbers = [event.data["number"] for event in drawn]
    assert numbers == [numbers[0] + n for n in range(4)]
    shoe_bench.table.play("round.settled")


def test_no_card_is_named_in_public_before_it_is_turned(shoe_bench: ShoeBench) -> None:
    shoe_bench.table.play("round.bets_closed")
    shoe_bench.shoe.draw(4)
    dealt = shoe_bench.events.all("round.card_dealt face=down")
    assert len(dealt) == 4
    assert all("card" not in event.data for event in dealt)
    shoe_bench.table.play("round.settled")
    assert len(shoe_bench.events.all("round.card_revealed")) >= 4


def test_a_round_cannot_be_settled_before_it_has_an_outcome(shoe_bench: ShoeBench) -> None:
    shoe_bench.table.play("round.opened")
    assert shoe_bench.commands.refused("settle").needs["state"] == "resolved"
    shoe_bench.table.play("round.settled")


@pytest.mark.shoe(profile="reference")
def test_a_shoe_says_how_many_cards_it_ever_gave(shoe_bench: ShoeBench) -> None:
    shoe_bench.commands.give("ask_shoe", what="lifetime_draws")
    before = shoe_bench.events.wait("shoe.answered what=lifetime_draws").data["value"]
    shoe_bench.table.play("round.settled")
    shoe_bench.commands.give("ask_shoe", what="lifetime_draws")
    after = shoe_bench.events.wait("shoe.answered what=lifetime_draws").data["value"]
    assert after - before == len(shoe_bench.events.all("round.card_drawn"))


@pytest.mark.shoe(profile="reference")
def test_a_shoe_is_reset_between_rounds_and_deals_on(shoe_bench: ShoeBench) -> None:
    shoe_bench.table.play("round.settled")
    shoe_bench.commands.give("reset_shoe")
    shoe_bench.events.wait("shoe.answered command=reset accepted=true")
    shoe_bench.table.play("round.settled")
    assert len(shoe_bench.events.all("round.outcome")) == 2


@pytest.mark.shoe(profile="reference")
@pytest.mark.shoe_changes("unplug", "replug")
def test_a_round_goes_on_when_the_cable_is_back(shoe_bench: ShoeBench) -> None:
    shoe_bench.table.play("round.card_dealt hand=banker index=2")
    shoe_bench.shoe.change("unplug")
    shoe_bench.events.wait("table.halted reason=link_lost")
    shoe_bench.shoe.change("replug")
    shoe_bench.events.wait("table.resumed")
    shoe_bench.table.play("round.settled")


@pytest.mark.shoe(profile="reference", cards="4D 7C 5S QH")
def test_a_natural_nine_wins_and_no_more_cards_are_drawn(shoe_bench: ShoeBench) -> None:
    outcome = shoe_bench.table.play("round.outcome")
    assert outcome.data["winner"] == "player"
    assert outcome.data["player"]["natural"]
    assert len(shoe_bench.events.all("round.card_drawn")) == 4


@pytest.mark.shoe(profile="reference")
def test_a_daemon_that_is_started_again_in_a_round_misses_no_card(shoe_bench: ShoeBench) -> None:
    shoe_bench.commands.give("place_your_bets")
    shoe_bench.commands.give("no_more_bets")  # the first card is free, and may be drawn meanwhile
    shoe_bench.stop_daemon()
    shoe_bench.start_daemon()
    shoe_bench.table.play("round.settled")
    numbers = [event.data["number"] for event in shoe_bench.events.all("round.card_drawn")]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert len(judged(shoe_bench.events.only("round.outcome")).drawn) == len(numbers)
