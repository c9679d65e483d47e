"""What is asked of the ledger of wagers, and its answer.

In: nothing. Out: Asked, Staked, Restriction; Accepted and Refused.
Must not know: rules, what stands.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.texts.message import Message

from .held import Entry, Wagers


class By(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts and when (µs since 1970 UTC). ``on_behalf``: at the Player's request.

    Where the Player acts, ``person`` is whoever entered it: the dealer, or the wager feed.
    """

    person: str
    position: str
    t_us: int
    on_behalf: bool = False
    reason: str | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request about one Player's wager on one playing area."""

    player: str
    seat: int
    wager: str
    by: By


class Staked(Asked, frozen=True, kw_only=True):
    """A request that names an amount, in minor units."""

    amount: int


class Restriction(msgspec.Struct, frozen=True, kw_only=True):
    """How many wagers a playing area may take from the next round; None lifts a restriction."""

    number: int | None
    by: By


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """Done: the wagers as they are now, and the history's new entry (none for a restriction)."""

    wagers: Wagers
    entry: Entry | None = None


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Not done, nothing changed: why, under which rule, what position it needs.

    ``irregularity`` is the key of what was tried, where trying it is one (5.4, 5.5).
    """

    why: Message
    rule: str | None = None
    position: str | None = None
    irregularity: str | None = None


Answered = Accepted | Refused
