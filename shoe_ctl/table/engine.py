"""The tables set in motion: their lines become transitions of one machine that moves a turn.

In: a turn, a trigger. Out: the turn in its next state, with all that it does on the way.
Must not know: what any line means.
"""

from __future__ import annotations

import functools

from transitions import Event, EventData, Machine, MachineError, Transition

from .situations import STATES
from .transitions import CASES, CHECKS, Line, lines
from .turn import Turn


class Trigger(Event):
    """All lines of one trigger, by state.

    The library's own way prepares for callbacks and queues that no table here has. This one looks
    up the state's lines and takes the first that holds.
    """

    def trigger(self, model: object, *_: object, **__: object) -> bool:
        """Take the model's line.

        Raises:
            MachineError: the model's state has no line for this trigger.
        """
        assert isinstance(model, Turn)
        moves = self.transitions.get(model.state)
        if moves is None:
            raise MachineError(f"no line for {self.name} in the state {model.state}")
        for move in moves:
            assert isinstance(move, Move)
            if move.take(self.machine, model):
                return True
        return False


class Move(Transition):
    """One line of the tables.

    The library's own way asks conditions and callbacks by name and logs each step. A move calls
    what its line names, in order, and nothing else.
    """

    def __init__(self, line: Line) -> None:
        super().__init__(line.state, line.state)
        self._to, self._when, self._do = line.to, line.when, line.do

    def execute(self, event_data: EventData) -> bool:
        """Take the line, if its conditions hold: first the state changes, then it acts."""
        assert isinstance(event_data.model, Turn)
        return self.take(event_data.machine, event_data.model)

    def take(self, machine: Machine, turn: Turn) -> bool:
        """Do the same for this turn: no line asks for the library's event data."""
        for holds in self._when:
            if not holds(turn):
                return False
        to = self._to if isinstance(self._to, str) else self._to(turn)
        if to != self.source:
            machine.set_state(machine.states[to], turn)
        for act in self._do:
            act(turn)
        return True


def run(turn: Turn, trigger: str) -> None:
    """Take the line for this trigger, and then for each that it gives the table, in their order.

    What a trigger is, of its cases, is asked when its turn comes.
    """
    events, waiting = machine().events, turn.triggers
    waiting.append(trigger)
    while waiting:
        turn.source = turn.state
        events[case_of(turn, waiting.popleft())].trigger(turn)


def case_of(turn: Turn, trigger: str) -> str:
    """What this trigger is, as the table stands."""
    check = CHECKS.get(trigger)
    if check is not None:
        return check[0](turn)
    for case, holds in CASES.get(trigger, ()):
        if holds(turn):
            return case
    return trigger


@functools.cache
def machine() -> Machine:
    """The machine of every table: it holds no turn, and moves the one that it is given."""
    made = Machine(model=None, states=list(STATES), initial=STATES[0], auto_transitions=False)
    for (_, trigger), each in lines().items():
        event = made.events.setdefault(trigger, Trigger(trigger, made))
        for line in each:
            event.add_transition(Move(line))
    return made
