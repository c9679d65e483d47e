"""A lost link is public as a code; the line that names the port of the host is restricted."""

from __future__ import annotations

from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import LinkLost
from shoe_ctl.texts.message import message
from shoe_testing.tables import TableHarness


def test_the_reason_is_public_and_the_message_that_names_the_port_is_restricted() -> None:
    table = TableHarness().open_shoe()
    connection = table.now.link.connection
    why = message("link_unplugged", port="/dev/serial/by-id/shoe")
    lost = LinkLost(t_us=table.now.t_us, connection=connection, reason="unplugged", why=why)
    table.feed(lost)
    (event,) = (event for event in table.events if event.type == "shoe.lost")
    assert event.audience is Audience.PUBLIC
    assert event.data == {"reason": "unplugged"}
    assert event.restricted_data == {"reason": "unplugged", "detail": why.as_data()}


def test_a_loss_without_a_message_says_no_more() -> None:
    table = TableHarness().open_shoe()
    connection = table.now.link.connection
    table.feed(LinkLost(t_us=table.now.t_us, connection=connection, reason="unplugged"))
    (lost,) = (event for event in table.events if event.type == "shoe.lost")
    assert lost.data == {"reason": "unplugged"}
    assert lost.restricted_data is None
