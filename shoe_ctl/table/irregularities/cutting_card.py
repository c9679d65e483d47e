"""The cutting card before Player's first card, where the game lets Players withdraw for it.

In: nothing. Out: its procedure. Must not know: how the card is found, rounds after it.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from .procedure import Choice, End, Procedure, Step
from .withdrawal import window_step

KEY = "cutting_card"
ALLOW = "allow"
WINDOW = "window"

CUTTING_CARD = Procedure(
    KEY,
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
            KEY,
            "removed",
        ),
    ),
    (End("removed", "removed", (KEY, "completed")),),
    begins=(ALLOW, WINDOW),
)
