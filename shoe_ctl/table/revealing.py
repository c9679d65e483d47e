"""From face down to outcome: cards revealed, totals announced, third cards due, the round judged.

In: exposures, ticks, the shoe's own result. Out: round.card_revealed .total_announced .outcome …
Must not know: how cards are drawn, what an irregularity is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.events import Result
from shoe_ctl.games.game import Settlement
from shoe_ctl.games.table_of_play import next_hand, total

from . import shoe_cards
from .state import Dealt, ShoeResult
from .turn import Turn

# What was seen.


def shows_cards_at_once(turn: Turn) -> bool:
    """Cards are dealt face up: time alone reveals them."""
    return turn.settings.faces == "face_up"


def can_expose(turn: Turn) -> bool:
    """The command names cards of this round that are still face down."""
    return bool(_named(turn))


def totals_may_be_announced(turn: Turn) -> bool:
    """The initial four are seen and their totals were not announced yet."""
    return turn.round.all_revealed and not turn.round.totals_announced


def is_complete(turn: Turn) -> bool:
    """Totals are announced, every card is seen, and the Table of Play wants no further card."""
    played = turn.round
    return played.totals_announced and played.all_revealed and _next(turn) is None


def result_is_awaited(turn: Turn) -> bool:
    """Shoes of this profile judge too, and this round's result did not come yet."""
    played = turn.round
    return turn.now.link.judges and played.result is None and not played.result_overruled


def result_is_overdue(turn: Turn) -> bool:
    """The shoe's own result should have come by now."""
    complete = turn.round.complete_us
    if complete is None or not result_is_awaited(turn):
        return False
    return turn.now.t_us >= complete + turn.settings.result_timeout_s * 1_000_000


def result_disagrees(turn: Turn) -> bool:
    """The shoe judged the round otherwise than the cards do (winner or a pair)."""
    judged = turn.round.result
    if judged is None or turn.round.result_overruled:
        return False
    hands = [turn.round.hand(h) for h in ("player", "banker")]
    pairs = [h[0].rank is h[1].rank for h in hands]
    ours = (settle(turn).winner, pairs[0], pairs[1])
    return ours != (judged.winner, judged.player_pair, judged.banker_pair)


def result_came(turn: Turn) -> bool:
    """The shoe judged the round already."""
    return turn.round.result is not None and not turn.round.result_overruled


def result_is_in(turn: Turn) -> bool:
    """Nothing more is awaited from the shoe."""
    return not result_is_awaited(turn)


def result_is_forced(turn: Turn) -> bool:
    """The shoe was told to quit the round."""
    event = turn.shoe_event
    assert isinstance(event, Result)
    return event.winner == "forced_quit"


def _named(turn: Turn) -> list[Dealt]:
    hand, index = turn.command.args.get("hand"), turn.command.args.get("index")
    return [
        d
        for d in turn.round.cards
        if d.hand == hand and not d.revealed and index in (None, d.index)
    ]


def _next(turn: Turn) -> str | None:
    return next_hand(turn.round.hand("player"), turn.round.hand("banker"))


def settle(turn: Turn) -> Settlement:
    """The finished round, judged by the game."""
    played = turn.round
    return turn.game.settle_hands(
        played.hand("player"), played.hand("banker"), layout=turn.settings.layout
    )


# What is done.


def expose(turn: Turn) -> None:
    """The dealer turns the named cards of a hand."""
    _reveal(turn, _named(turn))


def reveal_due(turn: Turn) -> None:
    """Reveal the cards that lie face up long enough for the table to have seen them."""
    if shows_cards_at_once(turn):
        wait_us = turn.settings.face_up_after_ms * 1000
        now = turn.now.t_us
        _reveal(
            turn, [d for d in turn.round.cards if not d.revealed and d.drawn_us + wait_us <= now]
        )


def _reveal(turn: Turn, seen: list[Dealt]) -> None:
    cards = tuple(
        msgspec.structs.replace(d, revealed=True) if d in seen else d for d in turn.round.cards
    )
    turn.set_round(cards=cards)
    for dealt in seen:
        data = {"hand": dealt.hand, "index": dealt.index, "card": dealt.card.code}
        turn.tell("round.card_revealed", data)


def advance(turn: Turn) -> None:
    """What follows once every card is seen: totals, a third card, or the outcome."""
    if turn.state != "revealing" or not turn.round.all_revealed:
        return
    if not turn.round.totals_announced:
        if not turn.settings.implied:
            return
        announce_totals(turn)
    if _next(turn) is not None:
        turn.then("third_card_due")
        return
    if turn.round.complete_us is None:
        turn.set_round(complete_us=turn.now.t_us)
    if turn.settings.implied and not result_is_awaited(turn):
        turn.then("outcome_due")


def announce_totals(turn: Turn) -> None:
    """Both totals of the initial deal (I 3.13, N/F 3.14, T 3.15)."""
    turn.set_round(totals_announced=True)
    for hand in ("player", "banker"):
        data = {"hand": hand, "total": total(turn.round.hand(hand))}
        turn.tell("round.total_announced", turn.inferred(data))


def want_third_card(turn: Turn) -> None:
    """A third card is due: only now, that revealed cards imply it, may it be armed."""
    turn.set_round(due=_next(turn))


def note_result(turn: Turn) -> None:
    """Keep the shoe's own result until the cards are seen."""
    event = turn.shoe_event
    assert isinstance(event, Result)
    turn.set_round(
        result=ShoeResult(
            winner=event.winner, player_pair=event.player_pair, banker_pair=event.banker_pair
        )
    )


def announce_outcome(turn: Turn) -> None:
    """The outcome, with every wager of the game and layout."""
    settlement = settle(turn)
    data = turn.inferred(
        {
            "table": turn.settings.table,
            "shoe_id": turn.shoe.id,
            "round_id": turn.round.id,
            "game": turn.game.id,
            "game_sha256": turn.game.sha256,
            "method": turn.settings.method,
            **outcome_data(settlement),
            "manual": False,
        }
    )
    proof = {"first": turn.round.first_input, "last": turn.now.inputs}
    turn.tell("round.outcome", data, restricted={**data, "proof": proof})
    if turn.settings.implied:
        turn.then("round_over")


def outcome_data(settlement: Settlement) -> dict[str, Any]:
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
        "wagers": {
            wager: {"result": r.result} | ({} if r.odds is None else {"odds": str(r.odds)})
            for wager, r in settlement.wagers.items()
        },
        "rules": list(settlement.rules),
    }


def end_round(turn: Turn) -> None:
    """*Settled*: the round of play is over."""
    data = turn.inferred({"round_id": turn.round.id})
    turn.tell("round.settled", data)
    close_round(turn)


def close_round(turn: Turn) -> None:
    """Leave the round behind, settled or void, and see whether the shoe has another."""
    shoe = turn.shoe
    if shoe.cutting_card_out:
        turn.set_shoe(rounds_since_cutting_card=shoe.rounds_since_cutting_card + 1)
    turn.change(round=None)
    if turn.now.loaded is not None:
        shoe_cards.admit_kept_set(turn)
    elif shoe_cards.change_due(turn):
        turn.then("change_due")
