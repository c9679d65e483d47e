"""The cutting card before Player's first card, where the game lets Players withdraw for it.

In: nothing. Out: its procedure. Must not know: how the card is found, rounds after it.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from ..procedures import stack, withdrawal
from ..procedures.procedure import Choice, End, Procedure, Step
from ..procedures.withdrawal import window_step
from ..turn import Cause, Turn

CUTTING_CARD_KEY = "cutting_card"
ALLOW = "allow"
WINDOW = "window"

CUTTING_CARD = Procedure(
    CUTTING_CARD_KEY,
    (
        Step(
            ALLOW,
            message("prompt_cutting_card_allow"),
            (
                Choice("offer_withdrawal", "dealer", WINDOW, reason=False),
                Choice("play_on", "dealer", "removed", reason=False),
            ),
        ),
        window_step(
            WINDOW,
            message("prompt_cutting_card_window"),
            CUTTING_CARD_KEY,
            "removed",
        ),
    ),
    (End("removed", "removed", (CUTTING_CARD_KEY, "completed")),),
    begins=(ALLOW, WINDOW),
)


def allows_withdrawal(turn: Turn) -> bool:
    """It came first, after *no more bets*, where Players may then withdraw.

    In HLGA: I 3.16.1, N/F 3.17.1, T 3.22.1. While bets are open they may withdraw without it.
    """
    now = turn.now
    if now.shoe is None or now.shoe.cutting_card_out or now.round is None or now.round.cards:
        return False
    return now.wagers.betting == "closed" and withdrawal.has_window(turn, CUTTING_CARD_KEY)


def declare(turn: Turn) -> None:
    """People say that it came, where the shoe does not see it."""
    turn.then("cutting_card")


def offer_withdrawal(turn: Turn) -> None:
    """It is laid aside and counts as the first card; Players are asked before it goes on."""
    turn.set_shoe(cutting_card_out=True)
    of_right = turn.game.windows[CUTTING_CARD_KEY].opened == "of_right"
    seen = message("seen_cutting_card_first")
    stack.raise_irregularity(
        turn, Cause(CUTTING_CARD_KEY, seen, step=WINDOW if of_right else ALLOW)
    )
