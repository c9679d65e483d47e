"""The cutting card comes before Player's first card (``cutting_card``).

Rule: it is set aside and counts as the first card. In HLGA Players may withdraw then: of right in
I (3.16.1), if the dealer allows it in N, F (3.17.1) and T (3.22.1). Elsewhere play just goes on.

In: the shoe or people report the cutting card. Out: ``CUTTING_CARD``, with a withdrawal window.
Must not know: how the card is found, how many rounds follow it.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.procedures import stack, withdrawal
from shoe_ctl.table.procedures.procedure import Choice, End, Procedure, Step
from shoe_ctl.table.procedures.withdrawal import window_step
from shoe_ctl.table.state import Declaration
from shoe_ctl.table.turn import Cause, Turn
from shoe_ctl.texts.message import message

CUTTING_CARD_KEY = "cutting_card"

ALLOW = "allow"
"""The step at which the dealer may allow Players to withdraw."""

WINDOW = "window"
"""The step at which Players may withdraw."""


# Detection


def declare_cutting_card(turn: Turn) -> None:
    """Fire the cutting card for a shoe that does not see it itself: people declare it."""
    turn.fire("cutting_card")


def allows_withdrawal(turn: Turn) -> bool:
    """Return True if it came first, after *no more bets*, and the game then has a window.

    While bets are open Players may withdraw without it.
    """
    now = turn.now
    if now.shoe is None or now.shoe.cutting_card_out or now.round is None or now.round.cards:
        return False
    return now.wagers.betting == "closed" and withdrawal.has_window(turn, CUTTING_CARD_KEY)


def offer_withdrawal(turn: Turn) -> None:
    """Set the cutting card aside and halt: Players are asked before play goes on."""
    turn.set_shoe(cutting_card_out=True)
    of_right = turn.game.windows[CUTTING_CARD_KEY].opened == "of_right"
    seen = message("seen_cutting_card_first")
    stack.raise_irregularity(
        turn, Cause(CUTTING_CARD_KEY, seen, step=WINDOW if of_right else ALLOW)
    )


def note_declared(turn: Turn) -> None:
    """Remember that people, not the shoe, said that it came: they may take that back."""
    if not isinstance(turn.input, TableCommand):
        return
    number = turn.now.instances.public
    noted = Declaration(number=number, key=CUTTING_CARD_KEY, by="dealer", shoe=turn.shoe.id)
    if turn.now.halt is not None and (opened := turn.current).key == CUTTING_CARD_KEY:
        assert opened.instance.public is not None, "the room sees it"
        noted = msgspec.structs.replace(
            noted, number=opened.instance.public, irregularity=opened.number,
            step=opened.step, data=opened.data,
        )  # fmt: skip
    turn.change(declarations=(*turn.now.declarations, noted))


# Procedure

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
        window_step(WINDOW, message("prompt_cutting_card_window"), CUTTING_CARD_KEY, "removed"),
    ),
    (End("removed", "removed", (CUTTING_CARD_KEY, "completed")),),
    begins=(ALLOW, WINDOW),
)
"""The cutting card came before the first card, and Players may withdraw."""
