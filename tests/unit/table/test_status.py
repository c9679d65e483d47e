"""How a table stands in public: nothing of what only the shoe knows, and what is next is taken."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from firmware_proto.cards import card
from shoe_ctl.records import utc
from shoe_ctl.table import situations
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.offers import commands_of_state
from shoe_ctl.table.state import TableState
from shoe_ctl.table.status import restricted as status_restricted
from shoe_ctl.table.status import staff, status
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.event_check import COMMON
from shoe_testing.ledger_requests import STAFFED
from shoe_testing.table_corpus import KINDS, WAYS, Session, kind_of, played
from shoe_testing.tables import (
    ROUNDS,
    SHIFT,
    TableHarness,
    betting_table,
    place_bet,
    restricted_data,
)

OTHER, ONE_MORE = card("KS"), card("4H")

SESSIONS = [
    pytest.param(session, shoe, way, id=f"{session.__name__}-{shoe}-{way['faces']}")
    for shoe, sessions in KINDS
    for session in sessions
    for way in WAYS
]


def shown(table: TableHarness, state: TableState) -> dict[str, object]:
    return status(state, table.game, table.settings)


def with_other_secrets(now: TableState) -> TableState:
    """A table that looks the same to everyone at it."""
    if now.round is not None:
        cards = tuple(
            d
            if d.revealed
            else msgspec.structs.replace(d, card=ONE_MORE if d.card is OTHER else OTHER)
            for d in now.round.cards
        )
        now = msgspec.structs.replace(now, round=msgspec.structs.replace(now.round, cards=cards))
    if now.shoe is not None:
        shoe = msgspec.structs.replace(now.shoe, counts={}, unknown=now.shoe.unknown + 1)
        now = msgspec.structs.replace(now, shoe=shoe)
    if now.halt is not None:
        unlike = {"seen": "the seven of diamonds"}
        opened = tuple(msgspec.structs.replace(o, **unlike) for o in now.halt.stack)
        now = msgspec.structs.replace(now, halt=msgspec.structs.replace(now.halt, stack=opened))
    unplaced = tuple(msgspec.structs.replace(k, card=OTHER) for k in now.unplaced)
    return msgspec.structs.replace(now, unplaced=unplaced)


@pytest.mark.parametrize(("session", "shoe", "way"), SESSIONS)
def test_it_depends_on_nothing_that_was_not_revealed(
    session: Session, shoe: str, way: dict[str, Any]
) -> None:
    table = TableHarness(**kind_of(shoe), state=None, **way)
    for state in played(session, shoe=shoe, way=way):
        assert shown(table, state) == shown(table, with_other_secrets(state))
        assert json.loads(json.dumps(shown(table, state))) == shown(table, state)


@pytest.mark.parametrize(("session", "shoe", "way"), SESSIONS)
def test_what_is_next_is_taken_from_whom_it_names(
    session: Session, shoe: str, way: dict[str, Any]
) -> None:
    for state in played(session, shoe=shoe, way=way):
        table = TableHarness(**kind_of(shoe), state=state, **way)
        held = status(state, table.game, table.settings)
        due, takers = held["next"], {t["command"]: t["position"] for t in held["takes"]}
        if due["command"] is None:
            continue
        assert due["command"] in takers
        assert [t["command"] for t in held["takes"] if t["use"] == "next"] == [due["command"]]
        if due["command"] != "decide":  # which choice fits is a person's to judge
            answer = table.asks(due["command"], position=takers[due["command"]], **due["args"])
            assert answer.accepted, (held, answer)


def test_every_command_is_offered_in_every_state_that_takes_it() -> None:
    for state in situations.STATES:
        for name, command in COMMANDS.items():
            assert (name in commands_of_state(state)) is (state in command.states)


def test_a_shoe_that_does_not_say_who_it_is_is_neither_missing_nor_empty() -> None:
    table = TableHarness()
    said = [shown(table, table.now)["next"]]
    table.connect()
    said.append(shown(table, table.now)["next"])
    table.hello(set_id=None, drawn=0)
    said.append(shown(table, table.now)["next"])
    texts = [english(one["message"]) for one in said]  # type: ignore[index]
    assert [text.partition(";")[0] for text in texts] == [
        "connect the shoe", "wait for the shoe to say who it is", "push a shoe in",
    ]  # fmt: skip
    assert "shoectl doctor" in texts[1]


def test_a_round_shows_cards_as_they_are_turned_and_totals_as_they_are_announced() -> None:
    table = TableHarness().open_shoe()
    table.open_round()
    assert codes(table) == {"player": [], "banker": []}
    table.deal("2D 3C TS TH")
    assert codes(table) == {"player": [None, None], "banker": [None, None]}
    table.does("expose", hand="banker", index=2)
    assert codes(table) == {"player": [None, None], "banker": [None, "TH"]}
    table.turn_over()
    assert held_round(table)["totals"] is None
    table.does("announce_totals")
    assert held_round(table)["totals"] == {"player": 2, "banker": 3}
    assert next_of(table) == "draw Player's third card"
    table.draw("8C")
    assert codes(table) == {"player": ["2D", "TS", None], "banker": ["3C", "TH"]}
    assert held_round(table)["totals"] == {"player": 2, "banker": 3}  # while everybody looks
    table.turn_over()
    assert held_round(table)["totals"] == {"player": 0, "banker": 3}


def codes(table: TableHarness) -> dict[str, list[str | None]]:
    """The cards that everyone sees, None for one that lies face down."""
    hands = held_round(table)["hands"]
    return {hand: [one["card"] for one in cards] for hand, cards in hands.items()}


def held_round(table: TableHarness) -> dict[str, Any]:
    found = shown(table, table.now)["round"]
    assert isinstance(found, dict)
    return found


def next_of(table: TableHarness) -> str:
    found = shown(table, table.now)["next"]
    assert isinstance(found, dict)
    return english(found["message"])


def halt_of(table: TableHarness) -> dict[str, object]:
    found = shown(table, table.now)["halt"]
    assert isinstance(found, dict)
    return found


def test_a_card_that_does_not_belong_is_an_inspection_and_no_more() -> None:
    table = TableHarness().open_shoe()
    table.open_round()
    table.draw("4f")
    assert halt_of(table).keys() == {
        "reason", "instance", "since", "earlier", "step", "prompt", "choices",
    }  # fmt: skip
    assert halt_of(table)["reason"] == "inspection"


def test_a_halt_says_what_the_room_was_told() -> None:
    table = TableHarness().open_shoe()
    table.open_round()
    table.fails()
    told = table.told("irregularity.raised")[-1]
    assert halt_of(table)["seen"] == told["seen"]
    assert halt_of(table)["rules"] == told["rules"]
    table.draw("9C")
    table.does("declare", key="unshuffled", reason="8S on 8S")
    assert halt_of(table)["seen"] == table.told("irregularity.raised")[-1]["seen"]
    assert "8S" not in str(halt_of(table))
    assert halt_of(table)["earlier"] == ["other"]


def test_the_round_says_who_won_from_the_announcement_on() -> None:
    table = wagered("tiger", "9C 2D KD 3H")
    told = table.told("round.outcome")[-1]
    outcome = held_round(table)["outcome"]
    assert outcome["winner"] == told["winner"] == "player"
    assert outcome["naturals"] == {"player": True, "banker": False}
    assert outcome["totals"] == {"player": 9, "banker": 5}
    assert outcome["results"] == told["wagers"]
    assert english(outcome["message"]) == "player wins, 9 to 5"
    table.does("settle")
    last = status(table.now, table.game, table.settings)["last_round"]
    assert {name: last[name] for name in outcome} == outcome


def test_an_outcome_is_not_shown_before_it_is_announced_nor_with_a_card_missing() -> None:
    table = TableHarness(announcements="explicit", faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("9C 2D KD 3H")
    table.turn_over()
    table.does("announce_totals")
    assert held_round(table)["outcome"] is None
    table.does("announce_outcome")
    corrected = {"hand": "player", "index": 1, "card": "AC"}
    table.does("correct_card", reason="seen", consented_by="lee", position=SHIFT, **corrected)
    assert table.now.state == "drawing"
    assert held_round(table)["outcome"] is None


def test_what_is_awaited_is_said_where_no_command_brings_it() -> None:
    table = TableHarness(announcements="explicit", faces="turned_by_dealer")
    waits = []

    def waited() -> None:
        due = status(table.now, table.game, table.settings)["next"]
        assert (due["wait"] is None) is (due["command"] is not None)
        waits.append(due["wait"])

    waited()
    table.open_shoe()
    waited()
    table.open_round()
    waited()
    table.draw("9C")
    table.disconnect()
    waited()
    assert waits == ["shoe", None, "card", "shoe"]


def test_a_deadline_is_the_time_at_which_the_table_wakes() -> None:
    table = TableHarness(faces="face_up", announcements="implied").open_shoe()
    table.draw("9C")
    (deadline,) = status(table.now, table.game, table.settings)["deadlines"]
    assert deadline == {"what": "cards_seen", "at": utc(table.now.wake_us)}
    table.tick()
    assert status(table.now, table.game, table.settings)["deadlines"] == []


def test_staff_see_who_is_who_and_no_arguments_that_name_cards() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    table.does("no_more_bets")
    table.deal("2D 3C TS TH")
    table.does("expose", hand="player")
    corrected = {"hand": "player", "index": 1, "card": "4D"}
    table.does("correct_card", reason="seen", consented_by="lee", position=SHIFT, **corrected)
    table.does("declare", key="other", reason="a noise", position="pit_supervisor")
    shown = staff(table.now, table.game, table.settings)
    assert shown["players"] == [{"number": 1, "player": "ann"}]
    (opened,) = shown["open"]
    assert (opened["key"], opened["position"]) == ("other", "pit_supervisor")
    given = table.inputs[-1]
    assert isinstance(given, TableCommand) and opened["person"] == given.person
    last = [(one["command"], one["about"], one["consented_by"]) for one in shown["commands"]]
    assert last[-2:] == [("correct_card", None, "lee"), ("declare", "other", None)]
    assert "4D" not in json.dumps(shown)
    for _ in range(20):
        table.asks("settle")
    assert staff(table.now, table.game, table.settings)["commands"] == shown["commands"]


GAMES = (*STAFFED, "dragon_bonus_royal")


def wagered(game: str, cards: str, limits: dict[str, Any] | None = None) -> TableHarness:
    """Every wager of the game lies at a seat, and a round with these cards is announced."""
    table = betting_table(limits, name=game, announcements="explicit")
    rules = WagerRules(table.game, table.settings.layout, table.settings.limits)
    for number, wager in enumerate(rules.offered):
        seat = rules.seats[number % len(rules.seats) % 3]
        place_bet(table, wager, 1000 + 10 * number, seat=seat)
    table.does("no_more_bets")
    if table.game.deck.name == "element65":
        cards = cards.translate(str.maketrans("DCSHK", "fgewS"))
    first, third = cards.split()[:4], cards.split()[4:]
    table.deal(" ".join(first))
    table.turn_over()
    table.does("announce_totals")
    for code in third:
        table.draw(code)
        table.turn_over()
    table.does("announce_outcome")
    return table


@pytest.mark.parametrize(
    "cards", ["9C 2D KD 3H", "2D 8C TS TH", "7D 7C TS TH", "2D 6C TS TH 6H AC"]
)
@pytest.mark.parametrize("game", GAMES)
def test_before_settle_the_status_says_what_settle_then_records(game: str, cards: str) -> None:
    limits = {"currency": {"unit": 5, "rounding": "down"}} if game == GAMES[0] else None
    table = wagered(game, cards, limits)
    public = wagers_of(table)
    restricted = status_restricted(table.now, table.game, table.settings)["wagers"]
    assert len(public) == len(table.now.wagers.standing) > 0
    table.does("settle")
    assert [of_event(w) for w in public] == unrounded(table.told("wager.settled"))
    assert [of_event(w) for w in restricted] == unrounded(restricted_data(table, "wager.settled"))
    assert any(w["settlement"]["result"] == "win" for w in public)
    assert wagers_of(table) == []


def wagers_of(table: TableHarness) -> list[dict[str, Any]]:
    return list(status(table.now, table.game, table.settings)["wagers"])


def of_event(shown: dict[str, Any]) -> dict[str, Any]:
    """A wager of the status with what settle does, as ``wager.settled`` tells it."""
    line = {k: v for k, v in shown.items() if k in ("number", "player", "seat", "wager")}
    return {**line, **shown["settlement"]}


def unrounded(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in event.items() if k not in COMMON} for event in events]


def test_a_wager_that_plays_only_in_part_is_shown_with_what_goes_back() -> None:
    table = betting_table({"minimum": 100, "maximum": 10_000}, announcements="explicit")
    place_bet(table, "banker", 9000)
    table.does("no_more_bets")
    table.does(
        "declare", key="late_wager", player="ann", seat=3, wager="banker", amount=500, reason="late"
    )
    (lies,) = wagers_of(table)
    assert lies == {"number": 1, "seat": 3, "wager": "banker", "amount": 9000, "not_honoured": 500}
    table.deal("2D 8C TS TH")
    table.turn_over()
    assert "settlement" not in wagers_of(table)[0]
    table.does("announce_totals")
    table.does("announce_outcome")
    (paid,) = wagers_of(table)
    assert paid["settlement"]["stake"] == paid["settlement"]["returned"] == 9500
    table.does("settle")
    assert of_event(paid) == unrounded(table.told("wager.settled"))[0]


def test_the_public_status_says_at_which_seat_a_wager_lies_and_not_whose_it_is() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    assert wagers_of(table) == [{"number": 1, "seat": 3, "wager": "tie", "amount": 100}]
    (held,) = status_restricted(table.now, table.game, table.settings)["wagers"]
    assert held["player"] == "ann"


def test_a_shoe_that_judges_is_waited_for() -> None:
    table = TableHarness(angel_eye=True).open_shoe()
    table.open_round()
    table.deal(ROUNDS["both stand"])
    table.turn_over()
    table.does("announce_totals")
    assert next_of(table) == "wait for the shoe's own result"
    table.judges()
    assert next_of(table) == "announce the outcome"
