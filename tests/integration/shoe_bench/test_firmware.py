"""The kit's example of a whole shoe keeps what SPEC.md asks of a shoe: sections 6, 8, 9 and 10.

In: frames as a host sends them, signals. Out: frames.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from firmware_proto.commands import (
    Acknowledge,
    Armed,
    HelloRequest,
    HostMessage,
    Locked,
    Query,
    ReplayRequest,
    Reset,
    Show,
)
from firmware_proto.events import (
    CardDrawn,
    Gap,
    Hello,
    QueryAnswered,
    Reply,
    ShoeLoaded,
    Status,
)
from firmware_proto.reference.codec import Decoder, Message, encode

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0

MEMORY = 256

T = TypeVar("T")


class Line:
    """The host's end: what the shoe said comes message by message."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self._in, self._out = process.stdin, process.stdout.fileno()
        self._decoder = Decoder()
        self._said: list[Message] = []

    def say(self, *messages: HostMessage) -> None:
        self._in.write(b"\0" + b"".join(encode(Message(content=each)) for each in messages))
        self._in.flush()

    def next(self, so: Callable[[Message], bool]) -> Message:
        """The next message like this; others before it are passed over."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            while self._said:
                message = self._said.pop(0)
                if so(message):
                    return message
            readable, _, _ = select.select([self._out], [], [], PATIENCE_S)
            assert readable, "the shoe is silent"
            for found in self._decoder.feed(os.read(self._out, 4096)):
                assert isinstance(found.content, Message), found
                self._said.append(found.content)
        raise AssertionError("it does not come")

    def first(self, kind: type[T]) -> T:
        content = self.next(lambda message: isinstance(message.content, kind)).content
        assert isinstance(content, kind)
        return content

    def draw(self, cards: int) -> None:
        """So many cards are freed, one after the other, and drawn."""
        for number in range(1, cards + 1):
            self.say(Armed(number, "player", 1))
            while self.first(Status).drawn != number:
                pass  # what it said before

    def card(self) -> tuple[int | None, CardDrawn]:
        message = self.next(lambda each: isinstance(each.content, CardDrawn))
        assert isinstance(message.content, CardDrawn)
        return message.seq, message.content


@pytest.fixture
def line(firmware: Path) -> Iterator[Line]:
    pipe = subprocess.PIPE
    with subprocess.Popen([firmware, "KIT-1", "1"], stdin=pipe, stdout=pipe) as process:
        opened = Line(process)
        opened.first(Hello)  # it says hello when it powers up
        opened.say(HelloRequest())
        opened.first(Hello)
        yield opened
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


def test_what_is_not_acknowledged_comes_again_with_the_bytes_it_had(line: Line) -> None:
    line.first(ShoeLoaded)
    again = line.next(lambda message: isinstance(message.content, ShoeLoaded))
    assert again.seq == 1
    line.say(Acknowledge(1), Armed(1, "player", 1))
    first, second = line.card(), line.card()
    assert first == second
    assert first[0] == 2
    assert (first[1].number, first[1].armed) == (1, True)
    line.say(Acknowledge(2), HelloRequest())
    line.first(Hello)
    assert line.first(Status).unacknowledged == 0


def test_it_gives_one_card_for_each_order_and_refuses_any_other(line: Line) -> None:
    line.say(Acknowledge(1))
    for number, reason in ((2, "not_the_next_draw"), (1, None), (1, "already_drawn")):
        line.say(Armed(number, "player", 1))
        if reason is None:
            assert line.card()[1].number == number
        else:
            reply = line.first(Reply)
            assert (reply.accepted, reply.reason) == (False, reason)
    line.say(Locked())
    assert line.first(Status).armed is None


def test_a_full_memory_locks_it_and_what_is_lost_is_named_once(line: Line) -> None:
    line.draw(MEMORY - 1)
    line.say(Armed(MEMORY, "player", 1))
    assert line.first(Reply).reason == "memory_full"
    line.process.send_signal(signal.SIGUSR2)
    line.next(lambda m: isinstance(m.content, Status) and m.content.drawn == MEMORY)
    line.say(Acknowledge(MEMORY), HelloRequest())
    gap = line.first(Gap)
    assert (gap.first, gap.last) == (MEMORY + 1, MEMORY + 1)
    line.say(Acknowledge(MEMORY + 1), Armed(MEMORY + 1, "player", 1))
    assert line.card()[0] == MEMORY + 2


def test_at_most_32_events_are_on_their_way(line: Line) -> None:
    line.draw(59)
    cards: set[int | None] = set()

    def is_last(message: Message) -> bool:
        if isinstance(message.content, CardDrawn):
            cards.add(message.seq)
        return isinstance(message.content, Status)

    line.say(HelloRequest())
    line.first(Hello)
    line.next(is_last)
    assert cards == set(range(2, 33))
    line.say(Acknowledge(20), ReplayRequest(31))
    assert line.next(lambda message: message.seq == 52).seq == 52


def test_a_command_that_comes_again_is_answered_again_and_done_once(line: Line) -> None:
    line.say(Acknowledge(1), Reset(7), Reset(7))
    assert [line.first(Reply).command_id for _ in range(2)] == [7, 7]
    line.say(HelloRequest())
    line.first(Hello)
    assert line.first(Status).unacknowledged == 1
    line.say(Show(8, "hello"), Query(9, "lifetime_draws"), Query(10, "battery"))
    assert line.first(Reply).reason == "not_supported"
    assert line.first(QueryAnswered).value == 0
    assert line.first(Reply).reason == "not_supported"


def test_repeats_come_ever_later_until_something_is_acknowledged(line: Line) -> None:
    line.first(ShoeLoaded)
    began = time.monotonic()
    for _ in range(4):
        line.first(ShoeLoaded)
    assert time.monotonic() - began >= 2.5, "after 250, 500, 1000 and 1000 ms"
    line.say(Acknowledge(1), Armed(1, "player", 1))
    line.card()
    line.first(Status)
    repeats = 0

    def is_status(message: Message) -> bool:
        nonlocal repeats
        repeats += isinstance(message.content, CardDrawn)
        return isinstance(message.content, Status)

    line.next(is_status)  # that of the clock, after 2 s
    assert repeats >= 2, "the waits begin anew: 250, 500 and 1000 ms"
