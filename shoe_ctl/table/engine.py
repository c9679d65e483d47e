"""The literal table set in motion: rows become transitions of a machine that moves a turn.

In: ROWS. Out: a Machine whose model is the turn.
Must not know: what any row means.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import chain
from typing import Any

from transitions import Event, EventData, Machine

from .machine import ROWS, STATES
from .turn import Turn


def _asks(condition: Callable[[Turn], bool]) -> Callable[[EventData], bool]:
    def ask(event: EventData) -> bool:
        return condition(_place(event))

    return ask


def _does(actions: tuple[Callable[[Turn], None], ...]) -> Callable[[EventData], None]:
    def act(event: EventData) -> None:
        turn = _place(event)
        for action in actions:
            action(turn)

    return act


def _place(event: EventData) -> Turn:
    turn, transition = event.model, event.transition
    assert isinstance(turn, Turn) and transition is not None and transition.dest is not None
    turn.source, turn.dest = transition.source, transition.dest
    return turn


def build(turn: Turn) -> Machine:
    """The state machine that moves this turn by the table above."""
    machine = _machine([])
    for trigger, pattern in _pattern().events.items():
        event = machine.events[trigger] = Event(trigger, machine)
        for transition in chain.from_iterable(pattern.transitions.values()):
            event.add_transition(transition)
    machine.add_model(turn)
    return machine


@functools.cache
def _pattern() -> Machine:
    """A machine that moves nothing. Its transitions, dear to make, know no turn: all share them."""
    return _machine(
        [
            {
                "trigger": row.trigger,
                "source": row.state,
                "dest": row.dest,
                "conditions": [_asks(c) for c in row.when],
                "after": [_does(row.do)] if row.do else [],
            }
            for row in ROWS
        ]
    )


def _machine(transitions: list[dict[str, Any]]) -> Machine:
    return Machine(
        model=None,
        states=list(STATES),
        initial="no_shoe",
        queued=True,
        auto_transitions=False,
        send_event=True,
        transitions=transitions,
    )
