"""The form of a guided procedure: steps that people and the shoe answer, ends that lead back.

In: nothing. Out: Procedure, Step, Choice, Hears, End: each irregularity is one literal of these.
Must not know: any particular irregularity, events, how the machine moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from shoe_ctl.games.game import Game
from shoe_ctl.texts.message import Message, message

from ..arguments import ChoiceArgs, DeclarationArgs
from ..turn import Check, TableView, Turn, check_nothing

Condition = Callable[[Turn], bool]
Seen = Callable[[TableView], bool]
Rule = Callable[[Turn, Any], str | None]
Action = Callable[[Turn], None]
Facts = Callable[[Turn], dict[str, Any]]
Shown = Callable[[TableView], dict[str, Any]]
Draw = Callable[[TableView], tuple[str, int] | None]

BACK = "back"
"""Where an end leads: to the irregularity, or the state, that was left for this one."""

VOID = "void"
"""Where an end leads: the round is void, all that is open closes with it, the table is idle."""

DECIDES = "decides"
"""Instead of a position: whoever the game says decides what its rules do not cover."""


def no_facts(standing: TableView) -> dict[str, Any]:  # noqa: ARG001 - the signature of facts
    """Nothing more is told."""
    return {}


def always(standing: TableView) -> bool:  # noqa: ARG001 - the signature of what is seen
    """Whatever there is to see."""
    return True


def never(standing: TableView) -> bool:  # noqa: ARG001 - the signature of what is seen
    """Whatever there is to see, not that."""
    return False


def agrees(turn: Turn) -> bool:  # noqa: ARG001 - the signature of a condition
    """Nothing that is said could contradict the shoe."""
    return False


def no_draw(standing: TableView) -> None:
    """The shoe stays locked."""


class Choice(NamedTuple):
    """What a person may answer at a step.

    ``by`` is the lowest position, or DECIDES. ``then`` is the name of the next step or of an end.
    ``unless`` says why it cannot be taken now: what it finds without arguments is shown in public,
    and names no Player and no card that is not revealed. ``in_round``: only with an open round, or
    only without one. ``reason`` and ``second``: a reason must be given, another person must
    consent.
    ``discretion`` is the rule that leaves it to somebody's discretion: a reason must be given where
    the game wants one for that. ``takes`` are its arguments; ``wants`` are those of them that could
    be left out and must be given as the table stands, with the value that the room can see it has,
    or None. ``when``: it is a choice at all, and shown as one, only then: it
    must not see a card that is not revealed. Of one name a step may have several, if never more
    than one of them is a choice. ``instead``: where it leads if what is asked for has this effect;
    that too must not see such a card. ``contradicts``: what is said is not what the shoe has read:
    nothing is done before people have looked again.
    """

    name: str
    by: str
    then: str
    do: tuple[Action, ...] = ()
    unless: Check = check_nothing
    in_round: bool | None = None
    reason: bool = True
    second: bool = False
    takes: type[ChoiceArgs] = ChoiceArgs
    when: Seen = always
    instead: tuple[Condition, str] | None = None
    contradicts: Condition = agrees
    discretion: Rule | None = None
    wants: Shown = no_facts

    def is_offered(self, standing: TableView) -> bool:
        """Whether it is a choice at all, as the table stands."""
        in_round = standing.now.round is not None
        return self.in_round in (None, in_round) and self.when(standing)

    def needs_reason(self, game: Game) -> bool:
        """Whether a reason must be given for it in this game."""
        at_discretion = self.discretion is not None and game.options.reason_for_discretion
        return self.reason or at_discretion

    @property
    def args(self) -> tuple[str, ...]:
        """The names of the arguments that it takes beside its own."""
        return tuple(name for name in self.takes.__struct_fields__ if name != "choice")


class Hears(NamedTuple):
    """What a step takes from the shoe, by the event's type, if ``when`` holds.

    The machine hands on only those triggers that it has lines for (``transitions.HEARD``).
    """

    trigger: str
    when: Condition
    then: str
    do: tuple[Action, ...] = ()


class Step(NamedTuple):
    """One open step: what the table is asked to do, and what may answer it.

    ``prompt`` and ``facts`` are for those at the table: they never depend on a card that is not
    revealed. ``arms``: the hand and index that the shoe is to give a card for while it is open.
    ``window``: the game's withdrawal window of this key opens with it (``withdrawal.window_step``
    writes such steps).
    ``cites``: the key and end whose rule number is told with it, where the step has one of its own.
    ``enters`` is done as it opens, where another step led to it.
    ``turns`` are the steps and ends that the table itself takes it to.
    """

    name: str
    prompt: Message
    choices: tuple[Choice, ...]
    hears: tuple[Hears, ...] = ()
    facts: Shown = no_facts
    arms: Draw = no_draw
    window: str | None = None
    cites: tuple[str, str] | None = None
    enters: tuple[Action, ...] = ()
    turns: tuple[str, ...] = ()


class End(NamedTuple):
    """How the irregularity closes, and where that leads.

    ``cites`` is the key and the end in the game file whose rule number is cited; ``how`` is told.
    ``leads``: BACK, VOID, or a state in which play resumes instead of the one that it left.
    From *no more bets* to the outcome BACK is the state that the cards stand for by then.
    ``clears``: the round's cards leave it, and what is open of them (``of_cards``) ends with them.
    """

    name: str
    how: str
    cites: tuple[str, str]
    leads: str = BACK
    do: tuple[Action, ...] = ()
    clears: bool = False


class Declared(NamedTuple):
    """Who may declare the irregularity, in which states; ``seen`` is what the room is told.

    ``takes`` are its arguments: what is given is noted for its steps. ``unless`` says why it
    cannot be declared now. ``subject`` is the argument that tells it from others of its key.
    ``begins``: if that holds, it begins at this step.
    """

    by: str
    states: tuple[str, ...]
    seen: Message
    takes: type[DeclarationArgs] = DeclarationArgs
    unless: Check = check_nothing
    subject: str | None = None
    begins: tuple[Seen, str] | None = None


class Procedure(NamedTuple):
    """One irregularity, or a pause. It begins at the first step, or in one of ``begins``.

    ``covers`` are the keys of those that are a part of the same event when they lie right under it.
    ``facts`` are told in public when it is raised, and noted: all at the table can see them.
    ``of_cards``: it is about cards that lie in the round, and nothing once they have left it.
    ``begins_by``: the step at which it begins, by the table and what ``facts`` found there.
    ``public_key``: what public events call it where its key would tell what only the shoe knows.
    ``inspection``: it is known from a card's value alone. The room learns only that the table is
    halted; all its events are restricted.
    ``pause``: not an irregularity. The table is halted, no game has ends for it, only *resume* ends
    it, and the table goes on exactly where it was. ``events`` are what is told of it instead of
    an irregularity's events, by their types.
    """

    key: str
    steps: tuple[Step, ...]
    ends: tuple[End, ...]
    declared: Declared | None = None
    covers: tuple[str, ...] = ()
    facts: Facts = no_facts
    begins: tuple[str, ...] = ()
    of_cards: bool = False
    begins_by: Callable[[Turn, Mapping[str, Any]], str] | None = None
    public_key: str | None = None
    inspection: bool = False
    pause: bool = False
    events: Mapping[str, str] = MappingProxyType({})

    def step(self, name: str) -> Step:
        """The step of this name.

        Raises:
            KeyError: there is none.
        """
        return _named(self.steps, name)

    def end(self, name: str) -> End | None:
        """The end of this name, None where the name is a step's."""
        return next((end for end in self.ends if end.name == name), None)


def _named(steps: tuple[Step, ...], name: str) -> Step:
    found: Mapping[str, Step] = {step.name: step for step in steps}
    return found[name]


REVIEW = Procedure(
    "review",
    (Step("review", message("prompt_review"), ()),),
    (),
    pause=True,
    events={"irregularity.step": "review.opened", "irregularity.resolved": "review.closed"},
)

OUTAGE = Procedure(
    "storage_fault",
    (
        Step(
            "outage",
            message("prompt_outage"),
            (),
        ),
    ),
    (),
    pause=True,
    events={"irregularity.step": "outage.opened", "irregularity.resolved": "outage.closed"},
)
