"""When a table's records get a snapshot: a table alone, and many that share a journal."""

from __future__ import annotations

from shoe_ctl.history import recorder, snapshots
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import TableRecorder
from shoe_ctl.journal.batch import Counters, Head
from shoe_testing.journals import table_meta


class Floor:
    """Where the chains of many tables end, each of whose cards brings so many records."""

    def __init__(self, tables: int, records_a_card: int) -> None:
        self.tables = tables
        self.last_n = 0
        self._records_a_card = records_a_card

    def head(self, table: str) -> Head:  # noqa: ARG002 - as a journal has it
        """Each chain ends at the last record."""
        return Head(self.last_n, bytes(32), Counters())

    def deal(self) -> None:
        """A card at one of the tables."""
        self.last_n += self._records_a_card


def snapshots_of_cards(tables: int, cards: int) -> list[int]:
    """How many snapshots there are at each card of every table, all of which begin at once."""
    floor, under = Floor(tables, 17), table_meta()
    controller, index = snapshots.controller_for(under), EventIndex()
    recorders = [TableRecorder(f"t{number:04}", under, floor, {}) for number in range(tables)]
    found = []
    for _ in range(cards):
        begun = 0
        for each in recorders:
            each.begin(controller, index, waits=False)
            begun += each.has_snapshot
            floor.deal()
        found.append(begun)
    return found


def test_many_tables_take_few_snapshots_and_never_all_at_once() -> None:
    tables, cards = 200, 60
    began, *later = snapshots_of_cards(tables, cards)
    assert began == tables  # each begins a section
    assert sum(later) <= tables * cards * 17 / recorder.RECORDS_A_TABLE
    assert sum(later) >= tables  # a restart does not read all of the shoe
    assert max(later) < tables / 3


def test_a_quiet_table_of_a_few_gets_a_snapshot_after_as_many_records_as_ever() -> None:
    began, *later = snapshots_of_cards(3, recorder.MOST_RECORDS // 17)
    assert began == 3
    assert [card for card, taken in enumerate(later, 1) if taken] == [99, 198]
