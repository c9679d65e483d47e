"""A round whose cards lie face down, with cards that were drawn before their turn.

In: cards as codes, a way to play. Out: the table there, and how it ended with each such card.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.cards import card
from firmware_proto.events import CardOutsideGame, Error, ErrorCleared
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import Playing

DRAWS = "2D 3C TS TH"  # each hand wants a third card
STANDS = "7D 7C TS TH"


def face_down(codes: str, *, way: int = 0, **more: Any) -> Playing:
    table = Playing(**{**WAYS[way], **more}).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def sees_all(table: Playing) -> None:
    table.turn_over()
    if not table.settings.implied and not table.now.round.totals_announced:
        table.does("announce_totals")


def objects(table: Playing, code: str = "4C") -> None:
    """What an angel_eye says of a card that its own judging has no place for."""
    table.says(Error(code="overdraw", in_error_mode=True))
    table.says(CardOutsideGame(card=card(code), mode="error"))
    table.says(ErrorCleared(code="overdraw"))


def ends(table: Playing) -> list[tuple[str, str | None]]:
    told = table.told("irregularity.resolved")
    return [(d["how"], d["rule"]) for d in told if d["key"] == "drawn_early"]
