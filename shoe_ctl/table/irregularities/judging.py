"""The shoe's own result against the cards: it is another one, or it does not come.

In: nothing. Out: their procedures. Must not know: who won.
"""

from __future__ import annotations

from .endings import CALL_VOID, GO_ON, LAY_ASIDE, RULED, align, aside, overrule_result, stands, void
from .procedure import Procedure, Step


def _against_the_shoe(key: str, prompt: str) -> Procedure:
    go_on = GO_ON._replace(do=(align, overrule_result))
    return Procedure(
        key,
        (Step("ruling", prompt, (go_on, LAY_ASIDE, CALL_VOID)),),
        (stands((key, "cards_stand")), aside(RULED), void(RULED)),
    )


RESULT_DISAGREES = _against_the_shoe(
    "result_disagrees", "look at the cards on the table: they stand, whatever the shoe says"
)

RESULT_MISSING = _against_the_shoe(
    "result_missing", "look at the cards on the table: they stand without the shoe's own result"
)
