"""Simulated time: an event loop that jumps to its next timer, and a wall clock that people set.

In: callbacks, timers, tasks. Out: each run by itself, in an order that only they decide.
Must not know: what runs in it. One thread, no descriptors, no real clock, but for ``SkippingLoop``.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class Stalled(RuntimeError):
    """Nothing is ready and nothing is due, but what is run has not ended."""


RESTLESS_STEPS = 200_000
"""Callbacks at one moment: by then something runs in a circle."""


TOLD_TO_END = 3
ENDS_WITHIN_S = 600.0


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set follows from its number, not from its address in memory."""

    _numbers = count()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._number = next(NumberedTask._numbers)
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.BaseEventLoop):
    """``time`` is in seconds and starts at 0. ``after_step`` is called after each callback.

    ``steps`` counts callbacks. What a callback raises ends ``run_until_complete``.
    """

    def __init__(self) -> None:
        self._is_running = False
        super().__init__()
        self.steps = 0
        self.after_step: Callable[[], None] = lambda: None
        self._now = 0.0
        self._steps_now = 0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self._failure: BaseException | None = None
        self._closed = False
        NumberedTask._numbers = count()

    # What tasks and futures ask of a loop.

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._closed

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, **options: Any
    ) -> asyncio.Task[T]:
        return NumberedTask(coro, loop=self, name=name, **options)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there is one thread

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is left where it is and skipped when it is due."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        assert executor is not None, "a thread of its own would run by real time"
        return asyncio.wrap_future(executor.submit(func, *args), loop=self)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What nobody waits for must not fail in silence."""
        error = context.get("exception")
        told = RuntimeError(f"{context['message']}: {context}")
        self.fail(error if isinstance(error, BaseException) else told)

    def fail(self, error: BaseException) -> None:
        """Ends ``run_until_complete`` with this, unless something failed before."""
        self._failure = self._failure or error

    # How it runs.

    def run_until_complete(self, main: Coroutine[Any, Any, T]) -> T:  # type: ignore[override]
        """Runs until this coroutine ends; what else is under way is left as it is.

        Raises:
            Stalled: it never would.
        """
        task = self.create_task(main, name="main")
        self._is_running = True
        _set_running_loop(self)
        try:
            while not task.done():
                self._step()
                if self._failure is not None:
                    raise self._failure
        finally:
            _set_running_loop(None)
            self._is_running = False
        return task.result()

    def close(self) -> None:
        """Ends every task that is still there; one may need to be told more than once."""
        self._failure, self.after_step = None, lambda: None
        for _ in range(TOLD_TO_END):
            left = sorted(asyncio.all_tasks(self), key=hash)
            for task in left:
                task.cancel()
            if left:
                self.run_until_complete(asyncio.wait(left, timeout=ENDS_WITHIN_S))
        self._ready.clear()
        self._timers.clear()
        self._closed = True

    def _step(self) -> None:
        if not self._ready:
            self._jump()
        handle = self._ready.popleft()
        if not handle.cancelled():
            self.steps += 1
            self._steps_now += 1
            if self._steps_now > RESTLESS_STEPS:
                raise Stalled(f"at {self._now:.6f} s something runs in a circle: {handle}")
            handle._run()
            self.after_step()

    def _jump(self) -> None:
        """To the next moment at which something is due."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            raise Stalled(f"nothing is due any more at {self._now:.6f} s")
        if self._timers[0][0] > self._now:
            self._now, self._steps_now = self._timers[0][0], 0
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])


STARTED_S = 1_750_000_000


class WallClock:
    """Nanoseconds since 1970 UTC, as ``time.time_ns`` has them."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._ahead_s = float(STARTED_S)
        self.was_set = False

    def jump(self, seconds: float) -> None:
        """Somebody sets it, on or back."""
        self._ahead_s += seconds
        self.was_set = True

    def read_ns(self) -> int:
        """What it shows now."""
        return round((self._ahead_s + self._loop.time()) * 1e6) * 1000


SETTLING_STEPS = 20
"""Turns of a loop in which all that has become due begins, and what a refused connection ends."""


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop with real descriptors whose time runs on by leaps: for what talks to a real broker."""

    def __init__(self) -> None:
        self._skipped_s = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self._skipped_s

    async def skip(self, seconds: float) -> None:
        """Let so much time pass at once; return when what is due then has begun."""
        self._skipped_s += seconds
        for _ in range(SETTLING_STEPS):
            await asyncio.sleep(0)
