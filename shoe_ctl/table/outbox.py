"""Commands to the shoe: each told until it is answered, over lost links and restarts.

In: errands to give, what the shoe answers, links and time. Out: ShoeCommand effects, shoe.told
.answered .unanswered, the table's outbox. Must not know: who wants it, sessions, bytes, keys.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

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

from .arguments import by_whom
from .effects import ShoeCommand
from .errands import Command, Errand
from .inputs import LinkLost, NotTold, Restarted, ShoeSaid, TableCommand, Tick
from .link_facts import is_met, why_restarted
from .state import TableState
from .turn import Turn

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


def can(now: TableState, command: str) -> bool:
    """The shoe that is connected has this command, and may be sent it."""
    return now.link.up and now.link.commands and command in now.link.obeys


def overdue_us(now: TableState) -> int | None:
    """When the next errand should have been answered; None where none is waited for."""
    waiting = now.outbox.waiting
    return min((_due_us(e) for e in waiting if not e.overdue), default=None) if waiting else None


def _due_us(errand: Errand) -> int:
    return errand.since_us + (TEST_US if errand.command == "self_test" else ANSWER_US)


def shown(now: TableState) -> dict[str, Any]:
    """What the shoe was told and what it last answered, for everyone."""
    told = [e.command for e in now.outbox.waiting if e.command not in SECRET]
    return {"told": told, "answered": now.outbox.last}


# What is done.


def give(turn: Turn, command: Command, of: str | int | None = None) -> int:
    """The shoe is told this as soon as it is stored; the errand's number.

    One of the same command that was not answered in time is given up for it.
    """
    if (before := turn.now.outbox.of(command)) is not None:
        _give_up(turn, before, NEW_ONE)
    outbox, link = turn.now.outbox, turn.now.link
    number = _number(turn, outbox.count + 1)
    errand = Errand(
        number=number,
        command=command,
        of=of,
        since_us=turn.now.t_us,
        device_id=link.device_id if link.replay else None,
    )
    _set(turn, count=outbox.count + 1, waiting=(*outbox.waiting, errand))
    who = by_whom(turn) if isinstance(turn.happened, TableCommand) else {}
    _tell(turn, "shoe.told", errand, {}, **_named(errand), **who)
    if is_met(turn.now):
        _send(turn, errand)
    return number


def heed(turn: Turn) -> None:
    """Before anything else is made of an input: what it says of an errand."""
    happened = turn.happened
    if isinstance(happened, ShoeSaid):
        _hear(turn, happened.event)
    elif isinstance(happened, NotTold):
        if (errand := turn.now.outbox.find(happened.number)) is not None:
            _give_up(turn, errand, happened.why)
    elif isinstance(happened, LinkLost | Restarted) and not turn.now.link.replay:
        # Its wire carries no ids: told again, it might do it twice, or clear another error.
        why = LOST if isinstance(happened, LinkLost) else why_restarted(happened)
        for errand in turn.now.outbox.waiting:
            _give_up(turn, errand, why)
    elif isinstance(happened, Tick):
        _look_at_time(turn)


def tell_again(turn: Turn, hello: Hello) -> None:
    """A shoe that names itself says hello: it is told all that it has not answered.

    By its id it knows what it has done already. The time it is told once for each hello: later it
    would be wrong.
    """
    if can(turn.now, "set_time"):
        _set(turn, count=turn.now.outbox.count + 1)
        number = _number(turn, turn.now.outbox.count)
        turn.effects.append(ShoeCommand(number=number, command="set_time"))
    for errand in turn.now.outbox.waiting:
        if errand.device_id == hello.device_id:
            _send(turn, errand)
        else:
            _give_up(turn, errand, OTHER_SHOE)


def _hear(turn: Turn, event: ShoeEvent) -> None:
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
        _give_up(turn, errand, event.reason)
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


def _look_at_time(turn: Turn) -> None:
    for errand in turn.now.outbox.waiting:
        if not errand.overdue and turn.now.t_us >= _due_us(errand):
            late = msgspec.structs.replace(errand, overdue=True)
            waiting = tuple(late if e is errand else e for e in turn.now.outbox.waiting)
            _set(turn, waiting=waiting)
            _tell(turn, "shoe.unanswered", errand, {"given_up": False}, **_named(errand))


def _send(turn: Turn, errand: Errand) -> None:
    turn.effects.append(ShoeCommand(number=errand.number, command=errand.command, of=errand.of))


def _answered(
    turn: Turn,
    errand: Errand,
    *,
    accepted: bool,
    more: dict[str, Any] | None = None,
    **secret: object,
) -> None:
    told = {"accepted": accepted, **(more or {})}
    _forget(turn, errand)
    if errand.command not in SECRET:
        _set(turn, last={"command": errand.command, **told})
    _tell(turn, "shoe.answered", errand, told, **_named(errand), **secret)


def _give_up(turn: Turn, errand: Errand, why: str) -> None:
    _forget(turn, errand)
    _tell(turn, "shoe.unanswered", errand, {"given_up": True}, **_named(errand), reason=why)


def _forget(turn: Turn, errand: Errand) -> None:
    _set(turn, waiting=tuple(e for e in turn.now.outbox.waiting if e.number != errand.number))


def _set(turn: Turn, **fields: Any) -> None:
    turn.change(outbox=msgspec.structs.replace(turn.now.outbox, **fields))


def _named(errand: Errand) -> dict[str, Any]:
    """What the restricted stream is told of it: what a key's bytes are is known to no errand."""
    of = {} if errand.of is None else {"of": errand.of}
    return {"number": errand.number, **of}


def _tell(turn: Turn, kind: str, errand: Errand, data: dict[str, Any], **secret: object) -> None:
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
