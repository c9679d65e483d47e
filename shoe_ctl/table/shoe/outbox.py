"""Commands to the shoe: each is sent until it is answered, over lost links and restarts.

In: commands, what the shoe answers, the link, the time. Out: ShoeCommand effects, shoe.told
.answered .unanswered, the Outbox.
Must not know: sessions, bytes, keys, what a procedure does with an answer.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any, Final, Literal

import msgspec

from firmware_proto.events import (
    CommandUnanswered,
    Hello,
    KeyRotated,
    QueryAnswered,
    Reply,
    SelfTested,
    ShoeEvent,
)
from shoe_ctl.table.arguments import NoArgs, Possible, require_args
from shoe_ctl.table.effects import ShoeCommand
from shoe_ctl.table.inputs import LinkLost, NotTold, Restarted, ShoeSaid, Tick
from shoe_ctl.table.shoe.link import is_identified, link_lost_reason
from shoe_ctl.table.state import Command, PendingCommand, TableState
from shoe_ctl.table.turn import Check, Turn
from shoe_ctl.texts.message import Message, message

ANSWER_US: Final = 10_000_000
"""A reference shoe answers in milliseconds and reconnects in a second; an Angel Eye has three
attempts of three seconds each."""

TEST_US: Final = 60_000_000
"""A self-test may move every part of the shoe."""

DONE_BY_EVENT: Final = frozenset({"reset", "self_test", "rotate_key"})
"""A shoe that stores its events reports with an event that it has done one of these. Only the event
is the answer: the mere acceptance may get lost."""

SECRET: Final = frozenset({"clear_error"})
"""Never public: whether a shoe takes this depends on its error, which may give away a card."""

OTHER_SHOE: Final = "another_shoe"
NEW_ONE: Final = "told_again"
LOST: Final = "link_lost"
"""Why nobody knows whether the shoe has done what it was sent."""


# Pending commands. Conditions.


def can_send(now: TableState, command: str) -> bool:
    """True if the connected shoe has this command and may be sent it."""
    return now.link.up and now.link.commands and command in now.link.commands_known


def next_deadline_us(now: TableState) -> int | None:
    """Return when the next pending command becomes overdue, or None."""
    waiting = now.outbox.waiting
    return min((_due_us(e) for e in waiting if not e.overdue), default=None) if waiting else None


def _due_us(pending: PendingCommand) -> int:
    """Return when the answer to this command is due."""
    return pending.since_us + (TEST_US if pending.command == "self_test" else ANSWER_US)


def public_commands(now: TableState) -> dict[str, Any]:
    """Return the pending commands and the last answer, for everyone."""
    told = [e.command for e in now.outbox.waiting if e.command not in SECRET]
    return {"told": told, "answered": now.outbox.last}


# Pending commands. Actions.


def send(turn: Turn, command: Command, of: str | int | None = None) -> int:
    """Send the shoe this command as soon as it is stored; return its number.

    A pending command of the same name is abandoned for it. ``of`` is the argument of the command.
    """
    if (before := turn.now.outbox.of(command)) is not None:
        _abandon(turn, before, NEW_ONE)
    outbox, link = turn.now.outbox, turn.now.link
    number = _new_number(turn, outbox.count + 1)
    pending = PendingCommand(
        number=number,
        command=command,
        of=of,
        since_us=turn.now.t_us,
        device_id=link.device_id if link.replay else None,
    )
    _change_outbox(turn, count=outbox.count + 1, waiting=(*outbox.waiting, pending))
    _emit(turn, "shoe.told", pending, {}, **_identity(pending))
    if is_identified(turn.now):
        _send(turn, pending)
    return number


def forget_answer(turn: Turn) -> None:
    """Forget the last answer: it is shown until the next round opens."""
    if turn.now.outbox.last is not None:
        _change_outbox(turn, last=None)


def process_answer(turn: Turn) -> None:
    """Act on what this input says about a pending command, before anything else."""
    happened = turn.input
    if isinstance(happened, ShoeSaid):
        _receive(turn, happened.event)
    elif isinstance(happened, NotTold):
        if (pending := turn.now.outbox.find(happened.number)) is not None:
            _abandon(turn, pending, happened.reason, detail=happened.why.as_data())
    elif isinstance(happened, LinkLost | Restarted) and not turn.now.link.replay:
        # The wire of such a shoe carries no ids: if the command were sent again, the shoe might do
        # it twice, or clear another error.
        why = LOST if isinstance(happened, LinkLost) else link_lost_reason(happened)
        for pending in turn.now.outbox.waiting:
            _abandon(turn, pending, why)
    elif isinstance(happened, Tick):
        _detect_overdue(turn)


def _receive(turn: Turn, event: ShoeEvent) -> None:
    """Resolve or abandon the pending command that this event of the shoe answers."""
    outbox = turn.now.outbox
    if isinstance(event, KeyRotated):
        pending = outbox.of("rotate_key")
        if pending is not None and pending.of == event.key_id:
            _resolve(turn, pending, accepted=True)
        return
    pending = outbox.find(getattr(event, "command_id", None)) if outbox.waiting else None
    if pending is None:
        return
    if isinstance(event, CommandUnanswered):
        _abandon(turn, pending, event.reason)
    elif isinstance(event, Reply) and not event.accepted:
        _resolve(turn, pending, accepted=False, reason=event.reason)
    elif isinstance(event, SelfTested):
        _resolve(turn, pending, accepted=True, more={"passed": not event.failed},
                  failed=list(event.failed))  # fmt: skip
    elif isinstance(event, QueryAnswered):
        more = {"what": event.what, "value": event.value}
        _resolve(turn, pending, accepted=True, more=more)
    elif not (
        isinstance(event, Reply) and turn.now.link.replay and pending.command in DONE_BY_EVENT
    ):
        _resolve(turn, pending, accepted=True)


def _detect_overdue(turn: Turn) -> None:
    """Emit, once for each, that a pending command was not answered in time. It stays pending."""
    for pending in turn.now.outbox.waiting:
        if not pending.overdue and turn.now.t_us >= _due_us(pending):
            late = msgspec.structs.replace(pending, overdue=True)
            waiting = tuple(late if e is pending else e for e in turn.now.outbox.waiting)
            _change_outbox(turn, waiting=waiting)
            _emit(turn, "shoe.unanswered", pending, {"given_up": False}, **_identity(pending))


def resend(turn: Turn, hello: Hello) -> None:
    """Send all pending commands again to a shoe that says hello, and its time once.

    By the number of a command the shoe knows whether it has done it already. The time is not sent
    again later: it would be wrong by then.
    """
    if can_send(turn.now, "set_time"):
        _change_outbox(turn, count=turn.now.outbox.count + 1)
        number = _new_number(turn, turn.now.outbox.count)
        turn.effects.append(ShoeCommand(number=number, command="set_time"))
    for pending in turn.now.outbox.waiting:
        if pending.device_id == hello.device_id:
            _send(turn, pending)
        else:
            _abandon(turn, pending, OTHER_SHOE)


def _send(turn: Turn, pending: PendingCommand) -> None:
    """Hand the pending command to the connected shoe."""
    turn.effects.append(ShoeCommand(number=pending.number, command=pending.command, of=pending.of))


def _resolve(
    turn: Turn,
    pending: PendingCommand,
    *,
    accepted: bool,
    more: dict[str, Any] | None = None,
    **secret: object,
) -> None:
    """Remove the pending command and emit the answer; ``more`` is public, ``secret`` is not."""
    answer = {"accepted": accepted, **(more or {})}
    _remove(turn, pending)
    if pending.command not in SECRET:
        _change_outbox(turn, last={"command": pending.command, **answer})
    _emit(turn, "shoe.answered", pending, answer, **_identity(pending), **secret)


def _abandon(turn: Turn, pending: PendingCommand, reason: str, **more: object) -> None:
    """Remove the pending command without an answer, and emit why."""
    _remove(turn, pending)
    secret = {**_identity(pending), "reason": reason, **more}
    _emit(turn, "shoe.unanswered", pending, {"given_up": True}, **secret)


def _remove(turn: Turn, pending: PendingCommand) -> None:
    _change_outbox(
        turn, waiting=tuple(e for e in turn.now.outbox.waiting if e.number != pending.number)
    )


def _change_outbox(turn: Turn, **fields: Any) -> None:
    turn.change(outbox=msgspec.structs.replace(turn.now.outbox, **fields))


def _identity(pending: PendingCommand) -> dict[str, Any]:
    """Return what identifies the command in the restricted stream. No key is ever part of it."""
    of = {} if pending.of is None else {"of": pending.of}
    return {"number": pending.number, **of}


def _emit(
    turn: Turn, kind: str, pending: PendingCommand, data: dict[str, Any], **secret: object
) -> None:
    """Emit an event about the command, to the restricted stream alone if the command is secret."""
    data = {"command": pending.command, **data}
    if pending.command in SECRET:
        turn.emit_restricted(kind, {**data, **secret})
    else:
        turn.emit(kind, data, restricted={**data, **secret})


def _new_number(turn: Turn, count: int) -> int:
    """Return an id that no command of this or any other table has: a shoe remembers its last ones.

    Shoes go from table to table, and a table may begin a new journal: counted from 1, an id would
    stand for a command that such a shoe did long ago.
    """
    taken = {e.number for e in turn.now.outbox.waiting}
    while True:
        named = f"{turn.settings.table}/{turn.now.t_us}/{count}".encode()
        number = int.from_bytes(sha256(named).digest()[:4], "big")
        if number and number not in taken:
            return number
        count += 1


# Commands that people give. Arguments.


class Question(NoArgs, frozen=True, kw_only=True):
    """A question to the shoe."""

    what: str
    """One of the questions that shoes of this profile answer."""


class ErrorClearance(NoArgs, frozen=True, kw_only=True):
    """The way to clear the shoe's error."""

    overdraw: Literal["keep", "discard"] | None = None
    """The fate of an overdrawn card, where that is the error."""


class KeyId(NoArgs, frozen=True, kw_only=True):
    """A key of the key file, by its id; the key itself never passes here."""

    key_id: Annotated[int, msgspec.Meta(ge=1, lt=2**32)] | None = None
    """Its number. The daemon fills it in if a person names none."""


class DisplayText(NoArgs, frozen=True, kw_only=True):
    """The text that the shoe is to show."""

    text: Annotated[str, msgspec.Meta(max_length=64, pattern="^[ -~]*$")]
    """Printable ASCII; empty makes the display dark."""


# Conditions. Each check takes the arguments, or None: then it answers for any arguments.


def check_send(turn: Turn, command: Command) -> Message | None:
    """Return why this command cannot be sent: no such shoe, not allowed, or pending already."""
    now = turn.now
    if not now.link.up:
        return message("refused_link_down")
    if command not in now.link.commands_known:
        keyless = command == "rotate_key" and not now.link.authenticated and now.link.replay
        if keyless:
            return message("refused_link_without_key", profile=now.link.profile)
        return message("refused_shoe_cannot", profile=now.link.profile, what=command)
    if not now.link.commands:
        return message("refused_commands_not_configured")
    if not is_identified(now):
        return message("refused_shoe_not_met")
    # Whether a secret command is pending may depend on a card: that is never an objection.
    before = None if command in SECRET else now.outbox.of(command)
    if before is not None and not before.overdue:
        return message("refused_shoe_not_answered")
    return None


def check_sending(command: Command) -> Check:
    """Return the check of a command that can be sent with any arguments.

    Which error is open, where one is to be cleared, only the shoe knows.
    """
    return lambda turn, _args: check_send(turn, command)


def check_question(turn: Turn, args: Question | None) -> Message | None:
    """Return why this question cannot be sent."""
    if (why := check_send(turn, "query")) is not None:
        return why
    tells = turn.now.link.queries_known
    if tells if args is None else args.what in tells:
        return None
    return message("refused_question_not_known", profile=turn.now.link.profile, questions=tells)


def questions(turn: Turn) -> Possible:
    """Return the questions that shoes of this profile answer."""
    return {"what": turn.now.link.queries_known}


def check_rotation(turn: Turn, args: KeyId | None) -> Message | None:
    """Return why a new key cannot be sent.

    Whether the key file has the key was checked before.
    """
    if (why := check_send(turn, "rotate_key")) is not None:
        return why
    return message("refused_no_key_id") if args is not None and args.key_id is None else None


# Actions.


def test_shoe(turn: Turn) -> None:
    """Send the shoe a self-test."""
    send(turn, "self_test")


def query_shoe(turn: Turn) -> None:
    """Send the shoe a question."""
    send(turn, "query", require_args(turn, Question).what)


def clear_error(turn: Turn) -> None:
    """Send the shoe the command to clear its error."""
    send(turn, "clear_error", require_args(turn, ErrorClearance).overdraw)


def rotate_key(turn: Turn) -> None:
    """Send the shoe a new key, with which it proves itself from its next connection on."""
    send(turn, "rotate_key", require_args(turn, KeyId).key_id)


def show_text(turn: Turn) -> None:
    """Send the shoe a text to show. People wrote it: no hidden card is part of it."""
    send(turn, "show", require_args(turn, DisplayText).text)
