"""The commands that a table knows again when they come again, with their first answers.

In: a command, the state. Out: its first answer, or why it is none of those that came before.
Must not know: who may give what, how an answer is worded.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

import msgspec

from shoe_ctl.records import utc
from shoe_ctl.texts.message import Message, message

from .effects import Answer
from .inputs import CommandsRefused, TableCommand
from .state import FirstAnswer
from .turn import Turn

REMEMBERED_COMMANDS = 256
"""How many commands are known again: more than a table gives in an hour."""

MOST_REFUSED = 128
"""Of so many commands more than these are not refused ones: refusals leave the others known."""

MOST_REFUSED_OF_A_USER = 64
"""Nor more than these refused ones of one user."""

_encoder = msgspec.json.Encoder(order="sorted")


def digest(command: TableCommand) -> str:
    """The same for two commands exactly if they ask for the same; the user is not part of it."""
    given = {name: value for name, value in command.args.items() if name not in command.added}
    asked = (
        command.command, given, command.round_id, command.person, command.position,
        command.reason, command.consented_by,
    )  # fmt: skip
    return hashlib.sha256(_encoder.encode(asked)).hexdigest()[:24]


def objection(answered: Mapping[str, FirstAnswer], command: TableCommand) -> Message | None:
    """Why this is another command than the one that had its id; None where it is not."""
    first = answered.get(command.command_id)
    if first is None:
        return None
    if first.user != command.user:
        return message("refused_id_of_another_user", command_id=command.command_id)
    if first.digest != digest(command):
        return message("refused_id_of_another_command", command_id=command.command_id)
    return None


def first_answer(command: TableCommand, answer: Answer) -> FirstAnswer:
    """The answer as it is remembered."""
    return FirstAnswer(**msgspec.structs.asdict(answer), user=command.user, digest=digest(command))


def remember(turn: Turn, command: TableCommand, answer: Answer) -> None:
    """Its answer is given again when it comes again; of too many one is forgotten."""
    answered = {**turn.now.answered, command.command_id: first_answer(command, answer)}
    if len(answered) > REMEMBERED_COMMANDS:
        del answered[_forgotten(answered)]
    turn.change(answered=answered)


def _forgotten(answered: dict[str, FirstAnswer]) -> str:
    """The oldest; a refused one where there are many of them, of the user who has most."""
    refused = [(each, first.user) for each, first in answered.items() if not first.accepted]
    if len(refused) <= MOST_REFUSED_OF_A_USER:
        return next(iter(answered))
    counts = Counter(user for _, user in refused)
    user, most = next(iter(counts.most_common(1)), ("", 0))
    if most > MOST_REFUSED_OF_A_USER or len(refused) > MOST_REFUSED:
        return next(each for each, of in refused if of == user)
    return next(iter(answered))


def tell_unrecorded(turn: Turn) -> None:
    """Commands of a user were refused beyond what is recorded: how many, for who may know."""
    refused = turn.happened
    assert isinstance(refused, CommandsRefused)
    since = utc(refused.since_us)
    data = {"user": refused.user, "count": refused.count, "since": since}
    turn.tell_restricted("command.unrecorded", data)
