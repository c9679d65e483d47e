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
        key = given[0].key if len(given) > 1 else turn.now.halt.current.key  # type: ignore[union-attr]
        take(turn, (key, end.name))
        (resolve_pending if len(given) > 1 else close)(turn, *given, **more)

    def drops(turn: Turn, waiting: Any, how: str) -> None:
        take(
            turn, (waiting.key, next(e.name for e in PROCEDURES[waiting.key].ends if e.how == how))
        )
        answer_question(turn, waiting, how)

    close, resolve_pending, answer_question = (
        stack.close,
        stack.resolve_pending,
        stack.answer_question,
    )
    with (
        mock.patch.object(stack, "close", closes),
        mock.patch.object(stack, "resolve_pending", closes),
        mock.patch.object(stack, "answer_question", drops),
    ):
        yield
