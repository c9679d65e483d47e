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
    wait: Literal["card", "shoe", "time", "storage", "obstacle"] | None
    """The thing that is awaited where no command brings the step: a card, something that the shoe
    does or says, the time, the storage, or that an obstacle goes; null where a command brings
    it."""
    draw: Slot | Unset = UNSET
    """The card that is awaited."""


class OfferedArgument(Shape, frozen=True, kw_only=True):
    """An argument of a command or a choice."""

    name: str
    """Its name."""
    kind: str
    """The kind of thing it is: `hand`, `seat`, `player` (an id), `wager`, `amount` (minor units),
    `card` (a code), `cards` (codes with spaces between them), `round` (an id), `flag` (true or
    false), `number` or `text`."""
    values: list[Any] | Unset = UNSET
    """All values that it can have now, if they can be listed."""
    least: int | Unset = UNSET
    """The least that it can be, if there is such a bound."""
    most: int | Unset = UNSET
    """The most that it can be, if there is such a bound."""
    optional: bool | Unset = UNSET
    """True if it may be left out."""
    value: Any = UNSET
    """Its value now, if everyone at the table can see that."""


class OfferedKey(Shape, frozen=True, kw_only=True):
    """An irregularity that can be declared now."""

    key: str
    """Its key."""
    position: str
    """The lowest position that may declare it."""
    arguments: list[OfferedArgument] | Unset = UNSET
    """Its arguments beside the key."""


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
    consents: str | Unset = UNSET
    """The lowest position of the person who must consent."""
    use: Literal["next", "round", "shoe", "irregular", "rare"]
    """The part of the work that it belongs to; `next`: the table waits for it."""
    arguments: list[OfferedArgument] | Unset = UNSET
    """Its arguments, if it takes any."""
    keys: list[OfferedKey] | Unset = UNSET
    """All that can be declared now; of `declare` alone."""


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
    consents: str | Unset = UNSET
    """The lowest position of the person who must consent."""
    label: Said
    """The choice in words."""
    follows: Said
    """The thing that comes of it."""
    rule: str | Unset | None = UNSET
    """The rule under which that is; null where the game has none. Left out while cards are to be
    inspected, and where it depends on what is done."""
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
    instance: int
    """The number of the halt in `table.halted` and `table.resumed`."""
    irregularity: int | Unset = UNSET
    """The number of the irregularity in its events; left out while cards are to be inspected."""
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
    instance: int | Unset = UNSET
    """The number of the irregularity in its events."""
    since: Time
    """When it was raised, in UTC."""
    slot: Slot | Unset = UNSET
    """The place of the card that it is about, if it is a card in a slot."""
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
    decks: int
    """The number of decks in the set."""
    out: int
    """The number of its cards that are out."""
    left: int
    """The number of its cards that are left."""
    cutting_card_out: bool
    """True once the cutting card came."""
    rounds_since_cutting_card: int
    """The number of rounds finished since."""


class VisibleCard(Shape, frozen=True, kw_only=True):
    """A card as everyone at the table can see it."""

    face_down: bool
    """True as long as nobody has seen it."""
    number: int | None
    """The number of its draw from the shoe; null where that is not known, or where the shoe counts
    draws by what it has read."""
    drawn_together: bool | Unset = UNSET
    """True if it was drawn with others, and nobody knows yet which of them it is."""


class DealtCard(VisibleCard, frozen=True, kw_only=True):
    """A card of a hand."""

    card: str | None
    """Its code once everybody has seen it, else null."""
    unread: bool | Unset = UNSET
    """True if two persons have to name it once it lies open."""
    entered: bool | Unset = UNSET
    """True if people said which card it is, and not the shoe."""
    corrected: bool | Unset = UNSET
    """True if people corrected what the shoe had read."""
    exchanged: bool | Unset = UNSET
    """True if it has changed places with another card in the open irregularity."""


class CardBeside(VisibleCard, frozen=True, kw_only=True):
    """A card that lies on the table beside the hands; no event names it there."""

    place: Literal["drawn_early", "held", "waits_for_slot", "opens_round", "set_aside"]
    """The reason why it lies there: it was drawn before its turn; it came during a halt; it takes
    its slot when play resumes; it opens the next round; it was set aside."""


class WagerResult(Shape, frozen=True, kw_only=True):
    """The result of a wager of the game, whoever placed it."""

    result: str
    """`win`, `lose` or `push`."""
    odds: str | Unset = UNSET
    """The odds to 1 if it won."""


class Outcome(Shape, frozen=True, kw_only=True):
    """The cards of a round, and who won it."""

    hands: dict[Hand, list[str]]
    """The cards of each hand in order."""
    totals: dict[Hand, int]
    """The totals."""
    naturals: dict[Hand, bool]
    """True for a hand that is a Natural."""
    winner: Literal["player", "banker", "tie"]
    """The winner."""
    results: dict[str, WagerResult]
    """The result of each wager of the game and layout."""
    message: Said
    """The same for people."""


class Round(Shape, frozen=True, kw_only=True):
    """The open round."""

    round_id: str
    """Its id."""
    hands: dict[Hand, list[DealtCard]]
    """The cards of each hand in order."""
    totals: dict[Hand, int] | None
    """The totals by the cards that lie open, once they were announced; null before."""
    outcome: Outcome | None
    """The outcome, once it was announced; null while a card is missing."""


class Deadline(Shape, frozen=True, kw_only=True):
    """A time at which something happens by itself."""

    what: Literal["cards_seen", "result", "applied"]
    """The next card that lies face up counts as seen; the shoe's own result is overdue; an outcome
    counts as not applied by the table system."""
    at: Time
    """The time, in UTC."""


class LayoutWager(Shape, frozen=True, kw_only=True):
    """A wager on offer. Amounts are minor units."""

    wager: str
    """Its name in the game."""
    least: int
    """The least that it may be."""
    most: int | None
    """The most that it may be; null if there is no limit."""
    main: Hand | Unset = UNSET
    """The hand that it is on, if it is a main wager."""


class SetupLimits(Shape, frozen=True, kw_only=True):
    """Limits of the table beside those of single wagers; null where there is none."""

    differential: int | None
    """The table differential, in minor units."""
    wagers_per_area: int | None
    """The number of wagers that a playing area takes."""
    payout_cap: int | None
    """The most that a wager wins, in minor units."""
    players: int | None
    """The number of Players at once."""


class TableCurrency(Shape, frozen=True, kw_only=True):
    """The currency of a table."""

    unit: int
    """The smallest amount that is paid, in minor units."""
    rounding: str
    """The rounding of payouts."""
    code: str | Unset = UNSET
    """Its three letters (ISO 4217), if the configuration names them."""
    exponent: int | Unset = UNSET
    """The number of decimals with which screens show amounts, if the configuration says it."""


class Setup(Shape, frozen=True, kw_only=True):
    """The setup of a table, which stands as long as its game and its configuration do."""

    title: str
    """The game's title."""
    area: str
    """The gaming area."""
    announcements: Literal["explicit", "implied"]
    """`implied`: the table infers announcements from the cards."""
    decks: int
    """The number of decks in a set of cards."""
    deck: list[str]
    """The codes of the cards of one deck."""
    layout: str | None
    """The layout; null for any of the game's."""
    seats: list[int]
    """The seats, counter-clockwise."""
    wagers: list[LayoutWager]
    """The wagers on offer, in the game's order."""
    limits: SetupLimits
    """The limits of the table."""
    currency: TableCurrency | None
    """The currency, if the configuration names it."""
    rounds_after_cutting_card: int
    """The number of full rounds after the one in which the cutting card came."""


class PlayerOfWager(Shape, frozen=True, kw_only=True):
    """The Player of a wager."""

    number: int
    """The wager's number."""
    player: str | None
    """The Player's id."""


class NamedPlayer(Shape, frozen=True, kw_only=True):
    """A Player who has cards or the shoe."""

    player: str | None
    """The Player's id, if it is known."""
    seat: int | None
    """The seat, if it is known."""
    designee: str | None
    """The person who handles the cards in the Player's place."""


class Person(Shape, frozen=True, kw_only=True):
    """A person of the staff; null where the shoe or the time did it."""

    person: str | None
    """The name."""
    position: str | None
    """The position in which the person acted."""


class OpenBy(Person, frozen=True, kw_only=True):
    """The person who raised what is open."""

    key: str
    """Its public key."""
    since: Time
    """When it was raised, in UTC."""


class LastCommand(Person, frozen=True, kw_only=True):
    """A command that was accepted."""

    command: str
    """Its name."""
    about: str | None
    """The key that was declared, or the choice that was taken; null for other commands."""
    consented_by: str | None
    """The second person, if one consented."""
    at: Time
    """When it was given, in UTC."""


class Staff(Shape, frozen=True, kw_only=True):
    """The persons at the table, for its staff. It never holds a card that nobody has seen."""

    players: list[PlayerOfWager]
    """The Players of the wagers on the layout."""
    last_players: list[PlayerOfWager]
    """The Players of the wagers of `last_round`."""
    hands: dict[Hand, NamedPlayer]
    """The Players who hold cards."""
    shoe_with: NamedPlayer | None
    """The Player who has the shoe."""
    open: list[OpenBy]
    """The persons who raised what is open."""
    commands: list[LastCommand]
    """The commands that were accepted last, oldest first."""


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
    setup: Setup | Unset = UNSET
    """The things that stand as long as the game and the configuration do; not in the state of a
    broker."""
    faces: Literal["turned_by_dealer", "face_up"]
    """The way cards are dealt now."""
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
    beside: list[CardBeside]
    """The cards that lie beside the hands, in the order in which they came there."""
    wagers: list[Wager]
    """The wagers on the layout, seat by seat."""
    last_round: LastRound | None
    """The round that was settled last."""
    declared: list[Declaration]
    """The declarations that can be retracted."""
    next: Next
    """The step that the table waits for."""
    deadlines: list[Deadline]
    """The times at which something happens by itself."""
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
    staff: Staff | Unset = UNSET
    """The persons at the table, if the request asks for them."""
    fault: Fault | Unset = UNSET
    """Only during a storage fault."""
    doubt: str | Unset = UNSET
    """Only while a person must rule on a journal that may have lost its newest part."""
    time: Time | Unset = UNSET
    """The table's time when this status was made, in UTC; in a stream of states alone."""
    software: str | Unset = UNSET
    """The version of shoe-ctl that runs the table; not in the state of a broker."""
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
    """`private`: only its owner may use the key's file; `missing`: it is not there."""
    mode: str | None
    """The modes of the key's file, in octal; null without one."""


class StatusAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `status` request."""

    user: str
    """The user who asked."""
    position: str
    """The highest position of that user."""
    time: Time
    """The tables' time, in UTC."""
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


class NoteTaken(Shape, frozen=True, kw_only=True):
    """The fate of a note."""

    table: str
    """The table."""
    event: str
    """The type of the event."""
    recorded: bool
    """False if it was one of too many: it is counted."""


class NoteAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `note` request."""

    noted: NoteTaken
    """The note."""
    events: list[str]
    """The ids of the events that it caused, in your audience."""


class PastRound(Shape, frozen=True, kw_only=True):
    """A round as the journal has it, from its events of one audience."""

    round_id: str
    """Its id."""
    shoe_id: str
    """The shoe that it was dealt from."""
    opened: Time
    """When it was opened, in UTC."""
    state: Literal["open", "announced", "settled", "void"]
    """`open` too while it goes on after an outcome."""
    outcome: dict[str, Any] | None
    """The data of the newest `round.outcome` or `round.revised`; null without one."""
    revisions: int
    """The number of times that its outcome was revised."""
    void: dict[str, Any] | None
    """The data of `round.void`; null if it is not void."""
    wagers: list[dict[str, Any]]
    """The data of each `wager.settled`."""
    changes: list[dict[str, Any]]
    """The data of each `wager.revised`, oldest first."""
    irregularities: list[str]
    """The keys that were raised in it, in order."""
    last_event: str
    """The id of the newest of these events."""


class RoundsAnswer(Shape, frozen=True, kw_only=True):
    """The answer to a `rounds` request."""

    table: str
    """The table."""
    rounds: list[PastRound]
    """The rounds, newest first."""
    more: bool
    """True if the journal has older ones that were asked for: ask again with `before`."""
    removed: bool
    """True if older ones that were asked for were removed from the journal."""


Answer = (
    StatusAnswer
    | Done
    | Refusal
    | ResendAnswer
    | EventsAnswer
    | RedeliverAnswer
    | AppliedAnswer
    | ShoeAnswer
    | NoteAnswer
    | RoundsAnswer
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
    NoteAnswer,
    RoundsAnswer,
)
