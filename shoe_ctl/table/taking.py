"""Cards that a Player took away: which they are, by the shoe, by surveillance, by a count.

In: what is declared and said of them. Out: the round's cards named, or replaced; the ledger's
opinion. Must not know: which step is open, who may say it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from firmware_proto.cards import Card, card
from shoe_ctl.texts.message import Message, message

from . import entering, passing, placing, pulls, revealing, shoe_cards
from .arguments import OfChoice, OfKey, checked
from .irregularities.grounds import note
from .rows import Objection
from .state import DealtCard, Round, TableState
from .turn import TableView, Turn

KEY = "card_taken"
_HANDS = {"player": ("player",), "banker": ("banker",), "both": ("player", "banker")}


class OfTaken(OfKey, frozen=True, kw_only=True):
    """Which hand's cards are gone: all that lie face down, or the one of this index."""

    hand: Literal["player", "banker", "both"]
    index: int | None = None


class OfCards(OfChoice, frozen=True, kw_only=True):
    """The cards that are gone, by their codes: Player's before Banker's, each hand's in order."""

    cards: str


class OfSource(OfChoice, frozen=True, kw_only=True):
    """Who knows the value; ``against_reading``: they are right, whatever the shoe read."""

    source: Literal["shoe", "surveillance"]
    against_reading: bool = False


class OfCount(OfCards, frozen=True, kw_only=True):
    """What was counted. ``short``: all that the sorted decks and the cards in play lack.

    Those are the cards that are gone and the ones laid aside, as codes in any order.
    """

    short: str | None = None


# What was seen.


def gone(standing: TableView) -> list[DealtCard]:
    """The cards that are gone: those named that nobody has seen, Player's before Banker's."""
    halt, played = standing.now.halt, standing.now.round
    assert halt is not None and played is not None
    noted = halt.top.noted
    return _face_down(played, noted["hand"], noted.get("index"))


def places(now: TableState) -> set[tuple[str, int]]:
    """Where cards of the round are gone: whatever is open, nobody can turn them over."""
    played, stack = now.round, () if now.halt is None else now.halt.stack
    if played is None:
        return set()
    noted = [opened.noted for opened in stack if opened.key == KEY]
    missing = (_face_down(played, each["hand"], each.get("index")) for each in noted)
    return {(dealt.hand, dealt.index) for each in missing for dealt in each}


def _face_down(played: Round, hand: str, index: int | None) -> list[DealtCard]:
    return [dealt for name in _HANDS[hand] for dealt in played.face_down(name, index)]


def told(standing: TableView) -> dict[str, Any]:
    """Which places are empty: all at the table can see them."""
    return {"gone": [dealt.place for dealt in gone(standing)]}


def check_taken(turn: Turn, args: OfTaken | None) -> Message | None:
    """What stands against declaring that a Player left with these cards."""
    hand, index = ("both", None) if args is None else (args.hand, args.index)
    if _face_down(turn.round, hand, index):
        return None
    return message("refused_no_such_card_gone")


def check_seen(turn: Turn, args: OfCards | None) -> Message | None:
    """What is wrong with the cards that surveillance names."""
    return None if args is None else _check_codes(turn, args.cards)


def check_source(turn: Turn, args: OfSource | None) -> Objection | Message | None:
    """What stands against going on with the value: whoever is named does not know it."""
    if args is None:
        why = _check_surveillance(turn)
        return None if why is None else _check_shoe(turn) and why
    if args.against_reading and (low := entering.too_low_against_reading(turn)) is not None:
        return low
    return _check_surveillance(turn) if args.source == "surveillance" else _check_shoe(turn)


def _check_surveillance(turn: Turn) -> Message | None:
    known = "cards" in turn.current.noted
    return None if known else message("refused_surveillance_first")


def _check_shoe(turn: Turn) -> Message | None:
    unknown = [dealt for dealt in gone(turn) if dealt.card is None]
    if any(pulls.find(turn.now, dealt.number) is not None for dealt in unknown):
        return message("refused_drawn_with_others")
    return message("refused_shoe_did_not_read") if unknown else None


def contradicts_reading(turn: Turn) -> bool:
    """Surveillance saw another card than the shoe read."""
    args = checked(turn, OfSource)
    if args.source != "surveillance" or args.against_reading:
        return False
    named = zip(gone(turn), turn.current.noted["cards"], strict=True)
    return _differs(turn, [(dealt, card(code)) for dealt, code in named])


def _differs(turn: Turn, named: list[tuple[DealtCard, Card]]) -> bool:
    """What the shoe read of these cards says otherwise."""
    if any(dealt.card not in (None, face) for dealt, face in named):
        return True
    unknown = [(dealt.number, face) for dealt, face in named if dealt.card is None]
    return not pulls.can_be(turn.now, unknown)


def check_count(turn: Turn, args: OfCount | None) -> Message | None:
    """What is wrong with the cards that were counted."""
    if args is None:
        return None
    if (why := _check_codes(turn, args.cards)) is not None or args.short is None:
        return why
    wanted = len(gone(turn)) + len(turn.now.ahead)
    return _check_cards(turn, args.short, wanted)


def _check_codes(turn: Turn, codes: str) -> Message | None:
    return _check_cards(turn, codes, len(gone(turn)))


def _check_cards(turn: Turn, codes: str, wanted: int) -> Message | None:
    """Whether so many cards of the deck are named. Nothing that lies face down is looked at."""
    for code in codes.split():
        if (why := entering.check_card_of_deck(turn, code)) is not None:
            return why
    named = len(codes.split())
    if named == wanted:
        return None
    return message("refused_cards_named", named=named, missing=wanted)


# What is done.


def note_seen(turn: Turn) -> None:
    """Surveillance says what it saw; those who may know it are told whether the shoe agrees."""
    codes = checked(turn, OfCards).cards.split()
    note(turn, cards=codes)
    _tell_opinion(turn, "surveillance_saw", codes, shoe=_shoes_opinion(turn, codes))


def take_value(turn: Turn) -> None:
    """The value is known: the room knows the cards too, and the round finishes with them."""
    missing = gone(turn)
    if checked(turn, OfSource).source == "surveillance":
        for dealt, code in zip(missing, turn.current.noted["cards"], strict=True):
            _name(turn, dealt, card(code))
    _show(turn, missing, "value_known")


def _name(turn: Turn, dealt: DealtCard, face: Card) -> None:
    """This is the card that lay there, by what was seen of it."""
    entering.name(turn, dealt, face)
    entering.tell_entered(turn, dealt.hand, dealt.index, face)


def note_sorted(turn: Turn) -> None:
    """The shoe's cards lie on the table: this round gets none from it any more."""
    turn.set_round(shoe_sorted=True)


def note_count(turn: Turn) -> None:
    """The count decides; whether shoe and decks agree with it is told to those who may know."""
    args = checked(turn, OfCount)
    codes = args.cards.split()
    note(turn, counted=codes)
    decks = None if args.short is None else _decks_opinion(turn, codes, args.short.split())
    _tell_opinion(turn, "counted", codes, shoe=_shoes_opinion(turn, codes), decks=decks)


def _shoes_opinion(turn: Turn, codes: list[str]) -> str:
    """What the shoe has read of the cards, against what is said of them."""
    read = [dealt.card.code for dealt in gone(turn) if dealt.card is not None]
    if len(read) < len(codes):
        return "unread"
    return "agrees" if Counter(read) == Counter(codes) else "differs"


def _decks_opinion(turn: Turn, codes: list[str], short: list[str]) -> str:
    """What the decks lack, less the cards laid aside, against what is said to be missing."""
    aside = turn.now.ahead
    laid = [kept.card.code for kept in aside if kept.card is not None]
    if (pull := pulls.find(turn.now, aside[0].number if aside else None)) is not None:
        laid += [card.code for card in pulls.left(pull) if card is not None]
    if len(laid) < len(aside):
        return "unread"
    return "agrees" if Counter(short) == Counter(laid) + Counter(codes) else "differs"


def _tell_opinion(turn: Turn, step: str, codes: list[str], **opinions: str | None) -> None:
    data = {"key": KEY, "step": step, "cards": codes}
    turn.tell_restricted("irregularity.step", {**data, **opinions})


def replace(turn: Turn) -> None:
    """Cards of the same face from a complete deck lie in their place; the room has seen them."""
    missing = gone(turn)
    for dealt, code in zip(missing, turn.current.noted["counted"], strict=True):
        face = card(code)
        if dealt.card is None:
            pulls.name(turn, dealt.number, face)
        else:
            shoe_cards.recount(turn, dealt.card, face)
        placing.set_card(turn, (dealt.hand, dealt.index), face, entered=True)
        data = {"round_id": turn.round.id, "hand": dealt.hand, "index": dealt.index}
        rule = turn.game.rule(KEY, "replaced")
        turn.tell("cards.replaced", {**data, "rule": rule})
        entering.tell_entered(turn, dealt.hand, dealt.index, face)
    # What the shoe makes of the round rests on cards that it is not played with.
    turn.set_round(result_overruled=True)
    _show(turn, missing, "replaced")


def _show(turn: Turn, missing: list[DealtCard], end: str) -> None:
    """The room knows the cards; what is still to come of these hands the dealer exposes."""
    exposed = {"by": "dealer", "rule": turn.game.rule(KEY, end)}
    places = [(dealt.hand, dealt.index) for dealt in missing]
    if turn.is_handed:
        for hand in dict.fromkeys(hand for hand, _ in places):
            passing.give_to_dealer(turn, hand)
    revealing.reveal(turn, [placing.find(turn, place) for place in places], exposed)
