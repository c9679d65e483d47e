"""A thread for what blocks: one call at a time, in order, with few steps in between.

In: calls. Out: their results, as futures. Must not know: what is called.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple


class _Call(NamedTuple):
    future: Future[Any]
    work: Callable[[], Any]


class WorkerThread(Executor):
    """An executor with one thread, for calls from the running loop. It starts with the first call.

    A call is handed over as the last thing before the loop waits again, so that the thread need
    not wait for the loop to give the interpreter's lock back.

    Unlike ``ThreadPoolExecutor`` it counts no idle threads under locks: each card is handed over
    to be stored, and again for each file of events.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Call] = deque()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_shut = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand over a call; the future gets its result. Call it on the loop.

        Raises:
            RuntimeError: it was shut down.
        """
        if self._is_shut:
            raise RuntimeError(f"thread {self._name}: no call after its end")
        future: Future[Any] = Future()
        if not self._waiting:
            self._loop.call_soon(self._hand_over)
        self._waiting.append(_Call(future, partial(fn, *args, **kwargs)))
        return future

    def _hand_over(self) -> None:
        if self._thread is None and self._waiting:
            self._thread = threading.Thread(target=self._run, name=self._name)
            self._thread.start()
        while self._waiting:
            self._calls.put(self._waiting.popleft())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no further call; end the thread after those it has. See ``Executor.shutdown``."""
        self._is_shut = True
        self._hand_over()
        if cancel_futures:
            with suppress(Empty):
                while (call := self._calls.get_nowait()) is not None:
                    call.future.cancel()
        self._calls.put(None)
        if wait and self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            if call.future.set_running_or_notify_cancel():
                _do(call)
            del call  # nothing of it is kept while the thread waits


def _do(call: _Call) -> None:
    try:
        result = call.work()
    except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
        call.future.set_exception(error)
    else:
        call.future.set_result(result)
