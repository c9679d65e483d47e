"""Games of baccarat: their files, the Table of Play, settlement, odds and decided wagers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.games.catalog import load, load_file, shipped
    from shoe_ctl.games.decided import decide
    from shoe_ctl.games.game import Game
    from shoe_ctl.games.game_file import parse
    from shoe_ctl.games.table_of_play import next_hand, total
    from shoe_ctl.games.wagers import Settlement
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Game": "game",
            "Settlement": "wagers",
            "decide": "decided",
            "load": "catalog",
            "load_file": "catalog",
            "next_hand": "table_of_play",
            "parse": "game_file",
            "shipped": "catalog",
            "total": "table_of_play",
        },
    )

__all__ = [
    "Game",
    "Settlement",
    "decide",
    "load",
    "load_file",
    "next_hand",
    "parse",
    "shipped",
    "total",
]
