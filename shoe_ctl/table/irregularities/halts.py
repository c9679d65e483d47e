"""Halts as data: the irregularity that each cause raises; and what the shoe reports of itself.

``HALTS`` names every cause that needs no more than a text; ``transitions.py`` halts by that name.
Where the input decides the text or the cause, an action does it: here for causes that belong to no
single irregularity, else in the module of the irregularity.

In: what does not fit the round. Out: the irregularity raised; cards held; shoe.fault .cleared
.noted. Must not know: how an irregularity is decided. Never guesses a card or an order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from firmware_proto.events import (
    Error,
    ErrorCleared,
    Lid,
    PowerLow,
    SelfTested,
    Tamper,
    UnknownFirmware,
    Warned,
)
from shoe_ctl.table.inputs import Fault, Restarted
from shoe_ctl.table.irregularities import pending_card
from shoe_ctl.table.procedures.stack import is_paused, raise_irregularity
from shoe_ctl.table.round import card_check
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.turn import Cause, Turn
from shoe_ctl.texts.message import message

HALTS: Mapping[str, Cause] = {
    # The link and the power.
    "link_lost": Cause("link_lost", message("seen_link_lost")),
    "restarted": Cause("link_lost", message("seen_restarted_in_round")),
    "storage_failed": Cause("link_lost", message("seen_storage_failed_in_round")),
    "host_power_lost": Cause("power_failure", message("seen_host_power_lost")),
    "started_anew": Cause("power_failure", message("seen_shoe_started_again")),
    "rebooted": Cause("power_failure", message("seen_shoe_power_lost")),
    # The shoe itself.
    "lid_opened": Cause("other", message("seen_shoe_opened")),
    "tampered": Cause("other", message("seen_shoe_tampered")),
    "self_test_failed": Cause("other", message("seen_shoe_test_failed")),
    "not_authenticated": Cause("other", message("seen_shoe_not_proved")),
    "firmware_not_allowed": Cause("other", message("seen_firmware_not_allowed")),
    "shoe_reset": Cause("other", message("seen_shoe_reset")),
    "shoe_fault": Cause("other", message("seen_shoe_fault")),
    # Its set of cards.
    "set_loaded": Cause("other", message("seen_set_loaded")),
    "another_set": Cause("other", message("seen_another_set")),
    # A card.
    "no_shoe_known": Cause("other", message("seen_drawn_without_shoe")),
    "outside_game": Cause("other", message("seen_drawn_outside")),
    "entry_disputed": Cause("other", message("seen_record_differs")),
    "unreadable_message": Cause("gap", message("seen_illegible")),
    "card_unreadable": Cause("misread", message("seen_shoe_cannot_read")),
    "reverse_run": Cause("order_altered", message("seen_ran_back")),
    "hand_dealt_anew": Cause("other", message("seen_hand_dealt_again")),
    "card_moved": Cause("other", message("seen_card_moved")),
    # A first card of a round that lies face up: no rule says that it plays (6.1).
    "first_card_face_up": Cause(dealing.FACE_UP_KEY, dealing.SEEN_IN_SHOE, step=dealing.FIRST_STEP),
    "too_many_of_a_face": Cause("extra_card", message("seen_too_many_counted")),
    "card_of_another_deck": Cause("foreign_card", message("seen_foreign_counted")),
    # The shoe's own result.
    "no_result": Cause("result_missing", message("seen_no_result")),
    "result_forced": Cause("result_disagrees", message("seen_round_quit")),
    "result_disagrees": Cause("result_disagrees", message("seen_result_differs")),
    "result_too_early": Cause("result_disagrees", message("seen_result_too_early")),
    # The wagers.
    "differential_exceeded": Cause("table_differential", message("seen_differential_exceeded")),
}
"""Name of a cause → the irregularity that it raises, and what was seen."""


@functools.cache
def halt(name: str) -> Callable[[Turn], None]:
    """Return the action that halts for the cause of this name.

    Raises:
        KeyError: HALTS has no such name.
    """
    cause = HALTS[name]

    def raise_cause(turn: Turn) -> None:
        raise_irregularity(turn, cause)

    return raise_cause


OVERDRAW_CODE = "overdraw"
"""The shoes' own code for a card drawn early. In public it must look like any other fault."""


# Halts whose cause follows from the input


def halt_for_restart(turn: Turn) -> None:
    """Halt: the controller was started again, or goes on after a storage fault, with cards out."""
    event = turn.input_of(Restarted)
    raise_irregularity(turn, HALTS["storage_failed" if event.reopened else "restarted"])


def halt_for_card(turn: Turn) -> None:
    """Halt for a card that does not fit the round, and hold the card."""
    wrong = card_check.find_irregularity(turn)
    assert wrong is not None, "a card that fits is another case"
    raise_irregularity(turn, wrong)
    hold_card(turn)


def halt_for_fault(turn: Turn) -> None:
    """Halt: a part of this program failed on an input. The raw bytes are kept in the journal."""
    event = turn.input_of(Fault)
    seen = message("seen_fault", where=event.where, what=event.what)
    raise_irregularity(turn, Cause("other", seen, message("seen_controller_failed")))


def halt_for_unexpected(turn: Turn) -> None:
    """Halt: the shoe reported something for which this table has no step."""
    seen = message("seen_unforeseen_event", event=turn.shoe_event.type)
    raise_irregularity(turn, Cause("other", seen, message("seen_unforeseen")))


# Cards that come while the table is halted


def hold_another_card(turn: Turn) -> None:
    """Hold a card drawn while the table is halted. One that is not the shoe's is raised too."""
    wrong = card_check.foreign_cause(turn, turn.drawn.card)
    if wrong is not None:
        due = pending_card.is_for_armed_slot(turn) and is_paused(turn)
        raise_irregularity(turn, wrong._replace(data={"due": True}) if due else wrong)
    elif is_paused(turn):
        # The shoe's next card is another case (card.in_pause): this is not that card.
        raise_irregularity(turn, Cause("gap", message("seen_not_the_next_card")))
    hold_card(turn)


def hold_card(turn: Turn) -> None:
    """Count a card that fits nowhere and hold it without a slot."""
    drawn = turn.drawn
    if card_check.is_unaligned(turn) and card_check.can_align(turn):
        turn.set_link(aligned=True)
        # Restricted: it follows from a card that nobody may have seen which card is the first.
        data = {"key": turn.current.key, "step": "aligned_again"}
        turn.emit_restricted("irregularity.step", data, instance=turn.current.instance)
    before = turn.now.shoe
    card_ledger.count_unplaced(turn)
    after = turn.now.shoe
    number = after.drawn if drawn.number is None and after is not None else drawn.number
    dealing.detect_held_face_up(turn)
    named, counted = card_check.named_slot(drawn), before != after
    unplaced.add_card(turn, drawn.card, number, role="held", named_slot=named, counted=counted)


def align(turn: Turn) -> None:
    """Treat the shoe as aligned: a person says that it stands where the table does."""
    turn.set_link(aligned=True)
    if turn.now.halt is not None:
        data = {"step": "aligned_by_person"}
        turn.emit_irregularity("irregularity.step", turn.current, data)


# The shoe's errors and its body: conditions


def may_hide_card(turn: Turn) -> bool:
    """Return True if the shoe raises its alarm at a card of the round: a card may be out."""
    return turn.event(Error).place == "game"


def is_lid_opened(turn: Turn) -> bool:
    """Return True if the lid was opened."""
    return turn.event(Lid).open


def has_failed_test(turn: Turn) -> bool:
    """Return True if a part of the shoe failed its test."""
    return bool(turn.event(SelfTested).failed)


def is_firmware_refused(turn: Turn) -> bool:
    """Return True if a shoe of this firmware is not armed."""
    return turn.event(UnknownFirmware).refused


# What is reported of the shoe


def emit_shoe_fault(turn: Turn) -> None:
    """Emit that the shoe reports a fault.

    Which one is restricted: it may say something of a card.
    """
    event = turn.event(Error)
    _emit_fault(turn, "shoe.fault", event.code, in_error_mode=event.in_error_mode)


def emit_fault(turn: Turn) -> None:
    """Emit that something is wrong with the shoe that concerns no card.

    What it is, is restricted.
    """
    event = turn.shoe_event
    assert isinstance(event, Tamper | SelfTested | PowerLow)
    turn.emit("shoe.fault", {}, restricted={"code": event.type, **_event_facts(turn)})


def emit_fault_cleared(turn: Turn) -> None:
    """Emit that the shoe's fault is over."""
    _emit_fault(turn, "shoe.cleared", turn.event(ErrorCleared).code)


def _emit_fault(turn: Turn, kind: str, code: str, **more: object) -> None:
    """Emit a fault.

    An overdraw follows from cards that only the shoe has read: it is not public.
    """
    secret = {"code": code, **more}
    if code == OVERDRAW_CODE:
        turn.emit_restricted(kind, secret)
    else:
        turn.emit(kind, {}, restricted=secret)


def emit_power_restored(turn: Turn) -> None:
    """Emit that the shoe has enough power again."""
    turn.emit("shoe.cleared", {}, restricted={"code": PowerLow.type})


def emit_warning(turn: Turn) -> None:
    """Emit, restricted, that the shoe warns. The warning may say something of an unseen card."""
    turn.emit_restricted("shoe.fault", {"code": turn.event(Warned).code, "warning": True})


def emit_unknown_firmware(turn: Turn) -> None:
    """Emit that the shoe's firmware is not on the table's list."""
    event = turn.event(UnknownFirmware)
    secret = {
        "code": event.type,
        "firmware": event.firmware,
        "firmware_digest": event.firmware_digest,
        "refused": event.refused,
    }
    turn.emit("shoe.fault", {}, restricted=secret)


def emit_unexpected(turn: Turn) -> None:
    """Emit, restricted, that the shoe reported something unexpected that does no harm."""
    told = {"reason": "not_foreseen", "event": turn.shoe_event.type}
    turn.emit_restricted("frame.discarded", told)


def note_shoe_event(turn: Turn) -> None:
    """Emit, restricted, an event of the shoe that is no fault."""
    turn.emit_restricted("shoe.noted", {"what": turn.shoe_event.type, **_event_facts(turn)})


def _event_facts(turn: Turn) -> dict[str, Any]:
    """Return what the event carries, without ids and without the face of a card."""
    event = turn.shoe_event
    carried = {f.name: getattr(event, f.name) for f in fields(event)}
    return {k: v for k, v in carried.items() if k not in ("card", "command_id") and v is not None}
