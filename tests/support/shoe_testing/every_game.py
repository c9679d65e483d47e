"""Situations as scenarios, played in every game and in every method that it has.

In: a game and a method; what is done, and what is expected of it. Out: a Scenario.
Must not know: how it is played.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from shoe_ctl.games import catalog
from simulators.table.scenario import Scenario, of_plain

ROYAL = "dragon_bonus_royal"
STAFFED = tuple(name for name in catalog.shipped() if name != ROYAL)
SHIFT = "gaming_shift_manager"
ELEMENTS = str.maketrans("SHDC", "fgew")
"""A card of the same rank in the other deck, element for suit."""

CARD = re.compile(r"\b[A2-9T][SHDC]\b")


ANN: dict[str, Any] = {"player": "ann", "seat": 3}
BO: dict[str, Any] = {"player": "bo", "seat": 4}
CY: dict[str, Any] = {"player": "cy", "seat": 5}


@dataclass(kw_only=True)
class Situation:
    """A situation: what is done, and what comes of it."""

    steps: list[dict[str, Any]]
    expect: list[str]
    restricted: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    cards: str = "2D 3C TS TH 4C 5D"
    limits: dict[str, int] = field(default_factory=dict)
    announcements: str = "explicit"


@dataclass(frozen=True)
class At:
    """A game in a method."""

    game: str
    method: str | None

    def rule(self, key: str, end: str) -> str | None:
        return catalog.load(self.game).rule(key, end)

    def cites(self, rule: str) -> str:
        """Return the rule as an event has it; Royal's document has none of irregularities."""
        return "null" if self.game == ROYAL else rule

    @property
    def highest_wager(self) -> str | None:
        return catalog.load(self.game).methods["A"].clauses["highest_wager"]

    @property
    def late(self) -> str:
        return "refused" if self.rule("late_wager", "returned") is None else "returned"

    def scenario(self, situation: Situation, name: str) -> Scenario:
        """Return the situation as a scenario; its cards are those of the game's own deck."""
        deck = catalog.load(self.game).deck.name
        table: dict[str, Any] = {"game": self.game, "announcements": situation.announcements}
        if self.game == "immortal_dragon_tiger":
            table["layout"] = "A"
        if self.method is not None:
            table |= {"method": self.method, "area": "Paiza Club"}
        if situation.limits:
            table["limits"] = situation.limits
        if situation.announcements == "implied":
            table["method_b"] = {"faces": "face_up", "face_up_after_ms": 0}
        done = {
            "steps": situation.steps,
            "expect": situation.expect,
            "restricted": situation.restricted,
            "never": situation.never,
        }
        shoe = {"cards": situation.cards}
        if deck == "element65":
            done, shoe = _with_elements(done), _with_elements(shoe) | {"deck": deck}
        return of_plain({"version": 1, "title": name, "table": table, "shoe": shoe, **done}, name)


def _with_elements(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the same with a card of the same rank in the other deck wherever a card is named."""
    named = CARD.sub(lambda code: code[0][0] + code[0][1].translate(ELEMENTS), json.dumps(plain))
    return dict(json.loads(named))


def says(command: str, position: str = "dealer", **args: Any) -> dict[str, Any]:
    return {"say": command, "args": args, "position": position}


def decides(choice: str, position: str = "dealer", **args: Any) -> dict[str, Any]:
    return says("decide", position, choice=choice, **args) | {"reason": "as it lies"}


def rules(choice: str) -> dict[str, Any]:
    return decides(choice, SHIFT)


def refused(step: dict[str, Any], needs: str = "other") -> dict[str, Any]:
    return step | {"refused": needs}


def declares(key: str, **args: Any) -> dict[str, Any]:
    return says("declare", key=key, **args) | {"reason": "seen by the dealer"}


def bets(who: dict[str, Any], wager: str, amount: int) -> dict[str, Any]:
    return says("place_wager", **who, wager=wager, amount=amount)


def play(until: str) -> dict[str, Any]:
    return {"play": until}


PLACE, NO_MORE = says("place_your_bets"), says("no_more_bets")
DEALT = play("round.card_dealt hand=banker index=2")
SETTLED = play("round.settled")
