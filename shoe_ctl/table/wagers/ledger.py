"""The ledger of wagers: they are placed, changed, withdrawn, declared; each act with who and when.

In: Wagers, a request, WagerRules. Out: Accepted with the new Wagers, or Refused with the rule.
Must not know: cards, outcomes, payment, how a request came in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from shoe_ctl.table.wagers import limits
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.types import (
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
from shoe_ctl.texts.message import message

# Betting opens and closes.


def open_bets(wagers: Wagers) -> Wagers:
    """Open betting: *place your bets* (3.1). A restriction made before holds from this round.

    In a round whose bets were closed, betting continues with the wagers that stand (5.9).
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
    """Close betting: *no more bets* (3.2)."""
    return msgspec.structs.replace(wagers, betting="closed")


# While betting is open.


def place(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """Place a Player's first stake on a playing area. Side wagers need no main wager (3.6)."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    standing = None
    if held is not None and held.amount > 0:
        standing = Refused(why=message("refused_has_that_wager", player=asked.player))
    refused = (
        _check_request(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=True)
        or standing
        or limits.check_room(wagers, asked, rules)
        or limits.check_limits(asked.wager, asked.amount, rules)
    )
    return refused or add_stake(wagers, asked, "placed", rules.game.clause("limits"))


def increase(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """Increase a wager that stands; it must then be within the limits (3.5.1)."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _check_request(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=True)
        or limits.check_exists(held, asked)
        or limits.check_limits(asked.wager, amount_in_play(held) + asked.amount, rules)
    )
    return refused or add_stake(wagers, asked, "increased", rules.game.clause("limits"))


def decrease(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """Decrease a wager that stands, not below the minimum. All of it would be a withdrawal."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _check_request(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=False)
        or check_remaining(held, asked, rules)
    )
    return refused or reduce_stake(wagers, asked, rules.game.clause("limits"))


def withdraw(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> LedgerAnswer:
    """Withdraw a wager: all its chips go back to the Player, also those not honoured."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _check_request(asked, rules)
        or limits.check_betting_open(wagers, rules, adds=False)
        or limits.check_exists(held, asked)
    )
    return refused or remove_wager(wagers, asked, "withdrawn", None)


def restrict(wagers: Wagers, asked: Restriction, rules: WagerRules) -> LedgerAnswer:
    """Restrict the number of wagers per playing area from the next round on (a Pit Manager)."""
    refused = limits.check_restriction(asked, rules)
    if refused is not None:
        return refused
    return Accepted(wagers=msgspec.structs.replace(wagers, restriction_next=asked.number))


# While betting is open: whether there is any wager at all that can change so.


def check_placing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Refuse every new wager if no area takes one."""
    late = limits.check_betting_open(wagers, rules, adds=True)
    return late or limits.check_any_room(wagers, rules)


def check_increasing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Refuse every increase if each wager is at its maximum."""
    late = limits.check_betting_open(wagers, rules, adds=True)
    if late is not None or any(_can_grow(held, rules) for held in wagers.standing):
        return late
    return Refused(why=message("refused_none_can_be_more"))


def _can_grow(held: Wager, rules: WagerRules) -> bool:
    most = rules.maximum(held.wager)
    return most is None or held.amount < most


def check_decreasing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Refuse every decrease if each wager is at its minimum."""
    late = limits.check_betting_open(wagers, rules, adds=False)
    if late is not None or any(w.amount > rules.minimum(w.wager) for w in wagers.standing):
        return late
    return Refused(why=message("refused_none_can_be_less"))


def check_withdrawing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Refuse every withdrawal if no wager stands."""
    late = limits.check_betting_open(wagers, rules, adds=False)
    if late is not None or wagers.standing:
        return late
    return Refused(why=message("refused_no_wagers"))


# Changes, unchecked: the other parts of the ledger and the table differential are made of these.


def amount_in_play(held: Wager | None) -> int:
    """Return what plays on this wager, in minor units."""
    return 0 if held is None else held.amount


def check_remaining(held: Wager | None, asked: AmountRequest, rules: WagerRules) -> Refused | None:
    """Refuse a decrease of a wager that does not exist, to nothing, or to under the minimum."""
    missing = limits.check_exists(held, asked)
    if missing is not None:
        return missing
    left = amount_in_play(held) - asked.amount
    if left < 0:
        why = message("refused_wager_is_less", amount=amount_in_play(held), less=asked.amount)
        return Refused(why=why)
    if left == 0:
        return Refused(why=message("refused_nothing_left"))
    return limits.check_minimum(asked.wager, left, rules)


def add_stake(wagers: Wagers, asked: AmountRequest, act: WagerAct, rule: str | None) -> Accepted:
    """Add to a wager, or begin one."""
    held = wagers.find(asked.player, asked.seat, asked.wager) or _new_wager(wagers, asked)
    raised = msgspec.structs.replace(
        held,
        amount=held.amount + asked.amount,
        found=held.found + (asked.amount if act == "found" else 0),
        raised_us=asked.by.t_us,
        raised=len(wagers.history) + 1,
    )
    return write_entry(wagers, raised, asked, act, rule)


def mark_not_honoured(wagers: Wagers, asked: AmountRequest, rule: str | None) -> Accepted:
    """Mark chips on a playing area as not honoured: they do not play.

    Chips that were found there before are marked first, because what was placed by a command came
    in time. The rest are further chips.
    """
    held = wagers.find(asked.player, asked.seat, asked.wager) or _new_wager(wagers, asked)
    known = min(held.found, asked.amount)
    late = msgspec.structs.replace(
        held,
        amount=held.amount - known,
        found=held.found - known,
        not_honoured=held.not_honoured + asked.amount,
    )
    if known and not late.found:
        late = _restore_raised(wagers, late)
    return write_entry(wagers, late, asked, "found_late", rule)


def reduce_stake(wagers: Wagers, asked: AmountRequest, rule: str | None) -> Accepted:
    """Give part of a wager back to the Player."""
    held = _require_wager(wagers, asked)
    left = held.amount - asked.amount
    less = msgspec.structs.replace(held, amount=left, found=min(held.found, left))
    return write_entry(wagers, less, asked, "decreased", rule)


def remove_wager(wagers: Wagers, asked: WagerRequest, act: WagerAct, rule: str | None) -> Accepted:
    """Give all of a wager back to the Player; the wager is gone."""
    gone = msgspec.structs.replace(_require_wager(wagers, asked), amount=0, found=0, not_honoured=0)
    return write_entry(wagers, gone, asked, act, rule)


def write_entry(
    wagers: Wagers, held: Wager, asked: WagerRequest, act: WagerAct, rule: str | None
) -> Accepted:
    """Store a wager as it is now, with an entry in the history of what came or went."""
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


def _new_wager(wagers: Wagers, asked: WagerRequest) -> Wager:
    """Return a wager with the next number and nothing on it yet."""
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


def _restore_raised(wagers: Wagers, held: Wager) -> Wager:
    """Return the wager as raised when it was last placed or increased by a command.

    That is when it reached its amount, once no chips of it count as found.
    """
    raised = [e for e in wagers.history if e.wager_number == held.number and e.act in _RAISES]
    if not raised:
        return held
    last = raised[-1]
    return msgspec.structs.replace(held, raised_us=last.t_us, raised=last.number)


_RAISES: frozenset[WagerAct] = frozenset({"placed", "increased"})
"""Acts of commands by which a wager grows."""


def _require_wager(wagers: Wagers, asked: WagerRequest) -> Wager:
    held = wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "checked before"
    return held


def _check_request(asked: WagerRequest, rules: WagerRules) -> Refused | None:
    """Refuse a request for what it names, its amount, or who acts."""
    return (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_may_act(asked.by, rules)
    )


# After *no more bets*: what staff declare of wagers.


def declare_found(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """Add chips that were placed in time but not recorded: they play, whatever the limits are.

    What is under the minimum or over the maximum is handled when the round is settled.
    """
    rule = rules.game.clause("limits")
    return _check_declaration(wagers, asked, rules, rule) or add_stake(wagers, asked, "found", rule)


def declare_outside_limits(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules, key: str
) -> LedgerAnswer:
    """Declare a wager outside the limits; ``asked.amount`` is all chips there, late ones too.

    ``key`` is ``under_minimum`` or ``over_maximum``; the wager is settled under the ends of that
    irregularity. If it is over the maximum only because of late chips, nothing changes: these go
    back in any case (5.4).
    """
    held = wagers.find(asked.player, asked.seat, asked.wager)
    known = 0 if held is None else held.chips
    late = 0 if held is None else held.not_honoured
    in_time = msgspec.structs.replace(asked, amount=asked.amount - late)
    refused = _check_declaration(
        wagers, asked, rules, rules.game.rule(key, "refused")
    ) or _check_closed(wagers)
    if refused is not None:
        return refused
    if (within := _check_is_outside(in_time, rules, key, late)) is not None:
        only_late = asked.amount == known and _check_is_outside(asked, rules, key) is None
        return Accepted(wagers=wagers) if only_late else within
    if asked.amount <= known:
        return Refused(why=message("refused_ledger_holds_more", amount=known))
    answer = declare_found(
        wagers, msgspec.structs.replace(asked, amount=asked.amount - known), rules
    )
    if isinstance(answer, Refused):
        return answer
    return Accepted(wagers=_mark_declared(answer.wagers, asked, key), entry=answer.entry)


def _mark_declared(wagers: Wagers, asked: WagerRequest, key: str | None) -> Wagers:
    held = wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "it lies there"
    return with_wager(wagers, msgspec.structs.replace(held, declared=key))


def declare_earlier(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules, key: str
) -> LedgerAnswer:
    """Declare that a wager of an earlier round was outside the limits: its settlement stands.

    I 5.14, N/T/F 5.16. For a wager under the minimum, that was the one round in which the Player's
    wagers under the minimum are settled *(reading)*.
    """
    refused = (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_staff(asked.by, rules, rules.game.rule(key, "earlier_settled"))
        or _check_is_outside(asked, rules, key)
    )
    if refused is not None or key != "under_minimum":
        return refused or Accepted(wagers=wagers)
    once = tuple(sorted({*wagers.settled_once, asked.player}))
    return Accepted(wagers=msgspec.structs.replace(wagers, settled_once=once))


def declare_found_late(wagers: Wagers, asked: AmountRequest, rules: WagerRules) -> LedgerAnswer:
    """Declare chips that were placed after *no more bets*: they are not honoured (5.4).

    A wager that was declared over the maximum is no longer, if the rest is within the limits.
    """
    rule = rules.game.rule("late_wager", rules.late_end)
    refused = _check_declaration(wagers, asked, rules, rule) or _check_closed(wagers)
    if refused is not None:
        return refused
    done = mark_not_honoured(wagers, asked, rule)
    held = done.wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "it lies there"
    over = limits.check_maximum(held.wager, held.amount, rules)
    if held.declared == "over_maximum" and over is None:
        return Accepted(wagers=_mark_declared(done.wagers, asked, None), entry=done.entry)
    return done


def declare_taken_back(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> LedgerAnswer:
    """Declare that the Player took chips after *no more bets*: the wager plays anyway (5.5)."""
    rule = rules.game.rule("late_withdrawal", "settled_as_placed")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _check_declaration(wagers, asked, rules, rule)
        or _check_closed(wagers)
        or limits.check_exists(held, asked)
    )
    if refused is not None:
        return refused
    assert held is not None, "checked before"
    held = msgspec.structs.replace(held, taken_back=True)
    return write_entry(wagers, held, asked, "taken_back", rule)


def without_declaration(wagers: Wagers, before: Wager | None, after: Wager) -> Wagers:
    """Return the wagers without what was declared of this one: it is as it was before."""
    gone = msgspec.structs.replace(after, amount=0, found=0, not_honoured=0)
    return with_wager(wagers, gone if before is None else before)


def retract(wagers: Wagers, before: Wager | None, after: Wager, by: WagerActor) -> Accepted:
    """Take back what was declared of this wager, with an entry in the history."""
    asked = WagerRequest(player=after.player, seat=after.seat, wager=after.wager, by=by)
    gone = msgspec.structs.replace(after, amount=0, found=0, not_honoured=0)
    return write_entry(wagers, gone if before is None else before, asked, "retracted", None)


def _check_declaration(
    wagers: Wagers, asked: WagerRequest, rules: WagerRules, rule: str | None
) -> Refused | None:
    between = Refused(why=message("refused_no_round"), rule=rules.game.clause("place_your_bets"))
    return (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_staff(asked.by, rules, rule)
        or (between if wagers.betting == "between" else None)
    )


def _check_is_outside(
    asked: AmountRequest, rules: WagerRules, key: str, late: int = 0
) -> Refused | None:
    """Refuse a declaration if the amount is within the limits; ``late`` chips are not in it."""
    is_outside = limits.check_minimum if key == "under_minimum" else limits.check_maximum
    if is_outside(asked.wager, asked.amount, rules) is not None:
        return None
    amount, wager = asked.amount, asked.wager
    why = (
        message("refused_within_limit_but_late", amount=amount, wager=wager, late=late, limit=key)
        if late
        else message("refused_within_limit", amount=amount, wager=wager, limit=key)
    )
    return Refused(why=why, rule=rules.game.rule(key, "refused"))


def _check_closed(wagers: Wagers) -> Refused | None:
    if wagers.betting == "closed":
        return None
    return Refused(why=message("refused_nothing_is_late"))


# Withdrawal windows: wagers of a round whose bets are closed go back.


class WithdrawalRight(NamedTuple):
    """The right that a window gives."""

    scope: Scope
    """The wagers that a Player may withdraw."""
    rule: str | None
    """The rule that allows it."""
    decided: Collection[str] = ()
    """Wagers that are won or lost already and stay."""


class Withdrawn(NamedTuple):
    """The result of a withdrawal of several wagers."""

    wagers: Wagers
    """The wagers that still stand."""
    entries: tuple[LedgerEntry, ...]
    """An entry of the history for each that was withdrawn."""


def list_withdrawable(
    wagers: Wagers, leave: WithdrawalRight, player: str | None = None
) -> tuple[Wager, ...]:
    """Return the wagers, of this Player or of all, that the window allows to withdraw."""
    return tuple(
        held
        for held in wagers.standing
        if held.wager not in leave.decided and player in (None, held.player)
    )


def withdraw_one(
    wagers: Wagers, asked: WagerRequest, rules: WagerRules, leave: WithdrawalRight
) -> LedgerAnswer:
    """Withdraw one wager, unless the window allows only all of the Player's or none."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        limits.check_named(asked, rules)
        or limits.check_may_act(asked.by, rules)
        or limits.check_exists(held, asked)
        or _check_undecided(asked, leave)
        or _check_all_or_none(wagers, asked, leave)
    )
    return refused or remove_wager(wagers, asked, "withdrawn", leave.rule)


def withdraw_all(wagers: Wagers, player: str, by: WagerActor, leave: WithdrawalRight) -> Withdrawn:
    """Withdraw all of the Player's wagers that the window allows to withdraw."""
    entries: list[LedgerEntry] = []
    for held in list_withdrawable(wagers, leave, player):
        asked = WagerRequest(player=player, seat=held.seat, wager=held.wager, by=by)
        done = remove_wager(wagers, asked, "withdrawn", leave.rule)
        wagers = done.wagers
        assert done.entry is not None, "only a restriction has none"
        entries.append(done.entry)
    return Withdrawn(wagers, tuple(entries))


def _check_undecided(asked: WagerRequest, leave: WithdrawalRight) -> Refused | None:
    """Refuse to withdraw a wager that is won or lost already."""
    if asked.wager not in leave.decided:
        return None
    return Refused(why=message("refused_wager_is_decided", wager=asked.wager), rule=leave.rule)


def _check_all_or_none(
    wagers: Wagers, asked: WagerRequest, leave: WithdrawalRight
) -> Refused | None:
    """Refuse to withdraw one of several wagers where all go or none."""
    if leave.scope == "any" or len(list_withdrawable(wagers, leave, asked.player)) == 1:
        return None
    why = (
        message("refused_withdraw_remaining", player=asked.player)
        if leave.scope == "remaining"
        else message("refused_withdraw_all_or_none", player=asked.player)
    )
    return Refused(why=why, rule=leave.rule)
