"""The power failed in a round: each Player may withdraw all, or play goes on, by what is decided.

In: nothing. Out: its procedure. Must not know: how the power came back, which wager is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from shoe_ctl.games.decided import decide
from shoe_ctl.texts.message import Message, message

from .. import turn
from ..procedures import stack
from ..procedures.procedure import Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    GO_ON,
    PLAY_ON,
    TO_THE_OUTCOME,
    halt_of,
    own_kept,
    shoe_is_not_ready,
    something_is_missing,
    stands,
    void,
)
from ..procedures.withdrawal import close_window, has_window, window_step
from ..round import hands, reconstruct, reveal
from ..round.card_check import HEARD_LATE
from ..settings import TableSettings
from ..shoe import ledger as card_ledger
from ..state import OpenIrregularity, TableState
from ..turn import TableView, Turn

KEY = "power_failure"


def established_results(turn: Turn) -> dict[str, Any]:
    """Whether any available wager is decided, each that is, and the rule that then holds.

    None decided: each Player may withdraw all (I 5.15.1, N/T/F 5.17.1); else play goes on
    (I 5.15.2, N/T/F 5.17.2).
    """
    shown = [dealt.card if dealt.revealed else None for dealt in turn.round.cards]
    wagers = decide(turn.game, shown, decks=turn.shoe.decks, layout=turn.settings.layout)
    decided = {wager: end for wager, end in wagers.items() if end != "open"}
    end = "continued" if decided else "withdrawal"
    return {"decided": decided, "end": end, "rule": turn.game.rule(KEY, end)}


_KEY = KEY
_RULED = (_KEY, "ruled")
_WITHDRAWAL = (_KEY, "withdrawal")
_CONTINUED = (_KEY, "continued")

CONTINUE = "continue"
TAKE_BACK = "take_back"
OFFER = "power"
POWER_RULING = "ruling"

REFER = "refer"
"""The choice that leaves the rule, and asks whoever decides."""

AT_FIRST = frozenset({CONTINUE, TAKE_BACK, OFFER})
"""The steps at which the cards that the room has seen say which rule holds."""


# What decides which rule holds. All of it is seen by everyone at the table.


def first_step(turn: Turn, noted: Mapping[str, Any]) -> str:
    """Where it begins, by what ``power.established`` found.

    A wager is decided: play goes on (I 5.15.2, N/T/F 5.17.2), whoever holds cards. None is: Players
    may withdraw (I 5.15.1, N/T/F 5.17.1), and a hand that a Player holds is taken back before
    *(reading)*. A game without a rule for it leaves it to whoever decides.
    """
    if noted["rule"] is None:
        return POWER_RULING
    if noted["end"] == "continued":
        return CONTINUE
    if not has_window(turn, _KEY):
        return POWER_RULING
    return TAKE_BACK if _held(turn) else OFFER


def _held(turn: Turn) -> list[str]:
    """Hands that a Player holds and that have a card that nobody has seen."""
    return [hand for hand in ("player", "banker") if hands.is_held_face_down(turn, hand)]


def _some_are_being_seen(turn: Turn, _args: object = None) -> Message | None:
    """A card lies open that the room has not had its time to see: it may decide a wager."""
    opens = turn.faces == "face_up"
    down = any(not dealt.revealed and dealt.card is not None for dealt in turn.round.cards)
    return message("refused_cards_being_seen") if opens and down else None


def _is_not_ready(turn: Turn, _args: object = None) -> Message | None:
    """What keeps the round from going on: the shoe, or cards that it has no place for.

    Before the first card a shoe that names its hands need not be aligned: that card aligns it.
    """
    if turn.resume_state != "closed":
        return shoe_is_not_ready(turn)
    if not turn.now.link.up:
        return message("refused_link_down")
    if card_ledger.has_lost_cards(turn):
        return message("refused_cards_are_missing")
    names_hands = turn.now.link.names_hands
    return something_is_missing(turn) if names_hands else shoe_is_not_ready(turn)


def _cannot_go_on(standing: TableView) -> bool:
    """No waiting for the shoe brings the round to its end: the rule alone does not help."""
    now, shoe = standing.now, standing.now.shoe
    lost = shoe is not None and shoe.told_drawn > shoe.drawn
    return lost or now.loaded is not None or bool(own_kept(standing))


def _stood(standing: TableView) -> dict[str, Any]:
    halt = standing.now.halt
    if halt is None or halt.top.key != _KEY:
        return {}
    return {name: halt.top.noted[name] for name in ("decided", "end", "rule")}


def _is_ruled_on(standing: TableView) -> dict[str, Any]:
    stood = _stood(standing)
    return {"decided": stood["decided"], "end": "ruled"} if stood else {}


# What is done.


def _take_hands_back(turn: Turn) -> None:
    rule = turn.game.rule(*_WITHDRAWAL)
    for hand in _held(turn):
        hands.take_back_hand(turn, hand, rule)


# The procedure.

_GOES_ON = Choice(PLAY_ON, "dealer", "concluded", (), _is_not_ready, reason=False)
_REFER = Choice(REFER, "dealer", POWER_RULING)

POWER_FAILURE = Procedure(
    _KEY,
    (
        Step(
            OFFER,
            message("prompt_power_failure_offer"),
            (
                Choice(
                    "offer_withdrawal",
                    "dealer",
                    "window",
                    unless=_some_are_being_seen,
                    reason=False,
                ),
                _REFER,
            ),
            facts=_stood,
            turns=(CONTINUE,),
        ),
        Step(
            TAKE_BACK,
            message("prompt_power_failure_take_back"),
            (
                Choice("take_hands_back", "dealer", OFFER, (_take_hands_back,), reason=False),
                _REFER,
            ),
            facts=_stood,
            turns=(CONTINUE,),
        ),
        window_step(
            "window",
            message("prompt_power_failure_window"),
            _KEY,
            "conclude",
            _REFER._replace(do=(close_window,)),
        ),
        Step(
            "conclude",
            message("prompt_power_failure_play_on"),
            (_GOES_ON, _REFER),
            cites=_WITHDRAWAL,
        ),
        Step(
            CONTINUE,
            message("prompt_power_failure_decided"),
            (
                _GOES_ON._replace(then="continued"),
                _REFER._replace(when=_cannot_go_on),
            ),
            facts=_stood,
        ),
        Step(
            POWER_RULING,
            message("prompt_leave_cards_and_call"),
            (GO_ON, CALL_VOID),
            facts=_is_ruled_on,
            cites=_RULED,
        ),
    ),
    (
        End("concluded", "concluded", _WITHDRAWAL),
        End("continued", "continued", _CONTINUED),
        stands(_RULED),
        void(_RULED),
    ),
    Declared("dealer", (*TO_THE_OUTCOME, "suspended"), message("seen_power_failure_declared")),
    covers=("link_lost",),
    facts=established_results,
    begins=(CONTINUE, TAKE_BACK, POWER_RULING),
    begins_by=first_step,
)


def is_shown_in_time(turn: Turn) -> bool:
    """A card that came so, or just before, lies face up long enough for the room to have seen it.

    While such a halt goes on nothing else turns cards: what lies open is seen all the same.
    """
    due_us = shown_at_us(turn.now, turn.settings)
    return due_us is not None and due_us <= turn.now.t_us


def shown_at_us(now: TableState, settings: TableSettings) -> int | None:
    """When the room will have seen the next card that lies face up while such a halt is open."""
    if now.halt is None or now.round is None or turn.faces(now, settings) != "face_up":
        return None
    if not any(opened.key in HEARD_LATE for opened in now.halt.stack):
        return None
    unseen = (d.drawn_us for d in now.round.cards if not d.revealed and d.card is not None)
    first_us = min(unseen, default=None)
    return None if first_us is None else first_us + settings.face_up_after_ms * 1000


# What is done.


def deal_reported_card(turn: Turn) -> None:
    """It takes its slot; one that lies face up the room sees in its time, like any other."""
    reconstruct.deal_late_reading(turn)
    _look_again(turn)


def show_due_cards(turn: Turn) -> None:
    """The room has had its time to see what lies face up: it counts among what stood."""
    reveal.reveal_face_up_cards(turn)
    _look_again(turn)


def _look_again(turn: Turn) -> None:
    halt = halt_of(turn)
    opened = tuple(_looked_at_again(turn, one) for one in halt.stack)
    if opened != halt.stack:
        turn.change(halt=msgspec.structs.replace(halt, stack=opened))
        stack.tell_open_step(turn)


def _looked_at_again(turn: Turn, opened: OpenIrregularity) -> OpenIrregularity:
    if opened.key != KEY or opened.step not in AT_FIRST:
        return opened
    noted = {**opened.noted, **established_results(turn)}
    leads = first_step(turn, noted) == CONTINUE
    step = CONTINUE if leads else opened.step
    return msgspec.structs.replace(opened, noted=noted, step=step)
