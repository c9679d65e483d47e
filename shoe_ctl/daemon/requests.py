"""Requests of people and of the table system: who may, which table it is for, how it is answered.

In: commands and questions of known callers. Out: answers as the contract words them.
Must not know: how they came in, rules, the journal, how events are delivered.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, NamedTuple, Protocol

from shoe_ctl.api.answers import RequestRefused, audience_of
from shoe_ctl.api.requests import (
    AppliedRequest,
    Caller,
    Command,
    EventsRequest,
    NoteRequest,
    RedeliverRequest,
    Reply,
    Request,
    ResendRequest,
    RoundsRequest,
    ShoeRequest,
    StatesRequest,
    StatusRequest,
    StreamRequest,
)
from shoe_ctl.api.unix_socket import Lines
from shoe_ctl.daemon.disk_use import DiskUse, with_warning
from shoe_ctl.daemon.event_streams import EventStreams
from shoe_ctl.daemon.outage import Outage, fault_of, journal_failed
from shoe_ctl.daemon.principals import People, may_not_act
from shoe_ctl.daemon.resends import Budgets, Range, Resends
from shoe_ctl.daemon.round_queries import RoundQueries, table_of
from shoe_ctl.daemon.state_streams import StateStreams
from shoe_ctl.daemon.table_runner import TableRunner, first_failure
from shoe_ctl.errors import EnvironmentFault, JournalError
from shoe_ctl.journal.journal import EventRange
from shoe_ctl.records import Audience, EventId, event_id, utc
from shoe_ctl.sinks.pump import Resend, SinkTrouble
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.positions import LADDER, POSITIONS, is_sufficient
from shoe_ctl.table.status import in_storage_fault
from shoe_ctl.texts.catalogue import text, with_texts
from shoe_ctl.texts.message import Message, message

OFFERED_WITHIN_S = 10.0
"""An answer waits for a sink for so long. What it takes later is announced by the table."""

log = logging.getLogger(__name__)


class Streams(NamedTuple):
    """The streams that can be asked for, and what the journal has of past rounds."""

    events: EventStreams
    states: StateStreams
    rounds: RoundQueries


class SinkOffers(Protocol):
    """The part of a sink at work that a request needs."""

    @property
    def sees(self) -> Audience:
        """The stream that it gets."""

    @property
    def trouble(self) -> SinkTrouble | None:
        """Why it takes nothing now; None while nothing is wrong."""

    def offer_again(self, n: int) -> asyncio.Future[str | None]:
        """Offer the parked event at record ``n`` once more: None when taken, else why not."""

    async def resend(self, after: EventId, upto: EventId | None) -> Resend:
        """Offer again what it had of the event's table behind that event, up to another one."""

    async def find_range(self, after: EventId, upto: EventId | None) -> EventRange:
        """Return the records of these events."""

    async def read(self, table: str, records: Range, limit: int) -> list[tuple[int, bytes]]:
        """Return the first events of a table in a range of records."""


class RequestHandler:
    """Hands each request to its table, and answers it. ``tables`` are the runners by table id.

    ``sinks`` take events that are offered again, by their names. A second person is one of
    ``people``. ``streams`` can be asked for, ``disk`` knows what is stored a day, ``key`` describes
    the journal's key.
    """

    def __init__(  # noqa: PLR0913 - all that it can be asked about
        self,
        tables: Mapping[str, TableRunner],
        sinks: Mapping[str, SinkOffers],
        people: People,
        streams: Streams | None = None,
        disk: DiskUse | None = None,
        key: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        self._disk = disk
        self._key = key
        self._tables = tables
        self._sinks = sinks
        self._people = people
        self._streams = streams
        self._budgets = Budgets() if streams is None else streams.events.budgets
        self._resends = Resends(self._budgets)
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def watch(self) -> None:
        """Wait until the journal takes nothing more, and raise that.

        Raises:
            EnvironmentFault: what failed.
        """
        await self._failure

    async def close(self) -> None:
        """Send nothing more of what callers asked for."""
        await self._resends.close()

    async def answer(self, caller: Caller, asked: Request) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            RequestRefused: a table or a sink that is not served here, an event that the journal
                does not have; it asks for what comes, which ``stream`` alone sends.
            EnvironmentFault: the journal takes nothing more: nothing was done.
        """
        with self._noting_failure():
            if isinstance(asked, StatusRequest):
                return await self._status(caller, asked)
            if isinstance(asked, RedeliverRequest):
                return await self._redeliver(caller, asked)
            if isinstance(asked, ResendRequest):
                return await self._resend(caller, asked)
            if isinstance(asked, EventsRequest):
                return await self._events_to_caller(caller, asked)
            if isinstance(asked, StatesRequest):
                raise RequestRefused(message("events_at_the_socket"))
            if isinstance(asked, AppliedRequest | ShoeRequest):
                return await self._report(caller, asked)
            if isinstance(asked, RoundsRequest):
                return await self._rounds(caller, asked)
            if isinstance(asked, NoteRequest):
                (runner,) = _runners_named(self._tables, asked.table)
                return await runner.door.note(caller, asked)
            return await self._command(caller, asked)

    async def stream(self, caller: Caller, asked: StreamRequest) -> Lines:
        """Return the stream that was asked for.

        Raises:
            RequestRefused: a table that is not served here, a part of the status that is not for
                the caller, or as ``EventStreams.open`` and ``StateStreams.open``.
            EnvironmentFault: the journal cannot be read.
        """
        assert self._streams is not None
        if asked.table is not None and asked.table not in self._tables:
            raise RequestRefused(_unknown(asked.table, self._tables))
        with self._noting_failure():
            if isinstance(asked, EventsRequest):
                return self._sent(await self._streams.events.open(caller, asked))
            _check_staff(caller, asked)
            return self._sent(await self._streams.states.open(caller, asked))

    async def _rounds(self, caller: Caller, asked: RoundsRequest) -> dict[str, Any]:
        table = table_of(asked)
        if table is None:
            raise RequestRefused(message("rounds_without_table", tables=list(self._tables)))
        if table not in self._tables:
            raise RequestRefused(_unknown(table, self._tables))
        assert self._streams is not None
        return await self._streams.rounds.answer(caller, asked, table)

    async def _events_to_caller(self, caller: Caller, asked: EventsRequest) -> dict[str, Any]:
        """Let a user of a broker have what was published of a table behind an event."""
        if caller.reply is None or asked.after is None or asked.table is None:
            raise RequestRefused(message("events_at_the_socket"))
        if asked.table not in self._tables:
            raise RequestRefused(_unknown(asked.table, self._tables))
        assert self._streams is not None
        records, read_past = await self._streams.events.past(caller, asked)

        async def read(records: Range, limit: int) -> list[tuple[int, bytes]]:
            with self._noting_failure():
                return await read_past(records, limit)

        stream = audience_of(caller, asked.audience).name.lower()
        source = (f"{stream} events", asked.table)
        self._resends.add(caller.user, caller.reply, source=source, records=records, read=read)
        log.info(
            "events to one user: table=%s audience=%s after=%s user=%s",
            asked.table, stream, asked.after, caller.user,
        )  # fmt: skip
        return {"sent": {"table": asked.table, "audience": stream, "after": asked.after}}

    async def _sent(self, batches: Lines) -> Lines:
        with self._noting_failure():
            async with aclosing(batches):
                async for batch in batches:
                    yield batch

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """``watch`` raises what fails in here. Whoever asked is told that it is a storage fault."""
        try:
            yield
        except EnvironmentFault as error:
            if not self._failure.done():
                self._failure.set_exception(error)
            if isinstance(error, JournalError):
                raise RequestRefused(fault_of(journal_failed(str(error)))) from error
            raise

    async def _status(self, caller: Caller, asked: StatusRequest) -> dict[str, Any]:
        runners = _runners_named(self._tables, asked.table)
        sees = audience_of(caller, asked.audience)
        _check_staff(caller, asked)
        told = [
            await runner.status(sees, staff=asked.staff) | {"acts_as": _acts_as(caller, runner)}
            for runner in runners
        ]
        if self._disk is not None:
            told = [with_warning(one, self._disk.trouble) for one in told]
        failure = first_failure(self._tables.values())
        if failure is not None:  # the daemon is about to say so to everybody
            told = [in_storage_fault(one, fault_of(failure), None) for one in told]
        disk = (
            {}
            if self._disk is None
            else {"disk": self._disk.describe(runner.table for runner in runners)}
        )
        sinks = with_texts(self._sink_states(caller))
        key = {} if self._key is None else {"key": self._key()}
        now_us = max(runner.transactions.now() for runner in runners)
        return _status_answer(caller, told, now_us) | {"sinks": sinks} | disk | key

    def _sinks_seen_by(self, caller: Caller) -> dict[str, SinkOffers]:
        """Return the sinks that this caller may know of: not those of what it does not see."""
        return {
            name: sink
            for name, sink in self._sinks.items()
            if caller.sees is Audience.RESTRICTED or sink.sees is Audience.PUBLIC
        }

    def _sink_states(self, caller: Caller) -> list[dict[str, Any]]:
        """Return for each sink whether it takes events, and if not since when and why."""
        return [_sink_state(name, sink) for name, sink in self._sinks_seen_by(caller).items()]

    async def _resend(self, caller: Caller, asked: ResendRequest) -> dict[str, Any]:
        """Offer a range of events again; answer how many they are and how that went.

        The sink's receivers get all of it, whoever asked: it counts against the user's budget.
        """
        sinks = self._sinks_seen_by(caller)
        if asked.sink not in sinks:
            raise RequestRefused(
                message("sink_unknown", sink=asked.sink, sinks=list(sinks))
                if sinks
                else message("sink_unknown_none", sink=asked.sink)
            )
        sink = sinks[asked.sink]
        after = _named_event(asked.after, asked.sink, sink.sees)
        upto = None if asked.upto is None else _named_event(asked.upto, asked.sink, sink.sees)
        if upto is not None and upto.table != after.table:
            raise RequestRefused(
                message("sink_upto_of_other_table", after=asked.after, upto=asked.upto)
            )
        if caller.reply is not None:
            return await self._resend_to_caller(caller, caller.reply, asked, after, upto)
        found, budget = await sink.find_range(after, upto), self._budgets.of(caller.user)
        if wait_s := budget.wait_s:
            seconds = math.ceil(wait_s)
            raise RequestRefused(
                message("sink_resends_too_soon", user=caller.user, seconds=seconds)
            )
        budget.spend(found.events)
        resend = await sink.resend(after, upto)
        log.info(
            "sink %s: resend started: events=%d after=%s user=%s",
            asked.sink, resend.events, after, caller.user,
        )  # fmt: skip
        await asyncio.wait([resend.done], timeout=OFFERED_WITHIN_S)
        if resend.done.done() and (why := resend.done.result()) is not None:
            raise RequestRefused(message("sink_ended", sink=asked.sink, why=why))
        return {
            "resent": {
                "sink": asked.sink,
                "after": asked.after,
                "events": resend.events,
                "taken": resend.taken,
                "refused": resend.refused,
                "waiting": resend.waiting,
            }
        }

    async def _resend_to_caller(
        self,
        caller: Caller,
        reply: Reply,
        asked: ResendRequest,
        after: EventId,
        upto: EventId | None,
    ) -> dict[str, Any]:
        """Let the caller have a range of events alone; answer how many they are."""
        sink = self._sinks[asked.sink]
        found = await sink.find_range(after, upto)

        async def read(records: Range, limit: int) -> list[tuple[int, bytes]]:
            with self._noting_failure():
                return await sink.read(after.table, records, limit)

        self._resends.add(
            caller.user,
            reply,
            source=(asked.sink, after.table),
            records=(found.after, found.upto),
            read=read,
        )
        log.info(
            "sink %s: resend to one user: events=%d after=%s user=%s",
            asked.sink, found.events, after, caller.user,
        )  # fmt: skip
        return {"resent": {"sink": asked.sink, "after": asked.after, "events": found.events}}

    async def _redeliver(self, caller: Caller, asked: RedeliverRequest) -> dict[str, Any]:
        """Offer parked events again, in the journal's order; answer how that went, by sink."""
        parked: dict[str, list[int]] = {}
        for runner in _runners_named(self._tables, asked.table):
            for sink, records in (await runner.waiting(caller.sees)).items():
                if sink in self._sinks and asked.sink in (None, sink):
                    parked.setdefault(sink, []).extend(records)
        if asked.sink is not None and not parked:
            raise RequestRefused(message("sink_nothing_parked", sink=asked.sink))
        offers = {
            (sink, n): self._sinks[sink].offer_again(n)
            for sink, records in parked.items()
            for n in sorted(records)
        }
        log.info("sinks: redelivery started: events=%d user=%s", len(offers), caller.user)
        if offers:
            await asyncio.wait(offers.values(), timeout=OFFERED_WITHIN_S)
        went = {sink: Counter(taken=0, refused=0, waiting=0) for sink in parked}
        for (sink, _), offer in offers.items():
            how = (
                "waiting" if not offer.done() else "taken" if offer.result() is None else "refused"
            )
            went[sink][how] += 1
        return {"redelivered": [{"sink": sink, **counted} for sink, counted in went.items()]}

    async def _report(self, caller: Caller, asked: AppliedRequest | ShoeRequest) -> dict[str, Any]:
        """Hand a report of a table system to its table."""
        if isinstance(asked, ShoeRequest):
            (runner,) = _runners_named(self._tables, asked.table)
            return await runner.reports.shoe(caller, asked)
        (runner,) = _runners_named(self._tables, asked.event.rpartition("/")[0])
        return await runner.reports.applied(caller, asked)

    async def _command(self, caller: Caller, asked: Command) -> dict[str, Any]:
        if asked.table not in self._tables:
            return _refused(asked, _unknown(asked.table, self._tables), {})
        highest = self._tables[asked.table].controller.settings.highest_position
        error = may_not_act(caller, asked, highest)
        if error is not None:
            return _refused(asked, error, {"position": asked.position})
        command = self._people.as_input(caller, asked)
        if asked.preview:
            return await self._preview(caller, asked, command)
        sees = audience_of(caller, asked.audience)
        answered = await self._tables[asked.table].command(command, sees)
        answer = answered.answer
        log.info(
            '%s: command %s: command=%s person="%s" position=%s user=%s%s',
            asked.table, "accepted" if answer.error is None else "refused",
            asked.command, asked.person, asked.position, caller.user,
            "" if answer.error is None else f' reason="{text(answer.error)}"',
        )  # fmt: skip
        if answer.error is not None:
            alone = "consent" in answer.needs and not self._people.others(caller)
            alone = alone and not caller.vouches  # whoever logs in there may consent
            error = answer.error
            if alone and asked.consented_by is None:
                error = message("refused_nobody_to_consent", why=error, user=caller.user)
            return _refused(asked, error, answer.needs, answer.message)
        done = {"command_id": asked.command_id, "accepted": True, "events": answered.events}
        said = None if answer.message is None else with_texts(answer.message.as_data())
        waits = {"halted": answer.halted, "asks": answer.asks, "message": said}
        return done | {name: said for name, said in waits.items() if said is not None}

    async def _preview(
        self, caller: Caller, asked: Command, command: TableCommand
    ) -> dict[str, Any]:
        """Answer what the command would come to; nothing is done, and nothing recorded."""
        answer, shown = await self._tables[asked.table].preview(command)
        log.info("%s: preview: command=%s user=%s", asked.table, asked.command, caller.user)
        if answer.error is not None:
            return _refused(asked, answer.error, answer.needs, answer.message)
        assert answer.message is not None
        return {
            "command_id": asked.command_id,
            "accepted": True,
            "preview": with_texts(shown),
            "message": with_texts(answer.message.as_data()),
        }


def _sink_state(name: str, sink: SinkOffers) -> dict[str, Any]:
    trouble = sink.trouble
    if trouble is None:
        return {"sink": name, "state": "at_work"}
    since = utc(trouble.since_us)
    said = (
        message("daemon_sink_ended", sink=name, since=since, why=trouble.why)
        if trouble.ended
        else message("daemon_sink_away", sink=name, since=since, why=trouble.why)
    )
    state = "ended" if trouble.ended else "away"
    return {"sink": name, "state": state, "since": since, "message": said.as_data()}


def status_in_outage(
    caller: Caller, asked: StatusRequest, tables: Mapping[str, TableRunner], outage: Outage
) -> dict[str, Any]:
    """Answer a status request while nothing can be stored: how each table stood.

    Raises:
        RequestRefused: a table that is not served here, or what the caller may not see.
    """
    _check_staff(caller, asked)
    stood = [
        runner.stored_status(audience_of(caller, asked.audience), staff=asked.staff)
        | {"acts_as": _acts_as(caller, runner)}
        for runner in _runners_named(tables, asked.table)
    ]
    fault = fault_of(outage.what)
    now_us = max(runner.transactions.now() for runner in tables.values())
    told = [in_storage_fault(one, fault, outage.since_us) for one in stood]
    return _status_answer(caller, told, now_us)


def _check_staff(caller: Caller, asked: StatusRequest | StatesRequest) -> None:
    """Refuse to tell who is who at a table to a caller who is not at least a dealer."""
    own = (caller.position, *caller.also)
    if asked.staff and not any(is_sufficient(one, LADDER[0]) for one in own):
        raise RequestRefused(message("daemon_not_staff", user=caller.user, own=caller.position))


def _acts_as(caller: Caller, runner: TableRunner) -> list[str]:
    """Return every position that this caller may act in at the table."""
    highest = runner.controller.settings.highest_position
    own = (caller.position, *caller.also)
    return [
        position
        for position in POSITIONS
        if any(is_sufficient(one, position, highest=highest) for one in own)
    ]


def _status_answer(caller: Caller, tables: list[dict[str, Any]], now_us: int) -> dict[str, Any]:
    answer = {"user": caller.user, "position": caller.position, "time": utc(now_us)}
    return answer | {"tables": with_texts(tables)}


def _runners_named(tables: Mapping[str, TableRunner], table: str | None) -> list[TableRunner]:
    """Return the runner of this table, or all of them."""
    if table is None:
        return list(tables.values())
    if table not in tables:
        raise RequestRefused(_unknown(table, tables))
    return [tables[table]]


def _unknown(table: str, tables: Iterable[str]) -> Message:
    return message("daemon_no_such_table", table=table, tables=list(tables))


def _named_event(text: str, sink: str, sees: Audience) -> EventId:
    """Return the event with this id.

    Raises:
        RequestRefused: it is no event of what the sink gets.
    """
    try:
        named = event_id(text)
    except ValueError:
        example = f"bac-07/{sees.value}31"
        raise RequestRefused(message("sink_after_invalid", after=text, example=example)) from None
    if named.audience is not sees:
        raise RequestRefused(
            message(
                "sink_of_other_audience",
                sink=sink,
                audience=sees.name.lower(),
                after=text,
                example=str(named._replace(audience=sees)),
            )
        )
    return named


def _refused(
    asked: Command, error: Message, needs: Mapping[str, str], todo: Message | None = None
) -> dict[str, Any]:
    """Return the answer to a refused command; ``todo`` is what the table waits for."""
    told = with_texts(error.as_data())
    refused = {"command_id": asked.command_id, "accepted": False, "error": told, "needs": needs}
    return refused if todo is None else refused | {"message": with_texts(todo.as_data())}
