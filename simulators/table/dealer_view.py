"""The dealer's view of a round: what anyone at the table sees, and the next ordinary act.

In: public events, how the table announces and turns cards. Out: the next act, or None to wait.
Must not know: cards that are not revealed, the controller's rules: the judge is our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firmware_proto.cards import Card, card
from simulators.shoe.judge import Judge
from simulators.table.expectation import Told

HANDS = ("player", "banker")
SET_ASIDE = "cards_set_aside"
BET_AGAIN = ("betting_again", "cards_open_round", SET_ASIDE)
"""Ends after which the round that is open is bet on once more."""
ORDER = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2), ("player", 3), ("banker", 3))


@dataclass(frozen=True, slots=True)
class Draws:
    """A card is to be drawn, once the shoe frees it."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """A command is to be given."""

    command: str
    args: Mapping[str, Any] = field(default_factory=dict)


Act = Draws | Announcement


@dataclass(frozen=True, slots=True)
class Manners:
    """The way this table is run: who announces, who turns the cards, whether hands are passed."""

    announces: bool
    turns: bool
    passes: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Manners:
        """As a daemon's configuration of the table has it."""
        faces = table.get("method_b", {}).get("faces", "turned_by_dealer")
        return cls(
            announces=table.get("announcements", "explicit") == "explicit",
            turns=faces == "turned_by_dealer",
            passes=table.get("method") == "A",
        )


class DealerView:
    """Grows with the public stream. ``rounds`` are the ids of all rounds opened so far."""

    def __init__(self) -> None:
        self.rounds: list[str] = []
        self.halted = False
        self._open = self._closed = self._announced = False
        self._totals = 0
        self._cards: dict[tuple[str, int], Card | None] = {}
        self._wagers: dict[int, tuple[str, int]] = {}
        self._not_passed: set[str] = set(HANDS)

    def take(self, told: Told) -> None:
        """See one event."""
        data = told.data
        match told.type:
            case "round.opened":
                self.rounds.append(data["round_id"])
                self._open, self._announced, self._totals = True, False, 0
                self._wagers, self._not_passed = {}, set(HANDS)
            case "round.bets_closed":
                self._closed = True
            case "round.card_dealt" if data["hand"] in HANDS:
                self._cards.setdefault((data["hand"], data["index"]), None)
            case "round.card_revealed" | "round.card_corrected" if self._is_of_open_round(data):
                self._cards[data["hand"], data["index"]] = card(data["card"])
            case "round.total_announced":
                self._totals += 1
            case "round.outcome":
                self._announced = True
            case "round.settled" | "round.void":
                self._open, self._closed, self._cards = False, False, {}
            case "table.halted" | "table.resumed":
                self.halted = told.type == "table.halted"
            case "irregularity.resolved":
                self._bet_again(data["how"])
            case _:
                self._take_of_players(told)
                self._take_of_corrections(told)

    def _take_of_corrections(self, told: Told) -> None:
        """A third card goes to the other hand or out of the round; the outcome is open again."""
        data = told.data
        match told.type:
            case "round.card_moved":
                moved = self._cards.pop((data["from"]["hand"], data["from"]["index"]), None)
                if data["hand"] is not None:
                    self._cards[data["hand"], data["index"]] = moved
            case "round.reopened" | "round.revised" if self._is_of_open_round(data):
                self._announced = told.type == "round.revised"
                if self._announced:
                    self._cards = {
                        (hand, index): card(code)
                        for hand in HANDS
                        for index, code in enumerate(data[hand]["cards"], start=1)
                    }

    def _is_of_open_round(self, data: Mapping[str, Any]) -> bool:
        """Return False of a settled round whose outcome is revised."""
        return self._open and self.rounds[-1] == data["round_id"]

    def _take_of_players(self, told: Told) -> None:
        """Their wagers, and the hands that are with them."""
        data = told.data
        match told.type:
            case "wager.accepted":
                self._wagers[data["number"]] = data["wager"], data["amount"]
            case "cards.passed" | "cards.refused":
                self._not_passed.discard(data["hand"])
            case "cards.retrieved":
                self._not_passed.add(data["hand"])

    def _bet_again(self, how: str) -> None:
        if how in BET_AGAIN:
            self._closed = False
        if how == SET_ASIDE:
            self._cards, self._totals, self._not_passed = {}, 0, set(HANDS)

    def next_act(self, manners: Manners) -> Act | None:
        """Return the dealer's next act in an ordinary round; None while it is others' turn."""
        if self.halted:
            return None
        if manners.announces and not self._closed:
            return Announcement("no_more_bets" if self._open else "place_your_bets")
        return Draws() if len(self._cards) < 4 else self._after_four(manners)

    def _after_four(self, manners: Manners) -> Act | None:
        """Faces, totals, third cards, the outcome."""
        for hand in HANDS:
            of_hand = [seen for (of, _), seen in self._cards.items() if of == hand]
            if not any(of_hand) and manners.passes and self._is_due(hand):
                return Announcement("pass_cards", {"hand": hand})
            if None in of_hand:
                return Announcement("expose", {"hand": hand}) if manners.turns else None
        if self._totals < len(HANDS):
            return Announcement("announce_totals") if manners.announces else None
        if self._another_is_due():
            return Draws()
        if not manners.announces:
            return None
        return Announcement("settle") if self._announced else Announcement("announce_outcome")

    def _is_due(self, hand: str) -> bool:
        """Return whether a Player has wagered on the hand, and it is not passed yet (3.10.2)."""
        staked = any(wager == hand and amount for wager, amount in self._wagers.values())
        return staked and hand in self._not_passed

    def _another_is_due(self) -> bool:
        judge = Judge()
        for place in ORDER:
            if (seen := self._cards.get(place)) is not None:
                judge.place(seen)
        return not judge.complete
