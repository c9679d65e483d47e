"""Payments: what each wager is paid or loses, from the outcome on, and what a revision changes.

In: a view of the table; the round whose outcome is announced, or the one settled last. Out: plain
values for the status; messages for an answer. Must not know: how an outcome came about, who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.games.wagers import WagerResult
from shoe_ctl.records import utc
from shoe_ctl.table.state import FormerOutcome, Round, SettledRound, TableState
from shoe_ctl.table.turn import TableView
from shoe_ctl.table.wagers.money import json_amount
from shoe_ctl.table.wagers.settlement import SettlementLine, line_data, order_lines, settle_all
from shoe_ctl.table.wagers.types import Wager
from shoe_ctl.texts.message import Message, message

HANDS = ("player", "banker")


def outcome_message(winner: str, player: int, banker: int) -> Message:
    """Return who wins, the higher total first."""
    if winner == "tie":
        return message("done_tie", player=player, banker=banker)
    higher, lower = max(player, banker), min(player, banker)
    return message("done_outcome", winner=winner, total=higher, against=lower)


# The round whose outcome is announced.


def announced_round(now: TableState) -> Round | None:
    """Return the open round from its outcome until *settle*, also while the table is halted."""
    state = now.state if now.halt is None else now.halt.resume_state
    return now.round if state == "resolved" else None


def settlement_lines(at: TableView) -> tuple[SettlementLine, ...]:
    """Return what *settle* would record now. Empty before the outcome, or with a card missing."""
    played = announced_round(at.now)
    if played is None or not at.now.wagers.standing or not _is_complete(played):
        return ()
    return settle_all(at.now.wagers, at.settle(played), at.wager_rules).lines


def _is_complete(played: Round) -> bool:
    """Return True if these are the cards of a whole round, and everybody has seen them."""
    if not played.all_revealed:
        return False
    if played.against_table:
        return True
    try:
        return next_hand(played.hand("player"), played.hand("banker")) is None
    except InputRefused:
        return False


def describe_wagers(at: TableView, *, restricted: bool) -> list[dict[str, Any]]:
    """Return the wagers on the layout, seat by seat counter-clockwise.

    ``player`` is there only if ``restricted``. Amounts are minor units. ``not_honoured`` came after
    *no more bets* and goes back; what was ``taken_back`` is settled as if it stood. From the
    outcome until *settle*, in a halt too, ``settlement`` says what *settle* will record of the
    wager: the same values as in ``wager.settled``.
    """
    held = order_lines(at.now.wagers.standing, at.wager_rules) if at.now.wagers.standing else []
    lines = {line.number: line for line in settlement_lines(at)}
    return [_describe(one, lines.get(one.number), restricted=restricted) for one in held]


_OF_THE_WAGER = ("number", "player", "seat", "wager")
"""Parts of a settlement's line that the wager itself has already."""


def _describe(held: Wager, line: SettlementLine | None, *, restricted: bool) -> dict[str, Any]:
    said: dict[str, Any] = {
        "number": held.number,
        "seat": held.seat,
        "wager": held.wager,
        "amount": held.amount,
    }
    said |= {"player": held.player} if restricted else {}
    said |= {"not_honoured": held.not_honoured} if held.not_honoured else {}
    said |= {"taken_back": True} if held.taken_back else {}
    if line is not None:
        data = line_data(line)
        said["settlement"] = {k: v for k, v in data.items() if k not in _OF_THE_WAGER}
    return said


def describe_announced(at: TableView) -> dict[str, Any] | None:
    """Return the outcome of the open round, once it was announced; None where a card is missing."""
    played = announced_round(at.now)
    if played is None or not _is_complete(played):
        return None
    return describe_outcome(at, played)


def payment_messages(at: TableView) -> list[Message]:
    """Return what each Player is paid and loses at *settle*, for the answer to a correction."""
    return [_payment(line) for line in settlement_lines(at)]


def _payment(line: SettlementLine) -> Message:
    """Return what a wager comes to."""
    seat, wager = line.seat, line.wager
    if line.result == "win":
        return message("done_wager_wins", seat=seat, wager=wager, pays=json_amount(line.pays))
    if line.result == "lose":
        return message("done_wager_loses", seat=seat, wager=wager, collected=line.collected)
    return message("done_wager_goes_back", seat=seat, wager=wager, change=line.returned)


# The round that was settled last.


def player_gets(line: SettlementLine) -> Fraction:
    """Return what the Player gets of the wager in all."""
    return line.returned + line.pays


def change_message(data: Mapping[str, Any]) -> Message:
    """Return what a wager that was settled again changes by, from its event."""
    change, seat, wager = Fraction(data["change"]), data["seat"], data["wager"]
    amount = json_amount(abs(change))
    if change > 0:
        return message("done_wager_gets_more", seat=seat, wager=wager, amount=amount)
    if change < 0:
        return message("done_wager_owes", seat=seat, wager=wager, amount=amount)
    return message("done_wager_revised", seat=seat, wager=wager)


def describe_last_round(at: TableView, *, restricted: bool) -> dict[str, Any] | None:
    """Return the round that was settled last, as it stands now; None where there is none.

    ``wagers`` are as in ``describe_wagers``. ``revisions`` are the outcomes that it had before,
    oldest first: ``until`` when, and the ``changes`` that its revision made: what the Player gets
    of a wager in minor units, or owes below 0. Before *settle* nothing was paid: none changes.
    """
    last = at.now.last_settled
    if last is None:
        return None
    played = last.round
    settled = settle_all(last.wagers, at.settle(played), at.wager_rules)
    lines = {line.number: line for line in settled.lines}
    wagers = order_lines(last.wagers.standing, at.wager_rules)
    return {
        "round_id": played.id,
        "shoe_id": last.shoe_id,
        **describe_outcome(at, played),
        "manual": played.manual,
        "wagers": [_describe(one, lines[one.number], restricted=restricted) for one in wagers],
        "revisions": list(_revisions(at, last, restricted=restricted)),
    }


def describe_outcome(at: TableView, played: Round) -> dict[str, Any]:
    """Return who won a round and how each wager of the game ended, whoever placed it."""
    settlement = at.settle(played)
    return {
        "hands": {name: [card.code for card in played.hand(name)] for name in HANDS},
        "totals": {"player": settlement.player.total, "banker": settlement.banker.total},
        "naturals": {"player": settlement.player.natural, "banker": settlement.banker.natural},
        "winner": settlement.winner,
        "results": {wager: _result(each) for wager, each in settlement.wagers.items()},
        "message": outcome_message(
            settlement.winner, settlement.player.total, settlement.banker.total
        ).as_data(),
    }


def _result(each: WagerResult) -> dict[str, str]:
    """Return how a wager ended, with its odds if it won."""
    return {"result": each.result} | ({} if each.odds is None else {"odds": str(each.odds)})


def _revisions(at: TableView, last: SettledRound, *, restricted: bool) -> Iterator[dict[str, Any]]:
    """Yield each outcome that the round had before, with what its revision changed."""
    had = last.round.revised
    for place, before in enumerate(had):
        then = had[place + 1] if place + 1 < len(had) else last.round
        was, now = (_settle(at, last, outcome) for outcome in (before, then))
        changes = zip(was, now, strict=True) if before.settled else ()
        yield {
            "until": utc(before.until_us),
            **describe_outcome(at, _by(before, last.round)),
            "changes": [
                _describe_change(a, b, restricted=restricted) for a, b in changes if a != b
            ],
        }


def _settle(
    at: TableView, last: SettledRound, outcome: FormerOutcome | Round
) -> tuple[SettlementLine, ...]:
    settlement = at.settle(_by(outcome, last.round))
    return settle_all(last.wagers, settlement, at.wager_rules).lines


def _by(outcome: FormerOutcome | Round, played: Round) -> Round:
    """Return the round with the cards of an outcome that it had."""
    cards, against_table = outcome.cards, outcome.against_table
    return msgspec.structs.replace(played, cards=cards, against_table=against_table)


def _describe_change(
    was: SettlementLine, now: SettlementLine, *, restricted: bool
) -> dict[str, Any]:
    said: dict[str, Any] = {"number": now.number, "seat": now.seat, "wager": now.wager}
    said |= {"player": now.player} if restricted else {}
    change = player_gets(now) - player_gets(was)
    said["change"] = json_amount(change)
    return said | {"message": change_message(said).as_data()}
