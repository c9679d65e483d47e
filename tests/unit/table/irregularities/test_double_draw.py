"""Cards drawn as one: withdrawn before they are put in order, ordered, or the round is void."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.commands import Armed
from firmware_proto.events import CardsDrawn
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, Playing, balanced, cards
from tests.unit.table.irregularities.test_overdraw import table_at

GAMES = ("immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4")
ELEMENTS = str.maketrans("DCSH", "fgew")
"""A card of the same rank in the other deck, suit for element."""


def pulled(
    before: str, together: str, *, known: bool, way: int = 0, **more: Any
) -> Playing:  # fmt: skip
    table = Playing(**{**WAYS[way], **more})
    open_shoe(table)
    if not table.settings.implied:
        table.does("place_your_bets")
        table.does("place_wager", player="ann", seat=1, wager="player", amount=100)
        table.does("no_more_bets")
    table.deal(of_deck(table, before))
    pull(table, together, known=known)
    return table


def open_shoe(table: Playing) -> None:
    if table.game.deck.name == "french52":
        table.open_shoe()
        return
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()


def of_deck(table: Playing, codes: str) -> str:
    return codes if table.game.deck.name == "french52" else codes.translate(ELEMENTS)


def pull(table: Playing, codes: str, *, known: bool) -> None:
    number = table.now.shoe.drawn + 1
    faces = tuple(cards(of_deck(table, codes)))
    table.says(CardsDrawn(cards=faces, number=number, order_known=known))
    assert table.key == "double_draw"


def offered(table: Playing) -> list[str]:
    return [choice.name for choice in stack.offered_choices(table_at(table))]


def slots(table: Playing) -> list[tuple[str, int, str | None]]:
    return [(d.hand, d.index, d.card and d.card.code) for d in table.now.round.cards]


def decides(table: Playing, choice: str, position: str, **more: str) -> None:
    table.does("decide", choice=choice, position=position, **{"reason": "as seen", **more})


@pytest.mark.parametrize("name", GAMES)
def test_in_an_order_that_the_shoe_knows_they_are_reconstructed_after_the_window(name: str) -> None:
    table = pulled("2D", "3C TS", known=True, name=name)
    assert offered(table)[0] == "order_from_shoe" and "order_unknown" not in offered(table)
    decides(table, "order_from_shoe", "pit_supervisor")
    (opened,) = table.told("withdrawal.opened")
    assert (opened["rule"], opened["scope"]) == ("5.8.1", "any")
    assert len(table.now.round.cards) == 1
    decides(table, "withdraw_all", "dealer", player="ann")
    decides(table, "close_window", "dealer")
    decides(table, "reconstruct", "dealer")
    first, second, third = of_deck(table, "2D 3C TS").split()
    assert slots(table) == [("player", 1, first), ("banker", 1, second), ("player", 2, third)]
    told = table.told("irregularity.resolved")[-1]
    assert (told["how"], told["rule"]) == ("reconstructed", "5.8")
    assert (table.now.state, table.desired) == ("dealing", Armed(4, "banker", 2))
    assert from_bytes(to_bytes(table.now)) == table.now and balanced(table.now)


@pytest.mark.parametrize("name", GAMES)
def test_in_an_unknown_order_and_touching_the_deal_the_round_is_void(name: str) -> None:
    table = pulled("2D", "3C TS", known=False, name=name)
    assert "order_from_shoe" not in offered(table)
    decides(table, "order_unknown", "pit_manager")
    assert table.told("round.void")[-1]["rule"] == "5.8.2.1"
    assert table.now.state == "idle"


def test_what_surveillance_saw_is_surveillances_to_say() -> None:
    table = pulled("2D", "3C TS", known=False)
    refused = table.asks("decide", choice="order_seen", reason="r", position="pit_manager")
    assert refused.needs == {"position": "surveillance"}
    decides(table, "order_seen", "surveillance")
    decides(table, "close_window", "dealer")
    decides(table, "reconstruct", "dealer")
    assert slots(table) == [("player", 1, "2D"), ("banker", 1, None), ("player", 2, None)]
    assert [o.subject for o in table.now.pending_irregularities] == ["banker 1", "player 2"]
    assert balanced(table.now)


@pytest.mark.parametrize("name", GAMES)
def test_after_the_deal_the_pit_manager_orders_them_and_players_play_on_or_not(name: str) -> None:
    table = pulled("2D 3C TS TH", "4C 5D", known=False, name=name)
    decides(table, "order_unknown", "pit_manager")
    assert offered(table) == ["upper_first", "lower_first", "void"]
    assert table.asks("decide", choice="lower_first", reason="r", position="pit_supervisor").needs
    decides(table, "lower_first", "pit_manager")
    assert table.now.halt.current.data["first"] == "lower"
    (opened,) = table.told("withdrawal.opened")
    assert (opened["rule"], opened["scope"]) == ("5.8.2.2", "remaining")
    decides(table, "stand", "dealer", player="ann")
    decides(table, "close_window", "dealer")
    decides(table, "reconstruct", "dealer")
    told = table.told("irregularity.resolved")[-1]
    assert (told["key"], told["how"], told["rule"]) == ("double_draw", "ordered", "5.8.2.2")
    # Nobody has seen the first four yet: whose these are is not known, and so not told.
    assert len(table.now.round.cards) == 4
    assert [o.key for o in table.now.pending_irregularities] == ["overdraw", "overdraw"]
    table.turn_over()
    table.does("announce_totals")
    assert slots(table)[4:] == [("player", 3, None)]
    assert balanced(table.now)


def test_an_ordered_card_is_named_by_two_when_it_lies_open() -> None:
    table = pulled("2D 3C TS TH", "4C 5D", known=False)
    for choice, position in (("order_unknown", "pit_manager"), ("upper_first", "pit_manager"),
                             ("close_window", "dealer"), ("reconstruct", "dealer")):  # fmt: skip
        decides(table, choice, position)
    table.turn_over()
    table.does("announce_totals")
    for hand, code in (("player", "5D"), ("banker", "4C")):
        table.does("expose", hand=hand)
        decides(table, "enter", "pit_supervisor", card=code, consented_by="lee")
    table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert outcome["player"]["cards"] == ["2D", "TS", "5D"]
    assert outcome["banker"]["cards"] == ["3C", "TH", "4C"]
    assert balanced(table.now)


@pytest.mark.parametrize("announcements", ["explicit", "implied"])
@pytest.mark.parametrize("told_as_one", [True, False])
def test_face_up_the_table_goes_on_while_none_of_the_ordered_cards_has_its_slot(
    announcements: str, told_as_one: bool
) -> None:
    table = _ordered_before_their_turn(told_as_one, announcements)
    assert (table.now.state, table.now.halt) == ("revealing", None)
    assert [o.key for o in table.now.pending_irregularities] == ["overdraw", "overdraw"]
    _shown_until_it_asks(table)
    if announcements == "explicit":
        table.does("announce_totals")
    for code in ("5D", "4C"):
        assert (table.now.state, table.key) == ("suspended", "double_draw")
        decides(table, "enter", "pit_supervisor", card=code, consented_by="lee")
    _shown_until_it_asks(table)
    if announcements == "explicit":
        table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert outcome["player"]["cards"] == ["2D", "TS", "5D"]
    assert outcome["banker"]["cards"] == ["3C", "TH", "4C"]
    assert balanced(table.now)


def _ordered_before_their_turn(told_as_one: bool, announcements: str) -> Playing:
    """Third cards that the pit manager ordered before the room saw the first four, face up."""
    if told_as_one:
        table = pulled("2D 3C TS TH", "4C 5D", known=False, way=1, announcements=announcements)
    else:
        table = Playing(**{**WAYS[1], "announcements": announcements}).open_shoe()
        table.open_round()
        table.deal("2D 3C TS TH")
        for code in ("4C", "5D"):
            table.draw(code)
        table.does("declare", key="double_draw", reason="two in one pull")
    for choice, position in (("order_unknown", "pit_manager"), ("upper_first", "pit_manager"),
                             ("close_window", "dealer"), ("reconstruct", "dealer")):  # fmt: skip
        decides(table, choice, position)
    return table


def _shown_until_it_asks(table: Playing) -> None:
    """The room sees the cards, until one that nobody could read lies open."""
    while table.now.halt is None and not (table.now.round is None or table.now.round.all_revealed):
        table.tick()


def test_four_at_once_are_the_initial_deal() -> None:
    table = pulled("", "2D 3C TS TH", known=True)
    for choice, position in (("order_from_shoe", "pit_supervisor"), ("close_window", "dealer"),
                             ("reconstruct", "dealer")):  # fmt: skip
        decides(table, choice, position)
    assert len(table.now.round.cards) == 4
    assert table.now.state == "revealing"


def test_of_two_where_one_is_due_the_other_was_drawn_early() -> None:
    table = pulled("2D 3C TS", "TH 4C", known=True)
    for choice, position in (("order_from_shoe", "pit_supervisor"), ("close_window", "dealer"),
                             ("reconstruct", "dealer")):  # fmt: skip
        decides(table, choice, position)
    assert (table.now.state, len(table.now.round.cards)) == ("revealing", 4)
    assert [o.subject for o in table.now.pending_irregularities] == ["draw 5"]
    table.turn_over()
    table.does("announce_totals")
    assert slots(table)[4:] == [("player", 3, "4C")]


@pytest.mark.parametrize("state", ["idle", "betting", "resolved"])
def test_where_no_card_is_due_each_is_ruled_on_as_drawn_early(state: str) -> None:
    table = Playing(**WAYS[0]).open_shoe()
    if state == "resolved":
        table.open_round()
        table.deal("7D 7C TS TH")
        table.turn_over()
        table.does("announce_totals")
        table.does("announce_outcome")
    elif state == "betting":
        table.does("place_your_bets")
    pull(table, "4C 5D", known=True)
    decides(table, "order_from_shoe", "pit_supervisor")
    decides(table, "reconstruct", "dealer")
    assert [o.key for o in table.now.halt.stack] == ["overdraw", "overdraw"]
    table.rules("set_aside")
    table.rules("first_card")
    assert (table.now.state, len(table.now.opening)) == (state, 1)


def test_declared_they_lie_in_the_order_that_the_shoe_counted_and_may_be_exchanged() -> None:
    table = Playing(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    table.does("declare", key="double_draw", reason="two in one pull")
    decides(table, "order_from_shoe", "pit_supervisor")
    decides(table, "close_window", "dealer")
    swap = {"one": "banker 1", "other": "player 2", "consented_by": "lee"}
    decides(table, "exchange", "pit_supervisor", **swap)
    decides(table, "reconstruct", "dealer")
    assert slots(table)[1:] == [("banker", 1, "TS"), ("player", 2, "3C")]
    table.deal("TH")
    assert table.now.state == "revealing"


def test_two_pulls_that_look_alike_are_alike_in_public() -> None:
    tables = [pulled("2D", codes, known=False) for codes in ("3C TS", "9C KD")]
    for table in tables:
        decides(table, "order_seen", "surveillance")
        decides(table, "close_window", "dealer")
        decides(table, "reconstruct", "dealer")
    one, other = ([(e.type, e.data) for e in table.public] for table in tables)
    assert one == other
    assert tables[0].desires == tables[1].desires


def test_a_whole_round_is_played_after_it() -> None:
    table = pulled("2D", "3C TS", known=False)
    decides(table, "order_unknown", "pit_manager")
    table.play(ROUNDS["both draw"])
    assert balanced(table.now)


def test_a_game_without_a_rule_opens_no_window_and_cites_none() -> None:
    table = Playing(name="dragon_bonus_royal", **WAYS[1]).open_shoe()
    table.deal("2D 3C TS TH")
    table.turn_over()
    pull(table, "4C 5D", known=False)
    for choice in ("order_unknown", "upper_first", "reconstruct"):
        table.does("decide", choice=choice, reason="as it lay")
    assert table.told("withdrawal.opened") == []
    ended = [t for t in table.told("irregularity.resolved") if t["key"] == "double_draw"]
    assert [(t["how"], t["rule"]) for t in ended] == [("ordered", None)]
    assert slots(table)[4:] == [("player", 3, None)] and balanced(table.now)


@pytest.mark.parametrize("name", GAMES)
def test_what_is_decided_stays_where_players_withdraw_what_remains(name: str) -> None:
    table = Playing(name=name, layout="B", **WAYS[0])
    open_shoe(table)
    table.does("place_your_bets")
    lost = {"tiger": "small_tiger", "dragon_tiger_no_commission": "small_tiger",
            "fa_fa_fabulous_4": "player_precious_pair"}.get(name, "player_pair")  # fmt: skip
    for wager in ("player", lost):
        table.does("place_wager", player="ann", seat=1, wager=wager, amount=100)
    table.does("no_more_bets")
    table.deal(of_deck(table, "2D 3C TS TH"))
    table.turn_over()
    table.does("announce_totals")
    pull(table, "4C 5D", known=False)
    decides(table, "order_unknown", "pit_manager")
    decides(table, "upper_first", "pit_manager")
    decides(table, "withdraw_all", "dealer", player="ann")
    gone = [w["wager"] for w in table.told("wager.accepted") if w["act"] == "withdrawn"]
    assert gone == ["player"]


def test_the_room_hears_which_card_the_pit_manager_put_first() -> None:
    table = pulled("2D 3C TS TH", "4C 5D", known=False)
    for choice, position in (("order_unknown", "pit_manager"), ("lower_first", "pit_manager"),
                             ("close_window", "dealer")):  # fmt: skip
        decides(table, choice, position)
    step = table.told("irregularity.step")[-1]
    assert (step["step"], step["first"]) == ("lay", "lower")
    assert [c["choice"] for c in step["choices"]] == ["reconstruct", "void"]
