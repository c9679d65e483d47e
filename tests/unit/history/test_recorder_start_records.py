"""A table started again: under the same rules it goes on, under others only between rounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.errors import ConfigError
from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Meta
from shoe_ctl.journal.store import Store
from shoe_ctl.replay.replay import replay
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import Input
from shoe_testing.journals import dealt_by, table_meta


@contextmanager
def journal_of(path: Path, *parts: Meta | list[Input]) -> Iterator[Reader]:
    """A journal of starts and of inputs handled under them."""
    store = Store.open(path)
    now: TableController | None = None
    try:
        for part in parts:
            group = Batch()
            if isinstance(part, Meta):
                group.append_meta("bac-07", part)
                now = snapshots.controller_for(part, now)
            else:
                assert now is not None
                for happened in part:
                    record_input(group, "bac-07", happened, now.handle(happened), EventIndex())
            store.commit([group])
        with store.reader() as reader:
            yield reader
    finally:
        store.close()


def left_by(reader: Reader, table: str = "bac-07") -> tuple[TableController | None, Meta | None]:
    """The table as the journal left it, and what it was last run under."""
    before = snapshots.recover_tables(reader, [table])[table]
    return before.controller, before.meta


def test_a_table_goes_on_in_mid_round_under_the_same_rules(tmp_path: Path) -> None:
    with journal_of(tmp_path / "j.db", table_meta(), dealt_by("2D 3C TS")) as reader:
        before, kept = left_by(reader)
    again = snapshots.continue_under(before, kept, table_meta())
    assert again is before
    assert again.state.state == "dealing"
    assert [str(d.card) for d in again.state.round.cards] == ["2D", "3C", "TS"]  # type: ignore[union-attr]


def test_other_rules_wait_for_the_round_to_end(tmp_path: Path) -> None:
    with journal_of(tmp_path / "j.db", table_meta(), dealt_by("2D 3C TS")) as reader:
        before, kept = left_by(reader)
    with pytest.raises(ConfigError, match="round bac-07-s1-r1 is open under other settings"):
        snapshots.continue_under(before, kept, table_meta(rounds_after_cutting_card=2))


def test_other_settings_between_rounds_keep_the_shoe_and_its_numbers(tmp_path: Path) -> None:
    with journal_of(tmp_path / "j.db", table_meta(), dealt_by("9C 2D KD 3H")) as reader:
        before, kept = left_by(reader)
    assert before is not None
    again = snapshots.continue_under(before, kept, table_meta(rounds_after_cutting_card=2))
    assert again.settings.rounds_after_cutting_card == 2
    assert again.state == before.state
    assert (again.state.rounds, again.state.shoe.drawn) == (1, 4)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "other", [{"decks": 6}, {"name": "fa_fa_fabulous_4"}], ids=["decks", "deck"]
)
def test_other_cards_leave_the_old_shoe_behind_but_no_number_is_given_twice(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    with journal_of(tmp_path / "j.db", table_meta(), dealt_by("9C 2D KD 3H")) as reader:
        before, kept = left_by(reader)
    assert before is not None
    state = snapshots.continue_under(before, kept, table_meta(**other)).state
    assert (state.state, state.shoe, state.armed) == ("no_shoe", None, None)
    assert (state.shoes, state.rounds, state.inputs) == (1, 1, before.state.inputs)


def test_a_journal_with_other_rules_half_way_replays_without_a_difference(tmp_path: Path) -> None:
    later = dealt_by("9C 2D KD 3H")
    moved = [msgspec.structs.replace(happened, t_us=happened.t_us + 10**9) for happened in later]
    parts = (table_meta(), later, table_meta(decks=6), moved, table_meta(), moved[-1:])
    with journal_of(tmp_path / "j.db", *parts) as reader:
        found = replay(
            reader,
            snapshots.controller_for,
            snapshots.agrees,
            from_first_snapshot=snapshots.from_first_snapshot,
        )
    assert found.differences == []


def test_a_journal_that_never_heard_of_the_table_starts_it_anew(tmp_path: Path) -> None:
    with journal_of(tmp_path / "j.db", table_meta()) as reader:
        assert left_by(reader, "another") == (None, None)
    assert snapshots.continue_under(None, None, table_meta()).state.inputs == 0
