"""The shoe must be reset after *no more bets*, for an error of the dealer (``device_reset``, 5.9).

Rule: each Player may withdraw; the shoe is reset; bets are taken anew, and wagers not withdrawn
stand. Cards that were drawn open the round, if none was exposed, or are set aside.

In: the declaration, the shoe's reset, the command *reset_shoe*. Out: ``DEVICE_RESET``; bets open.
Must not know: how the order to reset reaches the shoe, what the error was.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Hello, ResetDone
from shoe_ctl.table.procedures.procedure import (
    DECIDES,
    Accepts,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
    always,
    both,
    is_not,
)
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    check_no_unplaced_cards,
    end_play_on,
    end_void,
    update_data,
)
from shoe_ctl.table.procedures.withdrawal import has_window, window_step
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.round import hands
from shoe_ctl.table.shoe import card_set, outbox, unplaced
from shoe_ctl.table.shoe.outbox import check_send
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import CardOnTable, Hands
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.table.wagers import betting
from shoe_ctl.texts.message import Message, message

DEVICE_RESET_KEY = "device_reset"

RESET_STEP = "reset"
"""The step at which the shoe is reset."""

_CITES_RULING = (DEVICE_RESET_KEY, "ruled")
_BETTING = "betting"


# Conditions


def _cards_are_out(view: TableView) -> bool:
    played = view.now.round
    unplaced_cards = view.now.held or view.now.pending is not None
    return bool(unplaced_cards) or (played is not None and bool(played.cards))


def _can_open_round(view: TableView) -> bool:
    """Return True if no card was exposed: only then may they open a round that is bet on again."""
    pending = () if view.now.pending is None else (view.now.pending,)
    cards: tuple[CardOnTable, ...] = (*view.round.cards, *pending)
    return not cards or (view.faces != "face_up" and not any(card.seen for card in cards))


def is_same_set(turn: Turn) -> bool:
    """Return True if the shoe holds the set of cards that the round began with."""
    return isinstance(turn.shoe_event, Hello) and not card_set.is_another_set(turn)


def _reset_order(view: TableView) -> int | None:
    """Return the number of the order with which the shoe resets itself. None: people reset it."""
    number = view.current.data.get("told")
    return number if isinstance(number, int) else None


def _is_shoe_resetting(view: TableView) -> bool:
    """Return True while the shoe has its order to reset itself, and its answer is not overdue."""
    order = view.now.outbox.find(_reset_order(view))
    return view.now.link.up and order is not None and not order.overdue


def _reset_facts(view: TableView) -> dict[str, Any]:
    """Return that the shoe was ordered to reset itself, where it was."""
    return {} if _reset_order(view) is None else {"shoe_was_told": True}


def _is_reset_done(turn: Turn) -> bool:
    """Return True if the shoe has done what it was ordered to do here."""
    event = turn.event(ResetDone)
    return event.command_id is not None and event.command_id == _reset_order(turn)


# Actions


def _order_reset(turn: Turn) -> None:
    """Order the shoe to reset itself, if it can. People reset any other one."""
    if outbox.can_send(turn.now, "reset"):
        update_data(turn, told=outbox.send(turn, "reset"))


def clear_hands(turn: Turn) -> None:
    """Set the cards of the round aside. They stay counted, and are in no hand."""
    unplaced.drop_roles(turn, "held", "pending")
    turn.set_round(
        cards=(), due=None, totals_announced=False, result=None, complete_us=None, hands=Hands()
    )


def reopen_bets(turn: Turn) -> None:
    """Open the bets again: wagers that were not withdrawn stand (5.9).

    Where the game's window does not let Players wager anew, bets stay closed until the dealer says
    *no more bets* again: every wager placed before that is late.

    Hands that Players hold are taken back; after that they go by the wagers as they stand.
    """
    for hand in ("player", "banker"):
        hands.take_back_hand(turn, hand, turn.game.rule("device_reset", "reset"))
    if turn.game.windows[DEVICE_RESET_KEY].wager_anew:
        betting.open_bets(turn)


def place_cards_drawn_before(turn: Turn) -> None:
    """After the second *no more bets*, treat the cards on the table as the round's first."""
    if turn.round.cards:
        turn.fire("cards_placed")


# The command reset_shoe


def check_reset(turn: Turn, _args: object = None) -> Message | None:
    """Return what stands against the command.

    After *no more bets* a reset is this procedure, which begins with a window (5.9).
    """
    halt = turn.now.halt
    if (
        halt is not None
        and halt.resume_state in ("closed", *CARDS_OUT)
        and not _is_at_reset_step(turn)
    ):
        return message("refused_declare_device_reset")
    return check_send(turn, "reset")


def _is_at_reset_step(turn: Turn) -> bool:
    top = turn.halt.current
    return (top.key, top.step) == (DEVICE_RESET_KEY, RESET_STEP)


def reset_shoe(turn: Turn) -> None:
    """Order the shoe to reset itself. If the procedure is open, it waits for this order."""
    number = outbox.send(turn, "reset")
    if turn.now.halt is not None and _is_at_reset_step(turn):
        update_data(turn, told=number)


# Procedure

_IS_RESET_BY_PEOPLE = is_not(_is_shoe_resetting)

_RESET = Choice(
    "device_is_reset", "dealer", "cards", reason=False,
    offered_if=both(_IS_RESET_BY_PEOPLE, _cards_are_out),
)  # fmt: skip

_RESET_UNDEALT = _RESET._replace(
    leads_to="again", offered_if=both(_IS_RESET_BY_PEOPLE, is_not(_cards_are_out))
)

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
            (_RESET_UNDEALT, _RESET, CALL_VOID),
            # A shoe that restarts now does so for the reset: no power was lost.
            (
                Accepts("hello", is_same_set, "reset"),
                Accepts("started", always, "reset"),
                Accepts("reset_done", both(_is_reset_done, is_not(_cards_are_out)), "again"),
                Accepts("reset_done", _is_reset_done, "cards"),
                Accepts("reset_done", always, "reset"),
            ),
            facts=_reset_facts,
            cites=(DEVICE_RESET_KEY, "reset"),
            on_enter=(_order_reset,),
        ),
        Step(
            "cards",
            message("prompt_device_reset_cards"),
            (
                Choice(
                    "open_round", DECIDES, "opens", check=check_no_unplaced_cards,
                    offered_if=_can_open_round,
                ),
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
            (clear_hands, reopen_bets), clears_cards=True,
        ),
        end_play_on(_CITES_RULING),
        end_void(_CITES_RULING),
    ),
    Declared(
        "dealer",
        ("closed", *CARDS_OUT, "suspended"),
        message("seen_device_reset_declared"),
        begins=(lambda view: not has_window(view, DEVICE_RESET_KEY), "ruling"),
    ),
    begins=("ruling",),
)  # fmt: skip
"""The shoe must be reset after *no more bets*."""
