"""A Player left the table with cards (5.11): their value is known, or the decks are counted.

In: nothing. Out: its procedure. Must not know: how cards are counted, what the shoe has read.
"""

from __future__ import annotations

from shoe_ctl.table import set_aside, shoe_cards, taking
from shoe_ctl.table.rows import Objection
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .double_draw import ORDERED
from .endings import CALL_VOID, GO_ON, align, stands, void
from .grounds import cards_have_no_place, note, something_is_missing
from .procedure import DECIDES, Choice, Declared, End, Hears, Procedure, Step
from .withdrawal import has_window, window_step

KEY = "card_taken"


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
        return (set_aside.HAND, index) if _gives_cards(standing) else None

    return Step(
        f"{words}_aside",
        message("prompt_card_taken_draw", card=index),
        (
            Choice("shoe_is_empty", DECIDES, "sort", when=_shoe_is_empty, reason=False),
            GO_ON,
            CALL_VOID,
        ),
        (
            Hears("card_drawn", set_aside.is_for_it, then, (set_aside.lay,)),
            Hears("cards_drawn", set_aside.are_the_two_in_order, "sort", (set_aside.lay_two,)),
            Hears("cards_drawn", set_aside.are_the_two, "ordering", (set_aside.lay_two,)),
        ),
        facts=taking.told,
        arms=armed,
        cites=(KEY, "two_set_aside"),
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


def _check_known(turn: Turn, args: taking.OfSource | None) -> Objection | Message | None:
    return taking.check_source(turn, args) or something_is_missing(turn)


def _why_not_unknown(turn: Turn, _args: object = None) -> Message | None:
    """What stands against going by the count: two cards could not complete the round."""
    if turn.resume_state != "revealing":
        return message("refused_initial_deal_open")
    return something_is_missing(turn)


def _must_be_replaced(turn: Turn) -> None:
    shoe_cards.replace_before_next(turn, turn.game.rule(KEY, "shoe_replaced"))


_COUNTED = Choice(
    "determined", DECIDES, "replace", (taking.note_count,), taking.check_count,
    reason=False, second=True, takes=taking.OfCount,
)  # fmt: skip

CARD_TAKEN = Procedure(
    KEY,
    (
        Step(
            "value",
            message("prompt_card_taken_value"),
            (
                Choice(
                    "seen", "surveillance", "value", (taking.note_seen,), taking.check_seen,
                    reason=False, takes=taking.OfCards,
                ),
                Choice(
                    "value_known", "pit_supervisor", "known",
                    (taking.take_value, _must_be_replaced, align),
                    _check_known,
                    reason=False, second=True, takes=taking.OfSource,
                    contradicts=taking.contradicts_reading,
                ),
                Choice("not_known", DECIDES, "first_aside", unless=_why_not_unknown),
                GO_ON,
                CALL_VOID,
            ),
            facts=taking.told,
            cites=(KEY, "value_known"),
        ),
        _draws(1, "second_aside"),
        _draws(2, "sort"),
        Step(
            "ordering",
            message("prompt_card_taken_ordering"),
            (*_first_is("upper"), *_first_is("lower"), CALL_VOID),
            facts=taking.told,
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
                    "sorted", DECIDES, "determine", (taking.note_sorted, _must_be_replaced),
                    cards_have_no_place, reason=False,
                ),
                CALL_VOID,
            ),
            facts=taking.told,
            cites=(KEY, "sorted"),
        ),
        Step(
            "determine",
            message("prompt_card_taken_determine"),
            (_COUNTED, CALL_VOID),
            facts=taking.told,
            cites=(KEY, "determined"),
        ),
        Step(
            "replace",
            message("prompt_card_taken_replace"),
            (
                Choice(
                    "replaced", DECIDES, "finished", (taking.replace,), cards_have_no_place,
                    reason=False, second=True,
                ),
                _COUNTED,
                CALL_VOID,
            ),
            facts=taking.told,
            cites=(KEY, "replaced"),
        ),
    ),
    (
        End("known", "value_known", (KEY, "value_known")),
        End("finished", "replaced", (KEY, "finished")),
        stands(),
        void(),
    ),
    Declared(
        "dealer",
        ("dealing", "revealing", "suspended"),
        message("seen_card_taken_declared"),
        taking.OfTaken,
        taking.check_taken,
    ),
    of_cards=True,
)  # fmt: skip
