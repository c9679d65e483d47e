"""Whether anyone is there: a silent shoe is asked, and any answer will do."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.command_queue import ATTEMPTS, REPLY_TIMEOUT_S
from firmware_proto.angel_eye.frames import encode_command, encode_event, encode_reply
from firmware_proto.angel_eye.host import ASK_AFTER_S, LOST_S, AngelEyeHost
from firmware_proto.angel_eye.settings import host_settings
from firmware_proto.commands import Locked, Query
from firmware_proto.events import Reply, Standby

GP = encode_command("GP", "00")
LK = encode_command("LK", "02")
STANDBY = encode_event(Standby(), "1")
YES = encode_reply(Reply(accepted=True))
NO = encode_reply(Reply(accepted=False, reason="command"))


def host(**settings: object) -> AngelEyeHost:
    return AngelEyeHost(host_settings({"commands": True, **settings}))


def run(session: AngelEyeHost, since: float, until: float, answer: bytes = b"") -> list[float]:
    """The times at which it asked, each answered with this; ticked when it wants to be."""
    asked: list[float] = []
    t = since
    while t <= until:
        assert session.tick(t) == []
        if (said := session.outgoing()) != b"":
            assert said == GP
            asked.append(t)
            session.receive(answer, t)
        due = session.next_deadline
        assert due is not None
        t = max(t, due)
        if due == float("-inf"):
            session.tick(t)
    return asked


def test_a_silent_shoe_is_asked_and_its_answer_is_enough() -> None:
    asked = run(host(), 0.0, 10 * ASK_AFTER_S, YES)
    assert asked and all(b - a <= 2 * ASK_AFTER_S for a, b in pairwise(asked))


def test_a_refusal_is_a_sign_of_life_too() -> None:
    session = host()
    assert len(run(session, 0.0, 4 * ASK_AFTER_S, NO)) >= 2


def test_a_shoe_that_speaks_is_not_asked() -> None:
    session, t = host(), 0.0
    while t < 10 * ASK_AFTER_S:
        session.receive(STANDBY, t)
        session.tick(t)
        assert session.outgoing() == b""
        t += ASK_AFTER_S / 2


def test_nobody_there_is_asked_three_times_before_the_line_counts_as_dead() -> None:
    session = host()
    session.receive(STANDBY, 0.0)
    asked = run(session, 0.0, LOST_S)
    assert session.capabilities.silence_s == LOST_S
    assert len(asked) >= ATTEMPTS
    assert asked[ATTEMPTS - 1] + REPLY_TIMEOUT_S <= LOST_S


@given(heard=st.floats(0.0, ASK_AFTER_S))
def test_whenever_it_was_heard_last_the_attempts_are_over_in_time(heard: float) -> None:
    session = host()
    session.tick(0.0)
    session.receive(STANDBY, heard)
    asked = run(session, heard, heard + LOST_S)
    assert asked[ATTEMPTS - 1] + REPLY_TIMEOUT_S <= heard + LOST_S


def test_what_people_ask_for_and_the_lock_come_first() -> None:
    session = host()
    session.tick(0.0)
    session.set_desired_state(Locked())
    assert session.outgoing() == LK
    session.tick(ASK_AFTER_S)  # nothing came: asked, once the lock is answered
    session.receive(YES, ASK_AFTER_S)
    session.command(Query(5, "progress"))
    session.outgoing()
    (heard,) = session.receive(YES, ASK_AFTER_S)
    assert isinstance(heard.event, Reply)


def test_its_answer_is_no_answer_to_anything_that_people_asked() -> None:
    session = host()
    session.tick(0.0)
    session.tick(ASK_AFTER_S)
    assert session.outgoing() == GP
    (heard,) = session.receive(YES, ASK_AFTER_S)
    assert heard.event == Reply(accepted=True, command_id=None)


@pytest.mark.parametrize("settings", [{"ask_when_silent": False}, {"commands": False}])
def test_a_shoe_that_may_not_be_asked_may_be_silent_for_hours(settings: dict[str, object]) -> None:
    session = host(**settings)
    assert session.capabilities.silence_s is None
    for t in range(0, 36_000, 600):
        assert session.tick(float(t)) == []
        assert session.outgoing() == b""
    assert session.next_deadline is None
