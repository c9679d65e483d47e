"""The host's end of a reference connection, frame by frame.

In: frames as a shoe would send them. Out: what is given, acknowledged, asked and said.
Must not know: the shoe's end.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import Acknowledge, Armed, HelloRequest, ReplayRequest
from firmware_proto.events import (
    CuttingCard,
    Discarded,
    Gap,
    Hello,
    Repeated,
    Reply,
    ShoeEvent,
    Status,
)
from firmware_proto.profiles import profile
from firmware_proto.reference.codec import Decoder, Message, encode
from firmware_proto.reference.host import ASK_AGAIN_S, SILENCE_S, ReferenceHost
from firmware_proto.session import ReceivedEvent, Resume
from shoe_testing.reference_protocol import (
    EXAMPLES,
    card_event,
    event_names,
    given_by,
    host_frame,
    met,
    sent_frames,
    shoe_card,
    shoe_hello,
    shoe_status,
)


def timed(event: ShoeEvent, seq: int, t_us: int, *, boot: int) -> bytes:
    return encode(Message(content=event, seq=seq, boot_id=boot, t_us=t_us))


def test_the_first_bytes_are_a_delimiter_and_a_hello_request_in_delimiters() -> None:
    out = ReferenceHost(None).outgoing()
    assert out[:2] == b"\0\0"
    [found] = Decoder().feed(out)
    assert isinstance(found.content, Message)
    assert found.content.content == HelloRequest()


def test_hello_is_asked_for_again_every_second_until_it_comes() -> None:
    session = ReferenceHost(None)
    session.outgoing()
    asked = []
    for tenth in range(1, 36):
        t = 50.0 + tenth / 10
        deadline = session.next_deadline
        assert deadline is not None
        if t >= deadline:
            session.tick(t)
        asked += sent_frames(session)
    assert asked == [HelloRequest()] * 3
    session.receive(shoe_hello(1) + shoe_status(1), 54.0)
    session.tick(54.0 + 2 * ASK_AGAIN_S)
    assert sent_frames(session) == []


def test_after_a_hello_that_nothing_follows_hello_is_asked_for() -> None:
    session = met()
    session.receive(shoe_hello(1, boot=2), 10.0)
    session.tick(10.0)
    session.tick(10.0 + ASK_AGAIN_S)
    assert HelloRequest() in sent_frames(session)


def test_a_silent_line_makes_the_host_ask_who_is_there() -> None:
    session = met()
    session.receive(shoe_status(1), 10.0)
    session.tick(10.0)
    assert session.next_deadline == 10.0 + SILENCE_S
    session.tick(10.0 + SILENCE_S - 0.1)
    assert sent_frames(session) == []
    session.tick(10.0 + SILENCE_S)
    assert sent_frames(session) == [HelloRequest()]


def test_a_shoe_not_known_starts_at_its_current_number_and_its_memory_is_history() -> None:
    session = ReferenceHost(Resume("another", 500))
    got = given_by(session, shoe_hello(8, oldest=6), shoe_card(6), shoe_card(7), shoe_card(8))
    assert [(e.type, seq) for e, seq in got] == [
        ("hello", 7),
        ("discarded", None),
        ("discarded", None),
        ("card_drawn", 8),
    ]
    met_it = got[0][0]
    assert isinstance(met_it, Hello)
    assert not met_it.resumed
    assert [e.history for e, _ in got if isinstance(e, Discarded)] == [True, True]


def test_history_is_acknowledged_once_hello_is_stored() -> None:
    session = ReferenceHost(None)
    session.receive(shoe_hello(8, oldest=6), 1.0)
    assert Acknowledge(7) not in sent_frames(session)
    session.stored(7)
    assert sent_frames(session) == [Acknowledge(7)]


def test_a_known_shoe_goes_on_behind_the_last_number_stored() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    got = given_by(session, shoe_hello(8, oldest=5), shoe_card(5), shoe_card(6), shoe_card(7))
    assert [(e.type, seq) for e, seq in got] == [
        ("hello", 5),
        ("repeated", None),
        ("card_drawn", 6),
        ("card_drawn", 7),
    ]
    assert sent_frames(session) == [Acknowledge(5)]


@pytest.mark.parametrize("pieces", [1, 2], ids=["whole", "in two pieces"])
def test_an_event_has_the_shoe_s_own_time_in_its_present_boot_alone(pieces: int) -> None:
    session = ReferenceHost(Resume("SH-1", 4))
    before, hello = timed(card_event(5), 5, 900, boot=1), shoe_hello(6, boot=2, oldest=5)
    now = timed(card_event(6), 6, 2_500_000, boot=2)
    status = timed(Status(drawn=6, unacknowledged=0), 7, 2_600_000, boot=2)
    cutting_card = timed(CuttingCard(), 7, 2_700_000, boot=2)
    sent = [hello, before, now, status, cutting_card]
    half = len(now) // pieces
    got = [
        (one.event.type, one.device_us)
        for frame in sent
        for part in ([frame] if pieces == 1 else [frame[:half], frame[half:]])
        for one in session.receive(part, 1.0)
    ]
    assert got == [
        ("hello", None),
        ("card_drawn", None),  # of the boot before
        ("card_drawn", 2_500_000),
        ("status", None),
        ("cutting_card", 2_700_000),
    ]


def test_what_a_known_shoe_no_longer_keeps_is_a_gap_and_is_stored_like_an_event() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    got = given_by(session, shoe_hello(12, oldest=9), shoe_card(9))
    assert [e.type for e, _ in got] == ["hello", "gap", "card_drawn"]
    assert got[1] == (Gap(first=6, last=8), 8)
    session.stored(8)
    assert Acknowledge(8) in sent_frames(session)


def test_a_known_shoe_that_keeps_nothing_of_what_is_missing_shows_it_all_as_a_gap() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    assert given_by(session, shoe_hello(12, oldest=12))[1] == (Gap(first=6, last=11), 11)


def test_a_hello_that_does_not_say_what_is_kept_makes_no_gap() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    assert event_names(session, shoe_hello(12), shoe_card(6)) == ["hello", "card_drawn"]


def test_of_such_a_shoe_what_is_lost_is_asked_for_for_ever_and_it_is_not_armed() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    session.set_desired_state(Armed(1, "player", 1))
    assert event_names(session, shoe_hello(12), shoe_card(9), shoe_card(10), shoe_card(11)) == [
        "hello",
        *["discarded"] * 3,
    ]
    assert [said for said in sent_frames(session) if not isinstance(said, HelloRequest)] == [
        Acknowledge(5),
        ReplayRequest(6),
    ]
    named = ReferenceHost(Resume("SH-1", 5))
    named.set_desired_state(Armed(1, "player", 1))
    for _, seq in given_by(
        named, shoe_hello(12, oldest=9), shoe_card(9), shoe_card(10), shoe_card(11)
    ):
        if seq is not None:
            named.stored(seq)
    assert Armed(1, "player", 1) in sent_frames(named)


def test_a_known_shoe_whose_numbers_ran_backwards_is_not_resumed() -> None:
    session = ReferenceHost(Resume("SH-1", 50))
    [(event, seq)] = given_by(session, shoe_hello(3, oldest=1))
    assert isinstance(event, Hello)
    assert (event.resumed, seq) == (False, 2)
    assert event_names(session, shoe_card(3)) == ["card_drawn"]


def test_nothing_is_given_before_hello() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    early = (shoe_card(6), shoe_status(7), host_frame(Reply(accepted=True), 7))
    assert {e for e, _ in given_by(session, *early)} == {
        Discarded(reason="before_hello", of="card_drawn"),
        Discarded(reason="before_hello", of="status"),
        Discarded(reason="before_hello", of="reply"),
    }


def test_an_event_ahead_of_its_turn_waits_to_be_sent_again() -> None:
    session = met()
    assert event_names(session, shoe_card(1), shoe_card(3), shoe_card(2), shoe_card(3)) == [
        "card_drawn",
        "discarded",
        "card_drawn",
        "card_drawn",
    ]


def test_what_was_passed_over_is_asked_for_at_once_and_once() -> None:
    session = met()
    session.receive(shoe_card(1) + shoe_card(3) + shoe_card(4), 2.0)
    assert sent_frames(session) == [ReplayRequest(2)]
    session.receive(shoe_card(5), 2.1)
    assert sent_frames(session) == []
    session.receive(shoe_card(2) + shoe_card(4), 2.2)
    assert sent_frames(session) == [ReplayRequest(3)]


def test_what_the_shoe_takes_for_heard_is_asked_for() -> None:
    session = ReferenceHost(Resume("SH-1", 5))
    session.receive(shoe_hello(9, oldest=2) + shoe_status(9, unheard=3), 2.0)
    assert ReplayRequest(6) not in sent_frames(session)
    session = ReferenceHost(Resume("SH-1", 5))
    session.receive(shoe_hello(9, oldest=2) + shoe_status(9, unheard=2), 2.0)
    assert ReplayRequest(6) in sent_frames(session)
    assert event_names(session, shoe_card(6), shoe_card(7), shoe_card(8)) == ["card_drawn"] * 3


def test_a_gap_in_the_shoe_s_memory_is_given_once_and_stored_like_an_event() -> None:
    session = met()
    lost = host_frame(Gap(first=2, last=4), 2)
    assert given_by(session, shoe_card(1), lost, shoe_card(5)) == [
        (card_event(1), 1),
        (Gap(first=2, last=4), 4),
        (card_event(5), 5),
    ]
    assert given_by(session, lost) == [(Repeated(of="gap"), None)]
    session.stored(4)
    assert sent_frames(session) == [Acknowledge(4)]


def test_of_a_gap_that_is_partly_known_the_rest_is_given() -> None:
    session = met(3)
    assert given_by(session, host_frame(Gap(first=2, last=4), 2), shoe_card(5)) == [
        (Gap(first=3, last=4), 4),
        (card_event(5), 5),
    ]


def test_a_repeat_is_named_and_acknowledged_again_if_it_is_stored() -> None:
    session = met()
    session.receive(shoe_card(1) + shoe_card(2), 2.0)
    session.stored(1)
    assert sent_frames(session) == [Acknowledge(1)]
    assert given_by(session, shoe_card(2)) == [(Repeated(of="card_drawn"), None)]
    assert sent_frames(session) == []
    assert given_by(session, shoe_card(1)) == [(Repeated(of="card_drawn"), None)]
    assert sent_frames(session) == [Acknowledge(1)]


def test_only_what_was_given_can_be_acknowledged_and_only_the_last_is_said() -> None:
    session = met()
    session.receive(shoe_card(1) + shoe_card(2) + shoe_card(3), 2.0)
    session.stored(9)
    session.stored("2")
    assert sent_frames(session) == []
    session.stored(1)
    session.stored(2)
    session.stored(1)
    assert sent_frames(session) == [Acknowledge(2)]


def test_a_second_hello_of_the_same_boot_is_a_repeat_and_changes_nothing() -> None:
    session = met()
    assert event_names(session, shoe_card(1), shoe_hello(2), shoe_card(2)) == [
        "card_drawn",
        "repeated",
        "card_drawn",
    ]


def test_a_restart_within_a_connection_is_a_hello_and_the_numbers_go_on() -> None:
    session = met()
    got = given_by(
        session,
        shoe_card(1),
        shoe_hello(3, boot=2, oldest=1),
        shoe_card(1),
        shoe_card(2),
        shoe_card(3, 2),
    )
    assert [(e.type, seq) for e, seq in got] == [
        ("card_drawn", 1),
        ("hello", 1),
        ("repeated", None),
        ("card_drawn", 2),
        ("card_drawn", 3),
    ]
    again = got[1][0]
    assert isinstance(again, Hello)
    assert again.resumed


@pytest.mark.parametrize(
    "first", [shoe_status(2, boot=2), shoe_card(1, boot=2)], ids=["status", "card"]
)
def test_a_restart_whose_hello_was_lost_is_noticed_and_nothing_is_given_until_hello(
    first: bytes,
) -> None:
    session = met()
    assert event_names(session, first, shoe_card(1, boot=2), shoe_card(1)) == ["discarded"] * 3
    assert sent_frames(session) == [HelloRequest()]
    assert event_names(session, shoe_hello(2, boot=2, oldest=1), shoe_card(1)) == [
        "hello",
        "card_drawn",
    ]


def test_another_shoe_on_the_same_connection_starts_at_its_own_number() -> None:
    session = met()
    session.receive(shoe_card(1) + shoe_card(2), 2.0)
    got = given_by(session, shoe_hello(2, device="SH-2"), shoe_card(2))
    assert [(e.type, seq) for e, seq in got] == [("hello", 1), ("card_drawn", 2)]
    session.outgoing()
    session.stored(1)  # of the shoe that went: its cards are stored late
    session.stored(2)
    assert sent_frames(session) == []
    session.stored(1)
    session.stored(2)
    assert sent_frames(session) == [Acknowledge(2)]


def test_what_only_a_host_says_is_discarded_so_an_echo_does_nothing() -> None:
    session = met()
    echo = ReferenceHost(None).outgoing()
    commands = [e.frame for e in EXAMPLES if "command" in e.plain["said"]]
    heard = given_by(ReferenceHost(None), echo) + given_by(session, *commands)
    assert len(heard) == 1 + len(commands)
    assert all(isinstance(e, Discarded) and e.reason == "for_the_shoe" for e, _ in heard)
    assert sent_frames(session) == []


def test_two_statuses_ahead_of_a_standing_host_make_it_ask() -> None:
    session = met()
    session.receive(shoe_status(3) + shoe_card(1) + shoe_status(3), 2.0)
    assert sent_frames(session) == []
    session.receive(shoe_status(3), 4.0)
    assert sent_frames(session) == [HelloRequest()]


def test_places_are_those_of_the_frames_in_the_connection() -> None:
    first, second = shoe_hello(1), host_frame(CuttingCard(), 1)
    heard = ReferenceHost(None).receive(b"\x07\0" + first + b"\0" + second, 1.0)
    assert [(h.first, h.last) for h in heard] == [
        (0, 2),
        (2, 2 + len(first)),
        (3 + len(first), 3 + len(first) + len(second)),
    ]


frames = st.sampled_from(
    [
        shoe_hello(1),
        shoe_hello(3, boot=2, oldest=2),
        shoe_hello(9, device="SH-2"),
        shoe_status(2),
        shoe_status(4, boot=2),
    ]
    + [shoe_card(n) for n in range(1, 6)]
    + [shoe_card(n, boot=2) for n in range(2, 6)]
    + [host_frame(CuttingCard(), 2), b"\x01\x02", b"\0\x03\0", b"\xff" * 300]
    + [e.frame for e in EXAMPLES]
)


@given(st.lists(frames, max_size=12).map(b"".join), st.data())
def test_what_is_given_depends_on_the_bytes_alone(stream: bytes, data: st.DataObject) -> None:
    resume = data.draw(st.sampled_from([None, Resume("SH-1", 1), Resume("SH-2", 4)]))
    whole = ReferenceHost(resume).receive(stream, 1.0)
    session, t, at = ReferenceHost(resume), 1.0, 0
    got: list[ReceivedEvent] = []
    while at < len(stream):
        size = data.draw(st.integers(1, 90))
        got += session.receive(stream[at : at + size], t)
        at += size
        t += data.draw(st.sampled_from([0.0, 0.3, 7.0]))
        if data.draw(st.booleans()):
            assert session.tick(t) == []
        if data.draw(st.booleans()) and got:
            session.stored(got[-1].seq if got[-1].seq is not None else 1)
        if data.draw(st.booleans()):
            session.set_desired_state(Armed(1, "player", 1))
            session.outgoing()
    assert got == whole


@given(st.lists(st.binary(max_size=80) | frames, max_size=12))
def test_receiving_never_raises_and_never_leaves_a_deadline_in_the_past(
    chunks: list[bytes],
) -> None:
    session, t = ReferenceHost(None), 100.0
    for chunk in chunks:
        t += 0.7
        session.receive(chunk, t)
        session.outgoing()
        for _ in range(3):  # a timer starts, another ends: then nothing more is due
            deadline = session.next_deadline
            if deadline is None or deadline > t:
                break
            session.tick(t)
            session.outgoing()
        else:
            pytest.fail("tick is wanted at once for ever")


def test_the_profile_is_found_by_its_name_and_has_no_settings() -> None:
    found = profile("reference")
    assert found.SERIAL.baud == 115200
    assert found.CAPABILITIES.arm
    assert found.CAPABILITIES.replay
    assert isinstance(found.host_session(resume=None, settings={}), ReferenceHost)
    for make in (
        lambda: found.host_session(resume=None, settings={"bcc": 1}),
        lambda: found.device_session(settings={"bcc": 1}),
    ):
        with pytest.raises(ValueError, match="no setting 'bcc'"):
            make()
