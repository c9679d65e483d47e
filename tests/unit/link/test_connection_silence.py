"""Silence that means a loss, and all that is dropped or discarded, told and counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from firmware_proto.angel_eye.frames import encode_command, encode_event
from firmware_proto.commands import Armed
from firmware_proto.events import Standby
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession, Resume
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.reconnect import LinkState
from shoe_ctl.link.transport import Opener, Transport
from shoe_testing.transports import (
    CAPABILITIES,
    HandClock,
    LineProfile,
    LinkOwner,
    ScriptedTransport,
    ShoeEnd,
    end_link,
    plugged_in,
    until,
)


class AnsweringProfile(LineProfile):
    """A shoe that is never silent for ten seconds, as its capabilities say."""

    def host_session(self, *, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        session = super().host_session(resume=resume, settings=settings)
        session.capabilities = replace(CAPABILITIES, silence_s=10.0)
        return session


async def test_a_line_that_is_dead_without_saying_so_is_lost_by_silence(
    shoe: ShoeEnd, opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    host = LinkOwner(opener, AnsweringProfile())
    running = asyncio.create_task(host.link.run())
    await shoe.hear(3)
    shoe.say(b"c\n")
    assert await shoe.hear(3) == b"+1\n"
    host.clock.advance(9.9)
    assert host.link.state is LinkState.UP
    host.clock.advance(0.2)
    await until(lambda: host.link.state is LinkState.WAITING)
    assert host.told[-1] == "lost nothing received for 10 s"
    assert "received for 10 s (check that the shoe is on, and its cable); retrying" in caplog.text
    await end_link(running)


async def test_a_shoe_that_speaks_in_time_is_never_lost(shoe: ShoeEnd, opener: Opener) -> None:
    host = LinkOwner(opener, AnsweringProfile())
    running = asyncio.create_task(host.link.run())
    await shoe.hear(3)
    for number in range(1, 6):
        host.clock.advance(9.9)
        shoe.say(b"c\n")
        assert await shoe.hear(3) == b"+%d\n" % number
    assert host.link.state is LinkState.UP
    await end_link(running)


async def test_a_shoe_that_fell_silent_is_listened_for_and_told_only_once_it_speaks(
    shoe: ShoeEnd, opener: Opener
) -> None:
    """Its port opens again and again while its power is off: that is one loss, not many."""
    host = LinkOwner(opener, AnsweringProfile())
    running = asyncio.create_task(host.link.run())
    await shoe.hear(3)
    for _ in range(3):
        host.clock.advance(10)
        await until(lambda: host.link.state is LinkState.WAITING)
        await host.clock.pass_next()
        await until(lambda: host.link.state is LinkState.LISTENING)
        assert host.link.connection is None
    assert host.told == ["up 41", "lost nothing received for 10 s"]
    await shoe.hear(9)
    host.link.set_desired_state(Armed(4, "banker", 2))
    shoe.say(b"c\n")
    assert await shoe.hear(6) == b"*4\n+1\n"
    assert host.told[2:] == ["up 44", "44@0 b'c\\n'"]
    assert host.link.state is LinkState.UP
    await end_link(running)


async def test_bytes_that_could_not_be_sent_are_told_with_the_loss() -> None:
    async def open_jammed() -> Transport:
        transport = ScriptedTransport([])
        transport.dropped = 7
        return transport

    host = LinkOwner(open_jammed)
    running = asyncio.create_task(host.link.run())
    await until(lambda: host.link.state is LinkState.WAITING)
    await end_link(running)
    assert host.told == ["up 41", "lost script: over; 7 bytes to it were not sent"]


async def hears(shoe: ShoeEnd, opener: Opener, line: bytes, times: int) -> None:
    """A host hears this line so many times on one connection, which then ends."""
    host = LinkOwner(opener, AnsweringProfile())
    running = asyncio.create_task(host.link.run())
    await shoe.hear(3)
    shoe.say(line * times)
    await until(lambda: host.last == times)
    shoe.unplug()
    await until(lambda: host.link.state is LinkState.WAITING)
    await end_link(running)


async def test_what_is_discarded_is_counted_in_the_log_and_does_not_fill_it(
    shoe: ShoeEnd, opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "shoe_ctl.link")
    await hears(shoe, opener, b"x\n", 123)
    warned = [r.getMessage() for r in caplog.records if "bytes discarded" in r.getMessage()]
    assert [line.partition(" reason=")[0] for line in warned] == [
        f"bac-07: bytes discarded: connection=41 count={n}" for n in (1, 10, 100)
    ]
    assert "bac-07: connection ended: connection=41 bytes=246 discarded=123" in caplog.text


async def test_what_a_shoe_tells_of_before_this_host_is_no_warning(
    shoe: ShoeEnd, opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "shoe_ctl.link")
    await hears(shoe, opener, b"h\n", 12)
    told = [(r.levelname, r.getMessage()) for r in caplog.records if "played" in r.getMessage()]
    before = "event from before the daemon knew this shoe: stored, not played"
    assert told == [
        ("INFO", f"bac-07: {before}: connection=41 count={n} reason=\"b'h'\"") for n in (1, 10)
    ]
    assert "bac-07: connection ended: connection=41 bytes=24 discarded=0" in caplog.text


async def test_a_tcp_connection_that_is_only_half_open_is_left_for_a_new_one(
    tmp_path: Path,
) -> None:
    """The other end is connected and says nothing, not even that it is gone."""
    async with plugged_in("tcp", tmp_path) as there:
        host = LinkOwner(there.open, AnsweringProfile())
        running = asyncio.create_task(host.link.run())
        await there.hear(3)
        there.port.write(b"c\n")
        assert await there.hear(6) == b"?0\n+1\n"
        for number in range(2, 5):
            host.clock.advance(10)
            await until(lambda: not there.connected)
            await host.clock.pass_next()
            await until(lambda: there.connections == number)  # noqa: B023
        there.port.write(b"c\n")
        await until(lambda: host.last == 2)
        await end_link(running)
    assert [told for told in host.told if "@" not in told] == [
        "up 41",
        "lost nothing received for 10 s",
        "up 44",
    ]


async def test_a_silent_angel_eye_is_asked_and_lost_when_nobody_answers() -> None:
    clock, transport = HandClock(), ScriptedTransport([encode_event(Standby(), "1")])
    transport.hold = True
    session = profile("angel_eye").host_session(resume=None, settings={"commands": True})
    heard: list[Reception] = []

    async def note(reception: Reception) -> None:
        heard.append(reception)

    connection = Connection(
        name="bac-07",
        number=1,
        transport=transport,
        session=session,
        clock=clock,
        on_reception=note,
    )
    began = clock.now
    running = asyncio.create_task(connection.run())
    while True:
        await until(lambda: clock.waiting or running.done())
        if running.done():
            break
        await clock.pass_next()
    assert str(await running) == "nothing received for 75 s" and connection.fell_silent
    assert clock.now == began + 75.0
    assert transport.written == encode_command("GP", "00") * 6  # at 30 s and at 60 s
    (reception,) = heard
    assert reception.chunk == encode_event(Standby(), "1")
