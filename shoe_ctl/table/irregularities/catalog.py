"""The catalogue of procedures: every irregularity and pause that may halt a table, by key.

In: the modules of this package. Out: PROCEDURES, which is given to the controller.
Must not know: what is open at a table.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..procedures.procedure import OUTAGE, REVIEW, Procedure
from . import (
    card_taken,
    cutting_card,
    device_reset,
    differential,
    double_draw,
    draw_order,
    gaps,
    overdraw,
    players,
    power_failure,
    rulings,
    unread_cards,
    wrong_cards,
)

PROCEDURES: Mapping[str, Procedure] = {
    procedure.key: procedure
    for procedure in (
        wrong_cards.FOREIGN_CARD,
        wrong_cards.EXTRA_CARD,
        unread_cards.MISREAD,
        wrong_cards.UNSHUFFLED,
        wrong_cards.MISSING_CARD_IN_SHOE,
        wrong_cards.FACE_UP_IN_SHOE,
        overdraw.OVERDRAW,
        draw_order.WRONG_ORDER,
        double_draw.DOUBLE_DRAW,
        draw_order.MISSED_DRAW,
        draw_order.ORDER_ALTERED,
        players.WRONG_PLAYER,
        players.HOLDER_ABSENT,
        card_taken.CARD_TAKEN,
        players.EXPOSED_WHILE_MOVING,
        players.ORDER_ALTERED_WHILE_MOVING,
        gaps.LINK_LOST,
        gaps.GAP,
        power_failure.POWER_FAILURE,
        rulings.RESULT_DISAGREES,
        rulings.RESULT_MISSING,
        differential.TABLE_DIFFERENTIAL,
        rulings.OTHER,
        rulings.AFTER_VOID,
        cutting_card.CUTTING_CARD,
        device_reset.DEVICE_RESET,
        REVIEW,
        OUTAGE,
    )
}
"""Key → procedure. A key that is not here never halts a table: it closes by itself."""
