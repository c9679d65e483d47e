"""A card that left on its arm, while the table took that arm back: it is no overdraw.

Tried with every command, declaration and event that the table lists, so that a new one is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn, CardPushedBack, Lid
from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import StorageRestored
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_ctl.texts.message import message
from shoe_testing.invariants import assert_transition
from shoe_testing.places import Place, UnderWay, places, taken_back
from shoe_testing.staff import follow, plays_out
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, TableHarness, balanced
from shoe_testing.twins import Twins

FULL = message("daemon_journal_failed", detail="the disk is full")

LOCKS = {"pause", "declare", "fault", "lid", "link_lost", "restarted", "storage_restored", "tamper"}
"""Some of what takes an arm back; the table's own lists say what else does."""


def armed_places(names: Callable[[str], bool]) -> Iterator[Place]:
    """Of each kind one: by its game, method, way to announce, slot awaited, and what is open."""
    kinds = {}
    for place in places():
        now = place.now
        if now.armed is not None and place.shoe == "reference" and names(place.name):
            conducted = (place.name, place.given.get("method"), place.given.get("announcements"))
            opened = now.halt and (now.halt.current.key, now.halt.current.step)
            kinds[(*conducted, now.state, now.armed[1:], opened)] = place
    return iter(kinds.values())


def tries(found: Iterable[Place]) -> set[str]:
    """The triggers that took an arm back; each time the card of that arm came behind it."""
    tried: set[str] = set()
    for place in found:
        for way in taken_back(place):
            _tries(way)
            tried.add(way.trigger)
    return tried


def _tries(way: UnderWay) -> None:
    table, told = way.table, len(way.table.events)
    before = table.now
    round_id = before.round and before.round.id
    effects = len(table.effects)
    way.comes()
    assert_transition(before, table.now, table.effects[effects:])
    if way.trigger == "correct_card":  # by the corrected cards that draw is not due: a ruling
        assert table.key == "overdraw", way
        return
    if before.halt is None:
        assert not _play_goes_on(way, round_id) or table.now.halt is None, way
        return
    raised = [e for e in table.events[told:] if e.type == "irregularity.raised"]
    assert raised == [], (way, raised)
    for _ in range(40):
        if table.now.halt is None:
            break
        follow(table)
    else:
        pytest.fail(f"no way out of {table.now.halt}")
    assert balanced(table.now)
    if _play_goes_on(way, round_id):
        lies = way.lies()
        assert lies is not None, (way, table.now.round)
        assert (lies.hand, lies.index) == way.arm[1:]
    keys = [e.data["key"] for e in table.events[told:] if e.type == "irregularity.raised"]
    assert "drawn_early" not in keys, way[:3]


def _play_goes_on(way: UnderWay, round_id: str | None) -> bool:
    """The round that the card was drawn for is not over, and its cards were not laid aside."""
    played, before = way.table.now.round, way.place.now.round
    if played is None or round_id not in (None, played.id) or way.arm[1] == "set_aside":
        return False
    return before is None or len(played.cards) >= len(before.cards) > 0


def test_whatever_takes_an_arm_back_the_card_of_that_arm_takes_its_slot_when_play_goes_on() -> None:
    assert tries(armed_places(lambda name: name == "tiger")) >= LOCKS


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=5)
def test_it_does_in_every_game_and_method() -> None:
    assert tries(armed_places(lambda name: name != "tiger")) >= LOCKS


# One by one.


def armed_for_the_third_card(**more: Any) -> TableHarness:
    table = TableHarness(**{**WAYS[0], **more}).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    assert table.desired == Armed(5, "player", 3)
    return table


def comes(table: TableHarness, code: str | None = "4C", number: int = 5) -> None:
    face = None if code is None else card(code)
    table.says(CardDrawn(card=face, number=number, armed=True))


HALTS: dict[str, tuple[Callable[[TableHarness], object], Callable[[TableHarness], None]]] = {
    "a pause": (lambda t: t.does("pause"), lambda t: t.does("resume")),
    "a fault": (TableHarness.fails, lambda t: t.rules("play_on")),
    "something declared": (
        lambda t: t.does("declare", key="other", reason="r"), lambda t: t.rules("play_on"),
    ),
    "the lid": (lambda t: t.says(Lid(open=True)), lambda t: t.rules("play_on")),
    "storage": (
        lambda t: t.feed(StorageRestored(t_us=t.t_us, since_us=0, what=FULL)),
        lambda t: t.does("resume"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HALTS)
def test_it_waits_face_down_until_play_goes_on_and_nobody_is_asked(what: str) -> None:
    halts, ends = HALTS[what]
    table = armed_for_the_third_card()
    halts(table)
    assert table.desired == Locked()
    asked, key = len(table.kinds), table.key
    comes(table)
    assert table.kinds[asked:] == []
    assert (table.key, len(table.now.round.cards)) == (key, 4)
    assert from_bytes(to_bytes(table.now)) == table.now and balanced(table.now)
    ends(table)
    assert (table.now.state, table.now.pending) == ("revealing", None)
    assert [(d.hand, d.index, d.number) for d in table.now.round.cards[4:]] == [("player", 3, 5)]
    assert table.told("round.card_dealt")[-1] == {"hand": "player", "index": 3, "face": "down"}
    table.turn_over()
    table.draw("5D")
    table.finish()
    assert table.told("round.outcome")[-1]["player"]["cards"] == ["2D", "TS", "4C"]


@pytest.mark.parametrize("codes", ["7D 7C TS TH", "2D 7C TS TH 4C"], ids=["fourth", "third"])
def test_the_last_card_of_the_round_takes_it_on_where_it_is_seen_at_once(codes: str) -> None:
    table = TableHarness(**{**WAYS[1], "face_up_after_ms": 0}).open_shoe()
    *before, last = codes.split()
    table.deal(" ".join(before))
    table.does("pause")
    table.draw(last, armed=True)
    table.does("resume")
    assert len(table.told("round.outcome")) == 1
    assert table.now.state == "idle"


def test_an_unarmed_card_that_comes_while_it_waits_was_drawn_early_and_lies_behind_it() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    comes(table)
    table.draw("5D", number=6, armed=False)
    assert [o.subject for o in table.now.pending_irregularities] == ["draw 6"]
    assert [c.number for c in table.now.early] == [6]
    table.does("resume")
    assert [(d.hand, d.number) for d in table.now.round.cards[4:]] == [("player", 5)]
    table.turn_over()
    assert [(d.hand, d.number) for d in table.now.round.cards[5:]] == [("banker", 6)]


def test_in_the_deal_whoever_rules_may_say_that_it_was_due_behind_the_one_that_waits() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.does("pause")
    comes(table, "3C", 2)
    table.draw("TS", number=3, armed=False)
    assert (table.key, table.now.halt.current.subject) == ("overdraw", "draw 3")
    table.rules("due")
    table.does("resume")
    assert [d.number for d in table.now.round.cards] == [1, 2, 3]
    assert table.desired == Armed(4, "banker", 2)


def test_an_unarmed_card_in_a_pause_is_an_overdraw_as_before() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    table.draw("4C", number=5, armed=False)
    assert table.key == "overdraw" and table.now.pending is None


def test_one_that_nobody_could_read_holds_its_slot_when_play_goes_on() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    comes(table, None)
    table.does("resume")
    assert [d.card for d in table.now.round.cards[4:]] == [None]
    assert [o.key for o in table.now.pending_irregularities] == ["misread"]


@pytest.mark.parametrize("way", WAYS, ids=["face down", "face up"])
@pytest.mark.parametrize("before", ["", "closed", "2D", "2D 3C TS", "2D 3C TS TH"])
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("lay_face_up", [True, False])
def test_what_is_found_of_it_halts_the_round_that_it_lies_in(
    way: dict[str, Any], before: str, read: bool, lay_face_up: bool
) -> None:
    table = TableHarness(**way).open_shoe()
    if before == "closed" or way is WAYS[0]:
        table.open_round()
    if before not in ("", "closed"):
        table.deal(before)
    if table.now.state == "revealing":
        table.turn_over()
        table.asks("announce_totals")  # implied where they lie face up
    number, *slot = table.now.armed
    table.does("pause")
    face = card("9S") if read else None
    table.says(CardDrawn(card=face, number=number, armed=True, face_up=lay_face_up))
    table.does("resume")
    last = table.now.round.cards[-1]
    assert (last.number, last.hand, last.index) == (number, *slot)
    is_first = number == 1 and lay_face_up  # a later one plays as if face down (5.6)
    expected = [key for key, so in (("misread", not read), ("face_up_in_shoe", is_first)) if so]
    assert [opened.key for opened in table.now.open_irregularities] == expected
    halts = is_first or (not read and way is not WAYS[0])
    assert (table.now.state == "suspended") is halts
    plays_out(table)
    assert len(table.told("round.outcome")) == 1


def test_one_that_is_not_the_shoes_is_inspected_and_corrected_into_its_slot() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    comes(table, "4f")
    assert table.key == "foreign_card"
    table.does("decide", choice="correct", card="4S", reason="seen", consented_by="lee")
    table.does("decide", choice="play_on")
    table.does("resume")
    assert [d.card and d.card.code for d in table.now.round.cards[4:]] == ["4S"]


def test_a_void_leaves_it_counted_and_in_no_round() -> None:
    table = armed_for_the_third_card()
    table.fails()
    comes(table)
    table.rules("void")
    assert (table.now.pending, table.now.shoe.drawn) == (None, 5)
    table.does("decide", choice="keep_cards")
    table.play(ROUNDS["both stand"])
    assert balanced(table.now)


def test_a_round_entered_by_hand_is_played_with_it() -> None:
    table = armed_for_the_third_card()
    table.fails()
    comes(table)
    table.does("enter_round", player="2D TS 4C", banker="3C TH 5D", reason="r", consented_by="lee")
    assert [d.number for d in table.now.round.cards] == [1, 2, 3, 4, 5, 6]
    assert balanced(table.now)


def test_pushed_back_it_is_in_the_shoe_again() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    comes(table)
    table.says(CardPushedBack(card=card("4C"), number=5))
    assert table.now.pending is None and balanced(table.now)


def test_the_status_says_that_a_card_waits_and_not_which() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    assert "pending" not in status(table.now, table.game, table.settings)["halt"]
    comes(table)
    shown = status(table.now, table.game, table.settings)["halt"]
    assert shown["pending"] == {"hand": "player", "index": 3}
    assert "4C" not in str(shown)
    text = english(status(table.now, table.game, table.settings)["next"]["message"])
    assert text.endswith("waits face down, and takes its place when the table goes on")


def test_set_aside_in_a_pause_it_is_one_of_the_two() -> None:
    table = TableHarness(**{**WAYS[0], "method": "A"}).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.does("declare", key="card_taken", hand="player", index=1, reason="gone")
    table.does("decide", choice="not_known", reason="no camera")
    assert table.desired == Armed(5, "set_aside", 1)
    table.does("pause")
    comes(table)
    assert (table.key, table.now.ahead) == ("review", ())
    table.does("resume")
    assert (table.key, table.now.halt.current.step) == ("card_taken", "second_aside")
    assert [c.number for c in table.now.ahead] == [5]
    assert table.desired == Armed(6, "set_aside", 2)


def test_exposed_it_opens_no_round_after_a_reset() -> None:
    table = TableHarness(**{**WAYS[0], "faces": "face_up"}).open_shoe()
    table.open_round()
    table.does("declare", key="device_reset", reason="drawn too early")
    comes(table, "4C", 1)
    table.does("decide", choice="close_window")
    table.does("decide", choice="device_is_reset")
    assert table.now.halt.current.step == "cards"
    assert not table.asks("decide", choice="open_round", reason="r").accepted
    table.rules("set_aside")
    assert (table.now.state, table.now.pending) == ("betting", None)


def test_face_down_it_may_open_the_round_that_is_bet_on_again() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.does("declare", key="device_reset", reason="drawn too early")
    comes(table, "4C", 1)
    table.does("decide", choice="close_window")
    table.does("decide", choice="device_is_reset")
    table.does("decide", choice="open_round", reason="unseen")
    assert table.now.state == "betting"
    table.does("no_more_bets")
    assert [(d.hand, d.index, d.number) for d in table.now.round.cards] == [("player", 1, 1)]
    assert table.desired == Armed(2, "banker", 1)


@pytest.mark.parametrize("what", ["pause", "fails"])
def test_look_alike_rounds_stay_alike(what: str) -> None:
    twins = Twins(**WAYS[0])
    twins.both(TableHarness.open_round)
    for faces in (("2D", "9C"), ("3C", "KD")):
        twins.draws(faces)
    twins.both(lambda t: t.does("pause") if what == "pause" else t.fails())
    twins.draws(("4C", "8S"), armed=True)
    twins.both(lambda t: t.does("resume") if what == "pause" else t.rules("play_on"))
    twins.draws(("TH", "QH"))
    assert not twins.parted and twins.one.now.state == "revealing"
    assert twins.compared >= 6


def test_played_again_from_its_inputs_all_is_the_same() -> None:
    table = armed_for_the_third_card()
    table.does("pause")
    comes(table)
    table.does("resume")
    again = TableHarness(**WAYS[0])
    for happened in table.inputs:
        again.feed(happened)
    assert to_bytes(again.now) == to_bytes(table.now)
    assert again.events == table.events
    assert table.told("irregularity.raised", Audience.RESTRICTED) == []
