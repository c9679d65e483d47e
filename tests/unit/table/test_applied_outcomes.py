"""A table system's reports: what it applied, in time or not, and its count of a shoe."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from shoe_ctl.records import Audience, since_1970_us, utc
from shoe_ctl.table.applied_outcomes import check_applied, check_stated, is_repeat
from shoe_ctl.table.effects import Effect, TableEvent, WakeAt
from shoe_ctl.table.inputs import (
    OutcomeApplied,
    ShoeStated,
    StatedRound,
    ToldMoney,
    from_bytes,
    to_bytes,
)
from shoe_ctl.table.state import from_bytes as state_from_bytes
from shoe_ctl.table.state import to_bytes as state_to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import LANGUAGES, text
from shoe_testing.tables import TableHarness

BOUND_S = 20
PLAYER_WINS = "9S 3D 9H 4C"
BANKER_WINS = "2S 5D 4H 4C"


def table_with_ledger(**given: Any) -> TableHarness:
    return TableHarness(applied_within_s=BOUND_S, **given).open_shoe()


def report(table: TableHarness, reference: str = "booked-1", **other: Any) -> OutcomeApplied:
    """A report that the newest end of a round was applied."""
    end = next(e for e in reversed(table.public) if e.type in ENDS)
    place = {"round_id": end.subject, "type": end.type, "told_us": told_at(table, end)}
    ids = {"public_id": "bac-07/p1", "restricted_id": "bac-07/r1"}
    fields = {"user": "ledger", "reference": reference, **ids, **place, **other}
    return OutcomeApplied(t_us=table.t_us, **fields)


ENDS = ("round.outcome", "round.revised", "round.void")


def told_at(table: TableHarness, end: TableEvent) -> int:
    """When an event was told: the time of the input that brought it."""
    kept = {each.round_id: each.told_us for each in table.now.told.rounds}
    assert end.subject is not None
    return int(kept[end.subject])


def events(effects: list[Effect], audience: Audience = Audience.PUBLIC) -> list[tuple[str, Any]]:
    return [
        (e.type, e.data) for e in effects if isinstance(e, TableEvent) and e.audience is audience
    ]


def refusal(table: TableHarness, asked: OutcomeApplied) -> str | None:
    """The code with which a report is refused; it changes nothing then, whoever feeds it."""
    why = check_applied(table.now, table.settings, asked)
    if why is not None:
        before = table.now.told
        assert events(table.feed(replace(asked, t_us=table.t_us))) == []
        assert table.now.told == before
        for language in LANGUAGES:
            assert text(why, language)
    return None if why is None else why.code


@pytest.mark.parametrize("settled", [False, True])
def test_an_outcome_is_applied_before_or_after_settle(settled: bool) -> None:
    table = table_with_ledger()
    table.open_round()
    table.deal(PLAYER_WINS)
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    if settled:
        table.does("settle")
    said = report(table)
    assert from_bytes(to_bytes(said)) == said
    effects = table.feed(said)
    (event,) = [e for e in effects if isinstance(e, TableEvent)]
    assert (event.type, event.subject) == ("outcome.applied", said.round_id)
    assert event.data == {"round_id": said.round_id, "event": "bac-07/p1"}
    assert event.restricted_data == {
        "round_id": said.round_id,
        "event": "bac-07/r1",
        "reference": "booked-1",
        "user": "ledger",
    }
    assert state_from_bytes(state_to_bytes(table.now)) == table.now


def test_a_second_report_is_answered_and_changes_nothing() -> None:
    table = table_with_ledger()
    table.play(PLAYER_WINS)
    said = report(table)
    table.feed(said)
    assert is_repeat(table.now, said)
    assert not is_repeat(table.now, report(table, "booked-2"))
    assert refusal(table, report(table, "booked-2")) == "refused_applied_twice"
    assert refusal(table, report(table, user="another")) == "refused_applied_twice"


def test_only_the_newest_end_of_a_round_can_be_applied() -> None:
    table = table_with_ledger()
    table.play(BANKER_WINS)
    first = report(table)
    table.feed(first)
    table.does(
        "revise_round", round=first.round_id, player="9S 9H", banker="3D 4C",
        reason="a card was misread", consented_by="lee",
    )  # fmt: skip
    assert refusal(table, first) == "refused_applied_superseded"
    second = report(table, "booked-2")
    assert second.type == "round.revised"
    assert refusal(table, second) is None
    assert [kind for kind, _ in events(table.feed(second))] == ["outcome.applied"]


def test_a_void_is_applied_and_what_it_took_back_is_not() -> None:
    table = table_with_ledger()
    table.open_round()
    table.deal(PLAYER_WINS)
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    outcome = report(table)
    table.does("declare", key="other", reason="the cards were exposed")
    table.rules("void")
    assert table.kinds.count("round.void") == 1
    assert refusal(table, outcome) == "refused_applied_void"
    void = report(table)
    assert void.type == "round.void"
    assert [kind for kind, _ in events(table.feed(void))] == ["outcome.applied"]


def test_a_round_that_nobody_told_cannot_be_applied() -> None:
    table = table_with_ledger()
    table.play(PLAYER_WINS)
    stray = report(table, round_id="bac-07-s1-r9")
    assert refusal(table, stray) == "refused_applied_forgotten"


def test_an_outcome_that_nobody_applied_in_time_is_told_to_the_pit_once() -> None:
    table = table_with_ledger()
    table.play(PLAYER_WINS)
    (told,) = table.now.told.rounds
    assert table.now.wake_us == told.told_us + BOUND_S * 1_000_000
    assert WakeAt(table.now.wake_us) in table.effects
    shown = status(table.now, table.game, table.settings)
    waits = {"round_id": told.round_id, "type": "round.outcome", "since": utc(told.told_us)}
    assert shown["unapplied"] == [{**waits, "overdue": False}]
    assert events(table.tick()) == [
        (
            "outcome.not_applied",
            {"round_id": told.round_id, "type": "round.outcome", "told": utc(told.told_us)},
        )
    ]
    assert table.now.wake_us is None
    shown = status(table.now, table.game, table.settings)
    assert shown["unapplied"] == [{**waits, "overdue": True}]
    assert shown["next"]["message"]["args"]["trouble"]["code"] == "next_not_applied"
    assert told.round_id in text(shown["next"]["message"])
    table.feed(report(table))
    shown = status(table.now, table.game, table.settings)
    assert (shown["unapplied"], shown["next"]["message"]["code"]) == ([], "next_place_your_bets")


def test_a_table_without_the_setting_keeps_nothing_and_refuses_reports() -> None:
    table = TableHarness().open_shoe()
    table.play(PLAYER_WINS)
    assert b'"told"' not in state_to_bytes(table.now)
    assert "unapplied" not in status(table.now, table.game, table.settings)
    asked = OutcomeApplied(
        t_us=table.t_us, user="ledger", reference="x", round_id="bac-07-s1-r1",
        type="round.outcome", told_us=1, public_id="bac-07/p1", restricted_id="bac-07/r1",
    )  # fmt: skip
    assert refusal(table, asked) == "refused_applied_not_kept"


# A shoe as the table system counts it.


def wagered() -> TableHarness:
    """Two rounds with wagers: ann wins 1,000 on Player, then loses 500 and takes 300 on Banker."""
    table = table_with_ledger()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="player", amount=1000)
    table.does("no_more_bets")
    table.deal(PLAYER_WINS)
    table.finish()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="player", amount=500)
    table.does("no_more_bets")
    table.deal(BANKER_WINS)
    table.finish()
    return table


WON = {"player": ToldMoney(staked=1000, paid_out=2000)}
LOST = {"player": ToldMoney(staked=500, paid_out=0)}


def stated(table: TableHarness, *rounds: StatedRound) -> ShoeStated:
    shoe = table.now.shoe.id
    return ShoeStated(t_us=table.t_us, user="ledger", shoe_id=shoe, rounds=rounds)


def counts(wagers: dict[str, ToldMoney], number: int, *, void: bool = False) -> StatedRound:
    return StatedRound(round_id=f"bac-07-s1-r{number}", void=void, wagers=wagers)


def compared(table: TableHarness, *rounds: StatedRound) -> tuple[Any, Any]:
    asked = stated(table, *rounds)
    assert check_stated(table.now, table.settings, asked) is None
    assert from_bytes(to_bytes(asked)) == asked
    (event,) = [e for e in table.feed(asked) if isinstance(e, TableEvent)]
    assert (event.type, event.subject) == ("shoe.reconciled", "bac-07-s1")
    return event.data, event.restricted_data


def test_a_shoe_that_agrees_is_compared_once() -> None:
    table = wagered()
    public, restricted = compared(table, counts(WON, 1), counts(LOST, 2))
    assert public == {
        "shoe_id": "bac-07-s1", "agrees": True, "rounds": 2, "stated": 2, "money": True,
    }  # fmt: skip
    assert restricted["wagers"] == {"player": {"staked": 1500, "paid_out": 2000}}
    again = check_stated(table.now, table.settings, stated(table))
    assert again is not None
    assert again.code == "refused_shoe_agreed"


@pytest.mark.parametrize(
    ("rounds", "first", "what"),
    [
        ([counts(WON, 1)], 2, "not_stated"),
        ([counts(LOST, 2)], 1, "not_stated"),
        ([counts(WON, 1), counts(LOST, 2), counts({}, 3)], 3, "not_played"),
        ([counts(WON, 1), counts({}, 2, void=True)], 2, "not_void"),
        ([counts(WON, 1), counts(WON, 2)], 2, "money"),
        ([counts(LOST, 1), counts(WON, 2)], 1, "money"),
        ([counts(WON, 1), counts({}, 2)], 2, "money"),
        ([counts(WON, 1), counts(WON, 1), counts(LOST, 2)], 1, "twice"),
    ],
)
def test_the_first_round_that_differs_is_named(
    rounds: list[StatedRound], first: int, what: str
) -> None:
    table = wagered()
    public, _ = compared(table, *rounds)
    assert not public["agrees"]
    assert (public["first"], public["what"]) == (f"bac-07-s1-r{first}", what)
    assert compared(table, counts(WON, 1), counts(LOST, 2))[0]["agrees"]


def test_the_money_that_differs_is_restricted() -> None:
    table = wagered()
    wrong = {"player": ToldMoney(staked=500, paid_out="1/2")}
    public, restricted = compared(table, counts(WON, 1), counts(wrong, 2))
    assert not {"wager", "kept", "said", "wagers", "user"} & public.keys()
    assert restricted["wager"] == "player"
    assert restricted["kept"] == {"staked": 500, "paid_out": 0}
    assert restricted["said"] == {"staked": 500, "paid_out": "1/2"}


def test_a_revision_changes_the_money_and_the_shoe_is_compared_anew() -> None:
    table = wagered()
    compared(table, counts(WON, 1), counts(LOST, 2))
    table.does(
        "revise_round", round="bac-07-s1-r2", player="9S 9H", banker="3D 4C",
        reason="a card was misread", consented_by="lee",
    )  # fmt: skip
    assert compared(table, counts(WON, 1), counts(LOST, 2))[0]["first"] == "bac-07-s1-r2"
    now_won = {"player": ToldMoney(staked=500, paid_out=1000)}
    assert compared(table, counts(WON, 1), counts(now_won, 2))[0]["agrees"]


def test_a_void_round_counts_without_money() -> None:
    table = table_with_ledger()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="player", amount=1000)
    table.does("no_more_bets")
    table.does("declare", key="other", reason="the cards were exposed")
    table.rules("void")
    assert compared(table, counts({}, 1))[0]["what"] == "void"
    assert compared(table, counts({}, 1, void=True))[0]["agrees"]


def test_without_recorded_wagers_rounds_alone_are_compared() -> None:
    table = table_with_ledger()
    table.play(PLAYER_WINS)
    public, _ = compared(table, counts(WON, 1))
    assert (public["agrees"], public["money"]) == (True, False)


def test_a_shoe_with_an_open_round_is_not_compared() -> None:
    table = wagered()
    table.open_round()
    why = check_stated(table.now, table.settings, stated(table))
    assert why is not None
    assert why.code == "refused_shoe_round_open"


def test_a_shoe_that_was_under_way_is_not_compared() -> None:
    before = TableHarness().open_shoe()
    before.play(PLAYER_WINS)
    table = TableHarness(state=before.now, applied_within_s=BOUND_S)
    table.restart()
    table.play(BANKER_WINS)
    why = check_stated(table.now, table.settings, stated(table))
    assert why is not None
    assert why.code == "refused_shoe_kept_in_part"


def test_the_time_of_an_event_is_read_exactly() -> None:
    for t_us in (0, 1, 1_767_268_800_000_001, 2**52 + 999_999):
        assert since_1970_us(utc(t_us)) == t_us
