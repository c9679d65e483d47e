"""Events of the hands that Players hold, and of the methods."""

from __future__ import annotations

import msgspec

from shoe_ctl.events.event_type import (
    Data,
    EventData,
    EventType,
    Hand,
    Index,
    Message,
    Rule,
)
from shoe_ctl.events.round import OfRound


class OfHand(OfRound, frozen=True, kw_only=True):
    """An event about a hand and a Player."""

    hand: Hand
    """The hand."""
    seat: int | None
    """The Player's seat; null for a Player without one."""


class Named(Data, frozen=True, kw_only=True):
    """The Player."""

    player: str | None
    """The Player; null for a seat without a name."""


class Passed(OfHand, frozen=True, kw_only=True):
    """A hand's cards go to a Player."""

    rule: Rule
    """The rule."""
    through_dealer: bool
    """True: a Player draws, and the dealer passes the cards on to another (Method C)."""


class PassedTo(Named, frozen=True, kw_only=True):
    """The person who gets the cards."""

    designee: str | None
    """The person who takes the cards for that Player."""


class Refused(OfHand, frozen=True, kw_only=True):
    """A Player does not take the hand."""


class Retrieved(OfHand, frozen=True, kw_only=True):
    """A hand's cards are taken back from a Player."""

    rule: Rule
    """The rule."""


class Replaced(OfRound, frozen=True, kw_only=True):
    """A card was replaced by another one in the same slot."""

    hand: Hand
    """The hand."""
    index: Index
    """Its place in the hand, from 1."""
    rule: Rule
    """The rule."""


class MethodChanged(EventData, frozen=True, kw_only=True):
    """Another method is played from now on."""

    former: str | None = msgspec.field(name="from")
    """The method until now."""
    to: str
    """The method from now on."""
    rule: Rule
    """The rule."""


class MethodBreached(EventData, frozen=True, kw_only=True):
    """A breach of the method is recorded, for example a shoe out of full view."""

    instance: Index
    """Its number. Each stream counts its own from 1."""
    seat: int | None
    """The seat of the Player with the shoe."""
    rule: Rule
    """The rule."""


class BreachDetails(Named, frozen=True, kw_only=True):
    """The breach that was seen."""

    seen: Message
    """A description of what was seen."""


EVENTS = (
    EventType(name="cards.passed", data=Passed, adds=(PassedTo,)),
    EventType(name="cards.refused", data=Refused, adds=(Named,)),
    EventType(name="cards.retrieved", data=Retrieved, adds=(Named,)),
    EventType(name="cards.replaced", data=Replaced),
    EventType(name="method.changed", data=MethodChanged),
    EventType(name="method.breached", data=MethodBreached, adds=(BreachDetails,)),
)
