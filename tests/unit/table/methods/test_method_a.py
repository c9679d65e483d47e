"""Method A at the table: hands passed face down, refused, named, squeezed, exposed in order."""

from __future__ import annotations

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardsDrawn
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.tables import (
    CASINO,
    ROUNDS,
    STAND,
    TableHarness,
    dealt_table,
    exposed_table,
    method_table,
    place_bets,
    refusal_of,
    restricted_data,
    staked_table,
)

GAMES = ("immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger")
ANN, BOB, CAT = ("ann", 3, "player", 500), ("bob", 5, "player", 300), ("cat", 7, "banker", 900)


def held(table: TableHarness, hand: str) -> int | None:
    holder = table.now.round.hands.of(hand).holder
    return None if holder is None else int(holder.seat)


def test_each_hand_goes_to_its_highest_wager_and_the_room_hears_the_seat_alone() -> None:
    table = dealt_table(ANN, BOB, CAT)
    for hand in ("player", "banker"):
        table.does("pass_cards", hand=hand, position="dealer")
    passed = {"round_id": "bac-07-s1-r1", "through_dealer": False, "rule": "3.10.2"}
    assert table.told("cards.passed") == [
        {**passed, "hand": "player", "seat": 3},
        {**passed, "hand": "banker", "seat": 7},
    ]
    assert [told["player"] for told in restricted_data(table, "cards.passed")] == ["ann", "cat"]
    assert restricted_data(table, "cards.passed")[0]["position"] == "dealer"


def test_who_refuses_is_passed_over_and_the_hand_goes_on() -> None:
    table = dealt_table(ANN, BOB, CAT)
    table.does("pass_cards", hand="player")
    table.does("refuse_cards", hand="player", position="dealer")
    assert held(table, "player") is None
    assert table.told("cards.refused") == [
        {"round_id": "bac-07-s1-r1", "hand": "player", "seat": 3}
    ]
    table.does("pass_cards", hand="player")
    assert held(table, "player") == 5
    assert table.told("cards.passed")[-1]["rule"] == "3.10.3"


def test_a_wager_that_was_only_declared_gives_nobody_the_hand() -> None:
    table = dealt_table(limits=TableLimits(maximum=1000))
    of = {"player": "ann", "seat": 3, "wager": "player", "amount": 1500}
    table.does("declare", key="over_maximum", reason="counted", **of)
    table.does("expose", hand="player")
    assert "rule" not in table.told("round.card_revealed")[-1]


# After withdrawals.


def together(table: TableHarness, *choices: str, withdraws: str = "ann") -> None:
    """Both third cards leave the shoe as one; this Player withdraws all before they are ordered."""
    both, known = (card("4C"), card("5D")), "order_from_shoe" in choices
    table.says(CardsDrawn(cards=both, number=table.now.shoe.drawn + 1, order_known=known))
    for choice in choices:
        table.does("decide", choice=choice, reason="seen")
    table.does("decide", choice="withdraw_all", player=withdraws)


WINDOWS = (("order_from_shoe",), ("order_unknown", "upper_first"))
"""5.8.1, and 5.8.2.2."""


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("choices", WINDOWS)
def test_who_withdrew_gives_the_hand_back_and_it_goes_to_whom_the_wagers_name_then(
    game: str, choices: tuple[str, ...]
) -> None:
    table = dealt_table(ANN, BOB, CAT, name=game)
    clause = table.game.methods["A"].clauses["highest_wager"]
    for hand in ("player", "banker"):
        table.does("pass_cards", hand=hand)
    together(table, *choices)
    assert (held(table, "player"), held(table, "banker")) == (3, 7)  # until the window is closed
    table.does("decide", choice="close_window")
    assert (held(table, "player"), held(table, "banker")) == (None, 7)
    (told,) = table.told("cards.retrieved")
    assert (told["hand"], told["seat"], told["rule"]) == ("player", 3, clause)
    table.does("decide", choice="reconstruct", reason="seen")
    assert table.now.state == "revealing"
    assert "no Player holds Player's cards" in refusal_of(
        table, "expose", hand="player", by="holder"
    )
    assert "pass Player's cards to seat 5 first" in refusal_of(table, "expose", hand="player")
    assert "go to seat 5" in refusal_of(table, "pass_cards", hand="player", seat=3)
    table.does("pass_cards", hand="player")
    assert held(table, "player") == 5
    table.does("expose", hand="player", by="holder")


def test_with_nobody_left_on_it_the_pit_names_who_takes_the_hand() -> None:
    table = dealt_table(ANN, CAT)
    table.does("pass_cards", hand="player")
    together(table, "order_from_shoe")
    table.does("decide", choice="close_window")
    table.does("decide", choice="reconstruct")
    assert "a pit supervisor names" in refusal_of(table, "pass_cards", hand="player", seat=3)


def test_a_hand_stays_where_the_wagers_still_name_its_holder_or_the_pit_gave_it() -> None:
    table = dealt_table(ANN, BOB, CAT)
    table.does("pass_cards", hand="player")
    table.does("allow_squeeze", hand="banker", seat=2, designee="Eve")
    together(table, "order_from_shoe", withdraws="bob")
    table.does("decide", choice="close_window")
    assert (held(table, "player"), held(table, "banker")) == (3, 2)
    assert table.told("cards.retrieved") == []


def test_an_opened_hand_whose_holder_withdrew_is_the_dealers_to_expose() -> None:
    table = exposed_table(ANN, BOB, CAT)
    table.does("announce_totals")
    assert held(table, "player") == 3
    together(table, "order_from_shoe")
    table.does("decide", choice="close_window")
    assert held(table, "player") is None
    table.does("decide", choice="reconstruct")
    table.does("expose", hand="player", by="dealer")


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("withdraws", [True, False])
def test_after_a_reset_hands_go_by_the_wagers_as_they_stand_then(
    game: str, *, withdraws: bool
) -> None:
    table = dealt_table(ANN, BOB, CAT, name=game)
    for hand in ("player", "banker"):
        table.does("pass_cards", hand=hand)
    table.does("declare", key="device_reset", reason="drawn too early")
    if withdraws:
        table.does("decide", choice="withdraw_all", player="ann")
    for choice in ("close_window", "device_is_reset", "open_round"):
        table.does("decide", choice=choice, reason="seen")
    assert (held(table, "player"), held(table, "banker")) == (None, None)
    retrieved = {(told["hand"], told["seat"]) for told in table.told("cards.retrieved")}
    assert retrieved == {("player", 3), ("banker", 7)}
    if not withdraws:
        table.does("increase_wager", player="bob", seat=5, wager="player", amount=400)
    table.does("no_more_bets")
    assert not table.asks("expose", hand="player", by="holder").accepted
    for hand in ("player", "banker"):
        table.does("pass_cards", hand=hand)
    assert (held(table, "player"), held(table, "banker")) == (5, 7)


def test_who_was_away_at_a_reset_no_longer_keeps_the_hand_with_the_dealer() -> None:
    table = dealt_table(ANN, BOB, CAT)
    table.does("pass_cards", hand="banker")
    table.does("set_first_hand", hand="player")
    table.does("declare", key="holder_absent", hand="banker", reason="not there")
    table.does("decide", choice="expose_later")
    table.does("declare", key="device_reset", reason="drawn too early")
    for choice in ("close_window", "device_is_reset", "open_round"):
        table.does("decide", choice=choice, reason="seen")
    table.does("no_more_bets")
    table.does("pass_cards", hand="banker")
    assert held(table, "banker") == 7


def test_a_hand_may_be_refused_before_it_is_passed() -> None:
    table = dealt_table(ANN, BOB)
    table.does("refuse_cards", hand="player")
    table.does("pass_cards", hand="player")
    assert held(table, "player") == 5
    why = "Banker's cards were given to no Player"
    assert refusal_of(table, "refuse_cards", hand="banker").endswith(why)


def test_nobody_but_the_one_whose_it_is_can_be_named_by_the_dealer() -> None:
    table = dealt_table(ANN, BOB)
    for other in ({"player": "bob"}, {"seat": 5}, {"player": "ann", "seat": 5}):
        error = refusal_of(table, "pass_cards", hand="player", **other)
        assert error == "Player's cards go to seat 3 (3.10.2)"
    table.does("pass_cards", hand="player", player="ann", seat=3)


def test_a_hand_has_one_holder_at_a_time() -> None:
    table = dealt_table(ANN, BOB)
    table.does("pass_cards", hand="player")
    assert refusal_of(table, "pass_cards", hand="player").endswith("seat 3 holds Player's cards")
    named = refusal_of(table, "name_holder", hand="player", seat=5)
    assert named.endswith("seat 3 holds Player's cards")


def test_when_all_refused_the_pit_supervisor_names_the_player() -> None:
    table = dealt_table(ANN, BOB)
    early = refusal_of(table, "name_holder", hand="player", seat=1)
    assert early == "Player's cards go to seat 3 (3.10.2)"
    for _ in range(2):
        table.does("refuse_cards", hand="player")
    assert refusal_of(table, "pass_cards", hand="player").endswith("(3.10.4.1)")
    low = table.asks("name_holder", hand="player", seat=1, position="dealer")
    assert low.needs == {"position": "pit_supervisor"}
    table.does("name_holder", hand="player", seat=1, position="pit_supervisor")
    assert held(table, "player") == 1
    assert table.told("cards.passed")[-1]["rule"] == "3.10.4.1"


def test_a_hand_that_nobody_wagered_on_is_the_pit_supervisors_to_give() -> None:
    table = dealt_table(CAT)
    assert refusal_of(table, "pass_cards", hand="player").endswith("(3.10.4.1)")
    table.does("name_holder", hand="player", player="cat", position="pit_supervisor")
    assert held(table, "player") == 7


def test_without_recorded_wagers_the_dealer_names_the_holder() -> None:
    table = dealt_table()
    error = refusal_of(table, "pass_cards", hand="player")
    assert error == "say who it is passed to, by player or by seat"
    table.does("pass_cards", hand="player", seat=4, position="dealer")
    table.does("pass_cards", hand="banker", player=17, position="dealer")
    assert held(table, "player") == 4
    assert table.now.round.hands.banker.holder.id == "17"
    assert table.told("cards.passed")[-1]["seat"] is None


def test_a_seat_that_the_layout_does_not_have_is_refused() -> None:
    table = dealt_table(layout="A")
    assert refusal_of(table, "pass_cards", hand="player", seat=12).endswith("no seat 12")


def test_the_wagers_count_as_they_stand_when_the_cards_are_passed() -> None:
    table = staked_table(ANN, BOB)
    table.does("decrease_wager", player="ann", seat=3, wager="player", amount=400)
    table.does("no_more_bets")
    for code in STAND.split():
        table.draw(code)
    table.does("pass_cards", hand="player")
    assert held(table, "player") == 5


def test_hands_are_passed_after_the_initial_deal_and_not_before() -> None:
    table = staked_table(ANN)
    table.does("no_more_bets")
    for code in STAND.split():
        assert table.asks("pass_cards", hand="player").needs == {"state": "revealing"}
        table.draw(code)
    table.does("pass_cards", hand="player")


def test_a_hand_due_to_a_player_is_not_exposed_before_it_is_passed_or_refused() -> None:
    table = dealt_table(ANN)
    error = refusal_of(table, "expose", hand="player")
    assert error == ("pass Player's cards to seat 3 first, or say that they refuse them (3.10.2)")
    table.does("refuse_cards", hand="player")
    table.does("expose", hand="player")
    assert [told["by"] for told in restricted_data(table, "round.card_revealed")] == ["dealer"] * 2


def test_exposed_by_the_dealer_without_having_been_passed_the_outcome_stands() -> None:
    table = dealt_table(ANN)
    table.does("expose", hand="player", by="dealer")
    first = restricted_data(table, "round.card_revealed")[0]
    assert (first["by"], first["rule"]) == ("dealer", "5.7.1")
    assert table.now.state == "revealing"


def test_what_a_player_holds_the_player_exposes() -> None:
    table = dealt_table(ANN)
    table.does("pass_cards", hand="player")
    error = refusal_of(table, "expose", hand="player", by="dealer")
    assert error == "seat 3 holds Player's cards and exposes them (3.10.7)"
    table.does("expose", hand="player", by="holder")
    public, known = (
        table.told("round.card_revealed")[0],
        restricted_data(table, "round.card_revealed")[0],
    )
    assert public == {"hand": "player", "index": 1, "card": "2D"}
    assert known == {**public, "by": "holder", "player": "ann", "designee": None}


def test_by_is_the_dealer_or_the_holder() -> None:
    table = dealt_table()
    assert refusal_of(table, "expose", hand="player", by="kim") == "by: it is dealer or holder"
    why = "no Player holds Player's cards"
    assert refusal_of(table, "expose", hand="player", by="holder").endswith(why)


def test_the_hand_set_to_be_first_is_revealed_first() -> None:
    table = dealt_table()
    table.does("set_first_hand", hand="banker", position="dealer")
    assert table.told("round.first_hand")[0]["rule"] == "3.10.6"
    error = refusal_of(table, "expose", hand="player")
    assert error == "Banker's cards are revealed first (3.10.6)"
    table.does("expose", hand="banker", index=2)
    refusal_of(table, "expose", hand="player")
    table.does("expose", hand="banker")
    table.does("expose", hand="player")


def test_the_first_hand_can_be_set_anew_until_a_card_is_revealed() -> None:
    table = dealt_table()
    table.does("set_first_hand", hand="banker")
    table.does("set_first_hand", hand="player")
    table.does("expose", hand="player", index=1)
    error = refusal_of(table, "set_first_hand", hand="banker")
    assert error == "cards are revealed already"


def test_without_being_set_the_hand_exposed_first_is_revealed_first() -> None:
    table = dealt_table()
    table.does("expose", hand="banker", index=1)
    assert refusal_of(table, "expose", hand="player").endswith("(3.10.6)")


def test_third_cards_lie_face_down_for_whoever_squeezes_that_hand() -> None:
    table = exposed_table(ANN)  # nobody wagered on banker
    table.does("announce_totals")
    table.draw("4C")
    assert table.told("round.card_dealt")[-1] == {"hand": "player", "index": 3, "face": "down"}
    assert refusal_of(table, "expose", hand="player", by="dealer").endswith("(3.10.7)")
    assert table.desired == Locked()
    table.does("expose", hand="player")
    assert table.desired == Armed(6, "banker", 3)
    table.draw("5D")
    table.does("expose", hand="banker", by="dealer")
    assert [told["by"] for told in restricted_data(table, "round.card_revealed")[-2:]] == [
        "holder",
        "dealer",
    ]


def test_a_third_card_of_a_hand_nobody_squeezes_is_not_passed_but_by_the_pit_manager() -> None:
    table = exposed_table()
    table.does("announce_totals")
    table.draw("4C")
    assert refusal_of(table, "pass_cards", hand="player", seat=2).endswith("(3.10.7)")
    assert refusal_of(table, "name_holder", hand="player", seat=2).endswith("(3.10.7)")
    table.does("allow_squeeze", hand="player", seat=2, position="pit_manager")
    assert held(table, "player") == 2


def test_who_gives_a_hand_up_leaves_its_third_card_to_the_dealer() -> None:
    table = exposed_table(ANN)
    table.does("announce_totals")
    table.draw("4C")
    table.does("refuse_cards", hand="player")
    table.does("expose", hand="player", by="dealer")


@pytest.mark.parametrize("position", ["dealer", "pit_supervisor"])
def test_squeezing_by_others_is_the_pit_managers_to_allow(position: str) -> None:
    table = dealt_table(ANN)
    answer = table.asks("allow_squeeze", hand="player", designee="eve", position=position)
    assert answer.needs == {"position": "pit_manager"}


def test_a_pit_manager_gives_any_hand_to_any_player_or_their_designee() -> None:
    table = dealt_table(ANN, BOB)
    table.does("pass_cards", hand="player")
    table.does("allow_squeeze", hand="player", player="bob", designee="eve", position="pit_manager")
    known = restricted_data(table, "cards.passed")[-1]
    assert (known["player"], known["designee"], known["rule"]) == ("bob", "eve", "3.21")
    assert "eve" not in str(table.told("cards.passed"))
    assert held(table, "player") == 5
    table.does("expose", hand="player")
    assert restricted_data(table, "round.card_revealed")[-1]["designee"] == "eve"
    nobody = refusal_of(table, "allow_squeeze", hand="banker")
    assert nobody == "name the Player or the designee"


def test_a_hand_without_face_down_cards_is_not_handed_about() -> None:
    table = exposed_table(ANN)
    for command in ("pass_cards", "refuse_cards", "name_holder", "allow_squeeze", "set_first_hand"):
        assert "has no card face down" in refusal_of(table, command, hand="player")


@pytest.mark.parametrize("codes", ROUNDS.values(), ids=ROUNDS)
def test_every_branch_of_the_draws_comes_to_its_outcome(codes: str) -> None:
    table = method_table()
    place_bets(table, ANN, BOB, CAT)
    table.does("no_more_bets")
    for code in codes.split()[:4]:
        table.draw(code)
    for hand in ("player", "banker"):
        table.does("pass_cards", hand=hand)
        table.does("expose", hand=hand)
    table.does("announce_totals")
    for code in codes.split()[4:]:
        hand = table.slot[0]
        table.draw(code)
        table.does("expose", hand=hand)
    table.does("announce_outcome")
    table.does("settle")
    (outcome,) = table.told("round.outcome")
    assert outcome["method"] == "A"
    assert sorted(outcome["player"]["cards"] + outcome["banker"]["cards"]) == sorted(codes.split())
    assert table.now.state == "idle"


def test_nothing_of_one_rounds_passing_is_left_in_the_next() -> None:
    table = dealt_table(ANN, codes=STAND)
    table.does("pass_cards", hand="player")
    table.does("expose", hand="player")
    table.does("expose", hand="banker")
    for command in ("announce_totals", "announce_outcome", "settle", "place_your_bets"):
        table.does(command)
    assert table.now.round.hands.player.holder is None
    assert table.now.round.hands.first is None


def test_the_shoe_stays_with_the_dealer() -> None:
    table = staked_table(ANN)
    for command in ("offer_shoe", "relinquish_shoe", "allow_without_wager"):
        error = refusal_of(table, command, player="ann", position=CASINO)
        assert error == "in Method A only the dealer has the shoe (3.9.1)"
