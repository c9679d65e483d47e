"""The power failed between *no more bets* and the outcome (``power_failure``, I 5.15, N/T/F 5.17).

Rule: if the revealed cards have decided an available wager, play goes on, whoever holds cards
(I 5.15.2, N/T/F 5.17.2). If they have decided none, each Player may withdraw all wagers or none
(I 5.15.1, N/T/F 5.17.1); hands that Players hold are taken back before *(reading)*. The round is
played to its end even if all withdraw. A game without a rule for it leaves it to whoever decides.

Cards that the shoe reports late, or that lie face up, may decide a wager while the step is open:
then the rule is determined again.

In: a restart of the host or the shoe, cards reported during the halt. Out: ``POWER_FAILURE``.
Must not know: how the power came back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from firmware_proto.events import Hello
from shoe_ctl.table.inputs import Restarted
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import Choice, Declared, End, Procedure, Step
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    PLAY_ON,
    check_can_resume,
    check_shoe_ready,
    current_held_cards,
    end_play_on,
    end_void,
)
from shoe_ctl.table.procedures.withdrawal import (
    close_window,
    decided_wagers,
    has_window,
    window_step,
)
from shoe_ctl.table.round import hands, reconstruct, reveal
from shoe_ctl.table.round.card_check import LATE_CARD_KEYS
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.situations import TO_THE_OUTCOME
from shoe_ctl.table.state import OpenIrregularity
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

POWER_FAILURE_KEY = "power_failure"
_CITES_RULING = (POWER_FAILURE_KEY, "ruled")
_CITES_WITHDRAWAL = (POWER_FAILURE_KEY, "withdrawal")
_CITES_CONTINUED = (POWER_FAILURE_KEY, "continued")
CONTINUE = "continue"
TAKE_BACK = "take_back"
OFFER = "power"
POWER_RULING = "ruling"

REFER = "refer"
"""The choice that leaves the rule and asks whoever decides."""

FIRST_STEPS = frozenset({CONTINUE, TAKE_BACK, OFFER})
"""The steps at which newly revealed cards may still change which rule holds."""


# Detection


def has_lost_power(turn: Turn) -> bool:
    """Return True if the shoe or its host restarted since it was last known, or was exchanged."""
    event, link = turn.input, turn.now.link
    if isinstance(event, Restarted):
        return turn.now.host_boot not in (None, event.host_boot)
    hello = turn.event(Hello)
    known = (link.device_id, link.boot_id)
    return known not in ((None, None), (hello.device_id, hello.boot_id))


# Which rule holds: seen by everyone at the table


def establish_results(turn: Turn) -> dict[str, Any]:
    """Return the available wagers that are decided, and the end and the rule that follow."""
    decided = decided_wagers(turn)
    end = "continued" if decided else "withdrawal"
    return {"decided": decided, "end": end, "rule": turn.game.rule(POWER_FAILURE_KEY, end)}


def first_step(turn: Turn, noted: Mapping[str, Any]) -> str:
    """Return the step at which it begins, by what ``establish_results`` returned."""
    if noted["rule"] is None:
        return POWER_RULING
    if noted["end"] == "continued":
        return CONTINUE
    if not has_window(turn, POWER_FAILURE_KEY):
        return POWER_RULING
    return TAKE_BACK if _hands_held_face_down(turn) else OFFER


def is_face_up_card_seen(turn: Turn) -> bool:
    """Return True if a card has lain face up long enough for the room to have seen it.

    While the table is halted nothing else reveals cards, but what lies open is seen.
    """
    due_us = face_up_seen_at_us(turn)
    return due_us is not None and due_us <= turn.now.t_us


def face_up_seen_at_us(view: TableView) -> int | None:
    """Return when the room will have seen the next card that lies face up during such a halt."""
    now = view.now
    if now.halt is None or now.round is None or view.faces != "face_up":
        return None
    if not any(opened.key in LATE_CARD_KEYS for opened in now.halt.stack):
        return None
    unseen = (d.drawn_us for d in now.round.cards if not d.revealed and d.card is not None)
    first_us = min(unseen, default=None)
    return None if first_us is None else first_us + view.settings.face_up_after_ms * 1000


def deal_reported_card(turn: Turn) -> None:
    """Place a card that the shoe reports late. One that lies face up is seen in its time."""
    reconstruct.deal_late_reading(turn)
    _redetermine_rule(turn)


def show_due_cards(turn: Turn) -> None:
    """Reveal the cards that have lain face up long enough: they may decide a wager."""
    reveal.reveal_face_up_cards(turn)
    _redetermine_rule(turn)


def _redetermine_rule(turn: Turn) -> None:
    """Determine again which rule holds, and emit the step if it changed."""
    if decide_again(turn):
        stack.emit_open_step(turn)


def decide_again(turn: Turn) -> bool:
    """Determine again which rule holds, and return whether it changed."""
    halt = turn.halt
    opened = tuple(_with_current_results(turn, one) for one in halt.stack)
    if opened == halt.stack:
        return False
    turn.change(halt=msgspec.structs.replace(halt, stack=opened))
    return True


def _with_current_results(turn: Turn, opened: OpenIrregularity) -> OpenIrregularity:
    """Return the irregularity by the cards that are revealed now."""
    if opened.key != POWER_FAILURE_KEY or opened.step not in FIRST_STEPS:
        return opened
    noted = {**opened.data, **establish_results(turn)}
    first = first_step(turn, noted)
    step = first if CONTINUE in (first, opened.step) else opened.step
    return msgspec.structs.replace(opened, data=noted, step=step)


# Conditions


def _hands_held_face_down(turn: Turn) -> list[str]:
    """Return the hands that a Player holds and that have a card that nobody has seen."""
    return [hand for hand in ("player", "banker") if hands.is_held_face_down(turn, hand)]


def _check_cards_seen(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection while a card lies open that the room has not had its time to see.

    It may decide a wager.
    """
    opens = turn.faces == "face_up"
    down = any(not dealt.revealed and dealt.card is not None for dealt in turn.round.cards)
    return message("refused_cards_being_seen") if opens and down else None


def _check_ready(turn: Turn, _args: object = None) -> Message | None:
    """Return why the round cannot go on.

    Before the first card, a shoe that names its hands need not be aligned: that card aligns it.
    """
    if turn.resume_state != "closed":
        return check_shoe_ready(turn)
    if not turn.now.link.up:
        return message("refused_link_down")
    if card_ledger.has_lost_cards(turn):
        return message("refused_cards_are_missing")
    names_hands = turn.now.link.names_hands
    return check_can_resume(turn) if names_hands else check_shoe_ready(turn)


def _is_stuck(view: TableView) -> bool:
    """Return True if waiting for the shoe does not bring the round to its end."""
    now, shoe = view.now, view.now.shoe
    lost = shoe is not None and shoe.reported_drawn > shoe.drawn
    return lost or now.pending_set is not None or bool(current_held_cards(view))


def _established_facts(view: TableView) -> dict[str, Any]:
    """Return what was established, with the rule that holds."""
    return {name: view.current.data[name] for name in ("decided", "end", "rule")}


def _ruling_facts(view: TableView) -> dict[str, Any]:
    """Return what was established, where it is ruled on."""
    return {"decided": view.current.data["decided"], "end": "ruled"}


# Actions


def _take_hands_back(turn: Turn) -> None:
    """Take back, face down, the hands that Players hold."""
    rule = turn.game.rule(*_CITES_WITHDRAWAL)
    for hand in _hands_held_face_down(turn):
        hands.take_back_hand(turn, hand, rule)


# Procedure

_GOES_ON = Choice(PLAY_ON, "dealer", "concluded", (), _check_ready, reason=False)
_REFER = Choice(REFER, "dealer", POWER_RULING)

POWER_FAILURE = Procedure(
    POWER_FAILURE_KEY,
    (
        Step(
            OFFER,
            message("prompt_power_failure_offer"),
            (
                Choice(
                    "offer_withdrawal", "dealer", "window", check=_check_cards_seen, reason=False
                ),
                _REFER,
            ),
            facts=_established_facts,
            automatic=(CONTINUE,),
        ),
        Step(
            TAKE_BACK,
            message("prompt_power_failure_take_back"),
            (Choice("take_hands_back", "dealer", OFFER, (_take_hands_back,), reason=False), _REFER),
            facts=_established_facts,
            automatic=(CONTINUE,),
        ),
        window_step(
            "window",
            message("prompt_power_failure_window"),
            POWER_FAILURE_KEY,
            "conclude",
            _REFER._replace(actions=(close_window,)),
        ),
        Step(
            "conclude",
            message("prompt_power_failure_play_on"),
            (_GOES_ON, _REFER),
            cites=_CITES_WITHDRAWAL,
        ),
        Step(
            CONTINUE,
            message("prompt_power_failure_decided"),
            (_GOES_ON._replace(leads_to="continued"), _REFER._replace(offered_if=_is_stuck)),
            facts=_established_facts,
            automatic=(OFFER, TAKE_BACK, POWER_RULING),
        ),
        Step(
            POWER_RULING,
            message("prompt_leave_cards_and_call"),
            (GO_ON, CALL_VOID),
            facts=_ruling_facts,
            cites=_CITES_RULING,
        ),
    ),
    (
        End("concluded", "concluded", _CITES_WITHDRAWAL),
        End("continued", "continued", _CITES_CONTINUED),
        end_play_on(_CITES_RULING),
        end_void(_CITES_RULING),
    ),
    Declared("dealer", (*TO_THE_OUTCOME, "suspended"), message("seen_power_failure_declared")),
    covers=("link_lost",),
    facts=establish_results,
    begins=(CONTINUE, TAKE_BACK, POWER_RULING),
    begins_by=first_step,
)
"""The host or the shoe lost its power in a round."""
