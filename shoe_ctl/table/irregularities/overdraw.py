"""A card drawn before its turn: it waits for revealed cards, or whoever decides rules on it.

In: nothing. Out: its procedure. Must not know: which card it is, when its turn comes.
"""

from __future__ import annotations

from shoe_ctl.texts.message import Message, message

from ..inputs import ShoeSaid
from ..procedures import stack
from ..procedures.procedure import DECIDES, Choice, End, Procedure, Step
from ..procedures.shared import CALL_VOID, RULED, aside, cards_have_no_place, void
from ..round import card_check, early_cards, reconstruct, reveal
from ..shoe import commands as shoe_commands
from ..shoe import ledger as card_ledger
from ..shoe import link
from ..situations import TO_THE_OUTCOME
from ..state import INITIAL_DEAL, OpenIrregularity, UnplacedCard, pending_cards
from ..turn import Cause, TableView, Turn
from . import halts as halt_causes

_BEFORE_A_ROUND = ("idle", "betting", "resolved")

# What was seen.


def _card(at: TableView) -> UnplacedCard | None:
    return early_cards.find_overdrawn(at.now, at.current.subject)


def _is_due(at: TableView) -> bool:
    """The next card of the round is due now, by what everyone has seen."""
    played, back_to = at.now.round, at.resume_state
    if back_to not in TO_THE_OUTCOME or reconstruct.free_slot(at) is None:
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
    if not begun and card_ledger.is_last_round(turn):
        return message("refused_no_further_round")
    return None


# What is done.


def _decided(turn: Turn) -> UnplacedCard:
    card = _card(turn)
    assert card is not None
    return card


def _take(turn: Turn) -> None:
    early_cards.place_overdrawn(turn, _decided(turn))
    reconstruct.set_phase(turn)


def _open_next(turn: Turn) -> None:
    _tell_shoe(turn, "keep")
    early_cards.keep_for_opening(turn, _decided(turn))


def _expose(turn: Turn) -> None:
    early_cards.expose_overdrawn(turn, _decided(turn))


def _tell_shoe(turn: Turn, fate: str) -> None:
    """The shoe that objected to the card hears what was decided of it, where it can be told."""
    objected = early_cards.was_objected_to(_decided(turn))
    if objected and shoe_commands.can_send(turn.now, "clear_error"):
        shoe_commands.send(turn, "clear_error", fate)


def _drop(turn: Turn) -> None:
    """A shoe that gave a card laid aside a place in a hand does not stand where the table does."""
    card = _decided(turn)
    _tell_shoe(turn, "discard")
    early_cards.remove_overdrawn(turn, card)
    if card.named_slot is not None and card.named_slot[0] in ("player", "banker"):
        link.lose_alignment(turn)


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

KEY = OVERDRAW.key
RULING = "ruling"
_NO_HAND = ("idle", "betting", "resolved", "shoe_change")

# What was seen.


def is_overdrawn(turn: Turn) -> bool:
    """A card came before its turn."""
    cause = card_check.find_irregularity(turn)
    return cause is not None and cause.key == KEY


def is_undecided(turn: Turn) -> bool:
    """What everyone has seen does not say yet whether a card is due."""
    return not reveal.is_complete(turn)


def comes_while_paused(turn: Turn) -> bool:
    """The shoe's next card came while the table is paused, and nothing else is open since."""
    if not stack.is_paused(turn) or turn.now.shoe is None:
        return False
    is_next = turn.drawn.number in (None, turn.shoe.drawn + 1)
    return is_next and card_check.is_foreign(turn) is None


def comes_undecided_while_paused(turn: Turn) -> bool:
    """The same, and what everyone has seen does not say whether it is due."""
    return comes_while_paused(turn) and _is_undecided_after_it(turn)


def _is_undecided_after_it(turn: Turn) -> bool:
    """Once the review is over revealed cards say whether it was due."""
    halt, played = turn.now.halt, turn.now.round
    if halt is None or played is None:
        return False
    if pending_cards(turn.now):
        return halt.back_to == "drawing" or len(played.cards) + 1 >= len(INITIAL_DEAL)
    return halt.back_to == "revealing" and is_undecided(turn)


def is_reported_twice(turn: Turn) -> bool:
    """The shoe objects to the card that it gave just now."""
    lying = turn.now.early
    if not lying or lying[-1].number != turn.shoe.drawn:
        return False
    return early_cards.was_objected_to(lying[-1])


def is_undecided_objection(turn: Turn) -> bool:
    """A card that a shoe in error gives, of which it did not say yet that it came early.

    What everyone has seen does not say yet whether it is due.
    """
    event = turn.shoe_event
    if getattr(event, "mode", None) != early_cards.IN_ERROR or getattr(event, "code", None) != 2:
        return False
    return is_undecided(turn)


# What is done.


def record_unarmed_draw(turn: Turn) -> None:
    """The shoe was not armed for a card that is due: it came early, and is that hand's *(5.7)*."""
    cause = _cause(turn, card_check.UNARMED)
    end = OVERDRAW.end("kept")
    assert end is not None
    stack.wait_beside(turn, cause)
    stack.close_waiting(turn, turn.now.waiting[-1], end)


def wait_face_down(turn: Turn) -> None:
    """It lies face down until revealed cards say whether it was due."""
    stack.wait_beside(turn, _cause(turn, card_check.DRAWN_EARLY))
    early_cards.hold_overdrawn(turn)


def wait_unreported(turn: Turn) -> None:
    """The same for a card that the shoe objects to: in public there is no difference."""
    halt_causes.emit_shoe_fault(turn)
    stack.wait_beside(turn, _cause(turn, card_check.DRAWN_EARLY))
    early_cards.hold_unreported(turn)


def wait_reported(turn: Turn) -> None:
    """The same where the shoe gives the card before it objects."""
    stack.wait_beside(turn, _cause(turn, card_check.DRAWN_EARLY))
    early_cards.hold_unreported(turn)
    early_cards.record_overdrawn_reading(turn)


def halt_for_overdraw(turn: Turn) -> None:
    """A card for which there is no turn: whoever decides says what becomes of it (6.1)."""
    cause = card_check.find_irregularity(turn)
    assert cause is not None
    stack.raise_irregularity(turn, _cause(turn, cause)._replace(step=RULING))
    early_cards.hold_overdrawn(turn)


def halt_while_paused(turn: Turn) -> None:
    """Whoever decides says what becomes of a card that was drawn while the table was paused."""
    cause = _cause(turn, card_check.DRAWN_EARLY)
    stack.raise_irregularity(turn, cause._replace(step=RULING))
    early_cards.hold_overdrawn(turn)


def halt_for_unreported(turn: Turn) -> None:
    """The shoe objects to a card where the table has no doubt whether one is due."""
    halt_causes.emit_shoe_fault(turn)
    stack.raise_irregularity(turn, _cause(turn, card_check.DRAWN_EARLY)._replace(step=RULING))
    early_cards.hold_unreported(turn)


def is_unclaimed(turn: Turn) -> bool:
    """A card lies drawn early that nothing is open for yet."""
    return bool(_unraised(turn))


def nothing_is_left_over(turn: Turn) -> bool:
    """No card lies drawn early that nothing is open for."""
    return not _unraised(turn)


def has_no_use(turn: Turn) -> bool:
    """Halted where no hand of a round could still want a card."""
    halt = turn.now.halt
    return is_unclaimed(turn) and halt is not None and halt.back_to in _NO_HAND


def _unraised(turn: Turn) -> list[Cause]:
    subjects = [lying.subject for lying in turn.now.early if lying.number is not None]
    causes = [card_check.DRAWN_EARLY._replace(subject=subject) for subject in subjects]
    return [cause for cause in causes if not stack.is_open(turn, KEY, cause.subject)]


def wait_unclaimed(turn: Turn) -> None:
    """It was drawn with others and none is due: it waits as any card drawn early."""
    for cause in _unraised(turn):
        stack.wait_beside(turn, cause)


def halt_unclaimed(turn: Turn) -> None:
    """It was drawn with others, and there is no turn for it."""
    for cause in _unraised(turn):
        stack.raise_irregularity(turn, cause._replace(step=RULING))


def place_due_card(turn: Turn) -> None:
    """It was due after all: it takes its slot by itself *(5.7, reading)*."""
    first, end = turn.now.early[0], OVERDRAW.end("kept")
    assert end is not None
    stack.close_waiting(turn, _opened(turn), end)
    early_cards.place_overdrawn(turn, first)


def raise_overdraw(turn: Turn) -> None:
    """It was not due, or the shoe has it elsewhere: the table halts and asks."""
    stack.halt_for_waiting(turn, _opened(turn), RULING)


def _opened(turn: Turn) -> OpenIrregularity:
    """What is open for the first card drawn early."""
    named = turn.now.early[0].subject
    if not stack.is_open(turn, KEY, named):
        wait_unclaimed(turn)
    return next(o for o in turn.now.waiting if (o.key, o.subject) == (KEY, named))


def _cause(turn: Turn, cause: Cause) -> Cause:
    assert isinstance(turn.happened, ShoeSaid)
    return cause._replace(subject=early_cards.overdraw_subject(early_cards.next_number(turn)))
