"""What is told of wagers: in public what lies on the felt, never whose it is.

In: the ledger's answers, lines of a settlement. Out: wager.accepted .refused .settled, and
irregularity.raised .resolved of what is wrong with a wager and halts nothing.
Must not know: which state takes a command, how the ledger decides or pays.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.texts.message import Message, message

from .effects import Answer
from .turn import Turn
from .wagers.held import Entry, Wagers
from .wagers.request import Refused
from .wagers.settling import Line, line_data

_TRIED = {
    "late_wager": message("seen_late_wager_tried"),
    "late_withdrawal": message("seen_late_withdrawal_tried"),
}
"""What the room sees where a command is refused for being late."""


def tell_accepted(turn: Turn, entry: Entry) -> None:
    """The ledger took a request."""
    data = {
        "round_id": turn.round.id,
        "number": entry.wager_number,
        "act": entry.act,
        "seat": entry.seat,
        "wager": entry.wager,
        "change": entry.change,
        "amount": entry.amount,
    }
    secret = {
        "player": entry.player,
        "person": entry.person,
        "position": entry.position,
        "on_behalf": entry.on_behalf,
        "why": entry.reason,
        "rule": entry.rule,
    }
    turn.tell("wager.accepted", data, restricted={**data, **secret})


def refuse(turn: Turn, refused: Refused) -> None:
    """Refuse the command; wager.refused stands for command.refused and says under which rule.

    One that came too late is an irregularity, and ends with its refusal.
    """
    command = turn.command
    turn.refusal = Answer(
        command_id=command.command_id,
        accepted=False,
        error=refused.why.citing(refused.rule),
        needs=needs_of(refused),
    )
    asked = {
        name: value
        for name, value in command.args.items()
        if value is None or isinstance(value, str | int)
    }
    data = {
        "command_id": command.command_id,
        "command": command.command,
        "round_id": None if turn.now.round is None else turn.now.round.id,
        "asked": asked,
        "error": refused.why.as_data(),
        "rule": refused.rule,
        "person": command.person,
        "position": command.position,
    }
    turn.tell_restricted("wager.refused", data)
    if (key := refused.irregularity) is not None:
        of = {name: asked[name] for name in ("seat", "wager")}
        tell_raised(turn, key, _TRIED[key], of, asked=asked, command_id=command.command_id)
        tell_resolved(turn, key, "refused", refused.rule, of)


def needs_of(refused: Refused) -> dict[str, str]:
    """The position that the command needs, if it is that."""
    return {} if refused.position is None else {"position": refused.position}


def tell_settled(turn: Turn, before: Wagers, lines: tuple[Line, ...]) -> None:
    """Every wager is settled or returned, and with it what was declared of it in the round."""
    stood = {held.number: held for held in before.standing}
    for line in lines:
        secret = {"round_id": turn.round.id, **line_data(line)}
        public = {name: value for name, value in secret.items() if name != "player"}
        turn.tell("wager.settled", public, restricted=secret)
        key = stood[line.number].declared
        if key is not None:
            how, rule = _how_it_ended(key, line)
            of = {"seat": line.seat, "wager": line.wager}
            tell_resolved(turn, key, how, rule, of, player=line.player)


def _how_it_ended(key: str, line: Line) -> tuple[str, str | None]:
    """The end that the settlement gave it; where the wager did not play, what came of that."""
    ends = [applied for applied in line.applied if applied.key == key]
    return (ends[0].end, ends[0].rule) if ends else (line.result, line.rule)


# What is wrong with a wager and halts nothing.


def tell_raised(
    turn: Turn, key: str, seen: Message, of: dict[str, Any], /, **restricted: object
) -> None:
    """Something is wrong with wagers; ``of`` is what the room may know of which."""
    data = {"key": key, "seen": seen.as_data(), "rules": dict(turn.game.irregularities[key]), **of}
    turn.tell("irregularity.raised", data, restricted={**data, **restricted, **turn.actor()})


def tell_resolved(
    turn: Turn, key: str, how: str, rule: str | None, of: dict[str, Any], /, **restricted: object
) -> None:
    """How it ended, under which rule."""
    data = {"key": key, "how": how, "rule": rule, **of}
    turn.tell("irregularity.resolved", data, restricted={**data, **restricted})
