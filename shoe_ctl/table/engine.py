"""The literal table set in motion: rows become transitions of a machine that moves a turn.

In: ROWS. Out: a Machine whose model is the turn.
Must not know: what any row means.
"""

from __future__ import annotations

from collections.abc import Callable

from transitions import EventData, Machine

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
    return Machine(
        model=turn,
        states=list(STATES),
        initial="no_shoe",
        queued=True,
        auto_transitions=False,
        send_event=True,
        transitions=[
            {
                "trigger": row.trigger,
                "source": row.state,
                "dest": row.dest,
                "conditions": [_asks(c) for c in row.when],
                "after": [_does(row.do)] if row.do else [],
            }
            for row in ROWS
        ],
    )
