"""Settings of one table: the part of the configuration that the round depends on.

In: values already checked for type. Out: TableSettings, kept in the journal for replay.
Must not know: files, ports, sinks.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.table.wagers.limits import TableLimits


class TableSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one table."""

    table: str
    """The table's name; ids of shoes and rounds begin with it."""
    decks: int
    """The number of decks in a set of cards."""
    layout: str | None = None
    """The layout of wagers on the table; None: any of the game's."""
    seats: int | None = None
    """The number of the layout's playing positions that the table has, from the first on; None:
    all."""
    area: str = "main"
    """The gaming area that the table stands in."""
    method: Literal["A", "B", "C"] | None = "B"
    """The method that is played until it is changed; None: the game has none."""
    announcements: Literal["explicit", "implied"] = "explicit"
    """``explicit``: people make announcements. ``implied``: the table infers them from the
    cards."""
    rounds_after_cutting_card: int = 0
    """The number of full rounds after the one in which the cutting card appeared."""
    faces: Literal["turned_by_dealer", "face_up"] = "turned_by_dealer"
    """The faces of cards as they are dealt: down and then turned by the dealer, or up."""
    face_up_after_ms: int = 1000
    """The time from a card's draw until the table has seen it, where cards are dealt face up."""
    result_timeout_s: int = 5
    """The longest time that the shoe's own result may take after the last card was seen."""
    limits: TableLimits = TableLimits()
    """The limits displayed at the table."""
    highest_position: Literal["gaming_shift_manager", "assistant_casino_manager"] | None = None
    """The one of these two that outranks the other here; the documents rank neither above the
    other."""
    applied_within_s: int | msgspec.UnsetType = msgspec.UNSET
    """The longest time that a table system may take to apply an outcome, a revision or a void;
    unset: it does not report that, and what was recorded without it is the same without it."""

    @property
    def implied(self) -> bool:
        """True if announcements are inferred from the cards."""
        return self.announcements == "implied"
