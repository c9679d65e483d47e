"""A Player left the table with cards (``card_taken``, 5.11).

Rule: if the value is known, from the shoe or from surveillance, the round finishes with it. Else,
with the shift manager present, two cards are drawn and set aside; the rest of the shoe and the
discards are sorted and counted. The count decides which cards are gone, the ledger only checks it.
Cards of the same face from a complete deck replace them, and the round is finished. Either way the
cards are replaced before the next round *(reading where the value is known)*.

In: what people declare, saw and counted. Out: ``CARD_TAKEN``; the cards named, or replaced; how
count, readings and decks agree, for those who may know it.
Must not know: who may take which choice beyond what the procedure says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.table.arguments import Cards, ChoiceArgs, DeclarationArgs, require_args
from shoe_ctl.table.irregularities import overdraw
from shoe_ctl.table.irregularities.double_draw import ORDERED, choices_of_first_card
from shoe_ctl.table.procedures import withdrawal
from shoe_ctl.table.procedures.procedure import (
    DECIDES,
    Accepts,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
)
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    SET_ASIDE,
    align,
    check_can_resume,
    check_no_unplaced_cards,
    end_play_on,
    end_set_aside,
    end_void,
    require_new_cards,
    update_data,
)
from shoe_ctl.table.procedures.withdrawal import window_step
from shoe_ctl.table.round import card_entry, cards_ahead, hands, reveal, unordered_cards
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import (
    ASIDE,
    DealtCard,
    OpenIrregularity,
    Round,
    TableState,
    subject_of_draw,
)
from shoe_ctl.table.turn import Objection, TableView, Turn
from shoe_ctl.texts.message import Message, message

CARD_TAKEN_KEY = "card_taken"

NOT_DUE = "not_due"
"""The step at which it is decided what becomes of a taken card that no hand is due."""

CARD = "card"
"""Key of stored data: the subject of the taken card once it is in no hand."""

_HANDS = {"player": ("player",), "banker": ("banker",), "both": ("player", "banker")}


# Detection


class TakenCards(DeclarationArgs, frozen=True, kw_only=True):
    """The hand whose cards are gone: all that lie face down, or the one of this index."""

    hand: Literal["player", "banker", "both"]
    index: int | None = None


def check_taken(turn: Turn, args: TakenCards | None) -> Message | None:
    """Return why it cannot be declared that a Player left with these cards."""
    hand, index = ("both", None) if args is None else (args.hand, args.index)
    if _face_down(turn.round, hand, index):
        return None
    return message("refused_no_such_card_gone")


# Which cards are gone


def missing_cards(view: TableView) -> list[DealtCard]:
    """Return the cards that are gone and that nobody has seen, Player's before Banker's."""
    return _missing_of(view.round, view.current)


def missing_places(now: TableState) -> set[tuple[str, int]]:
    """Return where cards of the round are gone: whatever is open, nobody can turn them over."""
    played, stack = now.round, () if now.halt is None else now.halt.stack
    if played is None:
        return set()
    missing = (_missing_of(played, one) for one in stack if one.key == CARD_TAKEN_KEY)
    return {(dealt.hand, dealt.index) for each in missing for dealt in each}


def name_place(turn: Turn) -> None:
    """Note where the one card lies that was declared by its hand alone: a correction may move it.

    A third card is the only one that lies face down: those that imply it lie open.
    """

    def named(opened: OpenIrregularity) -> OpenIrregularity:
        missing = _missing_of(turn.round, opened)
        if len(missing) != 1:
            return opened
        place = {"hand": missing[0].hand, "index": missing[0].index}
        return msgspec.structs.replace(opened, data={**opened.data, **place})

    _replace_opened(turn, named)


def leave_round(turn: Turn, was: DealtCard) -> None:
    """Let the round do without a taken card that by the corrected cards is nobody's."""

    def not_due(opened: OpenIrregularity) -> OpenIrregularity:
        if was not in _missing_of(turn.round, opened):
            return opened
        withdrawal.emit_window_closed(turn, opened, "stands")
        subject = subject_of_draw(was.number)
        return msgspec.structs.replace(
            opened, step=NOT_DUE, window=None, data={**opened.data, CARD: subject}
        )

    _replace_opened(turn, not_due)


def _missing_of(played: Round, opened: OpenIrregularity) -> list[DealtCard]:
    return _face_down(played, opened.data["hand"], opened.data.get("index"))


def _replace_opened(turn: Turn, new: Callable[[OpenIrregularity], OpenIrregularity]) -> None:
    """Replace what is open about taken cards."""
    if (halt := turn.now.halt) is not None:
        opened = tuple(new(one) if one.key == CARD_TAKEN_KEY else one for one in halt.stack)
        turn.change(halt=msgspec.structs.replace(halt, stack=opened))


def _face_down(played: Round, hand: str, index: int | None) -> list[DealtCard]:
    return [dealt for name in _HANDS[hand] for dealt in played.face_down(name, index)]


def public_missing_places(view: TableView) -> dict[str, Any]:
    """Return which places are empty. All at the table can see them."""
    return {"gone": [dealt.place for dealt in missing_cards(view)]}


# The value is known: conditions


class CardCodes(ChoiceArgs, frozen=True, kw_only=True):
    """The cards that are gone, by their codes: Player's before Banker's, each hand's in order."""

    cards: Cards


class ValueSource(ChoiceArgs, frozen=True, kw_only=True):
    """The source of the value. ``against_reading``: it is right, whatever the shoe read."""

    source: Literal["shoe", "surveillance"]
    against_reading: bool = False


def check_seen(turn: Turn, args: CardCodes | None) -> Message | None:
    """Return what is wrong with the cards that surveillance names."""
    return None if args is None else _check_codes(turn, args.cards)


def check_source(turn: Turn, args: ValueSource | None) -> Objection | Message | None:
    """Return what stands against going on with the value: whoever is named does not know it."""
    if args is None:
        why = _check_surveillance_knows(turn)
        return None if why is None else _check_shoe_knows(turn) and why
    if args.against_reading and (low := card_entry.check_against_reading(turn)) is not None:
        return low
    return (
        _check_surveillance_knows(turn)
        if args.source == "surveillance"
        else _check_shoe_knows(turn)
    )


def _check_value_known(turn: Turn, args: ValueSource | None) -> Objection | Message | None:
    return check_source(turn, args) or check_can_resume(turn)


def _check_surveillance_knows(turn: Turn) -> Message | None:
    """Return an objection if surveillance has not said what it saw."""
    known = "cards" in turn.current.data
    return None if known else message("refused_surveillance_first")


def _check_shoe_knows(turn: Turn) -> Message | None:
    """Return an objection if the shoe does not know which cards they are."""
    unknown = [dealt for dealt in missing_cards(turn) if dealt.card is None]
    if any(unordered_cards.find_pull(turn.now, dealt.number) is not None for dealt in unknown):
        return message("refused_drawn_with_others")
    return message("refused_shoe_did_not_read") if unknown else None


def _contradicts_reading(turn: Turn) -> bool:
    """Return True if surveillance saw another card than the shoe read."""
    args = require_args(turn, ValueSource)
    if args.source != "surveillance" or args.against_reading:
        return False
    named = zip(missing_cards(turn), turn.current.data["cards"], strict=True)
    return _differs(turn, [(dealt, card(code)) for dealt, code in named])


def _differs(turn: Turn, named: list[tuple[DealtCard, Card]]) -> bool:
    """Return True if the shoe read these cards otherwise."""
    if any(dealt.card not in (None, face) for dealt, face in named):
        return True
    unknown = [(dealt.number, face) for dealt, face in named if dealt.card is None]
    return not unordered_cards.can_be_named(turn.now, unknown)


# Actions


def record_sighting(turn: Turn) -> None:
    """Record what surveillance saw, and emit whether the shoe agrees, for those who may know it."""
    codes = require_args(turn, CardCodes).cards.split()
    update_data(turn, cards=codes)
    _emit_comparison(turn, "surveillance_saw", codes, shoe=_compare_with_readings(turn, codes))


def accept_value(turn: Turn) -> None:
    """Accept the value: the room knows the cards too, and the round finishes with them."""
    missing = missing_cards(turn)
    if require_args(turn, ValueSource).source == "surveillance":
        for dealt, code in zip(missing, turn.current.data["cards"], strict=True):
            _name_card(turn, dealt, card(code))
    _reveal_cards(turn, missing, "value_known")


def _name_card(turn: Turn, dealt: DealtCard, face: Card) -> None:
    """Name the card that lay there, by what was seen of it."""
    card_entry.name_card(turn, dealt, face)
    card_entry.emit_card_entered(turn, dealt.hand, dealt.index, face)


def _reveal_cards(turn: Turn, missing: list[DealtCard], end: str) -> None:
    """Reveal the cards. What is still to come of these hands the dealer exposes."""
    exposed = {"by": "dealer", "rule": turn.game.rule(CARD_TAKEN_KEY, end)}
    places = [(dealt.hand, dealt.index) for dealt in missing]
    if turn.is_handed:
        for hand in dict.fromkeys(hand for hand, _ in places):
            hands.give_to_dealer(turn, hand)
    reveal.reveal(turn, [dealing.find_card(turn, place) for place in places], exposed)


# The value is not known: conditions


class MissingCards(CardCodes, frozen=True, kw_only=True):
    """The cards that were counted.

    ``short``: all that the sorted decks and the cards in play lack. Those are the cards that are
    gone and the ones set aside, as codes in any order.
    """

    short: Cards | None = None


def _check_count_possible(turn: Turn, _args: object = None) -> Message | None:
    """Return why it cannot go by the count: two cards might not complete the round."""
    if turn.resume_state != "revealing":
        return message("refused_initial_deal_open")
    return check_can_resume(turn)


def check_count(turn: Turn, args: MissingCards | None) -> Message | None:
    """Return what is wrong with the cards that were counted."""
    if args is None:
        return None
    if (why := _check_codes(turn, args.cards)) is not None or args.short is None:
        return why
    wanted = len(missing_cards(turn)) + len(turn.now.ahead)
    return _check_cards(turn, args.short, wanted)


def _check_codes(turn: Turn, codes: str) -> Message | None:
    return _check_cards(turn, codes, len(missing_cards(turn)))


def _check_cards(turn: Turn, codes: str, wanted: int) -> Message | None:
    """Return an objection unless so many cards of the deck are named.

    Nothing that lies face down is looked at.
    """
    for code in codes.split():
        if (why := card_entry.check_card_of_deck(turn, code)) is not None:
            return why
    named = len(codes.split())
    if named == wanted:
        return None
    return message("refused_cards_named", named=named, missing=wanted)


# Actions


def note_sorted(turn: Turn) -> None:
    """Note that the shoe's cards lie sorted on the table: this round gets no more from it."""
    turn.set_round(shoe_sorted=True)


def record_count(turn: Turn) -> None:
    """Record the count, and emit whether shoe and decks agree with it. The count decides."""
    args = require_args(turn, MissingCards)
    codes = args.cards.split()
    update_data(turn, counted=codes)
    decks = None if args.short is None else _compare_with_decks(turn, codes, args.short.split())
    _emit_comparison(turn, "counted", codes, shoe=_compare_with_readings(turn, codes), decks=decks)


def _compare_with_readings(turn: Turn, codes: list[str]) -> str:
    """Return how the shoe's readings of the cards compare with what is said of them."""
    read = [dealt.card.code for dealt in missing_cards(turn) if dealt.card is not None]
    if len(read) < len(codes):
        return "unread"
    return "agrees" if Counter(read) == Counter(codes) else "differs"


def _compare_with_decks(turn: Turn, codes: list[str], short: list[str]) -> str:
    """Return how what the decks lack, less the cards set aside, compares with what is missing."""
    aside = turn.now.ahead
    laid = [one.card.code for one in aside if one.card is not None]
    pull = unordered_cards.find_pull(turn.now, aside[0].number if aside else None)
    if pull is not None:
        laid += [card.code for card in unordered_cards.remaining_counts(pull) if card is not None]
    if len(laid) < len(aside):
        return "unread"
    return "agrees" if Counter(short) == Counter(laid) + Counter(codes) else "differs"


def _emit_comparison(turn: Turn, step: str, codes: list[str], **results: str | None) -> None:
    data = {"key": CARD_TAKEN_KEY, "step": step, "cards": codes}
    turn.emit_restricted("irregularity.step", {**data, **results}, instance=turn.current.instance)


def replace_taken_cards(turn: Turn) -> None:
    """Put cards of the same face from a complete deck in their places. The room has seen them."""
    missing = missing_cards(turn)
    for dealt, code in zip(missing, turn.current.data["counted"], strict=True):
        face = card(code)
        if dealt.card is None:
            unordered_cards.name_pulled_card(turn, dealt.number, face)
        else:
            card_ledger.recount_card(turn, dealt.card, face)
        dealing.set_card(turn, (dealt.hand, dealt.index), face, entered=True)
        data = {"hand": dealt.hand, "index": dealt.index}
        rule = turn.game.rule(CARD_TAKEN_KEY, "replaced")
        turn.emit("cards.replaced", {**data, "rule": rule})
        card_entry.emit_card_entered(turn, dealt.hand, dealt.index, face)
    # The shoe's own result rests on cards that the round is not played with.
    turn.set_round(result_overruled=True)
    _reveal_cards(turn, missing, "replaced")


# The round does without it


def _is_without_card(view: TableView) -> bool:
    """Return True if no hand is due the card: another correction may make it due again."""
    return reveal.due_hand(view) is None


def _set_aside_taken(turn: Turn) -> None:
    """Set the card aside that is gone: it waits for no turn, and opens no round."""
    overdraw.set_taken_aside(turn, turn.current.data[CARD])


# Procedure


def _set_aside_step(index: int, then: str) -> Step:
    """Return the step that draws one of the two cards and sets it aside (5.11.1)."""
    words = "first" if index == 1 else "second"

    def armed(view: TableView) -> tuple[str, int] | None:
        return None if card_ledger.is_shoe_empty(view) else (ASIDE, index)

    return Step(
        f"{words}_aside",
        message("prompt_card_taken_draw", card=index),
        (
            Choice(
                "shoe_is_empty", DECIDES, "sort", offered_if=card_ledger.is_shoe_empty, reason=False
            ),
            GO_ON,
            CALL_VOID,
        ),
        (
            Accepts("card_drawn", cards_ahead.is_next_card, then, (cards_ahead.set_aside_next,)),
            Accepts(
                "cards_drawn",
                cards_ahead.are_next_two_in_order,
                "sort",
                (cards_ahead.set_aside_two,),
            ),
            Accepts(
                "cards_drawn", cards_ahead.are_next_two, "ordering", (cards_ahead.set_aside_two,)
            ),
        ),
        facts=public_missing_places,
        arms_slot=armed,
        cites=(CARD_TAKEN_KEY, "two_set_aside"),
        automatic=(NOT_DUE,),
    )


_DETERMINED = Choice(
    "determined", DECIDES, "replace", (record_count,), check_count,
    reason=False, needs_consent=True, arguments=MissingCards,
)  # fmt: skip

CARD_TAKEN = Procedure(
    CARD_TAKEN_KEY,
    (
        Step(
            "value",
            message("prompt_card_taken_value"),
            (
                Choice(
                    "seen", "surveillance", "value", (record_sighting,), check_seen,
                    reason=False, arguments=CardCodes,
                ),
                Choice(
                    "value_known", "pit_supervisor", "known",
                    (accept_value, require_new_cards(CARD_TAKEN_KEY), align),
                    _check_value_known,
                    reason=False, needs_consent=True, arguments=ValueSource,
                    contradicts=_contradicts_reading,
                ),
                Choice("not_known", DECIDES, "first_aside", check=_check_count_possible),
                GO_ON,
                CALL_VOID,
            ),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "value_known"),
            automatic=(NOT_DUE,),
        ),
        Step(
            NOT_DUE,
            message("prompt_card_taken_not_due"),
            (
                Choice(
                    SET_ASIDE, DECIDES, "aside",
                    (_set_aside_taken, require_new_cards(CARD_TAKEN_KEY), align),
                    offered_if=_is_without_card,
                ),
                GO_ON,
                CALL_VOID,
            ),
        ),
        _set_aside_step(1, "second_aside"),
        _set_aside_step(2, "sort"),
        Step(
            "ordering",
            message("prompt_card_taken_ordering"),
            (*choices_of_first_card("upper", "sort"), *choices_of_first_card("lower", "sort"),
             CALL_VOID),
            facts=public_missing_places,
            cites=("double_draw", "ordered"),
            automatic=(NOT_DUE,),
        ),
        window_step(
            "remaining",
            message("prompt_remaining_window"),
            ORDERED,
            "sort",
            CALL_VOID,
        )._replace(automatic=(NOT_DUE,)),
        Step(
            "sort",
            message("prompt_card_taken_sort"),
            (
                Choice(
                    "sorted", DECIDES, "determine",
                    (note_sorted, require_new_cards(CARD_TAKEN_KEY)),
                    check_no_unplaced_cards, reason=False,
                ),
                CALL_VOID,
            ),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "sorted"),
            automatic=(NOT_DUE,),
        ),
        Step(
            "determine",
            message("prompt_card_taken_determine"),
            (_DETERMINED, CALL_VOID),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "determined"),
            automatic=(NOT_DUE,),
        ),
        Step(
            "replace",
            message("prompt_card_taken_replace"),
            (
                Choice(
                    "replaced", DECIDES, "finished", (replace_taken_cards,),
                    check_no_unplaced_cards, reason=False, needs_consent=True,
                ),
                _DETERMINED,
                CALL_VOID,
            ),
            facts=public_missing_places,
            cites=(CARD_TAKEN_KEY, "replaced"),
            automatic=(NOT_DUE,),
        ),
    ),
    (
        End("known", "value_known", (CARD_TAKEN_KEY, "value_known")),
        End("finished", "replaced", (CARD_TAKEN_KEY, "finished")),
        end_set_aside(),
        end_play_on(),
        end_void(),
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
"""A Player left with cards."""
