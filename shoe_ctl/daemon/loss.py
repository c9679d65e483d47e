"""A journal that may have lost its newest part: who is told, who rules that it goes on.

In: what shows the loss, what people ask meanwhile. Out: one line to everyone; a ruling, and every
table under another epoch. Must not know: how the loss was found.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from shoe_ctl.api.asked import Asked, Caller, Command
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.bodies import GoneOn, Ruling
from shoe_ctl.journal.cursors import Gate
from shoe_ctl.journal.evidence import WHAT_TO_DO
from shoe_ctl.journal.group import CommitResult, Group
from shoe_ctl.journal.journal import Journal
from shoe_ctl.link.clock import Clock
from shoe_ctl.table import consent
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import SecondPerson, TableCommand
from shoe_ctl.table.positions import LADDER, is_sufficient, position_name

COMMAND = "accept_loss"
"""The one command that is taken while the journal is in doubt."""

NO_LOSS = f"{COMMAND}: this journal shows no loss; there is nothing to rule on"

LOWEST = LADDER[-1]
"""Who may rule: it is not covered by any rule of the game (6.1)."""

log = logging.getLogger(__name__)


class NotRuled(InputRefused):
    """A ruling that nobody may give so; ``needs`` says what it lacks."""

    def __init__(self, what: str, needs: Mapping[str, str]) -> None:
        super().__init__(what)
        self.needs = dict(needs)


def ruling(  # noqa: PLR0913 - a ruling as it is recorded, each part by name
    *,
    person: str,
    position: str,
    reason: str | None,
    consented_by: str | None,
    second: SecondPerson | None = None,
    highest: str | None = None,
) -> Ruling:
    """The ruling that a journal goes on without what it lost.

    ``second`` is what is known of who consents, None where nobody is configured. ``highest`` is as
    in ``positions.is_sufficient``.

    Raises:
        NotRuled: from too low a position, without a reason, or without a second person.
    """
    if not is_sufficient(position, LOWEST, highest=highest):
        raise NotRuled(f"{COMMAND} takes {position_name(LOWEST)}", {"position": LOWEST})
    if not (reason or "").strip():
        raise NotRuled(f"{COMMAND} needs a reason: say why the lost part cannot be put back", {})
    lack = consent.check_consent(
        COMMAND, LOWEST, person=person, consented_by=consented_by, found=second, highest=highest
    )
    if lack is not None:
        raise NotRuled(lack.why, lack.needs)
    assert reason is not None and consented_by is not None
    return Ruling(person=person, position=position, reason=reason, consented_by=consented_by)


def too_much(args: Mapping[str, object], round_id: str | None) -> str | None:
    """Why a ruling is refused that says more than a ruling takes; None where it does not."""
    if args:
        return f"{COMMAND} takes no {', '.join(sorted(args))}"
    if round_id is not None:
        return f"{COMMAND} takes no round: it is not about one"
    return None


def refused(command_id: str, error: NotRuled | str) -> dict[str, Any]:
    """A refusal as the contract words it."""
    needs = error.needs if isinstance(error, NotRuled) else {}
    return {"command_id": command_id, "accepted": False, "error": str(error), "needs": needs}


class Waiting:
    """Refuses everything with the line, until a ruling comes that somebody may give.

    ``may_act`` says why a caller may not act in the position that is named, or None; ``as_input``
    is what a caller asks as the table records it, with what is known of the second person.
    """

    def __init__(
        self,
        line: str,
        may_act: Callable[[Caller, Command], str | None],
        as_input: Callable[[Caller, Command], TableCommand],
        highest: str | None,
    ) -> None:
        self._line = line
        self._may_act = may_act
        self._as_input = as_input
        self._highest = highest
        self.command: tuple[str, TableCommand] | None = None
        loop = asyncio.get_running_loop()
        self._ruling: asyncio.Future[Ruling] = loop.create_future()
        self._done: asyncio.Future[None] = loop.create_future()

    async def answer(self, caller: Caller, asked: Asked) -> dict[str, Any]:
        """The answer to whatever is asked.

        Raises:
            JournalError: the line.
        """
        if not isinstance(asked, Command) or asked.command != COMMAND:
            raise JournalError(self._line)
        if (why := self._may_act(caller, asked)) is not None:
            return refused(asked.command_id, NotRuled(why, {"position": asked.position}))
        if (extra := too_much(asked.args, asked.round_id)) is not None:
            return refused(asked.command_id, extra)
        try:
            given = ruling(
                person=asked.person,
                position=asked.position,
                reason=asked.reason,
                consented_by=asked.consented_by,
                second=(command := self._as_input(caller, asked)).second_person,
                highest=self._highest,
            )
        except NotRuled as error:
            return refused(asked.command_id, error)
        log.warning(
            "%s by %s as %s through user %s, with %s: %s",
            COMMAND, given.person, given.position, caller.user, given.consented_by, given.reason,
        )  # fmt: skip
        if not self._ruling.done():
            self.command = asked.table, command
            self._ruling.set_result(given)
        await asyncio.shield(self._done)
        return {"command_id": asked.command_id, "accepted": True, "events": []}

    async def ruled(self) -> Ruling:
        """The ruling, once there is one; ``command`` is then what gave it, behind its table."""
        return await asyncio.shield(self._ruling)

    def stored(self) -> None:
        """It is done: whoever gave it is answered."""
        if not self._done.done():
            self._done.set_result(None)

    def failed(self, error: JournalError) -> None:
        """It could not be done: whoever gave it is told why."""
        if not self._done.done():
            self._done.set_exception(error)
            self._done.exception()  # it is told to whoever asked, if anybody did


class ShownLoss:
    """What shoes showed of a loss while the tables are at work, until a person rules.

    ``lines`` are by the table whose shoe shows it; such a table stores nothing meanwhile.
    ``unpublished`` are the records that were stored before the loss was known, by table; ``epoch``
    is the one that the other tables are under since. The daemon has one of these for as long as it
    runs: it outlasts an outage of the storage.
    """

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self.unpublished: dict[str, tuple[int, int]] = {}
        self.epoch: str | None = None
        self._over = asyncio.Event()
        self._over.set()

    def add(self, table: str, line: str) -> None:
        """The shoe of this table shows a loss."""
        self.lines[table] = line
        self._over.clear()

    def end(self) -> None:
        """A person ruled."""
        self.lines, self.unpublished, self.epoch = {}, {}, None
        self._over.set()

    async def over(self, table: str) -> None:
        """Returns once this table may store again; at once where its shoe shows nothing."""
        while table in self.lines:
            await self._over.wait()


class TableAtWork(Protocol):
    """What a ruling has to do with a table's runner."""

    table: str
    turn: asyncio.Lock
    started_n: int

    def begin_epoch(self, group: Group, epoch: str) -> None:
        """Adds to the group the section with which the table goes on under this epoch."""

    def restore(self, group: Group, what: str, ruling: TableCommand | None) -> None:
        """Adds to the group that a person is to look at the table, and what for."""

    async def stored(self, result: CommitResult) -> None:
        """The group is stored."""

    def failed(self, error: JournalError) -> None:
        """The group is not stored, and nothing will be."""


class Losses:
    """What shoes show of a loss at the tables at work, and the ruling on it: one for all of them.

    A loss is the journal's: another table may have lost records as well, which its shoe cannot
    show. From the moment that a shoe shows one, every other table goes on under another epoch, so
    that it need not wait; what was stored until then and went to no sink is never published.
    ``tell`` is given a line for everyone, ``epoch`` draws another epoch.
    """

    def __init__(  # noqa: PLR0913 - what a ruling is wired to, each by name
        self,
        shown: ShownLoss,
        tables: Mapping[str, TableAtWork],
        journal: Journal,
        gate: Gate,
        clock: Clock,
        *,
        epoch: Callable[[], str],
        tell: Callable[[str], None],
    ) -> None:
        self._shown = shown
        self._tables = tables
        self._journal = journal
        self._gate = gate
        self._clock = clock
        self._epoch = epoch
        self._tell = tell
        self._one = asyncio.Lock()

    def line(self, table: str) -> str | None:
        """What the shoe of this table shows; None where it shows nothing."""
        return self._shown.lines.get(table)

    @property
    def is_open(self) -> bool:
        """A shoe shows a loss, and nobody ruled on it."""
        return bool(self._shown.lines)

    async def over(self, table: str) -> None:
        """Returns once this table may store again."""
        await self._shown.over(table)

    async def show(self, table: str, what: str) -> None:
        """The shoe of this table shows a loss; returns once a person ruled on it.

        Raises:
            JournalError: the journal takes nothing more.
        """
        async with self._one:
            line = f"{what}; {WHAT_TO_DO}"
            self._shown.add(table, line)
            log.error("%s", line)
            self._tell(line)
            async with self._turns(but=self._shown.lines) as others:
                upto = self._journal.last_n
                if not self._shown.unpublished:
                    for name in self._tables:
                        self._withhold(name, self._gate.published + 1, upto)
                if others and self._shown.epoch is None:
                    self._shown.epoch = epoch = self._epoch()
                    group = Group(epoch)
                    for runner in others:
                        runner.begin_epoch(group, epoch)
                    await self._commit(others, group)
                    log.warning("the other tables go on under epoch %s", epoch)
                self._gate.open_all()
        await self.over(table)

    async def rule(self, at: str, command: TableCommand, highest: str | None) -> Answer | None:
        """A person rules that the journal goes on; None where there is nothing left to rule on.

        The command was given at table ``at``, and is for all. Every table goes on under another
        epoch, and waits until it is looked at. ``highest`` is as in ``positions.is_sufficient``.

        Raises:
            JournalError: the journal takes nothing more.
        """
        async with self._one:
            if not self.is_open:
                return None
            try:
                if (extra := too_much(command.args, command.round_id)) is not None:
                    raise NotRuled(extra, {})
                given = ruling(
                    person=command.person,
                    position=command.position,
                    reason=command.reason,
                    consented_by=command.consented_by,
                    second=command.second_person,
                    highest=highest,
                )
            except NotRuled as error:
                return Answer(
                    command_id=command.command_id,
                    accepted=False,
                    error=str(error),
                    needs=error.needs,
                )
            async with self._turns() as runners:
                await self._go_on(at, command, given, runners)
            return Answer(command_id=command.command_id, accepted=True)

    async def _go_on(
        self, at: str, command: TableCommand, given: Ruling, runners: list[TableAtWork]
    ) -> None:
        for runner in runners:
            if runner.table in self._shown.lines:
                self._withhold(runner.table, runner.started_n + 1, self._journal.last_n)
        lost = tuple(line.partition(";")[0] for line in self._shown.lines.values())
        gone_on = GoneOn(
            epoch=self._shown.epoch or self._epoch(),
            t_us=self._clock.wall_us(),
            lost=lost,
            ruling=given,
            unpublished=self._shown.unpublished,
        )
        group = Group(gone_on.epoch)
        group.gone_on(gone_on)
        why = f"{given.person} ({given.position}) ruled that it goes on: {given.reason}"
        what = f"{'; '.join(lost)}; {why}"
        for runner in runners:
            runner.begin_epoch(group, gone_on.epoch)
            runner.restore(group, what, command if runner.table == at else None)
        await self._commit(runners, group)
        log.warning("every table goes on under epoch %s; %s", gone_on.epoch, why)
        self._gate.open_all()
        self._shown.end()

    @asynccontextmanager
    async def _turns(self, *, but: Mapping[str, str] = {}) -> AsyncIterator[list[TableAtWork]]:
        """The turns of all tables, so that nothing else is stored; without those of ``but``."""
        async with AsyncExitStack() as stack:
            runners = [runner for name, runner in self._tables.items() if name not in but]
            for runner in runners:
                await stack.enter_async_context(runner.turn)
            yield runners

    async def _commit(self, runners: list[TableAtWork], group: Group) -> None:
        """One group for all: either every table goes on so, or none does."""
        try:
            result = await self._journal.commit(group)
        except JournalError as error:
            for runner in runners:
                runner.failed(error)
            raise
        for runner in runners:
            await runner.stored(result)

    def _withhold(self, table: str, first: int, last: int) -> None:
        """Records that are never published; those of an earlier loss are so already."""
        if table in self._shown.unpublished:
            first = min(first, self._shown.unpublished[table][0])
        if first <= last:
            self._shown.unpublished[table] = first, last
            self._gate.withhold(table, first, last)
