"""What staff find on the layout that the ledger did not take: chips lying there, or gone.

In: Wagers, what was found, by whom. Out: Wagers that settle as the rules want it (5.4, 5.5, and
under_minimum, over_maximum). Must not know: outcomes, how it was noticed.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.texts.message import message

from . import checks
from .held import Wagers, holding
from .ledger import added, not_honoured, written
from .limits import WagerRules
from .request import Accepted, Answered, Asked, Refused, Staked


def found(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """So much more was placed in time than the ledger took: it plays, whatever the limits are.

    What is under the minimum or over the maximum is dealt with when the round is settled.
    """
    rule = rules.game.clause("limits")
    return _unfit(wagers, asked, rules, rule) or added(wagers, asked, "found", rule)


def outside(wagers: Wagers, asked: Staked, rules: WagerRules, key: str) -> Answered:
    """In all so much lies there, late chips too, and what came in time is outside the limits.

    ``key`` is ``under_minimum`` or ``over_maximum``; it is settled under that one's ends. Where it
    is over the maximum only with its late chips nothing changes: they go back in any case (5.4).
    """
    held = wagers.find(asked.player, asked.seat, asked.wager)
    known = 0 if held is None else held.chips
    late = 0 if held is None else held.not_honoured
    in_time = msgspec.structs.replace(asked, amount=asked.amount - late)
    refused = _unfit(wagers, asked, rules, rules.game.rule(key, "refused")) or _still_open(wagers)
    if refused is not None:
        return refused
    if (within := _within(in_time, rules, key, late)) is not None:
        only_late = asked.amount == known and _within(asked, rules, key) is None
        return Accepted(wagers=wagers) if only_late else within
    if asked.amount <= known:
        return _known(known)
    answer = found(wagers, msgspec.structs.replace(asked, amount=asked.amount - known), rules)
    if isinstance(answer, Refused):
        return answer
    return Accepted(wagers=_marked(answer.wagers, asked, key), entry=answer.entry)


def _marked(wagers: Wagers, asked: Asked, key: str | None) -> Wagers:
    held = wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "it lies there"
    return holding(wagers, msgspec.structs.replace(held, declared=key))


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
    """So much of what lies there was placed after *no more bets*: it is not honoured (5.4).

    A wager that was over the maximum with it is so no longer, if the rest is within.
    """
    rule = late_rule(rules)
    refused = _unfit(wagers, asked, rules, rule) or _still_open(wagers)
    if refused is not None:
        return refused
    done = not_honoured(wagers, asked, rule)
    held = done.wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "it lies there"
    over = checks.over_maximum(held.wager, held.amount, rules)
    if held.declared == "over_maximum" and over is None:
        return Accepted(wagers=_marked(done.wagers, asked, None), entry=done.entry)
    return done


def late_rule(rules: WagerRules) -> str | None:
    """The rule under which late chips go back: T/F 5.4 returns them, I/N 5.4 refuses them."""
    return rules.game.rule("late_wager", "returned") or rules.game.rule("late_wager", "refused")


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
    between = Refused(why=message("refused_no_round"), rule=rules.game.clause("place_your_bets"))
    return (
        checks.unnamed(asked, rules)
        or checks.amount_is_none(asked)
        or checks.not_of_staff(asked.by, rules, rule)
        or (between if wagers.betting == "between" else None)
    )


def _within(asked: Staked, rules: WagerRules, key: str, late: int = 0) -> Refused | None:
    """It is not outside the limits at all; ``late`` chips that lie there are not in it."""
    is_outside = checks.under_minimum if key == "under_minimum" else checks.over_maximum
    if is_outside(asked.wager, asked.amount, rules) is not None:
        return None
    amount, wager = asked.amount, asked.wager
    why = (
        message("refused_within_limit_but_late", amount=amount, wager=wager, late=late, limit=key)
        if late
        else message("refused_within_limit", amount=amount, wager=wager, limit=key)
    )
    return Refused(why=why, rule=rules.game.rule(key, "refused"))


def _known(amount: int) -> Refused:
    return Refused(why=message("refused_ledger_holds_more", amount=amount))


def _still_open(wagers: Wagers) -> Refused | None:
    if wagers.betting == "closed":
        return None
    return Refused(why=message("refused_nothing_is_late"))
