"""Shapes of the answers to requests: the status of a table, and the others.

In: nothing. Out: types, from which schemas are made. Must not know: how an answer comes about.

The daemon builds answers as plain values, and pays nothing for these types: tests hold every answer
to them, and ``shoectl schema`` prints them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from shoe_ctl.api.requests import Share

UNSET = msgspec.UNSET
Unset = msgspec.UnsetType

Hand = Literal["player", "banker"]
Time = str
Change = int | Share


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """An object of an answer. A later version may add keys: ignore those that you do not know."""


class Said(Shape, frozen=True, kw_only=True):
    """A message: compare its code, show its text."""

    code: str
    """The code, as in `shoectl schema --messages`."""
    args: dict[str, Any] = {}
    """The arguments of the code's template."""
    rule: str | Unset = UNSET
    """The rule that it cites."""
    text: str | Unset = UNSET
    """The message in words."""


class Seat(Shape, frozen=True, kw_only=True):
    """A Player, as everyone at the table may know."""

    seat: int | None
    """The seat; null if it is not known."""


class Who(Shape, frozen=True, kw_only=True):
    """The one who does what is next: staff, or a Player."""

    position: str | Unset = UNSET
    """The lowest position."""
    seat: int | Unset | None = UNSET
    """The seat of a Player; null if it is not known."""


class Slot(Shape, frozen=True, kw_only=True):
    """A place of a card."""

    hand: Literal["player", "banker", "set_aside"] | None
    """The hand; `set_aside` for a card that is laid aside; null if it is not known."""
    index: int | None
    """1 to 3: its place there."""


class Next(Shape, frozen=True, kw_only=True):
    """The step that the table waits for."""

    message: Said
    """The step in words, for people."""
    command: str | None
    """The command that brings it; null if none does."""
    args: dict[str, Any]
    """The arguments of that command."""
    who: Who | None
    """The one who does it; null if nobody does anything."""
    draw: Slot | Unset = UNSET
    """The card that is awaited."""


class Offer(Shape, frozen=True, kw_only=True):
    """A command that the table would take now with proper arguments."""

    command: str
    """Its name."""
    position: str
    """The lowest position that may give it."""
    reason: bool | Unset = UNSET
    """True if it needs a reason."""
    second_person: bool | Unset = UNSET
    """True if another person must consent."""


class OfferedArgument(Shape, frozen=True, kw_only=True):
    """An argument of a choice."""

    name: str
    """Its name."""
    values: list[Any] | Unset = UNSET
    """All values that it can have, if they can be listed."""
    optional: bool | Unset = UNSET
    """True if it may be left out."""
    value: Any = UNSET
    """Its value now, if everyone at the table can see that."""


class OfferedChoice(Shape, frozen=True, kw_only=True):
    """A choice of the open step."""

    choice: str
    """Its name."""
    position: str
    """The lowest position that may take it."""
    reason: bool | Unset = UNSET
    """True if it needs a reason."""
    second_person: bool | Unset = UNSET
    """True if another person must consent."""
    args: list[str] | Unset = UNSET
    """The names of its arguments."""
    arguments: list[OfferedArgument] | Unset = UNSET
    """Its arguments."""
    not_now: Said | Unset = UNSET
    """The objection to it now."""


class TwoCounts(Shape, frozen=True, kw_only=True):
    """Two counts of the cards drawn, where they differ."""

    table: int
    """The table's."""
    shoe: int
    """The shoe's."""


class Halt(Shape, frozen=True, kw_only=True):
    """The irregularity that is decided now. It may have more keys, which are facts of its step."""

    reason: str
    """Its public key."""
    since: Time
    """When it was raised, in UTC."""
    earlier: list[str]
    """Those that wait behind it, by their public keys."""
    step: str
    """The open step."""
    prompt: Said
    """The question to people."""
    choices: list[OfferedChoice]
    """The choices."""
    rule: str | Unset | None = UNSET
    """The rule of the step; null where the game has none."""
    rules: dict[str, Any] | Unset = UNSET
    """The rules of the irregularity; left out while cards are to be inspected."""
    seen: Said | Unset = UNSET
    """The thing that was seen; left out while cards are to be inspected."""
    pending: Slot | Unset = UNSET
    """A card that waits for the end of the halt; its place, if it names one."""
    counts: TwoCounts | Unset = UNSET
    """The two counts, where they differ."""


class Waiting(Shape, frozen=True, kw_only=True):
    """Something that is open and halts nothing yet."""

    key: str
    """Its public key."""
    since: Time
    """When it was raised, in UTC."""
    seen: Said | None
    """The thing that was seen; null while cards are to be inspected."""
    prompt: Said
    """The question to people."""
    choices: list[OfferedChoice] | Unset = UNSET
    """The choices, if it asks."""


class Told(Shape, frozen=True, kw_only=True):
    """Commands to the shoe."""

    told: list[str]
    """Those that it has not answered yet."""
    answered: dict[str, Any] | None
    """Its last answer: `command`, `accepted`, and `what` with `value`, or `passed`."""


class RefusedDraw(Shape, frozen=True, kw_only=True):
    """A draw that the shoe refuses to give."""

    number: int
    """The number of the draw."""
    why: str
    """Why, as a code."""
    message: Said
    """Why, and what to do."""


class ShoeState(Shape, frozen=True, kw_only=True):
    """The shoe on the table."""

    shoe_id: str
    """Its id."""
    cutting_card_out: bool
    """True once the cutting card came."""


class Round(Shape, frozen=True, kw_only=True):
    """The open round."""

    round_id: str
    """Its id."""
    hands: dict[Hand, list[str | None]]
    """The cards of each hand in order; null for a card that lies face down."""
    totals: dict[Hand, int] | None
    """The totals, once they are announced."""


class Wager(Shape, frozen=True, kw_only=True):
    """A wager on the layout. Amounts are minor units."""

    number: int
    """Its number."""
    seat: int | None
    """The seat."""
    wager: str
    """The wager's name in the game."""
    amount: int
    """The chips that lie there."""
    player: str | Unset | None = UNSET
    """The Player; on the restricted stream alone."""
    not_honoured: int | Unset = UNSET
    """The part that came too late and goes back."""
    taken_back: bool | Unset = UNSET
    """True if it was taken back when it was decided: it is settled as if it stood."""
    settlement: dict[str, Any] | Unset = UNSET
    """The amounts that *settle* records of it, as in `wager.settled`."""


class WagerChange(Shape, frozen=True, kw_only=True):
    """The change of a wager's money."""

    seat: int | None
    """The seat."""
    wager: str
    """The wager's name in the game."""
    change: Change
    """The Player's gain in minor units, or debt below 0; a fraction as text."""
    number: int | Unset = UNSET
    """The wager's number."""
    player: str | Unset | None = UNSET
    """The Player; on the restricted stream alone."""
    message: Said | Unset = UNSET
    """The same for people."""


class Outcome(Shape, frozen=True, kw_only=True):
    """The cards of a round, and who won it."""

    hands: dict[Hand, list[str]]
    """The cards of each hand in order."""
    totals: dict[Hand, int]
    """The totals."""
    winner: Literal["player", "banker", "tie"]
    """The winner."""
    message: Said
    """The same for people."""


class Revision(Outcome, frozen=True, kw_only=True):
    """An outcome that a round had before it was revised."""

    until: Time
    """When it was revised, in UTC."""
    changes: list[WagerChange]
    """The changes of the revision; none if it was revised before *settle*."""


class LastRound(Outcome, frozen=True, kw_only=True):
    """The round that was settled last, as it stands now."""

    round_id: str
    """Its id."""
    shoe_id: str
    """The shoe that it was dealt from."""
    manual: bool
    """True if people entered it."""
    wagers: list[Wager]
    """Its wagers, each with its settlement."""
    revisions: list[Revision]
    """The outcomes before each revision, oldest first."""


class Declaration(Shape, frozen=True, kw_only=True):
    """A declaration that can be retracted until *settle*."""

    declaration: int
    """Its number."""
    key: str
    """The key that was declared."""
    position: str
    """The lowest position that may retract it."""
    seat: int | Unset | None = UNSET
    """The seat of the wager that it is about."""
    wager: str | Unset = UNSET
    """That wager's name."""
    chips: int | Unset = UNSET
    """Its chips, in minor units; less than 0 if it took some away."""
    changes: list[WagerChange] | Unset = UNSET
    """From the outcome on: what each seat would get more without it."""


class Parked(Shape, frozen=True, kw_only=True):
    """The events that a sink refused."""

    sink: str
    """Its name."""
    count: int
    """The number of refused events."""
    last: str
    """The id of the last one."""
    type: str
    """The type of the last one."""
    waiting: int
    """The number of events that can be offered again."""


class Unapplied(Shape, frozen=True, kw_only=True):
    """An end of a round that no table system has applied yet."""

    round_id: str
    """The round."""
    type: str
    """The type of the event."""
    since: Time
    """When it was published, in UTC."""
    overdue: bool
    """True if that is too long ago."""


class Fault(Shape, frozen=True, kw_only=True):
    """A fault of the storage."""

    message: Said | Unset = UNSET
    """The failure; not in the state of a broker."""
    since: Time | Unset = UNSET
    """Since when, in UTC."""


class Status(Shape, frozen=True, kw_only=True):
    """The status of a table, as everyone at the table may know it."""

    table: str
    """Its id."""
    game: str
    """The game."""
    method: str | None
    """The dealing method; null in the electronic game."""
    state: str
    """Its state."""
    link: str
    """`up`, `lost`, or another state of the link."""
    link_reason: str | None
    """Why the link is not `up`, as a code."""
    told: Told
    """Commands to the shoe."""
    refused: RefusedDraw | None
    """The draw that the shoe refuses."""
    shoe: ShoeState | None
    """The shoe."""
    round: Round | None
    """The open round."""
    wagers: list[Wager]
    """The wagers on the layout, seat by seat."""
    last_round: LastRound | None
    """The round that was settled last."""
    declared: list[Declaration]
    """The declarations that can be retracted."""
    next: Next
    """The step that the table waits for."""
    takes: list[Offer]
    """The commands that it would take now."""
    halt: Halt | None
    """The irregularity that must be decided before play goes on."""
    waiting: list[Waiting]
    """Irregularities that are open and halt nothing yet."""
    parked: list[Parked] | Unset = UNSET
    """The events that sinks refused; not in the state of a broker."""
    unapplied: list[Unapplied] | Unset = UNSET
    """Ends of rounds that no table system has applied; with `applied_within_s` alone."""
    held_by: dict[Hand, Seat | None] | Unset = UNSET
    """The holder of each hand, where Players handle cards."""
    shoe_with: Seat | Unset | None = UNSET
    """The Player who has the shoe, in Method C."""
    acts_as: list[str] | Unset = UNSET
    """The positions that you may act in; not in the state of a broker."""
    fault: Fault | Unset = UNSET
    """Only during a storage fault."""
    doubt: str | Unset = UNSET
    """Only while a person must rule on a journal that may have lost its newest part."""
    source: str | Unset = UNSET
    """The source of the events that the table stores now; not in the state of a broker."""
    last_event: str | Unset | None = UNSET
    """The last event that the status includes, in your audience; null before the first. In the
    state of a broker: the last public event that this sink published."""


class SinkState(Shape, frozen=True, kw_only=True):
    """The state of a sink."""

    sink: str
    """Its name."""
    state: Literal["at_work", "away", "ended"]
    """`at_work` while it takes events."""
    since: Time | Unset = UNSET
    """Since when it does not, in UTC."""
    message: Said | Unset = UNSET
    """Why, and what to do."""


class Disk(Shape, frozen=True, kw_only=True):
    """The disk of the journal."""

    free: int
    """Its free bytes."""
    a_day: dict[str, int]
    """By table the bytes that are stored a day, at the rate of the last hour."""
    full_at: Time | None
    """When it is full at that rate, in UTC."""


class JournalKey(Shape, frozen=True, kw_only=True):
    """The key that signs the journal."""

    public_key: str | None
    """The public key of the last checkpoint, in hex; null before the first."""
    state: Literal["private", "open_to_others", "missing"]
    """Whether the key's file is there, and only its owner may use it."""
    mode: str | None
    """The modes of the key's file, in octal; null without one."""


class StatusAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `status` request."""

    user: str
    """The user who asked."""
    position: str
    """The highest position of that user."""
    tables: list[Status]
    """The tables."""
    sinks: list[SinkState] | Unset = UNSET
    """The sinks that the user may know of."""
    disk: Disk | Unset = UNSET
    """The disk of the journal."""
    key: JournalKey | Unset = UNSET
    """The key that signs the journal."""


class Done(Shape, frozen=True, kw_only=True):
    """The answer to a command that was taken, or to its preview."""

    command_id: str
    """The command's id."""
    accepted: bool
    """True: it was taken."""
    events: list[str] | Unset = UNSET
    """The ids of the events that it caused."""
    preview: dict[str, Any] | Unset = UNSET
    """The changes that it would make; nothing was done."""
    message: Said | Unset = UNSET
    """The thing done, and the next one."""
    halted: str | Unset = UNSET
    """The public key of the halt, if the table is halted now."""
    asks: str | Unset = UNSET
    """The public key of what asks something without a halt."""


class Refusal(Shape, frozen=True, kw_only=True):
    """The answer to a request that was refused: nothing was done."""

    accepted: bool
    """False: it was refused."""
    error: Said
    """Why. Programs compare the code."""
    needs: dict[str, Any]
    """The missing things: a `state`, a `position`, `consent`."""
    command_id: str | Unset = UNSET
    """The command's id, if it is known."""
    message: Said | Unset = UNSET
    """The step that the table waits for."""


class Resent(Shape, frozen=True, kw_only=True):
    """The result of a `resend`."""

    sink: str
    """The sink."""
    after: str
    """The id that was asked with."""
    events: int
    """The number of events."""
    taken: int | Unset = UNSET
    """The number that the sink took."""
    refused: int | Unset = UNSET
    """The number that it refused."""
    waiting: int | Unset = UNSET
    """The number that waits for it."""


class ResendAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `resend` request."""

    resent: Resent
    """The result."""


class Sent(Shape, frozen=True, kw_only=True):
    """The events that are sent to a user of a broker."""

    table: str
    """Their table."""
    audience: Literal["public", "restricted"]
    """Their stream."""
    after: str
    """The id that was asked with."""


class EventsAnswer(Shape, frozen=True, kw_only=True):
    """The answer to an `events` request over a broker; the events come beside it."""

    sent: Sent
    """The events."""


class Redelivered(Shape, frozen=True, kw_only=True):
    """The result of a redelivery to one sink."""

    sink: str
    """The sink."""
    taken: int
    """The number that it took."""
    refused: int
    """The number that it refused."""
    waiting: int
    """The number that waits for it."""


class RedeliverAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `redeliver` request."""

    redelivered: list[Redelivered]
    """By sink."""


class AppliedReport(Shape, frozen=True, kw_only=True):
    """A report of an applied outcome."""

    event: str
    """The id of the event."""
    round_id: str
    """Its round."""
    reference: str
    """The reference of the one who reported."""
    repeated: bool
    """True if it was reported before: nothing was changed."""


class AppliedAnswer(Shape, frozen=True, kw_only=True):
    """The answer to an `applied` request."""

    applied: AppliedReport
    """The report."""
    events: list[str] | Unset = UNSET
    """The ids of the events that it caused; left out where nothing was changed."""


class Reconciled(Shape, frozen=True, kw_only=True):
    """A shoe as the table compared it."""

    shoe_id: str
    """The shoe."""
    agrees: bool
    """True if both count the same."""
    first: str | Unset | None = UNSET
    """The first round that differs."""
    what: str | Unset | None = UNSET
    """The difference there, as a code."""


class ShoeAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `shoe` request."""

    shoe: Reconciled
    """The comparison."""
    events: list[str] | Unset = UNSET
    """The ids of the events that it caused; left out where nothing was changed."""


Answer = (
    StatusAnswer
    | Done
    | Refusal
    | ResendAnswer
    | EventsAnswer
    | RedeliverAnswer
    | AppliedAnswer
    | ShoeAnswer
)
"""Anything that is answered; at the socket an `events` request is answered with the events."""

ANSWERS: tuple[type[Shape], ...] = (
    StatusAnswer,
    Done,
    Refusal,
    ResendAnswer,
    EventsAnswer,
    RedeliverAnswer,
    AppliedAnswer,
    ShoeAnswer,
)
