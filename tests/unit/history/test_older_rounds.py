"""Rounds that a table no longer holds: found again as they were settled, and revised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.history import snapshots
from shoe_ctl.history.older_rounds import find_older_round
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.table.inputs import from_bytes, to_bytes
from shoe_ctl.table.state import OlderRound, older_from_bytes, older_to_bytes
from shoe_ctl.texts import catalogue
from shoe_ctl.texts.message import Message
from shoe_testing.journals import (
    JournalTable,
    replayed_journal,
    verified,
)
from shoe_testing.tables import EnglishEvents, TableHarness, game, settings

STAND = "7D 7C TS TH"
DRAWN = "2D 3C TS TH 4C 5D"


class Journaled:
    """A table whose inputs are stored as they are handled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store.open(path)
        self.table = TableHarness()
        under = snapshots.start_record(game(), settings(), t_us=0)
        self.journal = JournalTable(self.store, under)
        self.settled: dict[str, Any] = {}
        self._stored = 0
        self.table.step = self.keep

    def keep(self) -> None:
        """Store what the table has handled since."""
        for happened in self.table.inputs[self._stored :]:
            self._stored += 1
            self.journal.handle(from_bytes(to_bytes(happened)))
        last = self.table.now.last_settled
        if last is not None:
            self.settled.setdefault(last.round.id, last)

    def play(self, codes: str, stake: int = 100) -> str:
        self.table.does("place_your_bets")
        self.table.does("place_wager", player="ann", seat=1, wager="player", amount=stake)
        self.table.does("no_more_bets")
        self.table.deal(codes)
        self.table.turn_over()
        if not self.table.now.round.totals_announced:
            self.table.does("announce_totals")
        self.table.does("announce_outcome")
        self.table.does("settle")
        return str(self.table.now.last_settled.round.id)

    def find(self, round_id: str) -> OlderRound | Message:
        with self.store.reader() as reader:
            return find_older_round(reader, "bac-07", round_id)

    def revise(self, round_id: str, player: str, banker: str, **more: Any) -> EnglishEvents:
        found = self.find(round_id)
        given: dict[str, Any] = {"reason": "seen", "consented_by": "lee", **more}
        if isinstance(found, OlderRound):
            given["older"] = msgspec.Raw(older_to_bytes(found))
        return self.table.asks(
            "revise_round", round=round_id, player=player, banker=banker, **given
        )


@pytest.fixture
def played(tmp_path: Path) -> Any:
    """Three rounds of a shoe, and one of the next."""
    made = Journaled(tmp_path / "journal.db")
    made.table.open_shoe()
    for codes in (STAND, DRAWN, STAND):
        made.play(codes)
    made.table.load(set_id="set-2")
    made.play("7D 7C TS 9H")
    yield made
    made.store.close()


def test_a_round_is_found_as_it_was_settled(played: Journaled) -> None:
    for round_id, settled in played.settled.items():
        found = played.find(round_id)
        assert isinstance(found, OlderRound)
        assert found.settled == settled
        assert older_from_bytes(older_to_bytes(found)) == found
    first = played.find("bac-07-s1-r1")
    assert isinstance(first, OlderRound)
    assert (first.player, first.banker, first.shoe) == ("7D TS", "7C TH", 1)
    assert first.shown["TS"] == first.shown["TH"] == 3 and first.shown["5D"] == 1


def test_its_results_and_its_money_change_and_nothing_else_of_the_table(
    played: Journaled,
) -> None:
    table, before, told = played.table, played.table.now, len(played.table.events)
    assert played.revise("bac-07-s1-r1", "7D AS", "7C TH").accepted
    corrected, revised, wager = table.events[told:]
    assert (corrected.type, corrected.data["was"]) == ("round.card_corrected", "TS")
    assert (revised.type, revised.subject) == ("round.revised", "bac-07-s1-r1")
    assert (revised.data["winner"], revised.data["shoe_id"]) == ("player", "bac-07-s1")
    assert (wager.data["result"], wager.data["change"]) == ("win", 100)
    after = table.now
    for name in ("last_settled", "wagers", "shoe", "control", "round", "unplaced", "halt"):
        assert getattr(after, name) == getattr(before, name), name


def test_a_second_revision_goes_on_from_the_first(played: Journaled) -> None:
    assert played.revise("bac-07-s1-r1", "7D AS", "7C TH").accepted
    same = played.revise("bac-07-s1-r1", "7D AS", "7C TH")
    assert same.error == "those are the cards of the outcome as it stands"
    told = len(played.table.events)
    assert played.revise("bac-07-s1-r1", "7D TS", "7C TH").accepted
    assert played.table.events[-1].data["change"] == -100
    assert played.table.events[told].type == "round.card_corrected"
    found = played.find("bac-07-s1-r1")
    assert isinstance(found, OlderRound) and found.player == "7D TS"


def test_a_ruling_against_the_table_of_play_is_found_again_and_revised_back(
    played: Journaled,
) -> None:
    hands = ("2D TS", "7C TH")
    refused = played.revise("bac-07-s1-r1", *hands)
    assert refused.error is not None and "against_table=true" in refused.error
    assert played.revise("bac-07-s1-r1", *hands, against_table=True).accepted
    ruled = played.table.told("round.revised")[-1]
    assert (ruled["rule"], ruled["winner"]) == ("6.1", "banker")
    assert played.table.events[-1].data["change"] == -100
    again = played.revise("bac-07-s1-r1", *hands, against_table=True)
    assert again.error == "those are the cards of the outcome as it stands"
    assert played.revise("bac-07-s1-r1", "7D AS", "7C TH").accepted
    assert played.table.told("round.revised")[-1]["rule"] == "6.3"
    assert played.table.events[-1].data["change"] == 200
    played.play(STAND)
    played.store.close()
    assert replayed_journal(played.path).found == 0


def test_a_round_of_the_shoe_on_the_table_changes_its_ledger(played: Journaled) -> None:
    played.play(STAND)
    before = played.table.now.shoe.shown
    assert played.revise("bac-07-s2-r4", "7D AS", "7C 9H").accepted
    after = played.table.now.shoe.shown
    assert (after.get("AS", 0), after["TS"]) == (before.get("AS", 0) + 1, before["TS"] - 1)


def test_its_journal_replays_and_verifies(played: Journaled) -> None:
    assert played.revise("bac-07-s1-r2", "2D TS 4C", "3C TH 6D").accepted
    assert played.revise("bac-07-s2-r4", "7D AS", "7C 9H").accepted
    played.play(STAND)
    assert played.journal.again().controller is not None
    played.store.close()
    replayed = replayed_journal(played.path)
    assert (replayed.found, replayed.rounds) == (0, 5)
    assert verified(played.path).ok


@pytest.mark.parametrize(
    ("round_id", "why"),
    [
        ("bac-07-s1-r9", "there is no round bac-07-s1-r9 at this table"),
        ("bac-08-s1-r1", "there is no round bac-08-s1-r1 at this table"),
        ("nonsense", "there is no round nonsense at this table"),
    ],
)
def test_a_round_that_is_not_there_is_refused_in_one_line(
    played: Journaled, round_id: str, why: str
) -> None:
    found = played.find(round_id)
    assert isinstance(found, Message) and catalogue.text(found).startswith(why)
    answer = played.revise(round_id, "7D AS", "7C TH")
    assert answer.error is not None and answer.error.startswith(why)


def test_a_round_that_is_open_has_no_outcome_to_revise(played: Journaled) -> None:
    played.table.does("place_your_bets")
    found = played.find(played.table.now.round.id)
    assert isinstance(found, Message)
    assert catalogue.text(found).endswith("was not settled: there is no outcome to revise")


def test_a_round_of_an_older_shoe_is_refused(played: Journaled) -> None:
    played.table.load(set_id="set-3")
    answer = played.revise("bac-07-s1-r1", "7D AS", "7C TH")
    assert answer.error is not None and "is of an older shoe" in answer.error
    assert played.revise("bac-07-s2-r4", "7D AS", "7C 9H").accepted


def test_more_of_a_face_than_its_shoe_held_are_refused(tmp_path: Path) -> None:
    made = Journaled(tmp_path / "journal.db")
    made.table.open_shoe()
    for _ in range(8):
        made.play(STAND)
    made.play("7S 7H KS KH")
    made.table.load(set_id="set-2")
    made.play(STAND)
    answer = made.revise("bac-07-s1-r9", "7S TS", "7H KH")
    made.store.close()
    assert answer.error is not None and "TS" in answer.error


def test_a_round_whose_records_were_removed_says_so(played: Journaled) -> None:
    key = open_signer(played.path, None)
    n, told = played.store.checkpoint(key, 1), played.store.head("bac-07").counters
    assert n is not None
    played.play(STAND)
    begins = AnchorRecord(n, {"bac-07": (told.public, told.restricted)})
    played.store.truncate_before(begins, key, 2)
    found = played.find("bac-07-s1-r1")
    assert isinstance(found, Message)
    assert "were removed" in catalogue.text(found)
