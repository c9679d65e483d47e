"""Requests to a daemon with several workers: each goes to its table's worker, or to all of them.

In: requests of known callers, the link to each worker. Out: answers, merged to those of one daemon.
Must not know: processes, the journal, rules.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from shoe_ctl.api.answers import RefusedElsewhere, RequestRefused, refusal
from shoe_ctl.api.requests import (
    Caller,
    Command,
    EventsRequest,
    Request,
    ResendRequest,
    StatusRequest,
)
from shoe_ctl.api.unix_socket import EventBatches
from shoe_ctl.api.worker_link import EventLines, FrontEnd
from shoe_ctl.config.schema import Config
from shoe_ctl.records import Audience, event_id
from shoe_ctl.texts.message import Message, message

_NOTHING_PARKED = "sink_nothing_parked"


class FrontHandler:
    """Answers at the socket for all ``workers``: the link to each, by its number."""

    def __init__(self, config: Config, workers: Mapping[int, FrontEnd]) -> None:
        self._config = config
        self._workers = workers
        self._tables = {table.id: workers[table.worker] for table in config.table}

    async def answer(self, caller: Caller, asked: Request) -> Mapping[str, Any]:
        """Return the answer to a request.

        Raises:
            RequestRefused: no worker serves the table, or its worker does not answer now; or it is
                a request for events.
            RefusedElsewhere: a worker refused the request.
        """
        if isinstance(asked, Command):
            if asked.table not in self._tables:
                return refusal(self._unknown(asked.table), asked.command_id)
            return await self._tables[asked.table].ask(caller, asked)
        if isinstance(asked, ResendRequest):
            return _accepted(await self._holder_of(caller, asked).ask(caller, asked))
        if isinstance(asked, EventsRequest):
            raise RequestRefused(message("events_at_the_socket"))
        if asked.table is not None:
            return _accepted(await self._served(asked.table).ask(caller, asked))
        answers = await self._ask_all(caller, asked)
        if isinstance(asked, StatusRequest):
            return self._merged_status([_accepted(answer) for answer in answers])
        return _merged_redelivery(answers)

    async def events(self, caller: Caller, asked: EventsRequest) -> EventBatches:
        """Return the requested events: of one table, or of all workers' tables.

        Raises:
            RequestRefused: no worker serves the table, or a worker does not answer now; or
                ``after`` is an id without a ``table``: an id is a place in one journal only.
        """
        if asked.table is not None:
            return _merged_events([await self._served(asked.table).events(caller, asked)])
        if asked.after not in (None, "beginning"):
            raise RequestRefused(message("events_of_several_workers", after=asked.after))
        streams: list[EventLines] = []
        try:
            for worker in self._workers.values():
                streams.append(await worker.events(caller, asked))  # noqa: PERF401 - closed below
        except BaseException:
            for stream in streams:
                stream.close()
            raise
        return _merged_events(streams)

    def _unknown(self, table: str) -> Message:
        return message("daemon_no_such_table", table=table, tables=list(self._tables))

    def _served(self, table: str) -> FrontEnd:
        if table not in self._tables:
            raise RequestRefused(self._unknown(table))
        return self._tables[table]

    def _holder_of(self, caller: Caller, asked: ResendRequest) -> FrontEnd:
        """Return the worker that delivers the events to the sink; if none does, any: it refuses."""
        seen = {
            sink.known_as: sink
            for sink in self._config.sink
            if caller.sees is Audience.RESTRICTED or sink.sees is Audience.PUBLIC
        }
        if asked.sink not in seen:
            raise RequestRefused(
                message("sink_unknown", sink=asked.sink, sinks=list(seen))
                if seen
                else message("sink_unknown_none", sink=asked.sink)
            )
        if (only := seen[asked.sink].table) is not None:
            return self._tables[only]
        try:
            table = event_id(asked.after).table
        except ValueError:
            table = ""
        return self._tables.get(table) or next(iter(self._workers.values()))

    async def _ask_all(self, caller: Caller, asked: Request) -> list[dict[str, Any]]:
        return await asyncio.gather(*(one.ask(caller, asked) for one in self._workers.values()))

    def _merged_status(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return one status: the tables in the order of the configuration, each sink once.

        If several workers have a sink, one where it is not ``at_work`` is shown.
        """
        order = list(self._tables)
        tables = [table for answer in answers for table in answer["tables"]]
        merged: dict[str, Any] = {
            **answers[0],
            "tables": sorted(tables, key=lambda table: order.index(table["table"])),
        }
        merged.pop("sinks", None)
        if any("sinks" not in answer for answer in answers):  # one has a storage fault
            return merged
        sinks: dict[str, dict[str, Any]] = {}
        for answer in answers:
            for sink in answer["sinks"]:
                if sinks.setdefault(sink["sink"], sink)["state"] == "at_work":
                    sinks[sink["sink"]] = sink
        names = [sink.known_as for sink in self._config.sink if sink.known_as in sinks]
        return merged | {"sinks": [sinks[name] for name in names]}


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a worker's answer.

    Raises:
        RefusedElsewhere: it is a refusal.
    """
    if answer.get("accepted") is False:
        raise RefusedElsewhere(answer)
    return answer


def _merged_redelivery(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of all workers, by sink.

    Raises:
        RefusedElsewhere: a worker refused, for another reason than that nothing is parked there; or
            nothing is parked at any.
    """
    none = [
        answer
        for answer in answers
        if answer.get("accepted") is False and answer["error"]["code"] == _NOTHING_PARKED
    ]
    if len(none) == len(answers):
        raise RefusedElsewhere(none[0])
    went: dict[str, Counter[str]] = {}
    for answer in answers:
        if answer not in none:
            for counted in _accepted(answer)["redelivered"]:
                counts = {key: count for key, count in counted.items() if key != "sink"}
                went.setdefault(counted["sink"], Counter()).update(counts)
    return {"redelivered": [{"sink": sink, **counts} for sink, counts in went.items()]}


async def _merged_events(streams: Sequence[EventLines]) -> EventBatches:
    """Yield the batches of all streams as they come, until one stream ends."""
    upcoming = {asyncio.create_task(stream.more()): stream for stream in streams}
    try:
        while True:
            done, _ = await asyncio.wait(upcoming, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                lines = task.result()
                stream = upcoming.pop(task)
                upcoming[asyncio.create_task(stream.more())] = stream
                yield lines
    finally:
        for task in upcoming:
            task.cancel()
        await asyncio.gather(*upcoming, return_exceptions=True)
        for stream in streams:
            stream.close()
