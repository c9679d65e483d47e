"""Short ways to ask the ledger, and the five documents' rule numbers beside one another.

In: nothing. Out: rules of a table, requests, a ledger already open, the numbers as literals.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.cards import card
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.games.wagers import Settlement
from shoe_ctl.table.wagers.ledger import close_bets, open_bets, place
from shoe_ctl.table.wagers.limits import TableLimits, WagerRules
from shoe_ctl.table.wagers.types import (
    Accepted,
    AmountRequest,
    LedgerAnswer,
    Refused,
    WagerActor,
    WagerRequest,
    Wagers,
)
from shoe_ctl.texts.catalogue import text as english

GAMES: dict[str, Game] = {name: catalog.load(name) for name in catalog.shipped()}

STAFFED = (
    "immortal_dragon_tiger",
    "dragon_tiger_no_commission",
    "tiger",
    "fa_fa_fabulous_4",
)

_N_T = {
    "on_behalf": "3.8",
    "per_area": "3.7",
    "lowered": "3.7.1",
    "once": "5.14",
    "to_maximum": "5.15",
    "decreased": "5.18.1",
    "increased": "5.18.2",
    "removed": "5.18.3",
}
NUMBERS: dict[str, dict[str, str]] = {
    "immortal_dragon_tiger": {
        "on_behalf": "3.8",
        "per_area": "3.7",
        "lowered": "3.7",
        "once": "5.12",
        "to_maximum": "5.13",
        "decreased": "5.16.1",
        "increased": "5.16.2",
        "removed": "5.16.3",
    },
    "dragon_tiger_no_commission": _N_T,
    "tiger": _N_T,
    "fa_fa_fabulous_4": {**_N_T, "on_behalf": "3.7", "per_area": "3.6", "lowered": "3.6.1"},
}
"""Rule numbers as they stand in the documents, where they differ."""

BANKER_WINS = {"element65": "5f 9e Tg Tf", "french52": "5D 9C TS TH"}
PLAYER_WINS = {"element65": "9f 7e Tg Tf", "french52": "9D 7C TS TH"}
TIE = {"element65": "9f 9e Tg Tf", "french52": "9D 9C TS TH"}


def rules_of(game: str, layout: str = "A", **limits: Any) -> WagerRules:
    """A table's rules; its limits as the configuration would spell them."""
    return WagerRules(GAMES[game], layout, msgspec.convert(limits, TableLimits))


def outcome(rules: WagerRules, rounds: dict[str, str]) -> Settlement:
    """The settlement of a round written down for each deck."""
    return cards(rules, rounds[rules.game.deck.name])


def cards(rules: WagerRules, codes: str) -> Settlement:
    """The settlement of this round on the table's layout."""
    dealt = [card(code) for code in codes.split()]
    return rules.game.settle(dealt)


def by(position: str = "dealer", t_us: int = 1, **more: Any) -> WagerActor:
    return WagerActor(person="d-17", position=position, t_us=t_us, **more)


def staked(
    wager: str, amount: int, player: str = "ann", seat: int = 1, **who: Any
) -> AmountRequest:
    return AmountRequest(player=player, seat=seat, wager=wager, amount=amount, by=by(**who))


def asked(wager: str, player: str = "ann", seat: int = 1, **who: Any) -> WagerRequest:
    return WagerRequest(player=player, seat=seat, wager=wager, by=by(**who))


def done(answer: LedgerAnswer) -> Wagers:
    """The wagers after a request that must have been taken."""
    assert isinstance(answer, Accepted), answer
    return answer.wagers


def refused(answer: LedgerAnswer) -> Refused:
    assert isinstance(answer, Refused), answer
    assert "\n" not in english(answer.why)
    return answer


def standing(rules: WagerRules, *wagers: AmountRequest, closed: bool = False) -> Wagers:
    """A round with these wagers placed."""
    now = open_bets(Wagers())
    for wager in wagers:
        now = done(place(now, wager, rules))
    return close_bets(now) if closed else now
