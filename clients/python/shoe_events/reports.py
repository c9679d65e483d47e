"""Reports to the daemon: what was applied, and what a shoe came to in our books.

In: events that were applied, our references; a shoe's rounds. Out: requests, each until it is
answered. It needs a user with ``applies = true``. Must not know: transports, what a booking is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from shoe_events.consumer import Due
from shoe_events.rounds import RULINGS

SEND_AGAIN = frozenset({"daemon_starting", "daemon_storage_fault", "daemon_loss_not_ruled"})
"""Refusals that end by themselves, or by a person: the same report is taken later."""

MOST_WAITING = 10_000
"""Reports that wait for an answer; of more the oldest are dropped, and the pit learns of them."""

log = logging.getLogger(__name__)


class Refused(Exception):
    """The daemon refuses a statement. Its text says why; ``code`` is for programs."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@runtime_checkable
class Asker(Protocol):
    """A connection of ``follow`` that also takes requests."""

    async def request(self, table: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send the daemon a request for a table; return its answer, also a refusal.

        Raises:
            ConnectionLost, NotAllowed, NotAnswered: as ``follow.Connection.resend``.
        """


_Waiting = tuple[str, dict[str, Any], "asyncio.Future[Mapping[str, Any]] | None"]


class Reports:
    """Reports what was applied. ``reference_of`` returns your own reference for a booking.

    It is called after an outcome, a revision or a void was applied; None: nothing is reported.
    Pass it to ``follow``. What is not answered yet is sent again, also over the next connection.
    """

    def __init__(self, reference_of: Callable[[Due], str | None]) -> None:
        self._reference_of = reference_of
        self._waiting: list[_Waiting] = []
        self._news = asyncio.Event()

    def applied(self, due: Due) -> None:
        """Report this event as soon as possible, if it says how a round ended."""
        event = due.event
        if event.type not in RULINGS or (reference := self._reference_of(due)) is None:
            return
        asked = {"event": event.id, "source": event.source, "reference": reference}
        self._add((event.table, {"request": "applied", **asked}, None))

    async def shoe(
        self, table: str, shoe_id: str, rounds: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """State the rounds of a shoe and their money; return how the table's own compare.

        Each round has ``round_id``, ``void`` if it was, and ``wagers``: by name ``staked`` and
        ``paid_out``, in minor units. The answer has ``agrees``, and else the ``first`` round that
        is not the same. It waits as long as the daemon is away.

        Raises:
            Refused: the table does not keep this shoe, or a round of it is open; or too many
                reports wait already.
        """
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        asked = {"request": "shoe", "table": table, "shoe_id": shoe_id, "rounds": [*rounds]}
        self._add((table, asked, answered))
        answer = await answered
        if answer.get("accepted") is False:
            error = answer["error"]
            raise Refused(error["code"], str(error.get("text", error["code"])))
        found: Mapping[str, Any] = answer["shoe"]
        return found

    def _add(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if len(self._waiting) > MOST_WAITING:
            table, asked, answered = self._waiting.pop(0)
            if answered is not None and not answered.done():
                answered.set_exception(Refused("dropped", "too many reports wait"))
            log.error("a report was dropped, too many wait: table=%s %s", table, asked)
        self._news.set()

    async def send(self, connection: Asker, again_s: float) -> None:
        """Send what waits, and what comes, until the connection ends or this is cancelled.

        What the daemon does not take yet is sent again after ``again_s``.
        """
        while True:
            while self._waiting:
                waiting = table, asked, answered = self._waiting[0]
                answer = await connection.request(table, asked)
                code = answer["error"]["code"] if answer.get("accepted") is False else None
                if code in SEND_AGAIN:
                    await asyncio.sleep(again_s)
                    continue
                self._waiting.remove(waiting)
                if answered is not None and not answered.done():
                    answered.set_result(answer)
                elif code is not None:
                    text = answer["error"].get("text", code)
                    log.warning("not taken as applied: event=%s: %s", asked.get("event"), text)
            self._news.clear()
            await self._news.wait()
