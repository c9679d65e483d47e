"""The start of the controller: the table announces what it is played under.

In: Restarted. Out: table.started.
Must not know: the shoe, its link, the round, what halts the table.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.table.inputs import Restarted
from shoe_ctl.table.turn import Turn

CONTRACT = 1
"""The version of the events and commands that a table system can rely on."""


def announce_start(turn: Turn) -> None:
    """Emit what the table is played under; after a storage fault the process went on running."""
    restart = turn.input_of(Restarted)
    if restart.reopened:
        return
    game, settings = turn.game, turn.settings
    limits: dict[str, Any] = msgspec.to_builtins(settings.limits)
    currency = limits.pop("currency")
    data = {
        "game": game.id,
        "game_sha256": game.sha256,
        "decks": settings.decks,
        "layout": settings.layout,
        "area": settings.area,
        "method": turn.method,
        "limits": limits,
        "currency": currency,
        "profile": restart.profile,
        "software": restart.software,
        "contract": CONTRACT,
    }
    turn.emit("table.started", data)
