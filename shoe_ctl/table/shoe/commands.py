"""Commands to the shoe: each told until it is answered, over lost links and restarts.

In: errands to give, what the shoe answers, links and time. Out: ShoeCommand effects, shoe.told
.answered .unanswered, the table's outbox. Must not know: who wants it, sessions, bytes, keys.
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
from shoe_ctl.texts.message import Message, message

from ..arguments import NoArgs, require_args
from ..effects import ShoeCommand
from ..inputs import LinkLost, NotTold, Restarted, ShoeSaid, TableCommand, Tick
from ..state import Command, PendingCommand, TableState
from ..turn import Turn
from .link import is_identified, link_lost_reason

ANSWER_US: Final = 10_000_000
"""A reference shoe answers in milliseconds, a reconnect takes a second; an Angel Eye has three
attempts of three seconds each."""

TEST_US: Final = 60_000_000
"""A self-test may move every part of the shoe."""

DONE_BY_EVENT: Final = frozenset({"reset", "self_test", "rotate_key"})
"""A shoe that keeps its events says with one that it has done this: its yes alone may be lost."""

SECRET: Final = frozenset({"clear_error"})
"""Whether a shoe takes it depends on its error, which may tell of a card: never told in public."""

OTHER_SHOE: Final = "another_shoe"
NEW_ONE: Final = "told_again"
LOST: Final = "link_lost"
"""Why nobody knows whether the shoe has done what it was told."""


# What was seen.


def can_send(now: TableState, command: str) -> bool:
    """The shoe that is connected has this command, and may be sent it."""
    return now.link.up and now.link.commands and command in now.link.obeys


def next_deadline_us(now: TableState) -> int | None:
    """When the next errand should have been answered; None where none is waited for."""
    waiting = now.outbox.waiting
    return min((_due_us(e) for e in waiting if not e.overdue), default=None) if waiting else None


def _due_us(errand: PendingCommand) -> int:
    return errand.since_us + (TEST_US if errand.command == "self_test" else ANSWER_US)


def public_commands(now: TableState) -> dict[str, Any]:
    """What the shoe was told and what it last answered, for everyone."""
    told = [e.command for e in now.outbox.waiting if e.command not in SECRET]
    return {"told": told, "answered": now.outbox.last}


# What is done.


def send(turn: Turn, command: Command, of: str | int | None = None) -> int:
    """The shoe is told this as soon as it is stored; the errand's number.

    One of the same command that was not answered in time is given up for it.
    """
    if (before := turn.now.outbox.of(command)) is not None:
        _abandon(turn, before, NEW_ONE)
    outbox, link = turn.now.outbox, turn.now.link
    number = _number(turn, outbox.count + 1)
    errand = PendingCommand(
        number=number,
        command=command,
        of=of,
        since_us=turn.now.t_us,
        device_id=link.device_id if link.replay else None,
    )
    _set(turn, count=outbox.count + 1, waiting=(*outbox.waiting, errand))
    who = turn.actor() if isinstance(turn.happened, TableCommand) else {}
    _emit(turn, "shoe.told", errand, {}, **_named(errand), **who)
    if is_identified(turn.now):
        _send(turn, errand)
    return number


def process_answer(turn: Turn) -> None:
    """Before anything else is made of an input: what it says of an errand."""
    happened = turn.happened
    if isinstance(happened, ShoeSaid):
        _receive(turn, happened.event)
    elif isinstance(happened, NotTold):
        if (errand := turn.now.outbox.find(happened.number)) is not None:
            _abandon(turn, errand, happened.why)
    elif isinstance(happened, LinkLost | Restarted) and not turn.now.link.replay:
        # Its wire carries no ids: told again, it might do it twice, or clear another error.
        why = LOST if isinstance(happened, LinkLost) else link_lost_reason(happened)
        for errand in turn.now.outbox.waiting:
            _abandon(turn, errand, why)
    elif isinstance(happened, Tick):
        _check_deadlines(turn)


def resend(turn: Turn, hello: Hello) -> None:
    """A shoe that names itself says hello: it is told all that it has not answered.

    By its id it knows what it has done already. The time it is told once for each hello: later it
    would be wrong.
    """
    if can_send(turn.now, "set_time"):
        _set(turn, count=turn.now.outbox.count + 1)
        number = _number(turn, turn.now.outbox.count)
        turn.effects.append(ShoeCommand(number=number, command="set_time"))
    for errand in turn.now.outbox.waiting:
        if errand.device_id == hello.device_id:
            _send(turn, errand)
        else:
            _abandon(turn, errand, OTHER_SHOE)


def _receive(turn: Turn, event: ShoeEvent) -> None:
    outbox = turn.now.outbox
    if isinstance(event, KeyRotated):
        errand = outbox.of("rotate_key")
        if errand is not None and errand.of == event.key_id:
            _answered(turn, errand, accepted=True)
        return
    errand = outbox.find(getattr(event, "command_id", None)) if outbox.waiting else None
    if errand is None:
        return
    if isinstance(event, CommandUnanswered):
        _abandon(turn, errand, event.reason)
    elif isinstance(event, Reply) and not event.accepted:
        _answered(turn, errand, accepted=False, reason=event.reason)
    elif isinstance(event, SelfTested):
        _answered(turn, errand, accepted=True, more={"passed": not event.failed},
                  failed=list(event.failed))  # fmt: skip
    elif isinstance(event, QueryAnswered):
        more = {"what": event.what, "value": event.value}
        _answered(turn, errand, accepted=True, more=more)
    elif not (
        isinstance(event, Reply) and turn.now.link.replay and errand.command in DONE_BY_EVENT
    ):
        _answered(turn, errand, accepted=True)


def _check_deadlines(turn: Turn) -> None:
    for errand in turn.now.outbox.waiting:
        if not errand.overdue and turn.now.t_us >= _due_us(errand):
            late = msgspec.structs.replace(errand, overdue=True)
            waiting = tuple(late if e is errand else e for e in turn.now.outbox.waiting)
            _set(turn, waiting=waiting)
            _emit(turn, "shoe.unanswered", errand, {"given_up": False}, **_named(errand))


def _send(turn: Turn, errand: PendingCommand) -> None:
    turn.effects.append(ShoeCommand(number=errand.number, command=errand.command, of=errand.of))


def _answered(
    turn: Turn,
    errand: PendingCommand,
    *,
    accepted: bool,
    more: dict[str, Any] | None = None,
    **secret: object,
) -> None:
    told = {"accepted": accepted, **(more or {})}
    _forget(turn, errand)
    if errand.command not in SECRET:
        _set(turn, last={"command": errand.command, **told})
    _emit(turn, "shoe.answered", errand, told, **_named(errand), **secret)


def _abandon(turn: Turn, errand: PendingCommand, why: str) -> None:
    _forget(turn, errand)
    _emit(turn, "shoe.unanswered", errand, {"given_up": True}, **_named(errand), reason=why)


def _forget(turn: Turn, errand: PendingCommand) -> None:
    _set(turn, waiting=tuple(e for e in turn.now.outbox.waiting if e.number != errand.number))


def _set(turn: Turn, **fields: Any) -> None:
    turn.change(outbox=msgspec.structs.replace(turn.now.outbox, **fields))


def _named(errand: PendingCommand) -> dict[str, Any]:
    """What the restricted stream is told of it: what a key's bytes are is known to no errand."""
    of = {} if errand.of is None else {"of": errand.of}
    return {"number": errand.number, **of}


def _emit(
    turn: Turn, kind: str, errand: PendingCommand, data: dict[str, Any], **secret: object
) -> None:
    data = {"command": errand.command, **data}
    if errand.command in SECRET:
        turn.tell_restricted(kind, {**data, **secret})
    else:
        turn.tell(kind, data, restricted={**data, **secret})


def _number(turn: Turn, count: int) -> int:
    """An id that no errand of this or any other table has: a shoe knows its last ones again.

    Shoes go from table to table, and a table may begin a new journal: counting from 1 would name
    what such a shoe has done long ago.
    """
    taken = {e.number for e in turn.now.outbox.waiting}
    while True:
        named = f"{turn.settings.table}/{turn.now.t_us}/{count}".encode()
        number = int.from_bytes(sha256(named).digest()[:4], "big")
        if number and number not in taken:
            return number
        count += 1


class Question(NoArgs, frozen=True, kw_only=True):
    """What the shoe is asked."""

    what: str


class ErrorClearance(NoArgs, frozen=True, kw_only=True):
    """What becomes of an overdrawn card, where that is the error."""

    overdraw: Literal["keep", "discard"] | None = None


class KeyId(NoArgs, frozen=True, kw_only=True):
    """Which key of the key file; never the key. Without it the daemon has put one in."""

    key_id: Annotated[int, msgspec.Meta(ge=1, lt=2**32)] | None = None


class DisplayText(NoArgs, frozen=True, kw_only=True):
    """What stands on its display: printable ASCII; empty is dark."""

    text: Annotated[str, msgspec.Meta(max_length=64, pattern="^[ -~]*$")]


# What was seen. Each check is asked with the arguments, or with none: of whatever is given.


def check_told(turn: Turn, command: Command) -> Message | None:
    """What stands against telling the shoe this: it cannot, may not, or was told so just now."""
    now = turn.now
    if not now.link.up:
        return message("refused_link_down")
    if command not in now.link.obeys:
        keyless = command == "rotate_key" and not now.link.authenticated and now.link.replay
        if keyless:
            return message("refused_link_without_key", profile=now.link.profile)
        return message("refused_shoe_cannot", profile=now.link.profile, what=command)
    if not now.link.commands:
        return message("refused_commands_not_configured")
    if not is_identified(now):
        return message("refused_shoe_not_met")
    # Whether a secret one is on its way may follow from a card: it is never an objection.
    before = None if command in SECRET else now.outbox.of(command)
    if before is not None and not before.overdue:
        return message("refused_shoe_not_answered")
    return None


def check_test(turn: Turn, _args: object = None) -> Message | None:
    """The same for a self-test."""
    return check_told(turn, "self_test")


def check_question(turn: Turn, args: Question | None) -> Message | None:
    """The same for a question; of those that such a shoe can answer."""
    if (why := check_told(turn, "query")) is not None:
        return why
    tells = turn.now.link.tells
    if tells if args is None else args.what in tells:
        return None
    return message("refused_question_not_known", profile=turn.now.link.profile, questions=tells)


def check_clearing(turn: Turn, _args: object = None) -> Message | None:
    """The same for clearing an error. Which one is open, only the shoe knows."""
    return check_told(turn, "clear_error")


def check_rotation(turn: Turn, args: KeyId | None) -> Message | None:
    """The same for a new key; whether the key file has it is looked at before."""
    if (why := check_told(turn, "rotate_key")) is not None:
        return why
    return message("refused_no_key_id") if args is not None and args.key_id is None else None


def check_display(turn: Turn, _args: object = None) -> Message | None:
    """The same for a text on its display."""
    return check_told(turn, "show")


def _profile_words(turn: Turn) -> str:
    profile = turn.now.link.profile
    return f"{'an' if profile[:1] in 'aeiou' else 'a'} {profile} shoe"


def test_shoe(turn: Turn) -> None:
    """The shoe tests itself."""
    send(turn, "self_test")


def query_shoe(turn: Turn) -> None:
    """The shoe is asked."""
    send(turn, "query", require_args(turn, Question).what)


def clear_error(turn: Turn) -> None:
    """The shoe's error is dealt with."""
    send(turn, "clear_error", require_args(turn, ErrorClearance).overdraw)


def rotate_key(turn: Turn) -> None:
    """The shoe takes a new key: from its next connection on it proves itself with that."""
    send(turn, "rotate_key", require_args(turn, KeyId).key_id)


def show_text(turn: Turn) -> None:
    """The shoe shows what people wrote: nothing of it comes from a card that was not revealed."""
    send(turn, "show", require_args(turn, DisplayText).text)
