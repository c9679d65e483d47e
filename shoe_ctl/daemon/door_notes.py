"""Notes of what happened at the door of a program at which people log in.

In: notes of users who vouch for logins. Out: their answers, once the table has stored them; those
beyond a budget are counted. Must not know: how somebody logs in, sockets.
"""

from __future__ import annotations

import logging
from typing import Any

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, NoteRequest
from shoe_ctl.daemon.refusal_budget import Principal
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.table.inputs import DoorNoted
from shoe_ctl.texts.message import message

log = logging.getLogger(__name__)


class DoorNotes:
    """Takes the notes for one table: so many of a kind as refused commands of one principal."""

    def __init__(self, transactions: TableTransactions, link: ShoeLink) -> None:
        self._transactions = transactions
        self._link = link

    async def note(self, caller: Caller, asked: NoteRequest) -> dict[str, Any]:
        """Store a note, or count it, and answer.

        Raises:
            RequestRefused: the caller vouches for nobody, or nothing is stored now.
        """
        if not caller.vouches:
            raise RequestRefused(message("daemon_notes_no_right", user=caller.user))
        at_work = self._transactions
        said = {"table": at_work.table, "event": asked.event}
        async with at_work.turn:
            at_work.refuse_after_failure()
            if self._link.doubt is not None:
                raise RequestRefused(message("daemon_loss_not_ruled", detail=self._link.doubt))
            by = Principal(caller.user, note=asked.event)
            group, t_us = at_work.begin()
            if at_work.refusals.is_spent(by, t_us):
                at_work.refusals.count(by, t_us)
                at_work.wake_next()
                return {"noted": said | {"recorded": False}, "events": []}
            at_work.refusals.record(by, t_us)
            handles, _ = at_work.run(group, [_as_input(caller, asked, t_us)])
            result = await at_work.commit(group)
        log.info(
            '%s: noted: event=%s person="%s" user=%s',
            at_work.table, asked.event, asked.person or "", caller.user,
        )  # fmt: skip
        ids = (result.ids[handle].of(caller.sees) for handle in handles)
        events = [each for each in ids if each is not None]
        return {"noted": said | {"recorded": True}, "events": events}


def _as_input(caller: Caller, asked: NoteRequest, t_us: int) -> DoorNoted:
    return DoorNoted(
        t_us=t_us,
        user=caller.user,
        event=asked.event,
        person=asked.person,
        by=asked.by,
        session=asked.session,
        position=asked.position,
        address=asked.address,
        reason=asked.reason,
        about=asked.about,
    )
