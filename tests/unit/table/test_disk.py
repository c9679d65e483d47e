"""A disk that will be full soon, at the table: staff read it, the public and the round do not."""

from __future__ import annotations

from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import DiskChecked, from_bytes, to_bytes
from shoe_testing.tables import TableHarness

HOUR_US = 3_600_000_000


def test_a_warning_is_restricted_and_changes_nothing_of_the_round() -> None:
    table = TableHarness().open_shoe()
    before = table.controller.state
    for full_us, kind, data in (
        (table.t_us + HOUR_US, "disk.filling", {"full_at": "1970-01-01T01"}),
        (None, "disk.relieved", {}),
    ):
        checked = DiskChecked(t_us=table.t_us, full_us=full_us)
        assert from_bytes(to_bytes(checked)) == checked
        (event,) = [e for e in table.feed(checked) if isinstance(e, TableEvent)]
        assert (event.type, event.audience) == (kind, Audience.RESTRICTED)
        assert event.data.keys() == data.keys()
    assert table.controller.state.round == before.round
    assert table.controller.state.state == before.state
