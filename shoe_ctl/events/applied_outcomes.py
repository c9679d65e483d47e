"""Events of outcomes that a table system applied, and of its statement of a shoe."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from shoe_ctl.events.event_type import Amount, Code, Count, Data, EventData, EventType, Time
from shoe_ctl.events.round import OfRound


class Applied(OfRound, frozen=True, kw_only=True):
    """A table system reports that it applied the outcome, the revision or the void of a round.

    Only at a table with `applied_within_s`, as are all events of this family.
    """

    event: str | UnsetType = UNSET
    """The id of the event that it applied, on its own stream."""


class AppliedDetails(Data, frozen=True, kw_only=True):
    """The report, and who gave it."""

    user: str
    """The user who reported it."""
    reference: str
    """The table system's own reference."""


class NotApplied(OfRound, frozen=True, kw_only=True):
    """No table system reported in time that it applied this. The pit hears of it."""

    type: Literal["round.outcome", "round.revised", "round.void"]
    """The type of the event that is to be applied."""
    told: Time
    """The time of that event."""


class Money(Data, frozen=True, kw_only=True):
    """The money of a wager of the game, all Players together."""

    staked: Count
    """The chips that lay there."""
    paid_out: Amount
    """The amount that the Players got, stakes that went back included."""


class Reconciled(EventData, frozen=True, kw_only=True):
    """A table system stated the rounds and the money of a shoe, and the table compared them."""

    shoe_id: str
    """The set of cards."""
    agrees: bool
    """True: both have the same."""
    rounds: Count
    """The rounds that the table has of it, void ones included."""
    stated: Count
    """The rounds that the table system stated."""
    money: bool
    """False: no wager of the shoe was recorded at the table, so that money was not compared."""
    first: str | UnsetType = UNSET
    """The first round that is not the same. Only where both do not agree."""
    what: Literal["not_stated", "not_played", "twice", "void", "not_void", "money"] | UnsetType = (
        UNSET
    )
    """The difference: the statement lacks the round, or has one that was not played; has it
    twice; the round is `void` at the table alone, or at the table system alone; its money."""


class ReconciledDetails(Data, frozen=True, kw_only=True):
    """The user who stated it, and the money."""

    user: str
    """The user who stated it."""
    wagers: dict[str, Money]
    """The shoe's money by wager, as the table has it."""
    wager: Code | UnsetType = UNSET
    """The first wager of that round that has other money."""
    kept: Money | UnsetType = UNSET
    """Its money at the table."""
    said: Money | UnsetType = UNSET
    """Its money as stated."""


EVENTS = (
    EventType(name="outcome.applied", data=Applied, adds=(AppliedDetails,)),
    EventType(name="outcome.not_applied", data=NotApplied),
    EventType(name="shoe.reconciled", data=Reconciled, adds=(ReconciledDetails,)),
)
