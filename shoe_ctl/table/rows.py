"""The grammar of the round's table: rows, how lines spell them, how a command is refused.

In: lines as machine.py writes them. Out: a Row for each state that they name.
Must not know: which states and triggers there are, what an action does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from shoe_ctl.texts.message import Message, message

from .turn import Turn


class Objection(NamedTuple):
    """Why a command cannot be taken, and what it would need."""

    why: Message
    needs: Mapping[str, str] = {}


Why = Callable[[Turn], Message | Objection | None]
"""Finds what stands against a command, or nothing."""


class Row(NamedTuple):
    """In ``state``, on ``trigger``, if every ``when`` holds: go to ``dest``, then ``do``."""

    trigger: str
    state: str
    dest: str
    when: tuple[Callable[[Turn], bool], ...]
    do: tuple[Callable[[Turn], None], ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """An action that refuses the command; ``why``, where the state itself would take it.

    ``states`` are those that take it, where this one does not.
    """

    why: Message | Why | None = None
    states: tuple[str, ...] = ()

    def __call__(self, turn: Turn) -> None:
        command = turn.command.command
        if self.why is None:
            error = message("refused_in_this_state", command=command, state=turn.source)
            turn.refuse(error, state=", ".join(s for s in self.states if s != turn.source))
        else:
            found = self.why if isinstance(self.why, Message) else self.why(turn)
            assert found is not None, "the row above takes it"
            why, needs = found if isinstance(found, Objection) else (found, {})
            turn.refuse(why, **needs)


def spell(*lines: tuple[Any, ...]) -> tuple[Row, ...]:
    """Spell the rows out: one for each source state, ``=`` for the state itself.

    Where a row above takes the trigger whatever the conditions, a later one says nothing.
    """
    spelt: list[Row] = []
    taken: set[tuple[str, str]] = set()
    for trigger, source, dest, when, do in lines:
        for state in (source,) if isinstance(source, str) else source:
            if (trigger, state) not in taken:
                spelt.append(Row(trigger, state, state if dest == "=" else dest, when, do))
            if not when:
                taken.add((trigger, state))
    return tuple(spelt)


def fire(trigger: str) -> Callable[[Turn], None]:
    """An action that gives the table this trigger: its line in ROUND says where that leads."""

    def go_on(turn: Turn) -> None:
        turn.then(trigger)

    return go_on


def unless(
    why: Why, command: str, states: tuple[str, ...], do: Callable[[Turn], None]
) -> tuple[tuple[Any, ...], ...]:
    """Lines for a command that changes no state: done in these unless something is against it."""

    def finds_nothing(turn: Turn) -> bool:
        return why(turn) is None

    return (
        (command, states, "=", (finds_nothing,), (do,)),
        (command, states, "=", (), (Refuse(why),)),
    )
