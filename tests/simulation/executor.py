"""What blocks in a thread of its own, done in the loop instead: one call at a time, in order.

In: calls. Out: their results, some simulated time later. Must not know: what is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from shoe_testing.simulated_time import VirtualLoop


class LoopExecutor(Executor):
    """``takes_s`` says how long the next call takes, in seconds of the loop's time."""

    def __init__(self, loop: VirtualLoop, takes_s: Callable[[], float]) -> None:
        self._loop = loop
        self._takes_s = takes_s
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._busy = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, lambda: fn(*args, **kwargs)))
        self._next()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """What was handed in is done at once: nobody can wait for time to pass here."""
        while self._waiting:
            future, call = self._waiting.popleft()
            if cancel_futures:
                future.cancel()
            elif wait:
                _do(future, call)

    def _next(self) -> None:
        if not self._busy and self._waiting:
            self._busy = True
            self._loop.call_later(self._takes_s(), self._run)

    def _run(self) -> None:
        self._busy = False
        if self._waiting:
            future, call = self._waiting.popleft()
            _do(future, call)
            self._next()


def _do(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - handed to whoever waits for it
        future.set_exception(error)
    else:
        future.set_result(result)
