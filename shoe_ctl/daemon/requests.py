"""Requests of people and of the table system: who may, which table it is for, how it is answered.

In: commands and questions of known callers. Out: answers as the contract words them.
Must not know: how they came in, rules, the journal, how events are delivered.
"""

from __future__ import annotations

import asyncio
import logging
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
    RedeliverRequest,
    Reply,
    Request,
    ResendRequest,
    ShoeRequest,
    StatesRequest,
    StatusRequest,
    StreamRequest,
)
from shoe_ctl.api.unix_socket import Lines
from shoe_ctl.daemon.disk_use import DiskUse, with_warning
from shoe_ctl.daemon.event_streams import EventStreams
from shoe_ctl.daemon.outage import Outage, fault_of, journal_failed
from shoe_ctl.daemon.resends import Range, Resends
from shoe_ctl.daemon.state_streams import StateStreams
from shoe_ctl.daemon.table_runner import TableRunner, first_failure
from shoe_ctl.errors import EnvironmentFault, JournalError
from shoe_ctl.journal.journal import EventRange
from shoe_ctl.records import Audience, EventId, event_id, utc
from shoe_ctl.sinks.pump import Resend, SinkTrouble
from shoe_ctl.table.consent import normalize_name
from shoe_ctl.table.inputs import SecondPerson, TableCommand
from shoe_ctl.table.positions import POSITIONS, is_sufficient
from shoe_ctl.table.status import in_storage_fault
from shoe_ctl.texts.catalogue import text, with_texts
from shoe_ctl.texts.message import Message, message

OFFERED_WITHIN_S = 10.0
"""An answer waits for a sink for so long. What it takes later is announced by the table."""

log = logging.getLogger(__name__)


class People:
    """All users that there are, each of whom may be another's second person."""

    def __init__(self, users: Iterable[Caller]) -> None:
        self._users = tuple(users)
        self._named = {normalize_name(name): each for each in self._users for name in each.names}

    def others(self, caller: Caller) -> list[str]:
        """Return who may be asked for consent, each by the name that people use."""
        return [each.names[0] for each in self._users if each.user != caller.user and each.names]

    def find(self, name: str) -> Caller | None:
        """Return the user who goes by this name; None where nobody does."""
        return self._named.get(normalize_name(name))

    def second_person(
        self, caller: Caller, *, person: str, consented_by: str | None
    ) -> SecondPerson | None:
        """Return what is known of the second person named: another user's positions, or why not."""
        if consented_by is None:
            return None
        second = self.find(consented_by)
        name, others, user = consented_by, self.others(caller), caller.user
        if second is None:
            why = (
                message("refused_second_person_unknown", name=name, others=others)
                if others
                else message("refused_second_person_unknown_alone", name=name, user=user)
            )
            return SecondPerson(why_not=why)
        asks = self.find(person)
        if second.user == caller.user or second is asks:
            why = (
                message("refused_second_person_is_asker", name=name, others=others)
                if others
                else message("refused_second_person_is_asker_alone", name=name, user=user)
            )
            return SecondPerson(why_not=why)
        return SecondPerson(positions=(second.position, *second.also))

    def as_input(self, caller: Caller, asked: Command) -> TableCommand:
        """Return the command as an input; its time is given when it is taken up."""
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
            user=caller.user,
            second_person=self.second_person(
                caller, person=asked.person, consented_by=asked.consented_by
            ),
        )


class Streams(NamedTuple):
    """The streams that can be asked for."""

    events: EventStreams
    states: StateStreams


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
        self._resends = Resends()
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
            return await self._command(caller, asked)

    async def stream(self, caller: Caller, asked: StreamRequest) -> Lines:
        """Return the stream that was asked for.

        Raises:
            RequestRefused: a table that is not served here, or as ``EventStreams.open`` and
                ``StateStreams.open``.
            EnvironmentFault: the journal cannot be read.
        """
        assert self._streams is not None
        if asked.table is not None and asked.table not in self._tables:
            raise RequestRefused(_unknown(asked.table, self._tables))
        with self._noting_failure():
            if isinstance(asked, EventsRequest):
                return self._sent(await self._streams.events.open(caller, asked))
            return self._sent(await self._streams.states.open(caller, asked))

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
        told = [
            await runner.status(sees) | {"acts_as": _acts_as(caller, runner)} for runner in runners
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
        return _status_answer(caller, told) | {"sinks": sinks} | disk | key

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
        """Offer a range of events again; answer how many they are and how that went."""
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
        RequestRefused: a table that is not served here.
    """
    stood = [
        runner.stored_status(audience_of(caller, asked.audience))
        | {"acts_as": _acts_as(caller, runner)}
        for runner in _runners_named(tables, asked.table)
    ]
    fault = fault_of(outage.what)
    return _status_answer(caller, [in_storage_fault(one, fault, outage.since_us) for one in stood])


def _acts_as(caller: Caller, runner: TableRunner) -> list[str]:
    """Return every position that this caller may act in at the table."""
    highest = runner.controller.settings.highest_position
    own = (caller.position, *caller.also)
    return [
        position
        for position in POSITIONS
        if any(is_sufficient(one, position, highest=highest) for one in own)
    ]


def _status_answer(caller: Caller, tables: list[dict[str, Any]]) -> dict[str, Any]:
    return {"user": caller.user, "position": caller.position, "tables": with_texts(tables)}


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


def may_not_act(caller: Caller, asked: Command, highest: str | None) -> Message | None:
    """Return why this caller may not act in the position named; None where it may."""
    if any(
        is_sufficient(own, asked.position, highest=highest)
        for own in (caller.position, *caller.also)
    ):
        return None
    log.warning(
        "%s: command refused: command=%s position=%s user=%s highest_position=%s",
        asked.table, asked.command, asked.position, caller.user, caller.position,
    )  # fmt: skip
    return message(
        "daemon_not_in_position", user=caller.user, own=caller.position, position=asked.position
    )


def _refused(
    asked: Command, error: Message, needs: Mapping[str, str], todo: Message | None = None
) -> dict[str, Any]:
    """Return the answer to a refused command; ``todo`` is what the table waits for."""
    told = with_texts(error.as_data())
    refused = {"command_id": asked.command_id, "accepted": False, "error": told, "needs": needs}
    return refused if todo is None else refused | {"message": with_texts(todo.as_data())}
