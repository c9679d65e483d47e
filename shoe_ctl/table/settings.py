"""How one table is set: the part of the configuration that the round depends on.

In: values already checked for type. Out: TableSettings, kept in the journal for replay.
Must not know: files, ports, sinks.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .wagers.limits import TableLimits

HLGA = frozenset({"Paiza Club", "Ruby Room"})
"""The areas that are high-limit gaming areas (the definition of HLGA in every table game)."""


class TableSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one table.

    ``rounds_after_cutting_card`` counts full rounds after the one in which it appeared.
    ``face_up_after_ms`` is the time from a card's draw until the table has seen it.
    ``result_timeout_s`` is how long the shoe's own result may take after the last card is seen.
    ``limits`` are those displayed at the table. ``highest_position`` is the one of two that the
    documents do not rank against each other which outranks the other here.
    """

    table: str
    decks: int
    layout: str | None = None
    area: str = "main"
    method: Literal["A", "B", "C"] | None = "B"
    announcements: Literal["explicit", "implied"] = "explicit"
    rounds_after_cutting_card: int = 0
    faces: Literal["turned_by_dealer", "face_up"] = "turned_by_dealer"
    face_up_after_ms: int = 1000
    result_timeout_s: int = 5
    limits: TableLimits = TableLimits()
    highest_position: Literal["gaming_shift_manager", "assistant_casino_manager"] | None = None

    @property
    def implied(self) -> bool:
        """Announcements follow the cards instead of being made."""
        return self.announcements == "implied"
