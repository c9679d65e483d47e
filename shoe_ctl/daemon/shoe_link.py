"""The input from a table's link: connections, receptions and their loss, each stored as it comes.

In: facts of the link, receptions, what the table orders its shoe. Out: inputs in transactions, and
only then acknowledgements, the state that the shoe should have, commands to it. Must not know:
ports, sinks, people.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from firmware_proto.events import Hello, Status
from firmware_proto.session import Resume
from shoe_ctl.daemon import journal_loss
from shoe_ctl.daemon.shoe_commands import NoKey, ShoeCommandSender
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.history.recorder import inputs_of
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.reconnect import Supervisor, Suspension
from shoe_ctl.link.transport import Loss
from shoe_ctl.table.effects import Armed, Locked, ShoeCommand
from shoe_ctl.table.inputs import (
    HearingLost,
    HearingRestored,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotTold,
)
from shoe_ctl.texts.message import message

log = logging.getLogger(__name__)


class ShoeLink:
    """The link of one table, as its supervisor reports it.

    ``compare`` compares what the shoe has with what is stored; without it nothing is compared.
    """

    def __init__(
        self,
        transactions: TableTransactions,
        *,
        sender: ShoeCommandSender | None = None,
        compare: Comparison | None = None,
    ) -> None:
        self._transactions = transactions
        self._recorder = transactions.recorder
        self._table = transactions.table
        self.sender = ShoeCommandSender() if sender is None else sender
        self.compare = compare
        self._supervisor: Supervisor | None = None
        self._connection: Connection | None = None
        self._resumed_from: Resume | None = None
        self._unknown_device: str | None = None
        self._is_compared = False
        self._said: Resume | None = None
        """The last event that the shoe said was acknowledged, as the session has it."""
        self._said_before_hello: Resume | None = None
        transactions.shoe = self

    # What the table orders.

    def attach(self, supervisor: Supervisor) -> None:
        """Attach the link that is given the shoe's desired state."""
        self._supervisor = supervisor
        self.set_desired_state(self._transactions.controller.desired)

    def set_desired_state(self, state: Armed | Locked) -> None:
        """Set the state that the shoe should be in, on later connections too."""
        if self._supervisor is not None:
            self._supervisor.set_desired_state(state)

    async def send(self, commands: Sequence[ShoeCommand]) -> list[Input]:
        """Send the commands that are stored to the shoe. One that cannot be sent is an input again.

        Without a connection nothing is sent: the table gets a lost link, and orders anew.
        """
        not_sent: list[Input] = []
        for command in commands:
            try:
                wall_us = self._transactions.clock.wall_us()
                sent = await self.sender.to_session_command(command, self.known_device, wall_us)
                if self._connection is not None:
                    self._connection.command(sent)
            except ValueError as error:
                not_sent.append(
                    NotTold(
                        t_us=self._transactions.now(),
                        number=command.number,
                        reason="no_key" if isinstance(error, NoKey) else "not_sent",
                        why=message("shoe_not_told", detail=str(error)),
                    )
                )
        return not_sent

    @property
    def known_device(self) -> str | None:
        """The shoe that the table knows."""
        return self._transactions.controller.state.link.device_id

    # Connections.

    def resume(self) -> Resume | None:
        """Return the last known device, and the last event number stored of it."""
        device_id = self.known_device
        stored = self._recorder.last_stored(device_id)
        if device_id is None or stored is None or device_id == self._unknown_device:
            return None
        return Resume(device_id, stored)

    async def link_up(self, connection: Connection, profile: str, settings: dict[str, Any]) -> None:
        """A connection opened; nothing was read from it yet."""
        can, resume = connection.capabilities, self.resume()
        self._resumed_from, self._unknown_device = resume, None
        self._is_compared, self._said, self._said_before_hello = False, None, None
        self._connection = connection
        async with self._transactions.turn:
            group, t_us = self._transactions.begin()
            self._recorder.opened(
                group, connection, profile=profile, settings=settings, resume=resume, t_us=t_us
            )
            up = LinkUp(
                t_us=t_us,
                connection=connection.number,
                profile=profile,
                arm=can.arm,
                replay=can.replay,
                judges=can.judges,
                names_hands=can.names_hands,
                authenticated=can.authenticated,
                commands=can.commands,
                obeys=can.obeys,
                tells=can.tells,
            )
            self._transactions.run(group, [up])
            await self._transactions.commit(group)

    async def link_lost(self, loss: Loss) -> None:
        """A connection ended."""
        number = self._connection.number if self._connection is not None else 0
        await self._store_end(lambda t_us: [_link_lost(loss, t_us, number)])

    async def line_suspended(self, found: Suspension) -> None:
        """The line brought more garbage than is recorded; its connection was closed."""

        def suspended(t_us: int) -> list[Input]:
            again: list[Input] = [line_suspended(found, t_us)]
            lost = _link_lost(found.loss, t_us, found.connection)
            return again if found.again else [*again, lost]

        await self._store_end(suspended)

    async def _store_end(self, inputs: Callable[[int], list[Input]]) -> None:
        """Store inputs about a connection that ended, and forget it."""
        self._connection = None
        async with self._transactions.turn:
            group, t_us = self._transactions.begin()
            self._recorder.ended()
            self._transactions.run(group, inputs(t_us))
            await self._transactions.commit(group)

    async def line_resumed(self, unkept: int) -> None:
        """The line is quiet and is opened again."""
        async with self._transactions.turn:
            await self._transactions.store(lambda t_us: [LineResumed(t_us=t_us, unkept=unkept)])

    async def hearing_changed(self, hears: bool) -> None:
        """The shoe of this connection does not receive what is sent to it, or does again."""
        number = self._connection.number if self._connection is not None else 0
        kind = HearingRestored if hears else HearingLost
        async with self._transactions.turn:
            await self._transactions.store(lambda t_us: [kind(t_us=t_us, connection=number)])

    async def store_suspension(self) -> None:
        """Store that a line is suspended, with what it brought that was not stored yet.

        The table's turn is held meanwhile.
        """
        if self._supervisor is not None and (found := self._supervisor.unreported) is not None:
            await self._transactions.store(lambda t_us: [line_suspended(found, t_us)])

    # Receptions.

    async def receive(self, reception: Reception) -> None:
        """Store what was received in one go: raw bytes, inputs and events. Then acknowledge it.

        If the shoe shows that more of its events were acknowledged than are stored here, nothing of
        it is stored before a person rules on that.
        """
        before, self._said = self._said, reception.acknowledged
        if self._is_compared:
            for heard in reception.heard:
                if type(heard.event) is Hello:  # another shoe, or this one after a restart
                    self._is_compared, self._said_before_hello = False, before
        if not self._is_compared and not await self._is_complete(reception.acknowledged):
            return
        transactions = self._transactions
        async with transactions.turn:
            group, t_us = transactions.begin(reception.t_us)
            last = self._recorder.received(group, reception, t_us)
            follows = transactions.run_reception(group, inputs_of(reception, t_us))
            if not follows and _is_status(reception):
                await transactions.store_later(group)
                return
            await transactions.commit(group)
            if self.sender.notes_proofs:
                await self.sender.note_proofs(heard.event for heard in reception.heard)
        if last is not None and self._connection is not None:
            self._connection.stored(last)

    # A shoe of which more was acknowledged than is stored.

    async def _is_complete(self, said: Resume | None) -> bool:
        """Return whether all that the shoe says was acknowledged is stored here.

        If not, a person rules on that first, unless somebody did already. Then the connection is
        closed, and the shoe is treated as unknown on the next one: the cards between are missed.

        It is asked until a shoe has said it once after each hello: from then on only this host
        acknowledges its events.
        """
        compare, met = self.compare, self._resumed_from
        if compare is None or self._connection is None:
            return True
        if said is None or said is self._said_before_hello:
            return True  # it did not say it yet
        if met is not None and met.device_id == said.device_id:
            stored = self._recorder.last_stored(said.device_id)
            if stored is not None and said.seq > stored:
                if compare.expected:
                    await compare.losses.report(
                        self._table,
                        f"table {self._table}: shoe {said.device_id} had its events {stored + 1} "
                        f"to {said.seq} acknowledged, and the journal does not hold them",
                    )
                    compare.expected = False
                lost = message(
                    "link_events_lost", first=stored + 1, last=said.seq, device_id=said.device_id
                )
                log.warning(
                    "%s: events lost: shoe=%s first=%d last=%d. The connection is opened again.",
                    self._table, said.device_id, stored + 1, said.seq,
                )  # fmt: skip
                self._unknown_device = said.device_id
                self._connection.drop(Loss("events_lost", lost))
                return False
        self._is_compared = True
        compare.expected = compare.is_compared = True
        compare.opens(self._table)
        return True

    @property
    def doubt(self) -> str | None:
        """The loss that the shoe shows and nobody ruled on; None where it shows none."""
        return None if self.compare is None else self.compare.losses.line(self._table)

    async def without_doubt(self) -> None:
        """Return once the shoe shows no loss, or a person ruled on it."""
        if self.compare is not None:
            await self.compare.losses.over(self._table)


def line_suspended(found: Suspension, t_us: int) -> LineSuspended:
    """Return the input about a line that is left alone."""
    return LineSuspended(
        t_us=t_us,
        connection=found.connection,
        wait_s=round(found.wait_s),
        unkept=found.unkept,
        again=found.again,
    )


def _link_lost(loss: Loss, t_us: int, connection: int) -> LinkLost:
    return LinkLost(t_us=t_us, connection=connection, reason=loss.reason, why=loss.why)


def _is_status(reception: Reception) -> bool:
    """Return whether the shoe reported its status and nothing else: that is never acknowledged."""
    if reception.fault is not None or not reception.heard:
        return False
    for heard in reception.heard:  # noqa: SIM110 - all() would take longer than most receptions
        if type(heard.event) is not Status:
            return False
    return True


class Comparison:
    """Compares what a shoe has with what is stored, when the shoe first says what it has.

    ``expected``: a loss that it shows is to be ruled on; otherwise a person did that already.
    ``opens`` is called when the shoe was compared, ``is_compared`` says whether it was. A loss is
    reported to ``losses``.
    """

    def __init__(
        self,
        *,
        expected: bool,
        is_compared: bool,
        opens: Callable[[str], None],
        losses: journal_loss.LossRulings,
    ) -> None:
        self.expected = expected
        self.is_compared = is_compared
        self.opens = opens
        self.losses = losses

    def ruled(self) -> None:
        """A person ruled on what a shoe shows that was not compared yet."""
        self.expected = self.is_compared
