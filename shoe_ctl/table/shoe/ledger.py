"""The composition ledger: every card that left the shoe, counted; the cutting card; shoe ends.

In: cards, the cutting card, what the shoe says it counts. Out: the ledger, shoe.change_due.
Must not know: which set comes next, whose hand a card belongs to.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.cards import Card
from firmware_proto.events import CardOutsideGame, Status
from shoe_ctl.texts.message import Message, message

from ..state import INITIAL_DEAL, DealtCard, TableState, UnplacedCard
from ..turn import TableView, Turn

# What was seen.


def is_burn(turn: Turn) -> bool:
    """The shoe itself counts this card as a burn."""
    return turn.drawn.hand in ("burn", "first_card")


def is_burn_report(turn: Turn) -> bool:
    """The shoe shows its burn count; no card left it."""
    return turn.drawn.hand == "burn_count"


def is_one_too_many(turn: Turn, card: Card) -> bool:
    """The decks hold no further card with this face, by all that the shoe has read."""
    shoe = turn.now.shoe
    assert shoe is not None
    known = shoe.counts.get(card.code, 0) + shoe.overruled.get(card.code, 0)
    return known >= shoe.decks


def has_too_many(turn: Turn) -> bool:
    """Of some card of the deck more were counted, or read, than the decks hold."""
    shoe = turn.shoe
    codes = (card.code for card in turn.game.deck.cards)
    known = (shoe.counts.get(code, 0) + shoe.overruled.get(code, 0) for code in codes)
    return any(count > shoe.decks for count in known)


def is_shoe_empty(turn: Turn) -> bool:
    """Every card of the set is out."""
    shoe = turn.now.shoe
    assert shoe is not None
    return shoe.drawn - shoe.returned + shoe.uncounted >= shoe.decks * len(turn.game.deck.cards)


def has_no_shoe(turn: Turn) -> bool:
    """The table has no set of cards, whatever state it is in."""
    return turn.now.shoe is None


def has_lost_cards(turn: Turn) -> bool:
    """The shoe says that more cards are out than ever reached this table."""
    shoe = turn.now.shoe
    return shoe is not None and shoe.told_drawn > shoe.drawn


def check_cutting_card(turn: Turn, _args: object = None) -> Message | None:
    """What stands against declaring that the cutting card came."""
    if has_no_shoe(turn):
        return message("refused_no_shoe")
    return message("refused_cutting_card_is_out") if turn.shoe.cutting_card_out else None


def is_change_due(turn: Turn) -> bool:
    """The rounds that may follow the cutting card are played, or no card may be drawn again."""
    shoe = turn.shoe
    played = shoe.rounds_since_cutting_card > turn.settings.rounds_after_cutting_card
    return is_shoe_empty(turn) or shoe.to_be_replaced or (shoe.cutting_card_out and played)


def is_last_round(turn: Turn) -> bool:
    """No further round may follow the one that is open, or was played last."""
    shoe = turn.shoe
    played = shoe.rounds_since_cutting_card + (0 if turn.now.round is None else 1)
    over = shoe.cutting_card_out and played > turn.settings.rounds_after_cutting_card
    return is_shoe_empty(turn) or over


# What is done.


def note_cutting_card(turn: Turn) -> None:
    """The cutting card is out: it is removed, and the round is completed."""
    if turn.shoe.cutting_card_out:
        return
    turn.set_shoe(cutting_card_out=True)
    dealt = () if turn.now.round is None else turn.now.round.cards
    first = not dealt and not turn.now.opening
    seen = message("seen_cutting_card_first") if first else message("seen_cutting_card_in_round")
    rule = turn.game.rule("cutting_card", "completed")
    turn.tell("irregularity.raised", {"key": "cutting_card", "seen": seen.as_data(), "rule": rule})
    how = {"how": "removed", "rule": rule}
    turn.tell("irregularity.resolved", {"key": "cutting_card", **how})


def void_if_shoe_is_empty(turn: Turn) -> None:
    """With no card left the initial deal cannot be completed."""
    if turn.state == "dealing" and is_shoe_empty(turn):
        turn.then("cards_ran_out")


def replace_before_next(turn: Turn, rule: str | None = None) -> None:
    """No further round is dealt from these cards, whatever becomes of the one in progress.

    For the rules that want the cards replaced (N/T/F 5.12.2; 5.11.5): as an action of an end.
    ``rule`` is told when the change is due.
    """
    turn.set_shoe(to_be_replaced=True, replaced_under=rule)


def announce_shoe_change(turn: Turn) -> None:
    """No further round is dealt from this shoe."""
    shoe = turn.shoe
    under = {"rule": shoe.replaced_under} if shoe.to_be_replaced else {}
    turn.tell("shoe.change_due", {"shoe_id": shoe.id, **under})


def burn(turn: Turn) -> None:
    """A card burned by the opening procedure: counted, never played."""
    _count_unplaced(turn, turn.drawn.card, "burn", None, turn.drawn.number)


def count_unplaced(turn: Turn) -> None:
    """A card that the controller puts into no slot: counted, with the slot the shoe named."""
    drawn = turn.drawn
    _count_unplaced(turn, drawn.card, drawn.hand, drawn.index, drawn.number)


def count_outside_game(turn: Turn) -> None:
    """A card drawn while the shoe was in no game: counted as set aside, and noted by a halt."""
    event, halt = turn.shoe_event, turn.now.halt
    assert isinstance(event, CardOutsideGame)
    _count_unplaced(turn, event.card, "set_aside", None, None)
    if halt is not None and turn.now.shoe is not None:
        came_after = turn.now.irregularities
        out = UnplacedCard(
            card=event.card, number=turn.shoe.drawn, role="outside_game", came_after=came_after
        )
        turn.change(unplaced=(*turn.now.unplaced, out))


def count_without_slot(turn: Turn, card: Card | None, number: int | None) -> None:
    """A card for which nothing names a slot."""
    _count_unplaced(turn, card, None, None, number)


def _count_unplaced(
    turn: Turn, card: Card | None, hand: str | None, index: int | None, number: int | None
) -> None:
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
    turn.tell_restricted("round.card_drawn", data)


def count_card(turn: Turn, card: Card | None, number: int | None) -> None:
    """Enter a card in the ledger under its number: no card twice, those passed over as unseen."""
    shoe = turn.now.shoe
    assert shoe is not None
    number = shoe.drawn + 1 if number is None else number
    if number <= shoe.drawn:
        return
    if number > shoe.drawn + 1:
        passed_over = range(shoe.drawn + 1, number)
        missed = (*shoe.missed, *passed_over)
        turn.set_shoe(missed=missed, unseen=shoe.unseen + len(passed_over))
    if card is None:
        turn.set_shoe(drawn=number, unseen=turn.shoe.unseen + 1)
    else:
        counts = {**shoe.counts, card.code: shoe.counts.get(card.code, 0) + 1}
        turn.set_shoe(drawn=number, counts=counts)


def uncount_last(turn: Turn, card: Card | None, *, shown: bool) -> None:
    """The draw counted last never was: nothing was entered of it, or ``shown`` to the room."""
    shoe = turn.shoe
    entered = {n: code for n, code in shoe.entered.items() if n != shoe.drawn}
    if card is None:
        turn.set_shoe(unseen=shoe.unseen - 1)
    else:
        seen = _one_less(shoe.shown, card) if shown else shoe.shown
        turn.set_shoe(counts=_one_less(shoe.counts, card), shown=seen)
    turn.set_shoe(drawn=shoe.drawn - 1, entered=entered)


def note_entered(turn: Turn, number: int, code: str | None) -> None:
    """People entered this draw; the shoe's own record of it may still come."""
    missed = tuple(n for n in turn.shoe.missed if n != number)
    turn.set_shoe(entered={**turn.shoe.entered, number: code}, missed=missed)


def show_card(turn: Turn, card: Card) -> None:
    """The room has seen this card of the shoe."""
    if turn.now.shoe is not None:
        turn.set_shoe(shown=_one_more(turn.shoe.shown, card))


def show_other_card(turn: Turn, wrong: Card, right: Card) -> None:
    """What the room was told of as one card was another."""
    turn.set_shoe(shown=_one_more(_one_less(turn.shoe.shown, wrong), right))


def forget_card(turn: Turn, card: Card) -> None:
    """A card that was counted lies where nobody knows it any more."""
    shoe = turn.shoe
    turn.set_shoe(unseen=shoe.unseen + 1, counts=_one_less(shoe.counts, card))


def return_card(turn: Turn, card: Card | None) -> None:
    """A card that was counted is in the shoe again: drawn anew, it is a draw of its own."""
    shoe = turn.shoe
    known = shoe.unseen if card is None else shoe.counts.get(card.code, 0)
    if not known:
        return  # the ledger has it as something else: between them only a count decides
    if card is None:
        turn.set_shoe(returned=shoe.returned + 1, unseen=shoe.unseen - 1)
    else:
        turn.set_shoe(returned=shoe.returned + 1, counts=_one_less(shoe.counts, card))


def name_unknown_card(turn: Turn, card: Card) -> None:
    """One of the cards that were counted and not known is this."""
    shoe = turn.shoe
    turn.set_shoe(unseen=shoe.unseen - 1, counts=_one_more(shoe.counts, card))
    _check_too_many(turn, card)


def correct_count(turn: Turn, wrong: Card, right: Card) -> None:
    """A card that was counted as another: what the room has seen is not touched."""
    turn.set_shoe(counts=_one_more(_one_less(turn.shoe.counts, wrong), right))
    _check_too_many(turn, right)


def overrule_reading(turn: Turn, read: Card, right: Card) -> None:
    """The shoe read a card that lay face down otherwise than people know it: both are kept."""
    correct_count(turn, read, right)
    turn.set_shoe(overruled=_one_more(turn.shoe.overruled, read))


def note_reading(turn: Turn, read: Card) -> None:
    """The shoe's record names another card than people entered: one too many is looked for."""
    turn.set_shoe(overruled=_one_more(turn.shoe.overruled, read))
    _check_too_many(turn, read)


def confirm_reading(turn: Turn, read: Card) -> None:
    """A reading that was overruled was right after all."""
    turn.set_shoe(overruled=_one_less(turn.shoe.overruled, read))


def recount_card(turn: Turn, was: Card, counted: Card) -> None:
    """A card that left the table is the one that was counted, whatever the shoe read of it."""
    if was != counted:
        counts = _one_more(_one_less(turn.shoe.counts, was), counted)
        turn.set_shoe(counts=counts, overruled=_one_more(turn.shoe.overruled, was))


def _check_too_many(turn: Turn, card: Card) -> None:
    """What people enter may show that a card still hidden was not the shoe's."""
    shoe = turn.shoe
    known = shoe.counts.get(card.code, 0) + shoe.overruled.get(card.code, 0)
    if known > shoe.decks or card not in turn.game.deck:
        turn.then("one_too_many")


def _one_more(counts: dict[str, int], card: Card) -> dict[str, int]:
    return {**counts, card.code: counts.get(card.code, 0) + 1}


def _one_less(counts: dict[str, int], card: Card) -> dict[str, int]:
    left = {**counts, card.code: counts[card.code] - 1}
    return {code: count for code, count in left.items() if count}


def note_status(turn: Turn) -> None:
    """Remember how many cards the shoe says are out."""
    event = turn.shoe_event
    assert isinstance(event, Status)
    if turn.now.loaded is not None:
        waiting = msgspec.structs.replace(turn.now.loaded, drawn=event.drawn)
        turn.change(loaded=waiting)
    elif turn.now.shoe is not None and turn.now.shoe.told_drawn != event.drawn:
        turn.set_shoe(told_drawn=event.drawn)


def write_off_lost_cards(turn: Turn) -> None:
    """Cards that the shoe counts and this table will never hear of are unseen."""
    if has_lost_cards(turn):
        shoe = turn.shoe
        lost = shoe.told_drawn - shoe.drawn
        turn.set_shoe(drawn=shoe.told_drawn, unseen=shoe.unseen + lost)


COUNT_PROFILES = "counts"
"""The step at which a gap begins where the shoe refuses a draw and counts other cards out; what
tells that gap from others."""


# What was seen.


def are_counts_known(now: TableState) -> bool:
    """The shoe is there, says itself what it counts, and holds the cards of this table."""
    link = now.link
    known = link.up and link.met and link.replay
    return known and now.shoe is not None and now.loaded is None


def uncounted_entries(standing: TableView) -> tuple[int, ...]:
    """The numbers of the draws that people entered and that the shoe does not count."""
    now = standing.now
    if not are_counts_known(now) or now.shoe is None:
        return ()
    return tuple(sorted(n for n in now.shoe.entered if n > now.shoe.told_drawn))


def shoe_has_fewer(standing: TableView) -> bool:
    """The shoe counts fewer cards out than the table: some were entered, or it is asked about it.

    Else what the shoe shows of a card is only on its way behind the card.
    """
    now = standing.now
    if not are_counts_known(now) or now.shoe is None or now.shoe.told_drawn >= now.shoe.drawn:
        return False
    return bool(uncounted_entries(standing)) or (
        now.halt is not None and now.halt.top.subject == COUNT_PROFILES
    )


def last_entered(standing: TableView) -> DealtCard | None:
    """The card of the round that was counted last, where people entered it and the shoe did not."""
    played, numbers = standing.now.round, uncounted_entries(standing)
    cards = () if played is None else played.cards
    last = max(cards, key=lambda dealt: dealt.number, default=None)
    return last if last is not None and last.number in numbers else None


def public_counts(standing: TableView) -> dict[str, Any]:
    """Both counts, where they differ: everyone at the table can count."""
    now = standing.now
    if not are_counts_known(now) or now.shoe is None:
        return {}
    if not (shoe_has_fewer(standing) or now.shoe.told_drawn > now.shoe.drawn):
        return {}
    return {"counts": {"table": now.shoe.drawn, "shoe": now.shoe.told_drawn}}


# What is done.


def remove_never_drawn(turn: Turn, dealt: DealtCard) -> None:
    """The card was never drawn: its place is free, and no draw is counted."""
    uncount_last(turn, dealt.card, shown=dealt.revealed)
    third = (dealt.hand, dealt.index) not in INITIAL_DEAL
    cards = tuple(d for d in turn.round.cards if d is not dealt)
    turn.set_round(cards=cards, due=dealt.hand if third else None, complete_us=None)


def adopt_shoe_count(turn: Turn) -> None:
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
