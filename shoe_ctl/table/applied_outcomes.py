"""Applied outcomes: which outcomes a table system has applied, and a shoe's money as it counts it.

In: the events of the turn that say how a round ended, what a table system reports. Out:
outcome.applied .not_applied, shoe.reconciled; what the status shows. Must not know: ids of events,
who may report, how a report came in.

A table keeps all this only with the setting ``applied_within_s``. It speaks of outcomes that the
room was told, and so never of a card that is not revealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from shoe_ctl.records import Audience, utc
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import OutcomeApplied, ShoeStated, StatedRound, Tick, ToldMoney
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.state import TableState, ToldRound, ToldRounds
from shoe_ctl.table.turn import Turn
from shoe_ctl.table.wagers.money import json_amount
from shoe_ctl.texts.message import Message, message

ENDS = ("round.outcome", "round.revised", "round.void")
"""The types of events that say how a round ended: each is to be applied."""

VOID = "round.void"
REOPENED = "round.reopened"

MOST_OLDER = 200
"""Rounds of shoes before the last two that are kept because nobody applied them. Older ones are
forgotten: they were told as not applied long ago."""

_MONEY = ("wager.settled", "wager.revised")


# What the turn brought.


def follow(turn: Turn) -> None:
    """Keep what this turn told of rounds, and report what was not applied in time.

    It is called at the end of each turn of a table that has the setting.
    """
    if turn.now.told is UNSET:
        # Of a shoe that is under way the table does not know what was told before.
        shoe = turn.now.shoe
        turn.change(told=ToldRounds(part_of=None if shoe is None else shoe.id))
    for effect in tuple(turn.effects):
        if not isinstance(effect, TableEvent) or effect.subject is None:
            continue
        if effect.type in ENDS or effect.type == REOPENED:
            _note_end(turn, effect)
        elif effect.type in _MONEY:
            _note_money(turn, effect)
    if isinstance(turn.input, Tick):
        _report_overdue(turn)


def _told(now: TableState) -> ToldRounds:
    return ToldRounds() if isinstance(now.told, msgspec.UnsetType) else now.told


def _find(now: TableState, round_id: str) -> ToldRound | None:
    return next((each for each in _told(now).rounds if each.round_id == round_id), None)


def _keep(turn: Turn, changed: ToldRound) -> None:
    """Put this round in the place of what was kept of it; forget what is too old."""
    told = _told(turn.now)
    others = [each for each in told.rounds if each.round_id != changed.round_id]
    rounds = sorted((*others, changed), key=lambda each: _number(each.round_id))
    shoes = sorted({each.shoe_id for each in rounds}, key=_number)[-2:]
    older = [each for each in rounds if each.shoe_id not in shoes and _is_waiting(each)]
    kept = older[-MOST_OLDER:] + [each for each in rounds if each.shoe_id in shoes]
    agreed = tuple(shoe for shoe in told.agreed if shoe != changed.shoe_id)
    turn.change(told=replace(told, rounds=tuple(kept), agreed=agreed))


def _replace(turn: Turn, changed: ToldRound) -> None:
    """Change what is kept of a round where neither its end nor its money changes."""
    told = _told(turn.now)
    rounds = tuple(changed if e.round_id == changed.round_id else e for e in told.rounds)
    turn.change(told=replace(told, rounds=rounds))


def _note_end(turn: Turn, event: TableEvent) -> None:
    assert event.subject is not None
    known = _find(turn.now, event.subject)
    shoe_id = event.subject.rpartition("-r")[0]
    before = ToldRound(round_id=event.subject, shoe_id=shoe_id) if known is None else known
    wagers = {} if event.type == VOID else before.wagers
    _keep(
        turn,
        replace(
            before,
            type=event.type,
            told_us=turn.now.t_us,
            reference=None,
            user=None,
            overdue=False,
            wagers=wagers,
        ),
    )


def _note_money(turn: Turn, event: TableEvent) -> None:
    """Add what a wager came to: its stake and what the Player gets, or what a revision changed."""
    assert event.subject is not None
    known = _find(turn.now, event.subject)
    if known is None or known.type == VOID:
        return
    data = event.data
    had = known.wagers.get(data["wager"], ToldMoney())
    if event.type == "wager.settled":
        staked, more = data["stake"], data["returned"] + Fraction(data["pays"])
    else:
        staked, more = 0, Fraction(data["change"])
    paid_out = json_amount(Fraction(had.paid_out) + more)
    now = ToldMoney(staked=had.staked + staked, paid_out=paid_out)
    _keep(turn, replace(known, wagers={**known.wagers, data["wager"]: now}))


def _number(id_: str) -> tuple[int, ...]:
    """Return the last number of an id such as ``t1-s2`` or ``t1-s2-r7``, to sort by."""
    digits = id_[len(id_.rstrip("0123456789")) :]
    return (int(digits),) if digits else (0,)


# In time, or not.


def _is_waiting(told: ToldRound) -> bool:
    return told.type != REOPENED and told.reference is None


def next_due_us(now: TableState, settings: TableSettings) -> int | None:
    """Return when the next outcome counts as not applied, in µs since 1970 UTC."""
    within = settings.applied_within_s
    if isinstance(within, msgspec.UnsetType):
        return None
    waiting = [e.told_us for e in _told(now).rounds if _is_waiting(e) and not e.overdue]
    return min(waiting) + within * 1_000_000 if waiting else None


def _report_overdue(turn: Turn) -> None:
    within = turn.settings.applied_within_s
    assert not isinstance(within, msgspec.UnsetType)
    for each in _told(turn.now).rounds:
        late = turn.now.t_us >= each.told_us + within * 1_000_000
        if late and _is_waiting(each) and not each.overdue:
            _replace(turn, replace(each, overdue=True))
            data = {"type": each.type, "told": utc(each.told_us)}
            turn.emit("outcome.not_applied", data, of_round=each.round_id)


# A report that an outcome was applied.


def check_applied(
    now: TableState, settings: TableSettings, asked: OutcomeApplied
) -> Message | None:
    """Return why this report changes nothing; None where it is taken."""
    if isinstance(settings.applied_within_s, msgspec.UnsetType):
        return message("refused_applied_not_kept", table=settings.table)
    told = _find(now, asked.round_id)
    if told is None:
        return message("refused_applied_forgotten", round_id=asked.round_id)
    if told.type == REOPENED:
        return message("refused_applied_reopened", round_id=asked.round_id)
    if (told.type, told.told_us) != (asked.type, asked.told_us):
        if told.type == VOID:
            return message("refused_applied_void", round_id=asked.round_id)
        return message("refused_applied_superseded", round_id=asked.round_id)
    if told.reference is not None:
        return message(
            "refused_applied_twice",
            round_id=asked.round_id,
            user=told.user or "",
            reference=told.reference,
        )
    return None


def is_repeat(now: TableState, asked: OutcomeApplied) -> bool:
    """True if the same user reported the same before, with the same reference."""
    told = _find(now, asked.round_id)
    return (
        told is not None
        and (told.type, told.told_us) == (asked.type, asked.told_us)
        and (told.user, told.reference) == (asked.user, asked.reference)
    )


def note_applied(turn: Turn) -> None:
    """Note that a table system applied an outcome. What is refused changes nothing."""
    asked = turn.input_of(OutcomeApplied)
    if check_applied(turn.now, turn.settings, asked) is not None:
        return
    told = _find(turn.now, asked.round_id)
    assert told is not None
    _replace(turn, replace(told, reference=asked.reference, user=asked.user))
    secret = {"event": asked.restricted_id, "reference": asked.reference, "user": asked.user}
    data = {} if asked.public_id is None else {"event": asked.public_id}
    turn.emit("outcome.applied", data, restricted=secret, of_round=asked.round_id)


# A shoe as a table system counts it.


def check_stated(now: TableState, settings: TableSettings, asked: ShoeStated) -> Message | None:
    """Return why this statement of a shoe is not compared; None where it is."""
    if isinstance(settings.applied_within_s, msgspec.UnsetType):
        return message("refused_applied_not_kept", table=settings.table)
    told = _told(now)
    if asked.shoe_id == told.part_of:
        return message("refused_shoe_kept_in_part", shoe_id=asked.shoe_id)
    current = None if now.shoe is None else now.shoe.id
    if asked.shoe_id != current and not _of_shoe(told, asked.shoe_id):
        return message("refused_shoe_not_kept", shoe_id=asked.shoe_id)
    if now.round is not None and now.round.id.startswith(f"{asked.shoe_id}-r"):
        return message("refused_shoe_round_open", round_id=now.round.id)
    if asked.shoe_id in told.agreed:
        return message("refused_shoe_agreed", shoe_id=asked.shoe_id)
    return None


def compare_shoe(turn: Turn) -> None:
    """Compare a shoe with a table system's statement of it; emit how that came out."""
    asked = turn.input_of(ShoeStated)
    if check_stated(turn.now, turn.settings, asked) is not None:
        return
    told = _told(turn.now)
    rounds = _of_shoe(told, asked.shoe_id)
    has_money = any(each.wagers for each in rounds)
    first = _first_difference(rounds, asked.rounds, has_money=has_money)
    data: dict[str, Any] = {
        "shoe_id": asked.shoe_id,
        "agrees": first is None,
        "rounds": len(rounds),
        "stated": len(asked.rounds),
        "money": has_money,
    }
    secret: dict[str, Any] = {"user": asked.user, "wagers": _totals(rounds)}
    if first is None:
        turn.change(told=replace(told, agreed=(*told.agreed, asked.shoe_id)[-2:]))
    else:
        data |= {"first": first.pop("round_id"), "what": first.pop("what")}
        secret |= first
    turn.effects.append(
        TableEvent("shoe.reconciled", Audience.PUBLIC, asked.shoe_id, data, {**data, **secret})
    )


def agreed(now: TableState) -> tuple[str, ...]:
    """Return the shoes of which a table system stated the same as the table has."""
    return _told(now).agreed


def first_difference(now: TableState, asked: ShoeStated) -> dict[str, Any]:
    """Return the first round in which this statement differs, as the public is told it."""
    rounds = _of_shoe(_told(now), asked.shoe_id)
    has_money = any(each.wagers for each in rounds)
    found = _first_difference(rounds, asked.rounds, has_money=has_money)
    return {} if found is None else {"first": found["round_id"], "what": found["what"]}


def _of_shoe(told: ToldRounds, shoe_id: str) -> list[ToldRound]:
    return [each for each in told.rounds if each.shoe_id == shoe_id]


def _totals(rounds: Iterable[ToldRound]) -> dict[str, Any]:
    """Return the money of a shoe by wager."""
    sums: dict[str, tuple[int, Fraction]] = {}
    for each in rounds:
        for wager, money in each.wagers.items():
            staked, paid_out = sums.get(wager, (0, Fraction(0)))
            sums[wager] = staked + money.staked, paid_out + Fraction(money.paid_out)
    return {w: {"staked": s, "paid_out": json_amount(p)} for w, (s, p) in sorted(sums.items())}


def _first_difference(
    told: list[ToldRound], stated: tuple[StatedRound, ...], *, has_money: bool
) -> dict[str, Any] | None:
    """Return the first round, in the order dealt, that is not the same in both, and what differs.

    Money is compared where the table knows of wagers at all.
    """
    ours = {each.round_id: each for each in told}
    theirs: dict[str, StatedRound] = {}
    for each in stated:
        if each.round_id in theirs:
            return {"round_id": each.round_id, "what": "twice"}
        theirs[each.round_id] = each
    for round_id in sorted({*ours, *theirs}, key=_number):
        if round_id not in theirs:
            return {"round_id": round_id, "what": "not_stated"}
        if round_id not in ours:
            return {"round_id": round_id, "what": "not_played"}
        one, other = ours[round_id], theirs[round_id]
        if (one.type == VOID) is not other.void:
            return {"round_id": round_id, "what": "void" if one.type == VOID else "not_void"}
        if has_money and (wager := _first_wager(one.wagers, other.wagers)) is not None:
            return {
                "round_id": round_id,
                "what": "money",
                "wager": wager,
                "kept": _plain(one.wagers.get(wager, ToldMoney())),
                "said": _plain(other.wagers.get(wager, ToldMoney())),
            }
    return None


def _first_wager(ours: Mapping[str, ToldMoney], theirs: Mapping[str, ToldMoney]) -> str | None:
    nothing = ToldMoney()
    for wager in sorted({*ours, *theirs}):
        one, other = ours.get(wager, nothing), theirs.get(wager, nothing)
        if one.staked != other.staked or Fraction(one.paid_out) != Fraction(other.paid_out):
            return wager
    return None


def _plain(money: ToldMoney) -> dict[str, Any]:
    return {"staked": money.staked, "paid_out": money.paid_out}


# The status.


def describe(now: TableState) -> dict[str, Any]:
    """Return ``unapplied`` for the status: what nobody applied yet; nothing without the setting."""
    if isinstance(now.told, msgspec.UnsetType):
        return {}
    return {
        "unapplied": [
            {
                "round_id": each.round_id,
                "type": each.type,
                "since": utc(each.told_us),
                "overdue": each.overdue,
            }
            for each in now.told.rounds
            if _is_waiting(each)
        ]
    }


def overdue_message(now: TableState) -> Message | None:
    """Return what the pit is told beside what is next: the first outcome that nobody applied."""
    if isinstance(now.told, msgspec.UnsetType):
        return None
    late = [each for each in now.told.rounds if each.overdue and _is_waiting(each)]
    if not late:
        return None
    return message("next_not_applied", round_id=late[0].round_id, count=len(late))
