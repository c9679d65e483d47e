"""The money of a round by the journal, and by a ledger that differs from it.

In: a round's events as the journal has them, and what the ledger has in their place. Out: what the
house wins by each.
Must not know: files, readers, how differences are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

_OF_WAGERS = frozenset({"wager.settled", "wager.revised"})
_OF_OUTCOMES = frozenset({"round.outcome", "round.revised", "round.void", "round.reopened"})


class StandingEvent(NamedTuple):
    """An event that changes how a round or one of its wagers stands."""

    type: str
    data: Mapping[str, Any]


class RoundEvents(msgspec.Struct):
    """The events that a ledger has in the place of a round's.

    ``changed`` are altered ones by their record, None where the ledger lacks them; ``added`` are
    those that the journal does not have, ``doubled`` those that the ledger has once more.
    """

    changed: dict[int, StandingEvent | None] = {}
    added: list[StandingEvent] = []
    doubled: list[StandingEvent] = []

    @property
    def is_plain(self) -> bool:
        """Return True if nothing of this changes the round's money."""
        return not (self.changed or self.added or self.doubled)


class RoundMoney(msgspec.Struct, frozen=True, kw_only=True):
    """A round's money in minor units; a fraction as ``"19/2"``.

    ``journal`` and ``ledger`` are what the house wins by each, or if negative loses, and ``worth``
    how much more it is by the ledger. ``stakes`` are those that the journal settled.
    ``by_outcome``: the ledger differs in the outcome but not in its wagers, which were settled anew
    by its outcome, without rounding. Where it has no outcome nothing is settled.
    """

    journal: int | str
    ledger: int | str
    worth: int | str
    stakes: int
    by_outcome: bool


def round_money(events: Mapping[int, StandingEvent], ledger: RoundEvents) -> RoundMoney | None:
    """Return the money of a round; None where no wager was settled in it by either.

    ``events`` are those of the journal by their record, in order.
    """
    wagers = _wagers(events.values())
    by_ledger = [*_changed(events, ledger), *ledger.added]
    theirs = _wagers(by_ledger)
    if not wagers and not theirs:
        return None
    house = _house(wagers.values())
    by_outcome = theirs == wagers and not _twice(ledger)
    if by_outcome:
        standing = _standing(by_ledger)
        is_same = standing == _standing(events.values())
        other = house if is_same else _settled_by(standing, wagers.values())
        by_outcome = not is_same
    else:
        other = _house([*theirs.values(), *_twice(ledger)])
    return RoundMoney(
        journal=plain(house),
        ledger=plain(other),
        worth=plain(other - house),
        stakes=sum(_whole(wager.get("stake")) for wager in wagers.values()),
        by_outcome=by_outcome,
    )


def plain(amount: Fraction) -> int | str:
    """Return an amount for JSON: a whole number of minor units, or a fraction as ``"19/2"``."""
    return amount.numerator if amount.denominator == 1 else str(amount)


def _changed(events: Mapping[int, StandingEvent], ledger: RoundEvents) -> list[StandingEvent]:
    now = (ledger.changed.get(n, event) for n, event in events.items())
    return [event for event in now if event is not None]


def _twice(ledger: RoundEvents) -> list[Mapping[str, Any]]:
    return [event.data for event in ledger.doubled if event.type in _OF_WAGERS]


def _wagers(events: Iterable[StandingEvent]) -> dict[object, Mapping[str, Any]]:
    """Return how each wager was settled last, by its number."""
    return {
        str(event.data.get("number")): event.data for event in events if event.type in _OF_WAGERS
    }


def _house(wagers: Iterable[Mapping[str, Any]]) -> Fraction:
    """Return what the house wins: what it collects less what it pays."""
    each = (amount(one.get("collected")) - amount(one.get("pays")) for one in wagers)
    return sum(each, Fraction(0))


def _standing(events: Iterable[StandingEvent]) -> StandingEvent | None:
    """Return the last event that says how the round ended; None where nothing stands."""
    found = None
    for event in events:
        if event.type in _OF_OUTCOMES:
            found = None if event.type == "round.reopened" else event
    return None if found is None else StandingEvent("", _results(found))


def _results(event: StandingEvent) -> Mapping[str, Any]:
    """Return result and odds of each wager; empty of a void round."""
    wagers = event.data.get("wagers") if event.type != "round.void" else None
    return dict(wagers) if isinstance(wagers, Mapping) else {}


def _settled_by(standing: StandingEvent | None, wagers: Iterable[Mapping[str, Any]]) -> Fraction:
    """Return what the house wins if these wagers are settled by another outcome."""
    house = Fraction(0)
    for wager in wagers:
        stake = amount(wager.get("stake"))
        result = {} if standing is None else standing.data.get(str(wager.get("wager")))
        said = result if isinstance(result, Mapping) else {}
        if wager.get("result") == "returned" or said.get("result") not in ("win", "lose"):
            continue
        house += stake if said["result"] == "lose" else -stake * amount(said.get("odds"))
    return house


def amount(value: object) -> Fraction:
    """Return an amount as it stands in an event; 0 where a ledger has none there."""
    if isinstance(value, int):
        return Fraction(value)
    try:
        return Fraction(value) if isinstance(value, str) else Fraction(0)
    except (ValueError, ZeroDivisionError):
        return Fraction(0)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
