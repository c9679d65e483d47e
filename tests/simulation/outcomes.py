"""Outcomes, held to the shoe's own list of cards and to the simulators' own judge.

In: restricted and public events once each, cards as they leave the shoe. Out: Broken.
Must not know: the controller's rules, how the table came to an outcome.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from firmware_proto.cards import card
from shoe_ctl.records import Audience
from shoe_testing.main_wagers import MAIN_WAGERS, net
from simulators.shoe.judge import Judge
from tests.simulation.broken import Broken
from tests.simulation.delivered import Event

_DISTURBS = (
    "round.card_corrected",
    "irregularity.raised",
    "irregularity.step",
    "table.halted",
    "command.refused",
)


class Outcomes:
    """``drawn`` are the codes of all cards that left the shoe, in order, over all sets.

    Wagers on Player, Banker and Tie are held to the game's rule document.
    """

    def __init__(self, game: str = "tiger") -> None:
        self._game = game
        self._hands: dict[str, tuple[list[str], list[str]]] = {}
        self._corrected: Counter[str] = Counter()
        self.drawn: list[str] = []
        self.ended: dict[str, str] = {}
        self.opened: list[str] = []
        self.finished: set[str] = set()
        self.counts: Counter[str] = Counter()
        self._at = 0
        self._disturbed: set[str | None] = set()
        self._open: str | None = None
        self._of_no_slot: dict[int, str | None] = {}
        self._lay_ready: Counter[str | None] = Counter()

    def take(self, audience: Audience, event: Event) -> None:
        """The next event of a stream.

        Raises:
            Broken: a round with two outcomes, or one that its cards do not have.
        """
        if audience is Audience.PUBLIC:
            return
        kind, subject = event["type"], event.get("subject")
        if kind == "round.opened":
            self._open = subject
            self.opened.append(event["data"]["round_id"])
        elif kind == "shoe.loaded":
            self._of_no_slot.clear()
        elif kind == "round.card_drawn":
            self._note_ready(subject, event["data"])
        elif kind in _DISTURBS:
            self._disturbed |= {subject, self._open}
            if kind == "round.card_corrected":
                self._corrected[event["data"]["card"]] += 1
        elif kind in ("round.outcome", "round.void"):
            self._end(event)
        elif kind == "round.revised":
            self.counts[kind] += 1
            self._judge(event["data"]["round_id"], event["data"])
        elif kind == "wager.settled":
            self._pay(event["data"])

    def _note_ready(self, subject: str | None, drawn: Event) -> None:
        """A card that got no slot as it was drawn may be ruled to open a later round (6.1)."""
        if not drawn.get("placed", True):
            self._of_no_slot[drawn["number"]] = drawn["card"]
        elif drawn["number"] in self._of_no_slot:
            del self._of_no_slot[drawn["number"]]
            self._lay_ready[subject] += 1

    def _end(self, event: Event) -> None:
        round_id, kind = event["data"]["round_id"], event["type"]
        self.counts[kind] += 1
        before = self.ended.setdefault(round_id, f"{kind} {event['id']}")
        if before != f"{kind} {event['id']}":
            outcome_void = before.startswith("round.outcome") and kind == "round.void"
            if not outcome_void:  # a void may still follow an outcome, until it is settled
                raise Broken("one outcome a round", f"{round_id}: {before}, then {event['id']}")
        if kind == "round.outcome":
            self.finished.add(round_id)
            self._judge(round_id, event["data"])

    def _pay(self, line: Event) -> None:
        """A wager that nothing was found of is paid by the cards of the last outcome.

        One that was void, with its round, goes back.
        """
        if line["applied"] or line["wager"] not in MAIN_WAGERS or line["result"] == "returned":
            return
        self.counts["wagers paid"] += 1
        won = Fraction(line["pays"]) - Fraction(line["collected"])
        owed = net(self._game, line["wager"], line["stake"], *self._hands[line["round_id"]])
        if won != owed:
            raise Broken("never a guess", f"{line} where the document has {owed}")

    def _judge(self, round_id: str, told: Event) -> None:
        judge, left = Judge(), {name: list(told[name]["cards"]) for name in ("player", "banker")}
        self._hands[round_id] = (list(told["player"]["cards"]), list(told["banker"]["cards"]))
        dealt: list[str] = []
        while (place := judge.next_place()) is not None:
            if not left[place[0]]:
                raise Broken("never a guess", f"{round_id}: {place} was due and is not there")
            dealt.append(left[place[0]].pop(0))
            judge.place(card(dealt[-1]))
        verdict = judge.verdict()
        totals = (told["player"]["total"], told["banker"]["total"])
        if any(left.values()) or told["winner"] != verdict.winner:
            raise Broken("never a guess", f"{round_id}: {told} where the judge has {verdict}")
        if totals != (verdict.player_total, verdict.banker_total):
            raise Broken("never a guess", f"{round_id}: totals {totals}, and {verdict}")
        self._find(round_id, dealt)

    def _find(self, round_id: str, dealt: list[str]) -> None:
        """Where these cards left the shoe: one behind the other, unless something came between.

        A card drawn before the round may open it; those drawn with it and told to have no slot may
        be laid aside, and then lie between it and the rest.
        """
        if round_id in self._disturbed:
            lacks = Counter(dealt) - Counter(self.drawn) - self._corrected
            if lacks:
                raise Broken("never a guess", f"{round_id}: {sorted(lacks)} were never drawn")
            return
        ready = self._lay_ready[round_id]
        aside = Counter(self._of_no_slot.values() if ready else ())
        cards, rest = Counter(dealt), dealt[ready:]
        for at in range(self._at, len(self.drawn) - len(dealt) + 1):
            for end in range(at + len(dealt), at + len(dealt) + aside.total() + 1):
                span = self.drawn[at:end]
                fits = span[0] == dealt[0] and span[len(span) - len(rest) :] == rest
                if fits and cards <= Counter(span) <= cards + aside:
                    self._at = at + len(span)
                    return
        left = " ".join(self.drawn[self._at :])
        raise Broken("never a guess", f"{round_id}: {' '.join(dealt)} is not in {left}")
