"""A card drawn before its turn: it waits for revealed cards, or whoever decides rules on it.

In: nothing. Out: its procedure. Must not know: which card it is, when its turn comes.
"""

from __future__ import annotations

from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.table import early, link_facts, outbox, shoe_cards
from shoe_ctl.table.slots import INITIAL_DEAL, pending_cards
from shoe_ctl.table.state import Kept
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, RULED, aside, void
from .grounds import cards_have_no_place
from .procedure import DECIDES, Choice, End, Procedure, Standing, Step

_BEGINS = ("closed", "dealing")
_BEFORE_A_ROUND = ("idle", "betting", "resolved")

# What was seen.


def _back_to(at: Standing) -> str:
    assert at.now.halt is not None
    return at.now.halt.back_to


def _card(at: Standing) -> Kept | None:
    assert at.now.halt is not None
    return early.find(at.now, at.now.halt.top.subject)


def _dealt(at: Standing) -> int:
    dealt = 0 if at.now.round is None else len(at.now.round.cards)
    return dealt + pending_cards(at.now)


def _is_due_in_the_deal(at: Standing) -> bool:
    return _back_to(at) in _BEGINS and _dealt(at) < len(INITIAL_DEAL) - 1


def _is_due_after_it(at: Standing) -> bool:
    """It is the fourth card, or revealed cards call for a third one."""
    back_to, played = _back_to(at), at.now.round
    if back_to in _BEGINS:
        return _dealt(at) == len(INITIAL_DEAL) - 1
    if back_to != "revealing" or played is None:
        return back_to == "drawing" and not pending_cards(at.now)
    if not played.totals_announced or not played.all_revealed:
        return False
    return next_hand(played.hand("player"), played.hand("banker")) is not None


def _is_of_no_round(at: Standing) -> bool:
    """No hand of a round in play is to have it."""
    played = at.now.round
    is_over = played is not None and played.totals_announced and played.all_revealed
    between = _back_to(at) in _BEFORE_A_ROUND or (_back_to(at) == "revealing" and is_over)
    return between and not _is_due_after_it(at)


def _may_be_exposed(at: Standing) -> bool:
    card = _card(at)
    return _is_of_no_round(at) and card is not None and not card.exposed


def _why_not_first(turn: Turn) -> Message | None:
    if (misplaced := cards_have_no_place(turn)) is not None:
        return misplaced
    card = _card(turn)
    assert card is not None
    if card.card is None:
        return message("refused_card_unknown")
    if card.exposed:
        return message("refused_seen_card_opens")
    if turn.now.opening:
        return message("refused_opening_card_lies")
    begun = _back_to(turn) == "betting"
    if not begun and shoe_cards.is_last_round(turn):
        return message("refused_no_further_round")
    return None


# What is done.


def _decided(turn: Turn) -> Kept:
    card = _card(turn)
    assert card is not None
    return card


def _take(turn: Turn) -> None:
    early.take(turn, _decided(turn))


def _open_next(turn: Turn) -> None:
    _tell_shoe(turn, "keep")
    early.open_next(turn, _decided(turn))


def _expose(turn: Turn) -> None:
    early.expose(turn, _decided(turn))


def _tell_shoe(turn: Turn, fate: str) -> None:
    """The shoe that objected to the card hears what was decided of it, where it can be told."""
    objected = _decided(turn).hand == "set_aside"
    if objected and outbox.can(turn.now, "clear_error"):
        outbox.give(turn, "clear_error", fate)


def _drop(turn: Turn) -> None:
    """A shoe that gave a card laid aside a place in a hand does not stand where the table does."""
    card = _decided(turn)
    _tell_shoe(turn, "discard")
    early.drop(turn, card)
    if card.hand in ("player", "banker"):
        link_facts.lose_alignment(turn)


_TAKE_IN_DEAL = Choice("due", DECIDES, "kept_in_deal", (_take,), cards_have_no_place,
                       in_round=True, when=_is_due_in_the_deal)  # fmt: skip
_TAKE = _TAKE_IN_DEAL._replace(then="kept", when=_is_due_after_it)
_OPEN = Choice("first_card", DECIDES, "next_round", (_open_next,), _why_not_first,
               when=_is_of_no_round)  # fmt: skip
_ASIDE = Choice("set_aside", DECIDES, "aside", (_drop,))
_EXPOSED = Choice("exposed", "dealer", "ruling", (_expose,), when=_may_be_exposed)

OVERDRAW = Procedure(
    "overdraw",
    (
        Step(
            "waiting",
            message("prompt_overdraw_waiting"),
            (),
            turns=("ruling", "kept"),
        ),
        Step(
            "ruling",
            message("prompt_overdraw_ruling"),
            (_TAKE_IN_DEAL, _TAKE, _OPEN, _ASIDE, CALL_VOID, _EXPOSED),
        ),
    ),
    (
        End("kept", "kept", ("overdraw", "kept"), "revealing"),
        End("kept_in_deal", "kept", ("overdraw", "kept"), "dealing"),
        End("next_round", "first_card", ("overdraw", "next_round")),
        aside(("overdraw", "set_aside")),
        void(RULED),
    ),
    begins=("waiting", "ruling"),
    of_cards=True,
    # Whether the card is one too many follows from cards that only the shoe has read.
    public_key="drawn_early",
)
