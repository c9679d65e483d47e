"""The dealer's error calls for a reset of the dealing device after *no more bets* (5.9).

In: nothing. Out: its procedure: a window, the reset, the cards that are out, betting again.
Must not know: how a shoe is told so, what the error was.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import ResetDone
from shoe_ctl.table import outbox, placing, reset
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import message

from .endings import CALL_VOID, stands, void
from .endings import GO_ON as PLAY_ON
from .grounds import CARDS_OUT, cards_have_no_place, note
from .procedure import DECIDES, Choice, Declared, End, Hears, Procedure, Step
from .withdrawal import has_window, window_step

KEY = "device_reset"
_RULED = (KEY, "ruled")
_BETTING = "betting"
RESET = "reset"
"""The step at which the shoe is reset."""


def _has_no_rule(standing: TableView) -> bool:
    return not has_window(standing, KEY)


def _cards_are_out(standing: TableView) -> bool:
    played = standing.now.round
    lie = standing.now.held or standing.now.pending is not None
    return bool(lie) or (played is not None and bool(played.cards))


def _none_is_out(standing: TableView) -> bool:
    return not _cards_are_out(standing)


def _may_open(standing: TableView) -> bool:
    """None of them was exposed: only then may they open a round that is bet on again."""
    return not reset.some_are_exposed(standing.now, standing.settings)


def _told(standing: TableView) -> int | None:
    """The errand with which the shoe was told to reset itself; None where people reset it."""
    number = standing.current.noted.get("told")
    return number if isinstance(number, int) else None


def _by_itself(standing: TableView) -> dict[str, Any]:
    return {} if _told(standing) is None else {"shoe_was_told": True}


def _tell_shoe(turn: Turn) -> None:
    """A shoe that can is told to reset itself; every other one, people reset."""
    if outbox.can(turn.now, "reset"):
        note(turn, told=outbox.give(turn, "reset"))


def _is_done(turn: Turn) -> bool:
    """The shoe has done what it was told here."""
    event = turn.event(ResetDone)
    return event.command_id is not None and event.command_id == _told(turn)


def _is_done_without_cards(turn: Turn) -> bool:
    return _is_done(turn) and _none_is_out(turn)


_RESET = Choice("device_is_reset", "dealer", "cards", reason=False, when=_cards_are_out)

DEVICE_RESET = Procedure(
    KEY,
    (
        window_step(
            "window",
            message("prompt_device_reset_window"),
            KEY,
            "reset",
            CALL_VOID,
        ),
        Step(
            RESET,
            message("prompt_device_reset_reset"),
            (_RESET._replace(then="again", when=_none_is_out), _RESET, CALL_VOID),
            # A shoe that starts anew now does what it was asked to: no power was lost.
            (
                Hears("hello", reset.is_the_same_set, "reset"),
                Hears("started", reset.always, "reset"),
                Hears("reset_done", _is_done_without_cards, "again"),
                Hears("reset_done", _is_done, "cards"),
                Hears("reset_done", reset.always, "reset"),
            ),
            facts=_by_itself,
            cites=(KEY, "reset"),
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
            (PLAY_ON, CALL_VOID),
        ),
    ),
    (
        End("again", "betting_again", (KEY, "reset"), _BETTING, (reset.bet_again,)),
        End("opens", "cards_open_round", (KEY, "next_round"), _BETTING,
            (placing.lay_pending, reset.bet_again)),
        End(
            "aside", "cards_set_aside", (KEY, "set_aside"), _BETTING,
            (reset.clear_hands, reset.bet_again), clears=True,
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
