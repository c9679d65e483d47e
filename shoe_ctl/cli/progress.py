"""How far a long command has come, for a person who waits at a terminal.

In: the record reached and the last one, now and then. Out: one line on stderr, taken away in the
end; nothing at all where stderr is no terminal. Must not know: what is done with the records.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import click

PROGRESS_S = 0.3
"""Between two looks of a person at how far it has come."""


class Progress:
    """``done`` is what is done with records, in one word."""

    def __init__(self, done: str) -> None:
        self._done = done
        self._speaks = sys.stderr is not None and sys.stderr.isatty()
        self._said_at = time.monotonic()
        self._spoke = False

    def __enter__(self) -> Callable[[int, int], None]:
        return self._come_to

    def __exit__(self, *_: object) -> None:
        if self._spoke:
            click.echo("\r\x1b[K", err=True, nl=False)

    def _come_to(self, n: int, last_n: int) -> None:
        now = time.monotonic()
        if self._speaks and now - self._said_at >= PROGRESS_S:
            self._said_at, self._spoke = now, True
            far = f"{n:,} of {last_n:,} records, {100 * n // max(last_n, 1)} %"
            click.echo(f"\r{self._done} {far}\x1b[K", err=True, nl=False)
