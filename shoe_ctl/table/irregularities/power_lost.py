"""The power failed in a round: each Player may withdraw all, or play goes on, by what is decided.

In: nothing. Out: its procedure. Must not know: how the power came back, which wager is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoe_ctl.table import passing, power, shoe_cards
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, GO_ON, PLAY_ON, stands, void
from .grounds import (
    TO_THE_OUTCOME,
    own_kept,
    shoe_is_not_ready,
    something_is_missing,
)
from .procedure import Choice, Declared, End, Procedure, Step
from .withdrawal import close_window, has_window, window_step

_KEY = power.KEY
_RULED = (_KEY, "ruled")
_WITHDRAWAL = (_KEY, "withdrawal")
_CONTINUED = (_KEY, "continued")

CONTINUE = "continue"
TAKE_BACK = "take_back"
OFFER = "power"
RULING = "ruling"

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
        return RULING
    if noted["end"] == "continued":
        return CONTINUE
    if not has_window(turn, _KEY):
        return RULING
    return TAKE_BACK if _held(turn) else OFFER


def _held(turn: Turn) -> list[str]:
    """Hands that a Player holds and that have a card that nobody has seen."""
    return [hand for hand in ("player", "banker") if passing.is_held_unseen(turn, hand)]


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
    if shoe_cards.cards_are_lost(turn):
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
        passing.take_back(turn, hand, rule)


# The procedure.

_GOES_ON = Choice(PLAY_ON, "dealer", "concluded", (), _is_not_ready, reason=False)
_REFER = Choice(REFER, "dealer", RULING)

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
            RULING,
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
    facts=power.established,
    begins=(CONTINUE, TAKE_BACK, RULING),
    begins_by=first_step,
)
