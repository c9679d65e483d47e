"""Sessions that reach every state of a table from many sides, input by input.

In: nothing. Out: tables with the states that they passed through; a willing staff.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from firmware_proto.cards import card
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CardsDrawn,
    CuttingCard,
    Discarded,
    Gap,
    Started,
    Status,
)
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.state import TableState
from shoe_testing.tables import ROUNDS, TableHarness

Session = Callable[[TableHarness], None]


def whole_round(table: TableHarness) -> None:
    table.play(ROUNDS["both draw"])
    table.play(ROUNDS["Player natural"])


def power_cut(table: TableHarness) -> None:
    table.restart("b1")
    table.connect()
    half_a_round(table)
    table.restart("b2")
    table.connect()
    table.refers("void")


def power_and_a_window(table: TableHarness) -> None:
    half_a_round(table)
    table.does("declare", key="power_failure", reason="the lights went out")
    table.looks()
    if table.now.halt.current.data["end"] == "withdrawal":
        table.does("decide", choice="offer_withdrawal")
        table.does("decide", choice="close_window")
    table.does("decide", choice="play_on", reason="light again")


def shoe_reset(table: TableHarness) -> None:
    half_a_round(table)
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window")
    table.does("decide", choice="device_is_reset")
    table.rules("set_aside")
    table.does("no_more_bets")
    table.deal("2D")
    table.does("declare", key="device_reset", reason="drawn too early")
    table.rules("void")
    table.does("decide", choice="keep_cards")


def hands_astray(table: TableHarness) -> None:
    """A hand was seen in error; then a Player leaves with a card that nobody knows."""
    table.open_round()
    table.deal("2D 3C TS TH")
    table.asks("declare", key="wrong_player", hand="banker", reason="it fell")
    table.asks("decide", choice="exposed", index=1)
    table.asks("declare", key="card_taken", hand="player", index=1, reason="gone")
    table.asks("decide", choice="not_known", reason="no camera")
    for _ in range(2):
        if table.now.halt is not None and table.key == "card_taken":
            table.draw("4C")
    for choice in ("sorted", "determined"):
        table.asks("decide", choice=choice, consented_by="lee", **CHOSEN_WITH.get(choice, {}))
    if table.now.halt is not None:
        table.asks("decide", choice="replaced", consented_by="lee")


def drawn_as_one(table: TableHarness) -> None:
    """Two of the first four together, put in order; then third cards, ordered by the pit."""
    if table.now.shoe is None:
        table.play(ROUNDS["both stand"])
    if not table.settings.implied:
        table.open_round()
    pull(table, "2D", "3C", order_known=True)
    for choice in ("order_from_shoe", "close_window", "reconstruct"):
        table.asks("decide", choice=choice, reason="as it lies")
    table.deal("TS TH")
    table.turn_over()
    if not table.settings.implied:
        table.does("announce_totals")
    pull(table, "4C", "5D", order_known=False)
    for choice in ("order_unknown", "lower_first", "close_window"):
        table.asks("decide", choice=choice, reason="no camera")
    table.asks("decide", choice="reconstruct", reason="as it lies")
    for hand, code in (("player", "5D"), ("banker", "4C")):
        if not table.settings.implied:
            table.asks("expose", hand=hand)
        table.asks("decide", choice="enter", card=code, consented_by="lee")


def pull(table: TableHarness, *codes: str, order_known: bool) -> None:
    table.says(CardsDrawn(cards=tuple(card(code) for code in codes), order_known=order_known))


def half_a_round(table: TableHarness) -> None:
    table.open_round()
    table.deal("2D 3C TS")


def link_lost(table: TableHarness) -> None:
    half_a_round(table)
    table.disconnect()
    table.connect()
    if table.bee_tek:
        table.draw("9C")
        table.rules("void")
        table.does("align")
    elif table.angel_eye:
        table.draw("9C", hand="player", index=1)
        table.rules("void")
    else:
        table.hello()


def hello_first(table: TableHarness) -> None:
    """The link is lost before the shoe was ever said to be of a boot."""
    half_a_round(table)
    table.disconnect()
    table.connect()
    table.rules("play_on")


def wrong_cards(table: TableHarness) -> None:
    half_a_round(table)
    table.draw(None)
    table.draw("9C")
    table.fails()
    table.rules("void")
    half_a_round(table)
    table.draw("4f")
    table.rules("void")


def drawn_early(table: TableHarness) -> None:
    table.open_round()
    table.deal("7D 7C TS TH")
    table.draw("4C")
    table.turn_over()
    if not table.settings.implied:
        table.does("announce_totals")
    table.rules("first_card")
    if table.angel_eye:
        table.judges()
    if not table.settings.implied:
        table.does("announce_outcome")
        table.does("settle")
        table.open_round()
    table.deal("3C TS TH")
    table.draw("5C")
    table.turn_over()
    table.fails()
    table.rules("play_on")
    table.says(CardOutsideGame(card=card("9D"), mode="lock"))
    table.rules("void")


def cutting_card(table: TableHarness) -> None:
    table.says(CuttingCard())
    table.play(ROUNDS["both stand"])
    shows_another_set(table)
    table.open_round()


def no_shoe(table: TableHarness) -> None:
    table.load("set-2", decks=6)
    table.draw("9C", number=1)
    table.rules("set_aside")
    table.fails()
    table.load("set-3")
    table.rules("play_on")
    table.fails()
    table.rules("play_on")


def halts_between(table: TableHarness) -> None:
    table.says(Gap(first=3, last=5))
    table.says(Status(drawn=4, unacknowledged=0))
    table.rules("play_on")
    table.does("change_shoe")
    table.fails()
    table.rules("play_on")
    table.load("set-2")
    table.says(CardDrawn(card=card("9C"), hand="burn", index=1))


def judged_otherwise(table: TableHarness) -> None:
    table.open_round()
    table.deal(ROUNDS["both stand"])
    table.judges("player")
    table.turn_over()
    if not table.settings.implied:
        table.does("announce_totals")
        table.asks("announce_outcome")
    table.rules("play_on")


def never_judged(table: TableHarness) -> None:
    table.open_round()
    table.deal(ROUNDS["both stand"])
    table.turn_over()
    if not table.settings.implied:
        table.does("announce_totals")
    table.tick()


def unheard(table: TableHarness) -> None:
    """Bytes that could not be read, between rounds and in one, with a burn and a late result."""
    table.says(CardDrawn(card=card("9C"), hand="burn"))
    table.says(Discarded(reason="form"))
    table.does("align")
    half_a_round(table)
    table.says(Discarded(reason="card"))
    table.says(Discarded(reason="form"))
    table.draw("9C")
    table.rules("void")


def another_set(table: TableHarness) -> None:
    table.does("change_shoe")
    table.does("declare_new_shoe")
    table.does("declare_cutting_card")
    table.play(ROUNDS["both draw"])


def shows_another_set(table: TableHarness) -> None:
    """The next set of cards, as such a shoe or those at it tell of it."""
    if table.bee_tek:
        table.does("declare_new_shoe")
    elif table.angel_eye:
        table.says(Started())
    else:
        table.load(f"set-{table.now.inputs}", table.settings.decks)


BOTH: tuple[Session, ...] = (
    whole_round, power_cut, link_lost, wrong_cards, drawn_early, cutting_card, hello_first,
    power_and_a_window, shoe_reset, hands_astray,
)  # fmt: skip
REFERENCE: tuple[Session, ...] = (no_shoe, halts_between, drawn_as_one)
ANGEL_EYE: tuple[Session, ...] = (judged_otherwise, never_judged)
BEE_TEK: tuple[Session, ...] = (unheard, another_set)
KINDS: tuple[tuple[str, tuple[Session, ...]], ...] = (
    ("reference", BOTH + REFERENCE), ("angel_eye", BOTH + ANGEL_EYE), ("bee_tek", BOTH + BEE_TEK),
)  # fmt: skip
WAYS: tuple[dict[str, Any], ...] = (
    {"announcements": "explicit", "faces": "turned_by_dealer"},
    {"announcements": "implied", "faces": "face_up"},
)


DECLARED_WITH: dict[str, dict[str, Any]] = {
    "wrong_player": {"hand": "player"},
    "holder_absent": {"hand": "player"},
    "card_taken": {"hand": "player"},
    "double_draw": {"cards": 2},
}
"""What is said with an irregularity when it is declared, by key; nothing more for most."""

CHOSEN_WITH: dict[str, dict[str, Any]] = {
    "pass_on": {"seat": 3},
    "seen": {"cards": "9S"},
    "value_known": {"source": "shoe"},
    "determined": {"cards": "9S"},
    "exchange": {"one": "player 1", "other": "banker 1"},
}
"""What is said with a choice of this name."""


def kind_of(shoe: str) -> dict[str, Any]:
    """What ``Playing`` takes for a shoe of this profile."""
    return {name: name == shoe for name in ("angel_eye", "bee_tek")}


def played(session: Session, *, shoe: str, way: dict[str, Any]) -> list[TableState]:
    """The states between the inputs of one session."""
    table = TableHarness(**kind_of(shoe), **way)
    passed = [table.now]
    table.step = lambda: passed.append(table.now)
    table.open_shoe()
    session(table)
    return passed


@functools.cache
def passed_through() -> tuple[tuple[str, int, TableState], ...]:
    """Every state of every session: the shoe's profile, which of WAYS, the state."""
    return tuple(
        (shoe, way, now)
        for shoe, sessions in KINDS
        for way, given in enumerate(WAYS)
        for session in sessions
        for now in played(session, shoe=shoe, way=given)
    )


def at(shoe: str, way: int, now: TableState) -> TableHarness:
    """A table in this state."""
    return TableHarness(**kind_of(shoe), state=now, **WAYS[way])


def goes_on(table: TableHarness) -> None:
    """Staff who want the next round: one step towards it.

    A choice that is refused is followed by the next one; what is physical (a cable, a set of
    cards) is at hand.
    """
    now = table.now
    if not now.link.up:
        table.connect()
    elif now.state == "suspended":
        decides(table)
    elif now.state == "no_shoe":
        table.load(f"set-{now.inputs}", table.settings.decks)
    elif now.state == "shoe_change":
        shows_another_set(table)
    elif now.state == "idle" and table.bee_tek and not now.link.aligned:
        table.does("align")
    elif now.state in ("idle", "betting", "closed", "dealing", "drawing"):
        announce = {"idle": "place_your_bets", "betting": "no_more_bets"}
        if now.state in announce:
            table.does(announce[now.state])
        else:
            table.draw(spare(table))
    elif now.state == "resolved":
        table.does("settle")
    else:
        finishes(table)


def decides(table: TableHarness) -> None:
    """Whatever ends the step that is open, or, where a review cannot be over, leads on from it."""
    top = table.now.halt.current
    if not PROCEDURES[top.key].pause:
        answers = (
            table.asks(
                "decide",
                choice=c.name,
                reason="go on",
                consented_by="lee",
                **CHOSEN_WITH.get(c.name, {}),
            )
            for c in PROCEDURES[top.key].step(top.step).choices
        )
        assert any(answer.accepted for answer in answers), table.now.halt
    elif not table.asks("resume").accepted:
        table.does("declare", key="other", reason="something is missing")


def finishes(table: TableHarness) -> None:
    """The step that the revealing table waits for."""
    played = table.now.round
    assert played is not None
    if not played.all_revealed:
        table.turn_over()
    elif not played.totals_announced:
        table.does("announce_totals")
    elif table.now.link.judges and played.result is None and not played.result_overruled:
        table.judges()
    else:
        table.does("announce_outcome")


def spare(table: TableHarness) -> str:
    """A card that the shoe still holds."""
    shoe = table.now.shoe
    assert shoe is not None
    return next(
        c.code for c in table.game.deck.cards if shoe.counts.get(c.code, 0) < shoe.decks
    )  # fmt: skip
