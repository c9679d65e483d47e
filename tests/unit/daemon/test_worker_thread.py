"""A worker thread does calls one at a time, in order, and ends with all of them done.

In: calls from a loop. Out: their results and errors, the thread's end.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from shoe_ctl.daemon.worker_thread import WorkerThread


async def test_calls_are_done_in_their_order_in_one_thread_of_that_name() -> None:
    done: list[int] = []
    loop = asyncio.get_running_loop()
    with WorkerThread("journal") as thread:
        names = await asyncio.gather(
            *(loop.run_in_executor(thread, _note, done, number) for number in range(100))
        )
    assert done == list(range(100))
    assert set(names) == {"journal"}


def _note(done: list[int], number: int) -> str:
    done.append(number)
    return threading.current_thread().name


async def test_an_error_is_the_result_of_its_call_alone() -> None:
    loop = asyncio.get_running_loop()
    with WorkerThread("journal") as thread:
        failing = loop.run_in_executor(thread, int, "no number")
        following = loop.run_in_executor(thread, int, "7")
        with pytest.raises(ValueError, match="no number"):
            await failing
        assert await following == 7


async def test_the_end_waits_for_calls_that_were_just_handed_over() -> None:
    thread = WorkerThread("journal")
    results = [thread.submit(pow, 2, exponent) for exponent in range(3)]
    thread.shutdown()
    assert [result.result(timeout=0) for result in results] == [1, 2, 4]


async def test_no_call_is_taken_after_the_end() -> None:
    thread = WorkerThread("journal")
    thread.shutdown()
    thread.shutdown()
    with pytest.raises(RuntimeError, match="thread journal: no call after its end"):
        thread.submit(int)


async def test_calls_that_have_not_begun_can_be_cancelled_at_the_end() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def first() -> str:
        begun.set()
        go_on.wait()
        return "done"

    thread = WorkerThread("journal")
    loop = asyncio.get_running_loop()
    at_work = loop.run_in_executor(thread, first)
    waiting = thread.submit(int)
    await loop.run_in_executor(None, begun.wait)
    thread.shutdown(wait=False, cancel_futures=True)
    go_on.set()
    assert await at_work == "done"
    with pytest.raises(CancelledError):
        waiting.result(timeout=0)
    thread.shutdown()


async def test_a_thread_without_calls_is_never_started() -> None:
    before = threading.active_count()
    with WorkerThread("journal"):
        assert threading.active_count() == before


async def test_a_call_that_was_cancelled_before_it_began_is_left_out() -> None:
    done: list[int] = []
    thread = WorkerThread("journal")
    left_out = thread.submit(done.append, 1)
    thread.submit(done.append, 2)
    assert left_out.cancel()
    thread.shutdown()
    assert done == [2]
