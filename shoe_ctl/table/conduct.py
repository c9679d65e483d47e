"""How the round is conducted now: the method in force, and what follows from it alone.

In: the table's state and settings. Out: the method, how cards are dealt, who announces.
Must not know: who may choose a method, inputs, events.
"""

from __future__ import annotations

from typing import Literal

from .settings import TableSettings
from .state import TableState

HANDED = ("A", "C")
"""The methods in which Players handle cards: those are always dealt face down."""


def method(now: TableState, settings: TableSettings) -> str | None:
    """The method in force: the one last changed to, else the table's setting."""
    return settings.method if now.method is None else now.method


def is_handed(now: TableState, settings: TableSettings) -> bool:
    """Players may handle cards."""
    return (settings.method if now.method is None else now.method) in HANDED


def faces(now: TableState, settings: TableSettings) -> Literal["turned_by_dealer", "face_up"]:
    """How cards are dealt: as set, but face down wherever Players handle them."""
    is_face_up = settings.faces == "face_up" and not is_handed(now, settings)
    return "face_up" if is_face_up else "turned_by_dealer"


def implied(now: TableState, settings: TableSettings) -> bool:
    """Announcements follow the cards, as set; they are made where Players handle the cards."""
    return settings.announcements == "implied" and not is_handed(now, settings)
