"""What is open at the table: raised, stepped, closed; the one on top is decided first.

In: a key and what was seen; a step or an end to take. Out: irregularity.raised .step .resolved,
table.halted .resumed. Must not know: what caused it, who decides, how a round goes on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.table import positions
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.state import Halt, Opened
from shoe_ctl.table.turn import Turn

from .grounds import halt_of
from .procedure import DECIDES, VOID, Choice, End, Step
from .procedures import PROCEDURES

INSPECTION = frozenset({"foreign_card", "extra_card"})
"""Known from a card's value alone: in public only the bare fact of a halt for inspection."""

PUBLIC_NAMES = {"overdraw": "drawn_early", **dict.fromkeys(INSPECTION, "inspection")}
"""What the public stream calls an irregularity whose key would tell what only the shoe knows."""


def public_name(key: str) -> str:
    """What this irregularity is called in public."""
    return PUBLIC_NAMES.get(key, key)


# What is open.


def step_of(opened: Opened) -> Step:
    """The step that this irregularity is at."""
    return PROCEDURES[opened.key].step(opened.step)


def open_step(turn: Turn) -> Step:
    """The step that is to be decided now."""
    return step_of(halt_of(turn).top)


def is_open(turn: Turn, key: str, subject: str | None = None) -> bool:
    """This irregularity of this subject is open already."""
    halt = turn.now.halt
    return halt is not None and any((o.key, o.subject) == (key, subject) for o in halt.stack)


def guide(opened: Opened, game: Game, *, in_round: bool) -> dict[str, Any]:
    """The step as people are told it: its prompt, and who may take which choice.

    It depends on nothing but the step and whether a round is open.
    """
    step = step_of(opened)
    offered = (c for c in step.choices if c.is_offered(in_round=in_round))
    return {
        "step": step.name,
        "prompt": step.prompt,
        "choices": [_offer(choice, game) for choice in offered],
    }


def _offer(choice: Choice, game: Game) -> dict[str, Any]:
    offer: dict[str, Any] = {"choice": choice.name, "position": who_takes(choice, game)}
    return offer | ({"second_person": True} if choice.second else {})


def who_takes(choice: Choice, game: Game) -> str:
    """The lowest position that may take this choice."""
    return positions.who_decides(game) if choice.by == DECIDES else choice.by


# How it changes.


def raise_irregularity(
    turn: Turn,
    key: str,
    seen: str,
    *,
    publicly: str | None = None,
    subject: str | None = None,
) -> None:
    """Halt the table, or nest in what halts it; ``publicly`` says less than ``seen`` where given.

    What is open already for this subject is not raised again.
    """
    if is_open(turn, key, subject):
        return
    halt = turn.now.halt
    below = Halt(back_to=turn.source, stack=()) if halt is None else halt
    opened = Opened(
        key=key,
        subject=subject,
        step=PROCEDURES[key].steps[0].name,
        seen=seen,
        publicly=None if key in INSPECTION else publicly or seen,
        since_us=turn.now.t_us,
        kept_before=len(turn.now.kept),
        covers=bool(below.stack) and below.top.key in PROCEDURES[key].covers,
    )
    turn.change(halt=msgspec.structs.replace(below, stack=(*below.stack, opened)))
    _tell_raised(turn, opened)
    if halt is None:
        turn.tell("table.halted", {"reason": public_name(key)}, restricted={"reason": key})


def _tell_raised(turn: Turn, opened: Opened) -> None:
    data = {
        "rules": dict(turn.game.irregularities[opened.key]),
        **PROCEDURES[opened.key].facts(turn),
        **guide(opened, turn.game, in_round=turn.now.round is not None),
    }
    secret = {"key": opened.key, "seen": opened.seen, **data, **_who_said(turn, "declare")}
    if opened.subject is not None:
        secret["subject"] = opened.subject
    if opened.key in INSPECTION:
        turn.tell_restricted("irregularity.raised", secret)
    else:
        public = {"key": public_name(opened.key), "seen": opened.publicly, **data}
        turn.tell("irregularity.raised", public, restricted=secret)


def go_to(turn: Turn, step: str, **restricted: object) -> None:
    """The one on top goes to this step of its procedure."""
    halt = halt_of(turn)
    top = msgspec.structs.replace(halt.top, step=step)
    turn.change(halt=msgspec.structs.replace(halt, stack=(*halt.stack[:-1], top)))
    _tell_step(turn, **restricted)


def _tell_step(turn: Turn, **restricted: object) -> None:
    top = halt_of(turn).top
    data = guide(top, turn.game, in_round=turn.now.round is not None)
    tell_of(turn, "irregularity.step", top.key, data, **restricted)


def close(turn: Turn, end: End) -> None:
    """The one on top ends, or with the round all of them; the table resumes with the last."""
    halt = halt_of(turn)
    ending = halt.stack if end.leads == VOID else halt.deciding
    data = {"how": end.how, "rule": turn.game.rule(*end.cites)}
    kept = len(turn.now.kept) - ending[0].kept_before
    said = {"cards_kept": kept, **_who_said(turn, "decide")}
    for opened in reversed(ending):
        tell_of(turn, "irregularity.resolved", opened.key, data, **said)
    left = halt.stack[: len(halt.stack) - len(ending)]
    for action in end.do:
        action(turn)
    if left:
        turn.change(halt=msgspec.structs.replace(halt, stack=left))
        _tell_step(turn)
        return
    turn.change(halt=None, kept=())
    turn.tell("table.resumed", {})


def tell_of(turn: Turn, kind: str, key: str, data: dict[str, Any], **restricted: object) -> None:
    """An event about an irregularity, in public under its public name, or not at all."""
    secret = {"key": key, **data, **restricted}
    if key in INSPECTION:
        turn.tell_restricted(kind, secret)
    else:
        turn.tell(kind, {"key": public_name(key), **data}, restricted=secret)


def _who_said(turn: Turn, command: str) -> dict[str, Any]:
    """Who gave this command, and why; nobody where the shoe or the link brought it."""
    asked = turn.happened
    if not isinstance(asked, TableCommand) or asked.command != command:
        return {}
    said = {"person": asked.person, "position": asked.position, "why": asked.reason}
    return said if asked.consented_by is None else {**said, "consented_by": asked.consented_by}
