"""What was declared by mistake is taken back: the money, the halt and the state are as before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.tables import SHIFT, TableHarness, balanced, restricted_data

FACE_UP: dict[str, Any] = {"faces": "face_up", "face_up_after_ms": 0}
LATE: dict[str, Any] = {"key": "late_wager", "player": "ann", "seat": 1, "wager": "banker"}


def closed(name: str = "tiger", **given: Any) -> TableHarness:
    """A wager of 100 on Banker, and no more bets."""
    table = TableHarness(name=name, **{**FACE_UP, **given}).open_shoe()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="banker", amount=100)
    table.does("no_more_bets")
    return table


def announced(table: TableHarness, codes: str = "2D 8C TS TH") -> TableHarness:
    """The outcome is announced: Banker wins."""
    table.deal(codes)
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    return table


def declares(table: TableHarness, **args: Any) -> int:
    """Declare it, and return its number, as its event names it."""
    table.does("declare", reason="seen", **args)
    raised = [e for e in table.public if e.type == "irregularity.raised"][-1]
    return int(raised.data["instance"])


def retracts(table: TableHarness, number: int, **more: Any) -> Any:
    said = {"reason": "it never was", "consented_by": "lee", **more}
    return table.asks("retract", declaration=number, **said)


def shown(table: TableHarness) -> list[dict[str, Any]]:
    declared = status(table.now, table.game, table.settings)["declared"]
    assert isinstance(declared, list)
    return declared


def test_late_chips_that_never_were_are_not_given_back() -> None:
    table = announced(closed())
    before = table.now.wagers.standing
    number = declares(table, **LATE, amount=500)
    assert [w.chips for w in table.now.wagers.standing] == [600]
    (said,) = shown(table)
    assert (said["declaration"], said["key"], said["chips"]) == (number, "late_wager", 500)
    assert said["position"] == SHIFT
    assert [(c["seat"], c["wager"], c["change"]) for c in said["changes"]] == [(1, "banker", -500)]
    assert "player" not in said["changes"][0]
    assert retracts(table, number).accepted
    assert table.now.wagers.standing == before
    assert shown(table) == []
    table.does("settle")
    (line,) = table.told("wager.settled")
    assert (line["stake"], line["returned"]) == (100, 100)
    assert balanced(table.now)
    assert from_bytes(to_bytes(table.now)) == table.now


def test_the_answer_says_what_each_seat_gets() -> None:
    table = announced(closed())
    number = declares(table, **LATE, amount=500)
    text = retracts(table, number).text
    assert "late_wager is taken back" in text
    assert "banker" in text


def test_after_the_outcome_surveillance_is_alarmed_and_before_it_is_not() -> None:
    table = closed()
    first = declares(table, **LATE, amount=500)
    assert retracts(table, first, position="dealer").accepted
    assert restricted_data(table, "irregularity.alarm") == []
    announced(table)
    second = declares(table, **LATE, amount=500)
    assert retracts(table, second).accepted
    (alarm,) = restricted_data(table, "irregularity.alarm")
    assert (alarm["key"], alarm["player"], alarm["person"]) == ("late_wager", "ann", "kim")
    assert [(c["wager"], c["change"]) for c in alarm["changes"]] == [("banker", -500)]
    assert table.told("irregularity.alarm") == []


def test_it_is_told_in_public_without_the_player() -> None:
    table = closed()
    number = declares(table, **LATE, amount=500)
    assert retracts(table, number).accepted
    (told,) = table.told("irregularity.retracted")
    assert told == {
        "key": "late_wager", "declaration": number, "seat": 1, "wager": "banker",
    }  # fmt: skip
    back = table.told("wager.accepted")[-1]
    assert (back["act"], back["change"], back["amount"]) == ("retracted", -500, 100)


def test_a_withdrawal_that_never_was_plays_as_before() -> None:
    table = closed()
    number = declares(table, key="late_withdrawal", player="ann", seat=1, wager="banker")
    assert table.now.wagers.standing[0].taken_back
    assert retracts(table, number).accepted
    assert not table.now.wagers.standing[0].taken_back


def test_a_wager_that_never_lay_there_is_gone() -> None:
    table = closed()
    number = declares(table, **LATE | {"seat": 3, "player": "ben"}, amount=50)
    assert len(table.now.wagers.standing) == 2
    assert retracts(table, number).accepted
    assert [w.player for w in table.now.wagers.standing] == ["ann"]


def test_what_was_built_on_it_is_taken_back_first() -> None:
    table = closed()
    first = declares(table, **LATE, amount=500)
    second = declares(table, **LATE, amount=20)
    refused = retracts(table, first)
    assert refused.error == f"others were declared since: retract {second} first"
    assert retracts(table, second).accepted
    assert retracts(table, first).accepted
    assert table.now.wagers.standing[0].chips == 100


@pytest.mark.parametrize("key", ["wrong_order", "other", "missed_draw", "power_failure"])
@pytest.mark.parametrize("name", ["tiger", "immortal_dragon_tiger", "dragon_bonus_royal"])
def test_a_halt_that_was_declared_ends_and_play_goes_on_where_it_was(name: str, key: str) -> None:
    table = closed(name)
    table.deal("2D 8C TS TH")
    table.turn_over()
    before = table.now
    number = declares(table, key=key)
    assert table.now.state == "suspended"
    assert retracts(table, number).accepted
    assert (table.now.state, table.now.halt) == ("revealing", None)
    assert table.now.round == before.round
    (ended,) = table.told("irregularity.resolved")
    assert (ended["key"], ended["how"], ended["rule"]) == (key, "retracted", None)
    table.does("announce_totals")


def test_the_card_that_was_awaited_is_awaited_again() -> None:
    table = closed()
    table.deal("2D 8C")
    number = declares(table, key="other")
    assert table.now.armed is None
    assert retracts(table, number).accepted
    assert table.now.armed == (3, "player", 2)


def test_a_halt_that_people_acted_on_is_decided() -> None:
    table = closed(faces="turned_by_dealer")
    table.deal("2D 8C TS TH")
    number = declares(table, key="power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    assert retracts(table, number).error == "power_failure was acted on since: decide it"


def test_what_was_raised_since_is_decided_first() -> None:
    table = closed()
    table.deal("2D 8C TS TH")
    number = declares(table, key="other")
    table.fails()
    table.does("pause")
    assert retracts(table, number).error == "review was raised since: decide it first"
    second_table = closed()
    second_table.deal("2D 8C TS TH")
    first = declares(second_table, key="other")
    second = declares(second_table, key="wrong_order")
    assert retracts(second_table, first).error == (
        f"others were declared since: retract {second} first"
    )


def test_what_has_ended_cannot_be_taken_back() -> None:
    table = closed()
    table.deal("2D 8C TS TH")
    number = declares(table, key="other")
    table.rules("play_on")
    assert retracts(table, number).error == "other has ended: it cannot be taken back"


@pytest.mark.parametrize(
    ("dealt", "more", "needs"),
    [
        ("", {"position": "dealer", "consented_by": None}, {"consent": "another_person"}),
        ("", {"position": "dealer", "consented_by": "kim"}, {"consent": "another_person"}),
        ("", {"position": "dealer", "reason": None}, {}),
        ("2D", {"position": "pit_manager"}, {"position": SHIFT}),
        ("2D", {"position": "dealer"}, {"position": SHIFT}),
    ],
)
def test_who_may_take_it_back(dealt: str, more: dict[str, Any], needs: dict[str, str]) -> None:
    table = closed()
    table.deal(dealt)
    number = declares(table, **LATE, amount=500)
    refused = retracts(table, number, **more)
    assert (refused.accepted, refused.needs) == (False, needs)


def test_a_number_that_names_no_declaration_is_refused_with_those_that_do() -> None:
    table = closed()
    assert retracts(table, 7).error == "nothing was declared that can be taken back now"
    number = declares(table, **LATE, amount=500)
    assert retracts(table, number + 40).error == (
        f"no such declaration; these were declared since the last round: {number}"
    )


def test_after_settle_nothing_is_left_to_take_back() -> None:
    table = announced(closed())
    number = declares(table, **LATE, amount=500)
    table.does("settle")
    assert retracts(table, number).error == "nothing was declared that can be taken back now"


def test_a_limit_that_was_declared_broken_is_closed_and_counts_for_nobody() -> None:
    limits = msgspec.convert({"minimum": 200}, TableLimits)
    table = TableHarness(**FACE_UP, limits=limits).open_shoe()
    table.does("place_your_bets")
    table.does("no_more_bets")
    number = declares(table, **LATE | {"key": "under_minimum"}, amount=100)
    assert retracts(table, number).accepted
    assert table.now.wagers.standing == ()
    (ended,) = table.told("irregularity.resolved")
    assert (ended["key"], ended["how"]) == ("under_minimum", "retracted")


def test_a_limit_broken_in_an_earlier_round_is_taken_back_too() -> None:
    limits = msgspec.convert({"minimum": 200}, TableLimits)
    table = TableHarness(**FACE_UP, limits=limits).open_shoe()
    number = declares(table, **LATE | {"key": "under_minimum"}, amount=100, earlier=True)
    assert table.now.wagers.settled_once == ("ann",)
    assert retracts(table, number, position="dealer").accepted
    assert table.now.wagers.settled_once == ()
