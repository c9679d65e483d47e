"""The dealer's error calls for a reset of the dealing device after *no more bets* (5.9).

In: nothing. Out: its procedure: a window, the reset, the cards that are out, betting again.
Must not know: how a shoe is told so, what the error was.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Hello, ResetDone
from shoe_ctl.texts.message import Message, message

from .. import turn
from ..procedures.procedure import DECIDES, Choice, Declared, End, Hears, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    CARDS_OUT,
    GO_ON,
    cards_have_no_place,
    halt_of,
    note,
    stands,
    void,
)
from ..procedures.withdrawal import has_window, window_step
from ..round import deal as dealing
from ..round import hands
from ..settings import TableSettings
from ..shoe import card_set, unplaced
from ..shoe import commands as shoe_commands
from ..shoe.commands import check_told
from ..state import Hands, TableState
from ..turn import TableView, Turn
from ..wagers import commands as wager_commands

# What was seen.


def accept_always(turn: Turn) -> bool:  # noqa: ARG001 - the signature of a condition
    """Whatever the shoe says with it."""
    return True


def is_same_set(turn: Turn) -> bool:
    """The shoe holds the set of cards that the round began with."""
    return isinstance(turn.shoe_event, Hello) and not card_set.is_another_set(turn)


def has_exposed_cards(now: TableState, settings: TableSettings) -> bool:
    """A card of the round was seen, or lies face up."""
    cards = () if now.round is None else now.round.cards
    face_up = turn.faces(now, settings) == "face_up"
    pending = now.pending
    if pending is not None and (pending.seen or face_up):
        return True
    return any(dealt.revealed or face_up for dealt in cards)


# What is done.


def clear_hands(turn: Turn) -> None:
    """The cards of the round are set aside: they stay counted, and are in no hand."""
    unplaced.drop_roles(turn, "held", "pending")
    turn.set_round(
        cards=(), due=None, totals_announced=False, result=None, complete_us=None, hands=Hands()
    )


def reopen_bets(turn: Turn) -> None:
    """Players may wager again; what was not withdrawn stands (5.9).

    Hands that Players hold are taken back: they go by the wagers as they stand after that.
    """
    for hand in ("player", "banker"):
        hands.take_back_hand(turn, hand, turn.game.rule("device_reset", "reset"))
    wager_commands.open_bets(turn)


def resume_with_cards_on_table(turn: Turn) -> None:
    """Where *no more bets* is said anew, the cards that lie there are the round's first."""
    if turn.round.cards:
        turn.then("cards_placed")


DEVICE_RESET_KEY = "device_reset"
_RULED = (DEVICE_RESET_KEY, "ruled")
_BETTING = "betting"
RESET_STEP = "reset"
"""The step at which the shoe is reset."""


def _has_no_rule(standing: TableView) -> bool:
    return not has_window(standing, DEVICE_RESET_KEY)


def _cards_are_out(standing: TableView) -> bool:
    played = standing.now.round
    lie = standing.now.held or standing.now.pending is not None
    return bool(lie) or (played is not None and bool(played.cards))


def _none_is_out(standing: TableView) -> bool:
    return not _cards_are_out(standing)


def _may_open(standing: TableView) -> bool:
    """None of them was exposed: only then may they open a round that is bet on again."""
    return not has_exposed_cards(standing.now, standing.settings)


def _told(standing: TableView) -> int | None:
    """The errand with which the shoe was told to reset itself; None where people reset it."""
    number = standing.current.noted.get("told")
    return number if isinstance(number, int) else None


def _by_itself(standing: TableView) -> dict[str, Any]:
    return {} if _told(standing) is None else {"shoe_was_told": True}


def _tell_shoe(turn: Turn) -> None:
    """A shoe that can is told to reset itself; every other one, people reset."""
    if shoe_commands.can_send(turn.now, "reset"):
        note(turn, told=shoe_commands.send(turn, "reset"))


def _is_done(turn: Turn) -> bool:
    """The shoe has done what it was told here."""
    event = turn.event(ResetDone)
    return event.command_id is not None and event.command_id == _told(turn)


def _is_done_without_cards(turn: Turn) -> bool:
    return _is_done(turn) and _none_is_out(turn)


_RESET = Choice("device_is_reset", "dealer", "cards", reason=False, when=_cards_are_out)

DEVICE_RESET = Procedure(
    DEVICE_RESET_KEY,
    (
        window_step(
            "window",
            message("prompt_device_reset_window"),
            DEVICE_RESET_KEY,
            "reset",
            CALL_VOID,
        ),
        Step(
            RESET_STEP,
            message("prompt_device_reset_reset"),
            (_RESET._replace(then="again", when=_none_is_out), _RESET, CALL_VOID),
            # A shoe that starts anew now does what it was asked to: no power was lost.
            (
                Hears("hello", is_same_set, "reset"),
                Hears("started", accept_always, "reset"),
                Hears("reset_done", _is_done_without_cards, "again"),
                Hears("reset_done", _is_done, "cards"),
                Hears("reset_done", accept_always, "reset"),
            ),
            facts=_by_itself,
            cites=(DEVICE_RESET_KEY, "reset"),
            enters=(_tell_shoe,),
        ),
        Step(
            "cards",
            message("prompt_device_reset_cards"),
            (
                Choice("open_round", DECIDES, "opens", unless=cards_have_no_place, when=_may_open),
                Choice("set_aside", DECIDES, "aside"),
                CALL_VOID,
            ),
        ),
        Step(
            "ruling",
            message("prompt_leave_cards_and_call"),
            (GO_ON, CALL_VOID),
        ),
    ),
    (
        End("again", "betting_again", (DEVICE_RESET_KEY, "reset"), _BETTING, (reopen_bets,)),
        End("opens", "cards_open_round", (DEVICE_RESET_KEY, "next_round"), _BETTING,
            (dealing.place_pending_card, reopen_bets)),
        End(
            "aside", "cards_set_aside", (DEVICE_RESET_KEY, "set_aside"), _BETTING,
            (clear_hands, reopen_bets), clears=True,
        ),
        stands(_RULED),
        void(_RULED),
    ),
    Declared(
        "dealer",
        ("closed", *CARDS_OUT, "suspended"),
        message("seen_device_reset_declared"),
        begins=(_has_no_rule, "ruling"),
    ),
    begins=("ruling",),
)  # fmt: skip


def check_reset(turn: Turn, _args: object = None) -> Message | None:
    """The same; once bets are closed a reset is a procedure, with a window first (5.9)."""
    halt = turn.now.halt
    if halt is not None and halt.back_to in ("closed", *CARDS_OUT) and not _is_at_reset_step(turn):
        return message("refused_declare_device_reset")
    return check_told(turn, "reset")


def _is_at_reset_step(turn: Turn) -> bool:
    top = halt_of(turn).top
    return (top.key, top.step) == (DEVICE_RESET_KEY, RESET_STEP)


# What is done.


def reset_shoe(turn: Turn) -> None:
    """The shoe is reset; the procedure that is open waits for this one."""
    number = shoe_commands.send(turn, "reset")
    if turn.now.halt is not None and _is_at_reset_step(turn):
        note(turn, told=number)
