"""The cutting card in the place of a round's first card: leave to withdraw, where a game gives it.

In: the cutting card. Out: the irregularity that opens a window, of right or if the dealer allows.
Must not know: what Players answer, when the shoe is changed.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from .cause import Cause
from .irregularities import stack, withdrawal
from .irregularities.cutting_card import ALLOW, KEY, WINDOW
from .turn import Turn


def gives_leave(turn: Turn) -> bool:
    """It came first, after *no more bets*, where Players may then withdraw.

    In HLGA: I 3.16.1, N/F 3.17.1, T 3.22.1. While bets are open they may withdraw without it.
    """
    now = turn.now
    if now.shoe is None or now.shoe.cutting_card_out or now.round is None or now.round.cards:
        return False
    return now.wagers.betting == "closed" and withdrawal.has_window(turn, KEY)


def declare(turn: Turn) -> None:
    """People say that it came, where the shoe does not see it."""
    turn.then("cutting_card")


def offer_withdrawal(turn: Turn) -> None:
    """It is laid aside and counts as the first card; Players are asked before it goes on."""
    turn.set_shoe(cutting_card_out=True)
    of_right = turn.game.windows[KEY].opened == "of_right"
    seen = message("seen_cutting_card_first")
    stack.raise_irregularity(turn, Cause(KEY, seen, step=WINDOW if of_right else ALLOW))
