"""A table from which a Player left with cards, and what its staff do then.

In: what is declared. Out: the table at the step that is wanted, what it told.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.records import Audience
from shoe_testing.method_tables import BOTH_DRAW, dealt
from shoe_testing.tables import SHIFT, Playing

GAMES = ["immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4"]
EYES = "surveillance"
PIT = "pit_supervisor"


def taken(codes: str = BOTH_DRAW, method: str = "A", **more: Any) -> Playing:
    """Seat 3 has left with Player's first card, or with what is said."""
    table = dealt(codes=codes, method=method, name=more.pop("name", "tiger"))
    if method != "B":
        table.does("pass_cards", hand="player", seat=3)
    said = more or {"hand": "player", "index": 1}
    table.does("declare", key="card_taken", reason="seat 3 ran", **said)
    return table


def decides(table: Playing, choice: str, position: str = SHIFT, **more: Any) -> None:
    table.does("decide", choice=choice, position=position, consented_by="lee", **more)


def aside(table: Playing, codes: str = "4C 5D") -> Playing:
    """Nobody knows the value, and two cards lie aside."""
    decides(table, "not_known", reason="no camera saw it")
    for code in codes.split():
        table.draw(code)
    return table


def counted(table: Playing, cards: str = "2D", **more: Any) -> Playing:
    decides(table, "sorted")
    decides(table, "determined", cards=cards, **more)
    return table


def open_step(table: Playing) -> dict[str, Any]:
    kinds = ("irregularity.raised", "irregularity.step")
    return next(e.data for e in reversed(table.public) if e.type in kinds)


def opinions(table: Playing) -> list[dict[str, Any]]:
    return [d for d in table.told("irregularity.step", Audience.RESTRICTED) if "cards" in d]


def resolved(table: Playing) -> dict[str, Any]:
    return table.told("irregularity.resolved")[-1]


def finish(table: Playing) -> None:
    """The dealer turns over what lies face down, and the round comes to its end."""
    table.turn_over()
    table.does("announce_totals")
    while table.now.state == "revealing" and not table.now.round.all_revealed:
        table.turn_over()
    table.does("announce_outcome")
    table.does("settle")
