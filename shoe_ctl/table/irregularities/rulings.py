"""Matters that people rule on: the shoe's own result, what no rule covers, the cards after a void.

Rules: the shoe's own result is informational, the cards dealt stand (6.3); people look at them
where the result differs or does not come. What the rules do not cover is decided under 6.1
(``other``). After a void round the cards may be replaced (5.13): that is asked beside the table,
and the next action at the table answers it.

In: the shoe's result, what people declare. Out: ``RESULT_DISAGREES``, ``RESULT_MISSING``,
``OTHER``, ``AFTER_VOID``. Must not know: who won.
"""

from __future__ import annotations

from firmware_proto.cards import card
from shoe_ctl.games.table_of_play import ImpossibleRound, next_hand
from shoe_ctl.table.arguments import require_args
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import (
    DECIDES,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
    is_not,
)
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    ENTRY_DIFFERS,
    GO_ON,
    RULED_BY_AUTHORITY,
    align,
    check_can_resume,
    end_play_on,
    end_set_aside,
    end_void,
    ruling_step,
)
from shoe_ctl.table.round import card_entry, reconstruct, reveal
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import card_set
from shoe_ctl.table.state import OpenIrregularity, pending_cards
from shoe_ctl.table.turn import Cause, TableView, Turn
from shoe_ctl.texts.message import Message, message

# Result disagrees, result missing: conditions


def check_replace(turn: Turn, wanted: card_entry.CardAtSlot | None) -> Message | None:
    """Return an objection if no such card lies open, or the round could not be with it."""
    if wanted is None:
        any_open = any(dealt.revealed for dealt in turn.round.cards)
        return check_can_resume(turn) if any_open else message("refused_no_card_open")
    open_there = [d for d in turn.round.cards if d.revealed and (d.hand, d.index) == wanted.slot]
    if not open_there:
        return message("refused_no_card_open")
    if (wrong := card_entry.check_card(turn, wanted.card)) is not None:
        return wrong
    return check_can_resume(turn) or _check_table_of_play(turn, wanted)


def _check_table_of_play(turn: Turn, wanted: card_entry.CardAtSlot) -> Message | None:
    """Return an objection if the Table of Play would not have dealt these cards.

    Asked once all lie open.
    """
    if not turn.round.all_revealed:
        return None
    player, banker = (
        [
            card(wanted.card) if (d.hand, d.index) == wanted.slot else d.card
            for d in turn.round.cards
            if d.hand == hand and d.card is not None
        ]
        for hand in ("player", "banker")
    )
    try:
        next_hand(player, banker)
    except ImpossibleRound as impossible:
        return impossible.why
    return None


# Actions


def replace_misread_card(turn: Turn) -> None:
    """Replace a card that the reader got wrong. What follows from it is determined again (6.3)."""
    wanted = require_args(turn, card_entry.CardAtSlot)
    card_entry.correct_revealed_card(turn, dealing.find_card(turn, wanted.slot), card(wanted.card))
    due = turn.round.due
    turn.set_round(due=None, complete_us=None)
    if turn.round.totals_announced:
        reveal.announce_totals(turn)
    if due is not None and pending_cards(turn.now):
        reveal.call_for_third_card(turn)  # the pending card takes its slot, if one is still due
    reconstruct.set_phase(turn)


def overrule_result(turn: Turn) -> None:
    """Overrule the shoe's own result: the cards on the table stand (6.3)."""
    turn.set_round(result_overruled=True)


# Procedures

REPLACE = Choice(
    "enter", "pit_supervisor", "entered", (replace_misread_card,), check_replace,
    in_round=True, needs_consent=True, arguments=card_entry.CardAtSlot,
)  # fmt: skip
"""A card of the round was misread; two persons name it."""


def _result_procedure(key: str, prompt: Message) -> Procedure:
    """Return the procedure for the shoe's own result: the cards stand, or one is corrected."""
    go_on = GO_ON._replace(actions=(align, overrule_result))
    return Procedure(
        key,
        (Step("ruling", prompt, (go_on, REPLACE, CALL_VOID)),),
        (
            end_play_on((key, "cards_stand")),
            End("entered", "entered", (key, "entered")),
            end_void(RULED_BY_AUTHORITY),
        ),
        of_cards=True,
    )


RESULT_DISAGREES = _result_procedure("result_disagrees", message("prompt_result_disagrees"))
RESULT_MISSING = _result_procedure("result_missing", message("prompt_result_missing"))


# What no rule covers: procedure

_WITH_A_SHOE = (
    "idle", "betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended",
    "shoe_change",
)  # fmt: skip

OTHER = Procedure(
    "other",
    (
        ruling_step(message("prompt_other")),
        ruling_step(message("prompt_entry_differs"))._replace(name=ENTRY_DIFFERS),
    ),
    (end_play_on(), end_set_aside(), end_void(("other", "void"))),
    Declared("dealer", _WITH_A_SHOE, message("seen_other_declared")),
    begins=(ENTRY_DIFFERS,),
)
"""Something that the rules do not cover."""


# After a void round: detection

AFTER_VOID_KEY = "after_void"
_CITES_REPLACED = (AFTER_VOID_KEY, "shoe_replaced")


def ask_after_void(turn: Turn) -> None:
    """Ask after a void round whether its cards are replaced, unless that is settled already."""
    if turn.now.pending_set is None and not card_set.is_change_due(turn):
        stack.raise_question(turn, Cause(AFTER_VOID_KEY, message("seen_round_void")))


def answer_cards_kept(turn: Turn) -> None:
    """Answer the question: play continues with the same cards."""
    _answer_question(turn, "kept")


def answer_cards_replaced(turn: Turn) -> None:
    """Answer the question: another set of cards comes, or is called for."""
    _answer_question(turn, "replaced")


def _answer_question(turn: Turn, name: str) -> None:
    """End the question with this end, if it is open."""
    if not turn.now.pending_irregularities or (asked := _open_question(turn)) is None:
        return
    end = AFTER_VOID.end(name)
    assert end is not None
    stack.answer_question(turn, asked, end.how)


def _open_question(turn: Turn) -> OpenIrregularity | None:
    return next(
        (opened for opened in turn.now.pending_irregularities if opened.key == AFTER_VOID_KEY), None
    )


# Conditions


def _is_replaced_by_ruling(view: TableView) -> bool:
    """Return True if the game has no rule of its own: replacing is decided under 6.1."""
    game = view.game
    return game.rule(*_CITES_REPLACED) == game.rule("other", "ruled")


# Procedure

_REPLACE = Choice(
    "replace_cards",
    "pit_supervisor",
    "replaced",
    offered_if=is_not(_is_replaced_by_ruling),
    in_round=False,
    reason=False,
)

_KEEP = Choice("keep_cards", "dealer", "kept", in_round=False, reason=False)

AFTER_VOID = Procedure(
    AFTER_VOID_KEY,
    (
        Step(
            "cards",
            message("prompt_after_void"),
            (
                _REPLACE,
                _REPLACE._replace(by=DECIDES, offered_if=_is_replaced_by_ruling, reason=True),
                _KEEP,
            ),
        ),
    ),
    (
        End(
            "replaced",
            "cards_replaced",
            _CITES_REPLACED,
            "shoe_change",
            (card_set.announce_shoe_change,),
        ),
        End("kept", "cards_kept", _CITES_REPLACED),
    ),
)
"""The round was void: are its cards replaced?"""
