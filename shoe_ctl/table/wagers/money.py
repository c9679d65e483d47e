"""Money: what a stake that won is paid, exactly, in minor units (cents), and how it is rounded.

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
"""The way an amount between two multiples is rounded."""

_HALF = Fraction(1, 2)

_WHOLE: Mapping[str, Callable[[Fraction], int]] = {
    "down": floor,
    "up": ceil,
    "half_up": lambda amount: floor(amount + _HALF),
    "half_even": round,
}


class Currency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The smallest amount that the table pays out, and how payouts are rounded to it."""

    unit: Annotated[int, msgspec.Meta(ge=1)]
    """The smallest amount, in minor units; every payout is a multiple of it."""
    rounding: Rounding
    """The rounding of payouts. ``half_up`` and ``half_even`` round to the nearer multiple; they
    differ only half way between two."""
    code: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")] | msgspec.UnsetType = msgspec.UNSET
    """The currency's three letters (ISO 4217), for screens; unset: amounts are shown without."""
    exponent: Annotated[int, msgspec.Meta(ge=0, le=4)] | msgspec.UnsetType = msgspec.UNSET
    """The number of decimals with which screens show amounts: 2 where a minor unit is a cent.
    Unset: amounts are shown in minor units."""

    def round(self, amount: Fraction) -> Fraction:
        """Return the multiple of ``unit`` that this amount is paid as. It is never negative."""
        return Fraction(_WHOLE[self.rounding](amount / self.unit) * self.unit)


class Payout(NamedTuple):
    """The pay of a winning wager."""

    pays: Fraction
    """The amount that the house pays besides the stake."""
    commission: Fraction | None
    """The commission kept; None where the rules know none. ``pays + commission`` is the win at full
    odds, to the last fraction."""
    capped: bool
    """True if the table's highest payout cut the win."""


def payout(
    stake: int,
    odds: Fraction,
    *,
    commission: Fraction | None = None,
    currency: Currency | None = None,
    cap: int | None = None,
) -> Payout:
    """Return what this stake (minor units) is paid at these odds to 1.

    Args:
        stake: the stake, in minor units.
        odds: what each unit of the stake is paid.
        commission: the part of a unit's even-money win that the odds leave out. What rounding
            takes or gives is added to the commission; where there is none, the house bears it.
        currency: how the payout is rounded; None: not at all.
        cap: the highest payout; a win above it is cut to it.
    """
    exact = stake * odds
    pays = exact if currency is None else currency.round(exact)
    kept = None if commission is None else exact + stake * commission - pays
    if cap is not None and pays > cap:
        return Payout(Fraction(cap), kept, capped=True)
    return Payout(pays, kept, capped=False)


def json_amount(amount: Fraction | int) -> int | str:
    """Return the amount for JSON: a whole number of minor units, or a fraction as ``"19/2"``."""
    exact = Fraction(amount)
    return exact.numerator if exact.denominator == 1 else str(exact)
