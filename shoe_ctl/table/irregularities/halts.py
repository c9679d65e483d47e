"""When the round cannot go on by itself: which irregularity it is, what comes while it is open.

In: what does not fit. Out: the irregularity raised; shoe.fault .cleared; cards kept.
Must not know: how it is mended: it asks, and never guesses a card or an order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import msgspec

from firmware_proto.events import (
    Error,
    ErrorCleared,
    Gap,
    Hello,
    Lid,
    PowerLow,
    SelfTested,
    Tamper,
    UnknownFirmware,
    Warned,
)
from shoe_ctl.texts.message import message

from .. import state
from ..inputs import Fault, Restarted
from ..procedures.stack import go_to, is_paused, raise_irregularity
from ..round import card_check
from ..round import deal as dealing
from ..shoe import card_set, unplaced
from ..shoe import ledger as card_ledger
from ..turn import Cause, Turn
from . import differential as differential_halt
from . import pending_card

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
    # The round's first card lay face up: no rule says that it plays (6.1).
    "first_card_face_up": Cause(dealing.FACE_UP_KEY, dealing.SEEN_IN_SHOE, step=dealing.FIRST_STEP),
    "too_many_of_a_face": Cause("extra_card", message("seen_too_many_counted")),
    "card_of_another_deck": Cause("foreign_card", message("seen_foreign_counted")),
    # The shoe's own result.
    "no_result": Cause("result_missing", message("seen_no_result")),
    "result_forced": Cause("result_disagrees", message("seen_round_quit")),
    "result_disagrees": Cause("result_disagrees", message("seen_result_differs")),
    "result_too_early": Cause("result_disagrees", message("seen_result_too_early")),
    # The wagers.
    "differential_exceeded": Cause(
        differential_halt.DIFFERENTIAL_KEY, message("seen_differential_exceeded")
    ),
}
"""Name of a halt → the irregularity that it raises, and what was seen."""


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


OVERDRAW = "overdraw"
"""The shoes' own code for a card drawn early: in public it must look like any other."""

CANNOT_READ = ("cannot_read", "E3")
"""The shoes' own codes for a card that they could not read."""

REVERSE_RUNS = ("reverse_run", "reverse_run_at_exit", "reverse_run_midway")
"""The shoes' own codes for a card that ran backwards."""

# What was seen.


def has_lost_power(turn: Turn) -> bool:
    """The shoe or its host booted since it was last heard of, or another shoe took its place."""
    event, link = turn.happened, turn.now.link
    if isinstance(event, Restarted):
        return turn.now.host_boot not in (None, event.host_boot)
    hello = turn.event(Hello)
    known = (link.device_id, link.boot_id)
    return known not in ((None, None), (hello.device_id, hello.boot_id))


def has_missed_cards(turn: Turn) -> bool:
    """The shoe counts more cards than were heard of, and will not send them again."""
    hello, shoe = turn.shoe_event, turn.now.shoe
    assert isinstance(hello, Hello)
    if shoe is None or hello.resumed or card_set.is_another_set(turn):
        return False
    return hello.drawn > shoe.drawn


def is_overdraw_error(turn: Turn) -> bool:
    """The shoe's fault is a card drawn early, by its own count of the round."""
    event = turn.event(Error)
    return event.code == OVERDRAW


def is_reading_error(turn: Turn) -> bool:
    """The shoe stops at a card that was due and says no more of it than that it cannot read it."""
    event = turn.event(Error)
    awaited = state.next_slot(turn.now) is not None and not turn.now.link.replay
    of_a_burn = event.place == "burn"
    return awaited and not of_a_burn and (event.code in CANNOT_READ or may_hide_card(turn))


def may_hide_card(turn: Turn) -> bool:
    """The shoe raises its alarm where it would tell a card of the round: one may be out."""
    event = turn.event(Error)
    return event.place == "game"


def asks_for_card_place(turn: Turn) -> bool:
    """People are asked already where the card is that the shoe stopped at."""
    top = None if turn.now.halt is None else turn.now.halt.top
    return top is not None and (top.key, top.step) == ("misread", "where")


def is_about_last_card(turn: Turn) -> bool:
    """The shoe has just told of a card as not read, and says so once more."""
    event, played, link = turn.shoe_event, turn.now.round, turn.now.link
    assert isinstance(event, Error)
    if event.code not in CANNOT_READ or link.replay or link.names_hands or played is None:
        return False
    return any(d.card is None and d.number == turn.shoe.drawn for d in played.cards)


def is_reverse_run(turn: Turn) -> bool:
    """A card ran back into the shoe: which comes next is not known."""
    event = turn.event(Error)
    return event.code in REVERSE_RUNS


# Actions that halt for a cause that the input names; the others are data (``causes.HALTS``).


def halt_for_restart(turn: Turn) -> None:
    """The controller was started again, or goes on after a storage fault, with cards out."""
    again = turn.happened
    assert isinstance(again, Restarted)
    raise_irregularity(turn, HALTS["storage_failed" if again.reopened else "restarted"])


def halt_for_card(turn: Turn) -> None:
    """A card that does not fit: kept, and the table asks."""
    wrong = card_check.find_irregularity(turn)
    assert wrong is not None, "a card that fits has a line of its own"
    raise_irregularity(turn, wrong)
    hold_card(turn)


def halt_for_gap(turn: Turn) -> None:
    """Events are missing that nobody can send again."""
    event = turn.event(Gap)
    seen = message("seen_events_lost", first=event.first, last=event.last)
    raise_irregularity(turn, Cause("gap", seen))


def halt_for_missed_cards(turn: Turn) -> None:
    """Cards were drawn that were not heard of and will not be."""
    event = turn.event(Hello)
    missed = event.drawn - turn.shoe.drawn
    seen = message("seen_cards_missed", cards=missed)
    raise_irregularity(turn, Cause("gap", seen))


def halt_for_count(turn: Turn) -> None:
    """What is left in the shoe is not what the ledger says: between rounds nothing is void."""
    for cause in card_set.count_causes(turn):
        raise_irregularity(turn, cause)


def halt_for_differential(turn: Turn) -> None:
    """Bets are closed and main wagers too far apart; found after a card it is ruled on (6.1)."""
    out = turn.round.cards or turn.now.held or turn.now.pending is not None
    step = differential_halt.DIFFERENTIAL_RULING if out else None
    raise_irregularity(turn, HALTS["differential_exceeded"]._replace(step=step))


def rule_on_differential(turn: Turn) -> None:
    """A card came that was on its way as bets closed: with a card out it is ruled on (6.1)."""
    halt = turn.now.halt
    assert halt is not None
    if (
        halt.top.key == differential_halt.DIFFERENTIAL_KEY
        and halt.top.step != differential_halt.DIFFERENTIAL_RULING
    ):
        go_to(turn, differential_halt.DIFFERENTIAL_RULING)
        return
    under = tuple(
        msgspec.structs.replace(one, step=differential_halt.DIFFERENTIAL_RULING)
        if one.key == differential_halt.DIFFERENTIAL_KEY
        else one
        for one in halt.stack
    )
    turn.change(halt=msgspec.structs.replace(halt, stack=under))


def halt_for_fault(turn: Turn) -> None:
    """A part of this program failed on an input: its raw bytes are kept."""
    event = turn.happened
    assert isinstance(event, Fault)
    seen = message("seen_fault", where=event.where, what=event.what)
    raise_irregularity(turn, Cause("other", seen, message("seen_controller_failed")))


def emit_shoe_fault(turn: Turn) -> None:
    """The shoe reports a fault: which one is restricted, it may tell of a card."""
    event = turn.event(Error)
    _tell_fault(turn, "shoe.fault", event.code, in_error_mode=event.in_error_mode)


def emit_warning(turn: Turn) -> None:
    """The shoe warns of something. Of what is not known: it may tell of a card nobody has seen."""
    event = turn.event(Warned)
    turn.tell_restricted("shoe.fault", {"code": event.code, "warning": True})


def raise_extra_card_after_round(turn: Turn) -> None:
    """Where announcements are implied the round is over at once: what was found waits for that."""
    turn.then("one_too_many")


def halt_for_too_many(turn: Turn) -> None:
    """What people entered shows that one of the cards counted is not the shoe's."""
    too_many = card_ledger.has_too_many(turn)
    cause = HALTS["too_many_of_a_face" if too_many else "card_of_another_deck"]
    raise_irregularity(turn, cause._replace(subject=str(turn.now.inputs)))


def emit_unexpected(turn: Turn) -> None:
    """The shoe said something that this table has no step for, where it can do no harm."""
    told = {"reason": "not_foreseen", "event": turn.shoe_event.type}
    turn.tell_restricted("frame.discarded", told)


def halt_for_unexpected(turn: Turn) -> None:
    """The shoe said something that this table has no step for."""
    seen = message("seen_unforeseen_event", event=turn.shoe_event.type)
    raise_irregularity(turn, Cause("other", seen, message("seen_unforeseen")))


def emit_fault_cleared(turn: Turn) -> None:
    """The shoe's fault is over."""
    event = turn.event(ErrorCleared)
    _tell_fault(turn, "shoe.cleared", event.code)


def _tell_fault(turn: Turn, kind: str, code: str, **more: object) -> None:
    """A shoe knows an overdraw by the cards it read: in public that fault does not exist."""
    secret = {"code": code, **more}
    if code == OVERDRAW:
        turn.tell_restricted(kind, secret)
    else:
        turn.tell(kind, {}, restricted=secret)


# While halted.


def hold_another_card(turn: Turn) -> None:
    """A card drawn while halted; one that is not the shoe's is an irregularity of its own."""
    wrong = card_check.is_foreign(turn)
    if wrong is not None:
        due = pending_card.is_for_armed_slot(turn) and is_paused(turn)
        raise_irregularity(turn, wrong._replace(noted={"due": True}) if due else wrong)
    elif is_paused(turn):
        # The next card has a line of its own; this one is not it.
        raise_irregularity(turn, Cause("gap", message("seen_not_the_next_card")))
    hold_card(turn)


def hold_card(turn: Turn) -> None:
    """A card that fits nowhere: counted and kept, never added to the round."""
    drawn = turn.drawn
    if card_check.is_unaligned(turn) and card_check.can_align(turn):
        turn.set_link(aligned=True)
        # Which card the shoe takes for a round's first follows from cards nobody may have seen.
        data = {"key": _top_key(turn), "step": "aligned_again"}
        turn.tell_restricted("irregularity.step", data)
    before = turn.now.shoe
    card_ledger.count_unplaced(turn)
    after = turn.now.shoe
    number = after.drawn if drawn.number is None and after is not None else drawn.number
    dealing.check_held_face_up(turn)
    named, counted = card_check.named_slot(drawn), before != after
    unplaced.add_card(turn, drawn.card, number, role="held", named_slot=named, counted=counted)


def align(turn: Turn) -> None:
    """A person says that the shoe stands where the table does."""
    turn.set_link(aligned=True)
    if turn.now.halt is not None:
        who = {"person": turn.command.person}
        data = {"step": "aligned_by_person"}
        turn.emit_irregularity("irregularity.step", _top_key(turn), data, **who)


def _top_key(turn: Turn) -> str:
    return turn.current.key


def is_lid_opened(turn: Turn) -> bool:
    """The lid went up."""
    event = turn.shoe_event
    assert isinstance(event, Lid)
    return event.open


def has_failed_test(turn: Turn) -> bool:
    """A part of the shoe failed its test."""
    event = turn.shoe_event
    assert isinstance(event, SelfTested)
    return bool(event.failed)


def is_fault(turn: Turn) -> bool:
    """Something of the shoe is not as it should be: but for a test that found nothing."""
    event = turn.shoe_event
    return not isinstance(event, SelfTested) or bool(event.failed)


def is_firmware_refused(turn: Turn) -> bool:
    """A shoe of this firmware is not armed."""
    event = turn.shoe_event
    assert isinstance(event, UnknownFirmware)
    return event.refused


def emit_fault(turn: Turn) -> None:
    """Something is wrong with the shoe that concerns no card: the room hears of it, staff what."""
    event = turn.shoe_event
    assert isinstance(event, Tamper | SelfTested | PowerLow)
    turn.tell("shoe.fault", {}, restricted={"code": event.type, **_said(turn)})


def emit_power_restored(turn: Turn) -> None:
    """It has enough power again."""
    turn.tell("shoe.cleared", {}, restricted={"code": PowerLow.type})


def note_shoe_event(turn: Turn) -> None:
    """Nothing is wrong; who looks after the shoe may want to know."""
    turn.tell_restricted("shoe.noted", {"what": turn.shoe_event.type, **_said(turn)})


def _said(turn: Turn) -> dict[str, Any]:
    """What the event carries, but for ids and the face of a card."""
    event = turn.shoe_event
    said = {f.name: getattr(event, f.name) for f in fields(event)}
    return {k: v for k, v in said.items() if k not in ("card", "command_id") and v is not None}


def emit_unknown_firmware(turn: Turn) -> None:
    """The shoe's firmware is not on the table's list."""
    event = turn.shoe_event
    assert isinstance(event, UnknownFirmware)
    secret = {
        "code": event.type,
        "firmware": event.firmware,
        "firmware_digest": event.firmware_digest,
        "refused": event.refused,
    }
    turn.tell("shoe.fault", {}, restricted=secret)
