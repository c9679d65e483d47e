"""What the rules do not cover: whoever decides rules, and the ruling is kept with its reason.

In: nothing. Out: its procedure. Must not know: what happened.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from .endings import aside, ruling, stands, void
from .procedure import Declared, Procedure

_WITH_A_SHOE = (
    "idle", "betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended",
    "shoe_change",
)  # fmt: skip

OTHER = Procedure(
    "other",
    (ruling(message("prompt_other")),),
    (stands(), aside(), void(("other", "void"))),
    Declared("dealer", _WITH_A_SHOE, message("seen_other_declared")),
)
