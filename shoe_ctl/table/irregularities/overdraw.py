"""A card drawn before its turn: it waits for revealed cards, or whoever decides rules on it.

In: nothing. Out: its procedure. Must not know: which card it is, when its turn comes.
"""

from __future__ import annotations

from shoe_ctl.table import belated, early, link_facts, outbox, shoe_cards
from shoe_ctl.table.slots import PHASES
from shoe_ctl.table.state import UnplacedCard
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, RULED, aside, void
from .grounds import cards_have_no_place
from .procedure import DECIDES, Choice, End, Procedure, Step

_BEFORE_A_ROUND = ("idle", "betting", "resolved")

# What was seen.


def _card(at: TableView) -> UnplacedCard | None:
    return early.find(at.now, at.current.subject)


def _is_due(at: TableView) -> bool:
    """The next card of the round is due now, by what everyone has seen."""
    played, back_to = at.now.round, at.resume_state
    if back_to not in PHASES or belated.free_slot(at) is None:
        return False
    return back_to != "revealing" or (played is not None and played.totals_announced)


def _is_of_no_round(at: TableView) -> bool:
    """No hand of a round in play is to have it."""
    played = at.now.round
    is_over = played is not None and played.totals_announced and played.all_revealed
    between = at.resume_state in _BEFORE_A_ROUND or (at.resume_state == "revealing" and is_over)
    return between and not _is_due(at)


def _may_be_exposed(at: TableView) -> bool:
    card = _card(at)
    return _is_of_no_round(at) and card is not None and not card.seen


def _why_not_first(turn: Turn, _args: object = None) -> Message | None:
    if (misplaced := cards_have_no_place(turn)) is not None:
        return misplaced
    card = _card(turn)
    assert card is not None
    if card.card is None:
        return message("refused_card_unknown")
    if card.seen:
        return message("refused_seen_card_opens")
    if turn.now.opening:
        return message("refused_opening_card_lies")
    begun = turn.resume_state == "betting"
    if not begun and shoe_cards.is_last_round(turn):
        return message("refused_no_further_round")
    return None


# What is done.


def _decided(turn: Turn) -> UnplacedCard:
    card = _card(turn)
    assert card is not None
    return card


def _take(turn: Turn) -> None:
    early.take(turn, _decided(turn))
    belated.stand(turn)


def _open_next(turn: Turn) -> None:
    _tell_shoe(turn, "keep")
    early.open_next(turn, _decided(turn))


def _expose(turn: Turn) -> None:
    early.expose(turn, _decided(turn))


def _tell_shoe(turn: Turn, fate: str) -> None:
    """The shoe that objected to the card hears what was decided of it, where it can be told."""
    objected = early.was_objected_to(_decided(turn))
    if objected and outbox.can(turn.now, "clear_error"):
        outbox.give(turn, "clear_error", fate)


def _drop(turn: Turn) -> None:
    """A shoe that gave a card laid aside a place in a hand does not stand where the table does."""
    card = _decided(turn)
    _tell_shoe(turn, "discard")
    early.drop(turn, card)
    if card.named_slot is not None and card.named_slot[0] in ("player", "banker"):
        link_facts.lose_alignment(turn)


_TAKE = Choice("due", DECIDES, "kept", (_take,), cards_have_no_place, in_round=True, when=_is_due)
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
            (_TAKE, _OPEN, _ASIDE, CALL_VOID, _EXPOSED),
        ),
    ),
    (
        End("kept", "kept", ("overdraw", "kept")),
        End("next_round", "first_card", ("overdraw", "next_round")),
        aside(("overdraw", "set_aside")),
        void(RULED),
    ),
    begins=("waiting", "ruling"),
    of_cards=True,
    # Whether the card is one too many follows from cards that only the shoe has read.
    public_key="drawn_early",
)
