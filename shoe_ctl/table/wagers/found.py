"""What staff find on the layout that the ledger did not take: chips lying there, or gone.

In: Wagers, what was found, by whom. Out: Wagers that settle as the rules want it (5.4, 5.5, and
under_minimum, over_maximum). Must not know: outcomes, how it was noticed.
"""

from __future__ import annotations

import msgspec

from . import checks
from .held import Wagers, holding
from .ledger import added, amount_of, not_honoured, written
from .limits import WagerRules
from .request import Accepted, Answered, Asked, Refused, Staked


def found(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """So much more was placed in time than the ledger took: it plays, whatever the limits are.

    What is under the minimum or over the maximum is dealt with when the round is settled.
    """
    rule = rules.game.clause("limits")
    return _unfit(wagers, asked, rules, rule) or added(wagers, asked, "found", rule)


def outside(wagers: Wagers, asked: Staked, rules: WagerRules, key: str) -> Answered:
    """In all so much lies there from before *no more bets*, and it is outside the limits.

    ``key`` is ``under_minimum`` or ``over_maximum``; it is settled under that one's ends.
    """
    held = wagers.find(asked.player, asked.seat, asked.wager)
    more = msgspec.structs.replace(asked, amount=asked.amount - amount_of(held))
    refused = (
        _unfit(wagers, asked, rules, rules.game.rule(key, "refused"))
        or _still_open(wagers)
        or _within(asked, rules, key)
        or (_known(amount_of(held)) if more.amount < 1 else None)
    )
    answer = refused or found(wagers, more, rules)
    if isinstance(answer, Refused):
        return answer
    now = answer.wagers.find(asked.player, asked.seat, asked.wager)
    assert now is not None, "found there"
    marked = holding(answer.wagers, msgspec.structs.replace(now, declared=key))
    return Accepted(wagers=marked, entry=answer.entry)


def earlier(wagers: Wagers, asked: Staked, rules: WagerRules, key: str) -> Answered:
    """A wager of an earlier round was outside the limits: what was done is settled.

    I 5.14, N/T/F 5.16. Under the minimum it was that Player's one time *(reading)*.
    """
    refused = (
        checks.unnamed(asked, rules)
        or checks.amount_is_none(asked)
        or checks.not_of_staff(asked.by, rules, rules.game.rule(key, "earlier_settled"))
        or _within(asked, rules, key)
    )
    if refused is not None or key != "under_minimum":
        return refused or Accepted(wagers=wagers)
    once = tuple(sorted({*wagers.settled_once, asked.player}))
    return Accepted(wagers=msgspec.structs.replace(wagers, settled_once=once))


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


def _within(asked: Staked, rules: WagerRules, key: str) -> Refused | None:
    """It is not outside the limits at all."""
    is_outside = checks.under_minimum if key == "under_minimum" else checks.over_maximum
    if is_outside(asked.wager, asked.amount, rules) is not None:
        return None
    where = key.replace("_", " the ")
    rule = rules.game.rule(key, "refused")
    return Refused(why=f"{asked.amount} on {asked.wager} is not {where}", rule=rule)


def _known(amount: int) -> Refused:
    return Refused(why=f"the ledger holds {amount} there; chips that are gone are a withdrawal")


def _still_open(wagers: Wagers) -> Refused | None:
    if wagers.betting == "closed":
        return None
    return Refused(why="bets are still open: nothing is late yet")
