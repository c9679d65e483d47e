"""Offers: the commands and choices that the table could take now, and what each of them needs.

In: a view of the table. Out: offers and choices as the status shows them. A command is offered if
its own check, asked without arguments, finds nothing against it. Must not know: who asks, and no
card that is not revealed makes a difference.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.table import arguments, consent, decisions, turn
from shoe_ctl.table.arguments import Argument, Bounds, Possible
from shoe_ctl.table.commands import COMMANDS, Command
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import BACK, VOID, Choice, Procedure, find_procedure
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

NEXT = "next"
"""The ``use`` of the command that the table waits for."""

DECLARE, DECIDE = "declare", "decide"


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
    use: str
    """The part of the work that it belongs to."""
    arguments: list[dict[str, Any]]
    """The arguments that it takes, as far as everyone may know what they can be."""
    keys: list[dict[str, Any]]
    """All that can be declared with it."""

    def public(self, due: str | None) -> dict[str, Any]:
        """Return the offer as the status shows it, without what it does not need.

        ``due`` is the command that the table waits for.
        """
        said: dict[str, Any] = {"command": self.command, "position": self.position}
        said["use"] = NEXT if self.command == due else self.use
        said |= {"reason": True} if self.reason else {}
        said |= _consent(self.position) if self.second else {}
        said |= {"arguments": self.arguments} if self.arguments else {}
        return said | ({"keys": self.keys} if self.keys else {})


def _consent(position: str) -> dict[str, Any]:
    """Return that another person must consent, and the lowest position that may."""
    return {"second_person": True, "consents": consent.lowest_consenting(position)}


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
    keys = _list_keys(turn) if command.name == DECLARE else []
    if command.name == DECIDE:
        can_be: Possible = {"choice": _choices_to_take(turn)}
    elif command.name == DECLARE:
        can_be = {"key": [one["key"] for one in keys]}
    else:
        can_be = {} if command.possible is None else command.possible(turn)
    return Offer(
        command.name,
        lowest,
        command.needs_reason(turn.game),
        command.consent,
        command.use,
        _list_arguments(turn, command.args, can_be),
        keys,
    )


def _choices_to_take(turn: Turn) -> list[str]:
    """Return the choices of the open step against which nothing stands."""
    offered = stack.offered_choices(turn)
    return [one.name for one in offered if decisions.check_choice(turn, one) is None]


def _list_keys(turn: Turn) -> list[dict[str, Any]]:
    """Return all that can be declared now, with who may and with which arguments."""
    found = []
    for one in decisions.list_declarable(turn):
        said: dict[str, Any] = {"key": one.key, "position": one.by}
        takes = _list_arguments(turn, one.takes, {}, without=("key",), names=one.names)
        found.append(said | ({"arguments": takes} if takes else {}))
    return found


def list_choices(view: TableView) -> list[dict[str, Any]]:
    """Return the choices of the step that is to be decided now.

    ``label`` names a choice to people, ``follows`` says what comes of it, under which ``rule``.
    ``not_now`` says what stands against a choice. ``arguments`` are what it takes.
    """
    open_step = stack.due_decision(view)
    if open_step is None or DECIDE not in commands_of_state(view.now.state):
        return []
    turn, procedure = _turn_without_input(view), find_procedure(view, open_step.key)
    offered = zip(stack.offered_choices(view), stack.describe_choices(view, open_step), strict=True)
    return [
        offer
        | {"label": message("choice_label", choice=choice.name).as_data()}
        | _describe_choice(turn, procedure, choice)
        | ({} if why is None else {"not_now": why.why.as_data()})
        for choice, offer in offered
        for why in (decisions.check_choice(turn, choice),)
    ]


def _describe_choice(turn: Turn, procedure: Procedure, choice: Choice) -> dict[str, Any]:
    """Return what comes of a choice, who may consent to it and what it takes."""
    leads_to = dict.fromkeys(
        (choice.leads_to,) if choice.branch is None else (choice.branch[1], choice.leads_to)
    )
    follows = [_what_follows(turn, procedure, name) for name in leads_to]
    said: dict[str, Any] = {"follows": _either(follows).as_data()}
    if not procedure.inspection:  # its rule would tell which kind of card is inspected
        rules = {_rule_of(turn, procedure, name) for name in leads_to}
        said |= {"rule": rules.pop()} if len(rules) == 1 else {}
    position = stack.lowest_position(choice, turn.game)
    said |= _consent(position) if choice.needs_consent else {}
    can_be, wants = choice.possible(turn), choice.suggested(turn)
    takes = _list_arguments(turn, choice.arguments, can_be, wants, without=("choice",))
    return said | ({"arguments": takes} if takes else {})


def _either(follows: list[Message]) -> Message:
    """Return what follows; of two ends the table takes the one that fits what was done."""
    if len(follows) == 1:
        return follows[0]
    return message("choice_either", one=follows[0], other=follows[1])


def _what_follows(turn: Turn, procedure: Procedure, name: str) -> Message:
    """Return what comes of the step or the end of this name."""
    end, halt = procedure.end(name), turn.now.halt
    if end is None:
        if halt is not None and name == halt.current.step:
            return message("choice_step_stays")
        return message("choice_leads_to_step", prompt=procedure.step(name).prompt)
    if end.resumes_in == VOID:
        return message("choice_voids_round")
    if halt is None:
        return message("choice_answers")
    if stack.remaining_after(turn, end):
        return message("choice_leads_to_earlier")
    if end.resumes_in == BACK:
        return message("choice_resumes")
    return message("choice_resumes_in", state=end.resumes_in)


def _rule_of(turn: Turn, procedure: Procedure, name: str) -> str | None:
    """Return the rule of the step or the end of this name; None where the game has none."""
    end = procedure.end(name)
    cites = procedure.step(name).cites if end is None else end.cites
    return None if cites is None else turn.game.rule(*cites)


# Arguments.


def _list_arguments(  # noqa: PLR0913 - of what, what it can be, and which of them
    turn: Turn,
    kind: type[msgspec.Struct],
    can_be: Possible,
    wants: Mapping[str, Any] | None = None,
    *,
    without: Collection[str] = (),
    names: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Return the arguments of this type.

    ``values`` are all that one can be, if they can be listed, ``least`` and ``most`` its bounds;
    ``optional`` marks one that may be left out, and ``value`` is what it is now, if everybody at
    the table can see that (``wants``; None there: it must be given). ``names`` are those that are
    taken at all.
    """
    return [
        _describe_argument(turn, one, can_be.get(one.name), {} if wants is None else wants)
        for one in arguments.list_arguments(kind)
        if one.name not in without and (names is None or one.name in names)
    ]


def _describe_argument(
    turn: Turn, one: Argument, can_be: Any, wants: Mapping[str, Any]
) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.name, "kind": one.kind}
    if can_be is None:
        can_be = _known_values(turn, one)
    if isinstance(can_be, Bounds):
        bounds = {"least": can_be.least, "most": can_be.most}
        said |= {name: bound for name, bound in bounds.items() if bound is not None}
    else:
        said["values"] = list(can_be)
    said |= {"optional": True} if one.optional and one.name not in wants else {}
    known = wants.get(one.name)
    return said if known is None else said | {"value": known}


def _known_values(turn: Turn, one: Argument) -> Any:
    """Return what an argument can be by its kind alone, in any command."""
    if one.kind == "seat" and turn.wager_rules.seats:
        return turn.wager_rules.seats
    if one.kind == "wager":
        return turn.wager_rules.offered
    return one.values if one.values and one.kind != "flag" else one.bounds


def _turn_without_input(view: TableView) -> Turn:
    """Return a turn that stands at this state, for checks that are asked without a command."""
    turn = Turn(view.game, view.settings, view.procedures)
    turn.stand_at(view.now)
    return turn
