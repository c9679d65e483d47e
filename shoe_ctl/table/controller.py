"""The table's controller: one input in, the effects it wants out.

In: inputs in the order they happened, times never running backwards. Out: events, the shoe's
desired state, wishes to be woken, answers. Must not know: clocks, I/O, randomness, who delivers.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping

import msgspec
from transitions import Event, EventData, Machine, MachineError, Transition

from firmware_proto.events import Armed, Hello, Locked
from shoe_ctl.games.game import Game
from shoe_ctl.texts.message import Message, message

from . import answers, commands, status, transitions, turn
from .answers import sentence
from .effects import Answer, Effect, WakeAt
from .inputs import (
    CommandsRefused,
    DeliveryParked,
    DeliveryTaken,
    Fault,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotTold,
    Restarted,
    ShoeSaid,
    StorageRestored,
    TableCommand,
    Tick,
)
from .irregularities import power_failure
from .irregularities.catalog import PROCEDURES
from .procedures import stack
from .procedures.procedure import Procedure
from .round import entitlement
from .round.reveal import is_result_awaited
from .settings import TableSettings
from .shoe import arming, link
from .shoe import commands as shoe_commands
from .situations import STATES
from .state import PHASES, TableState, phase
from .transitions import CASES, CHECKS, Line, lines
from .turn import TableView, Turn


class Trigger(Event):
    """All lines of one trigger, by state.

    The library's own way prepares for callbacks and queues that no table here has. This one looks
    up the state's lines and takes the first that holds.
    """

    def trigger(self, model: object, *_: object, **__: object) -> bool:
        """Take the model's line.

        Raises:
            MachineError: the model's state has no line for this trigger.
        """
        assert isinstance(model, Turn)
        moves = self.transitions.get(model.state)
        if moves is None:
            raise MachineError(f"no line for {self.name} in the state {model.state}")
        for move in moves:
            assert isinstance(move, Move)
            if move.take(self.machine, model):
                return True
        return False


class Move(Transition):
    """One line of the tables.

    The library's own way asks conditions and callbacks by name and logs each step. A move calls
    what its line names, in order, and nothing else.
    """

    def __init__(self, line: Line) -> None:
        super().__init__(line.state, line.state)
        self._to, self._when, self._do = line.to, line.when, line.do

    def execute(self, event_data: EventData) -> bool:
        """Take the line, if its conditions hold: first the state changes, then it acts."""
        assert isinstance(event_data.model, Turn)
        return self.take(event_data.machine, event_data.model)

    def take(self, machine: Machine, turn: Turn) -> bool:
        """Do the same for this turn: no line asks for the library's event data."""
        for holds in self._when:
            if not holds(turn):
                return False
        to = self._to if isinstance(self._to, str) else self._to(turn)
        if to != self.source:
            machine.set_state(machine.states[to], turn)
        for act in self._do:
            act(turn)
        return True


def run(turn: Turn, trigger: str) -> None:
    """Take the line for this trigger, and then for each that it gives the table, in their order.

    What a trigger is, of its cases, is asked when its turn comes.
    """
    events, waiting = machine().events, turn.triggers
    while True:
        turn.source = turn.state
        events[case_of(turn, trigger)].trigger(turn)
        if not waiting:
            return
        trigger = waiting.popleft()


def case_of(turn: Turn, trigger: str) -> str:
    """What this trigger is, as the table stands."""
    check = CHECKS.get(trigger)
    if check is not None:
        return check[0](turn)
    for case, holds in CASES.get(trigger, ()):
        if holds(turn):
            return case
    return trigger


@functools.cache
def machine() -> Machine:
    """The machine of every table: it holds no turn, and moves the one that it is given."""
    made = Machine(model=None, states=list(STATES), initial=STATES[0], auto_transitions=False)
    for (_, trigger), each in lines().items():
        event = made.events.setdefault(trigger, Trigger(trigger, made))
        for line in each:
            event.add_transition(Move(line))
    return made


_NAMES = {
    LinkUp: "link_up",
    LinkLost: "link_lost",
    LineSuspended: "line_suspended",
    LineResumed: "line_resumed",
    Restarted: "restarted",
    Tick: "tick",
    NotTold: "not_told",
    Fault: "fault",
    StorageRestored: "storage_restored",
    DeliveryParked: "delivery_parked",
    DeliveryTaken: "delivery_taken",
    CommandsRefused: "commands_refused",
}


class TableController:
    """Holds one table to its game's rules.

    ``handle`` is a function of the state and the input alone: the same inputs give the same
    effects, always. If it raises, the state is as it was before. ``procedures`` are what may halt
    the table, by key.
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

    @property
    def desired(self) -> Armed | Locked:
        """What the shoe should be now."""
        return arming.ordered(self.state)

    def handle(self, happened: Input) -> list[Effect]:
        """What this input makes of the table.

        Raises:
            ValueError: the input's time lies before the last one's.
        """
        if happened.t_us < self.state.t_us:
            raise ValueError(f"time ran backwards: {happened.t_us} after {self.state.t_us}")
        turn = self._turn
        turn.begin(self.state, happened)
        said_who = (
            isinstance(happened, ShoeSaid) and type(happened.event) in link.IDENTIFYING_EVENTS
        )
        if said_who or turn.now.link.claim is not None:
            link.identify(turn)
        if turn.now.outbox.waiting:
            shoe_commands.process_answer(turn)
        if isinstance(happened, TableCommand):
            self._command(turn, happened)
        elif isinstance(happened, ShoeSaid):
            said = happened.event.type
            run(turn, said if said in transitions.triggers() else transitions.UNFORESEEN)
            if isinstance(happened.event, Hello):
                turn.set_link(met=True)
                if turn.now.outbox.waiting or turn.now.link.obeys:
                    shoe_commands.resend(turn, happened.event)
        else:
            run(turn, _NAMES[type(happened)])
            if isinstance(happened, StorageRestored) and happened.ruling is not None:
                ruling = happened.ruling
                taken = Answer(command_id=ruling.command_id, accepted=True)
                answers.remember(turn, ruling, taken)
        if turn.state != turn.now.state:
            turn.change(state=turn.state)
        _assert_desires(turn)
        _assert_phase(turn.now)
        self.state = turn.now
        return turn.effects

    def _command(self, turn: Turn, command: TableCommand) -> None:
        if (why := answers.objection(turn.now.answered, command)) is not None:
            turn.refuse(why)
            assert turn.refusal is not None
            turn.effects.append(turn.refusal)
            return
        first = turn.now.answered.get(command.command_id)
        if first is not None:
            turn.effects.append(first.again())
        else:
            if not (_refuse_unfit(turn, command) or commands.refuse_unfit(turn)):
                run(turn, command.command)
            answer = turn.refusal or _done(turn, command)
            answers.remember(turn, command, answer)
            turn.effects.append(answer)


def _done(turn: Turn, command: TableCommand) -> Answer:
    """The command is taken, and whoever gave it learns what the table waits for now."""
    halt, waits = turn.now.halt, stack.due_decision(turn)
    stands = msgspec.structs.replace(turn.now, state=turn.state, arming=None)
    todo = status.next_message(TableView(stands, turn.game, turn.settings, turn.procedures))
    return Answer(
        command_id=command.command_id,
        accepted=True,
        halted=None if halt is None else turn.public_key(halt.top.key),
        asks=turn.public_key(waits.key) if halt is None and waits is not None else None,
        message=sentence(turn.effects, todo),
    )


def _unknown(named: str) -> Message:
    """There is no such command; the one that was likely meant, where one is spelt much alike."""
    alike = difflib.get_close_matches(named, commands.COMMANDS, n=1, cutoff=0.75)
    if alike:
        return message("refused_command_misspelt", command=named, meant=alike[0])
    return message("refused_no_such_command", command=named)


def _not_the_open_round(named: str, open_round: str | None) -> Message:
    if open_round is None:
        return message("refused_round_not_open", round_id=named)
    return message("refused_another_round_open", round_id=named, open=open_round)


def _refuse_unfit(turn: Turn, command: TableCommand) -> bool:
    """Refuse what no state would take: unknown, from too low a position, for another round."""
    open_round = turn.now.round.id if turn.now.round is not None else None
    if command.command not in commands.COMMANDS:
        turn.refuse(_unknown(command.command))
    elif not commands.may_give(
        command.position,
        command.command,
        needed := commands.needed(command.command, turn.game, command.args),
        highest=turn.settings.highest_position,
    ):
        low = message("refused_position_too_low", what=command.command, position=needed)
        turn.refuse(low, position=needed)
    elif command.round_id is not None and command.round_id != open_round:
        turn.refuse(_not_the_open_round(command.round_id, open_round))
    return turn.refusal is not None


def _assert_desires(turn: Turn) -> None:
    """Say what the shoe should be, and when to wake the table, where either changed."""
    now, settings = turn.now, turn.settings
    arming.order(turn, _slot_wanted(turn))
    wake_us = _wake_us(now, settings)
    if wake_us != now.wake_us:
        turn.change(wake_us=wake_us)
        if wake_us is not None:
            turn.effects.append(WakeAt(wake_us))


def _assert_phase(now: TableState) -> None:
    """From *no more bets* to the outcome the state is the one that the cards stand for.

    While the table is halted this is the state in which play resumes.
    """
    state = now.state if now.halt is None else now.halt.back_to
    assert state not in PHASES or state == phase(now), f"{state} with the cards of {phase(now)}"


def _slot_wanted(turn: Turn) -> tuple[str, int] | None:
    """The hand and index that the shoe should be open for: by the open step, or by the round.

    The round's first card waits until whoever has the shoe may draw it.
    """
    now = turn.now
    if now.halt is not None:
        return stack.wanted_slot(turn)
    if now.state == "closed" and not entitlement.may_draw(now.control, now.wagers):
        return None
    return arming.wanted(turn)


def _wake_us(now: TableState, settings: TableSettings) -> int | None:
    """When the round next wants to be woken, or an errand's answer or a proof is overdue."""
    round_us = _round_wakes_us(now, settings)
    if not now.outbox.waiting and now.link.claim is None:
        return round_us
    wakes = (round_us, shoe_commands.next_deadline_us(now), link.proof_due_us(now))
    return min((t for t in wakes if t is not None), default=None)


def _round_wakes_us(now: TableState, settings: TableSettings) -> int | None:
    """When the next card counts as seen, or the shoe's own result is overdue."""
    if now.halt is not None:
        return (
            power_failure.face_up_seen_at_us(now, settings) if settings.faces == "face_up" else None
        )
    if now.round is None or now.state not in ("dealing", "revealing"):
        return None
    if settings.faces == "face_up" and not turn.is_handed(now, settings):
        unseen = [d.drawn_us for d in now.round.cards if not d.revealed]
        if unseen:
            return min(unseen) + settings.face_up_after_ms * 1000
    if now.round.complete_us is not None and is_result_awaited(now):
        return now.round.complete_us + settings.result_timeout_s * 1_000_000
    return None
