"""The ground truth for tests: what physically happened, cards in order, rounds as judged here.

In: cards as they leave the shoe and where the hand lays them. Out: lists, and JSON lines.
Must not know: what any shoe said, what the table under test made of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from firmware_proto.cards import Card
from simulators.shoe.judge import Judge
from simulators.shoe.model import CardOut, CardSet, CuttingCardOut

ASIDE = frozenset({"burn", "first_card", "set_aside"})
"""Places of cards that belong to no hand of a round."""

Line = dict[str, object]


class GroundTruth:
    """Grows as cards are drawn; ``write`` gets each JSON line, without its newline, at once.

    ``cards`` are ``(draw number, code)``, ``slips`` the codes of cards that the shoe never counted;
    ``rounds`` are the lines of finished rounds.
    """

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self.cards: list[tuple[int, str]] = []
        self.slips: list[str] = []
        self.rounds: list[Line] = []
        self.lines: list[Line] = []
        self._write = write
        self._judge = Judge()
        self._set_id: str | None = None

    @property
    def round_open(self) -> bool:
        """True while a round has cards and is not complete."""
        return self._judge.begun

    def loaded(self, cards: CardSet) -> None:
        """A set was pushed in; a round that was open can only be over."""
        self.broken_off()
        self._set_id = cards.set_id
        self._say(
            {
                "loaded": cards.set_id,
                "deck": cards.deck.name,
                "decks": cards.decks,
                "seed": cards.seed,
                "sha256": cards.digest,
            }
        )

    def cutting_card(self, out: CuttingCardOut) -> None:
        """The cutting card came out after this many cards."""
        self._say({"cutting_card_after": out.drawn})

    def card(self, out: CardOut, *, place: str | None) -> None:
        """A card came out; ``place`` is where the hand was told to lay it, None by the rules."""
        code = out.card.code
        self.cards.append((out.number, code))
        line: Line = {"card": code, "number": out.number, "armed": out.armed}
        if place in ASIDE:
            line["place"] = place
            self._say(line)
            return
        line["place"], line["index"] = self._judge.place(out.card)
        self._say(line)
        if self._judge.complete:
            self._finish()

    def slipped(self, card: Card, *, place: str | None) -> None:
        """A card came out that the shoe did not count: only people can say what becomes of it."""
        self.slips.append(card.code)
        self._say({"slipped": card.code, "place": place})
        self.broken_off()

    def designated(self, card: Card) -> None:
        """A card that was set aside is a round's next card after all."""
        hand, index = self._judge.place(card)
        self._say({"designated": card.code, "place": hand, "index": index})

    def broken_off(self) -> None:
        """The open round will not be finished: its cards are out, it has no verdict."""
        if self._judge.begun:
            self._say({"broken_off": " ".join(c.code for c in self._judge.drawn)})
            self._judge = Judge()

    def _finish(self) -> None:
        verdict = self._judge.verdict()
        line: Line = {
            "round": len(self.rounds) + 1,
            "set_id": self._set_id,
            "cards": " ".join(c.code for c in self._judge.drawn),
            "winner": verdict.winner,
            "player_total": verdict.player_total,
            "banker_total": verdict.banker_total,
            "player_pair": verdict.player_pair,
            "banker_pair": verdict.banker_pair,
        }
        self.rounds.append(line)
        self._say(line)
        self._judge = Judge()

    def _say(self, line: Line) -> None:
        self.lines.append(line)
        if self._write is not None:
            self._write(json.dumps(line))
