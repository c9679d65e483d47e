"""The composition ledger: counts every card that left the shoe, beside the shoe's own count.

In: cards that leave the shoe or are named, what the shoe says it counts. Out: the counts of
``Shoe``, round.card_drawn for cards that get no slot.
Must not know: which set comes next, who names a card, what a difference leads to.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.cards import Card
from firmware_proto.events import CardOutsideGame, Status
from shoe_ctl.table.shoe import draw_time, unplaced
from shoe_ctl.table.situations import BEGUN
from shoe_ctl.table.state import DealtCard, Shoe, TableState
from shoe_ctl.table.turn import TableView, Turn

# Conditions.


def is_burn(turn: Turn) -> bool:
    """True if the shoe itself counts the drawn card as burned."""
    return turn.drawn.hand in ("burn", "first_card")


def is_burn_report(turn: Turn) -> bool:
    """True if the shoe only shows how many cards it burned; no card left it."""
    return turn.drawn.hand == "burn_count"


def is_one_too_many(turn: Turn, card: Card) -> bool:
    """True if the decks hold no further card with this face, by all readings of the shoe."""
    shoe = turn.now.shoe
    assert shoe is not None
    return _readings(shoe, card.code) >= shoe.decks


def has_too_many(turn: Turn) -> bool:
    """True if more cards with some face were counted or read than the decks hold."""
    shoe = turn.shoe
    return any(_readings(shoe, card.code) > shoe.decks for card in turn.game.deck.cards)


def _readings(shoe: Shoe, code: str) -> int:
    """Return how many cards with this face were counted, or read and overruled."""
    return shoe.counts.get(code, 0) + shoe.overruled.get(code, 0)


def cards_out(shoe: Shoe) -> int:
    """Return how many cards of the set are out, as far as they were counted."""
    return shoe.drawn - shoe.returned + shoe.uncounted


def is_shoe_empty(view: TableView) -> bool:
    """True if every card of the set is out."""
    return cards_out(view.shoe) >= view.shoe.decks * len(view.game.deck.cards)


def cannot_complete_deal(turn: Turn) -> bool:
    """True if a round is open, its initial deal is not complete, and the shoe is empty."""
    return turn.state in (*BEGUN, "dealing") and is_shoe_empty(turn)


def has_no_shoe(turn: Turn) -> bool:
    """True if the table has no set of cards. The table may be in any state."""
    return turn.now.shoe is None


# Cards leave the shoe.


def count_card(turn: Turn, card: Card | None, number: int | None) -> None:
    """Count a card under its number; None means the next number.

    A number that was counted before changes nothing. Numbers that are passed over count as unseen
    cards, and as missed.
    """
    shoe = turn.now.shoe
    assert shoe is not None
    number = shoe.drawn + 1 if number is None else number
    if number <= shoe.drawn:
        return
    if number > shoe.drawn + 1:
        passed_over = range(shoe.drawn + 1, number)
        missed = (*shoe.unreported_draws, *passed_over)
        turn.set_shoe(unreported_draws=missed, unknown=shoe.unknown + len(passed_over))
    clock = draw_time.read_clock(turn)
    if card is None:
        turn.set_shoe(drawn=number, unknown=turn.shoe.unknown + 1, clock=clock)
    else:
        counts = {**shoe.counts, card.code: shoe.counts.get(card.code, 0) + 1}
        turn.set_shoe(drawn=number, counts=counts, clock=clock)


def count_burned(turn: Turn) -> None:
    """Count a card that the opening procedure burns; it is never played."""
    _count_unplaced(turn, turn.drawn.card, "burn", None, turn.drawn.number)


def count_unplaced(turn: Turn) -> None:
    """Count the drawn card, which gets no slot."""
    drawn = turn.drawn
    _count_unplaced(turn, drawn.card, drawn.hand, drawn.index, drawn.number)


def count_outside_game(turn: Turn) -> None:
    """Count a card that the shoe gave while it was in no game, as set aside.

    During a halt it also becomes an unplaced card: a round finished by hand may use it.
    """
    card = turn.event(CardOutsideGame).card
    _count_unplaced(turn, card, "set_aside", None, None)
    if turn.now.halt is not None and turn.now.shoe is not None:
        unplaced.add_card(turn, card, turn.shoe.drawn, role="outside_game")


def count_without_slot(turn: Turn, card: Card | None, number: int | None) -> None:
    """Count a card for which the shoe names no slot."""
    _count_unplaced(turn, card, None, None, number)


def _count_unplaced(
    turn: Turn, card: Card | None, hand: str | None, index: int | None, number: int | None
) -> None:
    """Count a card that gets no slot, and emit it to the restricted stream.

    If no shoe is known the card is not counted; the event is emitted all the same.
    """
    if turn.now.shoe is not None:
        count_card(turn, card, number)
        number = turn.shoe.drawn if number is None else number
    data = {
        "hand": hand,
        "index": index,
        "card": card.code if card is not None else None,
        "number": number,
        "placed": False,
    }
    turn.emit_restricted("round.card_drawn", data)


def detect_empty_shoe(turn: Turn) -> None:
    """Act on an empty shoe: the open round cannot be completed, or no further one can begin (5.3).

    With the initial deal complete, it matters only once a third card is due.
    """
    if cannot_complete_deal(turn):
        turn.fire("cards_ran_out")
    elif turn.state == "idle" and turn.now.round is None and is_shoe_empty(turn):
        turn.fire("change_due")


def note_entered(turn: Turn, number: int, code: str | None) -> None:
    """Record that people entered this draw, and as which card.

    The shoe may still report the draw itself.
    """
    missed = tuple(n for n in turn.shoe.unreported_draws if n != number)
    turn.set_shoe(entered_draws={**turn.shoe.entered_draws, number: code}, unreported_draws=missed)


def uncount_last(turn: Turn, card: Card | None, *, shown: bool) -> None:
    """Remove the last draw from the ledger: it never took place.

    ``shown``: the room has seen the card.
    """
    shoe = turn.shoe
    entered = {n: code for n, code in shoe.entered_draws.items() if n != shoe.drawn}
    if card is None:
        turn.set_shoe(unknown=shoe.unknown - 1)
    else:
        seen = _one_less(shoe.shown, card) if shown else shoe.shown
        turn.set_shoe(counts=_one_less(shoe.counts, card), shown=seen)
    turn.set_shoe(drawn=shoe.drawn - 1, entered_draws=entered)


def count_uncounted(turn: Turn, card: Card) -> None:
    """Count a card that is out by what people say, and for which the shoe counted no draw."""
    shoe = turn.shoe
    counts = _one_more(shoe.counts, card)
    turn.set_shoe(uncounted=shoe.uncounted + 1, counts=counts)
    _detect_too_many(turn, card)


def give_back_uncounted(turn: Turn, card: Card) -> None:
    """Give such a card back: by what people say now it was never out."""
    shoe = turn.shoe
    turn.set_shoe(uncounted=shoe.uncounted - 1, counts=_one_less(shoe.counts, card))


def return_card(turn: Turn, card: Card | None) -> None:
    """Remove a card from the ledger that is in the shoe again. Drawn anew, it is a new draw.

    If the ledger does not have this card, it counts it as another one. Nothing changes then: only a
    count of the cards that are left can decide between them.
    """
    shoe = turn.shoe
    known = shoe.unknown if card is None else shoe.counts.get(card.code, 0)
    if not known:
        return
    if card is None:
        turn.set_shoe(returned=shoe.returned + 1, unknown=shoe.unknown - 1)
    else:
        turn.set_shoe(returned=shoe.returned + 1, counts=_one_less(shoe.counts, card))


# Which card it is: revealed, named, corrected, forgotten.


def show_card(turn: Turn, card: Card) -> None:
    """Count the card among those that the room has seen."""
    if turn.now.shoe is not None:
        turn.set_shoe(shown=_one_more(turn.shoe.shown, card))


def hide_card(turn: Turn, card: Card) -> None:
    """Take a card that left its slot out of those that the room sees in the hands."""
    turn.set_shoe(shown=_one_less(turn.shoe.shown, card))


def show_other_card(turn: Turn, wrong: Card, right: Card) -> None:
    """Correct what the room has seen: the card shown as ``wrong`` was ``right``."""
    turn.set_shoe(shown=_one_more(_one_less(turn.shoe.shown, wrong), right))


def name_unknown_card(turn: Turn, card: Card) -> None:
    """Record which card one of the unseen cards is."""
    shoe = turn.shoe
    turn.set_shoe(unknown=shoe.unknown - 1, counts=_one_more(shoe.counts, card))
    _detect_too_many(turn, card)


def forget_card(turn: Turn, card: Card) -> None:
    """Count a known card as unseen: nobody knows any more which card it is."""
    shoe = turn.shoe
    turn.set_shoe(unknown=shoe.unknown + 1, counts=_one_less(shoe.counts, card))


def correct_count(turn: Turn, wrong: Card, right: Card) -> None:
    """Count the card as ``right`` instead of ``wrong``. What the room has seen stays."""
    turn.set_shoe(counts=_one_more(_one_less(turn.shoe.counts, wrong), right))
    _detect_too_many(turn, right)


def overrule_reading(turn: Turn, read: Card, right: Card) -> None:
    """Count the card as people know it, and keep the reading of the shoe beside the count."""
    correct_count(turn, read, right)
    turn.set_shoe(overruled=_one_more(turn.shoe.overruled, read))


def note_reading(turn: Turn, read: Card) -> None:
    """Keep a reading of the shoe that differs from what people entered, beside the count."""
    turn.set_shoe(overruled=_one_more(turn.shoe.overruled, read))
    _detect_too_many(turn, read)


def confirm_reading(turn: Turn, read: Card) -> None:
    """Remove an overruled reading: it was right after all."""
    turn.set_shoe(overruled=_one_less(turn.shoe.overruled, read))


def recount_card(turn: Turn, was: Card, counted: Card) -> None:
    """Count a card that left the table as what people counted it as.

    If the shoe had read it as another card, that reading is kept beside the count.
    """
    if was != counted:
        counts = _one_more(_one_less(turn.shoe.counts, was), counted)
        turn.set_shoe(counts=counts, overruled=_one_more(turn.shoe.overruled, was))


def _detect_too_many(turn: Turn, card: Card) -> None:
    """Fire ``one_too_many`` if there cannot be that many cards with this face.

    What people enter may show that another card, still hidden, is not one of the shoe's.
    """
    if _readings(turn.shoe, card.code) > turn.shoe.decks or card not in turn.game.deck:
        turn.fire("one_too_many")


def _one_more(counts: dict[str, int], card: Card) -> dict[str, int]:
    """Return the counts with one more of this card."""
    return {**counts, card.code: counts.get(card.code, 0) + 1}


def _one_less(counts: dict[str, int], card: Card) -> dict[str, int]:
    """Return the counts with one less of this card. Counts of zero are left out."""
    left = {**counts, card.code: counts[card.code] - 1}
    return {code: count for code, count in left.items() if count}


# The shoe's own count, compared with the ledger's.

COUNTS_DIFFER = "counts"
"""The step at which a ``gap`` begins if the shoe refuses a draw and counts other cards than the
table; also the subject that tells this gap from others."""


def note_status(turn: Turn) -> None:
    """Record how many cards the shoe says are out."""
    event = turn.event(Status)
    if turn.now.pending_set is not None:
        turn.change(pending_set=msgspec.structs.replace(turn.now.pending_set, drawn=event.drawn))
    elif turn.now.shoe is not None and turn.now.shoe.reported_drawn != event.drawn:
        turn.note_of_shoe(reported_drawn=event.drawn)


def has_reported_all(now: TableState) -> bool:
    """True if the shoe has said what it counts, and that is every draw that the table counts."""
    return (
        are_counts_known(now)
        and now.shoe is not None
        and (now.shoe.reported_drawn == now.shoe.drawn)
    )


def has_lost_cards(turn: Turn) -> bool:
    """True if the shoe counts more cards out than were ever reported to this table."""
    shoe = turn.now.shoe
    return shoe is not None and shoe.reported_drawn > shoe.drawn


def write_off_lost_cards(turn: Turn) -> None:
    """Count as unseen the cards that the shoe counts and will never report."""
    if has_lost_cards(turn):
        shoe = turn.shoe
        lost = shoe.reported_drawn - shoe.drawn
        turn.set_shoe(drawn=shoe.reported_drawn, unknown=shoe.unknown + lost)


def are_counts_known(now: TableState) -> bool:
    """True if the connected shoe has said what it counts, and holds the cards of this table."""
    link = now.link
    known = link.up and link.identified and link.replay
    return known and now.shoe is not None and now.pending_set is None


def shoe_has_fewer(standing: TableView) -> bool:
    """True if the shoe counts fewer cards out than the table.

    Only if people entered some of them, or the table halts for this very difference. Else the
    status of the shoe is simply older than its last card.
    """
    now = standing.now
    if not are_counts_known(now) or now.shoe is None or now.shoe.reported_drawn >= now.shoe.drawn:
        return False
    return bool(uncounted_entries(standing)) or (
        now.halt is not None and now.halt.current.subject == COUNTS_DIFFER
    )


def uncounted_entries(standing: TableView) -> tuple[int, ...]:
    """Return the numbers of the draws that people entered and the shoe does not count."""
    now = standing.now
    if not are_counts_known(now) or now.shoe is None:
        return ()
    return tuple(sorted(n for n in now.shoe.entered_draws if n > now.shoe.reported_drawn))


def last_entered(standing: TableView) -> DealtCard | None:
    """Return the card of the round that was counted last, if only people entered it."""
    played, numbers = standing.now.round, uncounted_entries(standing)
    cards = () if played is None else played.cards
    last = max(cards, key=lambda dealt: dealt.number, default=None)
    return last if last is not None and last.number in numbers else None


def public_counts(standing: TableView) -> dict[str, Any]:
    """Return both counts if they differ. They are public: everyone at the table can count."""
    now = standing.now
    if not are_counts_known(now) or now.shoe is None:
        return {}
    if not (shoe_has_fewer(standing) or now.shoe.reported_drawn > now.shoe.drawn):
        return {}
    return {"counts": {"table": now.shoe.drawn, "shoe": now.shoe.reported_drawn}}


def adopt_shoe_count(turn: Turn) -> None:
    """Go on with the shoe's count, which missed cards that lie on the table.

    These cards get numbers below zero in the round, no two the same.
    """
    shoe = turn.shoe
    last = shoe.reported_drawn
    turn.set_shoe(
        drawn=last,
        uncounted=shoe.uncounted + shoe.drawn - last,
        entered_draws={n: code for n, code in shoe.entered_draws.items() if n <= last},
        unreported_draws=tuple(n for n in shoe.unreported_draws if n <= last),
    )
    if turn.now.round is not None:
        first = last - shoe.uncounted
        cards = (
            msgspec.structs.replace(d, number=first - d.number) if d.number > last else d
            for d in turn.round.cards
        )
        turn.set_round(cards=tuple(cards))
