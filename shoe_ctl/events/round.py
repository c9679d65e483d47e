"""Events of the round: bets, cards, totals and the outcome."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from shoe_ctl.events.event_type import (
    Card,
    Code,
    Count,
    Data,
    EventData,
    EventType,
    Fraction,
    Hand,
    Index,
    Rule,
)


class OfRound(EventData, frozen=True, kw_only=True):
    """An event of a round."""

    round_id: str
    """The round."""


class Inferred(OfRound, frozen=True, kw_only=True):
    """An announcement about one round."""

    inferred: bool | UnsetType = UNSET
    """True: nobody announced it, it follows from the cards."""


class HandOutcome(Data, frozen=True, kw_only=True):
    """A hand as the round ended."""

    cards: list[Card]
    """Its cards, in the order dealt."""
    total: Count
    """Its total, 0 to 9."""
    natural: bool
    """True: an 8 or a 9 with two cards."""


class WagerOutcome(Data, frozen=True, kw_only=True):
    """The result of a wager of the game."""

    result: Literal["win", "lose", "push"]
    """Its result: it wins or loses; `push`: the stake goes back."""
    odds: Fraction | UnsetType = UNSET
    """Its odds to 1, an exact fraction such as `"19/20"`. Only with `win`."""


class FullOutcome(OfRound, frozen=True, kw_only=True):
    """The outcome of a round, in full."""

    table: str
    """The table."""
    shoe_id: str
    """The set of cards."""
    game: Code
    """The game, by its id."""
    game_sha256: str
    """The SHA-256 of the game file, 64 hexadecimal digits: it says which rules the table played."""
    method: str | None
    """The method in which the round was played: `A`, `B` or `C`; null where the game has none."""
    winner: Literal["player", "banker", "tie"]
    """The hand that won, or `tie`."""
    player: HandOutcome
    """The Player hand."""
    banker: HandOutcome
    """The Banker hand."""
    wagers: dict[str, WagerOutcome]
    """Every wager of the game and layout, by name."""
    rules: list[str]
    """The rules that decided the outcome, by number."""
    manual: bool
    """True: people entered the round."""


class Outcome(FullOutcome, frozen=True, kw_only=True):
    """The outcome of the round.

    A round has one outcome, unless it is void. `round.revised` may replace it; until
    `round.settled`, `round.void` may take it back, and `round.reopened` may let the round go on.
    """

    inferred: bool | UnsetType = UNSET
    """True: nobody announced it, it follows from the cards."""


class Inputs(Data, frozen=True, kw_only=True):
    """A range of a table's inputs."""

    first: Count
    """The first input, counted from 1."""
    last: Count
    """The last input."""


class Proof(Data, frozen=True, kw_only=True):
    """The cards and readings from which the outcome follows."""

    proof: Inputs
    """The inputs of the table that the outcome follows from."""


class Revised(FullOutcome, frozen=True, kw_only=True):
    """The full replacement of an outcome that was wrong. Settle the round by it."""

    rule: Rule
    """The rule under which it was revised."""
    against_table: bool | UnsetType = UNSET
    """True: a ruling that the cards stand, though the Table of Play gives no such hands."""
    revises: str
    """The id of the event that it replaces, on its own stream: an outcome, or a revision of it."""


class Void(OfRound, frozen=True, kw_only=True):
    """The round is void, and all wagers go back.

    It may follow `round.outcome`, until `round.settled`: the outcome then does not count.
    """

    reason: Code
    """The key of the irregularity; `inspection` where the key would tell a card."""
    rule: Rule
    """The rule under which it is void."""
    revokes: str | UnsetType = UNSET
    """The id of the event that it takes back, on its own stream: the outcome, or the last revision
    of it. Left out where the round had none."""


class VoidDetails(Data, frozen=True, kw_only=True):
    """Why the round is void."""

    key: Code | UnsetType = UNSET
    """The key of the irregularity, also where `reason` does not name it."""


class Opened(Inferred, frozen=True, kw_only=True):
    """Bets are open, and the round has its id."""

    shoe_id: str
    """The set of cards that the round is dealt from."""


class BetsClosed(Inferred, frozen=True, kw_only=True):
    """No more bets."""


class Settled(Inferred, frozen=True, kw_only=True):
    """Wagers are collected and paid; the round is over."""


class CardDealt(OfRound, frozen=True, kw_only=True):
    """A card lies in its slot."""

    hand: Literal["player", "banker", "set_aside"]
    """The hand; `set_aside`: the card is laid aside."""
    index: Index
    """Its place in the hand, from 1."""
    face: Literal["down", "up"]
    """The side that is up."""


class CardDrawn(EventData, frozen=True, kw_only=True):
    """The shoe read a card."""

    card: Card | None
    """The card; null if it was not read."""
    number: Count | None
    """The draw, counted in the set of cards from 1; null where nothing counts it."""
    hand: Literal["player", "banker", "set_aside", "burn", "first_card", "burn_count"] | None
    """The hand that the shoe or the round names; null where neither does."""
    index: Index | None
    """The place in the hand."""
    placed: bool | UnsetType = UNSET
    """False: the card has no slot in the round."""


class CardRevealed(OfRound, frozen=True, kw_only=True):
    """A card is face up."""

    hand: Hand
    """The hand."""
    index: Index
    """Its place in the hand, from 1."""
    card: Card
    """The card."""


class Exposure(Data, frozen=True, kw_only=True):
    """The person who turned the card."""

    by: Literal["dealer", "holder", "in_error"] | UnsetType = UNSET
    """The one who turned it: the dealer, the Player who holds the hand, or somebody in error."""
    player: str | UnsetType | None = UNSET
    """The Player who holds the hand; null for a seat without a name."""
    designee: str | UnsetType | None = UNSET
    """The person who turns it for that Player."""
    rule: Rule | UnsetType = UNSET
    """The rule, where the dealer or an error turned it."""


class CardEntered(EventData, frozen=True, kw_only=True):
    """People entered a card that the shoe did not report."""

    hand: Hand | None
    """The hand; null for a card without a slot."""
    index: Index | None
    """Its place in the hand, from 1."""
    card: Card | None
    """The card; null for a card that lies face down."""


class CardCorrected(CardRevealed, frozen=True, kw_only=True):
    """People corrected a card that the shoe misread, alone or with both hands of a round."""

    was: Card
    """The card before."""


class Place(Data, frozen=True, kw_only=True):
    """A place on the table."""

    hand: Hand
    """The hand."""
    index: Index
    """Its place in the hand, from 1."""


class CardMoved(OfRound, frozen=True, kw_only=True):
    """A third card lies at the wrong hand, or at one that is due none: a card was corrected.

    It is moved to the hand that is due. Else it is no card of the round: that is ruled on, or a
    round that people enter leaves it out.
    """

    hand: Hand | None
    """The hand that it goes to; null: none, it was not due."""
    index: Index | None
    """Its place there, from 1."""
    from_: Place = field(name="from")
    """Where it lay."""
    rule: Rule
    """The rule under which it is moved; null for a card that was not due."""


class Reopened(OfRound, frozen=True, kw_only=True):
    """The round goes on after its outcome: by a corrected card, a card is missing.

    The round ends with `round.revised` or `round.void`, never with a second `round.outcome`. A
    receiver that ignores this event settles by what comes last.
    """

    rule: Rule
    """The rule under which it goes on."""
    reopens: str
    """The id of the event that does not stand, on its own stream: the outcome, or the last revision
    of it."""


class EntryCompared(EventData, frozen=True, kw_only=True):
    """The shoe reported a card later that people had entered before."""

    number: Count
    """The draw."""
    card: Card | None
    """The card that the shoe reported; null if it was not read."""
    entered: Card | None
    """The card that people had entered; null for one that lay face down."""


class FirstHand(OfRound, frozen=True, kw_only=True):
    """The dealer set which hand is revealed first (Method A)."""

    hand: Hand
    """The hand."""
    rule: Rule
    """The rule."""


class TotalAnnounced(OfRound, frozen=True, kw_only=True):
    """The dealer announced a hand's total of its first two cards."""

    hand: Hand
    """The hand."""
    total: Count
    """Its total, 0 to 9."""
    inferred: bool | UnsetType = UNSET
    """True: nobody announced it, it follows from the cards."""


class RoundEntered(OfRound, frozen=True, kw_only=True):
    """People entered a round that was finished by hand."""

    player: str
    """The cards of the Player hand, in the order dealt, with blanks between them."""
    banker: str
    """The cards of the Banker hand, likewise."""
    against_reading: bool
    """True: at least one card differs from what the shoe read."""


EVENTS = (
    EventType(name="round.outcome", data=Outcome, adds=(Proof,)),
    EventType(name="round.revised", data=Revised, adds=(Proof,)),
    EventType(name="round.void", data=Void, adds=(VoidDetails,)),
    EventType(name="round.settled", data=Settled),
    EventType(name="round.opened", data=Opened),
    EventType(name="round.bets_closed", data=BetsClosed),
    EventType(name="round.card_dealt", data=CardDealt),
    EventType(name="round.card_drawn", data=CardDrawn, audience="restricted"),
    EventType(name="round.card_revealed", data=CardRevealed, adds=(Exposure,)),
    EventType(name="round.card_entered", data=CardEntered, audience="restricted"),
    EventType(name="round.card_corrected", data=CardCorrected),
    EventType(name="round.card_moved", data=CardMoved),
    EventType(name="round.reopened", data=Reopened),
    EventType(name="round.entry_compared", data=EntryCompared, audience="restricted"),
    EventType(name="round.first_hand", data=FirstHand),
    EventType(name="round.total_announced", data=TotalAnnounced),
    EventType(name="round.entered", data=RoundEntered, audience="restricted"),
)
