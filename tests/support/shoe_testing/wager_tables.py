"""Tables that take wagers.

In: limits as the configuration spells them. Out: a table to play at, wagers placed, what was told.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.tables import Playing

IMPLIED: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}
PLAYER_WINS = "9C 2D KD 3H"
BANKER_WINS = "2D 8C TS TH"


def playing(limits: dict[str, Any] | None = None, **given: Any) -> Playing:
    given["limits"] = msgspec.convert(limits or {}, TableLimits)
    return Playing(**given).open_shoe()


def betting(limits: dict[str, Any] | None = None, **given: Any) -> Playing:
    table = playing(limits, **given)
    table.does("place_your_bets")
    return table


def bets(table: Playing, wager: str = "player", amount: int = 500, **more: Any) -> None:
    table.does("place_wager", **{"player": "ann", "seat": 3, **more}, wager=wager, amount=amount)


def secret(table: Playing, kind: str) -> list[dict[str, Any]]:
    """What the restricted stream was told."""
    return [
        e.data if e.restricted_data is None else e.restricted_data
        for e in table.events
        if e.type == kind
    ]
