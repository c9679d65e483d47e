"""Offers: the commands and choices that the table could take now, and what each of them needs.

In: a view of the table. Out: offers and choices as the status shows them. A command is offered if
its own check, asked without arguments, finds nothing against it. Must not know: who asks, and no
card that is not revealed makes a difference.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from shoe_ctl.table import arguments, decisions, turn
from shoe_ctl.table.commands import COMMANDS, Command
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import Choice
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message


class Offer(NamedTuple):
    """A command that could be taken now."""

    command: str
    """Its name."""
    position: str
    """The lowest position that may give it."""
    reason: bool
    """True if a reason must be given."""
    second: bool
    """True if a second person must consent."""

    def public(self) -> dict[str, Any]:
        """Return the offer as the status shows it, without what it does not need."""
        said: dict[str, Any] = {"command": self.command, "position": self.position}
        said |= {"reason": True} if self.reason else {}
        return said | ({"second_person": True} if self.second else {})


@functools.cache
def commands_of_state(state: str) -> tuple[str, ...]:
    """Return the commands that this state takes, if nothing stands against them."""
    return tuple(name for name, command in COMMANDS.items() if state in command.states)


def check_command(view: TableView, name: str) -> Message | None:
    """Return what stands against this command now, whatever its arguments are."""
    found = COMMANDS[name].check(_turn_without_input(view), None)
    return found.why if isinstance(found, turn.Objection) else found


def list_offers(view: TableView) -> list[Offer]:
    """Return each command that could be taken with the right arguments."""
    turn = _turn_without_input(view)
    could_be = (COMMANDS[name] for name in commands_of_state(view.now.state))
    return [_offer(turn, one) for one in could_be if one.check(turn, None) is None]


def _offer(turn: Turn, command: Command) -> Offer:
    lowest = command.position if command.lowest_now is None else command.lowest_now(turn)
    return Offer(command.name, lowest, command.needs_reason(turn.game), command.consent)


def list_choices(view: TableView) -> list[dict[str, Any]]:
    """Return the choices of the step that is to be decided now.

    ``not_now`` says what stands against a choice. ``arguments`` are what it takes: ``values`` lists
    all possible values if they can be listed, ``optional`` marks one that may be left out, and
    ``value`` is what the argument is now, if everybody at the table can see it.
    """
    open_step = stack.due_decision(view)
    if open_step is None or "decide" not in commands_of_state(view.now.state):
        return []
    turn = _turn_without_input(view)
    offered = zip(stack.offered_choices(view), stack.describe_choices(view, open_step), strict=True)
    return [
        offer | _arguments(view, choice) | ({} if why is None else {"not_now": why.why.as_data()})
        for choice, offer in offered
        for why in (decisions.check_choice(turn, choice),)
    ]


def _arguments(view: TableView, choice: Choice) -> dict[str, Any]:
    wants, can_be, listed = choice.suggested(view), choice.possible(view), []
    for one in arguments.list_arguments(choice.arguments):
        if one.name == "choice":
            continue
        asked: dict[str, Any] = {"name": one.name}
        values = can_be.get(one.name, one.values)
        asked |= {"values": list(values)} if values else {}
        asked |= {"optional": True} if one.optional and one.name not in wants else {}
        known = wants.get(one.name)
        asked |= {} if known is None else {"value": known}
        listed.append(asked)
    return {"arguments": listed} if listed else {}


def _turn_without_input(view: TableView) -> Turn:
    """Return a turn that stands at this state, for checks that are asked without a command."""
    turn = Turn(view.game, view.settings, view.procedures)
    turn.stand_at(view.now)
    return turn
