"""The form of a guided procedure: steps that people and the shoe answer, ends that lead back.

In: nothing. Out: Procedure, Step, Choice, Hears, End: each irregularity is one literal of these.
Must not know: any particular irregularity, events, how the machine moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shoe_ctl.table.turn import Turn

Condition = Callable[[Turn], bool]
Objection = Callable[[Turn], str | None]
Action = Callable[[Turn], None]
Facts = Callable[[Turn], dict[str, Any]]

BACK = "back"
"""Where an end leads: to the irregularity, or the state, that was left for this one."""

VOID = "void"
"""Where an end leads: the round is void, all that is open closes with it, the table is idle."""

DECIDES = "decides"
"""Instead of a position: whoever the game says decides what its rules do not cover."""


def nothing(turn: Turn) -> None:
    """No objection."""


def no_facts(turn: Turn) -> dict[str, Any]:  # noqa: ARG001 - the signature of facts
    """Nothing more is told."""
    return {}


class Choice(NamedTuple):
    """What a person may answer at a step.

    ``by`` is the lowest position, or DECIDES. ``then`` is the name of the next step or of an end.
    ``unless`` says why it cannot be taken now; ``in_round``: only with an open round, or only
    without one. ``reason`` and ``second``: a reason must be given, another person must consent.
    """

    name: str
    by: str
    then: str
    do: tuple[Action, ...] = ()
    unless: Objection = nothing
    in_round: bool | None = None
    reason: bool = True
    second: bool = False

    def is_offered(self, *, in_round: bool) -> bool:
        """Whether it is a choice at all, with a round open or without."""
        return self.in_round in (None, in_round)


class Hears(NamedTuple):
    """What a step takes from the shoe or the link, by trigger, if ``when`` holds."""

    trigger: str
    when: Condition
    then: str
    do: tuple[Action, ...] = ()


class Step(NamedTuple):
    """One open step: what the table is asked to do, and what may answer it.

    ``prompt`` is for those at the table: it never depends on a card that is not revealed.
    """

    name: str
    prompt: str
    choices: tuple[Choice, ...]
    hears: tuple[Hears, ...] = ()


class End(NamedTuple):
    """How the irregularity closes, and where that leads.

    ``cites`` is the key and the end in the game file whose rule number is cited; ``how`` is told.
    """

    name: str
    how: str
    cites: tuple[str, str]
    leads: str = BACK
    do: tuple[Action, ...] = ()


class Declared(NamedTuple):
    """Who may declare the irregularity, in which states; ``seen`` is what the room is told."""

    by: str
    states: tuple[str, ...]
    seen: str


class Procedure(NamedTuple):
    """One irregularity. It begins at the first step.

    ``covers`` are the keys of those that are a part of the same event when they lie right under it.
    ``facts`` are told in public when it is raised: all at the table can see them.
    """

    key: str
    steps: tuple[Step, ...]
    ends: tuple[End, ...]
    declared: Declared | None = None
    covers: tuple[str, ...] = ()
    facts: Facts = no_facts

    def step(self, name: str) -> Step:
        """The step of this name.

        Raises:
            KeyError: there is none.
        """
        return _named(self.steps, name)

    def end(self, name: str) -> End | None:
        """The end of this name, None where the name is a step's."""
        return next((end for end in self.ends if end.name == name), None)


def _named(steps: tuple[Step, ...], name: str) -> Step:
    found: Mapping[str, Step] = {step.name: step for step in steps}
    return found[name]
