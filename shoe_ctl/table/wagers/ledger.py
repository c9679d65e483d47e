"""The ledger of wagers: placing, changing and withdrawing them, each act kept with who and when.

In: Wagers, a request, WagerRules. Out: Accepted with the new Wagers, or Refused with the rule.
Must not know: cards, outcomes, payment, how a request came in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from . import limits
from .limits import WagerRules
from .types import (
    Accepted,
    AmountRequest,
    LedgerAnswer,
    LedgerEntry,
    Refused,
    Restriction,
    Scope,
    Wager,
    WagerAct,
    WagerActor,
    WagerRequest,
    Wagers,
    with_wager,
)


def open_bets(wagers: Wagers) -> Wagers:
    """*Place your bets* (3.1). A restriction made before holds from this round.

    In a round whose bets were closed (5.9) betting goes on with the wagers that stand.
    """
    if wagers.betting == "closed":
        return msgspec.structs.replace(wagers, betting="open")
    return Wagers(
        betting="open",
        restriction=wagers.restriction_next,
        restriction_next=wagers.restriction_next,
        settled_once=wagers.settled_once,
    )


def close_bets(wagers: Wagers) -> Wagers:
    """*No more bets* (3.2)."""
    return msgspec.structs.replace(wagers, betting="closed")


def place(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """A Player's first stake on a playing area. Side wagers need no main wager (3.6)."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    standing = None
    if held is not None and held.amount > 0:
        standing = Refused(why=f"{asked.player} has that wager already: increase it")
    refused = (
        _unfit(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=True)
        or standing
        or limits.check_room(wagers, asked, rules)
        or limits.check_limits(asked.wager, asked.amount, rules)
    )
    return refused or add_stake(wagers, asked, "placed", rules.game.clause("limits"))


def increase(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """More on a wager that stands; what it then is must be within the limits (3.5.1)."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=True)
        or limits.check_exists(held, asked)
        or limits.check_limits(asked.wager, amount_in_play(held) + asked.amount, rules)
    )
    return refused or add_stake(wagers, asked, "increased", rules.game.clause("limits"))


def decrease(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """Less on a wager that stands, not below the minimum: all of it is a withdrawal."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=False)
        or check_remaining(held, asked, rules)
    )
    return refused or reduce_stake(wagers, asked, rules.game.clause("limits"))


def withdraw(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> LedgerAnswer:
    """The whole wager goes back to its Player, with chips that were not honoured on it."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=False)
        or limits.check_exists(held, asked)
    )
    return refused or remove_wager(wagers, asked, "withdrawn", None)


def restrict(wagers: Wagers, asked: Restriction, rules: WagerRules) -> LedgerAnswer:
    """A Pit Manager's lower number of wagers per playing area, from the next round on."""
    refused = limits.check_restriction(asked, rules)
    if refused is not None:
        return refused
    return Accepted(wagers=msgspec.structs.replace(wagers, restriction_next=asked.number))


# Whether any wager can change so, whatever is asked.


def check_placing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """No area takes another wager of anybody who may play."""
    late = limits.check_betting_open(wagers, rules, adds=True)
    return late or limits.check_any_room(wagers, rules)


def check_increasing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Every wager is as much as it may be."""
    late = limits.check_betting_open(wagers, rules, adds=True)
    if late is not None or any(_may_grow(held, rules) for held in wagers.standing):
        return late
    return Refused(why="there is no wager that can be more")


def _may_grow(held: Wager, rules: WagerRules) -> bool:
    most = rules.maximum(held.wager)
    return most is None or held.amount < most


def check_decreasing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Every wager is as little as it may be."""
    late = limits.check_betting_open(wagers, rules, adds=False)
    if late is not None or any(w.amount > rules.minimum(w.wager) for w in wagers.standing):
        return late
    return Refused(why="there is no wager that can be less")


def check_withdrawing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """No wager lies there."""
    late = limits.check_betting_open(wagers, rules, adds=False)
    if late is not None or wagers.standing:
        return late
    return Refused(why="no wagers lie on the layout")


# What the other parts of the ledger build on: these change the wagers, unchecked.


def amount_in_play(held: Wager | None) -> int:
    """What plays on this wager, in minor units."""
    return 0 if held is None else held.amount


def check_remaining(held: Wager | None, asked: AmountRequest, rules: WagerRules) -> Refused | None:
    """A decrease of a wager that is not there, or to nothing, or to under the minimum."""
    missing = limits.check_exists(held, asked)
    if missing is not None:
        return missing
    left = amount_in_play(held) - asked.amount
    if left < 0:
        return Refused(why=f"the wager is {amount_in_play(held)}: it cannot be {asked.amount} less")
    if left == 0:
        return Refused(why="nothing would be left of the wager: withdraw it")
    return limits.check_minimum(asked.wager, left, rules)


def add_stake(wagers: Wagers, asked: AmountRequest, act: WagerAct, rule: str | None) -> Accepted:
    """So much more plays on the wager, which begins with it where there was none."""
    held = wagers.find(asked.player, asked.seat, asked.wager) or _begun(wagers, asked)
    raised = msgspec.structs.replace(
        held,
        amount=held.amount + asked.amount,
        found=held.found + (asked.amount if act == "found" else 0),
        raised_us=asked.by.t_us,
        raised=len(wagers.history) + 1,
    )
    return write_entry(wagers, raised, asked, act, rule)


def mark_not_honoured(wagers: Wagers, asked: AmountRequest, rule: str | None) -> Accepted:
    """So much lies on the wager's area and does not play.

    They are the chips that were found there before, as far as those go: what was placed here came
    in time. The rest lies there besides.
    """
    held = wagers.find(asked.player, asked.seat, asked.wager) or _begun(wagers, asked)
    known = min(held.found, asked.amount)
    late = msgspec.structs.replace(
        held,
        amount=held.amount - known,
        found=held.found - known,
        not_honoured=held.not_honoured + asked.amount,
    )
    if known and not late.found:
        late = _raised_as_placed(wagers, late)
    return write_entry(wagers, late, asked, "found_late", rule)


def reduce_stake(wagers: Wagers, asked: AmountRequest, rule: str | None) -> Accepted:
    """So much goes back to the Player."""
    held = _stands(wagers, asked)
    left = held.amount - asked.amount
    less = msgspec.structs.replace(held, amount=left, found=min(held.found, left))
    return write_entry(wagers, less, asked, "decreased", rule)


def remove_wager(wagers: Wagers, asked: WagerRequest, act: WagerAct, rule: str | None) -> Accepted:
    """All of it goes back to the Player and the wager is gone."""
    gone = msgspec.structs.replace(_stands(wagers, asked), amount=0, found=0, not_honoured=0)
    return write_entry(wagers, gone, asked, act, rule)


def write_entry(
    wagers: Wagers, held: Wager, asked: WagerRequest, act: WagerAct, rule: str | None
) -> Accepted:
    """The wager as it is now, with a line in the history that says what came or went."""
    by = asked.by
    former = wagers.find(asked.player, asked.seat, asked.wager)
    entry = LedgerEntry(
        number=len(wagers.history) + 1,
        t_us=by.t_us,
        act=act,
        wager_number=held.number,
        player=held.player,
        seat=held.seat,
        wager=held.wager,
        change=held.chips - (0 if former is None else former.chips),
        amount=held.amount,
        person=by.person,
        position=by.position,
        on_behalf=by.on_behalf,
        reason=by.reason,
        rule=rule,
    )
    now = msgspec.structs.replace(
        with_wager(wagers, held),
        history=(*wagers.history, entry),
        numbered=max(wagers.numbered, held.number),
    )
    return Accepted(wagers=now, entry=entry)


def _begun(wagers: Wagers, asked: WagerRequest) -> Wager:
    """A wager of nothing yet, with the next number."""
    return Wager(
        number=wagers.numbered + 1,
        player=asked.player,
        seat=asked.seat,
        wager=asked.wager,
        amount=0,
        placed_us=asked.by.t_us,
        raised_us=asked.by.t_us,
        raised=len(wagers.history) + 1,
    )


def _raised_as_placed(wagers: Wagers, held: Wager) -> Wager:
    """With nothing found on it any more it reached its amount when it was last placed or raised."""
    raised = [e for e in wagers.history if e.wager_number == held.number and e.act in _RAISES]
    if not raised:
        return held
    last = raised[-1]
    return msgspec.structs.replace(held, raised_us=last.t_us, raised=last.number)


_RAISES: frozenset[WagerAct] = frozenset({"placed", "increased"})


def _stands(wagers: Wagers, asked: WagerRequest) -> Wager:
    held = wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "checked before"
    return held


def _unfit(asked: WagerRequest, rules: WagerRules) -> Refused | None:
    """What stands against any request: what it names, how much, who acts."""
    return (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_may_act(asked.by, rules)
    )


def declare_found(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """So much more was placed in time than the ledger took: it plays, whatever the limits are.

    What is under the minimum or over the maximum is dealt with when the round is settled.
    """
    rule = rules.game.clause("limits")
    return _unfit_find(wagers, asked, rules, rule) or add_stake(wagers, asked, "found", rule)


def declare_outside_limits(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules, key: str
) -> LedgerAnswer:
    """In all so much lies there, late chips too, and what came in time is outside the limits.

    ``key`` is ``under_minimum`` or ``over_maximum``; it is settled under that one's ends. Where it
    is over the maximum only with its late chips nothing changes: they go back in any case (5.4).
    """
    held = wagers.find(asked.player, asked.seat, asked.wager)
    known = 0 if held is None else held.chips
    late = 0 if held is None else held.not_honoured
    in_time = msgspec.structs.replace(asked, amount=asked.amount - late)
    refused = _unfit_find(wagers, asked, rules, rules.game.rule(key, "refused")) or _still_open(
        wagers
    )
    if refused is not None:
        return refused
    if (within := _within(in_time, rules, key, late)) is not None:
        only_late = asked.amount == known and _within(asked, rules, key) is None
        return Accepted(wagers=wagers) if only_late else within
    if asked.amount <= known:
        return _known(known)
    answer = declare_found(
        wagers, msgspec.structs.replace(asked, amount=asked.amount - known), rules
    )
    if isinstance(answer, Refused):
        return answer
    return Accepted(wagers=_marked(answer.wagers, asked, key), entry=answer.entry)


def _marked(wagers: Wagers, asked: WagerRequest, key: str | None) -> Wagers:
    held = wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "it lies there"
    return with_wager(wagers, msgspec.structs.replace(held, declared=key))


def declare_earlier(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules, key: str
) -> LedgerAnswer:
    """A wager of an earlier round was outside the limits: what was done is settled.

    I 5.14, N/T/F 5.16. Under the minimum it was that Player's one time *(reading)*.
    """
    refused = (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_staff(asked.by, rules, rules.game.rule(key, "earlier_settled"))
        or _within(asked, rules, key)
    )
    if refused is not None or key != "under_minimum":
        return refused or Accepted(wagers=wagers)
    once = tuple(sorted({*wagers.settled_once, asked.player}))
    return Accepted(wagers=msgspec.structs.replace(wagers, settled_once=once))


def declare_found_late(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """So much of what lies there was placed after *no more bets*: it is not honoured (5.4).

    A wager that was over the maximum with it is so no longer, if the rest is within.
    """
    rule = late_rule(rules)
    refused = _unfit_find(wagers, asked, rules, rule) or _still_open(wagers)
    if refused is not None:
        return refused
    done = mark_not_honoured(wagers, asked, rule)
    held = done.wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "it lies there"
    over = limits.check_maximum(held.wager, held.amount, rules)
    if held.declared == "over_maximum" and over is None:
        return Accepted(wagers=_marked(done.wagers, asked, None), entry=done.entry)
    return done


def late_rule(rules: WagerRules) -> str | None:
    """The rule under which late chips go back: T/F 5.4 returns them, I/N 5.4 refuses them."""
    return rules.game.rule("late_wager", "returned") or rules.game.rule("late_wager", "refused")


def declare_taken_back(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> LedgerAnswer:
    """The Player took the chips after *no more bets*: the wager plays all the same (5.5)."""
    rule = rules.game.rule("late_withdrawal", "settled_as_placed")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit_find(wagers, asked, rules, rule)
        or _still_open(wagers)
        or limits.check_exists(held, asked)
    )
    if refused is not None:
        return refused
    assert held is not None, "checked before"
    held = msgspec.structs.replace(held, taken_back=True)
    return write_entry(wagers, held, asked, "taken_back", rule)


def _unfit_find(
    wagers: Wagers, asked: WagerRequest, rules: WagerRules, rule: str | None
) -> Refused | None:
    between = Refused(why="no round is open", rule=rules.game.clause("place_your_bets"))
    return (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_staff(asked.by, rules, rule)
        or (between if wagers.betting == "between" else None)
    )


def _within(asked: AmountRequest, rules: WagerRules, key: str, late: int = 0) -> Refused | None:
    """It is not outside the limits at all; ``late`` chips that lie there are not in it."""
    is_outside = limits.check_minimum if key == "under_minimum" else limits.check_maximum
    if is_outside(asked.wager, asked.amount, rules) is not None:
        return None
    where = key.replace("_", " the ")
    rule = rules.game.rule(key, "refused")
    but = f" without the {late} that came late" if late else ""
    return Refused(why=f"{asked.amount} on {asked.wager}{but} is not {where}", rule=rule)


def _known(amount: int) -> Refused:
    return Refused(why=f"the ledger holds {amount} there; chips that are gone are a withdrawal")


def _still_open(wagers: Wagers) -> Refused | None:
    if wagers.betting == "closed":
        return None
    return Refused(why="bets are still open: nothing is late yet")


class WithdrawalRight(NamedTuple):
    """The leave that a window gives: how much may go, under which rule, and what is decided."""

    scope: Scope
    rule: str | None
    decided: Collection[str] = ()


class Withdrawn(NamedTuple):
    """The wagers without those that went, and an entry of the history for each of them."""

    wagers: Wagers
    entries: tuple[LedgerEntry, ...]


def list_withdrawable(
    wagers: Wagers, leave: WithdrawalRight, player: str | None = None
) -> tuple[Wager, ...]:
    """The wagers, of this Player or of all, that the window lets go."""
    return tuple(
        held
        for held in wagers.standing
        if held.wager not in leave.decided and player in (None, held.player)
    )


def withdraw_one(
    wagers: Wagers, asked: WagerRequest, rules: WagerRules, leave: WithdrawalRight
) -> LedgerAnswer:
    """One wager goes, if the window does not want all of the Player's or none."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        limits.check_named(asked, rules)
        or limits.check_may_act(asked.by, rules)
        or limits.check_exists(held, asked)
        or _decided(asked, leave)
        or _partial(wagers, asked, leave)
    )
    return refused or remove_wager(wagers, asked, "withdrawn", leave.rule)


def withdraw_all(wagers: Wagers, player: str, by: WagerActor, leave: WithdrawalRight) -> Withdrawn:
    """All of the Player's wagers that the window lets go."""
    entries: list[LedgerEntry] = []
    for held in list_withdrawable(wagers, leave, player):
        asked = WagerRequest(player=player, seat=held.seat, wager=held.wager, by=by)
        done = remove_wager(wagers, asked, "withdrawn", leave.rule)
        wagers = done.wagers
        assert done.entry is not None, "only a restriction has none"
        entries.append(done.entry)
    return Withdrawn(wagers, tuple(entries))


def _decided(asked: WagerRequest, leave: WithdrawalRight) -> Refused | None:
    """The wager is won or lost already, and stays."""
    if asked.wager not in leave.decided:
        return None
    return Refused(why=f"{asked.wager} is decided: it stays", rule=leave.rule)


def _partial(wagers: Wagers, asked: WagerRequest, leave: WithdrawalRight) -> Refused | None:
    """Some of the Player's wagers would go and others stay, where all go or none."""
    if leave.scope == "any" or len(list_withdrawable(wagers, leave, asked.player)) == 1:
        return None
    which = "remaining wagers" if leave.scope == "remaining" else "wagers"
    why = f"{asked.player} withdraws all {which} or none: decide choice=withdraw_all"
    return Refused(why=why, rule=leave.rule)
