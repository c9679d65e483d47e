"""A journal that may have lost its newest part: who is told, who rules that it goes on.

In: what shows the loss, what people ask meanwhile. Out: one line to everyone; a ruling.
Must not know: how the loss was found, how a journal goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from shoe_ctl.api.asked import Asked, Caller, Command
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.bodies import Ruling
from shoe_ctl.table import second_person
from shoe_ctl.table.inputs import SecondPerson
from shoe_ctl.table.positions import LADDER, may
from shoe_ctl.texts.catalogue import text, with_texts
from shoe_ctl.texts.message import Message, message

COMMAND = "accept_loss"
"""The one command that is taken while the journal is in doubt."""

NO_LOSS = message("daemon_no_loss")

LOWEST = LADDER[-1]
"""Who may rule: it is not covered by any rule of the game (6.1)."""

log = logging.getLogger(__name__)


class NotRuled(InputRefused):
    """A ruling that nobody may give so; ``needs`` says what it lacks."""

    def __init__(self, why: Message, needs: Mapping[str, str]) -> None:
        super().__init__(text(why))
        self.why = why
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
    in ``positions.may``.

    Raises:
        NotRuled: from too low a position, without a reason, or without a second person.
    """
    if not may(position, LOWEST, highest=highest):
        raise NotRuled(
            message("refused_position_too_low", what=COMMAND, position=LOWEST), {"position": LOWEST}
        )
    if not (reason or "").strip():
        raise NotRuled(message("daemon_loss_without_reason"), {})
    lack = second_person.lack(
        COMMAND, LOWEST, person=person, consented_by=consented_by, found=second, highest=highest
    )
    if lack is not None:
        raise NotRuled(lack.why, lack.needs)
    assert reason is not None and consented_by is not None
    return Ruling(person=person, position=position, reason=reason, consented_by=consented_by)


def too_much(args: Mapping[str, object], round_id: str | None) -> Message | None:
    """Why a ruling is refused that says more than a ruling takes; None where it does not."""
    if args:
        return message("daemon_loss_takes_no_arguments", arguments=sorted(args))
    if round_id is not None:
        return message("daemon_loss_takes_no_round")
    return None


def refused(command_id: str, error: NotRuled | Message) -> dict[str, Any]:
    """A refusal as the contract words it."""
    why, needs = (error.why, error.needs) if isinstance(error, NotRuled) else (error, {})
    told = with_texts(why.as_data())
    return {"command_id": command_id, "accepted": False, "error": told, "needs": needs}


class Waiting:
    """Refuses everything with the line, until a ruling comes that somebody may give.

    ``may_act`` says why a caller may not act in the position that is named, or None; ``second``
    what is known of the second person whom a caller names.
    """

    def __init__(
        self,
        line: str,
        may_act: Callable[[Caller, Command], Message | None],
        second: Callable[[Caller, Command], SecondPerson | None],
        highest: str | None,
    ) -> None:
        self._line = line
        self._may_act = may_act
        self._second = second
        self._highest = highest
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
                second=self._second(caller, asked),
                highest=self._highest,
            )
        except NotRuled as error:
            return refused(asked.command_id, error)
        log.warning(
            "%s by %s as %s through user %s, with %s: %s",
            COMMAND, given.person, given.position, caller.user, given.consented_by, given.reason,
        )  # fmt: skip
        if not self._ruling.done():
            self._ruling.set_result(given)
        await asyncio.shield(self._done)
        return {"command_id": asked.command_id, "accepted": True, "events": []}

    async def ruled(self) -> Ruling:
        """The ruling, once there is one."""
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
