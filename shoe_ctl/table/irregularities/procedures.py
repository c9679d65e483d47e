"""Every procedure that may halt a table, by key: the irregularities and the pauses.

In: the families. Out: PROCEDURES, which whoever makes a controller hands to it.
Must not know: what is open at a table.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    after_void,
    altered,
    cutting_card,
    device_reset,
    double_draw,
    draws,
    handed,
    judging,
    misread,
    moving,
    overdraw,
    power_lost,
    reviewing,
    shoe_away,
    stakes,
    taken,
    unforeseen,
    wrong_cards,
)
from .procedure import Procedure

PROCEDURES: Mapping[str, Procedure] = {
    procedure.key: procedure
    for procedure in (
        wrong_cards.FOREIGN_CARD,
        wrong_cards.EXTRA_CARD,
        misread.MISREAD,
        wrong_cards.UNSHUFFLED,
        wrong_cards.MISSING_CARD_IN_SHOE,
        wrong_cards.FACE_UP_IN_SHOE,
        overdraw.OVERDRAW,
        draws.WRONG_ORDER,
        double_draw.DOUBLE_DRAW,
        draws.MISSED_DRAW,
        altered.ORDER_ALTERED,
        handed.WRONG_PLAYER,
        handed.HOLDER_ABSENT,
        taken.CARD_TAKEN,
        moving.EXPOSED_WHILE_MOVING,
        moving.ORDER_ALTERED_WHILE_MOVING,
        shoe_away.LINK_LOST,
        shoe_away.GAP,
        power_lost.POWER_FAILURE,
        judging.RESULT_DISAGREES,
        judging.RESULT_MISSING,
        stakes.TABLE_DIFFERENTIAL,
        unforeseen.OTHER,
        after_void.AFTER_VOID,
        cutting_card.CUTTING_CARD,
        device_reset.DEVICE_RESET,
        reviewing.REVIEW,
        reviewing.OUTAGE,
    )
}
"""Key → procedure. One that is not here closes by itself and never halts a table."""
