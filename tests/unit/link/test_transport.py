"""What any transport has to do, on a pty, over TCP and over USB."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoe_ctl.errors import PortError
from shoe_ctl.link.transport import (
    WRITE_LIMIT,
    DescriptorTransport,
    TransportLost,
    unplugged,
)
from shoe_testing.transports import (
    TRANSPORT_KINDS,
    TransportEnd,
    is_readable,
    plugged_in,
    read_bytes,
    until,
)

LOST_WITH = {"pty": "unplugged", "tcp": "closed by the other end", "usb": "unplugged"}


@pytest.fixture(params=TRANSPORT_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def end(kind: str, tmp_path: Path) -> AsyncIterator[TransportEnd]:
    async with plugged_in(kind, tmp_path) as there:
        yield there


async def test_every_byte_passes_both_ways_unchanged(end: TransportEnd) -> None:
    every = bytes(range(256))
    transport = await end.connect()
    assert transport.read() == b""
    end.port.write(every)
    assert await read_bytes(transport, 256) == every
    transport.write(every)
    assert await end.hear(256) == every
    assert transport.lost is None
    transport.close()


@pytest.mark.parametrize("size", [1, 63, 64, 65, 128, 4095, 4096, 4097])
async def test_a_piece_of_any_size_arrives_whole_without_waiting_for_the_next(
    end: TransportEnd, size: int
) -> None:
    piece = random.Random(size).randbytes(size)
    transport = await end.connect()
    end.port.write(piece)
    assert await read_bytes(transport, size) == piece
    assert transport.read() == b""
    transport.write(piece)
    assert await end.hear(size) == piece
    transport.close()


async def test_what_comes_in_pieces_of_any_size_stays_in_order(
    end: TransportEnd, seed: int
) -> None:
    chance = random.Random(seed)
    transport = await end.connect()
    sent = b""
    for _ in range(200):
        piece = chance.randbytes(chance.randint(1, 200))
        sent += piece
        end.port.write(piece)
    assert await read_bytes(transport, len(sent)) == sent
    transport.close()


async def test_nothing_to_read_is_no_loss_and_wakes_nobody(end: TransportEnd) -> None:
    transport = await end.connect()
    woken = asyncio.Event()
    transport.when_readable(woken.set)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.25):  # longer than a device is waited for at once
            await woken.wait()
    assert transport.read() == b""
    assert transport.lost is None
    transport.close()


async def test_an_unplug_wakes_the_reader_and_is_told_at_each_read(
    end: TransportEnd, kind: str
) -> None:
    transport = await end.connect()
    woken = asyncio.Event()
    transport.when_readable(woken.set)
    end.port.close()
    async with asyncio.timeout(10):
        await woken.wait()
    for _ in range(2):
        with pytest.raises(TransportLost, match=LOST_WITH[kind]):
            transport.read()
    assert transport.lost is not None and LOST_WITH[kind] in str(transport.lost)
    transport.close()


async def test_a_loss_is_told_to_who_waits_only_after_it(end: TransportEnd) -> None:
    transport = await end.connect()
    end.port.close()
    with pytest.raises(TransportLost):
        await read_bytes(transport, 1)
    await is_readable(transport)
    transport.close()


async def test_what_is_written_after_a_loss_is_counted_as_dropped(end: TransportEnd) -> None:
    transport = await end.connect()
    end.port.close()
    with pytest.raises(TransportLost):
        await read_bytes(transport, 1)
    before = transport.dropped
    transport.write(b"to no one")
    assert transport.dropped - before == 9
    transport.close()


async def test_the_queue_to_a_shoe_that_does_not_read_is_bounded_and_never_blocks(
    end: TransportEnd,
) -> None:
    """While this test does not yield the shoe's end reads nothing."""
    transport = await end.connect()
    written = 0
    while transport.lost is None:
        transport.write(bytes(1000))
        written += 1000
        assert written < 1 << 26
    with pytest.raises(
        TransportLost, match=r"write queue full: .* reads nothing, \d+ bytes are waiting"
    ):
        transport.read()
    assert WRITE_LIMIT < transport.dropped <= WRITE_LIMIT + 1000
    transport.close()


async def test_a_shoe_is_held_back_while_nobody_reads_and_nothing_of_it_is_lost(
    end: TransportEnd,
) -> None:
    sent = random.Random(1).randbytes(60_000)
    transport = await end.connect()
    for at in range(0, len(sent), 100):
        end.port.write(sent[at : at + 100])
    await asyncio.sleep(0)
    assert await read_bytes(transport, len(sent)) == sent
    assert end.port.overrun == 0
    transport.close()


async def test_a_closed_port_can_be_opened_again_at_once(end: TransportEnd) -> None:
    for number in range(1, 6):
        transport = await end.connect()
        transport.write(b"%d" % number)
        await end.hear(number)
        transport.close()
        transport.close()
        await until(lambda: not end.connected)
    assert bytes(end.heard) == b"12345"


async def test_a_device_that_returns_is_opened_under_the_same_name(end: TransportEnd) -> None:
    for _ in range(5):
        transport = await end.connect()
        end.port.close()
        with pytest.raises(TransportLost):
            await read_bytes(transport, 1)
        transport.close()
        with pytest.raises(PortError):
            await end.open()
        end.port.reopen()
    transport = await end.connect()
    end.port.write(b"back")
    assert await read_bytes(transport, 4) == b"back"
    transport.close()


async def test_a_port_that_is_not_there_is_told_in_one_line_with_the_next_step(
    end: TransportEnd,
) -> None:
    end.port.close()
    with pytest.raises(PortError) as refused:
        await end.open()
    line = str(refused.value)
    assert refused.value.exit_code == 3
    assert "\n" not in line and "(" in line
    assert end.port.address.removeprefix("usb:") in line


async def test_opening_that_is_cancelled_leaves_the_port_free(end: TransportEnd) -> None:
    opening = asyncio.ensure_future(end.open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await until(lambda: not end.connected)
    transport = None
    async with asyncio.timeout(10):
        while transport is None:
            try:
                transport = await end.open()
            except PortError:  # what was opened in vain is still being given back
                await asyncio.sleep(0.001)
    transport.write(b"free")
    assert (await end.hear(4))[-4:] == b"free"
    transport.close()


async def test_closing_ends_every_thread_of_the_transport(end: TransportEnd) -> None:
    before = set(threading.enumerate())
    transport = await end.connect()
    transport.close()
    await until(lambda: {t for t in threading.enumerate() if "SH-0042" in t.name} <= before)


@pytest.mark.parametrize(("stops", "level"), [(False, "WARNING"), (True, "INFO")])
async def test_what_was_read_and_never_taken_is_logged_when_the_port_is_closed(
    caplog: pytest.LogCaptureFixture, stops: bool, level: str
) -> None:
    caplog.set_level(logging.INFO)
    here, there = socket.socketpair()
    here.setblocking(False)
    transport = DescriptorTransport(
        here.fileno(), "pair", why_lost=lambda _: unplugged("pair"), give_back=here.close
    )
    transport.when_readable(lambda: None)
    transport.when_readable(None)
    there.send(b"early")
    for _ in range(3):
        await asyncio.sleep(0)

    async def serve() -> None:
        try:
            await asyncio.sleep(3600 if stops else 0)
        finally:
            transport.close()
            transport.close()

    serving = asyncio.create_task(serve())
    await asyncio.sleep(0)
    if stops:
        serving.cancel()
    await asyncio.wait([serving])
    there.close()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (level, "pair: unread bytes dropped: bytes=5")
    ]


async def test_what_comes_while_nobody_waits_is_read_in_order_and_before_the_loss() -> None:
    here, there = socket.socketpair()
    here.setblocking(False)
    transport = DescriptorTransport(
        here.fileno(), "pair", why_lost=lambda _: unplugged("pair"), give_back=here.close
    )
    readable = asyncio.Event()
    transport.when_readable(readable.set)
    transport.when_readable(None)
    for piece in (b"one", b"two"):
        there.send(piece)
        for _ in range(3):
            await asyncio.sleep(0)
    there.close()
    assert not readable.is_set()
    heard = b""
    while heard != b"onetwo":
        transport.when_readable(readable.set)
        await readable.wait()
        readable.clear()
        heard += transport.read()
    transport.when_readable(readable.set)
    await readable.wait()
    with pytest.raises(TransportLost, match="unplugged"):
        transport.read()
    transport.close()
