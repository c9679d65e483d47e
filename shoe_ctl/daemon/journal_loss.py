"""A journal that may have lost its newest part, and the ruling that it goes on without it.

In: what shows the loss, what people ask meanwhile. Out: one line for everyone; a ruling, and every
table under another epoch. Must not know: how the loss was found.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, Command, Request
from shoe_ctl.clock import Clock
from shoe_ctl.daemon.outage import fault_of, journal_failed, loss_ruled
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.evidence import WHAT_TO_DO, PossibleLoss
from shoe_ctl.journal.journal import DeliveryGate, Journal
from shoe_ctl.journal.record_format import JOURNAL, Kind, LossRuling, RecoveredEvents, Ruling
from shoe_ctl.table import consent
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import SecondPerson, TableCommand
from shoe_ctl.table.positions import LADDER, is_sufficient
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.texts.catalogue import text, with_texts
from shoe_ctl.texts.message import Message, message

COMMAND = "accept_loss"
"""The only command that is accepted while the journal is in doubt."""

NO_LOSS = message("daemon_no_loss")

WITHOUT_REASON = message("daemon_loss_without_reason")

LOWEST = LADDER[-1]
"""The lowest position that may rule: no rule of the game covers it (6.1)."""

log = logging.getLogger(__name__)


class RulingRefused(InputRefused):
    """A ruling is refused; ``needs`` says what it lacks."""

    def __init__(self, why: Message, needs: Mapping[str, str]) -> None:
        super().__init__(text(why))
        self.why = why
        self.needs = dict(needs)


def make_ruling(  # noqa: PLR0913 - a ruling as it is recorded, each part by name
    what: str = COMMAND,
    without_reason: Message = WITHOUT_REASON,
    *,
    person: str,
    position: str,
    reason: str | None,
    consented_by: str | None,
    second: SecondPerson | None = None,
    highest: str | None = None,
) -> Ruling:
    """Return a ruling on the journal: by default, that it goes on without what it lost.

    ``what`` is ruled, in the words of a refusal; ``without_reason`` refuses one without a reason.
    ``second`` is what is known of the second person, None where no users are configured.
    ``highest`` is as in ``positions.is_sufficient``.

    Raises:
        RulingRefused: the position is too low, or a reason or a second person is missing.
    """
    if not is_sufficient(position, LOWEST, highest=highest):
        raise RulingRefused(
            message("refused_position_too_low", what=what, position=LOWEST), {"position": LOWEST}
        )
    if not (reason or "").strip():
        raise RulingRefused(without_reason, {})
    lack = consent.check_consent(
        what, LOWEST, person=person, consented_by=consented_by, found=second, highest=highest
    )
    if lack is not None:
        raise RulingRefused(lack.why, lack.needs)
    assert reason is not None and consented_by is not None
    return Ruling(person=person, position=position, reason=reason, consented_by=consented_by)


def common_highest(tables: Iterable[TableSettings]) -> str | None:
    """Return the highest position of all these tables; None where they name none, or several."""
    tops = {settings.highest_position for settings in tables} - {None}
    return tops.pop() if len(tops) == 1 else None


def ruling_of(command: TableCommand, highest: str | None) -> Ruling:
    """Return the ruling that this command gives.

    Raises:
        RulingRefused: as ``make_ruling``, or the command has arguments or names a round.
    """
    if command.args:
        named = message("daemon_loss_takes_no_arguments", arguments=sorted(command.args))
        raise RulingRefused(named, {})
    if command.round_id is not None:
        raise RulingRefused(message("daemon_loss_takes_no_round"), {})
    return make_ruling(
        person=command.person,
        position=command.position,
        reason=command.reason,
        consented_by=command.consented_by,
        second=command.second_person,
        highest=highest,
    )


# At the start of the daemon.


class AwaitedRuling:
    """Refuses every request with one line until a ruling is given. No table is at work meanwhile.

    ``may_not_act`` says why a caller may not act in the position named, or None. ``as_input`` turns
    a caller's command into an input, with what is known of the second person. ``given`` is the
    command that gave the ruling, with the table it named.
    """

    def __init__(
        self,
        line: str,
        may_not_act: Callable[[Caller, Command], Message | None],
        as_input: Callable[[Caller, Command], TableCommand],
        highest: str | None,
    ) -> None:
        self._line = line
        self._may_not_act = may_not_act
        self._as_input = as_input
        self._highest = highest
        self.given: tuple[str, TableCommand] | None = None
        loop = asyncio.get_running_loop()
        self._ruling: asyncio.Future[Ruling] = loop.create_future()
        self._done: asyncio.Future[None] = loop.create_future()

    async def answer(self, caller: Caller, asked: Request) -> dict[str, Any]:
        """Answer a request.

        Raises:
            RequestRefused: it is no ruling; its text is the line.
        """
        if not isinstance(asked, Command) or asked.command != COMMAND:
            raise RequestRefused(message("daemon_loss_not_ruled", detail=self._line))
        if (why := self._may_not_act(caller, asked)) is not None:
            return _refusal(asked, RulingRefused(why, {"position": asked.position}))
        command = self._as_input(caller, asked)
        try:
            given = ruling_of(command, self._highest)
        except RulingRefused as error:
            return _refusal(asked, error)
        log.warning(
            'journal: ruling given: command=%s person="%s" position=%s user=%s consented_by="%s" '
            'reason="%s"',
            COMMAND, given.person, given.position, caller.user, given.consented_by, given.reason,
        )  # fmt: skip
        if not self._ruling.done():
            self.given = asked.table, command
            self._ruling.set_result(given)
        try:
            await asyncio.shield(self._done)
        except PossibleLoss as otherwise:
            raise RequestRefused(message("daemon_loss_not_ruled", detail=str(otherwise))) from None
        except JournalError as error:
            raise RequestRefused(fault_of(journal_failed(str(error)))) from None
        return {"command_id": asked.command_id, "accepted": True, "events": []}

    async def ruled(self) -> Ruling:
        """Return the ruling, once there is one."""
        return await asyncio.shield(self._ruling)

    def stored(self) -> None:
        """The ruling is stored: answer whoever gave it."""
        if not self._done.done():
            self._done.set_result(None)

    def failed(self, error: JournalError) -> None:
        """The ruling could not be stored: answer whoever gave it with the error."""
        if not self._done.done():
            self._done.set_exception(error)
            self._done.exception()  # retrieved here, for nobody may be waiting for the answer


def _refusal(asked: Command, error: RulingRefused) -> dict[str, Any]:
    return {
        "command_id": asked.command_id,
        "accepted": False,
        "error": with_texts(error.why.as_data()),
        "needs": error.needs,
    }


# While tables are at work.


class OpenLosses:
    """The losses that shoes showed while tables are at work, until a person rules.

    ``lines`` say what was shown, by table; such a table stores nothing meanwhile. ``unpublished``
    are the records that were stored before the loss was known, by table. ``epoch`` is the epoch of
    the other tables since then. The daemon has one of these for as long as it runs, so that it
    survives an outage of the storage.
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
        """A person ruled on all of them."""
        self.lines, self.unpublished, self.epoch = {}, {}, None
        self._over.set()

    async def over(self, table: str) -> None:
        """Return once this table may store again; at once where its shoe shows no loss."""
        while table in self.lines:
            await self._over.wait()


class TableAtWork(Protocol):
    """The part of a table's runner that a ruling needs."""

    table: str
    turn: asyncio.Lock
    started_n: int

    @property
    def epoch(self) -> str:
        """Return the epoch of what the table stores."""

    def begin_epoch(self, group: Batch, epoch: str) -> None:
        """Add to the group the section with which the table goes on under this epoch."""

    def restore(self, group: Batch, what: Message, ruling: TableCommand | None) -> None:
        """Add to the group that the table waits for a person to look at it, and why."""

    async def stored(self, result: CommitResult) -> None:
        """The group is stored."""

    def failed(self, error: Exception) -> None:
        """The group is not stored; nothing more of the table can be stored."""


class LossRulings:
    """Losses that shoes show at the tables at work, and the ruling on them: one for all tables.

    The journal lost its newest part for every table: another table may have lost records that its
    shoe cannot show. So from the moment that a shoe shows a loss, every other table goes on under
    another epoch and need not wait. What was stored until then, and went to no sink, is never
    published. ``tell`` is given a line for everyone, ``epoch`` draws another epoch. ``recover``
    returns what sinks still hold of the lost part; it blocks.
    """

    def __init__(  # noqa: PLR0913 - what a ruling is wired to, each by name
        self,
        open_losses: OpenLosses,
        tables: Mapping[str, TableAtWork],
        journal: Journal,
        gate: DeliveryGate,
        clock: Clock,
        *,
        epoch: Callable[[], str],
        tell: Callable[[str], None],
        recover: Callable[[], Sequence[RecoveredEvents]] = tuple,
    ) -> None:
        self._open = open_losses
        self._tables = tables
        self._journal = journal
        self._gate = gate
        self._clock = clock
        self._epoch = epoch
        self._tell = tell
        self._recover = recover
        self._lock = asyncio.Lock()

    def line(self, table: str) -> str | None:
        """Return what the shoe of this table shows; None where it shows no loss."""
        return self._open.lines.get(table)

    @property
    def is_open(self) -> bool:
        """Return whether a shoe shows a loss that nobody ruled on."""
        return bool(self._open.lines)

    async def over(self, table: str) -> None:
        """Return once this table may store again."""
        await self._open.over(table)

    async def report(self, table: str, what: str) -> None:
        """The shoe of this table shows a loss: return once a person ruled on it.

        Raises:
            JournalError: the journal takes nothing more.
        """
        async with self._lock:
            line = f"{what}; {WHAT_TO_DO}"
            self._open.add(table, line)
            log.error("%s", line)
            self._tell(line)
            async with self._turns(but=self._open.lines) as others:
                if self._open.epoch is None:
                    await self._begin_epoch(others)
                self._gate.open_all()
        await self.over(table)

    async def _begin_epoch(self, others: list[TableAtWork]) -> None:
        """Let the tables whose shoes show no loss go on under another epoch."""
        upto = self._journal.last_n
        for name in self._tables:
            self._withhold(name, self._gate.published + 1, upto)
        if others:
            epoch = self._epoch()
            group = Batch(epoch)
            for runner in others:
                runner.begin_epoch(group, epoch)
            await self._commit(others, group)
            self._open.epoch = epoch
            log.warning("journal: other tables go on: epoch=%s", epoch)

    async def rule(self, at: str, command: TableCommand, highest: str | None) -> Answer | None:
        """Take a ruling that was given at table ``at``; None where nothing is left to rule on.

        Every table goes on under another epoch, and waits for a person who looks at it.
        ``highest`` is as in ``positions.is_sufficient``.

        Raises:
            JournalError: the journal takes nothing more.
        """
        async with self._lock:
            if not self.is_open:
                return None
            try:
                given = ruling_of(command, highest)
            except RulingRefused as error:
                return Answer(
                    command_id=command.command_id,
                    accepted=False,
                    error=error.why,
                    needs=error.needs,
                )
            recovered = await asyncio.to_thread(self._recover)
            async with self._turns() as runners:
                await self._go_on(at, command, given, runners, recovered)
            return Answer(command_id=command.command_id, accepted=True)

    async def _go_on(
        self,
        at: str,
        command: TableCommand,
        given: Ruling,
        runners: list[TableAtWork],
        recovered: Sequence[RecoveredEvents],
    ) -> None:
        for runner in runners:
            if runner.table in self._open.lines and runner.epoch != self._open.epoch:
                self._withhold(runner.table, runner.started_n + 1, self._journal.last_n)
        lost = tuple(line.partition(";")[0] for line in self._open.lines.values())
        gone_on = LossRuling(
            epoch=self._open.epoch or self._epoch(),
            t_us=self._clock.wall_us(),
            lost=lost,
            ruling=given,
            unpublished=self._open.unpublished,
        )
        group = Batch(gone_on.epoch)
        for each in recovered:
            group.append(JOURNAL, Kind.META, each.to_bytes())
        group.append_ruling(gone_on)
        what = loss_ruled(lost, given)
        for runner in runners:
            runner.begin_epoch(group, gone_on.epoch)
            runner.restore(group, what, command if runner.table == at else None)
        await self._commit(runners, group)
        log.warning('journal: loss accepted: epoch=%s ruling="%s"', gone_on.epoch, text(what))
        self._gate.open_all()
        self._open.end()

    @asynccontextmanager
    async def _turns(self, *, but: Mapping[str, str] = {}) -> AsyncIterator[list[TableAtWork]]:
        """Hold the turns of all tables but these, so that they store nothing else.

        One group is stored for all: either every table goes on like that, or none does.
        """
        async with AsyncExitStack() as stack:
            runners = [runner for name, runner in self._tables.items() if name not in but]
            for runner in runners:
                await stack.enter_async_context(runner.turn)
            await self._journal.store_waiting()
            try:
                yield runners
            except Exception as error:
                for runner in runners:
                    runner.failed(error)
                raise

    async def _commit(self, runners: list[TableAtWork], group: Batch) -> None:
        result = await self._journal.commit(group)
        for runner in runners:
            await runner.stored(result)

    def _withhold(self, table: str, first: int, last: int) -> None:
        """Never publish these records, nor those of the table that are withheld already."""
        if table in self._open.unpublished:
            first = min(first, self._open.unpublished[table][0])
        if first <= last:
            self._open.unpublished[table] = first, last
            self._gate.withhold(table, first, last)
