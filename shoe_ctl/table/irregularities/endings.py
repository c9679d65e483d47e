"""Steps, choices and ends that irregularities share: go on, set aside, void.

In: an irregularity's key and the end that its game file numbers. Out: parts of a Procedure.
Must not know: what raised it.
"""

from __future__ import annotations

from shoe_ctl.table.round import unplaced
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message

from .grounds import CARDS_OUT, cards_are_in_play, own_kept, something_is_missing
from .procedure import DECIDES, VOID, Choice, End, Step

RULED = ("other", "ruled")
"""Cited where an irregularity's own rules have no end of this kind: whoever decides has ruled."""

PLAY_ON = "play_on"
SET_ASIDE = "set_aside"


# What is done.


def align(turn: Turn) -> None:
    """The ruling says that the shoe stands where the table does."""
    turn.set_link(aligned=True)


def overrule_result(turn: Turn) -> None:
    """Against the shoe's own result the cards on the table stand (6.3)."""
    turn.set_round(result_overruled=True)


def lay_aside(turn: Turn) -> None:
    """The cards stay counted in the ledger and are in no hand."""
    unplaced.drop_cards(turn, own_kept(turn))


# Choices.


def _no_round_wants_them(at: TableView) -> bool:
    return at.now.halt is not None and at.now.halt.back_to not in CARDS_OUT


GO_ON = Choice(PLAY_ON, DECIDES, "stands", (align,), something_is_missing)
LAY_ASIDE = Choice(SET_ASIDE, DECIDES, "aside", unless=cards_are_in_play)
LAY_ASIDE_UNPLAYED = LAY_ASIDE._replace(when=_no_round_wants_them)
"""The same, offered only where no cards of a round were out: there its cards lie in hands."""

CALL_VOID = Choice(VOID, DECIDES, VOID, in_round=True)


# Ends.


def stands(cites: tuple[str, str] = RULED) -> End:
    """Nothing is missing: the table goes on where it was."""
    return End("stands", PLAY_ON, cites)


def aside(cites: tuple[str, str] = RULED) -> End:
    """The cards are laid aside, and the table goes on where it was."""
    return End("aside", SET_ASIDE, cites, do=(lay_aside,))


def void(cites: tuple[str, str] = RULED) -> End:
    """The round is void."""
    return End(VOID, VOID, cites, VOID)


def ruling(prompt: Message) -> Step:
    """The step at which whoever decides rules on everything."""
    return Step("ruling", prompt, (GO_ON, LAY_ASIDE, CALL_VOID))
