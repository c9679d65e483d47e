"""The shoe's own result against the cards: it is another one, or it does not come.

In: nothing. Out: their procedures. Must not know: who won.
"""

from __future__ import annotations

from shoe_ctl.games.table_of_play import ImpossibleRound, next_hand
from shoe_ctl.table import belated, entering, placing, revealing
from shoe_ctl.table.arguments import checked
from shoe_ctl.table.slots import pending_cards
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, GO_ON, RULED, align, overrule_result, stands, void
from .grounds import something_is_missing
from .procedure import Choice, End, Procedure, Step


def cannot_replace(turn: Turn, wanted: entering.CardThere | None) -> Message | None:
    """No such card lies open, or with the one that is named the round could not be."""
    if wanted is None:
        any_open = any(dealt.revealed for dealt in turn.round.cards)
        return something_is_missing(turn) if any_open else message("refused_no_card_open")
    open_there = [d for d in turn.round.cards if d.revealed and (d.hand, d.index) == wanted.slot]
    if not open_there:
        return message("refused_no_card_open")
    if (wrong := entering.check_card(turn, wanted.card)) is not None:
        return wrong
    return something_is_missing(turn) or _no_such_round(turn, wanted)


def _no_such_round(turn: Turn, wanted: entering.CardThere) -> Message | None:
    """Where all lies open: the Table of Play would not have dealt these cards."""
    if not turn.round.all_revealed:
        return None
    player, banker = (
        [
            entering.face(wanted.card) if (d.hand, d.index) == wanted.slot else d.card
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


def replace(turn: Turn) -> None:
    """A card that the reader got wrong is what it is; all that follows is looked at anew (6.3)."""
    wanted = checked(turn, entering.CardThere)
    entering.replace(turn, placing.find(turn, wanted.slot), entering.face(wanted.card))
    due = turn.round.due
    turn.set_round(due=None, complete_us=None)
    if turn.round.totals_announced:
        revealing.announce_totals(turn)
    if due is not None and pending_cards(turn.now):
        revealing.want_third_card(turn)  # the card that waits takes its slot, if one is still due
    belated.stand(turn)


REPLACE = Choice(
    "enter", "pit_supervisor", "entered", (replace,), cannot_replace, in_round=True, second=True,
    takes=entering.CardThere,
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
