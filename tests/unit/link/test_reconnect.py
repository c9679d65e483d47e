"""Reconnecting, on real ptys with a clock by hand."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import serial  # type: ignore[import-untyped]

from firmware_proto.commands import Armed, Locked
from firmware_proto.session import Resume
from shoe_ctl.errors import PortError
from shoe_ctl.link.reconnect import LinkState, Supervisor
from shoe_ctl.link.serial import ports_closed
from shoe_ctl.link.transport import Opener, Transport
from shoe_testing.transports import (
    HandClock,
    LineProfile,
    LinkOwner,
    ScriptedTransport,
    ShoeEnd,
    end_link,
    until,
)


def open_files() -> set[str]:
    found = set()
    for fd in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor of this very listing
            found.add(f"{fd.name}: {fd.readlink()}")
    return found


async def until_up(host: LinkOwner) -> None:
    """Lets time pass until the link is up."""
    async with asyncio.timeout(10):
        while host.link.state is not LinkState.UP:
            if host.clock.waiting:
                await host.clock.pass_next()
            await asyncio.sleep(0.001)


async def test_a_shoe_unplugged_in_mid_frame_resumes_on_its_next_pty(
    shoe: ShoeEnd, opener: Opener
) -> None:
    host = LinkOwner(opener)
    running = asyncio.create_task(host.link.run())
    assert await shoe.hear(3) == b"?0\n"
    shoe.say(b"c\nhalf a fr")
    assert await shoe.hear(3) == b"+1\n"
    shoe.unplug()
    await until(lambda: host.link.state is LinkState.WAITING)
    shoe.plug_in()
    await host.clock.pass_next()
    assert await shoe.hear(3) == b"?1\n"
    shoe.say(b"c\n")
    assert await shoe.hear(3) == b"+2\n"
    await end_link(running)
    assert host.told == [
        "up 41",
        "41@0 b'c\\nhalf a fr'",
        f"lost unplugged: {shoe.link}",
        "up 42",
        "42@0 b'c\\n'",
    ]
    assert host.profile.resumed_from[-2:] == [None, Resume("SH-1", 1)]


async def test_a_returned_shoe_resumes_within_a_second_for_the_first_minute(
    shoe: ShoeEnd, opener: Opener
) -> None:
    host = LinkOwner(opener)
    running = asyncio.create_task(host.link.run())
    await shoe.hear(3)
    lost_at = host.clock.now
    shoe.unplug()
    while host.clock.now < lost_at + 59:
        await host.clock.pass_next()
    shoe.plug_in()
    returned_at = host.clock.now
    await until_up(host)
    assert host.clock.now - returned_at <= 0.25
    await end_link(running)


async def test_the_desired_state_is_told_to_this_connection_and_to_each_later_one(
    shoe: ShoeEnd, opener: Opener
) -> None:
    host = LinkOwner(opener)
    host.link.set_desired_state(Armed(4, "banker", 2))
    running = asyncio.create_task(host.link.run())
    assert await shoe.hear(6) == b"?0\n*4\n"
    host.link.set_desired_state(Locked())
    assert await shoe.hear(3) == b"*0\n"
    shoe.unplug()
    await until(lambda: host.link.state is LinkState.WAITING)
    host.link.set_desired_state(Armed(5, "player", 3))
    shoe.plug_in()
    await host.clock.pass_next()
    assert await shoe.hear(6) == b"?0\n*5\n"
    await end_link(running)


async def test_states_and_trouble_say_what_the_link_is_doing(shoe: ShoeEnd, opener: Opener) -> None:
    host = LinkOwner(opener)
    seen = [(host.link.state, host.link.trouble)]
    running = asyncio.create_task(host.link.run())
    await shoe.hear(3)
    seen.append((host.link.state, host.link.trouble))
    shoe.unplug()
    await until(lambda: host.link.state is LinkState.WAITING)
    seen.append((host.link.state, host.link.trouble))
    await end_link(running)
    assert seen == [
        (LinkState.STOPPED, None),
        (LinkState.UP, None),
        (LinkState.WAITING, f"unplugged: {shoe.link}"),
    ]
    assert host.link.state is LinkState.STOPPED
    assert host.link.connection is None


async def test_a_first_open_that_must_succeed_raises_the_one_clear_line(
    shoe: ShoeEnd, opener: Opener
) -> None:
    shoe.unplug()
    host = LinkOwner(opener)
    with pytest.raises(PortError, match="no such port"):
        async with asyncio.timeout(10):
            await host.link.run(must_open_first=True)
    assert host.told == []
    assert host.link.state is LinkState.STOPPED


async def test_after_a_first_open_that_had_to_succeed_losses_are_retried(
    shoe: ShoeEnd, opener: Opener
) -> None:
    host = LinkOwner(opener)
    running = asyncio.create_task(host.link.run(must_open_first=True))
    await shoe.hear(3)
    shoe.unplug()
    for _ in range(10):
        await host.clock.pass_next()
    shoe.plug_in()
    await until_up(host)
    await shoe.hear(3)
    await end_link(running)


async def test_the_first_failure_is_a_warning_and_its_repeats_are_not(
    shoe: ShoeEnd, opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "shoe_ctl.link")
    shoe.unplug()
    host = LinkOwner(opener)
    running = asyncio.create_task(host.link.run())
    for _ in range(4):
        await host.clock.pass_next()
    await until(lambda: host.clock.waiting)
    await end_link(running)
    levels = [r.levelno for r in caplog.records if r.name.startswith("shoe_ctl.link")]
    assert levels == [logging.WARNING] + [logging.DEBUG] * 4
    assert "bac-07: link down: no such port" in caplog.text


async def test_a_port_that_opens_but_never_speaks_is_tried_ever_more_slowly() -> None:
    async def open_dead() -> Transport:
        return ScriptedTransport([])

    host = LinkOwner(open_dead)
    running = asyncio.create_task(host.link.run())
    for _ in range(4):
        await host.clock.pass_next()
    await until(lambda: host.clock.waiting)
    assert host.clock.asked == pytest.approx([0.05, 0.1, 0.2, 0.25, 0.25])
    await end_link(running)


async def test_undecodable_bytes_sent_again_and_again_are_no_reason_to_hurry() -> None:
    async def open_poison() -> Transport:
        return ScriptedTransport([b"!\n"])

    host = LinkOwner(open_poison)
    running = asyncio.create_task(host.link.run())
    for _ in range(2):
        await host.clock.pass_next()
    await until(lambda: host.clock.waiting)
    assert host.clock.asked == pytest.approx([0.05, 0.1, 0.2])
    await end_link(running)


async def test_a_shoe_that_spoke_is_tried_quickly_again() -> None:
    async def open_brief() -> Transport:
        return ScriptedTransport([b"c\n"])

    host = LinkOwner(open_brief)
    running = asyncio.create_task(host.link.run())
    for _ in range(2):
        await host.clock.pass_next()
    await until(lambda: host.clock.waiting)
    assert host.clock.asked == [0.05, 0.05, 0.05]
    await end_link(running)


@pytest.mark.parametrize("moment", ["on_up", "on_reception", "on_lost", "idle", "waiting"])
async def test_cancelled_at_any_moment_it_leaves_nothing_behind(
    shoe: ShoeEnd, opener: Opener, executor: ThreadPoolExecutor, moment: str
) -> None:
    host = LinkOwner(opener)
    executor.submit(int).result()  # the pool's own thread is not the link's
    files, tasks = open_files(), asyncio.all_tasks()
    if moment == "on_up":
        host.go.clear()
    running = asyncio.create_task(host.link.run())
    await until(lambda: host.told == ["up 41"])
    if moment == "on_reception":
        host.go.clear()
        shoe.say(b"c\n")
        await until(lambda: host.inside == 1)
    elif moment == "on_lost":
        host.go.clear()
        shoe.unplug()
        await until(lambda: host.inside == 1)
    elif moment == "waiting":
        shoe.unplug()
        await until(lambda: host.clock.waiting)
    elif moment == "idle":
        await shoe.hear(3)
    await end_link(running)
    assert asyncio.all_tasks() == tasks
    assert not host.clock.waiting
    await ports_closed()
    assert open_files() <= files


async def test_cancelled_in_mid_open_it_leaves_nothing_behind(
    shoe: ShoeEnd, opener: Opener, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_it, go_on = threading.Event(), threading.Event()
    real = serial.Serial

    def slow(path: str, **settings: object) -> object:
        at_it.set()
        assert go_on.wait(10)
        return real(path, **settings)

    monkeypatch.setattr(serial, "Serial", slow)
    host = LinkOwner(opener)
    files, tasks = open_files(), asyncio.all_tasks()
    running = asyncio.create_task(host.link.run())
    await until(at_it.is_set)
    await end_link(running)
    go_on.set()
    executor.shutdown()
    await ports_closed()
    assert asyncio.all_tasks() == tasks
    assert open_files() <= files
    assert host.told == []


async def test_what_a_callback_raises_ends_the_link_and_gives_the_port_back(
    shoe: ShoeEnd, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = LinkOwner(opener)

    def broken() -> Resume | None:
        raise OSError(5, "the journal is gone")

    monkeypatch.setattr(host.link, "_resume", broken)
    with pytest.raises(OSError, match="the journal is gone"):
        await host.link.run()
    (await opener()).close()


def test_settings_the_profile_does_not_take_are_refused_at_once() -> None:
    async def never() -> Transport:
        raise AssertionError

    with pytest.raises(ValueError, match="unknown setting"):
        Supervisor(
            name="bac-07",
            profile=LineProfile(),
            settings={"speed": 3},
            opener=never,
            clock=HandClock(),
            resume=lambda: None,
            on_up=None,  # type: ignore[arg-type]
            on_lost=None,  # type: ignore[arg-type]
            on_reception=None,  # type: ignore[arg-type]
            first_connection=1,
        )
