"""A card drawn before its turn (``overdraw``).

Rule: the card waits face down until revealed cards say whether it was due. If it was, it is that
hand's card *(5.7, reading)*. If it was not, no rule says what becomes of it: whoever decides says
that it opens the next round, if nobody saw it, or that it is set aside (6.1).

Until then public events call it *drawn early*: whether it is one too many follows from cards that
only the shoe has read.

In: a card for which no slot is due, or the shoe's objection to one. Out: ``OVERDRAW``; the card
held face down, then placed, kept for the next round or set aside.
Must not know: which card it is.
"""

from __future__ import annotations

from firmware_proto.events import Error
from shoe_ctl.table.inputs import ShoeSaid
from shoe_ctl.table.irregularities import halts as halt_causes
from shoe_ctl.table.irregularities import pending_card
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import DECIDES, Choice, End, Procedure, Step
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    RULED_BY_AUTHORITY,
    check_no_unplaced_cards,
    end_set_aside,
    end_void,
)
from shoe_ctl.table.round import card_check, early_cards, reconstruct, reveal
from shoe_ctl.table.round.entitlement import may_draw
from shoe_ctl.table.shoe import card_set, link, outbox, unplaced
from shoe_ctl.table.situations import TO_THE_OUTCOME
from shoe_ctl.table.state import (
    INITIAL_DEAL,
    OpenIrregularity,
    UnplacedCard,
    next_slot,
    pending_cards,
    subject_of_draw,
)
from shoe_ctl.table.turn import Cause, TableView, Turn
from shoe_ctl.texts.message import Message, message

OVERDRAW_KEY = "overdraw"

RULING = "ruling"
"""The step at which whoever decides rules on the card."""

SEEN = "seen"
"""The step at which whoever decides rules on the card once the room has seen it."""

NOT_DUE = message("seen_drawn_not_due")
"""The reason where a corrected card shows that a card in a slot was not due."""

_BEFORE_A_ROUND = ("idle", "betting", "resolved")


# Detection: a card that comes too early


def is_undecided(turn: Turn) -> bool:
    """Return True if revealed cards do not say yet whether a card is due."""
    return not reveal.is_complete(turn)


def is_overdraw_error(turn: Turn) -> bool:
    """Return True if the shoe reports a card drawn early, by its own count of the round."""
    return turn.event(Error).code == halt_causes.OVERDRAW_CODE


def is_reported_twice(turn: Turn) -> bool:
    """Return True if the shoe objects to the card that it gave just now."""
    early = turn.now.early
    if not early or early[-1].number != turn.shoe.drawn:
        return False
    return early_cards.was_objected_to(early[-1])


def is_undecided_objection(turn: Turn) -> bool:
    """Return True if a shoe in error gives a card before it objects to the card.

    Nobody can say yet whether one is due.
    """
    event = turn.shoe_event
    if getattr(event, "mode", None) != early_cards.IN_ERROR or getattr(event, "code", None) != 2:
        return False
    return is_undecided(turn)


def is_next_card_in_pause(turn: Turn) -> bool:
    """Return True if the shoe's next card comes during a pause, with nothing else open on top."""
    if not stack.is_paused(turn) or turn.now.shoe is None:
        return False
    is_next = turn.drawn.number in (None, turn.shoe.drawn + 1)
    return is_next and card_check.may_be_of_decks(turn)


def is_first_card_in_pause(turn: Turn) -> bool:
    """Return True if, in addition, it can only be Player's first card: one is awaited.

    It takes its slot when play resumes.
    """
    halt, now = turn.now.halt, turn.now
    if halt is None or not is_next_card_in_pause(turn) or len(halt.stack) > 1:
        return False
    drawn, slot = turn.drawn, INITIAL_DEAL[0]
    if not turn.takes_card_in(halt.resume_state) or next_slot(now) != slot:
        return False
    if now.held or now.pending is not None or now.pending_set is not None:
        return False
    if drawn.hand is not None and (drawn.hand, drawn.index) != slot:
        return False
    allowed = may_draw(now.control, now.wagers) and not card_check.belongs_to_missed_round(turn)
    return allowed and not card_check.is_stale_arm(turn)


def hold_first_card(turn: Turn) -> None:
    """Hold Player's first card until play resumes. An unarmed draw is recorded, as elsewhere."""
    if turn.drawn.armed is False:
        record_unarmed_draw(turn)
    pending_card.hold_for_slot(turn, INITIAL_DEAL[0])


def is_undecided_card_in_pause(turn: Turn) -> bool:
    """Return True if, in addition, revealed cards do not say whether that card was due."""
    return is_next_card_in_pause(turn) and _is_undecided_after_it(turn)


def _is_undecided_after_it(turn: Turn) -> bool:
    """Return True if revealed cards will say, after the pause, whether the card was due."""
    halt, played = turn.now.halt, turn.now.round
    if halt is None or played is None:
        return False
    if pending_cards(turn.now):
        return halt.resume_state == "drawing" or len(played.cards) + 1 >= len(INITIAL_DEAL)
    return halt.resume_state == "revealing" and is_undecided(turn)


def record_unarmed_draw(turn: Turn) -> None:
    """Report that the shoe was not armed for a card that is due. It is that hand's card *(5.7)*."""
    cause = _with_subject(turn, card_check.UNARMED)
    stack.raise_pending(turn, cause)
    stack.resolve_pending(turn, turn.now.pending_irregularities[-1], _KEPT)


def hold_until_decided(turn: Turn) -> None:
    """Hold the card face down until revealed cards say whether it was due."""
    stack.raise_pending(turn, _with_subject(turn, card_check.DRAWN_EARLY))
    early_cards.hold_overdrawn(turn)


def hold_objected_card(turn: Turn) -> None:
    """Hold a card to which the shoe objects before it reports it. In public this looks the same."""
    halt_causes.emit_shoe_fault(turn)
    stack.raise_pending(turn, _with_subject(turn, card_check.DRAWN_EARLY))
    early_cards.hold_unreported(turn)


def hold_card_of_shoe_in_error(turn: Turn) -> None:
    """Hold a card that the shoe reports before it objects. In public this looks the same."""
    stack.raise_pending(turn, _with_subject(turn, card_check.DRAWN_EARLY))
    early_cards.hold_unreported(turn)
    early_cards.record_overdrawn_reading(turn)


def halt_for_overdraw(turn: Turn) -> None:
    """Halt: no card is due. Whoever decides says what becomes of it (6.1)."""
    cause = card_check.find_irregularity(turn)
    assert cause is not None
    stack.raise_irregularity(turn, _with_subject(turn, cause)._replace(step=RULING))
    early_cards.hold_overdrawn(turn)


def halt_for_card_in_pause(turn: Turn) -> None:
    """Halt: a card was drawn while the table was paused (6.1)."""
    cause = _with_subject(turn, card_check.DRAWN_EARLY)
    stack.raise_irregularity(turn, cause._replace(step=RULING))
    early_cards.hold_overdrawn(turn)


def halt_for_objected_card(turn: Turn) -> None:
    """Halt: the shoe objects to a card where the table knows whether one is due (6.1)."""
    halt_causes.emit_shoe_fault(turn)
    stack.raise_irregularity(
        turn, _with_subject(turn, card_check.DRAWN_EARLY)._replace(step=RULING)
    )
    early_cards.hold_unreported(turn)


# Detection: cards of a pull that are left over


def has_no_unraised_cards(turn: Turn) -> bool:
    """Return True if something is open for every early card."""
    return not _unraised_causes(turn)


def _unraised_causes(turn: Turn) -> list[Cause]:
    """Return a cause for each early card for which nothing is open yet."""
    subjects = [card.subject for card in turn.now.early if card.number is not None]
    causes = [card_check.DRAWN_EARLY._replace(subject=subject) for subject in subjects]
    return [cause for cause in causes if not stack.is_open(turn, OVERDRAW_KEY, cause.subject)]


def raise_pending_unraised(turn: Turn) -> None:
    """Raise the left-over cards as pending: they wait like any card drawn early."""
    for cause in _unraised_causes(turn):
        stack.raise_pending(turn, cause)


def halt_for_unraised(turn: Turn) -> None:
    """Halt for the left-over cards: no turn is left for them."""
    for cause in _unraised_causes(turn):
        stack.raise_irregularity(turn, cause._replace(step=RULING))


# Detection: the round reaches an early card


def place_due_card(turn: Turn) -> None:
    """Place the first early card: it was due after all *(5.7, reading)*."""
    first = turn.now.early[0]
    stack.resolve_pending(turn, _first_opened(turn), _KEPT)
    early_cards.place_overdrawn(turn, first)


def halt_for_early_card(turn: Turn) -> None:
    """Halt for the first early card: it was not due, or the shoe names another place for it."""
    opened = _first_opened(turn)
    lay_open = turn.now.early[0].seen and opened.seen == NOT_DUE
    stack.escalate_pending(turn, opened, SEEN if lay_open else RULING)


def halt_for_each_early_card(turn: Turn) -> None:
    """Halt for every early card: the outcome is announced, and no turn is left for any."""
    for early in reversed(turn.now.early):
        opened = _opened_for(turn, early.subject)
        if opened is not None:
            stack.escalate_pending(turn, opened, SEEN if early.seen else RULING)


def set_taken_aside(turn: Turn, subject: str) -> None:
    """Set the early card with this subject aside: a Player has it, and the round does without."""
    opened, early = _opened_for(turn, subject), early_cards.find_overdrawn(turn.now, subject)
    assert opened is not None and early is not None, "what is gone waits until it is decided"
    stack.resolve_pending(turn, opened, _ASIDE_END)
    unplaced.set_aside(turn, (early,))


def _opened_for(turn: Turn, subject: str) -> OpenIrregularity | None:
    waiting = turn.now.pending_irregularities
    return next((o for o in waiting if (o.key, o.subject) == (OVERDRAW_KEY, subject)), None)


def _first_opened(turn: Turn) -> OpenIrregularity:
    """Return the irregularity that is open for the first early card."""
    subject = turn.now.early[0].subject
    if not stack.is_open(turn, OVERDRAW_KEY, subject):
        raise_pending_unraised(turn)
    opened = _opened_for(turn, subject)
    assert opened is not None, "it was raised"
    return opened


def _with_subject(turn: Turn, cause: Cause) -> Cause:
    """Return the cause with this input's card as its subject."""
    assert isinstance(turn.input, ShoeSaid)
    return cause._replace(subject=subject_of_draw(early_cards.draw_number(turn)))


# Conditions


def _decided_card(view: TableView) -> UnplacedCard | None:
    """Return the card that is decided on, if it still lies on the table."""
    return early_cards.find_overdrawn(view.now, view.current.subject)


def _is_due(view: TableView) -> bool:
    """Return True if the next card of the round is due now, by what everyone has seen."""
    played, back_to = view.now.round, view.resume_state
    if back_to not in TO_THE_OUTCOME or reconstruct.free_slot(view) is None:
        return False
    return back_to != "revealing" or (played is not None and played.totals_announced)


def _is_outside_round(view: TableView) -> bool:
    """Return True if no hand of a round in play is to get the card."""
    played = view.now.round
    is_over = played is not None and played.totals_announced and played.all_revealed
    between = view.resume_state in _BEFORE_A_ROUND or (view.resume_state == "revealing" and is_over)
    return between and not _is_due(view)


def _may_be_exposed(view: TableView) -> bool:
    """Return True if the card may be declared seen."""
    card = _decided_card(view)
    return _is_outside_round(view) and card is not None and not card.seen


def _check_first_card(turn: Turn, _args: object = None) -> Message | None:
    """Return why the card cannot open the next round."""
    if (objection := check_no_unplaced_cards(turn)) is not None:
        return objection
    card = _decided_card(turn)
    assert card is not None
    if card.card is None:
        return message("refused_card_unknown")
    if card.seen:
        return message("refused_seen_card_opens")
    if turn.now.opening:
        return message("refused_opening_card_lies")
    begun = turn.resume_state == "betting"
    if not begun and card_set.is_last_round(turn):
        return message("refused_no_further_round")
    return None


# Actions


def _require_decided_card(turn: Turn) -> UnplacedCard:
    card = _decided_card(turn)
    assert card is not None
    return card


def _place_card(turn: Turn) -> None:
    early_cards.place_overdrawn(turn, _require_decided_card(turn))
    reconstruct.set_phase(turn)


def _keep_for_next_round(turn: Turn) -> None:
    """Keep the card: it opens the next round."""
    _send_fate(turn, "keep")
    early_cards.keep_for_opening(turn, _require_decided_card(turn))


def _note_seen(turn: Turn) -> None:
    """Note that the card was seen: it may never open a round."""
    early_cards.expose_overdrawn(turn, _require_decided_card(turn))


def _set_aside(turn: Turn) -> None:
    """Set the card aside. A shoe that counted it to a hand is no longer aligned with the table."""
    card = _require_decided_card(turn)
    _send_fate(turn, "discard")
    unplaced.set_aside(turn, (card,))
    if card.named_slot is not None and card.named_slot[0] in ("player", "banker"):
        link.lose_alignment(turn)


def _send_fate(turn: Turn, fate: str) -> None:
    """Send the shoe what was decided, if it objected to the card and can be told."""
    objected = early_cards.was_objected_to(_require_decided_card(turn))
    if objected and outbox.can_send(turn.now, "clear_error"):
        outbox.send(turn, "clear_error", fate)


# Procedure

_KEPT = End("kept", "kept", (OVERDRAW_KEY, "kept"))
"""The card was due after all: it is that hand's card *(5.7, reading)*."""

_ASIDE_END = end_set_aside((OVERDRAW_KEY, "set_aside"))

_TAKE = Choice(
    "due",
    DECIDES,
    "kept",
    (_place_card,),
    check_no_unplaced_cards,
    in_round=True,
    offered_if=_is_due,
)

_OPEN = Choice("first_card", DECIDES, "next_round", (_keep_for_next_round,), _check_first_card,
               offered_if=_is_outside_round)  # fmt: skip

_ASIDE = Choice("set_aside", DECIDES, "aside", (_set_aside,))
_EXPOSED = Choice("exposed", "dealer", SEEN, (_note_seen,), offered_if=_may_be_exposed)

OVERDRAW = Procedure(
    OVERDRAW_KEY,
    (
        Step(
            "waiting", message("prompt_overdraw_waiting"), (), automatic=("ruling", "seen", "kept")
        ),
        Step(
            "ruling", message("prompt_overdraw_ruling"), (_TAKE, _OPEN, _ASIDE, CALL_VOID, _EXPOSED)
        ),
        Step(SEEN, message("prompt_overdraw_seen"), (_TAKE, _ASIDE, CALL_VOID)),
    ),
    (
        _KEPT,
        End("next_round", "first_card", ("overdraw", "next_round")),
        _ASIDE_END,
        end_void(RULED_BY_AUTHORITY),
    ),
    begins=("waiting", "ruling"),
    of_cards=True,
    # The key would say what follows from cards that only the shoe has read.
    public_key="drawn_early",
)
