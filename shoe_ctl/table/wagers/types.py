"""Values of wagers: the wagers of a table, their history, requests to the ledger and its answers.

In: nothing. Out: Wagers and its parts, which the table's state holds; requests and answers.
Must not know: what is allowed, games, limits.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.table.effects import Instance
from shoe_ctl.texts.message import Message

WagerAct = Literal[
    "placed", "increased", "decreased", "withdrawn", "removed", "found", "found_late",
    "taken_back", "retracted",
]  # fmt: skip
"""An act on a wager. ``removed``: by the Pit Manager, for the table differential;
``retracted``: what was declared of it was taken back."""

DECLARED_ACTS: frozenset[WagerAct] = frozenset({"found", "found_late", "taken_back"})
"""Acts that staff declare of a wager after *no more bets*."""


class Wager(msgspec.Struct, frozen=True, kw_only=True):
    """One Player's wager on one playing area (a seat's place for this wager)."""

    number: int
    """Its number among the round's wagers, from 1."""
    player: str
    """The Player's id."""
    seat: int
    """The seat."""
    wager: str
    """The name of the wager."""
    amount: int
    """The stake that plays, in minor units."""
    not_honoured: int = 0
    """Chips that came after *no more bets*, in minor units. They only go back."""
    found: int = 0
    """The part of ``amount`` that was not placed by a command but found on the layout. It may turn
    out to be late."""
    placed_us: int
    """When it was placed, µs since 1970 UTC."""
    raised_us: int
    """When it reached its amount, µs since 1970 UTC."""
    raised: int
    """The number of the history's entry with which it reached its amount."""
    taken_back: bool = False
    """True if the Player took the chips after *no more bets*. The wager plays all the same."""
    declared: str | None = None
    """The key under which it was declared to be outside the limits, until it is settled."""
    declared_as: Instance | None = None
    """The name that the events of that irregularity give it."""

    @property
    def chips(self) -> int:
        """All chips that lie there, in minor units."""
        return self.amount + self.not_honoured

    @property
    def area(self) -> tuple[int, str]:
        """The playing area: seat and wager."""
        return self.seat, self.wager


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a round's history of wagers."""

    number: int
    """Its number in the round, from 1."""
    t_us: int
    """When it was written, µs since 1970 UTC."""
    act: WagerAct
    """The act."""
    wager_number: int
    """The number of the wager."""
    player: str
    """The Player's id."""
    seat: int
    """The seat."""
    wager: str
    """The name of the wager."""
    change: int
    """The amount that came or, if negative, went, in minor units."""
    amount: int
    """The amount that played then, in minor units."""
    person: str
    """The person who did it or entered it."""
    position: str
    """The position of that person."""
    on_behalf: bool = False
    """True if staff did it at the Player's request."""
    reason: str | None = None
    """The reason that was given."""
    rule: str | None = None
    """The rule under which it was done."""


class Wagers(msgspec.Struct, frozen=True, kw_only=True):
    """All wagers of a table."""

    betting: Literal["between", "open", "closed"] = "between"
    """``open`` from *place your bets* to *no more bets*, ``closed`` until the round is settled or
    void, ``between`` rounds."""
    standing: tuple[Wager, ...] = ()
    """The wagers on the layout."""
    history: tuple[LedgerEntry, ...] = ()
    """The entries of this round; between rounds, of the last one."""
    numbered: int = 0
    """The highest number that a wager of the round has."""
    restriction: int | None = None
    """A Pit Manager's lower number of wagers per playing area, in this round."""
    restriction_next: int | None = None
    """The same from the next round on."""
    settled_once: tuple[str, ...] = ()
    """Players whose wagers under the minimum were settled in a round already."""
    measured: tuple[int, int] | None = None
    """The totals on Player and Banker when the table differential was last measured."""

    def find(self, player: str, seat: int, wager: str) -> Wager | None:
        """Return this Player's wager on this area."""
        for held in self.standing:
            if (held.player, held.seat, held.wager) == (player, seat, wager):
                return held
        return None


def with_wager(wagers: Wagers, new: Wager) -> Wagers:
    """Return the wagers with this one replaced or added; without it if it has no chips."""
    standing = [new if old.number == new.number else old for old in wagers.standing]
    if new not in standing:
        standing.append(new)
    kept = tuple(held for held in standing if held.chips > 0)
    return msgspec.structs.replace(wagers, standing=kept)


class WagerActor(msgspec.Struct, frozen=True, kw_only=True):
    """A person who acts on a wager."""

    person: str
    """The person; where the Player acts, whoever entered it: the dealer, or the wager feed."""
    position: str
    """The position of the person."""
    t_us: int
    """When, µs since 1970 UTC."""
    on_behalf: bool = False
    """True if staff act at the Player's request."""
    reason: str | None = None
    """The reason that was given."""


class WagerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request about one Player's wager on one playing area."""

    player: str
    """The Player's id."""
    seat: int
    """The seat."""
    wager: str
    """The name of the wager."""
    by: WagerActor
    """The person who asks."""


class AmountRequest(WagerRequest, frozen=True, kw_only=True):
    """A request that names an amount."""

    amount: int
    """The amount in minor units."""


class Restriction(msgspec.Struct, frozen=True, kw_only=True):
    """A request to restrict the number of wagers per playing area from the next round on."""

    number: int | None
    """The number; None lifts the restriction."""
    by: WagerActor
    """The person who asks."""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger's answer to a request that it took."""

    wagers: Wagers
    """The wagers as they are now."""
    entry: LedgerEntry | None = None
    """The new entry of the history; a restriction has none."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger's answer to a request that it refused; nothing changed."""

    why: Message
    """Why, for people."""
    rule: str | None = None
    """The rule that forbids it."""
    position: str | None = None
    """The position that it would need."""
    irregularity: str | None = None
    """The key of the irregularity that it was to try this, if it is one (5.4, 5.5)."""


LedgerAnswer = Accepted | Refused
"""The ledger's answer to a request."""

Scope = Literal["any", "all", "remaining"]
"""The wagers that a Player may withdraw in a window: any of their wagers, all or none, or all the
undecided ones or none."""
