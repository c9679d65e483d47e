"""The irregularities that are open at the table: raised, taken from step to step, ended.

What halts the table forms a stack: the irregularity raised last is decided first. Beside the stack
there may be pending irregularities, which halt nothing yet, and questions, which halt nothing.

In: a cause, a step or an end to take; the procedures, which the table is given. Out: the changed
halt; irregularity.raised .step .resolved, table.halted .resumed.
Must not know: any particular irregularity, what caused it, who decides, how a round goes on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.table import positions
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.procedures import withdrawal
from shoe_ctl.table.procedures.procedure import (
    BACK,
    DECIDES,
    OUTAGE,
    VOID,
    Choice,
    End,
    Step,
    find_procedure,
)
from shoe_ctl.table.procedures.shared import update_current
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.state import DealtCard, Halt, OpenIrregularity, Person, TableState
from shoe_ctl.table.turn import Cause, TableView, Turn

# What is open


def step_of(view: TableView, opened: OpenIrregularity) -> Step:
    """Return the step that this irregularity is at."""
    return find_procedure(view, opened.key).step(opened.step)


def open_step(turn: Turn) -> Step:
    """Return the step that is to be decided now."""
    return step_of(turn, turn.current)


def is_open(turn: Turn, key: str, subject: str | None = None) -> bool:
    """Return True if this irregularity is open for this subject."""
    return any((o.key, o.subject) == (key, subject) for o in turn.now.open_irregularities)


def is_paused(view: TableView) -> bool:
    """Return True if the table is paused and nothing was raised since."""
    halt = view.now.halt
    return halt is not None and view.procedures[halt.current.key].pause


def has_storage_outage(now: TableState) -> bool:
    """Return True while the table waits for a person after a storage fault."""
    return now.halt is not None and any(opened.key == OUTAGE.key for opened in now.halt.stack)


def due_decision(view: TableView) -> OpenIrregularity | None:
    """Return what people may decide now: what halts the table, else an open question."""
    if view.now.halt is not None:
        return view.now.halt.current
    return next((o for o in view.now.pending_irregularities if choices_of(view, o)), None)


# What people are shown of it


def offered_choices(view: TableView) -> list[Choice]:
    """Return the choices of the step to be decided now, as the table stands."""
    deciding = due_decision(view)
    return [] if deciding is None else choices_of(view, deciding)


def choices_of(view: TableView, opened: OpenIrregularity) -> list[Choice]:
    """Return the choices of this irregularity's step, as the table stands."""
    return [c for c in step_of(view, opened).choices if c.is_offered(view)]


def public_seen(opened: OpenIrregularity) -> dict[str, Any] | None:
    """Return what the room is told was seen; None for an inspection."""
    return None if opened.public_seen is None else opened.public_seen.as_data()


def describe_step(view: TableView) -> dict[str, Any]:
    """Return the step to be decided now for people: its prompt, and who may take which choice."""
    halt = view.now.halt
    assert halt is not None
    step = step_of(view, halt.current)
    return {
        "step": step.name,
        "prompt": step.prompt.as_data(),
        "choices": describe_choices(view, halt.current),
        **({} if step.cites is None else {"rule": view.game.rule(*step.cites)}),
        **step.facts(view),
    }


def describe_choices(view: TableView, opened: OpenIrregularity) -> list[dict[str, Any]]:
    """Return the choices of this irregularity's step for people."""
    return [_describe_choice(choice, view.game) for choice in choices_of(view, opened)]


def _describe_choice(choice: Choice, game: Game) -> dict[str, Any]:
    offer: dict[str, Any] = {"choice": choice.name, "position": lowest_position(choice, game)}
    if choice.args:
        offer["args"] = list(choice.args)
    if choice.needs_reason(game):
        offer["reason"] = True
    return offer | ({"second_person": True} if choice.needs_consent else {})


def lowest_position(choice: Choice, game: Game) -> str:
    """Return the lowest position that may take this choice."""
    return positions.who_decides(game) if choice.by == DECIDES else choice.by


def wanted_slot(view: TableView) -> tuple[str, int] | None:
    """Return the hand and index that the open step wants a card for.

    None: the shoe stays locked.
    """
    halt = view.now.halt
    return None if halt is None else step_of(view, halt.current).arms_slot(view)


# Raise an irregularity, and take it to a step


def raise_irregularity(turn: Turn, cause: Cause) -> None:
    """Halt the table for this cause, or put it on top of what halts the table already.

    Nothing is raised if it is open for this subject already.
    """
    if is_open(turn, cause.key, cause.subject):
        return
    opened = _open_irregularity(turn, cause)
    halted = turn.now.halt is not None
    _push(turn, opened)
    _offer_window(turn)
    _emit_raised(turn, opened, describe_step(turn))
    if not halted:
        _emit_halted(turn, cause.key)
    _emit_window(turn)


def go_to(turn: Turn, step: str, **restricted: object) -> None:
    """Take the current irregularity to this step of its procedure."""
    stays = turn.current.step == step
    update_current(turn, step=step)
    if not stays:
        _offer_window(turn)
        for action in open_step(turn).on_enter:
            action(turn)
    emit_open_step(turn, **restricted)
    if not stays:
        _emit_window(turn)


def emit_open_step(turn: Turn, **restricted: object) -> None:
    """Emit the step to be decided now, with its choices."""
    details = {**command_arguments(turn, "decide"), **restricted}
    turn.emit_irregularity("irregularity.step", turn.current, describe_step(turn), **details)


# Pending irregularities and questions, beside the stack


def raise_pending(turn: Turn, cause: Cause) -> None:
    """Raise what halts nothing yet.

    It stays open beside the round until it is resolved or escalated.
    """
    if is_open(turn, cause.key, cause.subject):
        return
    opened = _open_irregularity(turn, cause)
    turn.change(pending_irregularities=(*turn.now.pending_irregularities, opened))
    _emit_raised(
        turn, opened, {"step": opened.step, "prompt": step_of(turn, opened).prompt.as_data()}
    )


def escalate_pending(turn: Turn, pending: OpenIrregularity, step: str) -> None:
    """Halt the table for a pending irregularity, at this step."""
    halted = turn.now.halt is not None
    _remove_pending(turn, pending)
    _push(turn, msgspec.structs.replace(pending, step=step, includes_below=False))
    _offer_window(turn)
    emit_open_step(turn)
    if not halted:
        _emit_halted(turn, pending.key)
    _emit_window(turn)


def resolve_pending(turn: Turn, pending: OpenIrregularity, end: End, **restricted: object) -> None:
    """End a pending irregularity or a question; it never halted the table."""
    _remove_pending(turn, pending)
    data = {"how": end.how, "rule": turn.game.rule(*end.cites)}
    turn.emit_irregularity("irregularity.resolved", pending, data, **restricted)
    for action in end.actions:
        action(turn)


def void_pending(turn: Turn, data: dict[str, Any]) -> None:
    """End all that is pending with the round, as ``data`` says."""
    for opened in turn.now.pending_irregularities:
        turn.emit_irregularity("irregularity.resolved", opened, data)
    turn.change(pending_irregularities=())
    unplaced.drop_roles(turn, "early")


def resolve_returned_card(turn: Turn, pending: OpenIrregularity, rule: str | None) -> None:
    """End what was pending for a card that is no longer on the table."""
    _remove_pending(turn, pending)
    data = {"how": "taken_back", "rule": rule}
    turn.emit_irregularity("irregularity.resolved", pending, data)


def raise_question(turn: Turn, cause: Cause) -> None:
    """Ask about something that is over. The question halts nothing, and is emitted as a step."""
    opened = _open_irregularity(turn, cause)
    turn.change(pending_irregularities=(*turn.now.pending_irregularities, opened))
    data = {
        "seen": public_seen(opened),
        "step": opened.step,
        "prompt": step_of(turn, opened).prompt.as_data(),
        "choices": describe_choices(turn, opened),
    }
    turn.emit_irregularity("irregularity.step", opened, data)


def answer_question(turn: Turn, pending: OpenIrregularity, how: str) -> None:
    """End a question: what happened next answers it."""
    _remove_pending(turn, pending)
    turn.emit_irregularity("irregularity.step", pending, {"step": pending.step, "how": how})


def follow_card(turn: Turn, was: DealtCard, now: DealtCard) -> None:
    """Let what is open about a card follow it to another slot."""
    turn.change(
        pending_irregularities=tuple(
            _at_new_place(opened, was, now) for opened in turn.now.pending_irregularities
        )
    )
    if (halt := turn.now.halt) is not None:
        opened = tuple(_at_new_place(one, was, now) for one in halt.stack)
        turn.change(halt=msgspec.structs.replace(halt, stack=opened))


def _at_new_place(opened: OpenIrregularity, was: DealtCard, now: DealtCard) -> OpenIrregularity:
    data = opened.data
    has_place = {"hand", "index"} <= data.keys()
    is_of_place = has_place and (data["hand"], data["index"]) == (was.hand, was.index)
    if opened.subject != was.subject and not is_of_place:
        return opened
    subject = now.subject if opened.subject == was.subject else opened.subject
    data = {**data, **({"hand": now.hand, "index": now.index} if has_place else {})}
    return msgspec.structs.replace(opened, subject=subject, data=data)


def _remove_pending(turn: Turn, pending: OpenIrregularity) -> None:
    turn.change(
        pending_irregularities=tuple(
            opened for opened in turn.now.pending_irregularities if opened != pending
        )
    )


# End an irregularity


def close(turn: Turn, end: End) -> None:
    """End the current irregularity, or all of them with the round.

    After the last one, play resumes.
    """
    halt, left = turn.halt, remaining_after(turn, end)
    ending = tuple(opened for opened in halt.stack if opened not in left)
    data = {"how": end.how, "rule": turn.game.rule(*end.cites)}
    kept = unplaced.held_since(turn.now, ending[0])
    details = {"cards_kept": len(kept), **command_arguments(turn, "decide")}
    for opened in reversed(ending):
        turn.emit_irregularity("irregularity.resolved", opened, data, **details)
    if end.resumes_in == VOID or end.clears_cards:
        void_pending(turn, data)
    for action in end.actions:
        action(turn)
    as_left = zip(halt.stack, turn.halt.stack, strict=True)
    left = tuple(now for before, now in as_left if before in left)
    back_to = turn.resume_state if end.resumes_in == BACK else end.resumes_in
    _resume(turn, msgspec.structs.replace(halt, resume_state=back_to, stack=left))


def remaining_after(turn: Turn, end: End) -> tuple[OpenIrregularity, ...]:
    """Return what stays open below the current irregularity after this end."""
    halt = turn.halt
    if end.resumes_in == VOID:
        return ()
    under = halt.stack[: len(halt.stack) - len(halt.current_group)]
    return tuple(
        o for o in under if not (end.clears_cards and find_procedure(turn, o.key).of_cards)
    )


def close_all(turn: Turn, how: str) -> None:
    """End all that is open at once: people have entered the round.

    Each ends under its own rule for cards that people enter.
    """
    opened_last = (*turn.now.pending_irregularities, *turn.halt.stack)
    for opened in reversed(opened_last):
        withdrawal.emit_window_closed(turn, opened, "stands")
        ends = turn.game.irregularities.get(opened.key, {})
        cites = (opened.key, "entered") if "entered" in ends else ("other", "ruled")
        data = {"how": how, "rule": turn.game.rule(*cites)}
        turn.emit_irregularity("irregularity.resolved", opened, data)
    instance = turn.halt.instance
    turn.change(halt=None, pending_irregularities=())
    unplaced.drop_roles(turn, "held", "early", "pending", "outside_game")
    turn.emit("table.resumed", {}, instance=instance)


def _resume(turn: Turn, halt: Halt) -> None:
    """Resume what was open before, or, with nothing left, the state that the table left."""
    if halt.stack:
        turn.change(halt=halt)
        emit_open_step(turn)
        return
    turn.resumes_in = halt.resume_state
    turn.change(halt=None)
    unplaced.set_aside(turn, (*turn.now.held, *turn.now.outside_game))
    turn.emit("table.resumed", {}, instance=halt.instance)


# Pauses


def pause(turn: Turn, cause: Cause) -> None:
    """Pause the table: halt it without an irregularity, on top of what halts it already."""
    halted = turn.now.halt is not None
    opened = _open_irregularity(turn, cause)
    _push(turn, opened)
    details = {**cause.data, **command_arguments(turn, "pause")}
    turn.emit_irregularity("irregularity.step", opened, {}, **details)
    if not halted:
        _emit_halted(turn, cause.key)


def end_pause(turn: Turn) -> None:
    """End the pause on top."""
    halt = turn.halt
    details = {**halt.current.data, **command_arguments(turn, "resume")}
    turn.emit_irregularity("irregularity.resolved", halt.current, {}, **details)
    _resume(turn, msgspec.structs.replace(halt, stack=halt.stack[:-1]))


def retract(turn: Turn) -> None:
    """End the irregularity on top: it was declared by mistake. Its window closes unused."""
    halt = turn.halt
    withdrawal.emit_window_closed(turn, halt.current, "stands")
    ended = {"how": "retracted", "rule": None}
    turn.emit_irregularity("irregularity.resolved", halt.current, ended)
    _resume(turn, msgspec.structs.replace(halt, stack=halt.stack[:-1]))


# Parts of the above


def _offer_window(turn: Turn) -> None:
    """Open the window of the step that is open now, or close the one before it."""
    window = open_step(turn).window
    if window is not None or turn.current.window is not None:
        withdrawal.open_window(turn, window)


def _emit_window(turn: Turn) -> None:
    """Emit that the open step has just opened a window, if it has one."""
    if (window := turn.current.window) is not None:
        withdrawal.emit_window_opened(turn, window)


def _open_irregularity(turn: Turn, cause: Cause) -> OpenIrregularity:
    """Return the irregularity as it opens, at the step at which it begins."""
    procedure = find_procedure(turn, cause.key)
    facts, step = procedure.facts(turn), cause.step
    if step is None and procedure.begins_by is not None:
        step = procedure.begins_by(turn, facts)
    first = procedure.steps[0].name
    assert step in (None, first, *procedure.begins), cause
    return OpenIrregularity(
        number=_next_number(turn),
        instance=turn.open_instance(public=not procedure.inspection),
        key=cause.key,
        subject=cause.subject,
        step=step or first,
        seen=cause.seen,
        public_seen=None if procedure.inspection else cause.public_seen or cause.seen,
        since_us=turn.now.t_us,
        data={**facts, **cause.data},
        by=_person(turn),
    )


def _person(turn: Turn) -> Person | msgspec.UnsetType:
    """Return who gave the command of this input; unset where it is none."""
    asked = turn.input
    if not isinstance(asked, TableCommand):
        return msgspec.UNSET
    return Person(name=asked.person, position=asked.position)


def _next_number(turn: Turn) -> int:
    number = turn.now.irregularities + 1
    turn.change(irregularities=number)
    return number


def _push(turn: Turn, opened: OpenIrregularity) -> None:
    """Put the irregularity on top of the stack; without a stack, halt the table."""
    halt = turn.now.halt or Halt(resume_state=turn.source, stack=(), instance=turn.open_instance())
    covers = bool(halt.stack) and halt.current.key in find_procedure(turn, opened.key).covers
    on_top = msgspec.structs.replace(opened, includes_below=covers)
    turn.change(halt=msgspec.structs.replace(halt, stack=(*halt.stack, on_top)))


def _emit_raised(turn: Turn, opened: OpenIrregularity, step_fields: dict[str, Any]) -> None:
    """Emit that it was raised, with the game's rules for it and its first step."""
    data = {
        "seen": public_seen(opened),
        "rules": dict(turn.game.irregularities.get(opened.key, {})),
        **find_procedure(turn, opened.key).facts(turn),
        **step_fields,
    }
    secret = {"seen": opened.seen.as_data(), **command_arguments(turn, "declare")}
    if opened.subject is not None:
        secret["subject"] = opened.subject
    turn.emit_irregularity("irregularity.raised", opened, data, **secret)


def _emit_halted(turn: Turn, key: str) -> None:
    """Emit that the table is halted, in public without a key that would say too much."""
    reason, instance = {"reason": turn.public_key(key)}, turn.halt.instance
    turn.emit("table.halted", reason, restricted={"reason": key}, instance=instance)


def command_arguments(turn: Turn, command: str) -> dict[str, Any]:
    """Return the arguments of this command, for the event that it brings about.

    Empty where it had none, where the shoe or the link brought the input, or where it is another
    command.
    """
    asked = turn.input
    if not isinstance(asked, TableCommand) or asked.command != command:
        return {}
    given = {name: value for name, value in asked.args.items() if name != "key"}
    return {"said": given} if given else {}
