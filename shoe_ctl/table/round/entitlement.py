"""Entitlement: which Player is to have a hand (Method A), and who may draw (Method C).

In: the wagers as they stand, who refused, the clauses of the game. Out: a Recipient or None; yes or
no. Must not know: inputs, states, events, cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoe_ctl.games.wagers import Settlement
from shoe_ctl.table.state import Player, ShoeControl
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.settlement import settle_all
from shoe_ctl.table.wagers.types import DECLARED_ACTS, Wagers

# A hand's cards.


class Recipient(NamedTuple):
    """A Player who is to have a hand's cards, and why."""

    player: Player

    clause: str
    """The clause of Method A that decides it."""

    rule: str | None
    """The number of that rule."""


def find_recipient(
    wagers: Wagers, hand: str, refused: Sequence[Player], rules: WagerRules
) -> Recipient | None:
    """Return who is to have this hand's cards in Method A (I/N/T 3.10.2-3.10.5, F 3.9.2-3.9.5).

    The highest total of main wagers on the hand decides; among equal totals, the one that was
    reached first. After a refusal it is the next equal total counter-clockwise from who refused,
    and only then the next highest. None if nobody is left: a Pit Supervisor names the Player.
    """
    refusers = {player.id for player in refused}
    stakes = _stakes(wagers, hand, rules)
    left = [stake for stake in stakes.values() if stake.player not in refusers]
    if not left:
        return None
    highest = max(stake.total for stake in left)
    equals = [stake for stake in left if stake.total == highest]
    last = stakes.get(refused[-1].id or "") if refused else None
    if last is not None and last.total == highest:
        clause, found = "equal_counter_clockwise", _nearest(last, equals, rules.seats)
    else:
        found = min(equals, key=lambda stake: stake.raised)
        clause = "highest_wager" if len(equals) == 1 else "equal_first_placed"
        if any(stake.total > highest for stake in stakes.values()):
            clause = "refused_next_highest"
    rule = rules.game.methods["A"].clauses[clause]
    return Recipient(Player(id=found.player, seat=found.seat), clause, rule)


def has_wager_on(player: Player, hand: str, wagers: Wagers, rules: WagerRules) -> bool:
    """True if this Player has a main wager on this hand."""
    return player.id in _stakes(wagers, hand, rules)


class _Stake(NamedTuple):
    """The amount that one Player has on a hand in all."""

    player: str
    seat: int

    total: int
    """In minor units."""

    raised: int
    """Orders Players by when their total was last increased."""


def _stakes(wagers: Wagers, hand: str, rules: WagerRules) -> dict[str, _Stake]:
    """Return each Player's total of main wagers on this hand, at the seat of the first of them."""
    found: dict[str, _Stake] = {}
    for held in sorted(wagers.standing, key=lambda held: held.number):
        if rules.mains.get(held.wager) != hand or not held.amount:
            continue
        had = found.get(held.player, _Stake(held.player, held.seat, 0, 0))
        found[held.player] = had._replace(
            total=had.total + held.amount, raised=max(had.raised, held.raised)
        )
    return found


def _nearest(last: _Stake, equals: Sequence[_Stake], seats: Sequence[int]) -> _Stake:
    """Return the nearest stake counter-clockwise; at one seat, the one that was reached first."""

    def away(stake: _Stake) -> tuple[int, int]:
        return (seats.index(stake.seat) - seats.index(last.seat)) % len(seats), stake.raised

    return min(equals, key=away)


# The shoe.


def may_draw(control: ShoeControl, wagers: Wagers) -> bool:
    """True if whoever has the shoe may draw: a Player needs a wager, or leave (3.12.2, F 3.11.2).

    If no wagers are recorded, the dealer makes sure of it.
    """
    holder = control.holder
    return holder is None or has_wager(holder, wagers) or has_leave(holder, control)


def has_wager(player: Player, wagers: Wagers) -> bool:
    """True if this Player has a wager in the round, or if that is not recorded."""
    if not has_wager_feed(wagers):
        return True
    return any(held.player == player.id and held.amount for held in wagers.standing)


def has_leave(player: Player, control: ShoeControl) -> bool:
    """True if the Player has leave to draw without a wager."""
    return any(is_same_player(player, allowed) for allowed in control.leaves)


def loses_wager(player: Player, wagers: Wagers, settlement: Settlement, rules: WagerRules) -> bool:
    """True if a Player or Banker wager of this Player loses (3.12.8.2, F 3.11.8.2).

    Side wagers, pushes and returned wagers do not count *(reading)*.
    """
    lines = settle_all(wagers, settlement, rules).lines
    return any(
        line.player == player.id and line.wager in rules.mains and line.result == "lose"
        for line in lines
    )


# Wagers and Players.


def has_wager_feed(wagers: Wagers) -> bool:
    """True if the table records wagers as they are placed, in this round or in the last one.

    Single wagers that staff declare as found on the layout, or gone from it, do not count.
    """
    return any(entry.act not in DECLARED_ACTS for entry in wagers.history)


def is_same_player(one: Player, other: Player) -> bool:
    """True if both are the same Player: by id if both have one, else by seat."""
    if one.id is not None and other.id is not None:
        return one.id == other.id
    return one.seat is not None and one.seat == other.seat
