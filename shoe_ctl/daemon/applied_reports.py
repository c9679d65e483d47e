"""Reports of a table system: an outcome that it applied, a shoe as it counts it.

In: requests of users who have the right. Out: their answers, once the table has stored what they
report. Must not know: sockets, brokers, how a report is compared.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import AppliedRequest, Caller, ShoeRequest
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.records import Audience, EventId, event_id, since_1970_us
from shoe_ctl.table import applied_outcomes
from shoe_ctl.table.inputs import Input, OutcomeApplied, ShoeStated, StatedRound, ToldMoney
from shoe_ctl.texts.message import message

log = logging.getLogger(__name__)


class _Envelope(msgspec.Struct):
    """The parts of a stored event that a report names or is compared by."""

    id: str
    source: str
    type: str
    time: str
    subject: str = ""


_envelope = msgspec.json.Decoder(_Envelope)


_COPIES = (Kind.PUBLIC.value, Kind.RESTRICTED.value)


class FoundEnd(NamedTuple):
    """An outcome, a revision or a void, as the journal has it."""

    event: _Envelope
    """The event on the restricted stream."""
    public_id: str | None
    """Its id on the public stream."""


def find_end(reader: Reader, wanted: EventId) -> FoundEnd | None:
    """Return the event with this id that says how a round ended; None where there is none.

    Raises:
        JournalError: the journal cannot be read.
    """
    n = reader.find_event(wanted)
    if n is None:
        return None
    copies: dict[str, _Envelope] = {}
    other = n + 1 if wanted.audience is Audience.PUBLIC else n - 1
    for record in reader.records_at(sorted({n, max(other, 1)})):
        if record.table == wanted.table and record.kind in _COPIES:
            copies[record.kind] = _envelope.decode(record.body)
    public, restricted = copies.get(Kind.PUBLIC.value), copies.get(Kind.RESTRICTED.value)
    if restricted is None or restricted.type not in applied_outcomes.ENDS:
        return None
    return FoundEnd(restricted, None if public is None else public.id)


class AppliedReports:
    """Takes the reports for one table. ``executor`` reads the journal, which blocks."""

    def __init__(
        self, transactions: TableTransactions, link: ShoeLink, executor: Executor | None = None
    ) -> None:
        self._transactions = transactions
        self._controller = transactions.controller
        self._executor = executor
        self._link = link

    async def applied(self, caller: Caller, asked: AppliedRequest) -> dict[str, Any]:
        """Store that an outcome was applied, and answer.

        Raises:
            RequestRefused: no such event, another source, not the newest one, or reported before.
        """
        _check_right(caller)
        found = await self._find(caller, asked)
        event = found.event
        report = OutcomeApplied(
            t_us=0,
            user=caller.user,
            reference=asked.reference,
            round_id=event.subject,
            type=event.type,
            told_us=since_1970_us(event.time),
            public_id=found.public_id,
            restricted_id=event.id,
        )
        said = {"event": asked.event, "round_id": event.subject, "reference": asked.reference}
        async with self._transactions.turn:
            self._refuse_in_doubt()
            if applied_outcomes.is_repeat(self._controller.state, report):
                return {"applied": said | {"repeated": True}}
            why = applied_outcomes.check_applied(
                self._controller.state, self._controller.settings, report
            )
            if why is not None:
                raise RequestRefused(why)
            events = await self._store(report, caller.sees)
        log.info(
            "%s: applied: event=%s reference=%s user=%s",
            self._transactions.table, asked.event, asked.reference, caller.user,
        )  # fmt: skip
        return {"applied": said | {"repeated": False}, "events": events}

    async def shoe(self, caller: Caller, asked: ShoeRequest) -> dict[str, Any]:
        """Compare a shoe with the statement, store that, and answer how it came out.

        Raises:
            RequestRefused: the table does not keep this shoe, or a round of it is open.
        """
        _check_right(caller)
        stated = ShoeStated(
            t_us=0,
            user=caller.user,
            shoe_id=asked.shoe_id,
            rounds=tuple(
                StatedRound(
                    round_id=each.round_id,
                    void=each.void,
                    wagers={
                        name: ToldMoney(staked=money.staked, paid_out=money.paid_out)
                        for name, money in each.wagers.items()
                    },
                )
                for each in asked.rounds
            ),
        )
        async with self._transactions.turn:
            self._refuse_in_doubt()
            why = applied_outcomes.check_stated(
                self._controller.state, self._controller.settings, stated
            )
            if why is not None:
                raise RequestRefused(why)
            before = self._controller.state
            events = await self._store(stated, caller.sees)
        agrees = asked.shoe_id in applied_outcomes.agreed(self._controller.state)
        first = applied_outcomes.first_difference(before, stated)
        log.log(
            logging.INFO if agrees else logging.WARNING,
            "%s: shoe compared: shoe=%s agrees=%s user=%s",
            self._transactions.table, asked.shoe_id, str(agrees).lower(), caller.user,
        )  # fmt: skip
        return {"shoe": {"shoe_id": asked.shoe_id, "agrees": agrees, **first}, "events": events}

    async def _find(self, caller: Caller, asked: AppliedRequest) -> FoundEnd:
        unknown = RequestRefused(message("refused_applied_unknown", event=asked.event))
        try:
            wanted = event_id(asked.event)
        except ValueError:
            raise unknown from None
        if wanted.audience is Audience.RESTRICTED and caller.sees is Audience.PUBLIC:
            raise unknown  # what it may not see is not there for it
        read = partial(self._read, wanted)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._executor, read)
        except (JournalError, ValueError):
            log.exception("%s: event not read: event=%s", self._transactions.table, asked.event)
            raise unknown from None
        if found is None:
            raise unknown
        if asked.source not in (None, found.event.source):
            raise RequestRefused(
                message(
                    "refused_applied_other_source",
                    event=asked.event,
                    source=asked.source,
                    now=found.event.source,
                )
            )
        return found

    def _read(self, wanted: EventId) -> FoundEnd | None:
        with self._transactions.journal.reader() as reader:
            return find_end(reader, wanted)

    def _refuse_in_doubt(self) -> None:
        """Raise why nothing is stored now: a failure, or a loss that nobody ruled on."""
        self._transactions.refuse_after_failure()
        if self._link.doubt is not None:
            raise RequestRefused(message("daemon_loss_not_ruled", detail=self._link.doubt))

    async def _store(self, report: OutcomeApplied | ShoeStated, sees: Audience) -> list[str]:
        """Store a report; return the ids of its events that the caller may see."""
        group, t_us = self._transactions.begin()
        inputs: list[Input] = [msgspec.structs.replace(report, t_us=t_us)]
        handles, _ = self._transactions.run(group, inputs)
        result = await self._transactions.commit(group)
        ids = [result.ids[handle].of(sees) for handle in handles]
        return [each for each in ids if each is not None]


def _check_right(caller: Caller) -> None:
    """Raise that this user may not report.

    Raises:
        RequestRefused: it has no ``applies = true``.
    """
    if not caller.applies:
        raise RequestRefused(message("refused_applied_no_right", user=caller.user))
