"""Wagers on Player, Banker and Tie, read from the five rule documents by hand.

In: a game, a wager, the hands as they lie. Out: what its Player wins of it, or loses.
Must not know: the controller and its games. A rule imported from there would hide its own bug.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from firmware_proto.cards import card
from simulators.shoe.judge import total

MAIN_WAGERS = ("player", "banker", "tie")

EVEN, HALF, DOUBLE, PUSH = Fraction(1), Fraction(1, 2), Fraction(2), Fraction(0)
LESS_COMMISSION = Fraction(95, 100)
TIE, TIE_ON_ELEMENT_EIGHTS = Fraction(8), Fraction(800)

WINS: dict[str, dict[str, Fraction]] = {
    "immortal_dragon_tiger": {"player": EVEN, "banker": LESS_COMMISSION},
    "dragon_tiger_no_commission": {"player": EVEN, "banker": EVEN},
    "tiger": {"player": EVEN, "banker": LESS_COMMISSION},
    "fa_fa_fabulous_4": {"player": EVEN, "banker": EVEN},
    "dragon_bonus_royal": {"player": EVEN, "banker": LESS_COMMISSION},
}
"""What a winning wager pays for 1, where the total does not matter (4.1)."""

WINS_WITH: dict[tuple[str, str, int], Fraction] = {
    ("immortal_dragon_tiger", "player", 7): HALF,
    ("dragon_tiger_no_commission", "banker", 6): HALF,
    ("fa_fa_fabulous_4", "player", 4): HALF,
    ("fa_fa_fabulous_4", "player", 1): DOUBLE,
    ("fa_fa_fabulous_4", "banker", 4): PUSH,
    ("fa_fa_fabulous_4", "banker", 1): DOUBLE,
}
"""What it pays where the winning hand has this total."""


def net(
    game: str, wager: str, stake: int, player: Sequence[str], banker: Sequence[str]
) -> Fraction:
    """Return what the Player wins of this wager beside the stake; below 0 what is collected."""
    ours, theirs = (total([card(code) for code in hand]) for hand in (player, banker))
    winner = "tie" if ours == theirs else "player" if ours > theirs else "banker"
    if winner == "tie":
        fours = game == "fa_fa_fabulous_4" and {code[0] for code in (*player, *banker)} == {"4"}
        pays = TIE_ON_ELEMENT_EIGHTS if fours and len(player) == len(banker) == 2 else TIE
        return stake * (pays if wager == "tie" else PUSH)
    if wager == winner:
        return stake * WINS_WITH.get((game, wager, max(ours, theirs)), WINS[game][wager])
    if (game, wager, ours) == ("immortal_dragon_tiger", "player", 7):
        return Fraction(0)  # Player's 7 against Banker's 8 or 9 is a push (3.14.2)
    return Fraction(-stake)
