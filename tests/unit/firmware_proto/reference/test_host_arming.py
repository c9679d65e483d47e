"""What the shoe should be, as the host's end of a reference connection says it.

In: desired states, statuses, replies, the time. Out: arm and lock, when they are due and not else.
Must not know: the shoe's end.
"""

from __future__ import annotations

from firmware_proto.commands import Acknowledge, Armed, Locked
from firmware_proto.events import Reply, ShoeLoaded
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.session import Resume
from shoe_testing.reference_protocol import (
    given_by,
    host_frame,
    met,
    sent_frames,
    shoe_card,
    shoe_hello,
    shoe_status,
)


def test_a_state_is_said_once_everything_before_hello_is_stored() -> None:
    session = ReferenceHost(Resume("SH-1", 0))
    session.set_desired_state(Locked())
    session.receive(shoe_hello(3, oldest=1) + shoe_card(1) + shoe_card(2), 1.0)
    assert Locked() not in sent_frames(session)
    session.stored(1)
    assert sent_frames(session) == [Acknowledge(1)]
    session.stored(2)
    assert sent_frames(session) == [Acknowledge(2), Locked()]


def test_a_state_is_said_again_until_a_status_shows_it() -> None:
    session = met()
    session.receive(shoe_status(1), 2.0)
    arm = Armed(4, "banker", 2)
    session.set_desired_state(arm)
    said = []
    for tenth in range(21):
        session.tick(3.0 + tenth / 10)
        said += sent_frames(session)
        session.tick(3.0 + tenth / 10)  # at once after sending: the timer starts
    assert said == [arm] * 5
    session.receive(shoe_status(1, armed=4, drawn=3), 5.1)
    session.tick(6.0)
    assert sent_frames(session) == []
    session.receive(shoe_status(1, drawn=3), 6.1)
    assert sent_frames(session) == [arm]


def test_a_draw_that_is_out_is_not_armed_again() -> None:
    session = met()
    session.receive(shoe_status(1), 2.0)
    session.set_desired_state(Armed(4, "banker", 2))
    assert sent_frames(session) == [Armed(4, "banker", 2)]
    session.receive(shoe_card(1) + shoe_status(2, drawn=4), 2.1)
    session.tick(2.2)
    session.tick(5.0)
    assert sent_frames(session) == []


def test_a_reply_to_an_earlier_command_does_not_stop_the_present_one() -> None:
    session = met()
    session.receive(shoe_status(1), 2.0)
    session.set_desired_state(Armed(5, "player", 1))
    late = Reply(accepted=False, reason="already_drawn", number=4)
    assert given_by(session, host_frame(late, 1)) == [(late, None)]
    assert sent_frames(session) == [Armed(5, "player", 1)]


def test_a_loaded_set_makes_a_refused_state_be_said_again() -> None:
    session = met()
    session.receive(shoe_status(1), 2.0)
    session.set_desired_state(Armed(1, "burn", 1))
    session.outgoing()
    session.receive(host_frame(Reply(accepted=False, reason="empty", number=1), 1), 2.1)
    session.tick(9.0)
    session.outgoing()
    session.receive(host_frame(ShoeLoaded(set_id="S", decks=8), 1), 9.1)
    assert sent_frames(session) == [Armed(1, "burn", 1)]


def test_a_shoe_that_cannot_be_armed_is_told_nothing() -> None:
    session = ReferenceHost(None)
    assert session.capabilities.arm
    session.set_desired_state(Locked())
    session.receive(shoe_hello(1, arm=False), 1.0)
    session.stored(0)
    assert Locked() not in sent_frames(session)
    assert not session.capabilities.arm
