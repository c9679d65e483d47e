"""Record the bytes at a port with their times, through losses. Nothing is sent.

In: an opener, a clock. Out: entries of a capture, as they come.
Must not know: frames, sessions, where a capture is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing

from firmware_proto.capture import SHOE, Chunk, Entry, Lost, Opened
from shoe_ctl.clock import Clock, sleep
from shoe_ctl.errors import PortError
from shoe_ctl.link.reconnect import Backoff
from shoe_ctl.link.transport import Opener, Transport, TransportLost


async def record(opener: Opener, clock: Clock, on_entry: Callable[[Entry], None]) -> None:
    """Pass on each entry until cancelled. A port that is lost is opened again.

    Times are microseconds since the port was first opened.

    Raises:
        PortError: the very first attempt to open the port failed.
    """
    backoff = Backoff()
    transport = await opener()
    began = clock.monotonic()

    def now_us() -> int:
        return round((clock.monotonic() - began) * 1e6)

    while True:
        with closing(transport):
            on_entry(Opened(now_us()))
            why = await _read_until_lost(
                transport, lambda data: on_entry(Chunk(now_us(), SHOE, data))
            )
            on_entry(Lost(now_us(), why))
        backoff.spoke()
        transport = await _reopen(opener, clock, backoff)


async def _read_until_lost(transport: Transport, on_data: Callable[[bytes], None]) -> str:
    readable = asyncio.Event()
    transport.when_readable(readable.set)
    try:
        while True:
            await readable.wait()
            readable.clear()
            while data := transport.read():
                on_data(data)
    except TransportLost as lost:
        return str(lost)
    finally:
        transport.when_readable(None)


async def _reopen(opener: Opener, clock: Clock, backoff: Backoff) -> Transport:
    while True:
        await sleep(clock, backoff.failed(clock.monotonic()))
        try:
            return await opener()
        except PortError:
            continue
