"""Events of the table as a whole: its start."""

from __future__ import annotations

from typing import Literal

from shoe_ctl.events.event_type import Code, Count, Data, EventData, EventType


class WagerLimits(Data, frozen=True, kw_only=True):
    """Limits of one wager where they differ from the table's."""

    minimum: Count | None
    """The least that it may be, in minor units; null: the table's."""
    maximum: Count | None
    """The most that it may be, in minor units; null: the table's."""


class Limits(Data, frozen=True, kw_only=True):
    """The limits displayed at the table, in minor units."""

    minimum: Count
    """The least that a wager may be."""
    maximum: Count | None
    """The most that a wager may be; null: no limit."""
    differential: Count | None
    """The most by which all wagers on Player and on Banker may differ; null: not checked."""
    wagers_per_area: Count | None
    """The number of wagers that a playing area takes; null: as many as the game allows."""
    payout_cap: Count | None
    """The most that a wager wins; null: no cap."""
    wagers: dict[str, WagerLimits]
    """Limits of single wagers, by name."""


class Currency(Data, frozen=True, kw_only=True):
    """The smallest amount that the table pays out."""

    unit: Count
    """The smallest amount, in minor units."""
    rounding: Code
    """The rounding of payouts to it."""


class Started(EventData, frozen=True, kw_only=True):
    """The controller was started: what the table is played under.

    It is sent at each start, before the shoe is there. A round that was open goes on.
    """

    game: Code
    """The game, by its id."""
    game_sha256: str
    """The SHA-256 of the game file, 64 hexadecimal digits."""
    decks: Count
    """The number of decks in a set of cards."""
    layout: str | None
    """The layout of wagers; null: any of the game's."""
    area: str
    """The gaming area that the table stands in."""
    method: Literal["A", "B", "C"] | None
    """The method in force; null where the game has none."""
    limits: Limits
    """The limits displayed at the table."""
    currency: Currency | None
    """The unit that payouts are rounded to; null: nothing is rounded."""
    profile: str
    """The profile: how the shoe speaks."""
    software: str
    """The version of shoe-ctl that runs."""
    contract: Count
    """The version of the events and commands that it sends and takes."""


EVENTS = (EventType(name="table.started", data=Started),)
