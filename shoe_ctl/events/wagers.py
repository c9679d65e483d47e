"""Events of wagers: placed, refused, settled. Amounts are in minor units."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.events.event_type import (
    Amount,
    Argument,
    Code,
    Data,
    EventData,
    EventType,
    Fraction,
    Message,
    Rule,
)
from shoe_ctl.events.round import OfRound


class OfWager(OfRound, frozen=True, kw_only=True):
    """An event about a wager."""

    number: int
    """The wager's number in the round, from 1."""
    seat: int
    """The seat."""
    wager: Code
    """The name of the wager."""


class Accepted(OfWager, frozen=True, kw_only=True):
    """A wager was placed, changed or withdrawn."""

    act: Literal[
        "placed",
        "increased",
        "decreased",
        "withdrawn",
        "removed",
        "found",
        "found_late",
        "taken_back",
        "retracted",
    ]
    """The act. `removed`: by the Pit Manager, for the table differential. `found`, `found_late` and
    `taken_back` are what staff declare after *no more bets*; `retracted` takes that back."""
    change: int
    """The amount that came or, if negative, went."""
    amount: int
    """The wager's amount now."""


class AcceptedDetails(Data, frozen=True, kw_only=True):
    """Whose wager it is."""

    player: str
    """The Player."""
    on_behalf: bool
    """True: somebody placed it for the Player."""
    rule: Rule
    """The rule."""


class Refused(EventData, frozen=True, kw_only=True):
    """The rules do not allow the wager."""

    command: Code
    """The command."""
    asked: dict[str, Argument]
    """The arguments of the command."""
    error: Message
    """Why it was refused."""
    rule: Rule
    """The rule."""


class Applied(Data, frozen=True, kw_only=True):
    """The end of an irregularity that changed the settlement."""

    key: Code
    """The irregularity."""
    end: Code
    """Its end, as in the game file."""
    rule: Rule
    """The rule of that end."""


class Settled(OfWager, frozen=True, kw_only=True):
    """A wager is paid or loses."""

    stake: int
    """The stake that was wagered."""
    result: Literal["win", "lose", "push", "returned"]
    """Its result; `returned`: the round is void, or the wager did not play."""
    odds: Fraction | UnsetType = UNSET
    """Its odds to 1, an exact fraction. Only with `win`."""
    pays: Amount
    """The amount that the Player gets besides what is returned."""
    commission: Amount | UnsetType = UNSET
    """The amount that the house keeps of the winnings, where it takes a commission. `pays` is
    without it."""
    collected: int
    """The part of the stake that the house collects."""
    returned: int
    """The part of the stake that goes back."""
    rule: Rule
    """The rule that decided the result."""
    applied: list[Applied]
    """Ends of irregularities that changed the settlement."""


class SettledFor(Data, frozen=True, kw_only=True):
    """Whose wager it was."""

    player: str
    """The Player."""


class Revised(Settled, frozen=True, kw_only=True):
    """A wager is paid after a revised outcome, in full."""

    change: Amount
    """The amount that the Player gets more or, if negative, owes."""


class Restricted(EventData, frozen=True, kw_only=True):
    """A pit manager changed how many wagers a playing area takes."""

    number: int | None
    """The number of wagers that it takes; null: as many as the limits allow."""
    since: Literal["next_round"] = msgspec.field(name="from")
    """From when on."""
    rule: Rule
    """The rule."""


EVENTS = (
    EventType(name="wager.accepted", data=Accepted, adds=(AcceptedDetails,)),
    EventType(name="wager.refused", data=Refused, audience="restricted"),
    EventType(name="wager.settled", data=Settled, adds=(SettledFor,)),
    EventType(name="wager.revised", data=Revised, adds=(SettledFor,)),
    EventType(name="wagers.restricted", data=Restricted),
)
