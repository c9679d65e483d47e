"""The limits displayed at a table, and with the game and layout all that bounds a wager.

In: settings, a game. Out: TableLimits, WagerRules: what may be placed where, for how much.
Must not know: which wagers stand, Players, files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.games.game import Game

from .money import Currency

Amount = Annotated[int, msgspec.Meta(ge=1)]
"""Minor units, at least one."""


class WagerLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one wager where they differ from the table's. Minor units."""

    minimum: Amount | None = None
    maximum: Amount | None = None


class TableLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits displayed at the table, in minor units.

    ``differential`` bounds the difference between all main wagers on Player and on Banker.
    ``wagers_per_area`` is a Pit Manager's lower number that the table begins with.
    ``payout_cap`` cuts every win above it, in games whose rules know a highest payout.
    ``currency`` says what payouts are rounded to; without it nothing is rounded.

    Raises:
        ValueError: a minimum above its maximum, or a payout cap the currency cannot pay.
    """

    minimum: Amount = 1
    maximum: Amount | None = None
    differential: Amount | None = None
    wagers_per_area: Amount | None = None
    payout_cap: Amount | None = None
    currency: Currency | None = None
    wagers: dict[str, WagerLimits] = {}

    def __post_init__(self) -> None:
        for wager in ("", *self.wagers):
            low, high = self.of(wager)
            if high is not None and low > high:
                of_wager = f" of {wager}" if wager else ""
                raise ValueError(f"the minimum{of_wager} ({low}) is above the maximum ({high})")
        unit = 1 if self.currency is None else self.currency.unit
        if self.payout_cap is not None and self.payout_cap % unit:
            raise ValueError(f"payout_cap {self.payout_cap} is no multiple of the unit {unit}")

    def __hash__(self) -> int:
        return hash((*(getattr(self, name) for name in _HASHED), *sorted(self.wagers)))

    def of(self, wager: str) -> tuple[int, int | None]:
        """The minimum and the maximum of this wager."""
        own = self.wagers.get(wager, _AS_THE_TABLE)
        return own.minimum or self.minimum, own.maximum or self.maximum


_AS_THE_TABLE = WagerLimits()
_HASHED = tuple(name for name in TableLimits.__struct_fields__ if name != "wagers")


@dataclass(frozen=True)
class WagerRules:
    """What bounds wagers at one table: its game, layout (None: any of the game's) and limits.

    Raises:
        InputRefused: the game or the layout has no place for one of the limits.
    """

    game: Game
    layout: str | None
    limits: TableLimits

    def __post_init__(self) -> None:
        game, limits = self.game, self.limits
        for wager in limits.wagers:
            if wager not in self.offered:
                raise InputRefused(f"wagers.{wager}: not offered (have: {', '.join(self.offered)})")
        if limits.payout_cap is not None and not game.options.payout_cap:
            raise InputRefused(f"payout_cap: {game.id} knows no highest payout")
        if limits.differential is not None and not game.options.staffed:
            raise InputRefused(f"differential: {game.id} knows no table differential")
        per_area, most = limits.wagers_per_area, game.limits.wagers_per_area
        if per_area is None:
            return
        if game.limits.lowered_by is None:
            raise InputRefused(f"wagers_per_area: nobody may lower the number in {game.id}")
        if most is not None and per_area >= most:
            raise InputRefused(f"wagers_per_area: must be lower than the game's {most}")

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The wagers on offer, in the game's order."""
        return self.game.offered(self.layout)

    @cached_property
    def seats(self) -> tuple[int, ...]:
        """The seats, counter-clockwise; without a layout every seat that one of them has."""
        if self.layout is not None:
            return self.game.layouts[self.layout].seats
        return tuple(dict.fromkeys(s for one in self.game.layouts.values() for s in one.seats))

    def minimum(self, wager: str) -> int:
        """The least that this wager may be."""
        return self.limits.of(wager)[0]

    def maximum(self, wager: str) -> int | None:
        """The most that this wager may be, None where nothing bounds it."""
        return self.limits.of(wager)[1]

    @property
    def most_per_area(self) -> int | None:
        """How many wagers a playing area takes unless a Pit Manager says less."""
        return self.limits.wagers_per_area or self.game.limits.wagers_per_area

    @cached_property
    def mains(self) -> Mapping[str, str]:
        """By main wager on offer: the hand it is on (``player`` or ``banker``)."""
        mains = {name: self.game.wagers[name].main for name in self.offered}
        return MappingProxyType({name: hand for name, hand in mains.items() if hand is not None})

    def holds(self, position: str, least: str) -> bool:
        """Whether this position is the least that is needed, or a higher one (6.2).

        The game's file lists its positions from low to high.
        """
        ladder = self.game.positions
        return least in ladder and position in ladder[ladder.index(least) :]
