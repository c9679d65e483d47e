"""The answers to a table's commands: first answers, repeats, refusals within a budget, rulings.

In: commands of people and of the table system, and who sees the answer. Out: answers, once what
they say is stored. Must not know: sockets, brokers, which rules a command must keep.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Executor
from functools import partial

import msgspec

from shoe_ctl.daemon import journal_loss
from shoe_ctl.daemon.refusal_budget import RECORDED, RefusalBudget, principal_of
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.history.event_ids import Answered, RecordedAnswer
from shoe_ctl.history.older_rounds import find_older_round
from shoe_ctl.records import Audience
from shoe_ctl.table import answers, preview
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.entered_rounds import REVISE, last_told
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.preview import Preview
from shoe_ctl.table.state import OlderRound, older_to_bytes
from shoe_ctl.texts.message import Message, message

log = logging.getLogger(__name__)


class CommandAnswers:
    """Answers the commands of one table.

    ``link`` leads to its shoe, and knows of a loss. ``executor`` reads the journal, which blocks.
    """

    def __init__(
        self, transactions: TableTransactions, link: ShoeLink, executor: Executor | None = None
    ) -> None:
        self._transactions = transactions
        self._executor = executor
        self._controller = transactions.controller
        self._index = transactions.index
        self._refusals = transactions.refusals
        self._previews = RefusalBudget()
        self._link = link

    async def command(self, command: TableCommand, sees: Audience) -> Answered:
        """Handle a command of a person or of the table system; answer it when it is stored.

        ``command.t_us`` is replaced by the time it is taken up. A repeated id gets its first answer
        again, and nothing is done; with another command, or from another user, it is refused.
        """
        async with self._transactions.turn:
            answered = await self._answered(command, sees)
        if answered is not None:
            return answered
        assert self._link.compare is not None
        highest = self._controller.settings.highest_position
        losses = self._link.compare.losses
        ruled = await losses.rule(self._transactions.table, command, highest)
        if ruled is None:  # a person ruled meanwhile: this one comes too late
            return await self.command(command, sees)
        return Answered(ruled, ())

    async def preview(self, command: TableCommand) -> Preview:
        """Return what the command would come to at the table as it is stored.

        Nothing is done, and nothing is recorded. Each principal has a budget.
        """
        async with self._transactions.turn:
            self._transactions.refuse_after_failure()
            if self._link.doubt is not None:
                doubt = message("daemon_loss_not_ruled", detail=self._link.doubt)
                return Preview(_refused(command, doubt).answer, None)
            now_us = self._transactions.now()
            if self._previews.is_spent(principal_of(command), now_us):
                spent = message("refused_too_many_previews", most=RECORDED)
                return Preview(_refused(command, spent).answer, None)
            self._previews.record(principal_of(command), now_us)
            whole = await self._with_older_round(command)
            if isinstance(whole, Message):
                return Preview(_refused(command, whole).answer, None)
            asked = msgspec.structs.replace(whole, t_us=now_us)
            stored = self._transactions.stored_state
            try:
                return preview.preview(self._controller, stored, asked)
            except Exception:
                log.exception(
                    "%s: preview failed: command=%s", self._transactions.table, command.command
                )
                failed = message("refused_no_preview", command=command.command)
                return Preview(_refused(command, failed).answer, None)

    def note_ruling(self, ruling: TableCommand) -> None:
        """Note the answer to a ruling on a lost journal, which is stored with this table."""
        answer = Answer(command_id=ruling.command_id, accepted=True)
        self._index.add_answer(RecordedAnswer(answer, ()))
        self._index.keep_answers(self._controller.state.answered)

    async def _answered(self, command: TableCommand, sees: Audience) -> Answered | None:
        """Return the answer; None for a ruling on a lost journal, which is taken for all tables."""
        self._transactions.refuse_after_failure()
        before = self._used_before(command)
        first = self._first_answer(command)
        if before is None and first is not None:
            return first.seen_by(sees)
        compare, doubt = self._link.compare, self._link.doubt
        rules = command.command == journal_loss.COMMAND and first is None and before is None
        if rules and compare is not None and compare.losses.is_open:
            return None
        if doubt is not None:
            if command.command == journal_loss.COMMAND and before is not None:
                return _refused(command, before)
            return _refused(command, message("daemon_loss_not_ruled", detail=doubt))
        if rules:
            return _refused(command, journal_loss.NO_LOSS)
        now_us = self._transactions.now()
        if before is not None and command.command_id not in self._controller.state.answered:
            self._count(command, now_us)
            return _refused(command, before)
        whole = command
        if before is None:
            found = await self._completed(command)
            if isinstance(found, Message):
                return _refused(command, found)
            whole = found
        taken_up = msgspec.structs.replace(whole, t_us=self._transactions.now())
        answered = await self._take_up(taken_up)
        if before is None and command.command_id in self._controller.state.answered:
            self._index.add_answer(answered)
            self._index.keep_answers(self._controller.state.answered)
        return answered.seen_by(sees)

    async def _completed(self, command: TableCommand) -> TableCommand | Message:
        """Return a new command with all that it needs; the message says what cannot be had."""
        try:
            whole = await self._link.sender.with_key_number(command, self._link.known_device)
        except InputRefused as why:
            return message("daemon_rotate_key_refused", detail=str(why))
        added = tuple(name for name in whole.args if name not in command.args)
        return await self._with_older_round(msgspec.structs.replace(whole, added=added))

    async def _with_older_round(self, command: TableCommand) -> TableCommand | Message:
        """Return a revision with the round that it names, where the table does not hold that.

        Where it cannot be had the message says why.
        """
        named = command.args.get("round")
        state = self._controller.state
        if command.command != REVISE or not isinstance(named, str) or named == last_told(state):
            return command
        find = partial(self._find_older_round, named)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._executor, find)
        except (JournalError, ValueError):
            log.exception("%s: round not read: round=%s", self._transactions.table, named)
            return message("refused_round_unreadable", round_id=named)
        if isinstance(found, Message):
            return found
        return msgspec.structs.replace(command, older=msgspec.Raw(older_to_bytes(found)))

    def _find_older_round(self, named: str) -> OlderRound | Message:
        with self._transactions.journal.reader() as reader:
            return find_older_round(reader, self._transactions.table, named)

    def _used_before(self, command: TableCommand) -> Message | None:
        """Return why this is another command than the first one with its id; None if it is not."""
        recorded = self._controller.state.answered
        known = recorded if command.command_id in recorded else self._refusals.answered
        return answers.check_command_id(known, command)

    def _first_answer(self, command: TableCommand) -> RecordedAnswer | None:
        """Return the first answer to this id, recorded or not; None for a new one."""
        recorded = self._index.answer(command.command_id)
        unrecorded = self._refusals.answered.get(command.command_id)
        if recorded is not None or unrecorded is None:
            return recorded
        return RecordedAnswer(unrecorded.again(), ())

    async def _take_up(self, command: TableCommand) -> RecordedAnswer:
        """Handle a command. If it is refused and its giver's budget is spent, only count it."""
        if self._refusals.is_spent(principal_of(command), command.t_us):
            refusal = self._refusal_of(command)
            if refusal is not None:
                if command.command_id not in self._controller.state.answered:
                    self._refusals.remember(answers.first_answer(command, refusal))
                self._count(command, command.t_us)
                return RecordedAnswer(refusal, ())
        first = await self._handle(command)
        if not first.answer.accepted:
            self._refusals.record(principal_of(command), command.t_us)
        return first

    def _count(self, command: TableCommand, now_us: int) -> None:
        """Count a refusal that is not recorded; the table is woken to record how many they were."""
        self._refusals.count(principal_of(command), now_us)
        self._transactions.wake_next()

    def _refusal_of(self, command: TableCommand) -> Answer | None:
        """Return how the table would refuse this, without changing it; None if it would not."""
        before = self._controller.state
        try:
            effects = self._controller.handle(command)
        except Exception:  # noqa: BLE001 - reported when it is handled for good
            return None
        finally:
            self._controller.state = before
        refusals = [e for e in effects if isinstance(e, Answer) and not e.accepted]
        return refusals[0] if refusals else None

    async def _handle(self, command: TableCommand) -> RecordedAnswer:
        group, _ = self._transactions.begin()
        handles, given = self._transactions.run(group, [command])
        result = await self._transactions.commit(group)
        failed = Answer(
            command_id=command.command_id, accepted=False, error=message("daemon_not_handled")
        )
        events = tuple(result.ids[handle] for handle in handles)
        return RecordedAnswer(given[0] if given else failed, events)


def _refused(command: TableCommand, why: Message) -> Answered:
    """Return the refusal of a command that never becomes an input."""
    return Answered(Answer(command_id=command.command_id, accepted=False, error=why), ())
