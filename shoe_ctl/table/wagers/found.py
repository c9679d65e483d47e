"""What staff find on the layout that the ledger did not take: chips lying there, or gone.

In: Wagers, what was found, by whom. Out: Wagers that settle as the rules want it (5.4, 5.5, and
under_minimum, over_maximum). Must not know: outcomes, how it was noticed.
"""

from __future__ import annotations

import msgspec

from . import checks
from .held import Wagers
from .ledger import added, not_honoured, written
from .limits import WagerRules
from .request import Answered, Asked, Refused, Staked


def found(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """So much more was placed in time than the ledger took: it plays, whatever the limits are.

    What is under the minimum or over the maximum is dealt with when the round is settled.
    """
    rule = rules.game.clause("limits")
    return _unfit(wagers, asked, rules, rule) or added(wagers, asked, "found", rule)


def found_late(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """So much was placed after *no more bets* and lies there: it is not honoured (5.4)."""
    rule = rules.game.rule("late_wager", "returned") or rules.game.rule("late_wager", "refused")
    refused = _unfit(wagers, asked, rules, rule) or _still_open(wagers)
    return refused or not_honoured(wagers, asked, rule)


def taken_back(wagers: Wagers, asked: Asked, rules: WagerRules) -> Answered:
    """The Player took the chips after *no more bets*: the wager plays all the same (5.5)."""
    rule = rules.game.rule("late_withdrawal", "settled_as_placed")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(wagers, asked, rules, rule) or _still_open(wagers) or checks.unknown(held, asked)
    )
    if refused is not None:
        return refused
    assert held is not None, "checked before"
    held = msgspec.structs.replace(held, taken_back=True)
    return written(wagers, held, asked, "taken_back", rule)


def _unfit(wagers: Wagers, asked: Asked, rules: WagerRules, rule: str | None) -> Refused | None:
    between = Refused(why="no round is open", rule=rules.game.clause("place_your_bets"))
    return (
        checks.unnamed(asked, rules)
        or checks.amount_is_none(asked)
        or checks.not_of_staff(asked.by, rules, rule)
        or (between if wagers.betting == "between" else None)
    )


def _still_open(wagers: Wagers) -> Refused | None:
    if wagers.betting == "closed":
        return None
    return Refused(why="bets are still open: nothing is late yet")
