"""Runs of cards in a new deck's order, among those that the room has seen: an alarm, no more.

In: a round with all its cards turned. Out: shoe.alarm, to the restricted stream alone.
Must not know: cards that are not revealed, what anyone makes of the alarm.
"""

from __future__ import annotations

from .state import DealtCard, Run
from .turn import Turn

ALARM = 5
"""Cards in a row: in shuffled decks such a run comes once in some ten thousand shoes."""


def look(turn: Turn) -> None:
    """The round's cards follow on those of the round before, in the order drawn."""
    run = turn.shoe.run
    seen = (d for d in turn.round.cards if d.revealed)
    for dealt in sorted(seen, key=lambda d: d.number):
        run = _followed(turn, run, dealt)
        if run is not None and run.length == ALARM:
            _tell(turn, run)
    turn.set_shoe(run=run)


def _followed(turn: Turn, run: Run | None, dealt: DealtCard) -> Run | None:
    """The run with this card at its end, or a new one that begins with it."""
    ranks = turn.game.deck.ranks
    if dealt.card is None or dealt.card not in turn.game.deck:
        return None
    if run is not None and dealt.number == run.number + 1 and dealt.card.suit is run.card.suit:
        step = ranks.index(dealt.card.rank) - ranks.index(run.card.rank)
        if step in (1, -1):
            length = run.length + 1 if run.step in (0, step) else 2
            return Run(number=dealt.number, card=dealt.card, length=length, step=step)
    return Run(number=dealt.number, card=dealt.card)


def _tell(turn: Turn, run: Run) -> None:
    data = {
        "shoe_id": turn.shoe.id,
        "what": "factory_order",
        "cards": run.length,
        "draws": [run.number - run.length + 1, run.number],
    }
    turn.tell_restricted("shoe.alarm", data)
