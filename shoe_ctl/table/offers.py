"""What a table takes as it stands: commands and choices that could be taken, and what each wants.

In: a view of the table. Out: offers and choices as people are told them.
Must not know: who asks; no card that is not revealed makes a difference. It asks the very checks
that a command is refused by, without arguments: whatever is given.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from shoe_ctl.texts.message import Message

from . import arguments, decisions, turn
from .commands import COMMANDS, Command
from .procedures import stack
from .procedures.procedure import Choice
from .turn import TableView, Turn


class Offer(NamedTuple):
    """A command that could be taken, with the lowest position; what must be said besides."""

    command: str
    position: str
    reason: bool
    second: bool

    def public(self) -> dict[str, Any]:
        """Return the offer as it is told: what it does not need is not there."""
        said: dict[str, Any] = {"command": self.command, "position": self.position}
        said |= {"reason": True} if self.reason else {}
        return said | ({"second_person": True} if self.second else {})


@functools.cache
def takes(state: str) -> tuple[str, ...]:
    """The commands that may do something in this state, if nothing stands against them."""
    return tuple(name for name, command in COMMANDS.items() if state in command.states)


def objection(view: TableView, name: str) -> Message | None:
    """What stands against this command as the table stands, whatever it is given."""
    found = COMMANDS[name].check(_looking(view), None)
    return found.why if isinstance(found, turn.Objection) else found


def offers(view: TableView) -> list[Offer]:
    """Each command that could be taken with proper arguments, from whom at the least."""
    turn = _looking(view)
    could_be = (COMMANDS[name] for name in takes(view.now.state))
    return [_offer(turn, one) for one in could_be if one.check(turn, None) is None]


def _offer(turn: Turn, command: Command) -> Offer:
    lowest = command.position if command.lowest_now is None else command.lowest_now(turn)
    return Offer(command.name, lowest, command.needs_reason(turn.game), command.consent)


def choices(view: TableView) -> list[dict[str, Any]]:
    """The choices of the step to be decided now; ``not_now`` says what stands against one.

    ``arguments`` are what each takes: their ``values`` where these are counted, ``optional`` where
    it may be left out, ``value`` where the room can see what it is now.
    """
    open_step = stack.due_decision(view)
    if open_step is None or "decide" not in takes(view.now.state):
        return []
    turn = _looking(view)
    told = zip(stack.offered_choices(view), stack.describe_choices(view, open_step), strict=True)
    return [
        offer | _arguments(view, choice) | ({} if why is None else {"not_now": why.why.as_data()})
        for choice, offer in told
        for why in (decisions.check_choice(turn, choice),)
    ]


def _arguments(view: TableView, choice: Choice) -> dict[str, Any]:
    """What this choice takes, argument by argument."""
    wants, told = choice.wants(view), []
    for one in arguments.list_arguments(choice.takes):
        if one.name == "choice":
            continue
        asked: dict[str, Any] = {"name": one.name}
        asked |= {"values": list(one.values)} if one.values else {}
        asked |= {"optional": True} if one.optional and one.name not in wants else {}
        known = wants.get(one.name)
        asked |= {} if known is None else {"value": known}
        told.append(asked)
    return {"arguments": told} if told else {}


def _looking(view: TableView) -> Turn:
    """The table as the checks ask it, with no command."""
    turn = Turn(view.game, view.settings, view.procedures)
    turn.look(view.now)
    return turn
