"""Answers users of a broker as callers at the socket are answered, and tells how a table stands.

In: what a user sent for a table, by a topic that the broker's access list makes true. Out: the
answer, as JSON; the public status of a table. Must not know: brokers, topics, rules.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from shoe_ctl.api.answers import failure, in_language, refusal
from shoe_ctl.api.requests import (
    AppliedRequest,
    BadRequest,
    Caller,
    Command,
    EventsRequest,
    NoteRequest,
    RedeliverRequest,
    Request,
    ResendRequest,
    RoundsRequest,
    ShoeRequest,
    StatusRequest,
    read_request,
)
from shoe_ctl.api.unix_socket import MOST_BYTES, Handler
from shoe_ctl.daemon.round_queries import table_of
from shoe_ctl.errors import ShoeCtlError
from shoe_ctl.records import Audience, event_id
from shoe_ctl.sinks.brokers import Asked
from shoe_ctl.texts.message import Message, message

NOT_IN_THE_STATE = ("parked", "doubt", "acts_as", "source", "last_event", "software", "setup")
"""Keys of the public status that are not the table's own state: the sinks, evidence of a loss,
the program, what never changes, and the last event stored. A broker's readers need the last one
published there, which its sink adds."""

_REFUSALS = {
    "retained": message("daemon_command_retained"),
    "response_topic": message("daemon_response_topic"),
}

_ONLOOKER = Caller(user="", position="surveillance", sees=Audience.PUBLIC)

log = logging.getLogger(__name__)


class BrokerDesk:
    """Answers the ``senders`` of one sink, by their names at its broker.

    ``tables`` are those that each of them may command and ask about.
    """

    def __init__(
        self, senders: Mapping[str, Caller], tables: Mapping[str, Collection[str]]
    ) -> None:
        self._senders = senders
        self._tables = tables
        self._handler: Handler | None = None
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._answering: set[asyncio.Task[Any]] = set()
        self._unknown: set[str] = set()

    @asynccontextmanager
    async def open(self, handler: Handler) -> AsyncIterator[None]:
        """Let this handler answer; on leaving, what is being handled is answered."""
        self._handler = handler
        try:
            yield
        finally:
            self._handler = None
            if self._answering:
                await asyncio.wait(self._answering)

    async def answer(self, asked: Asked) -> bytes:
        """Return the answer as JSON, whatever was sent."""
        return msgspec.json.encode(await self._answer(asked))

    async def state(self, table: str) -> Mapping[str, Any] | None:
        """Return how the table stands, in public; None while no table is at work."""
        if self._handler is None:
            return None
        try:
            answered = await self._handler(_ONLOOKER, StatusRequest(request="status", table=table))
        except ShoeCtlError:
            return None
        (stands,) = answered["tables"]
        told = {key: value for key, value in stands.items() if key not in NOT_IN_THE_STATE}
        if "fault" in told:  # what failed names files of this host
            told["fault"] = {key: told["fault"][key] for key in told["fault"] if key == "since"}
        return told

    async def _answer(self, asked: Asked) -> Mapping[str, Any]:
        caller = self._senders.get(asked.user)
        if caller is None:
            if asked.user not in self._unknown and len(self._unknown) < MOST_BYTES:
                self._unknown.add(asked.user)
                log.warning("broker: user refused: user=%s reason=not_configured", asked.user)
            return refusal(message("daemon_user_unknown", user=asked.user))
        if asked.table not in self._tables[asked.user]:
            return refusal(message("daemon_table_not_yours", user=asked.user, table=asked.table))
        if len(asked.body) >= MOST_BYTES:
            return refusal(message("request_too_long", most=MOST_BYTES - 1))
        try:
            request = read_request(asked.body)
        except BadRequest as error:
            return failure(error)
        command_id = request.command_id if isinstance(request, Command) else None
        if (why := _why_refused(request, asked)) is not None:
            return refusal(why, command_id)
        caller = msgspec.structs.replace(caller, reply=asked.reply)
        answer = await self._in_turn(caller, request, asked, command_id)
        return in_language(answer, request.language)

    async def _in_turn(
        self, caller: Caller, request: Request, asked: Asked, command_id: str | None
    ) -> Mapping[str, Any]:
        if not isinstance(request, Command):
            return await self._handle(caller, _narrowed(request, asked.table), None)
        async with self._turns[asked.user]:  # in the order in which they came
            now = asyncio.get_running_loop().time()
            if asked.expires_at is not None and now >= asked.expires_at:
                return refusal(message("daemon_command_expired"), command_id)
            return await self._handle(caller, request, command_id)

    async def _handle(
        self, caller: Caller, request: Request, command_id: str | None
    ) -> Mapping[str, Any]:
        if self._handler is None:
            return refusal(message("daemon_starting"), command_id)
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            return await self._handler(caller, request)
        except Exception as error:
            if not isinstance(error, ShoeCtlError):
                log.exception("broker: request failed: user=%s", caller.user)
            return failure(error, command_id)
        finally:
            self._answering.discard(task)


def _why_refused(request: Request, asked: Asked) -> Message | None:
    """Return why this is not handed on, whoever asks; None if it is."""
    if asked.refused is not None:
        return _REFUSALS[asked.refused]
    if (elsewhere := _other_table(request, asked.table)) is not None:
        return message("daemon_no_such_table", table=elsewhere, tables=[asked.table])
    return None


def _other_table(request: Request, table: str) -> str | None:
    """Return the table that a request is for, if it is another than the topic's."""
    named: str | None = None
    if isinstance(request, ResendRequest | AppliedRequest):
        event = request.after if isinstance(request, ResendRequest) else request.event
        try:
            named = event_id(event).table
        except ValueError:
            return None  # refused by whoever reads it
    elif isinstance(
        request,
        Command | StatusRequest | RedeliverRequest | EventsRequest | ShoeRequest | NoteRequest,
    ):
        named = request.table
    elif isinstance(request, RoundsRequest):
        named = table_of(request)
    return None if named in (None, table) else named


def _narrowed(request: Request, table: str) -> Request:
    """Return a question about all tables as one about this table."""
    if isinstance(request, StatusRequest | RedeliverRequest | EventsRequest | RoundsRequest):
        return msgspec.structs.replace(request, table=table)
    return request
