"""What stands when the power fails in a round: which wagers are decided, and so which rule holds.

In: the cards revealed so far. Out: facts for the irregularity's event, all of them public.
Must not know: cards nobody has seen, what staff and Players then do.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.games.decided import decide

from .turn import Turn

KEY = "power_failure"


def established(turn: Turn) -> dict[str, Any]:
    """Whether any available wager is decided, each that is, and the rule that then holds.

    None decided: each Player may withdraw all (I 5.15.1, N/T/F 5.17.1); else play goes on
    (I 5.15.2, N/T/F 5.17.2).
    """
    shown = [dealt.card if dealt.revealed else None for dealt in turn.round.cards]
    wagers = decide(turn.game, shown, decks=turn.shoe.decks, layout=turn.settings.layout)
    decided = {wager: end for wager, end in wagers.items() if end != "open"}
    end = "continued" if decided else "withdrawal"
    return {"decided": decided, "end": end, "rule": turn.game.rule(KEY, end)}
