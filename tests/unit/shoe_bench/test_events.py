"""Events of the stream: waited for, counted, and those that nobody asked for.

In: lines as the daemon's socket sends them. Out: events, errors with their words.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe_bench.errors import BenchError, DaemonEnded, NotInTime, Unasked
from shoe_bench.events import Event, Events


class Stream:
    """The daemon's end of a stream."""

    def __init__(self, folder: Path) -> None:
        self.asked_for: set[str] = set()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(folder / "s"))
            listener.listen()
            self.events = Events(
                folder / "s", within_s=0.05, asked_for=self._is_asked_for, ended=lambda: "it ended"
            )
            self.connection, _ = listener.accept()

    def _is_asked_for(self, event: Event) -> bool:
        return event.type in self.asked_for

    def say(self, kind: str, **data: Any) -> None:
        self.say_line({"id": "t/r1", "type": kind, "source": "/j", "time": "", "data": data})

    def say_line(self, line: dict[str, Any]) -> None:
        self.connection.sendall(json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        self.events.close()
        self.connection.close()


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    opened = Stream(tmp_path)
    yield opened
    opened.close()


def test_the_whole_restricted_stream_is_asked_for(stream: Stream) -> None:
    asked = json.loads(stream.connection.recv(4096))
    assert asked == {"request": "events", "after": "beginning", "audience": "restricted"}


def test_waiting_goes_on_behind_the_event_that_was_found(stream: Stream) -> None:
    for number in (1, 2):
        stream.say("round.opened", number=number)
        stream.say("round.settled", number=number)
    assert stream.events.wait("round.settled").data == {"number": 1}
    assert stream.events.wait("round.opened").data == {"number": 2}
    assert [e.data["number"] for e in stream.events.all("round.opened")] == [1, 2]
    assert stream.events.only("round.settled number=2").type == "round.settled"
    with pytest.raises(AssertionError, match=r"2 events are round.settled, expected one"):
        stream.events.only("round.settled")


def test_what_does_not_come_is_named_with_what_came(stream: Stream) -> None:
    stream.say("round.opened", number=1)
    with pytest.raises(NotInTime) as late:
        stream.events.wait("round.settled")
    assert str(late.value) == (
        "round.settled did not come in 0.05 s; the last events:\n    round.opened number=1"
    )


def test_what_the_shoe_does_by_itself_ends_a_wait(stream: Stream) -> None:
    stream.say("shoe.noted", what="lid", open=True)
    with pytest.raises(Unasked) as unasked:
        stream.events.wait("round.settled")
    assert str(unasked.value) == (
        "the shoe did what the test did not ask for:\n    shoe.noted what=lid open=true"
    )
    with pytest.raises(Unasked):
        stream.events.take()


def test_what_is_waited_for_was_asked_for(stream: Stream) -> None:
    stream.say("shoe.noted", what="lid")
    assert stream.events.wait("shoe.noted what=lid").data["what"] == "lid"
    stream.say("shoe.lost")
    with pytest.raises(Unasked):
        stream.events.take()
    assert stream.events.wait("shoe.lost").type == "shoe.lost"
    assert stream.events.unasked == []


def test_what_the_test_brought_about_was_asked_for(stream: Stream) -> None:
    stream.asked_for.add("shoe.lost")
    stream.say("shoe.lost")
    stream.say("round.settled")
    stream.events.wait("round.settled")


def test_news_are_what_has_come_since(stream: Stream) -> None:
    stream.say("round.opened")
    stream.events.wait_for_news("anything", 0.05)
    assert [event.type for event in stream.events.seen] == ["round.opened"]
    with pytest.raises(NotInTime, match=r"^anything did not come in 0.05 s"):
        stream.events.wait_for_news("anything", 0.05)


def test_a_stream_that_ends_says_what_became_of_the_daemon(stream: Stream) -> None:
    stream.say("round.opened")
    stream.connection.shutdown(socket.SHUT_WR)
    with pytest.raises(DaemonEnded, match=r"^round.settled did not come: it ended$"):
        stream.events.wait("round.settled")
    stream.events.until_end(0.05)


def test_a_stream_that_does_not_end_is_not_waited_for(stream: Stream) -> None:
    with pytest.raises(NotInTime, match=r"the stream of events did not end in 0.05 s"):
        stream.events.until_end(0.05)


def test_a_stream_that_is_refused_says_so(stream: Stream) -> None:
    stream.say_line({"accepted": False, "error": {"code": "x", "text": "not for this user"}})
    with pytest.raises(BenchError, match=r"^the daemon sends no events: not for this user$"):
        stream.events.wait("round.settled")


def test_nobody_at_the_socket_is_said(tmp_path: Path) -> None:
    with pytest.raises(DaemonEnded, match=r"No such file or directory; it ended"):
        Events(tmp_path / "s", within_s=1, asked_for=lambda _: True, ended=lambda: "it ended")
