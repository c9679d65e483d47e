"""What was declared by mistake is taken back: the money, the halt and the state are as before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from firmware_proto.events import CuttingCard
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.tables import CASINO, SHIFT, TableHarness, balanced, restricted_data

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


def over_maximum_and_late(*amounts: int) -> tuple[TableHarness, list[int], int]:
    """An area counted so often over the maximum of 10,000; then 3,000 of it are declared late."""
    limits = msgspec.convert({"maximum": 10000}, TableLimits)
    table = TableHarness(**FACE_UP, limits=limits).open_shoe()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="banker", amount=9000)
    table.does("no_more_bets")
    announced(table)
    over = [declares(table, **LATE | {"key": "over_maximum"}, amount=each) for each in amounts]
    return table, over, declares(table, **LATE, amount=3000)


def ends_of(table: TableHarness, key: str) -> list[tuple[int, str]]:
    """Each end of this irregularity, with its number. No number ends twice."""
    ends = [e.data for e in table.public if e.type == "irregularity.resolved"]
    numbers = [end["instance"] for end in ends]
    assert len(numbers) == len(set(numbers))
    return [(end["instance"], end["how"]) for end in ends if end["key"] == key]


def test_a_limit_that_late_chips_had_explained_is_broken_again_without_them() -> None:
    table, (over,), late = over_maximum_and_late(12000)
    assert ends_of(table, "over_maximum") == [(over, "late")]
    assert retracts(table, late).accepted
    (again,) = [e.data for e in table.public if e.type == "irregularity.raised"][-1:]
    assert (again["key"], again["seat"], again["amount"]) == ("over_maximum", 1, 12000)
    assert [one["declaration"] for one in shown(table)] == [again["instance"]]
    table.does("settle")
    ends = ends_of(table, "over_maximum")
    assert ends == [(over, "late"), (again["instance"], "to_maximum")]


def test_that_limit_can_still_be_retracted_however_often_it_was_declared() -> None:
    table, _, late = over_maximum_and_late(12000, 12500)
    assert retracts(table, late).accepted
    first, second = (one["declaration"] for one in shown(table))
    assert first == second
    assert retracts(table, second).accepted
    assert [w.chips for w in table.now.wagers.standing] == [12000]
    assert retracts(table, first).accepted
    assert [w.chips for w in table.now.wagers.standing] == [9000]
    table.does("settle")
    assert [how for _, how in ends_of(table, "over_maximum")] == ["late", "retracted"]


GAMES = (
    *("immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4"),
    "dragon_bonus_royal",
)


def noticed(table: TableHarness, command: str) -> int:
    """Give the command that declares what it is named for, and return its number."""
    table.does(command)
    return int(shown(table)[-1]["declaration"])


def test_a_cutting_card_that_never_came_ends_no_shoe() -> None:
    for name in GAMES:
        table = closed(name)
        number = noticed(table, "declare_cutting_card")
        assert table.told("irregularity.raised")[-1]["instance"] == number
        table.deal("9f 9e Tg Tf" if name == "fa_fa_fabulous_4" else "9D 9C TS TH")
        assert retracts(table, number).accepted
        assert table.told("irregularity.retracted")[-1]["key"] == "cutting_card"
        assert not table.now.shoe.cutting_card_out
        assert shown(table) == []
        table.turn_over()
        table.does("announce_totals")
        table.does("announce_outcome")
        table.does("settle")
        assert table.now.state == "idle", name


def test_the_shoe_still_reports_its_cutting_card_after_that() -> None:
    table = closed()
    assert retracts(table, noticed(table, "declare_cutting_card")).accepted
    table.says(CuttingCard())
    assert table.now.shoe.cutting_card_out
    assert shown(table) == []


def test_a_cutting_card_that_the_shoe_reports_too_stays_out() -> None:
    table = closed()
    number = noticed(table, "declare_cutting_card")
    table.says(CuttingCard())
    assert retracts(table, number).error == "nothing was declared that can be taken back now"
    assert table.now.shoe.cutting_card_out


def test_the_cutting_card_of_a_shoe_that_was_changed_stays_as_it_was() -> None:
    table = TableHarness(name="tiger", **FACE_UP).open_shoe()
    number = noticed(table, "declare_cutting_card")
    table.load("set-2")
    table.does("declare_cutting_card")
    assert retracts(table, number).error == "cutting_card has ended: it cannot be taken back"
    assert table.now.shoe.cutting_card_out


def window_first(name: str) -> TableHarness:
    layout = "A" if name == "immortal_dragon_tiger" else None
    return closed(name, area="Paiza Club", **({} if layout is None else {"layout": layout}))


@pytest.mark.parametrize("name", GAMES[:-1])
def test_the_window_of_a_cutting_card_that_never_came_closes_unused(name: str) -> None:
    table = window_first(name)
    number = noticed(table, "declare_cutting_card")
    assert table.now.state == "suspended"
    assert retracts(table, number, position="dealer").accepted
    assert (table.now.state, table.now.halt) == ("closed", None)
    assert not table.now.shoe.cutting_card_out
    assert [e["how"] for e in table.told("irregularity.resolved")] == ["retracted"]


def test_a_window_that_players_used_is_decided_and_the_card_still_taken_back() -> None:
    table = window_first("immortal_dragon_tiger")
    number = noticed(table, "declare_cutting_card")
    table.does("withdraw_wager", player="ann", seat=1, wager="banker")
    assert retracts(table, number).error == "cutting_card was acted on since: decide it"
    table.does("decide", choice="close_window", position="dealer")
    assert table.now.state == "closed"
    assert retracts(table, number).accepted
    assert not table.now.shoe.cutting_card_out
    assert table.now.wagers.standing == ()


def test_a_cutting_card_taken_back_after_the_outcome_is_an_alarm() -> None:
    table = announced(closed())
    number = noticed(table, "declare_cutting_card")
    assert retracts(table, number, position="pit_manager").needs == {"position": SHIFT}
    assert retracts(table, number).accepted
    (alarm,) = restricted_data(table, "irregularity.alarm")
    assert (alarm["key"], alarm["changes"], alarm["person"]) == ("cutting_card", [], "kim")


@pytest.mark.parametrize("name", ["dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4"])
def test_a_shoe_that_was_in_view_all_the_time_is_taken_back(name: str) -> None:
    table = TableHarness(name=name, layout="A", method="C", area="Ruby Room").open_shoe()
    table.does("allow_without_wager", seat=1, position=CASINO)
    table.does("offer_shoe", seat=1)
    table.does("place_your_bets")
    table.does("no_more_bets")
    number = noticed(table, "declare_out_of_view")
    assert table.told("method.breached")[-1]["instance"] == number
    before = table.now
    assert retracts(table, number, position="dealer", consented_by=None).needs
    assert retracts(table, number, position="dealer").accepted
    assert table.told("irregularity.retracted")[-1] == {
        "key": "out_of_view", "declaration": number,
    }  # fmt: skip
    assert (table.now.state, table.now.round) == (before.state, before.round)
    assert table.now.control == before.control
    assert shown(table) == []
    assert from_bytes(to_bytes(table.now)) == table.now
