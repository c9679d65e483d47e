"""An outcome that was wrong: told anew in full, by two, wagers changed by their difference."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.events import Status
from shoe_ctl.games import catalog
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, balanced, restricted_data

STAND = "7D 7C TS TH"


def played(way: int = 0, *, settled: bool = True, name: str = "tiger") -> TableHarness:
    table = TableHarness(name=name, **{**WAYS[way], "face_up_after_ms": 0}).open_shoe()
    if way == 0:
        table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="tie", amount=100)
    table.does("place_wager", player="bob", seat=2, wager="player", amount=200)
    if way == 0:
        table.does("no_more_bets")
    table.deal(STAND)
    if way == 0:
        table.turn_over()
        table.does("announce_totals")
        table.does("announce_outcome")
        if settled:
            table.does("settle")
    return table


def revises(table: TableHarness, player: str, banker: str, **more: Any) -> Any:
    said = {"reason": "an ace, not a ten", "consented_by": "lee", **more}
    return table.asks("revise_round", player=player, banker=banker, **said)


@pytest.mark.parametrize("settled", [False, True])
def test_each_card_that_was_another_is_corrected_before_the_outcome_is(settled: bool) -> None:
    table = played(settled=settled)
    assert revises(table, "7D AS", "8C TH").accepted
    assert table.told("round.card_corrected") == [
        {"hand": "banker", "index": 1, "card": "8C", "was": "7C"},
        {"hand": "player", "index": 2, "card": "AS", "was": "TS"},
    ]
    corrected = [e.data["round_id"] for e in table.public if e.type == "round.card_corrected"]
    assert corrected == [table.told("round.outcome")[0]["round_id"]] * 2
    last = [kind for kind in table.kinds if kind.startswith("round.")][-3:]
    assert last == ["round.card_corrected", "round.card_corrected", "round.revised"]


def test_a_round_of_another_shoe_has_its_cards_corrected_too() -> None:
    table = played()
    (outcome,) = table.told("round.outcome")
    table.load(set_id="set-2")
    assert table.now.shoe.id != outcome["shoe_id"]
    table.does("place_your_bets")
    assert revises(table, "7D AS", "7C TH").accepted
    (corrected,) = [e.data for e in table.public if e.type == "round.card_corrected"]
    assert (corrected["round_id"], corrected["was"]) == (outcome["round_id"], "TS")


def test_cards_that_were_what_they_were_taken_for_are_not_corrected() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.play("2D 3C TS TH 4C 9C")
    assert revises(table, "2D AS", "3C TH", reason="no third card").error is not None
    assert revises(table, "7D TS 4C", "3C TH 9C").error is not None
    assert revises(table, "2D AS 4C", "3C TH 9C").accepted
    assert [(d["hand"], d["index"]) for d in table.told("round.card_corrected")] == [("player", 2)]


@pytest.mark.parametrize("way", [0, 1])
def test_a_settled_round_is_told_anew_and_its_wagers_change_by_the_difference(way: int) -> None:
    table = played(way)
    before = len(table.events)
    assert revises(table, "7D AS", "7C TH").accepted
    corrected, revised, *lines = table.events[before:]
    (outcome,) = table.told("round.outcome")
    assert (corrected.type, corrected.subject) == ("round.card_corrected", outcome["round_id"])
    assert (revised.type, revised.revises) == ("round.revised", outcome["round_id"])
    assert revised.data.keys() == {*outcome, "rule"} - {"inferred"}
    assert (revised.data["winner"], revised.data["rule"]) == ("player", "6.3")
    assert revised.restricted_data is not None
    assert revised.restricted_data["consented_by"] == "lee"
    assert "person" not in revised.data
    changes = {line.data["wager"]: (line.data["result"], line.data["change"]) for line in lines}
    assert changes == {"tie": ("lose", -900), "player": ("win", 200)}
    assert all(line.subject == outcome["round_id"] for line in lines)
    assert "player" not in lines[0].data
    assert table.now.shoe.counts == {"7D": 1, "AS": 1, "7C": 1, "TH": 1}
    assert table.now.shoe.shown == table.now.shoe.counts
    assert from_bytes(to_bytes(table.now)) == table.now
    assert balanced(table.now)


def test_before_settling_wagers_are_settled_once_by_what_was_revised() -> None:
    table = played(settled=False)
    assert revises(table, "7D AS", "7C TH").accepted
    assert table.told("wager.settled") == table.told("wager.revised") == []
    table.does("settle")
    assert {d["wager"]: d["result"] for d in table.told("wager.settled")} == {
        "tie": "lose",
        "player": "win",
    }


def test_revised_back_everything_is_as_it_was() -> None:
    table = played()
    shoe = table.now.shoe
    assert revises(table, "7D AS", "7C TH").accepted
    assert revises(table, "7D TS", "7C TH").accepted
    assert (table.now.shoe.counts, table.now.shoe.shown) == (shoe.counts, shoe.shown)
    changes = [d["change"] for d in table.told("wager.revised")]
    assert sum(changes) == 0 and len(changes) == 4


def test_a_card_that_nobody_told_of_is_counted_and_one_too_many_stays_counted() -> None:
    table = played()
    assert revises(table, "2D TS 4C", "7C TH").accepted
    assert (table.now.shoe.drawn, table.now.shoe.counts["4C"]) == (5, 1)
    assert balanced(table.now)


@pytest.mark.parametrize(
    ("player", "banker", "why"),
    [
        ("7D TS", "7C TH", "those are the cards of the outcome as it stands"),
        ("7D TS", "7C TH 2D 3D", "a hand has two cards or three"),
        (
            "2D TS",
            "7C TH",
            "by the Table of Play the round is not complete: Player draws; to rule that these "
            "cards stand, add against_table=true",
        ),
        ("7D", "7C TH", "no round has 1 cards for Player and 2 for Banker"),
        ("7D 4f", "7C TH", "4f is not a card of this deck"),
    ],
)
def test_hands_that_cannot_be_are_refused(player: str, banker: str, why: str) -> None:
    table = played()
    before = table.now.last_settled
    assert revises(table, player, banker).error == f"{why}"
    assert table.now.last_settled == before


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ({"consented_by": "kim"}, {"consent": "another_person"}),
        ({"position": "pit_manager"}, {"position": "gaming_shift_manager"}),
        ({"reason": None}, {}),
        ({"round": "bac-07-s1-r9"}, {}),
    ],
)
def test_it_wants_the_shift_manager_another_person_a_reason_and_the_last_round(
    more: dict[str, Any], needs: dict[str, str]
) -> None:
    table = played()
    refused = revises(table, "7D AS", "7C TH", **more)
    assert (refused.accepted, refused.needs) == (False, needs)
    assert table.told("round.revised") == []


def test_the_last_round_is_revised_until_no_more_bets_of_the_next() -> None:
    table = played()
    table.does("place_your_bets")
    assert revises(table, "7D AS", "7C TH", round="bac-07-s1-r1").accepted
    table.does("no_more_bets")
    assert revises(table, "7D TS", "7C TH").needs["state"] == "resolved, idle, shoe_change, betting"


def test_before_any_round_there_is_nothing_to_revise() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    refused = revises(table, "7D AS", "7C TH")
    assert refused.error == "there is no outcome that can be revised"


def test_a_round_of_cards_that_are_gone_is_revised_without_touching_the_new_ones() -> None:
    table = played()
    table.does("change_shoe")
    table.load("set-2")
    assert revises(table, "7D AS", "7C TH").accepted
    assert (table.now.shoe.counts, table.now.shoe.drawn) == ({}, 0)


def test_a_void_round_is_not_revised() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.fails()
    table.rules("void")
    assert not revises(table, "7D AS", "7C TH").accepted


@pytest.mark.parametrize("name", catalog.shipped())
def test_each_game_cites_its_own_rule(name: str) -> None:
    table = TableHarness(name=name, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    a, b, *_ = dict.fromkeys(c.code[1] for c in table.game.deck.cards)
    table.deal(f"7{a} 7{b} T{a} T{b}")
    assert revises(table, f"7{a} A{a}", f"7{b} T{b}").accepted
    rule = None if name == "dragon_bonus_royal" else "6.3"
    assert table.told("round.revised")[-1]["rule"] == rule


RULED = ("2D TS", "7C TH", "banker")
"""Player has 2 and no third card: by the Table of Play one is due."""


def test_cards_that_the_table_of_play_does_not_give_stand_by_a_ruling() -> None:
    table = played()
    player, banker, winner = RULED
    assert revises(table, player, banker, against_table=True).accepted
    told = table.told("round.revised")[-1]
    assert (told["rule"], told["against_table"], told["winner"]) == ("6.1", True, winner)
    assert (told["player"]["cards"], told["player"]["total"]) == (["2D", "TS"], 2)
    assert told["wagers"]["banker"]["result"] == "win"
    changes = {e["wager"]: (e["result"], e["change"]) for e in table.told("wager.revised")}
    assert changes == {"tie": ("lose", -900), "player": ("lose", -200)}
    (secret,) = restricted_data(table, "round.revised")
    assert (secret["why"], secret["consented_by"]) == ("an ace, not a ten", "lee")


@pytest.mark.parametrize(
    ("player", "banker", "winner"),
    [
        ("9D TS", "7C TH 2D", "tie"),  # a third card after a Natural
        ("7D TS 2H", "7C TH", "player"),  # Player stands on 7; 7 and 2 are 9
        ("2D TS", "3C TH 4S", "banker"),  # Banker's third card before Player's
        ("7D TS", "7C TH KD", "tie"),  # Banker stands on 7
    ],
)
def test_whatever_two_or_three_cards_a_hand_has_its_total_decides_by_a_ruling(
    player: str, banker: str, winner: str
) -> None:
    table = played()
    assert "against_table=true" in (revises(table, player, banker).error or "")
    assert revises(table, player, banker, against_table=True).accepted
    assert table.told("round.revised")[-1]["winner"] == winner


def test_a_ruling_is_refused_where_none_is_needed_and_a_lone_card_has_none() -> None:
    table = played()
    refused = revises(table, "7D AS", "7C TH", against_table=True)
    assert refused.error is not None and "no ruling is needed" in refused.error
    refused = revises(table, "7D", "7C TH", against_table=True)
    assert refused.error == "no round has 1 cards for Player and 2 for Banker"
    assert table.told("round.revised") == []


def test_a_ruling_before_settle_is_what_settles_and_a_card_corrected_after_it_ends_it() -> None:
    table = played(settled=False)
    assert revises(table, *RULED[:2], against_table=True).accepted
    lines = [
        one["settlement"]["result"]
        for one in status(table.now, table.game, table.settings)["wagers"]
    ]
    assert lines == ["lose", "lose"]
    table.does("correct_card", hand="player", index=1, card="7D", reason="r", consented_by="lee")
    assert not table.now.round.against_table
    assert table.told("round.revised")[-1]["winner"] == "tie"
    assert revises(table, *RULED[:2], against_table=True).accepted
    table.does("settle")
    assert [e["result"] for e in table.told("wager.settled")] == ["lose", "lose"]
    last = status(table.now, table.game, table.settings)["last_round"]
    assert [one["winner"] for one in last["revisions"]] == ["tie", "banker", "tie"]
    assert last["winner"] == "banker"


def test_a_ruling_is_revised_back_by_the_difference() -> None:
    table = played()
    assert revises(table, *RULED[:2], against_table=True).accepted
    assert revises(table, "7D TS", "7C TH").accepted
    last = table.told("round.revised")[-1]
    assert (last["rule"], "against_table" in last) == ("6.3", False)
    assert [e["change"] for e in table.told("wager.revised")] == [-900, -200, 900, 200]


@pytest.mark.parametrize("name", catalog.shipped())
def test_a_ruling_cites_each_games_own_rule(name: str) -> None:
    table = TableHarness(name=name, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    a, b, *_ = dict.fromkeys(c.code[1] for c in table.game.deck.cards)
    table.deal(f"7{a} 7{b} T{a} T{b}")
    royal = name == "dragon_bonus_royal"
    hands = (f"2{a} T{a}", f"7{b} T{b}")
    alone = revises(table, *hands, against_table=True, consented_by=None)
    assert alone.needs == {"consent": "another_person"}
    assert revises(table, *hands, against_table=True).accepted
    told = table.told("round.revised")[-1]
    assert (told["rule"], told["against_table"]) == (None if royal else "6.1", True)


def told_what_it_counts(table: TableHarness) -> None:
    """The shoe's status: every draw is reported."""
    table.says(Status(drawn=table.now.shoe.drawn, unacknowledged=0))


def goes_on_without_a_halt(table: TableHarness, drawn: int) -> None:
    """The next round: the shoe counts as the table does, and gives the next card."""
    if table.now.state == "resolved":
        table.does("settle")
    told_what_it_counts(table)
    table.does("place_your_bets")
    table.does("no_more_bets")
    assert (table.now.halt, table.now.armed) == (None, (drawn + 1, "player", 1))
    assert balanced(table.now)


def drawn_after_the_outcome(ruling: str = "set_aside") -> TableHarness:
    """7 to 7, as it was read: Banker's third card came after the outcome, and is ruled on."""
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("7D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    table.draw("9C", armed=False)
    table.rules(ruling)
    return table


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("code", ["9C", "8C"])
def test_a_card_set_aside_that_is_entered_is_counted_once(settled: bool, code: str) -> None:
    """Whether the shoe read the card that people see makes no difference."""
    table = drawn_after_the_outcome()
    if settled:
        table.does("settle")
    told_what_it_counts(table)
    assert revises(table, "7D TS", f"5C TH {code}").accepted
    assert (table.now.shoe.drawn, table.now.shoe.uncounted) == (5, 0)
    assert table.now.shoe.counts == {"7D": 1, "TS": 1, "5C": 1, "TH": 1, code: 1}
    assert table.now.shoe.overruled == {"7C": 1} | ({} if code == "9C" else {"9C": 1})
    assert (table.now.shoe.shown, table.now.aside) == (table.now.shoe.counts, ())
    goes_on_without_a_halt(table, 5)


def test_a_card_that_was_to_open_the_next_round_and_is_entered_opens_none() -> None:
    table = drawn_after_the_outcome("first_card")
    assert revises(table, "7D TS", "5C TH 9C").accepted
    assert (table.now.opening, table.now.shoe.drawn) == ((), 5)
    goes_on_without_a_halt(table, 5)


def test_a_third_card_moved_to_the_other_hand_is_counted_once() -> None:
    """Player was read as 6 and has 5: Banker's third card is Player's."""
    table = TableHarness(**WAYS[0]).open_shoe()
    table.play("6D 5H TS TC 2C")
    told_what_it_counts(table)
    assert revises(table, "5D TS 2C", "5H TC").accepted
    shoe = table.now.shoe
    assert (shoe.drawn, shoe.counts["2C"], shoe.uncounted) == (5, 1, 0)
    assert shoe.shown == {"5D": 1, "5H": 1, "TS": 1, "TC": 1, "2C": 1}
    goes_on_without_a_halt(table, 5)


def test_a_slot_that_disappears_leaves_its_card_aside_and_it_can_come_back() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.play("7D 5H TS TC 2C")
    told_what_it_counts(table)
    assert revises(table, "7D TS", "6H TC").accepted
    assert [(c.card.code, c.number, c.seen) for c in table.now.aside] == [("2C", 5, True)]
    assert table.now.shoe.drawn == 5
    assert revises(table, "7D TS", "5H TC 2C").accepted
    assert (table.now.aside, table.now.shoe.drawn) == ((), 5)
    assert table.now.shoe.counts == {"7D": 1, "5H": 1, "TS": 1, "TC": 1, "2C": 1}
    goes_on_without_a_halt(table, 5)


def test_a_card_that_the_shoe_never_counted_halts_nothing_and_is_given_back() -> None:
    table = played()
    told_what_it_counts(table)
    assert revises(table, "2D TS 4C", "7C TH").accepted
    shoe = table.now.shoe
    assert (shoe.drawn, shoe.uncounted, shoe.counts["4C"]) == (4, 1, 1)
    assert balanced(table.now)
    assert revises(table, "7D TS", "7C TH").accepted
    assert (table.now.shoe.uncounted, "4C" in table.now.shoe.counts) == (0, False)
    assert revises(table, "2D TS 4C", "7C TH").accepted
    goes_on_without_a_halt(table, 4)


def test_cards_set_aside_are_forgotten_with_the_next_round() -> None:
    table = drawn_after_the_outcome()
    table.does("settle")
    assert len(table.now.aside) == 1
    table.play("7S 7H TS TH")
    assert table.now.aside == ()
