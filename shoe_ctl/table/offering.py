"""What a table takes as it stands: commands that would be done, choices that can be taken now.

In: the table's state, its game, its settings. Out: Offer values, choices as people are told them.
Must not know: who asks; it does nothing, and no card that is not revealed makes a difference.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from shoe_ctl.texts.message import Message, message

from . import arguments, by_hand, filling, positions, revising, transitions
from .irregularities import stack, withdrawal
from .irregularities.procedure import Choice, Standing
from .recording import RECORDED
from .trying import Trial
from .turn import Turn

NO_WAY = message("refused_nothing_fits")
"""Against a choice with arguments: what stands against each of them may name a Player."""


class Offer(NamedTuple):
    """A command that would be done, with the lowest position; what must be said besides."""

    command: str
    position: str
    reason: bool
    second: bool

    @property
    def told(self) -> dict[str, Any]:
        """As it is told: what it does not need is not there."""
        said: dict[str, Any] = {"command": self.command, "position": self.position}
        said |= {"reason": True} if self.reason else {}
        return said | ({"second_person": True} if self.second else {})


@functools.cache
def takes(state: str) -> tuple[str, ...]:
    """The commands that may do something in this state, if their own conditions hold."""
    return tuple(c for c in positions.COMMANDS if state in transitions.states_that_take(c))


def offers(at: Standing) -> list[Offer]:
    """Each command that would be done with proper arguments, from whom at the least."""
    trial = Trial(at)
    found = (_offer(at, trial, command) for command in takes(at.now.state))
    return [offer for offer in found if offer is not None]


def choices(at: Standing) -> list[dict[str, Any]]:
    """The choices of the step to be decided now; ``not_now`` says what stands against one.

    ``arguments`` are what each takes: their ``values`` where these are counted, ``optional`` where
    it may be left out, ``value`` where the room can see what it is now.
    """
    deciding = stack.to_decide(at)
    if deciding is None or "decide" not in takes(at.now.state):
        return []
    trial = Trial(at)
    told = zip(stack.offered(at), stack.offers(at, deciding), strict=True)
    return [
        offer
        | _arguments(at, choice, way.args)
        | ({} if way.why is None else {"not_now": way.why.as_data()})
        for choice, offer in told
        for way in (_way(at, trial, choice),)
    ]


def _arguments(at: Standing, choice: Choice, taken: Mapping[str, Any] | None) -> dict[str, Any]:
    """What this choice takes, argument by argument; ``taken`` is a way that it can be taken."""
    seat = withdrawal.next_seat_to_answer(at) if choice.takes is withdrawal.OfThePlayer else None
    taken = taken if seat is None else {"seat": seat}
    told = []
    for one in arguments.arguments_of(choice.takes):
        if one.name == "choice":
            continue
        asked: dict[str, Any] = {"name": one.name}
        asked |= {"values": list(one.values)} if one.values else {}
        asked |= {"optional": True} if one.optional and not _is_needed(one.name, taken) else {}
        asked |= {"value": seat} if one.name == "seat" and seat is not None else {}
        told.append(asked)
    return {"arguments": told} if told else {}


def _is_needed(name: str, taken: Mapping[str, Any] | None) -> bool:
    """It may be left out, and the way that was found says it all the same; a seat will do."""
    given = taken or {}
    return name in given and not (name == "player" and "seat" in given)


def _offer(at: Standing, trial: Trial, command: str) -> Offer | None:
    if command in _OF_CARDS:
        at_least = positions.needed(command, at.game)
        stands = trial.asks(_OF_CARDS[command], command, at_least)
        return Offer(command, at_least, reason=True, second=True) if stands is None else None
    if command == "decide":
        return _decided(at, trial)
    taken = (each for each in _ways(at, command) if trial.takes(command, *each))
    # Of one command alone the position depends on what it is given.
    found = list(taken if command == "change_method" else itertools.islice(taken, 1))
    if not found:
        return None
    return Offer(
        command,
        min((position for _, position in found), key=positions.POSITIONS.index),
        reason=not any(trial.takes(command, *each, reason=False) for each in found),
        second=not any(trial.takes(command, *each, second=False) for each in found),
    )


def _ways(at: Standing, command: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Ways to give this command, each with the lowest position for it."""
    if command != "declare":
        for args in filling.ways(at, command):
            yield args, positions.needed(command, at.game, args)
        return
    for key in RECORDED:
        yield {"key": key}, positions.needed(command, at.game)
    for key, procedure in at.procedures.items():
        if (declared := procedure.declared) is not None:
            for args in filling.filled(at, declared.takes):
                yield {"key": key, **args}, declared.by


def _decided(at: Standing, trial: Trial) -> Offer | None:
    found = [choice for choice in stack.offered(at) if _way(at, trial, choice).why is None]
    if not found:
        return None
    takers = {stack.who_takes(choice, at.game) for choice in found}
    lowest = min(takers, key=positions.POSITIONS.index)
    return Offer("decide", lowest, reason=False, second=False)  # each choice says its own


class _Way(NamedTuple):
    """What stands against a choice, or with which arguments it can be taken."""

    why: Message | None
    args: Mapping[str, Any] | None


def _not_now(way: _Way) -> dict[str, Any]:
    return {} if way.why is None else {"not_now": way.why.as_data()}


def _way(at: Standing, trial: Trial, choice: Choice) -> _Way:
    """How this choice can be taken now, or what stands against it."""
    position = stack.who_takes(choice, at.game)
    why: Message | None = NO_WAY
    for args in filling.filled(at, choice.takes):
        why = trial.against(choice.name, args, position)
        if why is None:
            return _Way(None, args)
    return _Way(NO_WAY if choice.args else why, None)


_OF_CARDS: Mapping[str, Callable[[Turn], Message | None]] = {
    "enter_round": by_hand.why_no_round,
    "revise_round": revising.why_no_outcome,
}
"""Commands that name all cards of a round: what stands against them whatever these are."""
