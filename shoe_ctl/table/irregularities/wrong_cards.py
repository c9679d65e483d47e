"""Cards that are wrong in themselves: foreign, one too many, unshuffled, missing, or face up.

Rules: people inspect a card of another deck, or one more of a face than the decks hold. If it was
misread it is corrected; else the round is void, and earlier rounds stand (5.1). The same holds for
cards that were not shuffled or are missing; between rounds nothing is void (5.1.2). A card that lay
face up in the shoe plays as if face down, but not as the round's first card (5.6).

In: cards of the shoe, the count of the remainder, what people declare. Out: ``FOREIGN_CARD``,
``EXTRA_CARD``, ``UNSHUFFLED``, ``MISSING_CARD_IN_SHOE``, ``FACE_UP_IN_SHOE``.
Must not know: how a card is found to be foreign.
"""

from __future__ import annotations

from shoe_ctl.table.irregularities.halts import HALTS
from shoe_ctl.table.procedures.procedure import (
    DECIDES,
    Action,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
)
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    INSPECTS,
    LAY_ASIDE,
    PLAY_ON,
    align,
    check_can_resume,
    check_has_held_cards,
    current_held_cards,
    end_play_on,
    end_set_aside,
    end_void,
    set_cards_aside,
    update_data,
)
from shoe_ctl.table.procedures.stack import raise_irregularity
from shoe_ctl.table.round import card_entry, reconstruct
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import card_set, unplaced
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe.card_set import announce_shoe_change
from shoe_ctl.table.turn import Turn, check_nothing
from shoe_ctl.texts.message import Message, message

_IN_A_ROUND = ("betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended")
_WITH_A_SHOE = ("idle", "shoe_change", *_IN_A_ROUND)


# Detection


def halt_for_too_many(turn: Turn) -> None:
    """Halt: what people entered shows that a counted card is not one of the shoe's."""
    too_many = card_ledger.has_too_many(turn)
    cause = HALTS["too_many_of_a_face" if too_many else "card_of_another_deck"]
    raise_irregularity(turn, cause._replace(subject=str(turn.now.inputs)))


def halt_for_count(turn: Turn) -> None:
    """Halt: the count of the remainder differs from the ledger. Between rounds nothing is void."""
    for cause in card_set.count_causes(turn):
        raise_irregularity(turn, cause)


# Conditions


def check_correct(turn: Turn, args: card_entry.CardArgs | None) -> Message | None:
    """Return an objection if no card is inspected, or the named card is not one of the shoe's."""
    held = current_held_cards(turn)
    if not held or held[0].card is None:
        return message("refused_no_card_inspected")
    return None if args is None else card_entry.check_card(turn, args.card)


def check_first_card_dealt(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if no card of the round was dealt before: the rule does not hold then."""
    played = turn.now.round
    if played is None or not played.cards:
        return message("refused_no_card_before_it")
    return check_can_resume(turn)


# Actions


def correct_card_reading(turn: Turn) -> None:
    """Correct the reading of the inspected card.

    Where one was due the card takes its slot (6.3).
    """
    named, inspected = card_entry.named_card(turn), current_held_cards(turn)[0]
    assert inspected.card is not None and inspected.number is not None
    if inspected.counted:
        card_ledger.correct_count(turn, inspected.card, named)
    if turn.current.data.get("due") and reconstruct.free_slot(turn) is not None:
        unplaced.drop_cards(turn, (inspected,))
        slot = reconstruct.place_next(turn, named, inspected.number)
        card_entry.emit_card_entered(turn, *slot, named)
    else:
        unplaced.change_card(turn, inspected, card=named)
        update_data(turn, **{INSPECTS: None})
        card_entry.emit_card_entered(turn, None, None, named)


# Choices and ends that these procedures share


def _earlier_stand_choice(*do: Action) -> Choice:
    """Return the choice between rounds: nothing is void, all earlier outcomes stand (5.1.2)."""
    return Choice("earlier_stand", DECIDES, "earlier", do, check_can_resume, in_round=False)


def _end_earlier_stand(key: str) -> End:
    return End("earlier", "earlier_stand", (key, "earlier_stand"))


CORRECT = Choice(
    "correct", "pit_supervisor", "corrected_card", (correct_card_reading,), check_correct,
    needs_consent=True, arguments=card_entry.CardArgs,
)  # fmt: skip
"""The inspected card was misread; two persons name it."""

CORRECTED = Step(
    "corrected_card",
    message("prompt_card_corrected"),
    (
        Choice(PLAY_ON, "pit_supervisor", "corrected", (align,), check_can_resume, reason=False),
        LAY_ASIDE._replace(check=check_has_held_cards),
        CALL_VOID,
    ),
)
"""The step after ``CORRECT``."""


def end_corrected(key: str) -> End:
    """Return the end after which the round goes on with the corrected card (6.3)."""
    return End("corrected", "corrected", (key, "corrected"))


# Procedures: a foreign card, one too many

_INSPECT = message("prompt_inspection")
"""One prompt for both irregularities: in public they must look alike."""


def _inspection(key: str) -> Procedure:
    """Return the procedure that inspects a card. In public the two of them look alike."""
    laid_aside = _earlier_stand_choice(set_cards_aside)._replace(check=check_nothing)
    choices = (CORRECT, GO_ON, laid_aside, LAY_ASIDE, CALL_VOID)
    return Procedure(
        key,
        (Step("ruling", _INSPECT, choices), CORRECTED),
        (
            end_corrected(key),
            end_play_on(),
            _end_earlier_stand(key),
            end_set_aside(),
            end_void((key, "void")),
        ),
        public_key="inspection",
        inspection=True,
    )


FOREIGN_CARD = _inspection("foreign_card")
EXTRA_CARD = _inspection("extra_card")


# Procedure: unshuffled cards

UNSHUFFLED = Procedure(
    "unshuffled",
    (
        Step(
            "ruling",
            message("prompt_unshuffled"),
            (GO_ON, _earlier_stand_choice(align), LAY_ASIDE, CALL_VOID),
        ),
    ),
    (
        end_play_on(("unshuffled", "cleared")),
        _end_earlier_stand("unshuffled")._replace(
            resumes_in="shoe_change", actions=(announce_shoe_change,)
        ),
        end_set_aside(),
        end_void(("unshuffled", "void")),
    ),
    Declared("dealer", _WITH_A_SHOE, message("seen_unshuffled_declared")),
)


# Procedure: a missing card

MISSING_CARD_IN_SHOE = Procedure(
    "missing_card_in_shoe",
    (
        Step(
            "ruling",
            message("prompt_missing_card"),
            (GO_ON, _earlier_stand_choice(align), LAY_ASIDE, CALL_VOID),
        ),
    ),
    (
        end_play_on(),
        _end_earlier_stand("missing_card_in_shoe"),
        end_set_aside(),
        end_void(("missing_card_in_shoe", "void")),
    ),
    Declared("dealer", _WITH_A_SHOE, message("seen_missing_card_declared")),
)


# Procedure: a card face up in the shoe

_PLAY_FACE_DOWN = Choice(
    "play_face_down", "dealer", "face_down", (align,), check_first_card_dealt, in_round=True,
    reason=False,
)  # fmt: skip

FACE_UP_IN_SHOE = Procedure(
    "face_up_in_shoe",
    (
        Step("ruling", message("prompt_face_up"), (_PLAY_FACE_DOWN, GO_ON, LAY_ASIDE, CALL_VOID)),
        Step(dealing.FIRST_STEP, message("prompt_face_up_first"), (GO_ON, CALL_VOID)),
    ),
    (
        End("face_down", "play_face_down", ("face_up_in_shoe", "played_as_face_down")),
        end_play_on(("face_up_in_shoe", "ruled")),
        end_set_aside(("face_up_in_shoe", "ruled")),
        end_void(("face_up_in_shoe", "ruled")),
    ),
    Declared(
        "dealer",
        ("idle", "betting", "closed", "dealing", "revealing", "drawing", "suspended"),
        message("seen_face_up_declared"),
    ),
    begins=(dealing.FIRST_STEP,),
)
