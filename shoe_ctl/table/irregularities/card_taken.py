"""Cards that a Player took away: which they are, by the shoe, by surveillance, by a count.

In: what is declared and said of them. Out: the round's cards named, or replaced; the ledger's
opinion. Must not know: which step is open, who may say it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from firmware_proto.cards import Card, card
from shoe_ctl.texts.message import Message, message

from ..arguments import ChoiceArgs, DeclarationArgs, require_args
from ..procedures.procedure import DECIDES, Choice, Declared, End, Hears, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    GO_ON,
    align,
    cards_have_no_place,
    note,
    something_is_missing,
    stands,
    void,
)
from ..procedures.withdrawal import has_window, window_step
from ..round import card_entry, hands, pulls, reconstruct, reveal
from ..round import deal as dealing
from ..shoe import ledger as card_ledger
from ..state import DealtCard, Round, TableState
from ..turn import Objection, TableView, Turn
from .double_draw import ORDERED

CARD_TAKEN_KEY = "card_taken"
_HANDS = {"player": ("player",), "banker": ("banker",), "both": ("player", "banker")}


class TakenCards(DeclarationArgs, frozen=True, kw_only=True):
    """Which hand's cards are gone: all that lie face down, or the one of this index."""

    hand: Literal["player", "banker", "both"]
    index: int | None = None


class CardCodes(ChoiceArgs, frozen=True, kw_only=True):
    """The cards that are gone, by their codes: Player's before Banker's, each hand's in order."""

    cards: str


class ValueSource(ChoiceArgs, frozen=True, kw_only=True):
    """Who knows the value; ``against_reading``: they are right, whatever the shoe read."""

    source: Literal["shoe", "surveillance"]
    against_reading: bool = False


class MissingCards(CardCodes, frozen=True, kw_only=True):
    """What was counted. ``short``: all that the sorted decks and the cards in play lack.

    Those are the cards that are gone and the ones laid aside, as codes in any order.
    """

    short: str | None = None


# What was seen.


def missing_cards(standing: TableView) -> list[DealtCard]:
    """The cards that are gone: those named that nobody has seen, Player's before Banker's."""
    halt, played = standing.now.halt, standing.now.round
    assert halt is not None and played is not None
    noted = halt.top.noted
    return _face_down(played, noted["hand"], noted.get("index"))


def missing_places(now: TableState) -> set[tuple[str, int]]:
    """Where cards of the round are gone: whatever is open, nobody can turn them over."""
    played, stack = now.round, () if now.halt is None else now.halt.stack
    if played is None:
        return set()
    noted = [opened.noted for opened in stack if opened.key == CARD_TAKEN_KEY]
    missing = (_face_down(played, each["hand"], each.get("index")) for each in noted)
    return {(dealt.hand, dealt.index) for each in missing for dealt in each}


def _face_down(played: Round, hand: str, index: int | None) -> list[DealtCard]:
    return [dealt for name in _HANDS[hand] for dealt in played.face_down(name, index)]


def public_missing_places(standing: TableView) -> dict[str, Any]:
    """Which places are empty: all at the table can see them."""
    return {"gone": [dealt.place for dealt in missing_cards(standing)]}


def check_taken(turn: Turn, args: TakenCards | None) -> Message | None:
    """What stands against declaring that a Player left with these cards."""
    hand, index = ("both", None) if args is None else (args.hand, args.index)
    if _face_down(turn.round, hand, index):
        return None
    return message("refused_no_such_card_gone")


def check_seen(turn: Turn, args: CardCodes | None) -> Message | None:
    """What is wrong with the cards that surveillance names."""
    return None if args is None else _check_codes(turn, args.cards)


def check_source(turn: Turn, args: ValueSource | None) -> Objection | Message | None:
    """What stands against going on with the value: whoever is named does not know it."""
    if args is None:
        why = _check_surveillance(turn)
        return None if why is None else _check_shoe(turn) and why
    if args.against_reading and (low := card_entry.why_not_against_reading(turn)) is not None:
        return low
    return _check_surveillance(turn) if args.source == "surveillance" else _check_shoe(turn)


def _check_surveillance(turn: Turn) -> Message | None:
    known = "cards" in turn.current.noted
    return None if known else message("refused_surveillance_first")


def _check_shoe(turn: Turn) -> Message | None:
    unknown = [dealt for dealt in missing_cards(turn) if dealt.card is None]
    if any(pulls.find_pull(turn.now, dealt.number) is not None for dealt in unknown):
        return message("refused_drawn_with_others")
    return message("refused_shoe_did_not_read") if unknown else None


def sighting_contradicts_reading(turn: Turn) -> bool:
    """Surveillance saw another card than the shoe read."""
    args = require_args(turn, ValueSource)
    if args.source != "surveillance" or args.against_reading:
        return False
    named = zip(missing_cards(turn), turn.current.noted["cards"], strict=True)
    return _differs(turn, [(dealt, card(code)) for dealt, code in named])


def _differs(turn: Turn, named: list[tuple[DealtCard, Card]]) -> bool:
    """What the shoe read of these cards says otherwise."""
    if any(dealt.card not in (None, face) for dealt, face in named):
        return True
    unknown = [(dealt.number, face) for dealt, face in named if dealt.card is None]
    return not pulls.can_be_named(turn.now, unknown)


def check_count(turn: Turn, args: MissingCards | None) -> Message | None:
    """What is wrong with the cards that were counted."""
    if args is None:
        return None
    if (why := _check_codes(turn, args.cards)) is not None or args.short is None:
        return why
    wanted = len(missing_cards(turn)) + len(turn.now.ahead)
    return _check_cards(turn, args.short, wanted)


def _check_codes(turn: Turn, codes: str) -> Message | None:
    return _check_cards(turn, codes, len(missing_cards(turn)))


def _check_cards(turn: Turn, codes: str, wanted: int) -> Message | None:
    """Whether so many cards of the deck are named. Nothing that lies face down is looked at."""
    for code in codes.split():
        if (why := card_entry.check_card_of_deck(turn, code)) is not None:
            return why
    named = len(codes.split())
    if named == wanted:
        return None
    return message("refused_cards_named", named=named, missing=wanted)


# What is done.


def note_seen(turn: Turn) -> None:
    """Surveillance says what it saw; those who may know it are told whether the shoe agrees."""
    codes = require_args(turn, CardCodes).cards.split()
    note(turn, cards=codes)
    _tell_opinion(turn, "surveillance_saw", codes, shoe=_shoes_opinion(turn, codes))


def accept_value(turn: Turn) -> None:
    """The value is known: the room knows the cards too, and the round finishes with them."""
    missing = missing_cards(turn)
    if require_args(turn, ValueSource).source == "surveillance":
        for dealt, code in zip(missing, turn.current.noted["cards"], strict=True):
            _name(turn, dealt, card(code))
    _show(turn, missing, "value_known")


def _name(turn: Turn, dealt: DealtCard, face: Card) -> None:
    """This is the card that lay there, by what was seen of it."""
    card_entry.name_card(turn, dealt, face)
    card_entry.emit_card_entered(turn, dealt.hand, dealt.index, face)


def note_sorted(turn: Turn) -> None:
    """The shoe's cards lie on the table: this round gets none from it any more."""
    turn.set_round(shoe_sorted=True)


def note_count(turn: Turn) -> None:
    """The count decides; whether shoe and decks agree with it is told to those who may know."""
    args = require_args(turn, MissingCards)
    codes = args.cards.split()
    note(turn, counted=codes)
    decks = None if args.short is None else _decks_opinion(turn, codes, args.short.split())
    _tell_opinion(turn, "counted", codes, shoe=_shoes_opinion(turn, codes), decks=decks)


def _shoes_opinion(turn: Turn, codes: list[str]) -> str:
    """What the shoe has read of the cards, against what is said of them."""
    read = [dealt.card.code for dealt in missing_cards(turn) if dealt.card is not None]
    if len(read) < len(codes):
        return "unread"
    return "agrees" if Counter(read) == Counter(codes) else "differs"


def _decks_opinion(turn: Turn, codes: list[str], short: list[str]) -> str:
    """What the decks lack, less the cards laid aside, against what is said to be missing."""
    aside = turn.now.ahead
    laid = [kept.card.code for kept in aside if kept.card is not None]
    if (pull := pulls.find_pull(turn.now, aside[0].number if aside else None)) is not None:
        laid += [card.code for card in pulls.remaining_counts(pull) if card is not None]
    if len(laid) < len(aside):
        return "unread"
    return "agrees" if Counter(short) == Counter(laid) + Counter(codes) else "differs"


def _tell_opinion(turn: Turn, step: str, codes: list[str], **opinions: str | None) -> None:
    data = {"key": CARD_TAKEN_KEY, "step": step, "cards": codes}
    turn.tell_restricted("irregularity.step", {**data, **opinions})


def replace_taken_cards(turn: Turn) -> None:
    """Cards of the same face from a complete deck lie in their place; the room has seen them."""
    missing = missing_cards(turn)
    for dealt, code in zip(missing, turn.current.noted["counted"], strict=True):
        face = card(code)
        if dealt.card is None:
            pulls.name_pulled_card(turn, dealt.number, face)
        else:
            card_ledger.recount_card(turn, dealt.card, face)
        dealing.set_card(turn, (dealt.hand, dealt.index), face, entered=True)
        data = {"round_id": turn.round.id, "hand": dealt.hand, "index": dealt.index}
        rule = turn.game.rule(CARD_TAKEN_KEY, "replaced")
        turn.tell("cards.replaced", {**data, "rule": rule})
        card_entry.emit_card_entered(turn, dealt.hand, dealt.index, face)
    # What the shoe makes of the round rests on cards that it is not played with.
    turn.set_round(result_overruled=True)
    _show(turn, missing, "replaced")


def _show(turn: Turn, missing: list[DealtCard], end: str) -> None:
    """The room knows the cards; what is still to come of these hands the dealer exposes."""
    exposed = {"by": "dealer", "rule": turn.game.rule(CARD_TAKEN_KEY, end)}
    places = [(dealt.hand, dealt.index) for dealt in missing]
    if turn.is_handed:
        for hand in dict.fromkeys(hand for hand, _ in places):
            hands.give_to_dealer(turn, hand)
    reveal.reveal(turn, [dealing.find_card(turn, place) for place in places], exposed)


def _shoe_is_empty(standing: TableView) -> bool:
    shoe = standing.now.shoe
    assert shoe is not None
    return shoe.drawn - shoe.returned >= shoe.decks * len(standing.game.deck.cards)


def _gives_cards(standing: TableView) -> bool:
    return not _shoe_is_empty(standing)


def _draws(index: int, then: str) -> Step:
    """One of the two cards is drawn and laid aside (5.11.1)."""
    words = "first" if index == 1 else "second"

    def armed(standing: TableView) -> tuple[str, int] | None:
        return (reconstruct.HAND, index) if _gives_cards(standing) else None

    return Step(
        f"{words}_aside",
        message("prompt_card_taken_draw", card=index),
        (
            Choice("shoe_is_empty", DECIDES, "sort", when=_shoe_is_empty, reason=False),
            GO_ON,
            CALL_VOID,
        ),
        (
            Hears("card_drawn", reconstruct.is_next_card, then, (reconstruct.set_aside_next,)),
            Hears(
                "cards_drawn",
                reconstruct.are_next_two_in_order,
                "sort",
                (reconstruct.set_aside_two,),
            ),
            Hears(
                "cards_drawn", reconstruct.are_next_two, "ordering", (reconstruct.set_aside_two,)
            ),
        ),
        facts=public_missing_places,
        arms=armed,
        cites=(CARD_TAKEN_KEY, "two_set_aside"),
    )


def _asks_players(standing: TableView) -> bool:
    """Each Player may withdraw what is not decided, or play on (5.8.2.2)."""
    return has_window(standing, ORDERED)


def _asks_nobody(standing: TableView) -> bool:
    return not _asks_players(standing)


def _first_is(which: str) -> tuple[Choice, Choice]:
    """The pit manager says which of the two comes first (5.8.2.2)."""

    def say(turn: Turn) -> None:
        note(turn, first=which)

    to_window = Choice(f"{which}_first", "pit_manager", "remaining", (say,), when=_asks_players)
    return to_window, to_window._replace(then="sort", when=_asks_nobody)


def _check_known(turn: Turn, args: ValueSource | None) -> Objection | Message | None:
    return check_source(turn, args) or something_is_missing(turn)


def _why_not_unknown(turn: Turn, _args: object = None) -> Message | None:
    """What stands against going by the count: two cards could not complete the round."""
    if turn.resume_state != "revealing":
        return message("refused_initial_deal_open")
    return something_is_missing(turn)


def _must_be_replaced(turn: Turn) -> None:
    card_ledger.replace_before_next(turn, turn.game.rule(CARD_TAKEN_KEY, "shoe_replaced"))


_COUNTED = Choice(
    "determined", DECIDES, "replace", (note_count,), check_count,
    reason=False, second=True, takes=MissingCards,
)  # fmt: skip

CARD_TAKEN = Procedure(
    CARD_TAKEN_KEY,
    (
        Step(
            "value",
            message("prompt_card_taken_value"),
            (
                Choice(
                    "seen", "surveillance", "value", (note_seen,), check_seen,
                    reason=False, takes=CardCodes,
                ),
                Choice(
                    "value_known", "pit_supervisor", "known",
                    (accept_value, _must_be_replaced, align),
                    _check_known,
                    reason=False, second=True, takes=ValueSource,
                    contradicts=sighting_contradicts_reading,
                ),
                Choice("not_known", DECIDES, "first_aside", unless=_why_not_unknown),
                GO_ON,
                CALL_VOID,
            ),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "value_known"),
        ),
        _draws(1, "second_aside"),
        _draws(2, "sort"),
        Step(
            "ordering",
            message("prompt_card_taken_ordering"),
            (*_first_is("upper"), *_first_is("lower"), CALL_VOID),
            facts=public_missing_places,
            cites=("double_draw", "ordered"),
        ),
        window_step(
            "remaining",
            message("prompt_remaining_window"),
            ORDERED,
            "sort",
            CALL_VOID,
        ),
        Step(
            "sort",
            message("prompt_card_taken_sort"),
            (
                Choice(
                    "sorted", DECIDES, "determine", (note_sorted, _must_be_replaced),
                    cards_have_no_place, reason=False,
                ),
                CALL_VOID,
            ),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "sorted"),
        ),
        Step(
            "determine",
            message("prompt_card_taken_determine"),
            (_COUNTED, CALL_VOID),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "determined"),
        ),
        Step(
            "replace",
            message("prompt_card_taken_replace"),
            (
                Choice(
                    "replaced", DECIDES, "finished", (replace_taken_cards,), cards_have_no_place,
                    reason=False, second=True,
                ),
                _COUNTED,
                CALL_VOID,
            ),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "replaced"),
        ),
    ),
    (
        End("known", "value_known", (CARD_TAKEN_KEY, "value_known")),
        End("finished", "replaced", (CARD_TAKEN_KEY, "finished")),
        stands(),
        void(),
    ),
    Declared(
        "dealer",
        ("dealing", "revealing", "suspended"),
        message("seen_card_taken_declared"),
        TakenCards,
        check_taken,
    ),
    of_cards=True,
)  # fmt: skip
