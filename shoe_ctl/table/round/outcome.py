"""The round judged and ended: the shoe's own result beside ours, the outcome, settled.

In: a complete round, the shoe's result. Out: round.outcome .settled, the round left behind.
Must not know: how cards came or were revealed, what a halt does.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Result
from shoe_ctl.games.game import Settlement
from shoe_ctl.games.settlement import WagerResult
from shoe_ctl.texts.message import Message, message

from ..shoe import arming, unplaced
from ..shoe import ledger as card_ledger
from ..state import DealtCard, Round, Run, SettledRound, ShoeResult
from ..turn import Turn
from ..wagers import commands as wager_commands
from . import shoe_holder
from .reveal import is_complete, is_result_awaited

REPEATED_ORDER = 5
"""Cards in a row: in shuffled decks such a run comes once in some ten thousand shoes."""


def check_factory_order(turn: Turn) -> None:
    """The round's cards follow on those of the round before, in the order drawn."""
    run = turn.shoe.run
    seen = (d for d in turn.round.cards if d.revealed)
    for dealt in sorted(seen, key=lambda d: d.number):
        run = _extend_run(turn, run, dealt)
        if run is not None and run.length == REPEATED_ORDER:
            _emit_alarm(turn, run)
    turn.set_shoe(run=run)


def _extend_run(turn: Turn, run: Run | None, dealt: DealtCard) -> Run | None:
    """The run with this card at its end, or a new one that begins with it."""
    ranks = turn.game.deck.ranks
    if dealt.card is None or dealt.card not in turn.game.deck:
        return None
    if run is not None and dealt.number == run.number + 1 and dealt.card.suit is run.card.suit:
        step = ranks.index(dealt.card.rank) - ranks.index(run.card.rank)
        if step in (1, -1):
            length = run.length + 1 if run.step in (0, step) else 2
            return Run(number=dealt.number, card=dealt.card, length=length, step=step)
    return Run(number=dealt.number, card=dealt.card)


def _emit_alarm(turn: Turn, run: Run) -> None:
    data = {
        "shoe_id": turn.shoe.id,
        "what": "factory_order",
        "cards": run.length,
        "draws": [run.number - run.length + 1, run.number],
    }
    turn.tell_restricted("shoe.alarm", data)


# What was seen.


def is_result_overdue(turn: Turn) -> bool:
    """The shoe's own result should have come by now."""
    complete = turn.round.complete_us
    if complete is None or not is_result_awaited(turn.now):
        return False
    return turn.now.t_us >= complete + turn.settings.result_timeout_s * 1_000_000


def result_disagrees(turn: Turn) -> bool:
    """The shoe judged the round otherwise than the cards do (winner or a pair)."""
    judged = turn.round.result
    if judged is None or turn.round.result_overruled:
        return False
    hands = [turn.round.hand(h) for h in ("player", "banker")]
    pairs = [h[0].rank is h[1].rank for h in hands]
    ours = (_settle(turn).winner, pairs[0], pairs[1])
    return ours != (judged.winner, judged.player_pair, judged.banker_pair)


def check_outcome(turn: Turn, _args: object = None) -> Message | None:
    """What stands against announcing the outcome: a card, or the shoe's own result."""
    if not is_complete(turn):
        return message("refused_round_not_complete")
    return message("refused_result_not_come") if is_result_awaited(turn.now) else None


def why_card_due(turn: Turn) -> Message | None:
    """Which card is to be drawn before there is an outcome: one called all the same missed it."""
    if turn.state != "drawing":
        return None
    assert turn.round.due is not None
    return message("refused_third_card_due", hand=turn.round.due)


def is_result_forced(turn: Turn) -> bool:
    """The shoe was told to quit the round."""
    event = turn.shoe_event
    assert isinstance(event, Result)
    return event.winner == "forced_quit"


def has_result(turn: Turn) -> bool:
    """The shoe judged the round already."""
    return turn.round.result is not None and not turn.round.result_overruled


def _settle(turn: Turn) -> Settlement:
    played = turn.round
    return turn.game.settle_hands(
        played.hand("player"), played.hand("banker"), layout=turn.settings.layout
    )


# What is done.


def keep_result(turn: Turn) -> None:
    """Keep the shoe's own result until the cards are seen."""
    event = turn.shoe_event
    assert isinstance(event, Result)
    turn.set_round(
        result=ShoeResult(
            winner=event.winner, player_pair=event.player_pair, banker_pair=event.banker_pair
        )
    )


def call_outcome(turn: Turn) -> None:
    """The dealer says that the round has its outcome."""
    turn.then("outcome_due")


def announce_outcome(turn: Turn) -> None:
    """The outcome, with every wager of the game and layout."""
    data = outcome_data_of(turn, turn.round, turn.shoe.id, turn.method)
    proof = {"first": turn.round.first_input, "last": turn.now.inputs}
    by = "enter_round" if turn.round.manual else "announce_outcome"
    turn.announce("round.outcome", data, by=by, restricted={"proof": proof})
    check_factory_order(turn)
    if turn.implied:
        turn.then("round_over")


def outcome_data_of(turn: Turn, played: Round, shoe_id: str, method: str | None) -> dict[str, Any]:
    """The whole outcome of a round, as ``round.outcome`` and ``round.revised`` carry it."""
    settlement = turn.game.settle_hands(
        played.hand("player"), played.hand("banker"), layout=turn.settings.layout
    )
    return {
        "table": turn.settings.table,
        "shoe_id": shoe_id,
        "round_id": played.id,
        "game": turn.game.id,
        "game_sha256": turn.game.sha256,
        "method": method,
        **settlement_data(settlement),
        "manual": played.manual,
    }


def settlement_data(settlement: Settlement) -> dict[str, Any]:
    """A settlement as events carry it."""
    return {
        "winner": settlement.winner,
        **{
            name: {
                "cards": [c.code for c in hand.cards],
                "total": hand.total,
                "natural": hand.natural,
            }
            for name, hand in (("player", settlement.player), ("banker", settlement.banker))
        },
        "wagers": {wager: _result_data(each) for wager, each in settlement.wagers.items()},
        "rules": list(settlement.rules),
    }


def _result_data(each: WagerResult) -> dict[str, str]:
    if each.odds is None:
        return {"result": each.result}
    return {"result": each.result, "odds": str(each.odds)}


def end_round(turn: Turn) -> None:
    """*Settled*: wagers are collected and paid, the round of play is over."""
    wagers = turn.now.wagers
    last = SettledRound(round=turn.round, wagers=wagers, shoe_id=turn.shoe.id, method=turn.method)
    turn.change(last=last)
    if wagers.standing or turn.now.control.holder is not None:
        settlement = _settle(turn)
        loses_shoe = shoe_holder.loses_control(turn, settlement)
        wager_commands.settle_wagers(turn, settlement)
        if loses_shoe:
            shoe_holder.lose_control(turn)
    else:
        wager_commands.settle_none(turn)
    turn.announce("round.settled", {"round_id": turn.round.id}, by="settle")
    close_round(turn)


def close_round(turn: Turn) -> None:
    """Leave the round behind, settled or void, and see whether the shoe has another."""
    if turn.shoe.cutting_card_out:
        played = turn.shoe.rounds_since_cutting_card + 1
        turn.set_shoe(rounds_since_cutting_card=played)
    arming.on_round_end(turn)
    turn.change(round=None)
    unplaced.drop_roles(turn, "ahead")
    if turn.now.loaded is not None:
        turn.then("set_shown")
    elif card_ledger.is_change_due(turn):
        turn.then("change_due")
