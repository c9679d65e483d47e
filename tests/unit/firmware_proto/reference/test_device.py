"""The shoe's end of a reference connection, frame by frame.

In: frames as a host would send them, events. Out: what is sent, when it is sent again, what is
refused. Must not know: the host's end.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import (
    Acknowledge,
    Armed,
    HelloRequest,
    HostMessage,
    Locked,
    ReplayRequest,
)
from firmware_proto.events import CuttingCard, Discarded, Gap, Hello, Reply, Standby, Status
from firmware_proto.reference.codec import Decoder, Message, encode
from firmware_proto.reference.device import SEND_AGAIN_S, WINDOW, ReferenceDevice
from shoe_testing.reference_protocol import EXAMPLES, card_event

HELLO = Hello(device_id="SH-1", firmware="1", boot_id=4, deck="french52")


def told(session: ReferenceDevice, *said: HostMessage, t: float = 1.0) -> list[HostMessage]:
    return session.receive(b"".join(encode(Message(content=s)) for s in said), t)


def sent(session: ReferenceDevice) -> list[Message]:
    found = Decoder().feed(session.outgoing())
    assert all(isinstance(f.content, Message) for f in found)
    return [f.content for f in found if isinstance(f.content, Message)]


def numbers(session: ReferenceDevice) -> list[int | None]:
    return [m.seq for m in sent(session)]


def greeted(next_seq: int = 1) -> ReferenceDevice:
    session = ReferenceDevice()
    session.send(HELLO, seq=next_seq, t_us=1)
    session.outgoing()
    return session


def draw(session: ReferenceDevice, *seqs: int) -> None:
    for seq in seqs:
        session.send(card_event(seq), seq=seq, t_us=seq)


def test_a_hello_request_is_the_owner_s_to_answer() -> None:
    session = ReferenceDevice()
    assert told(session, HelloRequest()) == [HelloRequest()]
    assert session.outgoing() == b""


def test_before_hello_nothing_else_is_sent_and_nothing_else_is_heeded() -> None:
    session = ReferenceDevice()
    draw(session, 1)
    session.send(Status(armed=None, drawn=1, unacknowledged=1), seq=2, t_us=1)
    assert session.outgoing() == b""
    assert session.next_deadline is None
    for said in (Acknowledge(0), Armed(1, "player", 1), Locked()):
        [answer] = told(session, said)
        assert isinstance(answer, Discarded)


def test_hello_goes_first_and_names_the_oldest_event_said_after_it() -> None:
    session = ReferenceDevice()
    session.send(HELLO, seq=9, t_us=1)
    draw(session, 7, 8)
    hello, first, second = sent(session)
    assert isinstance(hello.content, Hello)
    assert (hello.seq, hello.boot_id, hello.content.oldest_seq) == (9, 4, 7)
    assert (first.seq, second.seq) == (7, 8)
    assert first.boot_id == 4


def test_an_oldest_event_that_the_owner_names_stands() -> None:
    session = ReferenceDevice()
    named = Hello(device_id="S", firmware="1", boot_id=4, deck="element65", oldest_seq=9)
    session.send(named, seq=9, t_us=1)
    [hello] = sent(session)
    assert isinstance(hello.content, Hello)
    assert hello.content.oldest_seq == 9


def test_an_event_may_be_of_an_earlier_boot() -> None:
    session = greeted(2)
    session.send(CuttingCard(), seq=1, t_us=77, boot_id=3)
    [message] = sent(session)
    assert (message.boot_id, message.t_us) == (3, 77)


def test_what_is_not_acknowledged_is_sent_again_from_the_oldest_on() -> None:
    session = greeted()
    draw(session, 1, 2, 3)
    assert numbers(session) == [1, 2, 3]
    assert session.next_deadline == 0.0
    session.tick(10.0)
    assert session.next_deadline == 10.0 + SEND_AGAIN_S
    told(session, Acknowledge(1), t=10.1)
    assert session.outgoing() == b""
    session.tick(10.1 + SEND_AGAIN_S)
    assert numbers(session) == [2, 3]
    session.tick(20.0)
    session.tick(20.0 + 2 * SEND_AGAIN_S)
    assert numbers(session) == [2, 3]


def sending_times(session: ReferenceDevice, until_s: float) -> list[float]:
    """When the session sends something, looked at every 50 ms; from now, which is 10 s."""
    sent_at = []
    for step in range(round(until_s / 0.05) + 1):
        session.tick(10.0 + step * 0.05)
        if session.outgoing():
            sent_at.append(round(step * 0.05, 2))
            session.tick(10.0 + step * 0.05)  # the next wait begins
    return sent_at


def test_repeats_to_a_silent_host_come_ever_later_and_then_every_second() -> None:
    session = greeted()
    draw(session, 1)
    session.outgoing()
    assert sending_times(session, 5.0) == [0.25, 0.75, 1.75, 2.75, 3.75, 4.75]


@pytest.mark.parametrize("shown", [Acknowledge(1), ReplayRequest(2)])
def test_a_host_that_shows_itself_gets_the_next_repeat_after_a_quarter_of_a_second(
    shown: HostMessage,
) -> None:
    session = greeted()
    draw(session, 1, 2)
    session.outgoing()
    assert sending_times(session, 3.0) == [0.25, 0.75, 1.75, 2.75]
    told(session, shown, t=10.0)
    session.outgoing()
    assert sending_times(session, 1.0) == [0.25, 0.75]


def test_hello_begins_the_waits_anew() -> None:
    session = greeted()
    draw(session, 1)
    session.outgoing()
    sending_times(session, 3.0)
    session.send(HELLO, seq=1, t_us=1)
    draw(session, 1)
    session.outgoing()
    assert sending_times(session, 1.0) == [0.25, 0.75]


def test_an_event_sent_again_has_the_same_bytes() -> None:
    session = greeted()
    draw(session, 1)
    first = session.outgoing()
    session.tick(10.0)
    session.tick(10.0 + SEND_AGAIN_S)
    assert session.outgoing() == first


def test_when_all_is_acknowledged_nothing_is_waited_for() -> None:
    session = greeted()
    draw(session, 1, 2)
    session.outgoing()
    assert told(session, Acknowledge(2)) == [Acknowledge(2)]
    assert session.next_deadline is None
    session.tick(99.0)
    assert session.outgoing() == b""


def test_no_more_than_a_window_is_on_its_way() -> None:
    session = greeted()
    draw(session, *range(1, 2 * WINDOW + 1))
    assert numbers(session) == list(range(1, WINDOW + 1))
    told(session, Acknowledge(3))
    assert numbers(session) == [WINDOW + 1, WINDOW + 2, WINDOW + 3]
    session.tick(5.0)
    session.tick(5.0 + SEND_AGAIN_S)
    assert numbers(session) == list(range(4, WINDOW + 4))


def test_an_acknowledge_of_what_never_was_is_refused_and_forgets_nothing() -> None:
    session = greeted()
    draw(session, 1, 2)
    session.outgoing()
    [refused] = told(session, Acknowledge(3))
    assert refused == Discarded(reason="never_sent", of="acknowledge")
    session.tick(5.0)
    session.tick(5.0 + SEND_AGAIN_S)
    assert numbers(session) == [1, 2]


def test_a_host_that_missed_one_gets_it_and_all_behind_it_at_once() -> None:
    session = greeted()
    draw(session, 1, 2, 3, 4)
    session.outgoing()
    assert told(session, ReplayRequest(3)) == []
    assert numbers(session) == [3, 4]


def test_what_the_session_no_longer_has_is_the_owner_s_to_say_again() -> None:
    session = greeted()
    draw(session, 1, 2, 3)
    told(session, Acknowledge(2))
    session.outgoing()
    assert told(session, ReplayRequest(2)) == [ReplayRequest(2)]
    draw(session, 2, 3)
    assert numbers(session) == [2, 3]


def test_a_replay_leaves_the_window_where_it_is() -> None:
    session = greeted()
    draw(session, *range(1, 41))
    assert numbers(session) == list(range(1, 33))
    told(session, ReplayRequest(5))
    assert numbers(session) == list(range(5, 33))  # 33 has no room before 1 is acknowledged
    for first in (33, 35, 40):
        told(session, ReplayRequest(first))
        assert numbers(session) == []
    told(session, Acknowledge(4), ReplayRequest(6))
    assert numbers(session) == [*range(33, 37), *range(6, 37)]


def test_a_replay_of_what_was_acknowledged_moves_the_window_back_to_it() -> None:
    session = greeted()
    draw(session, *range(1, 41))
    told(session, Acknowledge(32), Acknowledge(40))
    session.outgoing()
    assert told(session, ReplayRequest(3)) == [ReplayRequest(3)]
    draw(session, *range(3, 41))  # as the owner says them again
    assert numbers(session) == list(range(3, 35))
    session.tick(10.0)
    session.tick(10.0 + SEND_AGAIN_S)
    assert numbers(session) == list(range(3, 35))
    told(session, Acknowledge(10))
    assert numbers(session) == list(range(35, 41))


def test_two_requests_for_a_replay_that_come_at_once_are_both_answered() -> None:
    session = greeted()
    draw(session, *range(1, 6))
    told(session, Acknowledge(5))
    session.outgoing()
    assert told(session, ReplayRequest(2), ReplayRequest(4)) == [ReplayRequest(2), ReplayRequest(4)]
    draw(session, *range(2, 6))  # as the owner says them for the first
    draw(session, 4, 5)  # and for the second
    assert numbers(session) == [2, 3, 4, 5, 4, 5]
    session.tick(10.0)
    session.tick(10.0 + SEND_AGAIN_S)
    assert numbers(session) == [2, 3, 4, 5]
    told(session, Locked())
    with pytest.raises(ValueError, match="event 3 after event 5"):
        draw(session, 3)


def test_a_replay_may_be_asked_for_together_with_hello() -> None:
    session = greeted()
    draw(session, 1, 2, 3)
    told(session, Acknowledge(2))
    session.outgoing()
    asked = told(session, HelloRequest(), ReplayRequest(1))
    assert asked == [HelloRequest(), ReplayRequest(1)]
    session.send(HELLO, seq=4, t_us=1)
    draw(session, 3)  # what was not acknowledged, after hello
    draw(session, 1, 2, 3)
    assert numbers(session)[-3:] == [1, 2, 3]
    told(session, Acknowledge(3))
    session.tick(10.0)
    session.tick(10.0 + SEND_AGAIN_S)
    assert numbers(session) == []


def test_a_replay_of_what_never_was_is_refused_and_one_of_nothing_says_nothing() -> None:
    session = greeted()
    draw(session, 1)
    session.outgoing()
    assert told(session, ReplayRequest(3)) == [Discarded(reason="never_sent", of="replay_request")]
    assert told(session, ReplayRequest(2)) == []
    assert session.outgoing() == b""


def test_a_gap_is_kept_until_its_last_number_is_acknowledged() -> None:
    session = greeted()
    draw(session, 1)
    session.send(Gap(first=2, last=4), seq=2, t_us=1)
    draw(session, 5)
    assert numbers(session) == [1, 2, 5]
    told(session, Acknowledge(4), ReplayRequest(5))
    assert numbers(session) == [5]
    told(session, ReplayRequest(5))
    assert numbers(session) == [5]


def test_history_up_to_hello_s_number_may_be_acknowledged() -> None:
    assert told(greeted(9), Acknowledge(8)) == [Acknowledge(8)]


def test_hello_starts_over_and_the_owner_says_again_what_it_keeps() -> None:
    session = greeted()
    draw(session, 1, 2)
    session.outgoing()
    session.send(HELLO, seq=3, t_us=1)
    draw(session, 1, 2)
    assert numbers(session) == [3, 1, 2]


def test_frames_keep_the_order_in_which_they_were_said() -> None:
    session = greeted()
    session.send(Status(armed=1, drawn=0, unacknowledged=0), seq=1, t_us=1)
    draw(session, 1)
    session.send(Status(armed=None, drawn=1, unacknowledged=1), seq=2, t_us=1)
    assert [type(m.content).__name__ for m in sent(session)] == ["Status", "CardDrawn", "Status"]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (Reply(accepted=False, reason="empty"), Reply(accepted=False, reason="empty", number=6)),
        (Reply(accepted=False, reason="a jam"), Reply(accepted=False, reason="other", number=6)),
        (Reply(accepted=False, number=5), Reply(accepted=False, reason="other", number=5)),
        (Reply(accepted=True), Reply(accepted=True, number=6)),
    ],
)
def test_a_reply_names_the_draw_that_the_last_command_named(reply: Reply, wanted: Reply) -> None:
    session = greeted()
    told(session, Armed(6, "player", 1))
    session.send(reply, seq=1, t_us=1)
    [message] = sent(session)
    assert message.content == wanted


def test_what_only_a_shoe_says_is_refused() -> None:
    session = greeted()
    frames = [e.frame for e in EXAMPLES if "command" not in e.plain["said"]]
    said = [s for f in frames for s in session.receive(f, 1.0)]
    assert len(said) == len(frames)
    assert all(isinstance(s, Discarded) and s.reason == "for_the_host" for s in said)


def test_the_owner_is_told_at_once_of_what_cannot_be_said() -> None:
    session = greeted()
    draw(session, 4)
    with pytest.raises(ValueError, match="event 4 after event 4"):
        draw(session, 4)
    with pytest.raises(ValueError, match="no frame"):
        session.send(Standby(), seq=5, t_us=1)
    with pytest.raises(ValueError, match="device_id"):
        session.send(
            Hello(device_id="x" * 37, firmware="1", boot_id=1, deck="french52"), seq=5, t_us=1
        )


@given(st.lists(st.binary(max_size=80), max_size=12))
def test_garbage_of_a_host_is_discarded_and_never_raises(chunks: list[bytes]) -> None:
    session = greeted()
    for chunk in chunks:
        assert all(isinstance(said, Discarded) for said in session.receive(chunk, 1.0))
