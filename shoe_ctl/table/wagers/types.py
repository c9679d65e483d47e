"""The wagers of a table: what stands, what was done to it this round, what outlives the round.

In: nothing. Out: Wagers and its parts, values that the table's state can hold.
Must not know: what is allowed, games, limits.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.texts.message import Message

WagerAct = Literal[
    "placed", "increased", "decreased", "withdrawn", "removed", "found", "found_late", "taken_back"
]
"""What was done to a wager; ``removed`` by the Pit Manager for the table differential."""


DECLARED_ACTS: frozenset[WagerAct] = frozenset({"found", "found_late", "taken_back"})
"""What staff declare of a wager after *no more bets*."""


class Wager(msgspec.Struct, frozen=True, kw_only=True):
    """One Player's wager on one playing area (a seat's place for this wager).

    ``number`` counts the round's wagers from 1. Amounts are minor units: ``amount`` plays,
    ``not_honoured`` came after *no more bets* and only goes back. ``found`` of ``amount`` was not
    placed here but found lying there: it may turn out to be late. ``raised_us`` is when it reached
    its amount and ``raised`` the history entry that did so. ``taken_back``: the Player took the
    chips after *no more bets*; the wager plays all the same. ``declared`` is the key under which it
    was declared to be outside the limits, open until it is settled.
    """

    number: int
    player: str
    seat: int
    wager: str
    amount: int
    not_honoured: int = 0
    found: int = 0
    placed_us: int
    raised_us: int
    raised: int
    taken_back: bool = False
    declared: str | None = None

    @property
    def chips(self) -> int:
        """All that lies there, in minor units."""
        return self.amount + self.not_honoured

    @property
    def area(self) -> tuple[int, str]:
        """The playing area."""
        return self.seat, self.wager


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a round's history of wagers.

    ``change`` is what came (or, negative, went) in minor units, ``amount`` what then played.
    ``wager_number`` is the wager's; ``on_behalf``: done by staff at the Player's request.
    """

    number: int
    t_us: int
    act: WagerAct
    wager_number: int
    player: str
    seat: int
    wager: str
    change: int
    amount: int
    person: str
    position: str
    on_behalf: bool = False
    reason: str | None = None
    rule: str | None = None


class Wagers(msgspec.Struct, frozen=True, kw_only=True):
    """Every wager at a table.

    ``betting`` is ``open`` from *place your bets* to *no more bets*, ``closed`` until the round
    is settled or void, ``between`` rounds else. ``history`` is the present round's, and the last
    one's between rounds. ``restriction`` is a Pit Manager's lower number of wagers per area,
    ``restriction_next`` the one that holds from the next round. ``settled_once`` names the
    Players whose wagers under the minimum were settled already. ``measured`` are the totals on
    Player and Banker when the table differential was last looked at in this round.
    """

    betting: Literal["between", "open", "closed"] = "between"
    standing: tuple[Wager, ...] = ()
    history: tuple[LedgerEntry, ...] = ()
    numbered: int = 0
    restriction: int | None = None
    restriction_next: int | None = None
    settled_once: tuple[str, ...] = ()
    measured: tuple[int, int] | None = None

    def find(self, player: str, seat: int, wager: str) -> Wager | None:
        """This Player's wager on this area."""
        for held in self.standing:
            if (held.player, held.seat, held.wager) == (player, seat, wager):
                return held
        return None


def with_wager(wagers: Wagers, new: Wager) -> Wagers:
    """The wagers with this one in the place of its former self, or added; gone if it is empty."""
    standing = [new if old.number == new.number else old for old in wagers.standing]
    if new not in standing:
        standing.append(new)
    kept = tuple(held for held in standing if held.chips > 0)
    return msgspec.structs.replace(wagers, standing=kept)


class WagerActor(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts and when (µs since 1970 UTC). ``on_behalf``: at the Player's request.

    Where the Player acts, ``person`` is whoever entered it: the dealer, or the wager feed.
    """

    person: str
    position: str
    t_us: int
    on_behalf: bool = False
    reason: str | None = None


class WagerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request about one Player's wager on one playing area."""

    player: str
    seat: int
    wager: str
    by: WagerActor


class AmountRequest(WagerRequest, frozen=True, kw_only=True):
    """A request that names an amount, in minor units."""

    amount: int


class Restriction(msgspec.Struct, frozen=True, kw_only=True):
    """How many wagers a playing area may take from the next round; None lifts a restriction."""

    number: int | None
    by: WagerActor


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """Done: the wagers as they are now, and the history's new entry (none for a restriction)."""

    wagers: Wagers
    entry: LedgerEntry | None = None


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Not done, nothing changed: why, under which rule, what position it needs.

    ``irregularity`` is the key of what was tried, where trying it is one (5.4, 5.5).
    """

    why: Message
    rule: str | None = None
    position: str | None = None
    irregularity: str | None = None


LedgerAnswer = Accepted | Refused

Scope = Literal["any", "all", "remaining"]
"""What a Player may withdraw: any of their wagers, all or none, all the undecided ones or none."""
