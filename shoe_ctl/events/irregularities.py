"""Events of irregularities, halts, pauses and windows to withdraw wagers."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.events.event_type import (
    Amount,
    Argument,
    Arguments,
    Code,
    Count,
    Data,
    EventData,
    EventType,
    Hand,
    Index,
    Message,
    Opens,
    Rule,
    Time,
)
from shoe_ctl.events.round import OfRound

Slot = Annotated[str, msgspec.Meta(pattern="^[a-z]+( [a-z0-9]+)?$")]
"""Where a card lies: hand and index, as in ``player 2``, or what it waits as: ``drawn early``."""


class Choice(Data, frozen=True, kw_only=True):
    """A choice that may be taken."""

    choice: Code
    """Its name, as `decide` takes it."""
    position: Code
    """The lowest position that may decide it."""
    args: list[Code] | UnsetType = UNSET
    """The names of its arguments, where it takes any."""
    reason: bool | UnsetType = UNSET
    """True: a reason must be given."""
    second_person: bool | UnsetType = UNSET
    """True: a second person must consent."""


class Counts(Data, frozen=True, kw_only=True):
    """The number of cards drawn from the set."""

    table: Count
    """As the table counted."""
    shoe: Count
    """As the shoe counted."""


class Room(Data, frozen=True, kw_only=True):
    """By how much a wager may change."""

    number: int
    """The number of the wager in the round."""
    seat: int
    """The seat."""
    wager: Code
    """The name of the wager."""
    most: int
    """The most that it may change by, in minor units."""


class Removable(Data, frozen=True, kw_only=True):
    """A wager that may be removed."""

    number: int
    """The number of the wager in the round."""
    seat: int
    """The seat."""
    wager: Code
    """The name of the wager."""
    amount: int
    """Its amount, in minor units."""


class Differential(Data, frozen=True, kw_only=True):
    """The totals of both hands, in minor units."""

    player: int
    """All wagers on the Player hand."""
    banker: int
    """All wagers on the Banker hand."""
    limit: int | None
    """The most that the two may differ by; null where the table has no such limit."""
    high: Hand | None
    """The hand with more on it; null where they do not differ."""
    excess: int
    """By how much the difference is over the limit."""
    decrease: list[Room] | UnsetType = UNSET
    """The wagers that may be decreased."""
    increase: list[Room] | UnsetType = UNSET
    """The wagers that may be increased."""
    remove: list[Removable] | UnsetType = UNSET
    """The wagers that may be removed."""


class Window(Data, frozen=True, kw_only=True):
    """A window to withdraw wagers."""

    scope: Literal["any", "all", "remaining"]
    """The wagers that may be withdrawn: any wager, all or none, or all that is not decided yet or
    none."""
    rule: Rule
    """The rule of the window."""
    seats: list[int] | None
    """The seats that have not answered; null: the whole table answers as one."""


class Facts(EventData, frozen=True, kw_only=True):
    """The facts that the room is shown with a step."""

    rule: Rule | UnsetType = UNSET
    """The rule that holds at this step, or for the irregularity."""
    seen: Message | UnsetType | None = UNSET
    """A description of what was seen; null for an inspection."""
    prompt: Message | UnsetType = UNSET
    """The next thing to do."""
    choices: list[Choice] | UnsetType = UNSET
    """The choices that may be taken now."""
    hand: Hand | UnsetType = UNSET
    """The hand that it is about."""
    counts: Counts | UnsetType = UNSET
    """Both counts of the cards drawn, where they differ."""
    decided: dict[str, Literal["win", "lose", "push"]] | UnsetType = UNSET
    """Wagers that are decided already, with their results."""
    end: Code | UnsetType = UNSET
    """The end of it by the rules, where the cards on the table decide that."""
    differential: Differential | UnsetType = UNSET
    """The totals of both hands."""
    withdrawal: Window | UnsetType = UNSET
    """The window to withdraw wagers that is open."""
    gone: list[Slot] | UnsetType = UNSET
    """The slots whose cards are away."""
    first: Literal["upper", "lower"] | UnsetType | None = UNSET
    """The one of two cards that comes first; null while nobody has said."""
    shoe_was_told: bool | UnsetType = UNSET
    """True: the shoe got the command to reset itself."""


class Raised(Facts, frozen=True, kw_only=True):
    """Something does not fit, or the rules ask for a decision."""

    instance: Index
    """Its number. Its steps and its end have the same number; each stream counts its own from 1."""
    key: Code
    """The irregularity, as in the game file. `other` where the key would tell a card."""
    rules: dict[str, Rule] | UnsetType = UNSET
    """The rule of each of its ends, by the end's name in the game file."""
    step: Code | UnsetType = UNSET
    """The step at which it begins, where it takes any."""
    seat: int | UnsetType = UNSET
    """The seat of the wager that it is about."""
    wager: Code | UnsetType = UNSET
    """The name of that wager."""
    amount: int | UnsetType = UNSET
    """The amount of that wager, in minor units."""
    earlier: bool | UnsetType = UNSET
    """True: it is about a wager of an earlier round."""


class RaisedDetails(Arguments, frozen=True, kw_only=True):
    """The person who raised it, and about whom."""

    subject: str | UnsetType = UNSET
    """Tells it from others with the same key: a slot, a draw or a Player."""
    player: str | UnsetType = UNSET
    """The Player of the wager that it is about."""
    asked: dict[str, Argument] | UnsetType = UNSET
    """The arguments of the command that was refused, where that raised it."""


class Step(Facts, frozen=True, kw_only=True):
    """The irregularity is at another step: somebody decided, or what was waited for came.

    Also sent where a step is shown again, with other choices.
    """

    key: Code
    """The irregularity, as in `irregularity.raised`."""
    instance: Index | UnsetType = UNSET
    """Its number, as in `irregularity.raised`. Left out where it is over already."""
    step: Code
    """The step."""
    how: Code | UnsetType = UNSET
    """The answer to a question."""
    exchanged: list[list[Slot]] | UnsetType = UNSET
    """The pairs of cards that were exchanged while it is open, in order."""
    moved: list[Slot] | UnsetType = UNSET
    """The slots that cards were moved to or from; `drawn early`: the card that waits as that."""


class StepDetails(Arguments, frozen=True, kw_only=True):
    """The person who decided, and what it showed."""

    index: Index | UnsetType | None = UNSET
    """The place in `hand` that the shoe gives a card now."""
    cards: list[str] | UnsetType = UNSET
    """The cards that people say are missing."""
    shoe: Literal["agrees", "differs", "unread"] | UnsetType = UNSET
    """The comparison of that with the shoe's readings; `unread`: not all were read."""
    decks: Literal["agrees", "differs", "unread"] | UnsetType | None = UNSET
    """The comparison of that with what the sorted decks lack; null: they were not sorted."""
    more: Message | UnsetType = UNSET
    """A description of what was seen at this step."""


class Resolved(Opens, frozen=True, kw_only=True):
    """The irregularity ended."""

    key: Code
    """The irregularity, as in `irregularity.raised`."""
    how: Code
    """The end of it: a choice, or what the rules make of it."""
    rule: Rule
    """The rule under which it ended."""
    seat: int | UnsetType = UNSET
    """The seat of the wager that it was about."""
    wager: Code | UnsetType = UNSET
    """The name of that wager."""
    amount: int | UnsetType = UNSET
    """The amount of that wager, in minor units."""
    earlier: bool | UnsetType = UNSET
    """True: it was about a wager of an earlier round."""


class ResolvedDetails(Arguments, frozen=True, kw_only=True):
    """The person who decided, and what became of cards."""

    cards_kept: Count | UnsetType = UNSET
    """The number of cards drawn meanwhile that are set aside."""
    player: str | UnsetType = UNSET
    """The Player of the wager that it was about."""


class Halted(Opens, frozen=True, kw_only=True):
    """The table stands still until something is decided."""

    reason: Code
    """The key of the irregularity or pause; on the public stream `inspection` where the key would
    tell a card."""


class Resumed(Opens, frozen=True, kw_only=True):
    """Play goes on."""


class OfWindow(OfRound, frozen=True, kw_only=True):
    """An event of a window to withdraw wagers."""

    instance: Index
    """The window's number. The events of one window have the same number."""


class WindowOpened(OfWindow, frozen=True, kw_only=True):
    """A window to withdraw wagers opened."""

    rule: Rule
    """The rule of the window."""
    scope: Literal["any", "all", "remaining"]
    """The wagers that may be withdrawn: any wager, all or none, or all that is not decided yet or
    none."""
    whose: Literal["table", "players"]
    """Those who answer: the table as one, or each Player."""
    seats: list[int] | None
    """The seats that may answer; null: the whole table answers as one."""


class WindowClosed(OfWindow, frozen=True, kw_only=True):
    """The window closed, for one Player or for all."""

    rule: Rule
    """The rule of the window."""
    answer: Literal["stands", "withdrawn", "void"]
    """The fate of the wagers: they stand, were withdrawn, or go back with the round."""
    whose: Literal["table", "players", "player"]
    """For whom it closed: the table as one, all Players that have not answered, or one Player."""
    seats: list[int] | None
    """Their seats; null: the whole table answered as one."""


class WindowPlayers(Data, frozen=True, kw_only=True):
    """Whose window it is."""

    players: list[str] | None
    """The Players; null: the whole table answers as one."""


class ReviewOpened(Opens, frozen=True, kw_only=True):
    """Somebody paused the table for a review.

    Sent again where the table comes back to it from something else.
    """


class ReviewClosed(Opens, frozen=True, kw_only=True):
    """The review is over."""


class PauseEnd(Arguments, frozen=True, kw_only=True):
    """The person who ended it."""

    cards_kept: Count | UnsetType = UNSET
    """The number of cards drawn meanwhile that are set aside, where a decision ended it."""


class OutageOpened(Opens, frozen=True, kw_only=True):
    """The journal works again after a storage fault; the table waits for *resume*.

    Sent again, without times, where the table comes back to it from something else.
    """


class OutageClosed(Opens, frozen=True, kw_only=True):
    """A person resumed the table after a storage fault."""


class Outage(Data, frozen=True, kw_only=True):
    """When nothing could be stored, and why."""

    since: Time | UnsetType = msgspec.field(name="from", default=UNSET)
    """When the journal failed."""
    until: Time | UnsetType = UNSET
    """When it worked again."""
    what: Message | UnsetType = UNSET
    """The fault, or the ruling that a journal which lost something goes on."""


class Retracted(EventData, frozen=True, kw_only=True):
    """A declaration is taken back, as if it had not been made.

    Where it halts the table, `irregularity.resolved` with `retracted` follows; where a wager was
    declared, `wager.accepted` with `retracted`. A cutting card counts as not seen yet.
    """

    key: Code
    """The irregularity; `out_of_view` for a shoe out of full view."""
    declaration: Index
    """The `instance` of its events on the public stream."""
    seat: int | UnsetType = UNSET
    """The seat of the wager."""
    wager: Code | UnsetType = UNSET
    """The name of the wager."""


class RetractedDetails(Data, frozen=True, kw_only=True):
    """Whose wager it is."""

    player: str | UnsetType = UNSET
    """The Player."""


class MoneyChange(Data, frozen=True, kw_only=True):
    """The change of a wager's money."""

    number: int
    """The number of the wager in the round."""
    seat: int
    """The seat."""
    wager: Code
    """The name of the wager."""
    player: str
    """The Player."""
    change: Amount
    """The amount that the Player gets more, or less below 0, in minor units."""


class RetractionAlarm(Retracted, frozen=True, kw_only=True):
    """An alarm to surveillance: a declaration was retracted after the outcome."""

    player: str | UnsetType = UNSET
    """The Player."""
    changes: list[MoneyChange]
    """The changes of money, one for each wager that has any."""


EVENTS = (
    EventType(name="table.halted", data=Halted),
    EventType(name="table.resumed", data=Resumed),
    EventType(name="irregularity.raised", data=Raised, adds=(RaisedDetails,), audience="either"),
    EventType(name="irregularity.step", data=Step, adds=(StepDetails,), audience="either"),
    EventType(
        name="irregularity.resolved", data=Resolved, adds=(ResolvedDetails,), audience="either"
    ),
    EventType(name="irregularity.retracted", data=Retracted, adds=(RetractedDetails,)),
    EventType(name="irregularity.alarm", data=RetractionAlarm, audience="restricted"),
    EventType(name="withdrawal.opened", data=WindowOpened, adds=(WindowPlayers,)),
    EventType(name="withdrawal.closed", data=WindowClosed, adds=(WindowPlayers,)),
    EventType(name="review.opened", data=ReviewOpened, adds=(Arguments,)),
    EventType(name="review.closed", data=ReviewClosed, adds=(PauseEnd,)),
    EventType(name="outage.opened", data=OutageOpened, adds=(Outage, Arguments)),
    EventType(name="outage.closed", data=OutageClosed, adds=(Outage, PauseEnd)),
)
