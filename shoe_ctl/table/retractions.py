"""Retractions: what a person declared by mistake is taken back, until *settle*.

A declaration is named by the number that its events carry (``instance``). Once a card is out
whoever decides what no rule covers retracts it; before that, whoever may declare it. What others
have built on is retracted, or decided, first. After the outcome a retraction is an alarm to
surveillance: it is a way to cheat.

In: the number of a declaration. Out: irregularity.retracted and its alarm, wager.accepted; the halt
ended, the wagers as they lay before. Must not know: any card that is not revealed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shoe_ctl.table import consent, decisions, positions
from shoe_ctl.table.arguments import NoArgs, Possible, require_args
from shoe_ctl.table.effects import Instance
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.shared import check_can_resume, current_held_cards
from shoe_ctl.table.shoe import card_set
from shoe_ctl.table.state import Declaration
from shoe_ctl.table.turn import Objection, TableView, Turn
from shoe_ctl.table.wagers import betting, payments
from shoe_ctl.table.wagers import ledger as wager_ledger
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_ctl.table.wagers.money import json_amount
from shoe_ctl.table.wagers.settlement import SettlementLine, settle_all
from shoe_ctl.table.wagers.types import Wager, Wagers
from shoe_ctl.texts.message import Message, message


class Retraction(NoArgs, frozen=True, kw_only=True):
    """Arguments of *retract*: which declaration."""

    declaration: int
    """Its number, as the status and its events name it."""


# Conditions.


def check_retraction(turn: Turn, args: Retraction | None) -> Objection | Message | None:
    """Return what stands against this retraction; with None, against every retraction."""
    declared = turn.now.declarations
    if args is None:
        free = any(_check_built_on(turn, one) is None for one in declared)
        return None if free else message("refused_nothing_to_retract")
    found = _find(turn, args)
    if found is None:
        numbers = list(dict.fromkeys(one.number for one in declared))
        if not numbers:
            return message("refused_nothing_to_retract")
        return message("refused_no_such_declaration", declarations=numbers)
    return _check_persons(turn, found) or _check_built_on(turn, found)


def declarations_to_retract(turn: Turn) -> Possible:
    """Return the numbers of the declarations that can be retracted now."""
    free = (one.number for one in turn.now.declarations if _check_built_on(turn, one) is None)
    return {"declaration": list(dict.fromkeys(free))}


def _find(turn: Turn, args: Retraction) -> Declaration | None:
    """Return the last declaration with this number: the same wager may be declared again."""
    declared = reversed(turn.now.declarations)
    return next((one for one in declared if one.number == args.declaration), None)


def lowest_that_retracts(turn: Turn) -> str:
    """Return the lowest position that may retract one of the declarations."""
    needed = [_position(turn, one) for one in turn.now.declarations]
    return min(needed, key=positions.POSITIONS.index, default=positions.LADDER[0])


def _position(view: TableView, declared: Declaration) -> str:
    played = view.now.round
    is_card_out = played is not None and bool(played.cards or view.now.unplaced)
    return positions.who_decides(view.game) if is_card_out else declared.by


def _check_persons(turn: Turn, declared: Declaration) -> Objection | None:
    needed, highest = _position(turn, declared), turn.settings.highest_position
    if not positions.is_sufficient(turn.command.position, needed, highest=highest):
        low = message("refused_position_too_low", what="retract", position=needed)
        return Objection(low, {"position": needed})
    return consent.check_second_person(turn, "retract", needed)


def _check_built_on(turn: Turn, declared: Declaration) -> Message | None:
    """Return what was done since that rests on the declaration."""
    if declared.shoe is not None and not card_set.is_cutting_card_out(turn, declared.shoe):
        return message("refused_declaration_ended", key=declared.key)
    if not _halts(turn, declared):
        if declared.irregularity is not None and declared.shoe is None:
            return message("refused_declaration_ended", key=declared.key)
        return _check_wager_unchanged(turn, declared)
    opened = turn.halt.stack
    top = turn.current
    if top.number != declared.irregularity:
        later = [one.number for one in turn.now.declarations if one.irregularity == top.number]
        if later:
            return message("refused_retract_first", declarations=later)
        return message("refused_decide_before", key=turn.public_key(top.key))
    window = top.window
    acted = (top.step, top.data) != (declared.step, declared.data)
    if acted or current_held_cards(turn) or (window is not None and window.answered):
        return message("refused_declaration_acted_on", key=declared.key)
    return check_can_resume(turn) if len(opened) == 1 else None


def _halts(turn: Turn, declared: Declaration) -> bool:
    """Return True if what it raised is still open."""
    opened = () if turn.now.halt is None else turn.now.halt.stack
    return any(one.number == declared.irregularity for one in opened)


def _check_wager_unchanged(turn: Turn, declared: Declaration) -> Message | None:
    if declared.after is None:
        return None
    after, all_of = declared.after, turn.now.declarations
    if turn.now.wagers.find(after.player, after.seat, after.wager) == after:
        return None
    since = all_of[all_of.index(declared) + 1 :]
    later = [one.number for one in since if one.after and one.after.number == after.number]
    if later:
        return message("refused_retract_first", declarations=later)
    return message("refused_wager_changed_since", seat=after.seat, wager=after.wager)


# What it would change.


def describe_declarations(view: TableView) -> list[dict[str, Any]]:
    """Return what was declared and can be retracted until *settle*, oldest first.

    ``chips`` are those of the declaration, in minor units. From the outcome on ``changes`` say what
    each seat would get more, or less below 0, if it were retracted.
    """
    return [_describe(view, one) for one in view.now.declarations]


def _describe(view: TableView, declared: Declaration) -> dict[str, Any]:
    said: dict[str, Any] = {
        "declaration": declared.number,
        "key": declared.key,
        "position": _position(view, declared),
    }
    if declared.after is not None:
        was = 0 if declared.before is None else declared.before.chips
        after = declared.after
        said |= {"seat": after.seat, "wager": after.wager, "chips": after.chips - was}
    changes = [_public(change) for change in money_changes(view, declared)]
    return said | ({"changes": changes} if changes else {})


def _public(change: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in change.items() if name != "player"}


def money_changes(view: TableView, declared: Declaration) -> list[dict[str, Any]]:
    """Return what each wager of the announced round would change by, for its Player."""
    lines = payments.settlement_lines(view)
    if not lines or declared.after is None:
        return []
    wagers = _without(view.now.wagers, declared)
    played = payments.announced_round(view.now)
    assert played is not None, "there are lines"
    new = settle_all(wagers, view.settle(played), view.wager_rules).lines
    return list(_changes(lines, new))


def _without(wagers: Wagers, declared: Declaration) -> Wagers:
    assert declared.after is not None
    return wager_ledger.without_declaration(wagers, declared.before, declared.after)


def _changes(
    old: tuple[SettlementLine, ...], new: tuple[SettlementLine, ...]
) -> Iterator[dict[str, Any]]:
    now = {line.number: payments.player_gets(line) for line in new}
    for line in old:
        change = now.get(line.number, 0) - payments.player_gets(line)
        if change:
            of = {"number": line.number, "seat": line.seat, "wager": line.wager}
            yield {**of, "player": line.player, "change": json_amount(change)}


# Actions.


def retract(turn: Turn) -> None:
    """Take the declaration back: its halt ends, its wager or the shoe is as it was."""
    declared = _find(turn, require_args(turn, Retraction))
    assert declared is not None
    changes = money_changes(turn, declared)
    _emit(turn, declared, changes)
    kept = tuple(one for one in turn.now.declarations if one is not declared)
    turn.change(declarations=kept)
    if declared.shoe is not None:
        card_set.take_back_cutting_card(turn)
    if not _halts(turn, declared):
        _restore_wagers(turn, declared)
        betting.measure_differential_again(turn)
        return
    if len(turn.halt.stack) == 1:
        turn.fire("halt_ended")
    stack.retract(turn)
    decisions.resume_table(turn)


def _emit(turn: Turn, declared: Declaration, changes: list[dict[str, Any]]) -> None:
    data: dict[str, Any] = {"key": declared.key, "declaration": declared.number}
    secret = data
    if (after := declared.after) is not None:
        data = {**data, "seat": after.seat, "wager": after.wager}
        secret = {**data, "player": after.player}
    turn.emit("irregularity.retracted", data, restricted=secret)
    if turn.now.round is not None and turn.round.announced:
        turn.emit_restricted("irregularity.alarm", {**secret, "changes": changes})


def _close_declared(turn: Turn, before: Wager | None, after: Wager) -> None:
    """Close what was open of the wager until it is settled: that it is outside the limits."""
    if after.declared is None or (before is not None and before.declared == after.declared):
        return
    assert after.declared_as is not None, "it was raised"
    of = {"seat": after.seat, "wager": after.wager}
    betting.emit_resolved(
        turn, after.declared, after.declared_as, "retracted", None, of, player=after.player
    )


def _reopen_declared(turn: Turn, before: Wager | None, after: Wager) -> Wager | None:
    """Raise again what the declaration had ended: that the wager is outside the limits.

    It was told to be over, so it opens anew, and what was declared is named by the new number.
    """
    if before is None or before.declared in (None, after.declared):
        return before
    was, instance = before.declared_as, turn.open_instance()
    assert before.declared is not None, "it was raised"
    of = {"seat": before.seat, "wager": before.wager, "amount": json_amount(before.chips)}
    seen = RECORDED[before.declared].seen
    betting.emit_raised(turn, before.declared, instance, seen, of, player=before.player)
    renamed = tuple(_named_anew(one, was, instance) for one in turn.now.declarations)
    turn.change(declarations=renamed)
    return msgspec.structs.replace(before, declared_as=instance)


def _named_anew(declared: Declaration, was: Instance | None, instance: Instance) -> Declaration:
    """Return the declaration with ``instance`` where it had the number of one that is over."""
    wagers = {
        name: msgspec.structs.replace(wager, declared_as=instance)
        for name, wager in (("before", declared.before), ("after", declared.after))
        if wager is not None and wager.declared_as == was
    }
    assert was is not None and instance.public is not None, "the room is told of it"
    number = instance.public if declared.number == was.public else declared.number
    return msgspec.structs.replace(declared, number=number, **wagers)


def _restore_wagers(turn: Turn, declared: Declaration) -> None:
    if declared.after is not None:
        before = _reopen_declared(turn, declared.before, declared.after)
        by = betting.ledger_actor(turn, on_behalf=False)
        done = wager_ledger.retract(turn.now.wagers, before, declared.after, by)
        betting.accept_wagers(turn, done)
        _close_declared(turn, before, declared.after)
    if declared.settled_once is not None:
        once = tuple(p for p in turn.now.wagers.settled_once if p != declared.settled_once)
        turn.change(wagers=msgspec.structs.replace(turn.now.wagers, settled_once=once))
