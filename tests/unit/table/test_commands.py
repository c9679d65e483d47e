"""Commands: who may give them, for which round, once; time never runs backwards."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from shoe_ctl.table import inputs, positions
from shoe_ctl.table.answers import REMEMBERED_COMMANDS, digest
from shoe_ctl.table.arguments import NoArgs
from shoe_ctl.table.commands import COMMANDS, can_give
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand, Tick
from shoe_ctl.table.offers import list_offers
from shoe_ctl.table.state import FirstAnswer, TableState, from_bytes, to_bytes
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_ctl.texts.catalogue import text as english
from shoe_ctl.texts.message import message
from shoe_testing.event_check import OwnData
from shoe_testing.for_each import for_each
from shoe_testing.staff import at as at_table
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, game

LADDER = positions.LADDER
PIT = ("dealer", "pit_supervisor", "pit_manager")
BELOW = {
    "pit_supervisor": PIT[:1],
    "pit_manager": PIT[:2],
    "gaming_shift_manager": PIT,
    "assistant_casino_manager": PIT,
}


def table_at_idle() -> TableHarness:
    return TableHarness(**WAYS[0]).open_shoe()


@for_each(COMMANDS, [*LADDER, "surveillance", "assistant_casino_manager", "", "x"])
def test_a_command_above_ones_position_names_the_position_it_needs(
    command: str, position: str
) -> None:
    needed = COMMANDS[command].position
    apart = position == positions.APART and COMMANDS[command].apart
    high_enough = position == needed or needed in BELOW.get(position, ()) or apart
    answer = table_at_idle().asks(command, position=position, choice="void", reason="r")
    if high_enough:
        assert answer.accepted or "needs a" not in (answer.error or "")
    else:
        assert (answer.accepted, answer.needs["position"]) == (False, needed)
        article = "an" if needed[:1] in "aeiou" else "a"
        low = f"{command} needs {article} {needed.replace('_', ' ')}"
        offered = [one.command for one in list_offers(at_table(table_at_idle()))]
        # What stands against it whoever gives it is said first.
        assert (answer.error == low) is (command in offered)


def test_a_state_that_does_not_take_it_is_said_before_the_position() -> None:
    table = table_at_idle()
    table.open_round()
    refused = table.asks("change_shoe", position="dealer")
    assert refused.error == "change_shoe cannot be taken now (the table is closed)"
    assert refused.needs == {"state": "idle", "position": "pit_supervisor"}


def test_a_choice_that_cannot_be_taken_now_says_so_before_it_asks_for_a_position() -> None:
    table = table_at_idle()
    table.open_round()
    table.deal("2D 3C")
    table.disconnect()
    refused = table.asks("decide", choice="play_on", position="dealer", reason="r")
    assert refused.error == "the link to the shoe is down"
    high = table.asks("decide", choice="void", position="dealer", reason="r")
    assert high.error == "void needs a gaming shift manager"


def test_who_decides_is_the_games_to_say() -> None:
    assert positions.who_decides(game()) == game().decides == "gaming_shift_manager"
    assert positions.who_decides(game("dragon_bonus_royal")) == "gaming_shift_manager"


def test_of_shift_and_casino_manager_neither_outranks_the_other_until_one_is_set_to() -> None:
    shift, casino = "gaming_shift_manager", "assistant_casino_manager"
    assert positions.is_sufficient(casino, casino)
    assert not positions.is_sufficient(shift, casino) and not positions.is_sufficient(casino, shift)
    assert positions.is_sufficient(casino, shift, highest=casino)
    assert not positions.is_sufficient(shift, casino, highest=casino)
    assert positions.is_sufficient(shift, casino, highest=shift)
    assert not positions.is_sufficient(casino, shift, highest=shift)


def test_surveillance_stands_apart_from_the_ladder() -> None:
    for other in positions.POSITIONS:
        same = other == "surveillance"
        assert positions.is_sufficient("surveillance", other) is same
        assert positions.is_sufficient(other, "surveillance") is same


def test_surveillance_decides_nothing_that_is_not_named_for_it() -> None:
    assert can_give("surveillance", "decide", "dealer")
    assert not can_give("surveillance", "declare", "dealer")
    table = table_at_idle()
    table.does("declare", key="other", reason="a fire alarm")
    refused = table.asks("decide", choice="play_on", reason="r", position="surveillance")
    assert refused.error == "play_on needs a gaming shift manager"
    assert refused.needs == {"position": "gaming_shift_manager"}


def test_a_command_for_another_round_than_the_open_one_is_refused() -> None:
    table = table_at_idle()
    assert not table.asks("place_your_bets", round_id="bac-07-s1-r1").accepted
    table.does("place_your_bets")
    assert table.now.round is not None
    stale = table.asks("no_more_bets", round_id="bac-07-s1-r0")
    assert stale.error is not None and table.now.round.id in stale.error
    table.does("no_more_bets", round_id=table.now.round.id)


def test_an_unknown_command_is_refused_even_where_it_is_the_name_of_an_input() -> None:
    table = table_at_idle()
    for name in ("toss_a_coin", "card_drawn", "outcome_due", "link_up"):
        assert table.asks(name).error == f"no such command: {name}"
    assert table.now.state == "idle"


def test_a_misspelt_command_is_refused_with_the_one_that_was_meant() -> None:
    refused = table_at_idle().asks("place_your_bet")
    assert refused.error == "no such command: place_your_bet (is it place_your_bets?)"


@pytest.mark.parametrize("accepted", [True, False])
def test_a_repeated_command_gets_its_first_answer_whole_and_changes_nothing(
    accepted: bool,
) -> None:
    table = table_at_idle()
    command = "place_your_bets" if accepted else "settle"
    first = table.asks(command, command_id="k-1")
    assert first.accepted is accepted
    assert bool(first.needs) is not accepted
    if accepted:
        table.does("no_more_bets")
    now, told = table.now, len(table.events)
    assert table.asks(command, command_id="k-1") == first
    assert len(table.events) == told
    assert msgspec.structs.replace(table.now, t_us=0, inputs=0) == msgspec.structs.replace(
        now, t_us=0, inputs=0
    )


@pytest.mark.parametrize(
    "other",
    [
        {"command": "no_more_bets"}, {"args": {"seat": 4}}, {"round_id": "bac-07-s1-r1"},
        {"person": "lee"}, {"position": "dealer"}, {"reason": "again"}, {"consented_by": "lee"},
        {"user": "dora"}, {"user": ""},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("accepted", [True, False])
def test_an_id_that_comes_again_with_another_command_or_user_is_refused_and_changes_nothing(
    other: dict[str, Any], accepted: bool
) -> None:
    table = table_at_idle()
    asked = TableCommand(
        t_us=table.t_us, command_id="k-1", command="place_your_bets" if accepted else "settle",
        person="kim", position="pit_supervisor", user="ann",
    )  # fmt: skip
    first = answer_to(table, asked)
    table = TableHarness(state=from_bytes(to_bytes(table.now)), **WAYS[0])  # over a restart too
    before = msgspec.structs.replace(table.now, t_us=0, inputs=0)
    refused = answer_to(table, msgspec.structs.replace(asked, **other))
    why = "by another user" if "user" in other else "for another command"
    said = f"command_id k-1 was used before, {why}: give each command its own id"
    assert refused.error is not None and english(refused.error) == said
    assert (refused.accepted, refused.needs) == (False, {})
    assert msgspec.structs.replace(table.now, t_us=0, inputs=0) == before
    assert [e.type for e in table.events] == ["command.refused"]
    assert answer_to(table, asked) == first


def answer_to(table: TableHarness, asked: TableCommand) -> Answer:
    effects = table.feed(msgspec.structs.replace(asked, t_us=table.t_us))
    (answer,) = (effect for effect in effects if isinstance(effect, Answer))
    return answer


def test_arguments_in_another_order_and_those_the_controller_added_make_no_other_command() -> None:
    named = TableCommand(t_us=1, command_id="k", command="rotate_key", args={"a": 1, "b": 2})
    turned = msgspec.structs.replace(named, args={"b": 2, "a": 1}, t_us=9)
    added = msgspec.structs.replace(named, args={"a": 1, "key_id": 3, "b": 2}, added=("key_id",))
    other = msgspec.structs.replace(named, args={"a": 1, "key_id": 3, "b": 2})
    assert digest(named) == digest(turned) == digest(added) != digest(other)


def test_refused_commands_of_one_user_do_not_have_the_others_forgotten() -> None:
    table = table_at_idle()

    def settle(number: int, user: str) -> None:
        asked = TableCommand(
            t_us=table.t_us, command_id=f"{user}-{number}", command="settle", user=user
        )
        assert not answer_to(table, asked).accepted

    for number in range(REMEMBERED_COMMANDS // 2):
        asked = TableCommand(t_us=1, command_id=f"ann-{number}", command="ask_shoe", user="ann")
        kept = remembered(table, asked)
        table = TableHarness(state=kept, **WAYS[0])
    for number in range(2 * REMEMBERED_COMMANDS):
        settle(number, "flood")
        settle(number, "dora") if number < 20 else None
    known = Counter(first.user for first in table.now.answered.values())
    assert known == {"ann": 128, "dora": 20, "flood": 108}
    for number in range(REMEMBERED_COMMANDS):
        for user in ("eve", "flood"):
            settle(number + 9999, user)
    known = Counter(first.user for first in table.now.answered.values())
    assert known["ann"] == 128 and known["dora"] == 20
    assert len(table.now.answered) == REMEMBERED_COMMANDS


def remembered(table: TableHarness, asked: TableCommand) -> TableState:
    """As if the table had taken this command."""
    first = FirstAnswer(
        command_id=asked.command_id, accepted=True, user=asked.user, digest=digest(asked)
    )
    answered = {**table.now.answered, asked.command_id: first}
    state: TableState = msgspec.structs.replace(table.now, answered=answered)
    return state


def test_answers_are_remembered_across_a_restore_and_the_oldest_are_forgotten() -> None:
    table = table_at_idle()
    first = table.asks("settle", command_id="k-0")
    again = TableHarness(state=from_bytes(to_bytes(table.now)), **WAYS[0])
    assert again.asks("settle", command_id="k-0") == first
    for number in range(1, REMEMBERED_COMMANDS + 1):
        table.asks("settle", command_id=f"k-{number}")
    assert len(table.now.answered) == REMEMBERED_COMMANDS
    assert "k-0" not in table.now.answered
    assert table.asks("place_your_bets", command_id="k-0").accepted


def test_the_oldest_answer_is_forgotten_first_after_a_restore_too() -> None:
    table = table_at_idle()
    for number in range(REMEMBERED_COMMANDS, 0, -1):
        table.asks("settle", command_id=f"k-{number:03}")
    again = TableHarness(state=from_bytes(to_bytes(table.now)), **WAYS[0])
    for at in (table, again):
        at.asks("settle", command_id="k-999")
        assert f"k-{REMEMBERED_COMMANDS:03}" not in at.now.answered
        assert "k-001" in at.now.answered


def test_the_answer_to_a_command_that_halts_the_table_says_what_for() -> None:
    table = TableHarness(announcements="explicit", limits=TableLimits(differential=500)).open_shoe()
    assert table.asks("place_your_bets").halted is None
    table.does("place_wager", player="ann", seat=3, wager="player", amount=900)
    assert table.asks("no_more_bets").halted == "table_differential"
    assert table.asks("decide", choice="insufficient").halted == "table_differential"
    gone: dict[str, Any] = {"player": "ann", "seat": 3, "wager": "player"}
    answer = table.asks("decide", choice="remove", reason="too much", **gone)
    assert (answer.accepted, answer.halted, answer.asks) == (True, None, None)
    assert table.asks("pause", reason="look").halted == "review"
    assert table.asks("decide", choice="toss_a_coin").halted is None


def test_the_answer_to_a_void_says_that_the_table_asks_about_the_cards() -> None:
    table = table_at_idle()
    table.open_round()
    table.deal("7D")
    assert table.asks("declare", key="other", reason="spilt").halted == "other"
    answer = table.asks("decide", choice="void", reason="spilt")
    assert (answer.halted, answer.asks) == (None, "after_void")
    assert table.asks("decide", choice="keep_cards").asks is None


def test_the_answer_names_no_halt_that_only_a_hidden_card_explains() -> None:
    """A card entered by hand shows that one lying face down was never the shoe's."""
    table = TableHarness(announcements="explicit", decks=1).open_shoe()
    table.open_round()
    table.deal("7D 9C")
    table.draw(None)
    table.deal("2S")
    table.does("expose", hand="player")
    answer = table.asks("decide", choice="enter", card="9C", consented_by="lee")
    assert table.key == "extra_card"
    assert (answer.accepted, answer.halted) == (True, "inspection")


def test_a_commands_arguments_keep_their_order_in_the_journal() -> None:
    asked = TableCommand(t_us=1, command_id="c", command="expose", args={"z": 1, "a": 2})
    again = inputs.from_bytes(inputs.to_bytes(asked))
    assert isinstance(again, TableCommand)
    assert list(again.args) == ["z", "a"]


def test_time_that_runs_backwards_is_refused_and_nothing_changes() -> None:
    table = table_at_idle()
    before = table.now
    with pytest.raises(ValueError, match="time ran backwards"):
        table.feed(Tick(t_us=before.t_us - 1))
    assert table.now == before
    table.feed(Tick(t_us=before.t_us))


def test_a_refusal_is_told_to_those_who_may_know_and_to_nobody_else() -> None:
    table = table_at_idle()
    public = len(table.public)
    table.asks("settle", command_id="k-1")
    assert len(table.public) == public
    assert OwnData(table.events[-1].data) == {
        "command_id": "k-1",
        "command": "settle",
        "error": message("refused_in_this_state", command="settle", state="idle").as_data(),
    }


OFFERED = "the choice is one of play_on, set_aside, void"


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ("play_on", "cards were drawn that have no place in the round"),
        ("set_aside", None),
        ("toss_a_coin", OFFERED),
        (None, OFFERED),
        ("void", None),
    ],
)
def test_a_ruling_that_cannot_be_taken_says_why(choice: str | None, why: str | None) -> None:
    table = table_at_idle()
    table.does("place_your_bets")
    table.fails()
    table.draw("9C")
    answer = table.asks("decide", choice=choice, reason="r")
    assert answer.accepted is (why is None)
    assert why is None or (answer.error or "").endswith(why)


def test_a_ruling_without_a_reason_is_refused() -> None:
    table = table_at_idle()
    table.fails()
    without = table.asks("decide", choice="play_on")
    assert without.error == "a reason is missing: what is decided is recorded with it"
    no_round = table.asks("decide", choice="void", reason="r")
    assert no_round.error == "the choice is one of play_on, set_aside"
    table.rules("play_on")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "say hand=player|banker"),
        ({"hand": "both"}, "hand: it is player or banker"),
        ({"hand": "player", "idx": 2}, "there is no idx=... here: it takes hand, index, by"),
        ({"hand": "player", "a\nb": 2}, "there is no 'a\\nb'=... here: it takes hand, index, by"),
        ({"hand": "player", "index": "2"}, "index: expected a whole number or null, not text"),
        ({"hand": "player", "by": "kim"}, "by: it is dealer or holder"),
    ],
)
def test_what_is_exposed_is_named_rightly_or_no_card_is_turned(
    asked: dict[str, Any], why: str
) -> None:
    table = TableHarness(announcements="explicit", faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    before = table.now.round
    assert table.asks("expose", **asked).error == f"{why}"
    assert table.now.round == before
    assert "round.card_revealed" not in table.kinds


def test_a_command_that_takes_no_argument_does_nothing_with_one() -> None:
    table = TableHarness(announcements="explicit", faces="turned_by_dealer").open_shoe()
    tried = set()

    def does(command: str) -> None:
        tried.add(command)
        before = msgspec.structs.replace(table.now, t_us=0, inputs=0, answered={})
        answer = table.asks(command, position="gaming_shift_manager", cards=3)
        assert answer.error == f"{command} takes no arguments: there is no cards=... here"
        assert msgspec.structs.replace(table.now, t_us=0, inputs=0, answered={}) == before
        table.asks(command, position="gaming_shift_manager")

    for command in ("reset_shoe", "test_shoe", "align", "pause", "resume", "place_your_bets"):
        does(command)
    for command in ("clear_bets", "no_more_bets", "declare_out_of_view"):
        does(command)
    table.deal("7D 7C TS TH")
    table.turn_over()
    for command in (
        "announce_totals", "announce_outcome", "settle", "declare_cutting_card", "change_shoe",
        "declare_new_shoe",
    ):  # fmt: skip
        does(command)
    assert tried == {command.name for command in COMMANDS.values() if command.args is NoArgs}
