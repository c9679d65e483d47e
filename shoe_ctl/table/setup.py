"""The setup of a table: what stands as long as its game and its settings do.

In: a game, the settings of a table. Out: plain values for the status. Must not know: the round.
"""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.money import Currency

MOST_TABLES = 2048
"""Setups that are kept: more tables than one daemon serves."""


@functools.lru_cache(MOST_TABLES)
def describe_setup(game: Game, settings: TableSettings) -> dict[str, Any]:
    """Return what a page needs once to show the table. It is shared: do not change it."""
    limits = settings.limits
    rules = WagerRules(game, settings.layout, limits, settings.seats)
    return {
        "title": game.title,
        "area": settings.area,
        "announcements": settings.announcements,
        "decks": settings.decks,
        "deck": [card.code for card in game.deck.cards],
        "layout": settings.layout,
        "seats": list(rules.seats),
        "wagers": [_wager(name, rules) for name in rules.offered],
        "limits": {
            "differential": limits.differential,
            "wagers_per_area": rules.most_per_area,
            "payout_cap": limits.payout_cap,
            "players": game.limits.players,
        },
        "currency": None if limits.currency is None else _currency(limits.currency),
        "rounds_after_cutting_card": settings.rounds_after_cutting_card,
    }


def _wager(name: str, rules: WagerRules) -> dict[str, Any]:
    said: dict[str, Any] = {
        "wager": name,
        "least": rules.minimum(name),
        "most": rules.maximum(name),
    }
    main = rules.mains.get(name)
    return said if main is None else said | {"main": main}


def _currency(currency: Currency) -> dict[str, Any]:
    """Return the currency as far as the settings name it."""
    said: dict[str, Any] = {"unit": currency.unit, "rounding": currency.rounding}
    named = {"code": currency.code, "exponent": currency.exponent}
    return said | {k: v for k, v in named.items() if not isinstance(v, msgspec.UnsetType)}
