"""How long and how often a command is tried (SPEC.md, "Commands").

In: nothing. Out: figures, and which refusals pass.
Must not know: which command, who sends it.
"""

from __future__ import annotations

from typing import Final

REPLY_TIMEOUT_S: Final = 3.0
"""How long integrators allow the shoe for its reply."""
ATTEMPTS: Final = 3
"""How often a command is sent before the host gives up; each takes its whole time-out."""

PASSING: Final = frozenset({"line_error", "bcc", "no_etx", "busy", "writing"})
"""Refusals that say that the command was not understood or not now: sent again later."""
