"""One table of the floor, with the smallest host at its port, in one loop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from time import perf_counter

import pytest

from firmware_proto.cards import FRENCH52
from firmware_proto.events import CardDrawn
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession, Resume
from shoe_testing.toy_table import Table
from simulators.errors import PortFault
from simulators.floor import paced_table
from simulators.floor.load import FloorSettings, Load
from simulators.floor.paced_table import PacedTable
from simulators.floor.poll import Poll
from simulators.shoe.model import shuffled

PATIENCE_S = 30.0
SEED, STEP = 40, 100


def no_host(resume: Resume | None) -> HostSession:
    raise AssertionError("this table opens its port itself")


class Host:
    """Arms the shoe and acknowledges, over TCP; with ``deaf`` it acknowledges no card."""

    def __init__(self, poll: Poll, at: PacedTable, seen: Table, *, deaf: bool = False) -> None:
        _, host, port = at.address.split(":")
        self.socket = socket.create_connection((host.strip("/"), int(port)))
        self.ended = False
        self._seen, self._deaf, self._poll = seen, deaf, poll
        resume = None if seen.device_id is None else Resume(seen.device_id, seen.last_seq)
        self._session = profile("reference").host_session(resume=resume, settings={})
        self._session.tick(perf_counter())
        self.socket.sendall(self._session.outgoing())
        poll.add(self.socket.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            self.close()
            return
        for heard in self._session.receive(data, perf_counter()):
            if not (self._deaf and isinstance(heard.event, CardDrawn)):
                self._seen.take(heard, self._session)
        self.socket.sendall(self._session.outgoing())

    def close(self) -> None:
        if self.socket.fileno() >= 0:
            self._poll.remove(self.socket.fileno())
            self.socket.close()


@contextmanager
def opened(poll: Poll, *, pace_s: float) -> Iterator[PacedTable]:
    at = PacedTable(
        poll, name="t1", device_id="F-1", deck="french52", decks=1, seed=SEED, seed_step=STEP,
        pace_s=pace_s,
    )  # fmt: skip
    at.listen("127.0.0.1", 0, perf_counter())
    try:
        yield at
    finally:
        at.close()
        poll.close()


def serve(poll: Poll, done: Callable[[], bool]) -> None:
    poll.run(perf_counter() + PATIENCE_S, done)
    assert done(), "it did not come to that"


def test_a_table_deals_the_cards_of_its_seeds_and_counts_each_acknowledged_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paced_table, "CHANGE_AFTER_S", 0.01)
    poll, seen = Poll(), Table(no_host)
    with opened(poll, pace_s=0.0001) as at, closing(Host(poll, at, seen)):
        serve(poll, lambda: at.armed)
        at.draw_from(perf_counter())
        serve(poll, lambda: len(at.sets) == 2 and at.sets[1] >= 10)
        at.stop_drawing(perf_counter())
        serve(poll, lambda: not at.waits)
        found = at.as_json()
    expected = [
        card
        for n, drawn in enumerate(at.sets)
        for card in shuffled(FRENCH52, 1, SEED + n * STEP)[:drawn]
    ]
    assert [each.card for each in seen.events if isinstance(each, CardDrawn)] == expected
    assert found["sets"] == [
        {"seed": SEED + n * STEP, "drawn": drawn} for n, drawn in enumerate(at.sets)
    ]
    assert found["acknowledged"] == found["drawn"] == found["measured"] == len(expected)
    assert at.sets[0] > 52 - 14, "the last round's cards come after the cutting card"


def test_a_card_waits_for_its_acknowledgement_over_a_lost_connection() -> None:
    poll, seen = Poll(), Table(no_host)
    with opened(poll, pace_s=0.0001) as at:
        deaf = Host(poll, at, seen, deaf=True)
        serve(poll, lambda: at.armed)
        with closing(Host(poll, at, Table(no_host))) as second:
            serve(poll, lambda: second.ended)
        at.draw_from(perf_counter())
        serve(poll, lambda: at.waits)
        poll.run(perf_counter() + 0.01, lambda: False)
        assert (at.drawn, at.acknowledged) == (1, 0)
        deaf.close()
        with closing(Host(poll, at, seen)):
            serve(poll, lambda: at.acknowledged > 3)
        assert at.connections == 2, "the second host at once was turned away"
        assert at.stored.longest_s > 0.01
        assert at.held.longest_s > 0.01, "the next card was due all that time"
        assert at.own.longest_s < at.held.longest_s


def test_a_hand_that_waits_at_the_end_has_waited_until_then() -> None:
    poll, seen = Poll(), Table(no_host)
    with opened(poll, pace_s=0.0001) as at, closing(Host(poll, at, seen, deaf=True)):
        serve(poll, lambda: at.armed)
        at.draw_from(perf_counter())
        serve(poll, lambda: at.waits)
        poll.run(perf_counter() + 0.01, lambda: False)
        at.turn(perf_counter())  # a busy machine may have left the poll no time for it
        held = at.held.count
        at.stop_drawing(perf_counter())
        assert at.held.count == held + 1
        assert at.held.longest_s > 0.005


SETTINGS = FloorSettings(
    tables=3, host="127.0.0.1", port=0, deck="french52", decks=1, seed=1, pace_s=0.01,
    warm_up_s=0.0, for_s=0.1, wait_s=0.0,
)  # fmt: skip


def test_no_more_tables_are_opened_than_files_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (16, 32))
    made = Load(SETTINGS, progress=lambda: None)
    with pytest.raises(PortFault, match="70 open files, and this system allows 32"), made.opened():
        raise AssertionError("it was opened")


def test_a_port_that_is_taken_names_its_table_and_leaves_nothing_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        made = Load(replace(SETTINGS, port=number), progress=lambda: None)
        with (
            pytest.raises(PortFault, match=f"tcp://127.0.0.1:{number} for t1: Address already"),
            made.opened(),
        ):
            raise AssertionError("it was opened")
