"""Two counts of the cards drawn, the shoe's and the table's, where people entered more than it has.

In: the ledger, what the shoe says it counts. Out: conditions; the ledger with one count again.
Must not know: why a card was entered, which irregularity is open, who decides.
"""

from __future__ import annotations

from typing import Any

import msgspec

from . import shoe_cards
from .slots import INITIAL_DEAL
from .state import DealtCard, TableState
from .turn import TableView, Turn

COUNTS = "counts"
"""The step at which a gap begins where the shoe refuses a draw and counts other cards out; what
tells that gap from others."""


# What was seen.


def are_known(now: TableState) -> bool:
    """The shoe is there, says itself what it counts, and holds the cards of this table."""
    link = now.link
    known = link.up and link.met and link.replay
    return known and now.shoe is not None and now.loaded is None


def beyond(standing: TableView) -> tuple[int, ...]:
    """The numbers of the draws that people entered and that the shoe does not count."""
    now = standing.now
    if not are_known(now) or now.shoe is None:
        return ()
    return tuple(sorted(n for n in now.shoe.entered if n > now.shoe.told_drawn))


def shoe_has_fewer(standing: TableView) -> bool:
    """The shoe counts fewer cards out than the table: some were entered, or it is asked about it.

    Else what the shoe shows of a card is only on its way behind the card.
    """
    now = standing.now
    if not are_known(now) or now.shoe is None or now.shoe.told_drawn >= now.shoe.drawn:
        return False
    return bool(beyond(standing)) or (now.halt is not None and now.halt.top.subject == COUNTS)


def last_entered(standing: TableView) -> DealtCard | None:
    """The card of the round that was counted last, where people entered it and the shoe did not."""
    played, numbers = standing.now.round, beyond(standing)
    cards = () if played is None else played.cards
    last = max(cards, key=lambda dealt: dealt.number, default=None)
    return last if last is not None and last.number in numbers else None


def told(standing: TableView) -> dict[str, Any]:
    """Both counts, where they differ: everyone at the table can count."""
    now = standing.now
    if not are_known(now) or now.shoe is None:
        return {}
    if not (shoe_has_fewer(standing) or now.shoe.told_drawn > now.shoe.drawn):
        return {}
    return {"counts": {"table": now.shoe.drawn, "shoe": now.shoe.told_drawn}}


# What is done.


def take_out(turn: Turn, dealt: DealtCard) -> None:
    """The card was never drawn: its place is free, and no draw is counted."""
    shoe_cards.uncount_last(turn, dealt.card, shown=dealt.revealed)
    third = (dealt.hand, dealt.index) not in INITIAL_DEAL
    cards = tuple(d for d in turn.round.cards if d is not dealt)
    turn.set_round(cards=cards, due=dealt.hand if third else None, complete_us=None)


def follow_the_shoe(turn: Turn) -> None:
    """The cards lie there, and the shoe missed them: its numbers count from here on.

    In the round they have numbers below zero, no two the same.
    """
    shoe = turn.shoe
    last = shoe.told_drawn
    turn.set_shoe(
        drawn=last,
        uncounted=shoe.uncounted + shoe.drawn - last,
        entered={n: code for n, code in shoe.entered.items() if n <= last},
        missed=tuple(n for n in shoe.missed if n <= last),
    )
    if turn.now.round is not None:
        first = last - shoe.uncounted
        cards = (
            msgspec.structs.replace(d, number=first - d.number) if d.number > last else d
            for d in turn.round.cards
        )
        turn.set_round(cards=tuple(cards))
