"""The outcome: the shoe's result compared with the cards, the outcome announced, the round ended.

In: a complete round, the shoe's own result. Out: round.outcome .settled, the shoe.alarm for cards
in factory order, the round in ``last``.
Must not know: how cards were drawn or revealed, what a halt does.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Result
from shoe_ctl.games.wagers import Settlement, WagerResult
from shoe_ctl.table.round import reveal, shoe_holder
from shoe_ctl.table.round.reveal import is_complete, is_result_awaited
from shoe_ctl.table.shoe import arming, card_set, draw_time, unplaced
from shoe_ctl.table.state import DealtCard, Round, Run, SettledRound, ShoeResult
from shoe_ctl.table.turn import Turn
from shoe_ctl.table.wagers import betting
from shoe_ctl.texts.message import Message, message

# The shoe's own result.


def record_result(turn: Turn) -> None:
    """Record the shoe's own result until it can be compared with the cards."""
    event = turn.event(Result)
    turn.set_round(
        result=ShoeResult(
            winner=event.winner, player_pair=event.player_pair, banker_pair=event.banker_pair
        )
    )


def has_result(turn: Turn) -> bool:
    """True if the shoe has judged this round and no person has overruled that."""
    return turn.round.result is not None and not turn.round.result_overruled


def is_result_forced(turn: Turn) -> bool:
    """True if the shoe was told to quit the round, and so did not judge it."""
    event = turn.event(Result)
    return event.winner == "forced_quit"


def is_result_overdue(turn: Turn) -> bool:
    """True if the shoe's own result did not come within ``result_timeout_s``."""
    due_us = reveal.result_due_us(turn, turn.round)
    return due_us is not None and turn.now.t_us >= due_us


def result_disagrees(turn: Turn) -> bool:
    """True if the shoe and the cards differ on the winner or on a pair."""
    judged = turn.round.result
    if judged is None or turn.round.result_overruled:
        return False
    hands = [turn.round.hand(h) for h in ("player", "banker")]
    pairs = [h[0].rank is h[1].rank for h in hands]
    ours = (turn.settle(turn.round).winner, pairs[0], pairs[1])
    return ours != (judged.winner, judged.player_pair, judged.banker_pair)


# The outcome.


def check_outcome(turn: Turn, _args: object = None) -> Message | None:
    """Return why the outcome cannot be announced: a card or the shoe's result is missing."""
    if not is_complete(turn):
        return message("refused_round_not_complete")
    return message("refused_result_not_come") if is_result_awaited(turn.now) else None


def check_card_due(turn: Turn) -> Message | None:
    """Return which third card must be drawn before there is an outcome, or None."""
    if turn.state != "drawing":
        return None
    assert turn.round.due is not None
    return message("refused_third_card_due", hand=turn.round.due)


def call_outcome(turn: Turn) -> None:
    """Go on to the outcome, as the dealer announces it."""
    turn.fire("outcome_due")


def announce_outcome(turn: Turn) -> None:
    """Announce the outcome, with the result of every wager of the game and layout.

    A round whose outcome was announced before has it revised: there is no second outcome.
    """
    if turn.round.announced:
        emit_revised(turn, turn.round, turn.shoe.id, turn.method)
    else:
        data = outcome_data(turn, turn.round, turn.shoe.id, turn.method)
        proof = {"first": turn.round.first_input, "last": turn.now.inputs}
        by = "enter_round" if turn.round.manual else "announce_outcome"
        turn.announce("round.outcome", data, by=by, restricted={"proof": proof})
        turn.set_round(announced=True)
        detect_factory_order(turn)
    if turn.implied:
        turn.fire("round_over")


CITES = ("result_disagrees", "entered")
"""The end of the irregularity whose rule says that the cards stand, whatever was shown (6.3)."""


RULING_CITES = ("other", "ruled")
"""The end of the irregularity whose rule lets people decide what the rules do not cover (6.1)."""


def emit_revised(turn: Turn, played: Round, shoe_id: str, method: str | None) -> None:
    """Emit the outcome of this round anew: it replaces the one that was announced before."""
    data = outcome_data(turn, played, shoe_id, method)
    if played.against_table:
        data |= {"rule": turn.game.rule(*RULING_CITES), "against_table": True}
    else:
        data["rule"] = turn.game.rule(*CITES)
    proof = {"first": played.first_input, "last": turn.now.inputs}
    secret = {**data, "proof": proof}
    turn.emit("round.revised", data, restricted=secret, of_round=played.id, revises=played.id)


def reopen_round(turn: Turn) -> None:
    """Emit that the round goes on after its outcome: a corrected card has made a card due."""
    turn.emit("round.reopened", {"rule": turn.game.rule(*CITES)}, reopens=turn.round.id)


def outcome_data(turn: Turn, played: Round, shoe_id: str, method: str | None) -> dict[str, Any]:
    """Return the full outcome of a round, as ``round.outcome`` and ``round.revised`` carry it."""
    settlement = turn.settle(played)
    return {
        "table": turn.settings.table,
        "shoe_id": shoe_id,
        "game": turn.game.id,
        "game_sha256": turn.game.sha256,
        "method": method,
        **_settlement_data(settlement),
        "manual": played.manual,
    }


def _settlement_data(settlement: Settlement) -> dict[str, Any]:
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


# The end of the round.


def end_round(turn: Turn) -> None:
    """End the round (*settled*): settle its wagers and keep it as the last settled round.

    A Player who has the shoe in Method C and loses a wager gives the shoe back.
    """
    wagers = turn.now.wagers
    last = SettledRound(round=turn.round, wagers=wagers, shoe_id=turn.shoe.id, method=turn.method)
    turn.change(last_settled=last)
    unplaced.drop_aside(turn, turn.round.drawn_before)
    if wagers.standing or turn.now.control.holder is not None:
        settlement = turn.settle(turn.round)
        loses_shoe = shoe_holder.loses_control(turn, settlement)
        betting.settle_wagers(turn, settlement)
        if loses_shoe:
            shoe_holder.lose_control(turn)
    else:
        betting.settle_none(turn)
    turn.announce("round.settled", {}, by="settle")
    close_round(turn)


def close_round(turn: Turn) -> None:
    """Remove the round, settled or void, from the table.

    A set of cards that waited for this is taken next; else a change of the shoe may be due.
    """
    if turn.shoe.cutting_card_out:
        played = turn.shoe.rounds_since_cutting_card + 1
        turn.set_shoe(rounds_since_cutting_card=played)
    arming.on_round_end(turn)
    draw_time.note_round_ended(turn)
    turn.change(round=None, declarations=())
    unplaced.drop_roles(turn, "ahead")
    if turn.now.pending_set is not None:
        turn.fire("set_shown")
    elif card_set.is_change_due(turn):
        turn.fire("change_due")


# Cards in a deck's factory order: a sign that the decks were not shuffled.

REPEATED_ORDER = 5
"""So many cards in order raise the alarm. In shuffled decks such a run comes once in some ten
thousand shoes."""


def detect_factory_order(turn: Turn) -> None:
    """Extend the run of cards in factory order with the revealed cards of this round.

    A run may begin in one round and go on in the next: cards are taken in the order drawn.
    """
    run = turn.shoe.run
    seen = (d for d in turn.round.cards if d.revealed)
    for dealt in sorted(seen, key=lambda d: d.number):
        run = _extend_run(turn, run, dealt)
        if run is not None and run.length == REPEATED_ORDER:
            _emit_alarm(turn, run)
    turn.set_shoe(run=run)


def _extend_run(turn: Turn, run: Run | None, dealt: DealtCard) -> Run | None:
    """Return the run with this card at its end, or a new run that begins with it."""
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
    turn.emit_restricted("shoe.alarm", data)
