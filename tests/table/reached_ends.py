"""Which ends of which procedures are really reached while something is played.

In: the stack as the controller uses it. Out: (irregularity, name of its end), as they are taken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.turn import Turn

Reached = tuple[str, str]

EVERY_END: frozenset[Reached] = frozenset(
    (key, end.name) for key, procedure in PROCEDURES.items() for end in procedure.ends
)


@contextlib.contextmanager
def ends_reached(take: Callable[[Turn, Reached], None]) -> Iterator[None]:
    """Calls ``take`` with each end, and the turn that takes it, until the block is left."""

    def closes(turn: Turn, *given: Any, **more: Any) -> None:
        end = given[-1]
        key = given[0].key if len(given) > 1 else turn.now.halt.top.key  # type: ignore[union-attr]
        take(turn, (key, end.name))
        (close_waiting if len(given) > 1 else close)(turn, *given, **more)

    def drops(turn: Turn, waiting: Any, how: str) -> None:
        take(
            turn, (waiting.key, next(e.name for e in PROCEDURES[waiting.key].ends if e.how == how))
        )
        drop_waiting(turn, waiting, how)

    close, close_waiting, drop_waiting = stack.close, stack.close_waiting, stack.drop_waiting
    with (
        mock.patch.object(stack, "close", closes),
        mock.patch.object(stack, "close_waiting", closes),
        mock.patch.object(stack, "drop_waiting", drops),
    ):
        yield
