"""What is observed becomes marks with their causes."""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Hello, Status
from firmware_proto.profiles import profile
from simulators.report.observations import Mark, RunReport
from simulators.report.observer import Observer, compared
from simulators.table.expectation import Told, pattern
from simulators.table.scenario import find

SECOND = 1_000_000


class Clock:
    """A wall clock by hand, in µs."""

    def __init__(self) -> None:
        self.now = 100 * SECOND

    def __call__(self) -> int:
        return self.now


def observed() -> tuple[Clock, Observer]:
    clock = Clock()
    return clock, Observer(find("explicit_natural"), clock_us=clock)


def event(kind: str, number: int, second: float, **data: Any) -> dict[str, Any]:
    """An event as the sink's file has it, at a time of the table."""
    at = f"1970-01-01T00:01:{40 + second:09.6f}Z"
    return {"type": kind, "id": f"t1/p{number}", "time": at, "data": data}


def report(observer: Observer) -> RunReport:
    return observer.report("passed", None, public=(), restricted=None)


def lanes(marks: tuple[Mark, ...]) -> list[tuple[str, str, str | None]]:
    """Each mark's lane and text, and the text of its cause."""
    return [
        (mark.lane, mark.text, None if mark.cause is None else marks[mark.cause].text)
        for mark in marks
    ]


def test_bytes_of_a_shoe_lead_to_what_it_says_and_to_the_tables_event() -> None:
    clock, observer = observed()
    shoe = profile("reference").device_session(settings={})
    hello = Hello(device_id="S", firmware="1", boot_id=1, deck="french52", oldest_seq=1)
    shoe.send(hello, seq=1, t_us=0)
    observer.said_by_shoe(shoe.outgoing())
    shoe.send(Status(drawn=0, unacknowledged=0), seq=1, t_us=0)
    clock.now += SECOND
    observer.said_by_shoe(shoe.outgoing())
    clock.now += SECOND
    observer.arrived(event("shoe.connected", 1, 0.004))
    first, said, told, again = lanes(report(observer).marks)
    assert first[0] == "line" and first[1].startswith("from shoe: ")
    assert said == ("shoe", "hello S 0", first[1])
    assert told == ("table", "shoe.connected", "hello S 0")
    assert again[0] == "line" and report(observer).marks[3].routine


def test_a_command_leads_to_the_events_that_its_answer_names() -> None:
    clock, observer = observed()
    number = observer.asked({"command": "expose", "args": {"hand": "player"}, "position": "dealer"})
    clock.now += 5000
    observer.answered(number, {"accepted": True, "events": ["t1/p7"]})
    observer.arrived(event("round.outcome", 7, 0.001, winner="tie"))
    assert lanes(report(observer).marks) == [
        ("acts", "dealer: expose hand=player", None),
        ("table", "round.outcome winner=tie", "dealer: expose hand=player"),
        ("sink", "outcome +4 ms", "round.outcome winner=tie"),
    ]


def test_a_refusal_and_where_it_got_stuck_are_shown() -> None:
    _, observer = observed()
    number = observer.asked({"command": "settle", "position": "pit_manager"})
    observer.answered(
        number, {"accepted": False, "error": {"code": "refused_no_round", "text": "no"}}
    )
    observer.waits_in_vain("x: steps[3]: dealer: settle: it was refused: no round is open")
    marks = report(observer).marks
    assert [mark.text.strip() for mark in marks] == [
        "pit manager: settle",
        "refused: refused_no_round",
        "stuck: no round is open",
    ]
    assert marks[2].wrong


def test_an_event_long_after_the_shoes_last_word_was_brought_about_by_time() -> None:
    _, observer = observed()
    observer.note("hand: draws 1")
    observer.arrived(event("table.halted", 2, 3.0))
    assert lanes(report(observer).marks)[1] == ("table", "table.halted", None)


def test_an_event_that_differs_is_marked() -> None:
    _, observer = observed()
    observer.arrived(event("round.void", 9, 0.0))
    rows = compared([pattern("round.outcome")], ["round.void"], [Told("round.void", {}, "t1/p9")])
    found = observer.report("failed", "it differs", public=rows, restricted=None)
    assert [(row.expected, row.came) for row in rows] == [
        ("round.outcome", None),
        (None, "round.void"),
    ]
    assert [mark.wrong for mark in found.marks] == [True, False]
