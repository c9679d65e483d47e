"""What staff ask of the tables: who may, which table it is for, how it is answered.

In: commands and questions of known callers. Out: answers as the contract words them.
Must not know: how they came in, rules, the journal, how events are delivered.
"""

from __future__ import annotations

import asyncio
import grp
import logging
import pwd
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from shoe_ctl.api.asked import Asked, Caller, Command, RedeliverAsked, StatusAsked
from shoe_ctl.config import SocketConfig
from shoe_ctl.errors import ConfigError, EnvironmentFault, InputRefused
from shoe_ctl.runner import TableRunner
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.positions import may

OFFERED_WITHIN_S = 10.0
"""How long an answer waits for a sink; what it takes later the table tells."""

log = logging.getLogger(__name__)


def users_of(config: SocketConfig) -> dict[int, Caller]:
    """The configured users by their ids on this host.

    Raises:
        ConfigError: a name that this host does not know, or one user twice.
    """
    users: dict[int, Caller] = {}
    for entry in config.user:
        try:
            uid = entry.user if isinstance(entry.user, int) else pwd.getpwnam(entry.user).pw_uid
        except KeyError:
            raise ConfigError(f"socket: user: this host has no user {entry.user!r}") from None
        if uid in users:
            raise ConfigError(f"socket: user: {entry.user!r} is there twice")
        users[uid] = Caller(
            user=str(entry.user),
            position=entry.position,
            sees=entry.sees,
            also=tuple(entry.also),
        )
    return users


def gid_of(config: SocketConfig) -> int | None:
    """The id of the socket's group on this host.

    Raises:
        ConfigError: a name that this host does not know.
    """
    if config.group is None or isinstance(config.group, int):
        return config.group
    try:
        return grp.getgrnam(config.group).gr_gid
    except KeyError:
        raise ConfigError(f"socket: group: this host has no group {config.group!r}") from None


class Offers(Protocol):
    """A sink's pump, as far as people have to do with it."""

    def offer_again(self, n: int) -> asyncio.Future[str | None]:
        """Offers the parked event at record ``n`` once more: None when taken, else why not."""


class Staff:
    """Hands what callers ask to the table it is for. ``tables`` are the runners by table id.

    ``sinks`` take what is offered again, by their names.
    """

    def __init__(self, tables: Mapping[str, TableRunner], sinks: Mapping[str, Offers]) -> None:
        self._tables = tables
        self._sinks = sinks
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def watch(self) -> None:
        """Waits for what a command cannot go on after, a journal that takes no more, and raises it.

        Raises:
            EnvironmentFault: what failed.
        """
        await self._failure

    async def answer(self, caller: Caller, asked: Asked) -> dict[str, Any]:
        """The answer, as it is told to the caller.

        Raises:
            InputRefused: a table that is not served here.
            EnvironmentFault: the journal takes nothing more: nothing was done.
        """
        try:
            if isinstance(asked, StatusAsked):
                return await self._status(caller, asked)
            if isinstance(asked, RedeliverAsked):
                return await self._redeliver(caller, asked)
            return await self._command(caller, asked)
        except EnvironmentFault as error:
            if not self._failure.done():
                self._failure.set_exception(error)
            raise

    async def _status(self, caller: Caller, asked: StatusAsked) -> dict[str, Any]:
        tables = self._tables.values() if asked.table is None else [self._table(asked.table)]
        return {
            "user": caller.user,
            "position": caller.position,
            "tables": [await runner.status(caller.sees) for runner in tables],
        }

    async def _redeliver(self, caller: Caller, asked: RedeliverAsked) -> dict[str, Any]:
        """What was parked is offered again, in the journal's order; how that went, by sink."""
        parked: dict[str, list[int]] = {}
        for runner in self._tables.values():
            for sink, records in (await runner.waiting(caller.sees)).items():
                if sink in self._sinks and asked.sink in (None, sink):
                    parked.setdefault(sink, []).extend(records)
        if asked.sink is not None and not parked:
            raise InputRefused(f"nothing is parked of a sink {asked.sink!r}")
        offers = {
            (sink, n): self._sinks[sink].offer_again(n)
            for sink, records in parked.items()
            for n in sorted(records)
        }
        log.info("%d parked events are offered again: user %s", len(offers), caller.user)
        if offers:
            await asyncio.wait(offers.values(), timeout=OFFERED_WITHIN_S)
        went = {sink: Counter(taken=0, refused=0, waiting=0) for sink in parked}
        for (sink, _), offer in offers.items():
            how = (
                "waiting" if not offer.done() else "taken" if offer.result() is None else "refused"
            )
            went[sink][how] += 1
        return {"redelivered": [{"sink": sink, **counted} for sink, counted in went.items()]}

    async def _command(self, caller: Caller, asked: Command) -> dict[str, Any]:
        if asked.table not in self._tables:
            return _refused(asked, str(self._unknown(asked.table)), {})
        highest = self._tables[asked.table].controller.settings.highest_position
        error = may_not_act(caller, asked, highest)
        if error is not None:
            return _refused(asked, error, {"position": asked.position})
        answered = await self._tables[asked.table].command(_input(asked), caller.sees)
        answer = answered.answer
        log.info(
            "%s: %s by %s as %s through user %s: %s",
            asked.table, asked.command, asked.person, asked.position, caller.user,
            "done" if answer.accepted else answer.error,
        )  # fmt: skip
        if not answer.accepted:
            return _refused(asked, answer.error, answer.needs)
        done = {"command_id": asked.command_id, "accepted": True, "events": answered.events}
        waits = {"halted": answer.halted, "asks": answer.asks}
        return done | {name: key for name, key in waits.items() if key is not None}

    def _table(self, table: str) -> TableRunner:
        if table not in self._tables:
            raise self._unknown(table)
        return self._tables[table]

    def _unknown(self, table: str) -> InputRefused:
        have = ", ".join(self._tables)
        return InputRefused(f"no table {table} is served here: there is {have}")


def may_not_act(caller: Caller, asked: Command, highest: str | None) -> str | None:
    """Why this caller may not act in the position that the command names; None where it may."""
    if any(may(own, asked.position, highest=highest) for own in (caller.position, *caller.also)):
        return None
    log.warning(
        "%s: %s as %s refused: user %s acts up to %s",
        asked.table, asked.command, asked.position, caller.user, caller.position,
    )  # fmt: skip
    return f"user {caller.user} acts up to {caller.position}, not as {asked.position}"


def _refused(asked: Command, error: str | None, needs: Mapping[str, str]) -> dict[str, Any]:
    return {"command_id": asked.command_id, "accepted": False, "error": error, "needs": needs}


def _input(asked: Command) -> TableCommand:
    """The input; its time is given when it is taken up."""
    return TableCommand(
        t_us=0,
        command_id=asked.command_id,
        command=asked.command,
        args=asked.args,
        round_id=asked.round_id,
        person=asked.person,
        position=asked.position,
        reason=asked.reason,
        consented_by=asked.consented_by,
    )
