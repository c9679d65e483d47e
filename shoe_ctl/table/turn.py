"""The turn: one input being handled, with the table as it changes and the effects so far.

In: a TableState and one input. Out: the next TableState and the effects, for the controller. A
TableView only reads; an Objection says why a command cannot be taken. Must not know: which state
follows which, clocks, I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar, cast

from msgspec.structs import replace

from firmware_proto.events import CardDrawn, ShoeEvent
from shoe_ctl.games.game import Game
from shoe_ctl.games.wagers import Settlement
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import Answer, Effect, Instance, Instances, TableEvent
from shoe_ctl.table.inputs import Happened, Input, ShoeSaid, StorageRestored, TableCommand
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.state import (
    BEGUN_BY_A_CARD,
    DEALT_IN,
    Halt,
    OpenIrregularity,
    Round,
    Shoe,
    TableState,
)
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.texts.message import Message, message


class Cause(NamedTuple):
    """Why an irregularity is raised."""

    key: str
    """The key of the irregularity or pause."""
    seen: Message
    """A description of what was seen; it never names a card."""
    public_seen: Message | None = None
    """The part that the public may know, where that is less than ``seen``."""
    subject: str | None = None
    """Tells this irregularity from others with the same key."""
    data: Mapping[str, Any] = MappingProxyType({})
    """Facts that its steps need: plain JSON values."""
    step: str | None = None
    """The step at which it begins; None: the first one of its procedure."""


class Disclosure(Protocol):
    """The public part of an irregularity or a pause. A procedure says it, among other things."""

    @property
    def public_key(self) -> str | None:
        """The name that public events give it; None: by its key."""

    @property
    def inspection(self) -> bool:
        """True if all its events are restricted."""

    @property
    def pause(self) -> bool:
        """True if it is a pause, which names no irregularity."""

    @property
    def events(self) -> Mapping[str, str]:
        """Of a pause: the event types that replace those of an irregularity."""


HANDED = ("A", "C")
"""The methods in which Players handle cards, which are then always dealt face down."""

PUBLIC, RESTRICTED = Audience.PUBLIC, Audience.RESTRICTED
_Event = TypeVar("_Event", bound=ShoeEvent)
_Input = TypeVar("_Input", bound=Happened)


class TableView:
    """A table that is only read: its state, its game, its settings, its procedures.

    ``procedures`` are the irregularities and pauses that may halt the table, by key. Here only what
    they disclose matters; ``procedures.procedure.find_procedure`` returns one whole.
    """

    def __init__(
        self,
        now: TableState,
        game: Game,
        settings: TableSettings,
        procedures: Mapping[str, Disclosure],
    ) -> None:
        self.now = now
        self.game = game
        self.settings = settings
        self.procedures = procedures

    @property
    def round(self) -> Round:
        """The open round."""
        assert self.now.round is not None
        return self.now.round

    @property
    def shoe(self) -> Shoe:
        """The loaded shoe."""
        assert self.now.shoe is not None
        return self.now.shoe

    @property
    def halt(self) -> Halt:
        """The halt of the table, which is halted."""
        assert self.now.halt is not None
        return self.now.halt

    @property
    def current(self) -> OpenIrregularity:
        """The irregularity or pause that is decided now."""
        return self.halt.current

    @property
    def resume_state(self) -> str:
        """The state in which play resumes once the halt is over."""
        return self.halt.resume_state

    @property
    def method(self) -> str | None:
        """The method in force: A, B or C; None where the game has none."""
        return self.settings.method if self.now.method is None else self.now.method

    @property
    def is_handed(self) -> bool:
        """True if Players may handle cards."""
        # Asked several times for each card: no property asks another one here, nor in ``faces``.
        method = self.now.method
        return (self.settings.method if method is None else method) in HANDED

    @property
    def faces(self) -> str:
        """The way cards are dealt now: ``turned_by_dealer`` or ``face_up``."""
        settings, method = self.settings, self.now.method
        handed = (settings.method if method is None else method) in HANDED
        return "turned_by_dealer" if handed else settings.faces

    def seen_at_us(self) -> int | None:
        """Return when the next card that lies face up counts as seen, while the round goes on."""
        now, settings = self.now, self.settings
        method = settings.method if now.method is None else now.method
        if now.round is None or settings.faces != "face_up" or method in HANDED:
            return None
        unseen = [dealt.drawn_us for dealt in now.round.cards if not dealt.revealed]
        return min(unseen) + settings.face_up_after_ms * 1000 if unseen else None

    @property
    def implied(self) -> bool:
        """True if announcements are inferred from the cards; never if Players handle them."""
        return self.settings.announcements == "implied" and not self.is_handed

    @cached_property
    def wager_rules(self) -> WagerRules:
        """The limits of wagers at this table."""
        settings = self.settings
        return WagerRules(self.game, settings.layout, settings.limits, settings.seats)

    def settle(self, played: Round) -> Settlement:
        """Return how the wagers of the game settle by the cards of this round."""
        hands = played.hand("player"), played.hand("banker")
        layout = self.settings.layout
        return self.game.settle_hands(*hands, layout=layout, ruled=played.against_table)

    def is_shoe_sorted(self) -> bool:
        """True if the round gets no card from the shoe any more: its cards lie on the table."""
        return self.now.round is not None and self.now.round.shoe_sorted

    def takes_card_in(self, state: str) -> bool:
        """Return whether a card may be drawn in this state; implied announcements follow it."""
        return state in DEALT_IN or (state in BEGUN_BY_A_CARD and self.implied)

    def public_key(self, key: str) -> str:
        """Return what public events call this irregularity or pause."""
        return self.procedures[key].public_key or key


NOBODY: dict[str, str | None] = {}
"""The actor of an input that no command brought."""


def _actor(happened: Input) -> dict[str, str | None]:
    """Return who gave the command that this input is, or that it brings."""
    asked = happened.ruling if isinstance(happened, StorageRestored) else happened
    if not isinstance(asked, TableCommand):
        return NOBODY
    return {
        "person": asked.person,
        "position": asked.position,
        "why": asked.reason,
        "consented_by": asked.consented_by,
        "command_id": asked.command_id,
    }


class _NoCard:
    """Stands where the input is no drawn card: whoever asks it for anything has a fault."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"this input is no drawn card: it has no {name}")


_NO_CARD = cast(CardDrawn, _NoCard())


class Turn(TableView):
    """One input being handled: the model that the state machine moves.

    Attributes:
        now: the table's state as it has changed so far.
        state: the state the table is in now.
        source: the state it was in when the present trigger came.
        triggers: those that actions fired and that are not run yet.
        effects: what this input has given so far, in order.
        resumes_in: the state in which play resumes once the last irregularity has ended.
        refusal: the answer, if the command of this input was refused.
        args: the arguments of the command, once they were read.
        assumes_reading: whether what people name is taken for what the shoe read; in a preview.
        has_changed: whether anything changed that orders, wake-ups and the phase depend on.
    ``drawn`` is the card of this input; it is there only if the input is a drawn card.
    """

    drawn: CardDrawn

    def __init__(
        self, game: Game, settings: TableSettings, procedures: Mapping[str, Disclosure]
    ) -> None:
        super().__init__(TableState(), game, settings, procedures)
        # At once: with limits that the game has no place for there is no table.
        self.wager_rules = WagerRules(game, settings.layout, settings.limits, settings.seats)
        self.effects: list[Effect] = []
        self.state = self.source = self.now.state
        self.triggers: deque[str] = deque()
        self.resumes_in = ""
        self.refusal: Answer | None = None
        self._event: ShoeEvent | None = None
        self._actor = NOBODY
        self.args: Any = None
        self.drawn = _NO_CARD
        self.has_changed = False
        self.assumes_reading = False

    def stand_at(self, now: TableState) -> None:
        """Stand at this state without an input, for checks that are asked without a command."""
        self.now = now
        self.state = self.source = now.state

    def begin(self, now: TableState, happened: Input) -> None:
        """Start handling an input from this state."""
        self.now = replace(now, t_us=happened.t_us, inputs=now.inputs + 1)
        self.input = happened
        if isinstance(happened, ShoeSaid):
            self._event, self._actor = happened.event, NOBODY
            event = happened.event
            self.drawn = event if isinstance(event, CardDrawn) else _NO_CARD
        else:
            self._event, self._actor, self.drawn = None, _actor(happened), _NO_CARD
        self.state = self.source = now.state
        self.triggers.clear()
        self.effects = []
        self.refusal = None
        self.args = None
        self.has_changed = False

    # The input.

    @property
    def shoe_event(self) -> ShoeEvent:
        """The shoe event of this input."""
        assert self._event is not None
        return self._event

    def event(self, kind: type[_Event]) -> _Event:
        """Return the shoe event of this input, which must be of this type."""
        assert isinstance(self._event, kind)
        return self._event

    def input_of(self, kind: type[_Input]) -> _Input:
        """Return this input, which must be of this type."""
        assert isinstance(self.input, kind)
        return self.input

    @property
    def command(self) -> TableCommand:
        """The command of this input."""
        assert isinstance(self.input, TableCommand)
        return self.input

    # Changes of the state.

    def change(self, **fields: Any) -> None:
        """Replace fields of the table's state."""
        self.now = replace(self.now, **fields)
        self.has_changed = True

    def set_round(self, **fields: Any) -> None:
        """Replace fields of the open round."""
        self.now = replace(self.now, round=replace(self.round, **fields))
        self.has_changed = True

    def set_shoe(self, **fields: Any) -> None:
        """Replace fields of the loaded shoe."""
        self.now = replace(self.now, shoe=replace(self.shoe, **fields))
        self.has_changed = True

    def set_link(self, **fields: Any) -> None:
        """Replace fields of the link."""
        self.now = replace(self.now, link=replace(self.now.link, **fields))
        self.has_changed = True

    def note(self, **fields: Any) -> None:
        """As ``change``, where neither an order nor a wake-up nor the phase depends on it."""
        self.now = replace(self.now, **fields)

    def note_of_shoe(self, **fields: Any) -> None:
        """As ``set_shoe``, where neither an order nor a wake-up nor the phase depends on it."""
        self.now = replace(self.now, shoe=replace(self.shoe, **fields))

    def fire(self, trigger: str) -> None:
        """Fire this trigger: it is run after the present one and those fired before."""
        self.triggers.append(trigger)

    # Events and refusals.

    def emit(  # noqa: PLR0913 - all of it is what an event is
        self,
        kind: str,
        data: dict[str, Any],
        *,
        restricted: dict[str, Any] | None = None,
        instance: Instance | None = None,
        of_round: str | None = None,
        revises: str | None = None,
        revokes: str | None = None,
        reopens: str | None = None,
    ) -> None:
        """Emit a public event. A round's events name the round.

        Args:
            kind: The event's type.
            data: Its data on the public stream.
            restricted: Its data on the restricted stream, where that differs. Who gave the command
                that brought it about is added.
            instance: What opens or closes with it.
            of_round: The id of the round that it is about, if that is not the open one.
            revises: The round whose outcome it replaces.
            revokes: The round whose outcome it takes back.
            reopens: The round that goes on after its outcome.
        """
        if of_round is None and self.now.round is not None:
            of_round = self.now.round.id
        subject = self._shoe_id() if of_round is None else of_round
        secret = restricted
        if instance is not None:
            assert instance.public is not None, f"{kind} of what the public does not see"
            secret = {"instance": instance.restricted, **(data if secret is None else secret)}
            data = {"instance": instance.public, **data}
        if self._actor:
            secret = (data if secret is None else secret) | self._actor
        if of_round is not None:
            data = {"round_id": of_round, **data}
            if secret is not None:
                secret = {"round_id": of_round, **secret}
        self.effects.append(
            TableEvent(kind, PUBLIC, subject, data, secret, revises, revokes, reopens)
        )

    def emit_restricted(
        self, kind: str, data: dict[str, Any], *, instance: Instance | None = None
    ) -> None:
        """Emit an event that only the restricted stream carries."""
        if instance is not None:
            data = {"instance": instance.restricted, **data}
        if self._actor:
            data = data | self._actor
        subject = self._shoe_id()
        if self.now.round is not None:
            subject = self.now.round.id
            data = {"round_id": subject, **data}
        self.effects.append(TableEvent(kind, RESTRICTED, subject, data))

    def _shoe_id(self) -> str | None:
        return None if self.now.shoe is None else self.now.shoe.id

    def emit_irregularity(
        self, kind: str, opened: OpenIrregularity, data: dict[str, Any], **restricted: object
    ) -> None:
        """Emit an event about an irregularity or pause; its procedure says what is public."""
        procedure, secret = self.procedures[opened.key], {"key": opened.key, **data, **restricted}
        instance = opened.instance
        if procedure.pause:
            self.emit(procedure.events[kind], {}, restricted=restricted, instance=instance)
        elif procedure.inspection:
            self.emit_restricted(kind, secret, instance=instance)
        else:
            public = {"key": self.public_key(opened.key), **data}
            self.emit(kind, public, restricted=secret, instance=instance)

    def emit_ended_irregularity(self, key: str, seen: Message, how: str, rule: str | None) -> None:
        """Emit an irregularity that the rules end at once: it halts nothing."""
        instance = self.open_instance()
        raised = {"key": key, "seen": seen.as_data(), "rule": rule}
        self.emit("irregularity.raised", raised, instance=instance)
        ended = {"key": key, "how": how, "rule": rule}
        self.emit("irregularity.resolved", ended, instance=instance)

    def open_instance(self, *, public: bool = True) -> Instance:
        """Return the number of what opens now, on each stream; ``public``: if that one shows it."""
        count = self.now.instances
        opened = Instances(public=count.public + public, restricted=count.restricted + 1)
        self.change(instances=opened)
        return Instance(opened.public if public else None, opened.restricted)

    def refuse(self, error: Message, **needs: str) -> None:
        """Refuse the command of this input with the reason and what it would need."""
        asked = self.command
        self.refusal = Answer(command_id=asked.command_id, accepted=False, error=error, needs=needs)
        self.emit_restricted(
            "command.refused", {"command": asked.command, "error": error.as_data()}
        )

    def announce(
        self, kind: str, data: dict[str, Any], *, by: str, restricted: dict[str, Any] | None = None
    ) -> None:
        """Emit an announcement, marked *inferred* unless this input is the command ``by``."""
        asked = self.input
        made = isinstance(asked, TableCommand) and asked.command == by
        told = data if made else {**data, "inferred": True}
        self.emit(kind, told, restricted=None if restricted is None else {**told, **restricted})


class Objection(NamedTuple):
    """Why a command cannot be taken."""

    why: Message
    """The reason, for people."""
    needs: Mapping[str, str] = {}
    """The needs of the command, by kind: a position, a state, a consent."""
    tell: Callable[[Turn], None] | None = None
    """Refuses the command where another event than ``command.refused`` says so."""


Check = Callable[[Turn, Any], Message | Objection | None]
"""Finds what stands against a command with these arguments; with None, whatever they are."""


def check_nothing(_turn: Turn, _args: object = None) -> None:
    """Return None: nothing stands against the command."""


def refuse(turn: Turn, objection: Message | Objection) -> None:
    """Refuse the command of this turn because of this objection."""
    why, needs, tell = objection if isinstance(objection, Objection) else (objection, {}, None)
    if tell is None:
        turn.refuse(why, **needs)
    else:
        tell(turn)


@dataclass(frozen=True, slots=True)
class Refuse:
    """An action that refuses the command in a state that does not take it."""

    states: tuple[str, ...]
    """The states that take it."""
    why: Callable[[Turn], Message | Objection | None] | None = None
    """Finds a better reason than the state's name, or None."""

    def __call__(self, turn: Turn) -> None:
        """Refuse the command of this turn."""
        if self.why is not None and (objection := self.why(turn)) is not None:
            refuse(turn, objection)
            return
        error = message("refused_in_this_state", command=turn.command.command, state=turn.state)
        turn.refuse(error, state=", ".join(s for s in self.states if s != turn.state))


def not_taken(states: tuple[str, ...]) -> Objection:
    """Return the objection that only these states take the command."""
    return Objection(message("refused_not_now"), tell=Refuse(states))
