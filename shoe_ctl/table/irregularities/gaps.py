"""Cards that were drawn and not reported: the link was lost, or draws are missing (6.3).

Rule: the cards dealt stand. If the same shoe comes back and reports everything, the round goes on
by itself (``link_lost``). Else people look at the table: they enter what was missed, place what is
held, take back an entry that the shoe never drew, or rule on it (6.1).

In: the link, the shoe's events and counts, what people enter. Out: ``LINK_LOST`` and ``GAP``; cards
entered or taken back, entries compared with the shoe's record.
Must not know: why the link was lost.
"""

from __future__ import annotations

from firmware_proto.events import Gap, Hello, Status
from shoe_ctl.table.irregularities import unread_cards
from shoe_ctl.table.procedures.card_choices import ENTER, PLACE
from shoe_ctl.table.procedures.procedure import Accepts, Choice, End, Procedure, Step, is_not
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    LAY_ASIDE,
    PLAY_ON,
    align,
    check_can_resume,
    current_held_cards,
    emit_cards_moved,
    end_play_on,
    end_set_aside,
    end_void,
    update_data,
)
from shoe_ctl.table.procedures.stack import raise_irregularity, resolve_returned_card
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.round import reconstruct
from shoe_ctl.table.shoe import card_set
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe.ledger import COUNTS_DIFFER
from shoe_ctl.table.state import INITIAL_DEAL
from shoe_ctl.table.turn import Cause, TableView, Turn
from shoe_ctl.texts.message import Message, message

# Detection


def has_missed_cards(turn: Turn) -> bool:
    """Return True if the shoe counts cards that were never reported and will not be sent again."""
    hello, shoe = turn.event(Hello), turn.now.shoe
    if shoe is None or hello.resumed or card_set.is_another_set(turn):
        return False
    return hello.drawn > shoe.drawn


def contradicts_entry(turn: Turn) -> bool:
    """Return True if people entered this draw, which they did, as another card."""
    entered, drawn = turn.shoe.entered_draws[_drawn_number(turn)], turn.drawn.card
    return entered is not None and drawn is not None and entered != drawn.code


def counts_fewer_than_entered(turn: Turn) -> bool:
    """Return True if the shoe that is back counts fewer cards than people entered."""
    event, shoe = turn.event(Hello), turn.now.shoe
    if shoe is None or card_set.is_another_set(turn):
        return False
    return any(number > event.drawn for number in shoe.entered_draws)


def _drawn_number(turn: Turn) -> int:
    number = turn.drawn.number
    assert number is not None
    return number


def halt_for_gap(turn: Turn) -> None:
    """Halt: events of the shoe are lost, and nobody can send them again."""
    event = turn.event(Gap)
    seen = message("seen_events_lost", first=event.first, last=event.last)
    raise_irregularity(turn, Cause("gap", seen))


def halt_for_missed_cards(turn: Turn) -> None:
    """Halt: the shoe counts cards that were never reported."""
    missed = turn.event(Hello).drawn - turn.shoe.drawn
    seen = message("seen_cards_missed", cards=missed)
    raise_irregularity(turn, Cause("gap", seen))


def halt_for_counts(turn: Turn) -> None:
    """Halt: shoe and table count different numbers of cards.

    People count the cards on the table.
    """
    event = turn.shoe_event
    assert isinstance(event, Hello | Status)
    seen = message("seen_counts_differ", shoe=event.drawn, table=turn.shoe.drawn)
    raise_irregularity(turn, Cause("gap", seen, subject=COUNTS_DIFFER, step=COUNTS_DIFFER))


def compare_with_entry(turn: Turn) -> None:
    """Compare the shoe's record of a draw with what people entered for it.

    Where they named no card (it lay face down), the record names it.
    """
    number, drawn = _drawn_number(turn), turn.drawn.card
    entered = turn.shoe.entered_draws[number]
    left = {n: code for n, code in turn.shoe.entered_draws.items() if n != number}
    turn.set_shoe(entered_draws=left)
    data = {"number": number, "entered": entered, "card": None if drawn is None else drawn.code}
    turn.emit_restricted("round.entry_compared", data)
    if drawn is not None and entered not in (None, drawn.code) and drawn in turn.game.deck:
        card_ledger.note_reading(turn, drawn)
    if entered is not None or drawn is None:
        return
    if drawn not in turn.game.deck:  # the card is inspected; its slot is still to be entered
        turn.fire("one_too_many")
        return
    played = turn.now.round
    on_table = next((d for d in (played.cards if played else ()) if d.number == number), None)
    if on_table is None:
        card_ledger.name_unknown_card(turn, drawn)
    elif on_table.card is None:
        slot = (on_table.hand, on_table.index)
        dealing.apply_late_reading(turn, slot, drawn)
        unread_cards.resolve_read(turn, slot)


# Conditions


def is_same_shoe_back(turn: Turn) -> bool:
    """Return True if the same shoe is back with nothing missed.

    It was not restarted, holds the same cards, replays everything, and no card came meanwhile.
    """
    event, link = turn.shoe_event, turn.now.link
    if not isinstance(event, Hello) or not event.resumed or current_held_cards(turn):
        return False
    if turn.now.shoe is not None and any(n > event.drawn for n in turn.now.shoe.entered_draws):
        return False  # people entered what it never drew
    device = (event.device_id, event.boot_id)
    return device == (link.device_id, link.boot_id) and not card_set.is_another_set(turn)


def has_entries(view: TableView) -> bool:
    """Return True if people entered or placed cards since this was raised."""
    halt = view.now.halt
    return halt is not None and bool(halt.current.data.get("entered"))


def _has_entered_card(view: TableView) -> bool:
    return card_ledger.last_entered(view) is not None


def check_take_back(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if the last entry can no longer be taken back."""
    last, played = card_ledger.last_entered(turn), turn.round
    assert last is not None, "the choice is offered only then"
    if turn.now.held or turn.now.early or last.number != turn.shoe.drawn:
        return message("refused_card_drawn_after")
    if played.totals_announced and (last.hand, last.index) in INITIAL_DEAL:
        return message("refused_totals_with_card")
    return None


def check_counts(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if the shoe would refuse the next draw, or the table cannot go on."""
    if card_ledger.shoe_has_fewer(turn):
        return message("refused_shoe_counts_fewer")
    return check_can_resume(turn)


# Actions


def take_back_entry(turn: Turn) -> None:
    """Take back the last entry: the card was never drawn, so it is due again."""
    last, key = card_ledger.last_entered(turn), turn.current.key
    assert last is not None
    pending = reconstruct.pending_irregularity(turn.now, last)
    reconstruct.remove_never_drawn(turn, last)
    reconstruct.set_phase(turn)
    emit_cards_moved(turn, "taken_back", [last.place])
    if pending is not None:
        resolve_returned_card(turn, pending, turn.game.rule(key, "entered"))
    update_data(turn, entered=True)


def recount_cards(turn: Turn) -> None:
    """Follow the shoe's count: the cards lie as they were entered, and the shoe missed them."""
    counts = card_ledger.public_counts(turn)
    card_ledger.adopt_shoe_count(turn)
    data = {"key": turn.current.key, "step": "recounted", **counts}
    turn.emit("irregularity.step", data, instance=turn.current.instance)
    update_data(turn, entered=True)


# Procedures

TAKE_BACK = Choice(
    "take_back", "pit_supervisor", "ruling", (take_back_entry,), check_take_back,
    needs_consent=True, offered_if=_has_entered_card,
)  # fmt: skip

RECOUNT = Choice(
    "recount",
    "pit_supervisor",
    "ruling",
    (recount_cards,),
    needs_consent=True,
    offered_if=card_ledger.shoe_has_fewer,
)

GO_ON_WITH_ENTRIES = Choice(
    PLAY_ON, "pit_supervisor", "entered", (align,), check_counts, offered_if=has_entries
)
"""Play goes on by rule, with the cards that were entered or placed."""

GO_ON_WITHOUT_ENTRIES = GO_ON._replace(check=check_counts, offered_if=is_not(has_entries))
"""A ruling: nothing had to be entered."""

CHOICES: tuple[Choice, ...] = (
    ENTER,
    PLACE,
    TAKE_BACK,
    RECOUNT,
    GO_ON_WITH_ENTRIES,
    GO_ON_WITHOUT_ENTRIES,
)
"""The choices about missed cards, in the order in which they are offered."""


def end_entered(key: str) -> End:
    """Return the end after which the round goes on with all cards in their places (6.3)."""
    return End("entered", PLAY_ON, (key, "entered"))


LINK_LOST = Procedure(
    "link_lost",
    (
        Step(
            "ruling",
            message("prompt_link_lost"),
            (*CHOICES, LAY_ASIDE, CALL_VOID),
            (Accepts("hello", is_same_shoe_back, "resumed"),),
            facts=card_ledger.public_counts,
        ),
    ),
    (
        End("resumed", "link_is_back", ("link_lost", "resumed")),
        end_entered("link_lost"),
        end_play_on(("link_lost", "ruled")),
        end_set_aside(("link_lost", "ruled")),
        end_void(("link_lost", "ruled")),
    ),
)
"""The link to the shoe was lost, or the controller was restarted, in a round."""

GAP = Procedure(
    "gap",
    (
        Step(
            "ruling",
            message("prompt_gap"),
            (*CHOICES, LAY_ASIDE, CALL_VOID),
            facts=card_ledger.public_counts,
        ),
        Step(
            card_ledger.COUNTS_DIFFER,
            message("prompt_gap_counts"),
            (*CHOICES, LAY_ASIDE, CALL_VOID),
            facts=card_ledger.public_counts,
        ),
    ),
    (
        end_entered("gap"),
        end_play_on(("gap", "ruled")),
        end_set_aside(("gap", "ruled")),
        end_void(("gap", "ruled")),
    ),
    covers=("link_lost",),
    begins=(card_ledger.COUNTS_DIFFER,),
)
"""Draws or events of the shoe are missing."""
