"""Exact money: what a won stake is paid, in minor units (cents), and how it is rounded.

In: whole stakes, exact odds, a table's smallest unit if it has one. Out: exact amounts.
Must not know: wagers, Players, limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Annotated, Literal, NamedTuple

import msgspec

Rounding = Literal["down", "up", "half_up", "half_even"]

_HALF = Fraction(1, 2)

_WHOLE: Mapping[str, Callable[[Fraction], int]] = {
    "down": floor,
    "up": ceil,
    "half_up": lambda amount: floor(amount + _HALF),
    "half_even": round,
}


class Currency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The smallest amount the table pays out, in minor units, and how payouts come to it.

    ``half_up`` and ``half_even`` go to the nearer multiple; they differ only half way between.
    """

    unit: Annotated[int, msgspec.Meta(ge=1)]
    rounding: Rounding

    def round(self, amount: Fraction) -> Fraction:
        """The multiple of ``unit`` that this amount is paid as. Amounts are never negative."""
        return Fraction(_WHOLE[self.rounding](amount / self.unit) * self.unit)


class Payout(NamedTuple):
    """What a winning wager is paid besides its own stake, and the commission kept of it.

    ``commission`` is None where the rules speak of none; with one, ``pays + commission`` is the
    win at full odds, to the last fraction. ``capped``: the table's highest payout cut the win.
    """

    pays: Fraction
    commission: Fraction | None
    capped: bool


def payout(
    stake: int,
    odds: Fraction,
    *,
    commission: Fraction | None = None,
    currency: Currency | None = None,
    cap: int | None = None,
) -> Payout:
    """Pay this stake (minor units) at these odds to 1.

    ``commission`` is the part of one unit's even-money win that the odds leave out. What rounding
    takes or gives falls on the commission; where there is none, on the house. A win above ``cap``
    is cut to it. Without a ``currency`` nothing is rounded.
    """
    exact = stake * odds
    pays = exact if currency is None else currency.round(exact)
    kept = None if commission is None else exact + stake * commission - pays
    if cap is not None and pays > cap:
        return Payout(Fraction(cap), kept, capped=True)
    return Payout(pays, kept, capped=False)


def json_amount(amount: Fraction | int) -> int | str:
    """The amount as JSON carries it: a whole number of minor units, else a fraction, ``"19/2"``."""
    exact = Fraction(amount)
    return exact.numerator if exact.denominator == 1 else str(exact)
