"""A lost link is public as a code; the line that names the port of the host is restricted."""

from __future__ import annotations

import pytest

from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import LinkLost
from shoe_testing.tables import TableHarness


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("unplugged: /dev/serial/by-id/shoe", "unplugged"),
        ("closed by the other end: 10.0.0.7:4000", "closed"),
        ("no more answers: 10.0.0.7:4000", "no_answer"),
        ("nothing received for 20 s", "silent"),
        ("too much garbage on the line; 40 bytes to it were not sent", "garbage"),
        ("decoding failed", "decoding_failed"),
        ("write queue full: /dev/ttyS0 reads nothing, 9 bytes are waiting", "write_queue_full"),
        ("/dev/ttyS0: Input/output error", "link_failed"),
    ],
)
def test_the_public_reason_is_a_code_and_the_line_is_restricted(reason: str, code: str) -> None:
    table = TableHarness().open_shoe()
    connection = table.now.link.connection
    table.feed(LinkLost(t_us=table.now.t_us, connection=connection, reason=reason))
    (lost,) = (event for event in table.events if event.type == "shoe.lost")
    assert lost.audience is Audience.PUBLIC
    assert lost.data == {"reason": code}
    assert lost.restricted_data == {"reason": code, "detail": reason}


def test_a_reason_that_is_a_code_says_no_more() -> None:
    table = TableHarness().open_shoe()
    connection = table.now.link.connection
    table.feed(LinkLost(t_us=table.now.t_us, connection=connection, reason="unplugged"))
    (lost,) = (event for event in table.events if event.type == "shoe.lost")
    assert lost.data == {"reason": "unplugged"}
    assert lost.restricted_data is None
