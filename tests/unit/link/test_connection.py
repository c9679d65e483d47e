"""One connection: receptions in order, one at a time; what is sent, and when; how it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import Armed, Locked
from firmware_proto.events import Discarded, Error, Standby
from firmware_proto.session import ReceivedEvent, Resume
from shoe_ctl.link.connection import PORTION, Connection, OnReception, Reception, Sent
from shoe_ctl.link.line_budget import LineBudget
from shoe_ctl.link.transport import Transport
from shoe_testing.transports import HandClock, LineSession, ScriptedTransport, until


class Taker:
    """Takes receptions; holds each back until ``go`` is set."""

    def __init__(self) -> None:
        self.taken: list[Reception] = []
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, reception: Reception) -> None:
        self.taken.append(reception)
        await self.go.wait()


def connection(
    transport: Transport,
    take: OnReception,
    clock: HandClock | None = None,
    patience_s: float | None = None,
) -> Connection:
    return Connection(
        name="bac-07",
        number=7,
        transport=transport,
        session=LineSession(None, patience_s),
        clock=clock or HandClock(),
        on_reception=take,
    )


@given(said=st.binary(max_size=40).map(lambda b: b.replace(b"!", b"c")), data=st.data())
def test_any_chunking_gives_the_same_events(said: bytes, data: st.DataObject) -> None:
    said += b"c\n"
    cuts = sorted(data.draw(st.sets(st.integers(1, len(said) - 1)))) if len(said) > 1 else []
    chunks = [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]

    async def heard(parts: list[bytes]) -> tuple[list[ReceivedEvent], list[Reception]]:
        take = Taker()
        await connection(ScriptedTransport(parts), take).run()
        return [h for r in take.taken for h in r.heard], take.taken

    whole, _ = asyncio.run(heard([said]))
    split, receptions = asyncio.run(heard(chunks))
    assert split == whole
    assert b"".join(r.chunk for r in receptions) == said
    assert [r.offset for r in receptions] == [0, *cuts]


async def test_an_ordinary_line_costs_no_call_for_the_processor_s_time() -> None:
    class Asked(HandClock):
        times = 0

        def processor_s(self) -> float:
            self.times += 1
            return super().processor_s()

    clock = Asked()
    await connection(ScriptedTransport([b"c\n"] * 50), Taker(), clock).run()
    assert clock.times == 0


async def test_a_host_that_stalls_while_it_decodes_takes_nothing_from_the_line() -> None:
    clock = HandClock()

    class Stalled(LineSession):
        def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
            clock.advance(3.0)
            return super().receive(data, t)

    budget = LineBudget()
    link = Connection(
        name="bac-07", number=7, transport=ScriptedTransport([b"?\nc\n"] * 50),
        session=Stalled(None, None), clock=clock, on_reception=Taker(), budget=budget,
    )  # fmt: skip
    assert str(await link.run()) == "script: over"
    assert link.discarded == 50
    assert not budget.is_spent and not budget.is_noisy


async def test_a_reception_names_its_connection_place_and_time() -> None:
    take = Taker()
    transport = ScriptedTransport([b"c\nx", b"\n"])
    assert str(await connection(transport, take).run()) == "script: over"
    t_us = 1_000_000_000
    assert take.taken == [
        Reception(
            connection=7,
            offset=0,
            chunk=b"c\nx",
            heard=(ReceivedEvent(Standby(), 1, 0, 2),),
            t_us=t_us,
        ),
        Reception(
            connection=7,
            offset=3,
            chunk=b"\n",
            heard=(ReceivedEvent(Discarded(reason="b'x'"), 2, 2, 4),),
            t_us=t_us,
        ),
    ]
    assert transport.closed


async def test_nothing_is_read_or_sent_while_a_reception_is_being_stored() -> None:
    take = Taker()
    take.go.clear()
    transport = ScriptedTransport([b"c\n", b"c\n"])
    served = connection(transport, take)
    running = asyncio.create_task(served.run())
    await until(lambda: len(take.taken) == 1)
    served.stored(1)
    served.set_desired_state(Armed(5, "player", 1))
    for _ in range(20):
        await asyncio.sleep(0)
    assert (transport.reads, transport.written, len(take.taken)) == (1, b"?0\n", 1)
    take.go.set()
    await running
    assert transport.written == b"?0\n+1\n*5\n"
    assert len(take.taken) == 2


async def test_a_desire_from_outside_is_sent_though_the_shoe_is_silent() -> None:
    transport = ScriptedTransport([])
    transport.hold = True
    served = connection(transport, Taker())
    running = asyncio.create_task(served.run())
    await until(lambda: transport.written == b"?0\n")
    served.set_desired_state(Armed(9, "banker", 2))
    await until(lambda: transport.written == b"?0\n*9\n")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert transport.closed


async def test_the_sessions_deadline_is_kept_and_its_events_come_with_an_empty_chunk() -> None:
    clock, take = HandClock(), Taker()
    transport = ScriptedTransport([b"c\n"])
    transport.hold = True
    running = asyncio.create_task(connection(transport, take, clock, patience_s=1.5).run())
    await until(lambda: len(take.taken) == 1)
    await until(lambda: clock.waiting)
    clock.advance(1.4)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(take.taken) == 1
    clock.advance(0.1)
    await until(lambda: len(take.taken) == 2)
    assert take.taken[1] == Reception(
        connection=7,
        offset=2,
        chunk=b"",
        heard=(ReceivedEvent(Error(code="silence"), None, 2, 2),),
        t_us=1_001_500_000,
    )
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not clock.waiting


async def test_bytes_that_cannot_be_decoded_are_handed_on_and_end_the_connection() -> None:
    take = Taker()
    transport = ScriptedTransport([b"c\n", b"!\n", b"c\n"])
    served = connection(transport, take)
    assert (await served.run()).reason == "decoding_failed"
    assert take.taken[-1] == Reception(
        connection=7,
        offset=2,
        chunk=b"!\n",
        heard=(),
        t_us=1_000_000_000,
        fault="ZeroDivisionError: as never happens",
    )
    assert transport.closed
    assert not served.spoke


async def test_what_was_read_along_with_bytes_that_cannot_be_decoded_is_handed_on_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    take = Taker()
    read = b"!\n" + b"c\n" * PORTION
    served = connection(ScriptedTransport([b"c\n", read, b"c\n"]), take)
    assert (await served.run()).reason == "decoding_failed"
    assert take.taken[1:] == [
        Reception(
            connection=7,
            offset=2,
            chunk=read[:PORTION],
            heard=(),
            t_us=1_000_000_000,
            fault="ZeroDivisionError: as never happens",
        ),
        Reception(
            connection=7,
            offset=2 + PORTION,
            chunk=read[PORTION:],
            heard=(),
            t_us=1_000_000_000,
        ),
    ]
    assert served.received == 2 + len(read)
    assert f"bytes stored without decoding them: connection=7 bytes={len(read) - PORTION}" in (
        caplog.text
    )


async def test_what_was_read_and_not_decoded_is_logged_when_the_connection_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def full_disk(reception: Reception) -> None:
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space left"):
        await connection(ScriptedTransport([b"c\n" * PORTION]), full_disk).run()
    assert f"bac-07: unread bytes dropped: bytes={PORTION}" in caplog.text


async def test_what_the_taker_raises_ends_the_connection_and_is_raised() -> None:
    async def full_disk(reception: Reception) -> None:
        raise OSError(28, "no space left")

    transport = ScriptedTransport([b"c\n", b"c\n"])
    with pytest.raises(OSError, match="no space left"):
        await connection(transport, full_disk).run()
    assert transport.closed
    assert len(transport.chunks) == 1


async def test_a_flood_leaves_the_loop_to_others() -> None:
    async def at_once(reception: Reception) -> None:
        served.stored(1)

    clock = HandClock()
    served = connection(ScriptedTransport([b"c\n"] * 1000), at_once, clock)
    running = asyncio.create_task(served.run())
    turns = 0
    while not running.done():
        turns += 1
        clock.advance(0.01)  # a line that brings so much is read in its share of the time
        await asyncio.sleep(0)
    assert turns >= 1000


async def test_a_session_that_resumes_says_from_where_before_it_hears() -> None:
    transport = ScriptedTransport([])
    served = Connection(
        name="bac-07",
        number=1,
        transport=transport,
        session=LineSession(Resume("SH-1", 41), None),
        clock=HandClock(),
        on_reception=Taker(),
    )
    await served.run()
    assert transport.written == b"?41\n"
    assert not served.spoke


async def test_what_was_sent_is_kept_with_its_place_and_time_until_it_is_taken() -> None:
    clock, take = HandClock(), Taker()
    transport = ScriptedTransport([])
    transport.hold = True
    served = connection(transport, take, clock)
    running = asyncio.create_task(served.run())
    await until(lambda: transport.written == b"?0\n")
    clock.advance(0.5)
    served.set_desired_state(Armed(9, "banker", 2))
    await until(lambda: transport.written == b"?0\n*9\n")
    at_first, later = 1_000_000_000, 1_000_500_000
    assert served.take_sent() == [Sent(0, b"?0\n", at_first), Sent(3, b"*9\n", later)]
    assert served.take_sent() == []
    served.stored(1)
    await until(lambda: transport.written.endswith(b"+1\n"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert served.take_sent() == [Sent(6, b"+1\n", later)]


class TimedSession(LineSession):
    """One that says of itself that its bytes alone do not give its events."""

    capabilities = replace(LineSession.capabilities, timed=True)


async def test_what_a_timed_session_was_told_comes_with_what_it_says_next() -> None:
    clock, take = HandClock(), Taker()
    take.go.clear()
    transport = ScriptedTransport([b"c\n"])
    transport.hold = True
    served = Connection(
        name="bac-07",
        number=7,
        transport=transport,
        session=TimedSession(None, 1.5),
        clock=clock,
        on_reception=take,
    )
    served.set_desired_state(Locked())
    running = asyncio.create_task(served.run())
    await until(lambda: len(take.taken) == 1)
    served.set_desired_state(
        Armed(1, "player", 1)
    )  # while the first is being stored: after its bytes
    take.go.set()
    await until(lambda: clock.waiting)
    clock.advance(1.5)
    await until(lambda: len(take.taken) == 2)
    assert [r.calls for r in take.taken] == [(Locked(),), (Armed(1, "player", 1), 1001.5)]
    assert [r.chunk for r in take.taken] == [b"c\n", b""]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_what_another_session_was_told_is_not_kept() -> None:
    take = Taker()
    served = connection(ScriptedTransport([b"c\n"]), take)
    served.set_desired_state(Locked())
    await served.run()
    assert [r.calls for r in take.taken] == [()]
