"""After a void round: whether the cards are replaced, asked beside the table until it goes on.

In: nothing. Out: its procedure. Must not know: why the round was void, when it is asked.
"""

from __future__ import annotations

from shoe_ctl.table import shoe_cards
from shoe_ctl.table.turn import TableView
from shoe_ctl.texts.message import message

from .procedure import DECIDES, Choice, End, Procedure, Step

KEY = "after_void"
_REPLACED = (KEY, "shoe_replaced")


def _is_a_ruling(standing: TableView) -> bool:
    """No rule of its own: replacing the cards is decided as what the rules do not cover (6.1)."""
    game = standing.game
    return game.rule(*_REPLACED) == game.rule("other", "ruled")


def _is_by_rule(standing: TableView) -> bool:
    return not _is_a_ruling(standing)


_REPLACE = Choice(
    "replace_cards", "pit_supervisor", "replaced", when=_is_by_rule, in_round=False, reason=False
)
_KEEP = Choice("keep_cards", "dealer", "kept", in_round=False, reason=False)

AFTER_VOID = Procedure(
    KEY,
    (
        Step(
            "cards",
            message("prompt_after_void"),
            (_REPLACE, _REPLACE._replace(by=DECIDES, when=_is_a_ruling, reason=True), _KEEP),
        ),
    ),
    (
        End("replaced", "cards_replaced", _REPLACED, "shoe_change", (shoe_cards.announce_change,)),
        End("kept", "cards_kept", _REPLACED),
    ),
)
