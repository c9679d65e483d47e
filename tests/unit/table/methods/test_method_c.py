"""Method C at the table: the shoe in a Player's hands, until given back or the wager loses."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.commands import Armed, Locked
from shoe_testing.tables import (
    BANKER_WINS,
    CASINO,
    PLAYER_WINS,
    SHIFT,
    STAND,
    TIED,
    Stake,
    TableHarness,
    dealt_table,
    method_table,
    place_bets,
    refusal_of,
    restricted_data,
    staked_table,
)

ANN, BOB = ("ann", 3, "player", 500), ("bob", 5, "banker", 300)


def shoe_with(table: TableHarness) -> str | None:
    holder = table.now.control.holder
    return None if holder is None else str(holder.id)


def played(table: TableHarness, codes: str, *stakes: Stake) -> TableHarness:
    """A round to its end, everything exposed by the dealer."""
    place_bets(table, *stakes)
    table.does("no_more_bets")
    table.deal(codes)
    table.finish()
    return table


def drawing(*, wagers: bool = True) -> TableHarness:
    """Ann has the shoe, in a round that is open or before one."""
    table = method_table("C")
    if wagers:
        place_bets(table, ANN, BOB)
    table.does("offer_shoe", player="ann", seat=3)
    return table


def test_a_player_takes_the_shoe_and_the_room_hears_the_seat_alone() -> None:
    table = staked_table(ANN, method="C")
    table.does("offer_shoe", player="ann", position="dealer")
    assert table.told("shoe.holder_changed") == [{"holder": "player", "seat": 3, "rule": "3.12.1"}]
    assert restricted_data(table, "shoe.holder_changed")[0]["player"] == "ann"


def test_one_player_at_a_time_has_it() -> None:
    table = drawing()
    error = refusal_of(table, "offer_shoe", player="bob")
    assert error == ("seat 3 has the shoe until they give it back or their wager loses (3.12.8.1)")


def test_they_give_it_back_whenever_they_like() -> None:
    table = drawing()
    table.does("no_more_bets")
    table.draw("2D")
    table.does("relinquish_shoe", position="dealer")
    assert table.told("shoe.holder_changed")[-1] == {
        "holder": "dealer",
        "seat": None,
        "rule": "3.12.8.1",
    }
    assert table.desired == Armed(2, "banker", 1)
    table.does("offer_shoe", player="bob")
    assert shoe_with(table) == "bob"
    refused_twice = method_table("C")
    assert refusal_of(refused_twice, "relinquish_shoe").endswith("it is with the dealer")


LOSING: dict[str, tuple[str, list[Stake]]] = {
    "their Player wager": (BANKER_WINS, [ANN]),
    "their Banker wager": (PLAYER_WINS, [("ann", 3, "banker", 500)]),
    "one of both": (PLAYER_WINS, [ANN, ("ann", 3, "banker", 100)]),
}
KEEPING: dict[str, tuple[str, list[Stake]]] = {
    "it wins": (PLAYER_WINS, [ANN]),
    "it ties": (TIED, [ANN]),
    "only a side wager loses": (PLAYER_WINS, [ANN, ("ann", 3, "tie", 100)]),
    "a side wager is all there was": (PLAYER_WINS, [("ann", 3, "tie", 100)]),
    "another loses": (PLAYER_WINS, [ANN, BOB]),
    "no wager is recorded": (PLAYER_WINS, []),
}


@pytest.mark.parametrize(("codes", "stakes"), LOSING.values(), ids=LOSING)
def test_it_ends_when_their_player_or_banker_wager_loses(codes: str, stakes: list[Stake]) -> None:
    table = drawing(wagers=False)
    played(table, codes, *stakes)
    assert table.now.control.holder is None
    assert table.told("shoe.holder_changed")[-1]["rule"] == "3.12.8.2"
    kinds = table.kinds
    assert kinds.index("wager.settled") < kinds.index("round.settled")
    assert kinds[-2:] == ["shoe.holder_changed", "round.settled"]


@pytest.mark.parametrize(("codes", "stakes"), KEEPING.values(), ids=KEEPING)
def test_it_goes_on_when(codes: str, stakes: list[Stake]) -> None:
    table = drawing(wagers=False)
    played(table, codes, *stakes)
    assert shoe_with(table) == "ann"


def test_a_void_round_does_not_end_it() -> None:
    table = drawing()
    table.does("no_more_bets")
    table.draw("2D")
    table.fails()
    table.rules("void")
    assert table.now.state == "idle"
    assert shoe_with(table) == "ann"


def test_a_withdrawn_wager_does_not_end_it() -> None:
    table = drawing()
    table.does("withdraw_wager", player="ann", seat=3, wager="player")
    assert shoe_with(table) == "ann"


def test_where_no_wagers_are_recorded_the_dealer_says_that_it_lost() -> None:
    table = drawing(wagers=False)
    table.does("relinquish_shoe", because="wager_lost")
    assert table.told("shoe.holder_changed")[-1]["rule"] == "3.12.8.2"


def test_without_a_wager_nobody_takes_the_shoe_once_bets_are_closed() -> None:
    table = staked_table(ANN, method="C")
    table.does("no_more_bets")
    error = refusal_of(table, "offer_shoe", player="cat", seat=1)
    assert error.endswith("draws only by an assistant casino manager's leave (3.12.2)")
    table.does("allow_without_wager", player="cat", seat=1, position=CASINO)
    table.does("offer_shoe", player="cat", seat=1)


def test_who_has_the_shoe_and_no_wager_gets_no_card_until_allowed_or_it_is_given_back() -> None:
    for way_out in ("allow_without_wager", "relinquish_shoe"):
        table = method_table("C")
        table.does("offer_shoe", player="cat", seat=1)
        place_bets(table, ANN)
        table.does("no_more_bets")
        assert table.desired == Locked()
        args: dict[str, Any] = {"player": "cat"} if way_out == "allow_without_wager" else {}
        table.does(way_out, position=CASINO, **args)
        assert table.desired == Armed(1, "player", 1)


def test_a_leave_lasts_as_long_as_the_control_that_it_is_for() -> None:
    table = method_table("C")
    table.does("allow_without_wager", player="cat", seat=1, position=CASINO)
    table.does("offer_shoe", player="cat", seat=1)
    for _ in range(2):
        played(table, PLAYER_WINS, ANN)
    assert shoe_with(table) == "cat"
    twice = refusal_of(table, "allow_without_wager", player="cat", position=CASINO)
    assert twice == "that Player has leave already"
    table.does("relinquish_shoe")
    assert table.now.control.leaves == ()


@pytest.mark.parametrize("position", ["dealer", "pit_supervisor", "pit_manager", SHIFT])
def test_drawing_without_a_wager_is_an_assistant_casino_managers_leave_alone(
    position: str,
) -> None:
    answer = method_table("C").asks("allow_without_wager", player="cat", position=position)
    assert answer.needs == {"position": CASINO}


def test_a_shift_manager_who_is_set_above_gives_leave_too() -> None:
    table = method_table("C", highest_position=SHIFT)
    table.does("allow_without_wager", player="cat", position=SHIFT)


def test_a_leave_is_told_by_the_seat() -> None:
    table = method_table("C")
    table.does("allow_without_wager", player="cat", seat=1, position=CASINO)
    assert table.told("shoe.draw_allowed") == [{"seat": 1, "rule": "3.12.2"}]
    assert restricted_data(table, "shoe.draw_allowed")[0]["player"] == "cat"


def test_a_player_is_named_by_id_where_wagers_are_recorded() -> None:
    table = staked_table(ANN, method="C")
    assert "name the Player by id" in refusal_of(table, "offer_shoe", seat=3)
    assert refusal_of(table, "offer_shoe").endswith("by player or by seat")
    unfed = method_table("C")
    unfed.does("offer_shoe", seat=3)
    played(unfed, STAND)


def test_a_hand_for_another_player_goes_through_the_dealer() -> None:
    table = drawing()
    table.does("no_more_bets")
    for code in STAND.split():
        table.draw(code)
    table.does("pass_cards", hand="player")
    table.does("pass_cards", hand="banker", player="bob", position="dealer")
    own, passed_on = table.told("cards.passed")
    assert (own["seat"], own["through_dealer"], own["rule"]) == (3, False, "3.12.5")
    assert (passed_on["seat"], passed_on["through_dealer"], passed_on["rule"]) == (
        5,
        True,
        "3.12.3",
    )
    for hand in ("banker", "player"):
        table.does("expose", hand=hand)
    assert [told["player"] for told in restricted_data(table, "round.card_revealed")] == [
        "bob", "bob", "ann", "ann",
    ]  # fmt: skip


def test_a_hand_passed_to_nobody_is_exposed_by_the_dealer() -> None:
    table = drawing()
    table.does("no_more_bets")
    table.deal(STAND)
    table.does("expose", hand="player", by="dealer")


def test_what_is_method_as_alone_is_refused() -> None:
    table = dealt_table(method="C")
    assert "in Method C" in refusal_of(table, "name_holder", hand="player", seat=1)
    assert "in Method C" in refusal_of(table, "set_first_hand", hand="player")
    nobody = refusal_of(table, "pass_cards", hand="player")
    assert nobody.endswith("say who it is passed to, by player or by seat")


def test_out_of_full_view_is_recorded_and_play_goes_on() -> None:
    table = drawing()
    table.does("no_more_bets")
    before = table.desired
    table.does("declare_out_of_view", position="dealer", reason="under the table")
    assert table.told("method.breached") == [{"seat": 3, "rule": "3.12.4"}]
    known = restricted_data(table, "method.breached")[0]
    assert (known["player"], known["why"]) == ("ann", "under the table")
    assert (table.now.state, table.desired) == ("closed", before)
    with_dealer = staked_table(ANN, method="C")
    with_dealer.does("no_more_bets")
    refusal_of(with_dealer, "declare_out_of_view")


@pytest.mark.parametrize(
    ("name", "article"),
    [("dragon_tiger_no_commission", "3.12"), ("tiger", "3.12"), ("fa_fa_fabulous_4", "3.11")],
)
def test_each_game_that_has_it_cites_its_own_numbers(name: str, article: str) -> None:
    table = TableHarness(name=name, layout="A", method="C", area="Ruby Room")
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    table.does("allow_without_wager", seat=1, position=CASINO)
    table.does("offer_shoe", seat=1)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.does("declare_out_of_view")
    table.does("relinquish_shoe")
    table.does("offer_shoe", seat=2)
    table.does("relinquish_shoe", because="wager_lost")
    cited = [e.data["rule"] for e in table.public if "rule" in e.data]
    assert cited == [f"{article}.{n}" for n in ("2", "1", "4", "8.1", "1", "8.2")]
