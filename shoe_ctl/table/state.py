"""State: everything the table remembers between inputs, as one frozen value.

In: nothing. Out: TableState and its parts, their JSON bytes; the slot that is due, the phase.
Must not know: how it changes, who asks, clocks.

The names of the fields are the keys of stored snapshots. Times are microseconds since 1970 UTC.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.records import key_difference
from shoe_ctl.table.effects import Answer, Instance, Instances
from shoe_ctl.table.inputs import ToldMoney
from shoe_ctl.table.wagers.types import Scope, Wager, Wagers
from shoe_ctl.texts.message import Message, message

# Commands to the shoe.

Command = Literal["reset", "self_test", "query", "clear_error", "rotate_key", "show"]
"""A command that the shoe answers; ``Capabilities.obeys`` says which shoes know which."""


class PendingCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that was sent to the shoe and that it did not answer yet."""

    number: int
    """Its id on the wire, 1 to 2**32 - 1."""
    command: Command
    """The command's name."""
    of: str | int | None = None
    """The question that is asked, an overdrawn card's fate (``keep``, ``discard``), or the new
    key's id."""
    since_us: int
    """When it was given."""
    device_id: str | None = None
    """The device that it is for; None where shoes do not say who they are."""
    overdue: bool = False
    """True once it was reported that no answer came in time."""


class Outbox(msgspec.Struct, frozen=True, kw_only=True):
    """The commands to the shoe that wait for an answer."""

    count: int = 0
    """The number of commands that there ever were; numbers them."""
    waiting: tuple[PendingCommand, ...] = ()
    """Those without an answer, oldest first; at most one of each kind."""
    last: dict[str, Any] | None = None
    """The last answer, as the public was told it."""

    def find(self, number: int | None) -> PendingCommand | None:
        """Return the pending command with this id."""
        return next((e for e in self.waiting if e.number == number), None)

    def of(self, command: str) -> PendingCommand | None:
        """Return the pending command of this kind."""
        return next((e for e in self.waiting if e.command == command), None)


# Players, hands and the shoe in Players' hands.


class Player(msgspec.Struct, frozen=True, kw_only=True):
    """A Player at the table, as far as known: by id, by seat, or both."""

    id: str | None = None
    """The Player's id."""
    seat: int | None = None
    """The seat of the Player."""
    designee: str | None = None
    """The person who handles the cards in the Player's place, if that was allowed."""

    @property
    def named(self) -> Message:
        """The Player by seat, or by id where no seat is known."""
        if self.seat is None:
            return message("player_by_id", player=self.id)
        return message("player_by_seat", seat=self.seat)


class HandCustody(msgspec.Struct, frozen=True, kw_only=True):
    """The custody of the cards of one hand of the round."""

    holder: Player | None = None
    """The Player who holds them face down; None: the dealer has them."""
    refused: tuple[Player, ...] = ()
    """The Players who did not take the hand, in order."""
    by_wagers: bool = False
    """True if the wagers named the holder, who loses the hand when they no longer do."""
    with_dealer: bool = False
    """True if a Player had it and the dealer exposes it from now on (5.10)."""


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """The custody of the cards of both hands of a round."""

    player: HandCustody = HandCustody()
    """The Player hand."""
    banker: HandCustody = HandCustody()
    """The Banker hand."""
    first: str | None = None
    """The hand that is revealed first, once that is settled."""

    def of(self, hand: str) -> HandCustody:
        """Return the custody of this hand: ``player`` or ``banker``."""
        return self.player if hand == "player" else self.banker


class ShoeControl(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of the shoe in Method C."""

    holder: Player | None = None
    """The Player who draws; None: the dealer."""
    leaves: tuple[Player, ...] = ()
    """The Players who may draw without a wager."""


# Cards on the table.


class DealtCard(msgspec.Struct, frozen=True, kw_only=True):
    """A card of the round, in its slot."""

    hand: str
    """``player`` or ``banker``."""
    index: int
    """Its place in the hand, from 1."""
    card: Card | None
    """The card's face; None until somebody or the shoe could read it."""
    number: int
    """The number of its draw from the set, from 1. Below 0 the shoe counted no draw for it."""
    drawn_us: int
    """When it was dealt."""
    revealed: bool = False
    """True once everybody at the table has seen it; an unread card is not revealed."""
    entered: bool = False
    """True if people said which card it is, and not the shoe."""
    read: Card | None = None
    """The reading of the shoe, where people corrected that once it lay open; None elsewhere."""

    @property
    def seen(self) -> bool:
        """True if everybody at the table has seen it, as for an unplaced card."""
        return self.revealed

    @property
    def place(self) -> str:
        """Where it lies, in words."""
        return f"{self.hand} {self.index}"

    @property
    def subject(self) -> str:
        """The subject of an irregularity about this card, which tells it from others of its key."""
        return self.place


Role = Literal["held", "early", "opening", "pending", "ahead", "outside_game", "aside"]
"""Why a card lies on the table without a slot.

* ``held``: it was drawn while the table was halted.
* ``early``: it was drawn before its turn, and nothing is decided about it.
* ``opening``: it was ruled to be the first card of the next round.
* ``pending``: it was drawn for a slot as the table halted, and takes it when play resumes.
* ``ahead``: it was drawn ahead for the open round and laid aside (5.11.1).
* ``aside``: it was set aside and is no card of the round, unless people revise that.
* ``outside_game``: the shoe gave it while the table was halted and counts it to no game. If the
  round is finished by hand, it may be one of its cards.
"""


class UnplacedCard(msgspec.Struct, frozen=True, kw_only=True):
    """A card that lies on the table without a slot."""

    card: Card | None
    """The card's face; None while that is not known."""
    number: int | None
    """The number of its draw; None where no shoe was known."""
    named_slot: tuple[str, int | None] | None = None
    """The hand and index that the shoe named, or that it was drawn for."""
    role: Role = "held"
    """Why it has no slot."""
    seen: bool = False
    """True if everybody at the table has seen it: then it can never open a round."""
    counted: bool = True
    """False if the ledger had this number before, or if the shoe only objected to the draw."""
    came_after: int = 0
    """The number of irregularities raised when it came (``TableState.irregularities``)."""

    @property
    def place(self) -> str:
        """Where it lies, in words."""
        return "drawn early" if self.role == "early" else self.role.replace("_", " ")

    @property
    def subject(self) -> str:
        """The subject of an irregularity about this card, which tells it from others of its key."""
        return subject_of_draw(self.number or 0)


def subject_of_draw(number: int) -> str:
    """Return the subject of an irregularity about the card of this draw."""
    return f"draw {number}"


CardOnTable = DealtCard | UnplacedCard
"""A card that lies on the table, in its slot or in none."""


# The round.


class ShoeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the round as the shoe judged it."""

    winner: str
    """``player``, ``banker`` or ``tie``."""
    player_pair: bool
    """True if the Player hand began with a pair."""
    banker_pair: bool
    """True if the Banker hand began with a pair."""


class FormerOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The basis of an outcome before people revised it."""

    cards: tuple[DealtCard, ...]
    """The cards of the round as they were then."""
    until_us: int
    """When it was revised."""
    settled: bool
    """True if the wagers were settled by it."""
    against_table: bool = False
    """As ``Round.against_table`` was then."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round of play, from *place your bets* to *settled*."""

    id: str
    """Its id: the shoe's id and the number of the round."""
    first_input: int
    """The number of the input that opened it (``TableState.inputs``)."""
    drawn_before: int = 0
    """The number of cards out of the shoe when it was opened."""
    cards: tuple[DealtCard, ...] = ()
    """Its cards, in the order in which they were dealt."""
    totals_announced: bool = False
    """True once the totals of the initial deal were announced."""
    due: str | None = None
    """The hand whose third card is due."""
    result: ShoeResult | None = None
    """The shoe's own result, once it came."""
    complete_us: int | None = None
    """When the last card was seen. The wait for the shoe's own result starts then."""
    result_overruled: bool = False
    """True if a person ruled that the cards stand without the shoe's result (6.3)."""
    manual: bool = False
    """True if it was finished by hand and entered afterwards."""
    announced: bool = False
    """True once its outcome was announced. What is announced later revises that outcome."""
    hands: Hands = Hands()
    """The custody of the cards of both hands."""
    shoe_sorted: bool = False
    """True if the shoe's other cards lie sorted on the table: the round gets none of them."""
    against_table: bool = False
    """True if people ruled that its cards stand, though the Table of Play gives no such (6.1)."""
    revised: tuple[FormerOutcome, ...] = ()
    """The outcomes that it had before they were revised, oldest first."""

    def hand(self, name: str) -> tuple[Card, ...]:
        """Return the cards of this hand that are known, in order, revealed or not."""
        return tuple([d.card for d in self.cards if d.hand == name and d.card is not None])

    def face_down(self, hand: str | None, index: int | None = None) -> list[DealtCard]:
        """Return the cards of this hand that are not revealed, or only the one at ``index``."""
        return [
            d for d in self.cards if d.hand == hand and not d.revealed and index in (None, d.index)
        ]

    @property
    def all_revealed(self) -> bool:
        """True if every card dealt so far is revealed, and so known."""
        for dealt in self.cards:  # noqa: SIM110 - asked for each card: a generator costs more
            if not dealt.revealed:
                return False
        return True


class SettledRound(msgspec.Struct, frozen=True, kw_only=True):
    """The round that was settled last, and what it was settled from: it may still be revised."""

    round: Round
    """The round, with its cards as they were announced."""
    wagers: Wagers
    """The wagers as they stood before the settlement."""
    shoe_id: str
    """The shoe that it was dealt from."""
    method: str | None
    """The method that it was dealt in."""


class OlderRound(msgspec.Struct, frozen=True, kw_only=True):
    """A settled round from before the last one, with what a revision of it needs.

    The table does not keep it: it comes with the command that revises it.
    """

    settled: SettledRound
    """The round as it was settled."""
    shoe: int
    """The number of the set of cards that it was dealt from."""
    player: str
    """The Player hand as it was told last: card codes with spaces between them."""
    banker: str
    """The Banker hand as it was told last."""
    shown: dict[str, int]
    """The number of times that each face was told in the outcomes of its set of cards."""
    told: tuple[str | None, str]
    """The ids of the event that told its outcome last, public and restricted."""


# The shoe.


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Cards that were seen one after the other in a deck's factory order."""

    number: int
    """The number of the last one's draw."""
    card: Card
    """The last of them."""
    length: int = 1
    """The number of them."""
    step: int = 0
    """1 up the ranks, -1 down, 0 with one card."""


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """Cards that were drawn at once, so that the shoe does not know their order."""

    numbers: tuple[int, ...]
    """The draws whose cards nobody named yet."""
    read: tuple[Card | None, ...]
    """The shoe's reading of each of them; None for one that it could not read."""
    named: tuple[Card, ...] = ()
    """The cards that people named so far."""


class Arming(msgspec.Struct, frozen=True, kw_only=True):
    """The last draw that the shoe was armed for, until the shoe reports that it is locked."""

    number: int
    """The number of the draw."""
    hand: str
    """The hand that the card is for."""
    index: int
    """The card's place in the hand."""
    round_id: str | None
    """The round that was open when the order was given."""
    confirmed: bool = False
    """True if the shoe reported that it is armed for this draw."""
    refused: str | None = None
    """Why the shoe refuses the order: a word of the shoe's own."""
    withdrawn: bool = False
    """True if the draw is no longer wanted. Until the shoe reports that it is locked, a card of
    this draw may still arrive."""


class ShoeClock(msgspec.Struct, frozen=True, kw_only=True):
    """The shoe's own clock, as read with the last card that it was armed for."""

    boot_id: int | None
    """The boot of the device that it counts from."""
    device_us: int
    """The time it showed when that card left the shoe, in µs since that boot."""
    at_us: int
    """When the report of that card arrived, by this host's clock."""


class Shoe(msgspec.Struct, frozen=True, kw_only=True):
    """The set of cards that is played from, and the ledger of its cards."""

    id: str
    """The table's id of this set in the shoe."""
    set_id: str | None = None
    """The shoe's own id of the set; None where it has none."""
    decks: int
    """The number of decks in the set."""
    drawn: int = 0
    """The number of cards drawn, by the numbers of the draws."""
    unknown: int = 0
    """The number of them that are unknown: drawn before the table knew the set, lost on the way, or
    never read."""
    returned: int = 0
    """The number of draws of cards that are in the shoe again."""
    uncounted: int = 0
    """The number of cards out, by what people said, for which the shoe counted no draw."""
    pushed_back: tuple[int, ...] = ()
    """Draws whose cards the shoe reports as pushed back. They stay counted until people decide."""
    reported_drawn: int = 0
    """The number of cards that the shoe last reported as drawn. If that is more than ``drawn``, the
    others are on their way or lost."""
    counts: dict[str, int] = {}
    """The count of each card that is known to be drawn, by card code."""
    shown: dict[str, int] = {}
    """The count of those that everybody at the table has seen, by card code."""
    entered_draws: dict[int, str | None] = {}
    """Draws that people entered and the shoe never reported, with the card's code if named."""
    unreported_draws: tuple[int, ...] = ()
    """Draws that the shoe passed over and nobody entered."""
    stale_arm: Arming | None = None
    """An arm order that was never confirmed as withdrawn: the link was lost or the round ended
    first. A card with its number may belong to that round."""
    cutting_card_out: bool = False
    """True once the cutting card appeared."""
    rounds_since_cutting_card: int = 0
    """The number of rounds finished since."""
    to_be_replaced: bool = False
    """True if no further round is dealt from this set."""
    replaced_under: str | None = None
    """The rule under which the set is replaced, where there is one."""
    recorded: bool = False
    """True if people recorded how the set was put in."""
    run: Run | None = None
    """The cards in factory order that were seen last."""
    pulls: tuple[Pull, ...] = ()
    """Cards drawn at once of which nobody knows which is which. ``counts`` has them as read."""
    overruled: dict[str, int] = {}
    """Readings that people ruled to be wrong, by card code. They are not counted, but the search
    for one card too many includes them."""
    clock: ShoeClock | None = None
    """The shoe's own clock; None where no armed card with a time was drawn yet."""
    round_from_us: int | None = None
    """From when on a card that leaves the shoe is not one of the round before: *place your bets*,
    or, with implied announcements, the end of the round before."""


class LoadedSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set of cards as the shoe announced it."""

    set_id: str | None
    """The shoe's own id of the set; None where it has none."""
    decks: int | None
    """The number of decks; None where the shoe cannot say, 0 where it has no cards."""
    fits: bool
    """True if it is a set that this table is configured for."""
    drawn: int = 0
    """The number of its cards that are out before the table plays from it."""
    cutting_card_out: bool = False
    """True if its cutting card is out already."""


# The link.


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A device that said who it is and was asked to prove it."""

    device_id: str
    """The device that it claims to be."""
    t_us: int
    """When the proof was asked for."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A device that was refused because it is not this table's shoe."""

    reason: str
    """Why: a code."""
    connection: int
    """The connection that it was on."""


class Suspended(msgspec.Struct, frozen=True, kw_only=True):
    """A line that brought too much garbage and is ignored for a while."""

    until_us: int
    """When the line is tried again."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """The connection to the shoe and the device, as far as they are known."""

    up: bool = False
    """True while a connection is open."""
    connection: int = 0
    """The number of the connection."""
    profile: str = ""
    """The profile of the shoe: its protocol."""
    arm: bool = False
    """True if the host arms such a shoe for each draw."""
    replay: bool = False
    """True if such a shoe sends again what was missed while the link was down."""
    judges: bool = False
    """True if such a shoe judges the round too."""
    names_hands: bool = False
    """True if such a shoe names the hand of each card."""
    commands: bool = False
    """True if commands may be sent to it."""
    commands_known: tuple[str, ...] = ()
    """The commands that such a shoe knows."""
    queries_known: tuple[str, ...] = ()
    """The queries that such a shoe knows."""
    authenticated: bool = False
    """True if all that arrives on this connection is proved to be from the shoe."""
    identified: bool = False
    """True if the shoe said on this connection who it is."""
    aligned: bool = True
    """True if the table knows where in the round the shoe is."""
    device_id: str | None = None
    """The device, as it named itself."""
    boot_id: int | None = None
    """The device's boot, as it named it; it changes when the device restarts."""
    reports_arming: bool = False
    """True once the device reported what it is armed for."""
    connected: bool = False
    """True once shoe.connected was emitted for this connection."""
    claim: Claim | None = None
    """The claim that waits for its proof."""
    refusal: Refusal | None = None
    """The last refusal since a shoe was connected."""
    suspended: Suspended | None = None
    """Set while the line is ignored."""
    since_us: int = 0
    """When the connection was opened."""
    hears: bool = True
    """False while nothing sent to the shoe has an effect, although it is received."""


# What is open: irregularities, pauses, windows.


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person who gave a command."""

    name: str
    """The person's name."""
    position: str
    """The position in which the person acted."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A window in which Players may withdraw wagers of a round whose bets are closed."""

    scope: Scope
    """The wagers that a Player may withdraw: any of their wagers, all or none, all the undecided or
    none."""
    rule: str | None
    """The rule that opens the window."""
    per_player: bool
    """True if each Player answers alone; without recorded wagers the table answers as one."""
    answered: tuple[str, ...] = ()
    """The Players who answered."""
    decided: tuple[str, ...] = ()
    """Wagers that are won or lost already and stay."""
    instance: Instance
    """The name that its events give it."""


class OpenIrregularity(msgspec.Struct, frozen=True, kw_only=True):
    """An irregularity, or a pause, that is open."""

    number: int
    """Its number among all that the table ever raised, from 1."""
    instance: Instance
    """The name that its events give it."""
    key: str
    """The key of its procedure."""
    step: str
    """The step of the procedure that is open."""
    seen: Message
    """A description of what was seen, for the staff."""
    since_us: int
    """When it was raised."""
    subject: str | None = None
    """Tells it from others with the same key."""
    public_seen: Message | None = None
    """The public description of what was seen; None where nothing may be said."""
    includes_below: bool = False
    """True if the one below it on the stack is part of the same event and ends with it."""
    data: dict[str, Any] = {}
    """The memory of its own steps: plain JSON values."""
    window: Window | None = None
    """The window for withdrawals that its step opened."""
    by: Person | msgspec.UnsetType = msgspec.UNSET
    """The person with whose command it was raised; unset where no command raised it."""


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """The halt of the table."""

    resume_state: str
    """The state that the table left, in which play resumes."""
    instance: Instance
    """The name that its events give it."""
    stack: tuple[OpenIrregularity, ...]
    """All that is open, the one raised last at the end."""

    @property
    def current(self) -> OpenIrregularity:
        """The one that is decided now: the one raised last."""
        return self.stack[-1]

    @property
    def current_group(self) -> tuple[OpenIrregularity, ...]:
        """The current one with those it covers: they are decided as one and end together."""
        first = len(self.stack) - 1
        while first > 0 and self.stack[first].includes_below:
            first -= 1
        return self.stack[first:]

    @property
    def earlier(self) -> tuple[str, ...]:
        """The keys of those that were raised before the current one."""
        return tuple(opened.key for opened in self.stack[:-1])


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """A declaration of a person. It may be retracted until the round is settled."""

    number: int
    """The number of its events on the public stream."""
    key: str
    """The irregularity."""
    by: str
    """The lowest position that may declare it."""
    irregularity: int | None = None
    """The number of the irregularity that it raised; None where it halted nothing."""
    step: str | None = None
    """The step at which that began."""
    data: dict[str, Any] = {}
    """The data of its steps then."""
    before: Wager | None = None
    """The wager that it is about, as it was before; None where there was none."""
    after: Wager | None = None
    """That wager as it was after it; None where it is about no wager that lies there."""
    settled_once: str | None = None
    """The Player whose wagers under the minimum it recorded as settled once."""
    shoe: str | None = None
    """The shoe whose cutting card was declared; None where it is about anything else."""


# The whole table.


class UndeliveredEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of this table that one sink refused or lost."""

    sink: str
    """The sink."""
    public: bool
    """True if the sink gets the public stream."""
    count: int = 0
    """The number of events that it refused."""
    last: str = ""
    """The id of the last one."""
    kind: str = ""
    """The type of the last one."""
    waiting: tuple[int, ...] = ()
    """The journal's records of those that it has not taken since, in order."""
    lost: tuple[int, int] | None = None
    """The numbers of the first and last event that it took and lost, until it has them again."""


class ToldRound(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a round, as it was told last, and whether a table system applied that."""

    round_id: str
    """The round."""
    shoe_id: str
    """The set of cards that it was dealt from."""
    type: str = ""
    """The type of the event that told it; ``round.reopened`` while the round goes on after it."""
    told_us: int = 0
    """When it was told."""
    reference: str | None = None
    """The table system's own reference; None until it reported that it applied this."""
    user: str | None = None
    """The user who reported that."""
    overdue: bool = False
    """True once it was reported that nobody applied it in time."""
    wagers: dict[str, ToldMoney] = {}
    """The money of the round by wager, once it is settled."""


class ToldRounds(msgspec.Struct, frozen=True, kw_only=True):
    """The rounds of the last two shoes, and older ones that nobody applied, in the order dealt."""

    rounds: tuple[ToldRound, ...] = ()
    """The rounds."""
    agreed: tuple[str, ...] = ()
    """The shoes of which a table system stated the same as the table has."""
    part_of: str | None = None
    """The shoe that was under way when the table began to keep this."""


class FirstAnswer(Answer, frozen=True, kw_only=True):
    """The answer to a command, kept for a repetition of the command."""

    user: str = ""
    """The user who gave the command."""
    digest: str = ""
    """The digest of what was asked."""
    person: str | msgspec.UnsetType = msgspec.UNSET
    """The person who logged in to give it; unset where the user vouches for none."""

    def again(self) -> Answer:
        """Return the answer alone."""
        return Answer(**{name: getattr(self, name) for name in Answer.__struct_fields__})


class GivenCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that was accepted, as staff see it in the list of the last ones."""

    command: str
    """Its name."""
    about: str | None
    """The key that was declared, or the choice that was taken; None for other commands."""
    by: Person
    """The person who gave it."""
    consented_by: str | None
    """The second person, if one consented."""
    t_us: int
    """When it was given."""


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    """The table between two inputs."""

    state: str = "no_shoe"
    """One of the ten states."""
    t_us: int = 0
    """The time of the last input."""
    inputs: int = 0
    """The number of inputs handled."""
    shoes: int = 0
    """The number of sets of cards admitted; numbers their ids."""
    rounds: int = 0
    """The number of rounds opened; numbers their ids."""
    irregularities: int = 0
    """The number of irregularities and pauses raised; numbers them."""
    instances: Instances = Instances()
    """The count of things opened that close again; numbers the names that events give them."""
    host_boot: str | None = None
    """The boot of the host that the daemon last started in."""
    shoe: Shoe | None = None
    """The set of cards that is played from."""
    round: Round | None = None
    """The open round."""
    link: Link = Link()
    """The connection to the shoe, and the device."""
    halt: Halt | None = None
    """The halt, if the table is halted."""
    pending_irregularities: tuple[OpenIrregularity, ...] = ()
    """Irregularities that are open and do not halt the table yet."""
    unplaced: tuple[UnplacedCard, ...] = ()
    """Cards on the table without a slot. Those of one role are in the order they came to it."""
    pending_set: LoadedSet | None = None
    """A set that was loaded in a round or while the table was halted; it waits for the end."""
    arming: Arming | None = None
    """The arm order that was given last."""
    wake_us: int | None = None
    """When the table asked to be woken."""
    answered: dict[str, FirstAnswer] = {}
    """The answers given last, by command id, oldest first."""
    wagers: Wagers = Wagers()
    """The wagers on the layout, and their history."""
    method: str | None = None
    """The method last changed to; None while the one of the settings is played."""
    control: ShoeControl = ShoeControl()
    """The holder of the shoe in Method C."""
    last_settled: SettledRound | None = None
    """The round that was settled last."""
    outbox: Outbox = Outbox()
    """Commands to the shoe that wait for an answer."""
    declarations: tuple[Declaration, ...] = ()
    """The declarations since the last round ended, oldest first."""
    undelivered: tuple[UndeliveredEvents, ...] = ()
    """Events that sinks refused, by sink."""
    last_commands: tuple[GivenCommand, ...] | msgspec.UnsetType = msgspec.UNSET
    """The commands that were accepted last, oldest first; unset before the first one."""
    told: ToldRounds | msgspec.UnsetType = msgspec.UNSET
    """The rounds that a table system is to apply; unset where it does not report that."""

    @property
    def armed(self) -> tuple[int, str, int] | None:
        """The draw that the shoe is to be armed for: number, hand, index. None: locked."""
        arming = self.arming
        if arming is None or arming.withdrawn:
            return None
        return arming.number, arming.hand, arming.index

    @property
    def open_irregularities(self) -> tuple[OpenIrregularity, ...]:
        """All that is open: what is pending beside the round, and what halts it."""
        return self.pending_irregularities + (() if self.halt is None else self.halt.stack)

    @property
    def held(self) -> tuple[UnplacedCard, ...]:
        """Cards drawn while the table was halted, in the order drawn."""
        return self._of_role("held")

    @property
    def early(self) -> tuple[UnplacedCard, ...]:
        """Cards drawn early about which nothing is decided."""
        return self._of_role("early")

    @property
    def opening(self) -> tuple[UnplacedCard, ...]:
        """Cards that were ruled to open the next round, in the order drawn."""
        return self._of_role("opening")

    @property
    def pending(self) -> UnplacedCard | None:
        """The card that takes its slot when play resumes."""
        return next(iter(self._of_role("pending")), None)

    @property
    def ahead(self) -> tuple[UnplacedCard, ...]:
        """Cards drawn ahead for the open round, in the order drawn."""
        return self._of_role("ahead")

    @property
    def outside_game(self) -> tuple[UnplacedCard, ...]:
        """Cards that the shoe gave while the table was halted and counts to no game."""
        return self._of_role("outside_game")

    @property
    def aside(self) -> tuple[UnplacedCard, ...]:
        """Cards that were set aside since the round before the last one, in the order drawn."""
        return self._of_role("aside")

    def _of_role(self, role: Role) -> tuple[UnplacedCard, ...]:
        if not self.unplaced:
            return ()
        return tuple(card for card in self.unplaced if card.role == role)


# Bytes.


def _enc(value: Any) -> Any:
    if isinstance(value, Card):
        return value.code
    raise TypeError(f"not a value of the state: {type(value).__name__}")


def _dec(kind: type, value: Any) -> Any:
    if kind is Card:
        return card(value)
    raise TypeError(f"not a value of the state: {kind.__name__}")


# Keys are not sorted: the oldest answers are dropped first, also after a restore.
_encoder = msgspec.json.Encoder(enc_hook=_enc)
_decoder = msgspec.json.Decoder(TableState, dec_hook=_dec)


def to_bytes(state: TableState) -> bytes:
    """Return the state's bytes: the same state always gives the same bytes."""
    return _encoder.encode(state)


_older_decoder = msgspec.json.Decoder(OlderRound, dec_hook=_dec)


def older_to_bytes(older: OlderRound) -> bytes:
    """Return the bytes with which a round stands in the command that revises it."""
    return _encoder.encode(older)


def older_from_bytes(body: bytes | msgspec.Raw) -> OlderRound:
    """Return the round that ``older_to_bytes`` encoded.

    Raises:
        ValueError: these bytes are none (msgspec's errors are ValueErrors).
    """
    return _older_decoder.decode(body)


def from_bytes(body: bytes) -> TableState:
    """Return the state that ``to_bytes`` encoded.

    Raises:
        ValueError: these bytes are not a state, or its keys are not those of this version; one
            line says which.
    """
    state = _decoder.decode(body)
    written = to_bytes(state)
    if written != body:
        differs = key_difference(msgspec.json.decode(body), msgspec.json.decode(written))
        raise ValueError(differs or "it is not as this version writes it")
    return state


# The slot that is due, and the phase.

INITIAL_DEAL = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2))
"""The first four cards (N/T 3.13, I/F 3.12): Player first, in turn."""

ASIDE = "set_aside"
"""Stands for the hand of cards that are drawn ahead and laid aside (5.11.1)."""


def next_slot(now: TableState) -> tuple[str, int] | None:
    """Return the hand and index that the next card is for; None if no card is due."""
    played = now.round
    dealt = () if played is None else played.cards
    if len(dealt) < len(INITIAL_DEAL):
        return INITIAL_DEAL[len(dealt or now.opening)]
    return None if played is None or played.due is None else (played.due, 3)


def phase(now: TableState) -> str:
    """Return the state that the round's cards stand for, from *no more bets* to the outcome."""
    played = now.round
    if played is None or not played.cards:
        return "closed"
    if len(played.cards) < len(INITIAL_DEAL):
        return "dealing"
    return "revealing" if played.due is None else "drawing"


def pending_cards(now: TableState) -> int:
    """Return how many cards wait for a slot of a hand until play resumes: 0 or 1."""
    return int(now.pending is not None and not is_drawn_ahead(now.pending))


def is_drawn_ahead(card: UnplacedCard) -> bool:
    """True if the card was drawn to be laid aside, for no slot of a hand (5.11.1)."""
    return card.named_slot is not None and card.named_slot[0] == ASIDE


DEALT_IN = ("closed", "dealing", "drawing")
"""The states in which a card may be drawn, whether or not announcements are inferred."""

BEGUN_BY_A_CARD = ("idle", "betting")
"""The states in which a card may be drawn too, if announcements are inferred from the cards."""
