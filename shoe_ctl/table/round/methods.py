"""Methods A and C, the pure part: who is to have a hand's cards, who may draw from the shoe.

In: the wagers as they stand, who refused, the game's clauses. Out: a Recipient, or that none is.
Must not know: inputs, states, events, cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoe_ctl.games.game import Settlement

from ..state import Player, ShoeControl
from ..wagers.limits import WagerRules
from ..wagers.settlement import settle_all
from ..wagers.types import DECLARED_ACTS, Wagers


class Recipient(NamedTuple):
    """A Player who is to have a hand's cards, the clause that says so, its rule number."""

    player: Player
    clause: str
    rule: str | None


class _Stake(NamedTuple):
    """What one Player has on a hand in all; ``raised`` orders Players by their last increase."""

    player: str
    seat: int
    total: int
    raised: int


def has_wager_feed(wagers: Wagers) -> bool:
    """Wagers are recorded as they come: in this round, or between rounds in the last one.

    What staff declare of single wagers, found on the layout or gone from it, is no such record.
    """
    return any(entry.act not in DECLARED_ACTS for entry in wagers.history)


def find_recipient(
    wagers: Wagers, hand: str, refused: Sequence[Player], rules: WagerRules
) -> Recipient | None:
    """Who is to have this hand's cards in Method A (I/N/T 3.10.2-3.10.5, F 3.9.2-3.9.5).

    The highest total of main wagers on the hand decides as it stands now; among equals the one
    that reached its total first. After a refusal it is the next equal counter-clockwise from who
    refused, and only then the next highest. None where nobody is left: a Pit Supervisor decides.
    """
    gone = {player.id for player in refused}
    stakes = _stakes(wagers, hand, rules)
    left = [stake for stake in stakes.values() if stake.player not in gone]
    if not left:
        return None
    highest = max(stake.total for stake in left)
    equals = [stake for stake in left if stake.total == highest]
    last = stakes.get(refused[-1].id or "") if refused else None
    if last is not None and last.total == highest:
        clause, found = "equal_counter_clockwise", _next_to(last, equals, rules.seats)
    else:
        found = min(equals, key=lambda stake: stake.raised)
        clause = "highest_wager" if len(equals) == 1 else "equal_first_placed"
        if any(stake.total > highest for stake in stakes.values()):
            clause = "refused_next_highest"
    rule = rules.game.methods["A"].clauses[clause]
    return Recipient(Player(id=found.player, seat=found.seat), clause, rule)


def has_wager_on(player: Player, hand: str, wagers: Wagers, rules: WagerRules) -> bool:
    """A main wager of this Player plays on this hand."""
    return player.id in _stakes(wagers, hand, rules)


def _stakes(wagers: Wagers, hand: str, rules: WagerRules) -> dict[str, _Stake]:
    """By Player: all that plays on this hand's main wagers, at the seat of the first of them."""
    found: dict[str, _Stake] = {}
    for held in sorted(wagers.standing, key=lambda held: held.number):
        if rules.mains.get(held.wager) != hand or not held.amount:
            continue
        had = found.get(held.player, _Stake(held.player, held.seat, 0, 0))
        found[held.player] = had._replace(
            total=had.total + held.amount, raised=max(had.raised, held.raised)
        )
    return found


def _next_to(last: _Stake, equals: Sequence[_Stake], seats: Sequence[int]) -> _Stake:
    """The nearest counter-clockwise; at one seat, who reached the total first."""

    def away(stake: _Stake) -> tuple[int, int]:
        return (seats.index(stake.seat) - seats.index(last.seat)) % len(seats), stake.raised

    return min(equals, key=away)


def may_draw(control: ShoeControl, wagers: Wagers) -> bool:
    """Whether whoever has the shoe may draw: a Player needs a wager, or leave (3.12.2, F 3.11.2).

    Where no wagers are recorded the dealer sees to it.
    """
    holder = control.holder
    return holder is None or has_wager(holder, wagers) or has_leave(holder, control)


def has_wager(player: Player, wagers: Wagers) -> bool:
    """A wager of this Player plays in the round; where none is recorded that is not known."""
    if not has_wager_feed(wagers):
        return True
    return any(held.player == player.id and held.amount for held in wagers.standing)


def has_leave(player: Player, control: ShoeControl) -> bool:
    """The Player was allowed to draw without a wager."""
    return any(is_same_player(player, allowed) for allowed in control.leaves)


def is_same_player(one: Player, other: Player) -> bool:
    """The same Player: by id where both have one, else by seat."""
    if one.id is not None and other.id is not None:
        return one.id == other.id
    return one.seat is not None and one.seat == other.seat


def loses_wager(player: Player, wagers: Wagers, settlement: Settlement, rules: WagerRules) -> bool:
    """A Player or Banker wager of this Player loses (3.12.8.2, F 3.11.8.2).

    Side wagers, pushes and what goes back to the Player do not count *(reading)*.
    """
    lines = settle_all(wagers, settlement, rules).lines
    return any(
        line.player == player.id and line.wager in rules.mains and line.result == "lose"
        for line in lines
    )
