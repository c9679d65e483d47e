"""When the round cannot go on by itself: which irregularity it is, what comes while it is open.

In: what does not fit. Out: the irregularity raised; shoe.fault .cleared; cards kept.
Must not know: how it is mended: it asks, and never guesses a card or an order.
"""

from __future__ import annotations

import msgspec

from firmware_proto.events import Error, ErrorCleared, Gap, Hello, Warned
from shoe_ctl.texts.message import message

from . import composition, face_up, fitting, pending, shoe_cards, shoe_sets, slots
from .cause import Cause
from .causes import HALTS
from .inputs import Fault, Restarted
from .irregularities import stakes
from .irregularities.stack import go_to, is_paused, raise_irregularity
from .round import unplaced
from .turn import Turn

OVERDRAW = "overdraw"
"""The shoes' own code for a card drawn early: in public it must look like any other."""

CANNOT_READ = ("cannot_read", "E3")
"""The shoes' own codes for a card that they could not read."""

REVERSE_RUNS = ("reverse_run", "reverse_run_at_exit", "reverse_run_midway")
"""The shoes' own codes for a card that ran backwards."""

# What was seen.


def power_was_lost(turn: Turn) -> bool:
    """The shoe or its host booted since it was last heard of, or another shoe took its place."""
    event, link = turn.happened, turn.now.link
    if isinstance(event, Restarted):
        return turn.now.host_boot not in (None, event.host_boot)
    hello = turn.event(Hello)
    known = (link.device_id, link.boot_id)
    return known not in ((None, None), (hello.device_id, hello.boot_id))


def cards_were_missed(turn: Turn) -> bool:
    """The shoe counts more cards than were heard of, and will not send them again."""
    hello, shoe = turn.shoe_event, turn.now.shoe
    assert isinstance(hello, Hello)
    if shoe is None or hello.resumed or shoe_sets.another_set(turn):
        return False
    return hello.drawn > shoe.drawn


def shoe_saw_overdraw(turn: Turn) -> bool:
    """The shoe's fault is a card drawn early, by its own count of the round."""
    event = turn.event(Error)
    return event.code == OVERDRAW


def shoe_could_not_read(turn: Turn) -> bool:
    """The shoe stops at a card that was due and says no more of it than that it cannot read it."""
    event = turn.event(Error)
    awaited = slots.next_slot(turn.now) is not None and not turn.now.link.replay
    of_a_burn = event.place == "burn"
    return awaited and not of_a_burn and (event.code in CANNOT_READ or stands_for_a_card(turn))


def stands_for_a_card(turn: Turn) -> bool:
    """The shoe raises its alarm where it would tell a card of the round: one may be out."""
    event = turn.event(Error)
    return event.place == "game"


def asks_where_the_card_is(turn: Turn) -> bool:
    """People are asked already where the card is that the shoe stopped at."""
    top = None if turn.now.halt is None else turn.now.halt.top
    return top is not None and (top.key, top.step) == ("misread", "where")


def is_of_the_last_card(turn: Turn) -> bool:
    """The shoe has just told of a card as not read, and says so once more."""
    event, played, link = turn.shoe_event, turn.now.round, turn.now.link
    assert isinstance(event, Error)
    if event.code not in CANNOT_READ or link.replay or link.names_hands or played is None:
        return False
    return any(d.card is None and d.number == turn.shoe.drawn for d in played.cards)


def order_was_altered(turn: Turn) -> bool:
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
    wrong = fitting.what_is_wrong(turn)
    assert wrong is not None, "a card that fits has a line of its own"
    raise_irregularity(turn, wrong)
    keep(turn)


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
    for cause in composition.causes(turn):
        raise_irregularity(turn, cause)


def halt_for_differential(turn: Turn) -> None:
    """Bets are closed and main wagers too far apart; found after a card it is ruled on (6.1)."""
    out = turn.round.cards or turn.now.held or turn.now.pending is not None
    step = stakes.RULING if out else None
    raise_irregularity(turn, HALTS["differential_exceeded"]._replace(step=step))


def rule_on_differential(turn: Turn) -> None:
    """A card came that was on its way as bets closed: with a card out it is ruled on (6.1)."""
    halt = turn.now.halt
    assert halt is not None
    if halt.top.key == stakes.KEY and halt.top.step != stakes.RULING:
        go_to(turn, stakes.RULING)
        return
    under = tuple(
        msgspec.structs.replace(one, step=stakes.RULING) if one.key == stakes.KEY else one
        for one in halt.stack
    )
    turn.change(halt=msgspec.structs.replace(halt, stack=under))


def halt_for_fault(turn: Turn) -> None:
    """A part of this program failed on an input: its raw bytes are kept."""
    event = turn.happened
    assert isinstance(event, Fault)
    seen = message("seen_fault", where=event.where, what=event.what)
    raise_irregularity(turn, Cause("other", seen, message("seen_controller_failed")))


def tell_shoe_fault(turn: Turn) -> None:
    """The shoe reports a fault: which one is restricted, it may tell of a card."""
    event = turn.event(Error)
    _tell_fault(turn, "shoe.fault", event.code, in_error_mode=event.in_error_mode)


def tell_warning(turn: Turn) -> None:
    """The shoe warns of something. Of what is not known: it may tell of a card nobody has seen."""
    event = turn.event(Warned)
    turn.tell_restricted("shoe.fault", {"code": event.code, "warning": True})


def look_after_the_round(turn: Turn) -> None:
    """Where announcements are implied the round is over at once: what was found waits for that."""
    turn.then("one_too_many")


def halt_for_too_many(turn: Turn) -> None:
    """What people entered shows that one of the cards counted is not the shoe's."""
    too_many = shoe_cards.has_too_many(turn)
    cause = HALTS["too_many_of_a_face" if too_many else "card_of_another_deck"]
    raise_irregularity(turn, cause._replace(subject=str(turn.now.inputs)))


def tell_unforeseen(turn: Turn) -> None:
    """The shoe said something that this table has no step for, where it can do no harm."""
    told = {"reason": "not_foreseen", "event": turn.shoe_event.type}
    turn.tell_restricted("frame.discarded", told)


def halt_for_unforeseen(turn: Turn) -> None:
    """The shoe said something that this table has no step for."""
    seen = message("seen_unforeseen_event", event=turn.shoe_event.type)
    raise_irregularity(turn, Cause("other", seen, message("seen_unforeseen")))


def tell_fault_cleared(turn: Turn) -> None:
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


def keep_another(turn: Turn) -> None:
    """A card drawn while halted; one that is not the shoe's is an irregularity of its own."""
    wrong = fitting.not_the_shoes(turn)
    if wrong is not None:
        due = pending.is_for_its_place(turn) and is_paused(turn)
        raise_irregularity(turn, wrong._replace(noted={"due": True}) if due else wrong)
    elif is_paused(turn):
        # The next card has a line of its own; this one is not it.
        raise_irregularity(turn, Cause("gap", message("seen_not_the_next_card")))
    keep(turn)


def keep(turn: Turn) -> None:
    """A card that fits nowhere: counted and kept, never added to the round."""
    drawn = turn.drawn
    if fitting.unaligned(turn) and fitting.aligns(turn):
        turn.set_link(aligned=True)
        # Which card the shoe takes for a round's first follows from cards nobody may have seen.
        data = {"key": _top_key(turn), "step": "aligned_again"}
        turn.tell_restricted("irregularity.step", data)
    before = turn.now.shoe
    shoe_cards.count_unplaced(turn)
    after = turn.now.shoe
    number = after.drawn if drawn.number is None and after is not None else drawn.number
    face_up.look_at_kept(turn)
    named, counted = fitting.named_slot(drawn), before != after
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
