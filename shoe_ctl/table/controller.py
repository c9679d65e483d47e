"""The table's controller: one input in, its effects out.

In: inputs in the order in which they happened; their times never run backwards. Out: events, the
state that the shoe should have, wake-ups, answers. Must not know: clocks, I/O, randomness, who
delivers the effects.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from transitions import Event, EventData, Machine, MachineError, State, Transition

from firmware_proto.commands import Armed, Locked
from firmware_proto.events import Hello
from firmware_proto.suggestion import nearest_name
from shoe_ctl.games.game import Game
from shoe_ctl.table import answers, applied_outcomes, commands, status, transitions
from shoe_ctl.table.answers import sentence
from shoe_ctl.table.cases import find_case
from shoe_ctl.table.effects import Answer, Effect, WakeAt
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
    DiskChecked,
    DoorNoted,
    Fault,
    HearingLost,
    HearingRestored,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotesRefused,
    NotTold,
    OutcomeApplied,
    Restarted,
    ShoeSaid,
    ShoeStated,
    StorageRestored,
    TableCommand,
    Tick,
)
from shoe_ctl.table.irregularities import power_failure
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import Procedure
from shoe_ctl.table.round import entitlement, reveal
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.shoe import arming, link, outbox
from shoe_ctl.table.situations import DEALT_UNTIL_SEEN, STATES, TO_THE_OUTCOME
from shoe_ctl.table.state import TableState, phase
from shoe_ctl.table.transitions import UNFORESEEN, Line, lines
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.table.wagers import payments
from shoe_ctl.texts.message import Message, message

REVISING = ("revise_round", "correct_card", "retract")
"""Commands that change money after the outcome: their answer says what each Player gets."""

_TRIGGERS = {
    LinkUp: "link_up",
    LinkLost: "link_lost",
    LineSuspended: "line_suspended",
    LineResumed: "line_resumed",
    HearingLost: "hearing_lost",
    HearingRestored: "hearing_restored",
    Restarted: "restarted",
    Tick: "tick",
    NotTold: "not_told",
    Fault: "fault",
    StorageRestored: "storage_restored",
    DeliveryParked: "delivery_parked",
    DeliveryTaken: "delivery_taken",
    DeliveryLost: "delivery_lost",
    DeliveryRefilled: "delivery_refilled",
    CommandsRefused: "commands_refused",
    DiskChecked: "disk_checked",
    OutcomeApplied: "outcome_applied",
    ShoeStated: "shoe_stated",
    DoorNoted: "door_noted",
    NotesRefused: "notes_refused",
}
"""Type of an input that is neither a shoe event nor a command → its trigger."""


class TableController:
    """Controls one table by its game's rules.

    ``handle`` depends on the state and the input alone: the same inputs always give the same
    effects. If it raises, the state is unchanged. ``procedures`` are the irregularities and pauses
    that may halt the table, by key.
    """

    def __init__(
        self,
        game: Game,
        settings: TableSettings,
        state: TableState | None = None,
        *,
        procedures: Mapping[str, Procedure] = PROCEDURES,
    ) -> None:
        self.game = game
        self.settings = settings
        self.procedures = procedures
        self.state = TableState() if state is None else state
        self._turn = Turn(game, settings, procedures)
        self._settled: TableState | None = None
        """The state that the last input left, with what follows from it: orders, wake-ups."""
        self._desired_by = self.state.arming
        self._desired = arming.ordered(self.state)

    def assume_reading(self) -> None:
        """Take what people name for what the shoe read: a preview must not say if it is."""
        self._turn.assumes_reading = True

    @property
    def desired(self) -> Armed | Locked:
        """The state that the shoe should have now: armed for a draw, or locked."""
        if self.state.arming is not self._desired_by:
            self._desired_by, self._desired = self.state.arming, arming.ordered(self.state)
        return self._desired

    def handle(self, happened: Input) -> list[Effect]:
        """Handle this input: change the table's state and return the effects, in order.

        Raises:
            ValueError: the input's time is before the last one's.
        """
        if happened.t_us < self.state.t_us:
            raise ValueError(f"time ran backwards: {happened.t_us} after {self.state.t_us}")
        turn = self._turn
        turn.begin(self.state, happened)
        event = happened.event if isinstance(happened, ShoeSaid) else None
        if type(event) in link.IDENTIFYING_EVENTS or turn.now.link.claim is not None:
            link.identify(turn)
        if turn.now.outbox.waiting:
            outbox.process_answer(turn)
        if event is not None:
            run(turn, event.type if event.type in transitions.triggers() else UNFORESEEN)
            if isinstance(event, Hello):
                turn.set_link(identified=True)
                if turn.now.outbox.waiting or turn.now.link.commands_known:
                    outbox.resend(turn, event)
        elif isinstance(happened, TableCommand):
            self._handle_command(turn, happened)
        else:
            run(turn, _TRIGGERS[type(happened)])
            if isinstance(happened, StorageRestored) and happened.ruling is not None:
                ruling = happened.ruling
                accepted = Answer(command_id=ruling.command_id, accepted=True)
                answers.remember(turn, ruling, accepted)
        if turn.state != turn.now.state:
            turn.change(state=turn.state)
        self._settle(turn)
        return turn.effects

    def _settle(self, turn: Turn) -> None:
        """Keep the turn's state, with the orders and the wake-up that follow from it.

        Where nothing of it changed, those of the state before stand. A halt may look at more than
        the state.
        """
        if self.settings.applied_within_s is not msgspec.UNSET:
            applied_outcomes.follow(turn)
        if turn.has_changed or turn.now.halt is not None or self._settled is not self.state:
            _order_shoe_and_wake_up(turn)
            _assert_phase(turn.now)
        self.state = self._settled = turn.now

    def _handle_command(self, turn: Turn, command: TableCommand) -> None:
        """Take or refuse a command. One that was answered before only gets its answer again."""
        if (why := answers.check_command_id(turn.now.answered, command)) is not None:
            turn.refuse(why)
            assert turn.refusal is not None
            turn.effects.append(turn.refusal)
            return
        first = turn.now.answered.get(command.command_id)
        if first is not None:
            turn.effects.append(first.again())
        else:
            if not (_refuse_in_any_state(turn, command) or commands.refuse_by_check(turn)):
                run(turn, command.command)
            answer = _accept(turn, command) if turn.refusal is None else _refuse(turn)
            answers.remember(turn, command, answer)
            turn.effects.append(answer)


def _refuse_in_any_state(turn: Turn, command: TableCommand) -> bool:
    """Refuse a command that no state takes: unknown, for another round, or from too low a position.

    Return True if it was refused.
    """
    open_round = turn.now.round.id if turn.now.round is not None else None
    if command.command not in commands.COMMANDS:
        turn.refuse(_unknown_command(command.command))
    elif command.round_id is not None and command.round_id != open_round:
        turn.refuse(_not_the_open_round(command.round_id, open_round))
    elif not commands.can_give(
        command.position,
        command.command,
        needed := commands.lowest_position(command.command, turn.game, command.args),
        highest=turn.settings.highest_position,
    ):
        commands.refuse_position(turn, needed)
    return turn.refusal is not None


def _unknown_command(named: str) -> Message:
    """Return the refusal of an unknown command, with the one that was likely meant."""
    meant = nearest_name(named, commands.COMMANDS)
    if meant is not None:
        return message("refused_command_misspelt", command=named, meant=meant)
    return message("refused_no_such_command", command=named)


def _not_the_open_round(named: str, open_round: str | None) -> Message:
    """Return the refusal of a command for a round that is not open."""
    if open_round is None:
        return message("refused_round_not_open", round_id=named)
    return message("refused_another_round_open", round_id=named, open=open_round)


def _accept(turn: Turn, command: TableCommand) -> Answer:
    """Return the answer to a command that was taken: what happened, what the table waits for."""
    halt, view = turn.now.halt, _view_after(turn)
    waits = stack.due_decision(turn) if commands.takes_in(turn.state, "decide") else None
    revises = command.command in REVISING
    paid = payments.payment_messages(view) if revises else []
    return Answer(
        command_id=command.command_id,
        accepted=True,
        halted=None if halt is None else turn.public_key(halt.current.key),
        asks=turn.public_key(waits.key) if halt is None and waits is not None else None,
        message=sentence(turn.effects, status.next_message(view), paid),
    )


def _refuse(turn: Turn) -> Answer:
    """Return the answer to a command that was refused: why, what the table waits for."""
    assert turn.refusal is not None
    todo = message("done_nothing", next=status.next_message(_view_after(turn)))
    return msgspec.structs.replace(turn.refusal, message=todo)


def _view_after(turn: Turn) -> TableView:
    """Return the table as it stands once the command is done, or refused."""
    stands = msgspec.structs.replace(turn.now, state=turn.state, arming=None)
    return TableView(stands, turn.game, turn.settings, turn.procedures)


def _order_shoe_and_wake_up(turn: Turn) -> None:
    """Order the state that the shoe should have and the next wake-up, where either changed."""
    now = turn.now
    arming.order(turn, _slot_wanted(turn))
    wake_us = _wake_us(turn)
    if wake_us != now.wake_us:
        turn.change(wake_us=wake_us)
        if wake_us is not None:
            turn.effects.append(WakeAt(wake_us))


def _slot_wanted(turn: Turn) -> tuple[str, int] | None:
    """Return the hand and index that the shoe should be armed for, by the open step or the round.

    The round's first card waits until whoever has the shoe may draw it.
    """
    now = turn.now
    if now.halt is not None:
        return stack.wanted_slot(turn)
    if now.state == "closed" and not entitlement.may_draw(now.control, now.wagers):
        return None
    return arming.wanted(turn)


def _assert_phase(now: TableState) -> None:
    """Assert that from *no more bets* to the outcome the state is the one the cards stand for.

    While the table is halted this must hold for the state in which play resumes.
    """
    state = now.state if now.halt is None else now.halt.resume_state
    if state in TO_THE_OUTCOME:
        assert state == phase(now), f"{state} with the cards of {phase(now)}"


def _wake_us(turn: Turn) -> int | None:
    """Return when to wake the table: for the round, a shoe's answer or proof, a table system."""
    now, round_us = turn.now, _round_wakes_us(turn)
    if not now.outbox.waiting and now.link.claim is None and now.told is msgspec.UNSET:
        return round_us
    wakes = (
        round_us,
        outbox.next_deadline_us(now),
        link.proof_due_us(now),
        applied_outcomes.next_due_us(now, turn.settings),
    )
    return min((t for t in wakes if t is not None), default=None)


def _round_wakes_us(turn: Turn) -> int | None:
    """Return when the next card counts as seen, or when the shoe's own result is overdue."""
    now, settings = turn.now, turn.settings
    if now.halt is not None:
        return power_failure.face_up_seen_at_us(turn) if settings.faces == "face_up" else None
    if now.round is None or now.state not in DEALT_UNTIL_SEEN:
        return None
    if (seen_us := turn.seen_at_us()) is not None:
        return seen_us
    return None if now.round.complete_us is None else reveal.result_due_us(turn, now.round)


# The state machine: the lines of the tables, as the library's events and transitions.


def run(turn: Turn, trigger: str) -> None:
    """Take the line for this trigger, then for each trigger that its actions fire, in that order.

    The case of a trigger is found when it is its turn, as the table stands then.
    """
    events: Mapping[str, Any] = machine().events  # each is a Trigger
    pending = turn.triggers
    while True:
        turn.source = turn.state
        events[find_case(turn, trigger)].take(turn)
        if not pending:
            return
        trigger = pending.popleft()


@functools.cache
def machine() -> Machine:
    """Return the machine that all tables share: it has no state and moves the turn it is given."""
    made = Machine(model=None, states=list(STATES), initial=STATES[0], auto_transitions=False)
    for (_, trigger), each in lines().items():
        event = made.events.setdefault(trigger, Trigger(trigger, made))
        for line in each:
            event.add_transition(Move(line))
    return made


class Trigger(Event):
    """All lines of one trigger, by state.

    The library's own class prepares callbacks and queues, which this machine does not use. This one
    looks up the state's lines and takes the first one whose conditions hold.
    """

    def trigger(self, model: object, *_: object, **__: object) -> bool:
        """Take the line of the model's state.

        Raises:
            MachineError: the state has no line for this trigger.
        """
        assert isinstance(model, Turn)
        return self.take(model)

    def take(self, turn: Turn) -> bool:
        """Take the line of the turn's state; raise as ``trigger``."""
        moves: Sequence[Any] | None = self.transitions.get(turn.state)  # each is a Move
        if moves is None:
            raise MachineError(f"no line for {self.name} in the state {turn.state}")
        states = self.machine.states
        for move in moves:  # noqa: SIM110 - any() would take longer than most lines
            if move.take(states, turn):
                return True
        return False


_NO_CALLBACKS: list[Any] = []
"""The library's own callbacks of each move: none. A list for each of them would be 400 kB."""


class Move(Transition):
    """One line of the tables.

    The library's own class finds conditions and callbacks by name and logs each step. A move calls
    the functions of its line, in order, and nothing else.
    """

    def __init__(self, line: Line) -> None:
        super().__init__(line.state, line.state)
        self.prepare = self.before = self.after = self.conditions = _NO_CALLBACKS
        self._to, self._when, self._do = line.to, line.when, line.do

    def execute(self, event_data: EventData) -> bool:
        """Take the line if its conditions hold: change the state, then run its actions."""
        assert isinstance(event_data.model, Turn)
        return self.take(event_data.machine.states, event_data.model)

    def take(self, states: Mapping[str, State], turn: Turn) -> bool:
        """Take the line without the library's event data, which no line needs.

        The turn then has one of the machine's ``states``.
        """
        for holds in self._when:
            if not holds(turn):
                return False
        to = self._to if isinstance(self._to, str) else self._to(turn)
        if to != self.source:
            turn.state = states[to].name
        for act in self._do:
            act(turn)
        return True
