"""The ledger of wagers: placing, changing and withdrawing them, each act kept with who and when.

In: Wagers, a request, WagerRules. Out: Accepted with the new Wagers, or Refused with the rule.
Must not know: cards, outcomes, payment, how a request came in.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.texts.message import message

from . import checks
from .held import Act, Entry, Wager, Wagers, holding
from .limits import WagerRules
from .request import Accepted, Answered, Asked, Refused, Restriction, Staked


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


def place(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """A Player's first stake on a playing area. Side wagers need no main wager (3.6)."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    standing = None
    if held is not None and held.amount > 0:
        standing = Refused(why=message("refused_has_that_wager", player=asked.player))
    refused = (
        _unfit(asked, rules)
        or checks.too_late(wagers, rules, adds=True)
        or standing
        or checks.no_room(wagers, asked, rules)
        or checks.outside_limits(asked.wager, asked.amount, rules)
    )
    return refused or added(wagers, asked, "placed", rules.game.clause("limits"))


def increase(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """More on a wager that stands; what it then is must be within the limits (3.5.1)."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(asked, rules)
        or checks.too_late(wagers, rules, adds=True)
        or checks.unknown(held, asked)
        or checks.outside_limits(asked.wager, amount_of(held) + asked.amount, rules)
    )
    return refused or added(wagers, asked, "increased", rules.game.clause("limits"))


def decrease(wagers: Wagers, asked: Staked, rules: WagerRules) -> Answered:
    """Less on a wager that stands, not below the minimum: all of it is a withdrawal."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(asked, rules)
        or checks.too_late(wagers, rules, adds=False)
        or leaves_too_little(held, asked, rules)
    )
    return refused or lessened(wagers, asked, rules.game.clause("limits"))


def withdraw(wagers: Wagers, asked: Asked, rules: WagerRules) -> Answered:
    """The whole wager goes back to its Player, with chips that were not honoured on it."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(asked, rules)
        or checks.too_late(wagers, rules, adds=False)
        or checks.unknown(held, asked)
    )
    return refused or taken_out(wagers, asked, "withdrawn", None)


def restrict(wagers: Wagers, asked: Restriction, rules: WagerRules) -> Answered:
    """A Pit Manager's lower number of wagers per playing area, from the next round on."""
    refused = checks.restriction_stands_against(asked, rules)
    if refused is not None:
        return refused
    return Accepted(wagers=msgspec.structs.replace(wagers, restriction_next=asked.number))


# Whether any wager can change so, whatever is asked.


def check_placing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """No area takes another wager of anybody who may play."""
    late = checks.too_late(wagers, rules, adds=True)
    return late or checks.no_room_at_all(wagers, rules)


def check_increasing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Every wager is as much as it may be."""
    late = checks.too_late(wagers, rules, adds=True)
    if late is not None or any(_may_grow(held, rules) for held in wagers.standing):
        return late
    return Refused(why=message("refused_none_can_be_more"))


def _may_grow(held: Wager, rules: WagerRules) -> bool:
    most = rules.maximum(held.wager)
    return most is None or held.amount < most


def check_decreasing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Every wager is as little as it may be."""
    late = checks.too_late(wagers, rules, adds=False)
    if late is not None or any(w.amount > rules.minimum(w.wager) for w in wagers.standing):
        return late
    return Refused(why=message("refused_none_can_be_less"))


def check_withdrawing(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """No wager lies there."""
    late = checks.too_late(wagers, rules, adds=False)
    if late is not None or wagers.standing:
        return late
    return Refused(why=message("refused_no_wagers"))


# What the other parts of the ledger build on: these change the wagers, unchecked.


def amount_of(held: Wager | None) -> int:
    """What plays on this wager, in minor units."""
    return 0 if held is None else held.amount


def leaves_too_little(held: Wager | None, asked: Staked, rules: WagerRules) -> Refused | None:
    """A decrease of a wager that is not there, or to nothing, or to under the minimum."""
    missing = checks.unknown(held, asked)
    if missing is not None:
        return missing
    left = amount_of(held) - asked.amount
    if left < 0:
        why = message("refused_wager_is_less", amount=amount_of(held), less=asked.amount)
        return Refused(why=why)
    if left == 0:
        return Refused(why=message("refused_nothing_left"))
    return checks.under_minimum(asked.wager, left, rules)


def added(wagers: Wagers, asked: Staked, act: Act, rule: str | None) -> Accepted:
    """So much more plays on the wager, which begins with it where there was none."""
    held = wagers.find(asked.player, asked.seat, asked.wager) or _begun(wagers, asked)
    raised = msgspec.structs.replace(
        held,
        amount=held.amount + asked.amount,
        found=held.found + (asked.amount if act == "found" else 0),
        raised_us=asked.by.t_us,
        raised=len(wagers.history) + 1,
    )
    return written(wagers, raised, asked, act, rule)


def not_honoured(wagers: Wagers, asked: Staked, rule: str | None) -> Accepted:
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
    return written(wagers, late, asked, "found_late", rule)


def lessened(wagers: Wagers, asked: Staked, rule: str | None) -> Accepted:
    """So much goes back to the Player."""
    held = _stands(wagers, asked)
    left = held.amount - asked.amount
    less = msgspec.structs.replace(held, amount=left, found=min(held.found, left))
    return written(wagers, less, asked, "decreased", rule)


def taken_out(wagers: Wagers, asked: Asked, act: Act, rule: str | None) -> Accepted:
    """All of it goes back to the Player and the wager is gone."""
    gone = msgspec.structs.replace(_stands(wagers, asked), amount=0, found=0, not_honoured=0)
    return written(wagers, gone, asked, act, rule)


def written(wagers: Wagers, held: Wager, asked: Asked, act: Act, rule: str | None) -> Accepted:
    """The wager as it is now, with a line in the history that says what came or went."""
    by = asked.by
    former = wagers.find(asked.player, asked.seat, asked.wager)
    entry = Entry(
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
        holding(wagers, held),
        history=(*wagers.history, entry),
        numbered=max(wagers.numbered, held.number),
    )
    return Accepted(wagers=now, entry=entry)


def _begun(wagers: Wagers, asked: Asked) -> Wager:
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


_RAISES: frozenset[Act] = frozenset({"placed", "increased"})


def _stands(wagers: Wagers, asked: Asked) -> Wager:
    held = wagers.find(asked.player, asked.seat, asked.wager)
    assert held is not None, "checked before"
    return held


def _unfit(asked: Asked, rules: WagerRules) -> Refused | None:
    """What stands against any request: what it names, how much, who acts."""
    return (
        checks.unnamed(asked, rules)
        or checks.amount_is_none(asked)
        or checks.may_not_act(asked.by, rules)
    )
