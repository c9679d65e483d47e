"""No card is public before everyone at the table could see it, however late it is heard."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CuttingCard
from shoe_ctl.table.inputs import Tick
from shoe_testing.table_corpus import kind_of
from shoe_testing.tables import TableHarness, place_bet
from shoe_testing.twins import Twins

AFTER_US = 1_000_000
OPEN: dict[str, Any] = {"announcements": "implied", "faces": "face_up"}


def seen(table: TableHarness) -> list[str]:
    return [told["card"] for told in table.told("round.card_revealed")]


def shown_apart(twins: Twins) -> bool:
    """The room has seen another card at the one than at the other."""
    return twins.parted


def passes(table: TableHarness, us: int) -> None:
    """So much time, with the ticks that the table asked for."""
    until_us = int(table.now.t_us) + us
    while (wake_us := table.now.wake_us) is not None and table.now.t_us < wake_us <= until_us:
        table.feed(Tick(t_us=wake_us))
    table.feed(Tick(t_us=until_us))


def cable_off(table: TableHarness) -> None:
    table.disconnect()
    table.connect()


def power_off(table: TableHarness) -> None:
    table.restart("b2")
    table.connect()


def begun(twins: Twins, cards: str) -> None:
    """These cards lie there and are seen, and the shoe is armed for the next."""
    twins.both(lambda table: table.restart("b1"))
    twins.both(TableHarness.connect)
    twins.both(TableHarness.hello)
    for code in cards.split():
        twins.draws((code, code))
        twins.both(lambda table: passes(table, 2 * AFTER_US))


@pytest.mark.parametrize("lost", [cable_off, power_off])
@pytest.mark.parametrize("cards", ["4D", "4D 9C 3S"])
def test_a_card_heard_of_only_in_a_halt_is_public_once_the_room_had_its_time(
    lost: Any, cards: str
) -> None:
    twins = Twins(**OPEN)
    begun(twins, cards)
    twins.both(lost)
    twins.draws(("KD", "4S"), armed=True)
    twins.both(lambda table: passes(table, AFTER_US - 100_000))
    assert not shown_apart(twins)  # and so far they are alike in everything
    assert [len(table.now.round.cards) for table in (twins.one, twins.other)] == [
        len(cards.split()) + 1
    ] * 2
    twins.both(lambda table: passes(table, 200_000))
    assert shown_apart(twins)
    assert (seen(twins.one)[-1], seen(twins.other)[-1]) == ("KD", "4S")


def test_what_it_decides_counts_among_what_stood_when_the_power_failed() -> None:
    twins = Twins(**OPEN)
    begun(twins, "4D 9C")
    twins.both(power_off)
    twins.draws(("KD", "4S"), armed=True)
    for table in (twins.one, twins.other):
        assert "tiger_pair" not in table.now.halt.current.data["decided"]
        passes(table, AFTER_US)
    decided = [table.now.halt.current.data["decided"] for table in (twins.one, twins.other)]
    assert [d.get("tiger_pair") for d in decided] == [None, "win"]


def test_no_withdrawal_is_offered_before_what_lies_open_is_seen() -> None:
    table = TableHarness(**OPEN).open_shoe()
    table.draw("4D")
    table.does("declare", key="power_failure", reason="dark")
    refused = table.asks("decide", choice="offer_withdrawal")
    assert refused.error == "the cards are being seen"
    passes(table, AFTER_US)
    table.does("decide", choice="offer_withdrawal")


def test_the_first_card_heard_after_the_cutting_card_is_seen_in_its_time() -> None:
    twins = Twins(announcements="explicit", faces="face_up", area="Paiza Club")
    twins.both(lambda table: table.does("place_your_bets"))
    twins.both(lambda table: place_bet(table, "player", 500))
    twins.both(lambda table: table.does("no_more_bets"))
    twins.both(lambda table: table.says(CuttingCard()))
    twins.draws(("KD", "4S"), armed=True)
    assert [len(t.now.round.cards) for t in (twins.one, twins.other)] == [1, 1]
    twins.both(lambda table: passes(table, AFTER_US - 100_000))
    assert not shown_apart(twins)
    twins.both(lambda table: passes(table, 200_000))
    assert shown_apart(twins)


def test_a_card_drawn_just_before_the_cable_went_is_seen_while_it_is_away() -> None:
    table = TableHarness(**OPEN).open_shoe()
    table.draw("4D")
    table.disconnect()
    passes(table, AFTER_US - 100_000)
    assert seen(table) == []
    passes(table, 200_000)
    assert seen(table) == ["4D"]
    assert table.key == "link_lost"


@pytest.mark.parametrize("shoe", ["angel_eye"])
def test_a_card_dealt_face_up_that_is_read_after_all_is_seen_in_its_time(shoe: str) -> None:
    twins = Twins(**kind_of(shoe), **OPEN)
    twins.draws(("4D", "4D"))
    twins.both(lambda table: passes(table, 2 * AFTER_US))
    twins.draws((None, None))
    assert twins.one.key == "misread"
    slot: dict[str, Any] = {"hand": "banker", "index": 1}
    named = iter(("KD", "4S"))
    twins.both(lambda table: table.says(CardDrawn(card=card(next(named)), **slot)))
    assert not shown_apart(twins)
    twins.both(lambda table: passes(table, AFTER_US - 100_000))
    assert not shown_apart(twins)
    twins.both(lambda table: passes(table, 200_000))
    assert shown_apart(twins)


@pytest.mark.parametrize("shoe", ["angel_eye"])
def test_a_card_that_somebody_exposed_is_public_as_soon_as_it_is_read(shoe: str) -> None:
    table = TableHarness(**kind_of(shoe), announcements="explicit").open_shoe()
    table.open_round()
    table.deal("4D 9C")
    table.draw(None)
    table.deal("QH")
    slot: dict[str, Any] = {"hand": "player", "index": 2}
    before = len(table.public)
    table.says(CardDrawn(card=None, **slot))
    assert len(table.public) == before  # it lies face down: nothing is to be seen
    table.does("expose", hand="player")
    assert table.key == "misread" and seen(table) == ["4D"]
    table.says(CardDrawn(card=card("KD"), **slot))
    assert seen(table) == ["4D", "KD"]
