"""The form of a guided procedure: its steps, the choices at each step, and its ends.

In: nothing. Out: Procedure, Declared, Step, Choice, Accepts, End. Every irregularity is one literal
of these types. The two pauses, review and storage fault, are literals at the end of this module.
Must not know: any particular irregularity, events, how the table moves between states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from shoe_ctl.games.game import Game
from shoe_ctl.table.arguments import ChoiceArgs, DeclarationArgs
from shoe_ctl.table.turn import Check, TableView, Turn, check_nothing
from shoe_ctl.texts.message import Message, message

Action = Callable[[Turn], None]
"""Changes the table while an input is handled."""

Condition = Callable[[Turn], bool]
"""Is asked while an input is handled: it may look at the command or at the shoe's event."""

ViewCondition = Callable[[TableView], bool]
"""Is asked of the table as it stands, also when no input is handled (for the status)."""

RuleFinder = Callable[[Turn, Any], str | None]
"""Returns the number of the rule that holds for these arguments, or None."""

RaisedFacts = Callable[[Turn], dict[str, Any]]
"""Returns fields for the event that raises an irregularity."""

ViewFacts = Callable[[TableView], dict[str, Any]]
"""Returns fields that are shown with a step or a choice, by what the table shows now."""

WantedSlot = Callable[[TableView], tuple[str, int] | None]
"""Returns the hand and index that the shoe is to be armed for, or None."""

BACK = "back"
"""A value of ``End.resumes_in``: resume what was open before, or the state that the table left."""

VOID = "void"
"""A value of ``End.resumes_in``: the round is void. All that is open ends with it; the table is
idle."""

_View = TypeVar("_View", bound=TableView)

DECIDES = "decides"
"""A value of ``Choice.by``: whoever this game says decides what its rules do not cover."""


def no_facts(view: TableView) -> dict[str, Any]:  # noqa: ARG001 - the signature of facts
    """Return no fields."""
    return {}


def always(view: TableView) -> bool:  # noqa: ARG001 - the signature of a condition
    """Return True, however the table stands."""
    return True


def never(view: TableView) -> bool:  # noqa: ARG001 - the signature of a condition
    """Return False, however the table stands."""
    return False


def is_not(condition: Callable[[_View], bool]) -> Callable[[_View], bool]:
    """Return the condition that holds where this one does not."""
    return lambda view: not condition(view)


def both(one: Callable[[_View], bool], other: Callable[[_View], bool]) -> Callable[[_View], bool]:
    """Return the condition that holds where these two do."""
    return lambda view: one(view) and other(view)


def no_draw(view: TableView) -> None:
    """Return None: the shoe stays locked."""


class Choice(NamedTuple):
    """An answer that a person may give at a step.

    A step may have several choices of one name, if at most one of them is offered at any time.
    """

    name: str

    by: str
    """The lowest position that may take it, or DECIDES."""

    leads_to: str
    """The step or the end that it leads to, by name."""

    actions: tuple[Action, ...] = ()
    """Actions when it is taken, in this order."""

    check: Check = check_nothing
    """Returns what stands against it now. Asked without arguments, the answer is shown in public:
    then it names no Player and no card that is not revealed."""

    in_round: bool | None = None
    """True: offered only while a round is open. False: only while none is. None: always."""

    reason: bool = True
    """A reason must be given."""

    needs_consent: bool = False
    """A second person must consent."""

    arguments: type[ChoiceArgs] = ChoiceArgs
    """The type of its arguments."""

    offered_if: ViewCondition = always
    """It is offered only while this holds. This must not look at cards that are not revealed."""

    branch: tuple[Condition, str] | None = None
    """A condition, and the step or end that the choice leads to where that holds, instead of
    ``leads_to``. The condition must not look at cards that are not revealed."""

    contradicts: Condition = never
    """True where the person says otherwise than the shoe read. Then nothing is done; the table
    halts until the difference is decided."""

    discretion: RuleFinder | None = None
    """The rule that leaves the choice to somebody's discretion. Some games want a reason then."""

    possible: ViewFacts = no_facts
    """Arguments whose possible values depend on the table, each with those values as the room can
    know them. They must not depend on cards that are not revealed."""

    suggested: ViewFacts = no_facts
    """Optional arguments that must be given as the table stands, each with the value that the room
    can see it has, or with None where a person has to name it."""

    def is_offered(self, view: TableView) -> bool:
        """Return True if people may take it as the table stands."""
        in_round = view.now.round is not None
        return self.in_round in (None, in_round) and self.offered_if(view)

    def needs_reason(self, game: Game) -> bool:
        """Return True if this game wants a reason for it."""
        at_discretion = self.discretion is not None and game.options.reason_for_discretion
        return self.reason or at_discretion

    @property
    def args(self) -> tuple[str, ...]:
        """The names of its arguments, without the name of the choice itself."""
        return tuple(name for name in self.arguments.__struct_fields__ if name != "choice")


class Accepts(NamedTuple):
    """An event of the shoe that a step waits for."""

    trigger: str
    """The type of the event. ``transitions.py`` needs a case for it that asks the open step."""

    when: Condition
    """The event is accepted only where this holds."""

    leads_to: str
    """The step or the end that it leads to, by name."""

    actions: tuple[Action, ...] = ()
    """Actions when it comes, in this order."""


class Step(NamedTuple):
    """One step of a procedure: what the table is asked to do, and what may answer it."""

    name: str

    prompt: Message
    """The message for people at the table. It never depends on a card that is not revealed."""

    choices: tuple[Choice, ...]
    """The answers that people may give."""

    accepts: tuple[Accepts, ...] = ()
    """The events of the shoe that answer it."""

    facts: ViewFacts = no_facts
    """Fields shown with the prompt. They never depend on a card that is not revealed."""

    arms_slot: WantedSlot = no_draw
    """The hand and index that the shoe is armed for while this step is open."""

    window: str | None = None
    """The key of the game's withdrawal window that opens with it. ``withdrawal.window_step`` makes
    such steps."""

    cites: tuple[str, str] | None = None
    """The key and the end in the game's data whose rule number is shown with this step."""

    on_enter: tuple[Action, ...] = ()
    """Actions as the step opens after another step."""

    automatic: tuple[str, ...] = ()
    """Steps and ends to which the table itself may take this step, without an answer."""


class End(NamedTuple):
    """An end of an irregularity, and where it leads."""

    name: str

    how: str
    """The word for it in ``irregularity.resolved``."""

    cites: tuple[str, str]
    """The key and the end in the game's data whose rule number is cited."""

    resumes_in: str = BACK
    """BACK, VOID, or the state in which play resumes. From *no more bets* to the outcome, BACK is
    the state that the cards on the table stand for by then."""

    actions: tuple[Action, ...] = ()
    """Actions as it ends, in this order."""

    clears_cards: bool = False
    """The round's cards leave it. All that is open about them (``of_cards``) ends too."""


class Declared(NamedTuple):
    """The form in which people declare an irregularity."""

    by: str
    """The lowest position that may declare it."""

    states: tuple[str, ...]
    """The states in which it may be declared. While the table is suspended, the state that it left
    must be one of them too."""

    seen: Message
    """The message to the room about what was seen."""

    takes: type[DeclarationArgs] = DeclarationArgs
    """The type of its arguments. What is given is stored for the steps of the procedure."""

    unless: Check = check_nothing
    """Returns what stands against declaring it now."""

    subject: str | None = None
    """The argument that tells it from other irregularities of its key."""

    begins: tuple[ViewCondition, str] | None = None
    """A condition, and the step at which it begins where that holds."""


class Procedure(NamedTuple):
    """One irregularity or pause, whole: how people declare it, its steps and its ends.

    It begins at its first step, unless ``begins_by`` or whoever raises it names another.
    """

    key: str
    """Its name in commands, events and the game's data."""

    steps: tuple[Step, ...]

    ends: tuple[End, ...]

    declared: Declared | None = None
    """The form in which people declare it. None: only the controller raises it."""

    covers: tuple[str, ...] = ()
    """Keys of irregularities that are a part of the same event, if one of them is open directly
    below: the two are decided as one and end together."""

    facts: RaisedFacts = no_facts
    """Fields of ``irregularity.raised`` that all at the table can see. They are stored too."""

    begins: tuple[str, ...] = ()
    """The steps at which it may begin, besides the first."""

    of_cards: bool = False
    """It is about cards of the open round, and ends without effect once they have left it."""

    begins_by: Callable[[Turn, Mapping[str, Any]], str] | None = None
    """Returns the step at which it begins, by the table and by what ``facts`` returned."""

    public_key: str | None = None
    """Its name in public events, where the key would say what only the shoe knows."""

    inspection: bool = False
    """It is known from the value of a card alone. The room learns only that the table is halted;
    all its events are restricted."""

    pause: bool = False
    """Not an irregularity: the table is halted, *resume* alone ends that, and play goes on exactly
    where it was. Games have no ends for it."""

    events: Mapping[str, str] = MappingProxyType({})
    """Of a pause: the event types that replace those of an irregularity."""

    def step(self, name: str) -> Step:
        """Return the step of this name.

        Raises:
            KeyError: there is none.
        """
        found = next((step for step in self.steps if step.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def end(self, name: str) -> End | None:
        """Return the end of this name; None where the name is a step's."""
        return next((end for end in self.ends if end.name == name), None)


def find_procedure(view: TableView, key: str) -> Procedure:
    """Return the procedure of this key, of those that this table was given.

    Raises:
        KeyError: there is none.
    """
    found = view.procedures[key]
    assert isinstance(found, Procedure)
    return found


REVIEW = Procedure(
    "review",
    (Step("review", message("prompt_review"), ()),),
    (),
    pause=True,
    events={"irregularity.step": "review.opened", "irregularity.resolved": "review.closed"},
)
"""Staff or surveillance look at what happened before play goes on."""

OUTAGE = Procedure(
    "storage_fault",
    (Step("outage", message("prompt_outage"), ()),),
    (),
    pause=True,
    events={"irregularity.step": "outage.opened", "irregularity.resolved": "outage.closed"},
)
"""Nothing could be stored for a while. A person looks at the table before play goes on."""
