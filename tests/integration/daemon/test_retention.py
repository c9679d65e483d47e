"""A real daemon on a journal of long ago: exports it, has it delivered, and takes it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import read_anchor
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.config import FACE_UP, RESTRICTED_SINK, make_config, table_section
from shoe_testing.daemon import PATIENCE_S, ShoeAtTable, ToldEvents, serving
from shoe_testing.journals import replayed_journal, verified
from shoe_testing.rounds import lines_of, of_type, once_each
from shoe_testing.transports import until

pytestmark = pytest.mark.slow


def begins(path: Path) -> int:
    with Reader.open(path) as reader:
        return read_anchor(reader).n


@pytest.mark.exhaustive(cpu_s=3)
async def test_sets_of_long_ago_leave_a_journal_that_a_daemon_serves(tmp_path: Path) -> None:
    path, config = tmp_path / "journal.db", tmp_path / "table.toml"
    made = bulk_journal.make(path, 82 * 4)
    table = table_section(
        bulk_journal.TABLE,
        port=str(tmp_path / "shoe"),
        profile=bulk_journal.PROFILE,
        announcements="implied",
        method_b=FACE_UP,
    )
    journal = {"keep_days": 30, "checkpoint_every_s": 1}
    config.write_text(make_config(table, journal=journal, sink=[RESTRICTED_SINK]))
    told = ToldEvents()
    with ShoeAtTable(tmp_path, bulk_journal.PROFILE, seed=1) as shoe:
        shoe.rig.dealer = None
        async with serving(config, told):
            await until(lambda: begins(path) > made.records - 2000, timeout_s=PATIENCE_S)
            await told.until(lambda: len(told.data("round.outcome")) == made.rounds)
    found = verified(path, frozenset({made.signer.public_key}))
    assert found.ok
    assert found.signed.upto == found.last_n - 1
    archive = sorted(file.name for file in (tmp_path / "archive").iterdir())
    assert archive == [f"{bulk_journal.TABLE}-s{n}.journal.gz" for n in range(5)]
    exported = [replayed_journal(tmp_path / "archive" / name) for name in archive]
    assert all(again.differences == [] for again in exported)
    assert sum(again.rounds for again in exported) >= made.rounds
    together = invoke(shoectl, "verify", tmp_path)
    assert (together.exit_code, "complete" in together.stdout) == (0, True), together.stdout
    # nothing was taken out before everybody had been told it
    events = once_each(lines_of(tmp_path / "restricted.jsonl"))
    assert len(of_type(events, "round.outcome")) == made.rounds
    # and a daemon goes on from what is left
    with ShoeAtTable(tmp_path, bulk_journal.PROFILE, seed=1) as shoe:
        shoe.rig.dealer = None
        async with serving(config, told) as daemon:
            state = daemon.runners[bulk_journal.TABLE].controller.state
            assert (state.rounds, state.shoes) == (made.rounds, 5)
