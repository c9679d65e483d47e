"""What is open at the table: raised, stepped, closed; the one on top is decided first.

In: a key and what was seen; a step or an end to take; the procedures, which the table is handed.
Out: irregularity.raised .step .resolved, table.halted .resumed.
Must not know: any particular irregularity, what caused it, who decides, how a round goes on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.games.game import Game

from .. import positions
from ..inputs import TableCommand
from ..shoe import unplaced
from ..state import Halt, OpenIrregularity, TableState
from ..turn import Cause, TableView, Turn
from . import withdrawal
from .procedure import BACK, DECIDES, OUTAGE, VOID, Choice, End, Step
from .shared import set_top

# What is open.


def step_of(standing: TableView, opened: OpenIrregularity) -> Step:
    """The step that this irregularity is at."""
    return standing.procedures[opened.key].step(opened.step)


def open_step(turn: Turn) -> Step:
    """The step that is to be decided now."""
    return step_of(turn, turn.current)


def is_paused(standing: TableView) -> bool:
    """The table is paused, and nothing that came since is open."""
    halt = standing.now.halt
    return halt is not None and standing.procedures[halt.top.key].pause


def is_held(now: TableState) -> bool:
    """Nothing could be stored for a while, and nobody has said yet that the table goes on."""
    return now.halt is not None and any(opened.key == OUTAGE.key for opened in now.halt.stack)


def is_open(turn: Turn, key: str, subject: str | None = None) -> bool:
    """This irregularity of this subject is open already."""
    return any((o.key, o.subject) == (key, subject) for o in all_open(turn.now))


def all_open(now: TableState) -> tuple[OpenIrregularity, ...]:
    """All that is open: what waits beside the round, and what halts it."""
    return now.waiting + (() if now.halt is None else now.halt.stack)


def to_decide(standing: TableView) -> OpenIrregularity | None:
    """What people may decide now: what halts the table, else what asks beside it."""
    if standing.now.halt is not None:
        return standing.now.halt.top
    return next((o for o in standing.now.waiting if choices_of(standing, o)), None)


def offered(standing: TableView) -> list[Choice]:
    """The choices that the step to be decided now has, as the table stands."""
    deciding = to_decide(standing)
    return [] if deciding is None else choices_of(standing, deciding)


def choices_of(standing: TableView, opened: OpenIrregularity) -> list[Choice]:
    """The choices that the step of this one has, as the table stands."""
    return [c for c in step_of(standing, opened).choices if c.is_offered(standing)]


def guide(standing: TableView) -> dict[str, Any]:
    """The step to be decided now as people are told it: its prompt, who may take which choice."""
    halt = standing.now.halt
    assert halt is not None
    step = step_of(standing, halt.top)
    return {
        "step": step.name,
        "prompt": step.prompt.as_data(),
        "choices": offers(standing, halt.top),
        **({} if step.cites is None else {"rule": standing.game.rule(*step.cites)}),
        **step.facts(standing),
    }


def offers(standing: TableView, opened: OpenIrregularity) -> list[dict[str, Any]]:
    """The choices of this one's step as people are told them."""
    return [_offer(choice, standing.game) for choice in choices_of(standing, opened)]


def _offer(choice: Choice, game: Game) -> dict[str, Any]:
    offer: dict[str, Any] = {"choice": choice.name, "position": who_takes(choice, game)}
    if choice.args:
        offer["args"] = list(choice.args)
    if choice.needs_reason(game):
        offer["reason"] = True
    return offer | ({"second_person": True} if choice.second else {})


def draw_wanted(standing: TableView) -> tuple[str, int] | None:
    """The hand and index that the open step wants a card for; None: the shoe stays locked."""
    halt = standing.now.halt
    return None if halt is None else step_of(standing, halt.top).arms(standing)


def who_takes(choice: Choice, game: Game) -> str:
    """The lowest position that may take this choice."""
    return positions.who_decides(game) if choice.by == DECIDES else choice.by


# How it changes.


def raise_irregularity(turn: Turn, cause: Cause) -> None:
    """Halt the table, or nest in what halts it.

    What is open already for this subject is not raised again.
    """
    if is_open(turn, cause.key, cause.subject):
        return
    opened = _opened(turn, cause)
    halted = turn.now.halt is not None
    _push(turn, opened)
    _offer_window(turn)
    _tell_raised(turn, opened, guide(turn))
    if not halted:
        _tell_halted(turn, cause.key)
    _emit_window(turn)


def wait_beside(turn: Turn, cause: Cause) -> None:
    """Raise what halts nothing yet: it stays open beside the round until it is closed or halts."""
    if is_open(turn, cause.key, cause.subject):
        return
    opened = _opened(turn, cause)
    turn.change(waiting=(*turn.now.waiting, opened))
    _tell_raised(
        turn, opened, {"step": opened.step, "prompt": step_of(turn, opened).prompt.as_data()}
    )


def ask_beside(turn: Turn, cause: Cause) -> None:
    """Ask what follows from what is over: the question halts nothing, and is told as a step."""
    opened = _opened(turn, cause)
    turn.change(waiting=(*turn.now.waiting, opened))
    data = {
        "seen": public_seen(opened),
        "step": opened.step,
        "prompt": step_of(turn, opened).prompt.as_data(),
        "choices": offers(turn, opened),
    }
    turn.emit_irregularity("irregularity.step", opened.key, data)


def drop_waiting(turn: Turn, waiting: OpenIrregularity, how: str) -> None:
    """What was asked beside the table is answered by what happened next."""
    turn.change(waiting=tuple(opened for opened in turn.now.waiting if opened != waiting))
    turn.emit_irregularity("irregularity.step", waiting.key, {"step": waiting.step, "how": how})


def halt_for_waiting(
    turn: Turn, waiting: OpenIrregularity, step: str, **restricted: object
) -> None:
    """What waited beside the round is to be decided now, at this step: the table halts for it."""
    rest = tuple(opened for opened in turn.now.waiting if opened != waiting)
    halted = turn.now.halt is not None
    turn.change(waiting=rest)
    _push(turn, msgspec.structs.replace(waiting, step=step, covers=False))
    _offer_window(turn)
    _tell_step(turn, **restricted)
    if not halted:
        _tell_halted(turn, waiting.key)
    _emit_window(turn)


def close_waiting(turn: Turn, waiting: OpenIrregularity, end: End, **restricted: object) -> None:
    """What waited beside the round ends, and never halted it."""
    turn.change(waiting=tuple(opened for opened in turn.now.waiting if opened != waiting))
    data = {"how": end.how, "rule": turn.game.rule(*end.cites)}
    turn.emit_irregularity("irregularity.resolved", waiting.key, data, **restricted)
    for action in end.do:
        action(turn)


def _opened(turn: Turn, cause: Cause) -> OpenIrregularity:
    procedure = turn.procedures[cause.key]
    facts, step = procedure.facts(turn), cause.step
    if step is None and procedure.begins_by is not None:
        step = procedure.begins_by(turn, facts)
    first = procedure.steps[0].name
    assert step in (None, first, *procedure.begins), cause
    return OpenIrregularity(
        number=_next_number(turn),
        key=cause.key,
        subject=cause.subject,
        step=step or first,
        seen=cause.seen,
        publicly=None if procedure.inspection else cause.publicly or cause.seen,
        since_us=turn.now.t_us,
        noted={**facts, **cause.noted},
    )


def _next_number(turn: Turn) -> int:
    number = turn.now.irregularities + 1
    turn.change(irregularities=number)
    return number


def _offer_window(turn: Turn) -> None:
    """Open the withdrawal window of the step that is open now, or close the one before it."""
    window = open_step(turn).window
    if window is not None or turn.current.window is not None:
        withdrawal.offer(turn, window)


def _emit_window(turn: Turn) -> None:
    if turn.current.window is not None:
        withdrawal.tell_opened(turn)


def _push(turn: Turn, opened: OpenIrregularity) -> None:
    halt = turn.now.halt or Halt(back_to=turn.source, stack=())
    covers = bool(halt.stack) and halt.top.key in turn.procedures[opened.key].covers
    on_top = msgspec.structs.replace(opened, covers=covers)
    turn.change(halt=msgspec.structs.replace(halt, stack=(*halt.stack, on_top)))


def public_seen(opened: OpenIrregularity) -> dict[str, Any] | None:
    """What the room is told was seen; None of an inspection."""
    return None if opened.publicly is None else opened.publicly.as_data()


def _tell_halted(turn: Turn, key: str) -> None:
    turn.tell("table.halted", {"reason": turn.public_key(key)}, restricted={"reason": key})


def _tell_raised(turn: Turn, opened: OpenIrregularity, guided: dict[str, Any]) -> None:
    data = {
        "seen": public_seen(opened),
        "rules": dict(turn.game.irregularities[opened.key]),
        **turn.procedures[opened.key].facts(turn),
        **guided,
    }
    secret = {"seen": opened.seen.as_data(), **who_said(turn, "declare")}
    if opened.subject is not None:
        secret["subject"] = opened.subject
    turn.emit_irregularity("irregularity.raised", opened.key, data, **secret)


def go_to(turn: Turn, step: str, **restricted: object) -> None:
    """The one on top goes to this step of its procedure."""
    stays = turn.current.step == step
    set_top(turn, step=step)
    if not stays:
        _offer_window(turn)
        for action in open_step(turn).enters:
            action(turn)
    _tell_step(turn, **restricted)
    if not stays:
        _emit_window(turn)


def tell_open_step(turn: Turn) -> None:
    """What the step to be decided now knows or offers has changed."""
    _tell_step(turn)


def _tell_step(turn: Turn, **restricted: object) -> None:
    said = {**who_said(turn, "decide"), **restricted}
    turn.emit_irregularity("irregularity.step", turn.current.key, guide(turn), **said)


def left_open(turn: Turn, end: End) -> tuple[OpenIrregularity, ...]:
    """What is still open under the one on top when it has this end."""
    halt = turn.halt
    if end.leads == VOID:
        return ()
    under = halt.stack[: len(halt.stack) - len(halt.deciding)]
    return tuple(o for o in under if not (end.clears and turn.procedures[o.key].of_cards))


def close(turn: Turn, end: End) -> None:
    """The one on top ends, or with the round all of them; the table resumes with the last."""
    halt, left = turn.halt, left_open(turn, end)
    ending = tuple(opened for opened in halt.stack if opened not in left)
    data = {"how": end.how, "rule": turn.game.rule(*end.cites)}
    kept = unplaced.held_since(turn.now, ending[0])
    said = {"cards_kept": len(kept), **who_said(turn, "decide")}
    for opened in reversed(ending):
        turn.emit_irregularity("irregularity.resolved", opened.key, data, **said)
    if end.leads == VOID or end.clears:
        void_waiting(turn, data)
    for action in end.do:
        action(turn)
    as_left = zip(halt.stack, turn.halt.stack, strict=True)
    left = tuple(now for before, now in as_left if before in left)
    back_to = turn.resume_state if end.leads == BACK else end.leads
    _back_to(turn, msgspec.structs.replace(halt, back_to=back_to, stack=left))


def _back_to(turn: Turn, halt: Halt) -> None:
    """To what was open before, or, with nothing left, to where the table was."""
    if halt.stack:
        turn.change(halt=halt)
        _tell_step(turn)
        return
    turn.resumes_in = halt.back_to
    turn.change(halt=None)
    unplaced.drop_roles(turn, "held", "outside_game")
    turn.tell("table.resumed", {})


def pause(turn: Turn, cause: Cause) -> None:
    """Halt the table without an irregularity, or let the pause lie on top of what halts it."""
    halted = turn.now.halt is not None
    _push(turn, _opened(turn, cause))
    said = {**cause.noted, **who_said(turn, "pause")}
    turn.emit_irregularity("irregularity.step", cause.key, {}, **said)
    if not halted:
        _tell_halted(turn, cause.key)


def lift(turn: Turn) -> None:
    """The pause on top is over."""
    halt = turn.halt
    said = {**halt.top.noted, **who_said(turn, "resume")}
    turn.emit_irregularity("irregularity.resolved", halt.top.key, {}, **said)
    _back_to(turn, msgspec.structs.replace(halt, stack=halt.stack[:-1]))


def close_all(turn: Turn, how: str) -> None:
    """All that is open ends at once, under each one's own rule for cards that people enter."""
    opened_last = (*turn.now.waiting, *turn.halt.stack)
    for opened in reversed(opened_last):
        withdrawal.tell_ended(turn, opened, "stands")
        ends = turn.game.irregularities.get(opened.key, {})
        cites = (opened.key, "entered") if "entered" in ends else ("other", "ruled")
        data = {"how": how, "rule": turn.game.rule(*cites)}
        turn.emit_irregularity("irregularity.resolved", opened.key, data)
    turn.change(halt=None, waiting=())
    unplaced.drop_roles(turn, "held", "early", "pending", "outside_game")
    turn.tell("table.resumed", {})


def void_waiting(turn: Turn, data: dict[str, Any]) -> None:
    """What waited beside the round ends with it, as ``data`` says."""
    for opened in turn.now.waiting:
        turn.emit_irregularity("irregularity.resolved", opened.key, data)
    turn.change(waiting=())
    unplaced.drop_roles(turn, "early")


def who_said(turn: Turn, command: str) -> dict[str, Any]:
    """Who gave this command, with what, and why; nobody where the shoe or the link brought it."""
    asked = turn.happened
    if not isinstance(asked, TableCommand) or asked.command != command:
        return {}
    said: dict[str, Any] = dict(turn.actor())
    if asked.consented_by is not None:
        said["consented_by"] = asked.consented_by
    given = {name: value for name, value in asked.args.items() if name != "key"}
    return {**said, "said": given} if given else said
