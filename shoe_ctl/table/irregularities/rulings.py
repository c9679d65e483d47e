"""The shoe's own result against the cards: it is another one, or it does not come.

In: nothing. Out: their procedures. Must not know: who won.
"""

from __future__ import annotations

from shoe_ctl.games.table_of_play import ImpossibleRound, next_hand
from shoe_ctl.texts.message import Message, message

from ..arguments import require_args
from ..procedures import stack
from ..procedures.procedure import DECIDES, Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    GO_ON,
    RULED,
    align,
    aside,
    overrule_result,
    ruling,
    something_is_missing,
    stands,
    void,
)
from ..round import card_entry, reconstruct, reveal
from ..round import deal as dealing
from ..shoe import ledger as card_ledger
from ..state import OpenIrregularity, pending_cards
from ..turn import Cause, TableView, Turn

AFTER_VOID_KEY = "after_void"
_REPLACED = (AFTER_VOID_KEY, "shoe_replaced")


def _is_a_ruling(standing: TableView) -> bool:
    """No rule of its own: replacing the cards is decided as what the rules do not cover (6.1)."""
    game = standing.game
    return game.rule(*_REPLACED) == game.rule("other", "ruled")


def _is_by_rule(standing: TableView) -> bool:
    return not _is_a_ruling(standing)


_REPLACE = Choice(
    "replace_cards", "pit_supervisor", "replaced", when=_is_by_rule, in_round=False, reason=False
)
_KEEP = Choice("keep_cards", "dealer", "kept", in_round=False, reason=False)

AFTER_VOID = Procedure(
    AFTER_VOID_KEY,
    (
        Step(
            "cards",
            message("prompt_after_void"),
            (_REPLACE, _REPLACE._replace(by=DECIDES, when=_is_a_ruling, reason=True), _KEEP),
        ),
    ),
    (
        End(
            "replaced",
            "cards_replaced",
            _REPLACED,
            "shoe_change",
            (card_ledger.announce_shoe_change,),
        ),
        End("kept", "cards_kept", _REPLACED),
    ),
)


def why_not_replaceable(turn: Turn, wanted: card_entry.CardAtSlot | None) -> Message | None:
    """No such card lies open, or with the one that is named the round could not be."""
    if wanted is None:
        any_open = any(dealt.revealed for dealt in turn.round.cards)
        return something_is_missing(turn) if any_open else message("refused_no_card_open")
    open_there = [d for d in turn.round.cards if d.revealed and (d.hand, d.index) == wanted.slot]
    if not open_there:
        return message("refused_no_card_open")
    if (wrong := card_entry.check_card(turn, wanted.card)) is not None:
        return wrong
    return something_is_missing(turn) or _no_such_round(turn, wanted)


def _no_such_round(turn: Turn, wanted: card_entry.CardAtSlot) -> Message | None:
    """Where all lies open: the Table of Play would not have dealt these cards."""
    if not turn.round.all_revealed:
        return None
    player, banker = (
        [
            card_entry.require_card(wanted.card) if (d.hand, d.index) == wanted.slot else d.card
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


def replace_misread_card(turn: Turn) -> None:
    """A card that the reader got wrong is what it is; all that follows is looked at anew (6.3)."""
    wanted = require_args(turn, card_entry.CardAtSlot)
    card_entry.replace_card(
        turn, dealing.find_card(turn, wanted.slot), card_entry.require_card(wanted.card)
    )
    due = turn.round.due
    turn.set_round(due=None, complete_us=None)
    if turn.round.totals_announced:
        reveal.announce_totals(turn)
    if due is not None and pending_cards(turn.now):
        reveal.call_for_third_card(turn)  # the card that waits takes its slot, if one is still due
    reconstruct.set_phase(turn)


REPLACE = Choice(
    "enter", "pit_supervisor", "entered", (replace_misread_card,), why_not_replaceable, in_round=True, second=True,
    takes=card_entry.CardAtSlot,
)  # fmt: skip


def _against_the_shoe(key: str, prompt: Message) -> Procedure:
    go_on = GO_ON._replace(do=(align, overrule_result))
    return Procedure(
        key,
        (Step("ruling", prompt, (go_on, REPLACE, CALL_VOID)),),
        (
            stands((key, "cards_stand")),
            End("entered", "entered", (key, "entered")),
            void(RULED),
        ),
        of_cards=True,
    )


RESULT_DISAGREES = _against_the_shoe("result_disagrees", message("prompt_result_disagrees"))

RESULT_MISSING = _against_the_shoe("result_missing", message("prompt_result_missing"))

_WITH_A_SHOE = (
    "idle", "betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended",
    "shoe_change",
)  # fmt: skip

OTHER = Procedure(
    "other",
    (ruling(message("prompt_other")),),
    (stands(), aside(), void(("other", "void"))),
    Declared("dealer", _WITH_A_SHOE, message("seen_other_declared")),
)


def ask_after_void(turn: Turn) -> None:
    """The round was void, and nothing says yet whether its cards are played from again."""
    if turn.now.loaded is None and not card_ledger.is_change_due(turn):
        stack.ask_beside(turn, Cause(AFTER_VOID_KEY, message("seen_round_void")))


def answer_cards_kept(turn: Turn) -> None:
    """Play goes on from the same cards."""
    _answered(turn, "kept")


def answer_cards_replaced(turn: Turn) -> None:
    """Another set of cards comes, or is called for."""
    _answered(turn, "replaced")


def _answered(turn: Turn, name: str) -> None:
    """What was done next answers the question, where it is open."""
    if not turn.now.waiting or (asked := _asked(turn)) is None:
        return
    end = AFTER_VOID.end(name)
    assert end is not None
    stack.drop_waiting(turn, asked, end.how)


def _asked(turn: Turn) -> OpenIrregularity | None:
    return next((opened for opened in turn.now.waiting if opened.key == AFTER_VOID_KEY), None)
