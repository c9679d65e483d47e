"""A moment that no signal cuts in two: a process that is told to end does so right behind it."""

from __future__ import annotations

import os
import signal

import pytest

from shoe_ctl.interruptions import undisturbed


def test_ctrl_c_waits_until_the_body_is_done() -> None:
    done: list[str] = []

    def work() -> None:
        with undisturbed():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("first")
            done.append("second")
        done.append("behind it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["first", "second"]


def test_what_was_held_back_before_stays_so() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        with undisturbed():
            pass
        assert signal.SIGHUP in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
