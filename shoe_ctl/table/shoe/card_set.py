"""The set of cards in the shoe: how it comes, is recorded and counted, and when it is changed.

In: what the shoe says it holds, the shoe-opening record, a count of what is left, the cutting card.
Out: shoe.loaded .opened .counted .change_due, the table's Shoe and LoadedSet.
Must not know: which card is drawn, what a halt does.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import msgspec

from firmware_proto.cards import CARDS
from firmware_proto.events import Hello, ShoeLoaded
from shoe_ctl.table.arguments import Cards, Name, NoArgs, require_args
from shoe_ctl.table.shoe import arming, unplaced
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import LoadedSet, Shoe
from shoe_ctl.table.turn import Cause, Turn
from shoe_ctl.texts.message import Message, message

# Arguments.

Count = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class ShoePreparation(NoArgs, frozen=True, kw_only=True):
    """The preparation of the set, for the shoe-opening record."""

    shuffle: Name
    """The person or the machine that shuffled it."""

    cut: Name
    """The person or the machine that cut it."""

    burn: Count
    """The number of cards burned."""

    same_backs: bool
    """All backs were seen to be of one colour and design (2.1)."""

    decks: Count | None = None
    """The number of decks counted in."""

    set: Name | int | None = None
    """The casino's own name of the set."""


class Remainder(NoArgs, frozen=True, kw_only=True):
    """The cards left in the shoe: one of the two."""

    left: Count | None = None
    """The number of cards."""

    cards: Cards | None = None
    """Each of the cards, by its code ("7D TS")."""


# Announced and pending sets: conditions.

UNNAMED_SET = LoadedSet(set_id=None, decks=None, fits=True)
"""A set that the shoe cannot name, of which the table knows only what it sees."""


def holds_no_cards(turn: Turn) -> bool:
    """True if the hello says that no cards are in the shoe."""
    return turn.event(Hello).set_id is None


def is_another_set(turn: Turn) -> bool:
    """True if the shoe announces another set than the one that the table knows."""
    event = turn.shoe_event
    assert isinstance(event, Hello | ShoeLoaded)
    known = turn.now.shoe
    return event.set_id != (known.set_id if known is not None else None)


def repeats_known_set(turn: Turn) -> bool:
    """True if the shoe sends its loading again, of the set that the table knows by a hello.

    No card of the set was reported so far.
    """
    if not _announced(turn).fits:
        return False
    shoe, event = turn.now.shoe, turn.shoe_event
    assert isinstance(event, ShoeLoaded)
    if shoe is None or shoe.set_id is None or event.set_id != shoe.set_id:
        return False
    return not shoe.counts and shoe.drawn == shoe.unknown


def shows_new_shoe(turn: Turn) -> bool:
    """True if a start of the shoe between rounds means a new set: a change is due.

    Any other start is only a diagnostic.
    """
    return turn.source == "shoe_change" or turn.shoe.cutting_card_out


def has_no_pending_cards(turn: Turn) -> bool:
    """True if the shoe was emptied by hand during the round."""
    pending = turn.now.pending_set
    return pending is not None and (pending.set_id, pending.decks) == (None, 0)


def is_pending_set_unsuitable(turn: Turn) -> bool:
    """True if the pending set does not fit this table."""
    return turn.now.pending_set is not None and not turn.now.pending_set.fits


def blocks_round_end(turn: Turn) -> bool:
    """True if another set is pending and the open round cannot end first.

    A round that is resolved, or gets no further card from the shoe, still ends.
    """
    if turn.now.pending_set is None:
        return False
    played = turn.now.round
    return played is None or not (turn.state == "resolved" or played.shoe_sorted)


def _announced(turn: Turn) -> LoadedSet:
    """Return the set that this event announces, and whether it fits this table."""
    event, wanted = turn.shoe_event, turn.game.deck.name
    assert isinstance(event, Hello | ShoeLoaded)
    fits = event.decks in (None, turn.settings.decks)
    if isinstance(event, ShoeLoaded):
        return LoadedSet(set_id=event.set_id, decks=event.decks, fits=fits)
    return LoadedSet(
        set_id=event.set_id,
        decks=event.decks if event.set_id is not None else 0,
        fits=fits and event.deck == wanted,
        drawn=event.drawn,
        cutting_card_out=event.cutting_card_out,
    )


# Announced and pending sets: actions.


def note_device(turn: Turn) -> None:
    """Record which device it is, and how many cards it says are out."""
    event = turn.event(Hello)
    turn.set_link(device_id=event.device_id, boot_id=event.boot_id, identified=True)
    if turn.now.shoe is not None and not is_another_set(turn):
        turn.set_shoe(reported_drawn=event.drawn)
        arming.on_hello(turn, event.drawn)


def receive_set(turn: Turn) -> None:
    """Take the announced set, or none, as the set that the shoe holds now."""
    turn.change(pending_set=_announced(turn))
    turn.fire("set_shown")


def receive_unnamed_set(turn: Turn) -> None:
    """Take the cards in the shoe as a set, although the shoe cannot name it."""
    turn.change(pending_set=UNNAMED_SET)
    turn.fire("set_shown")


def keep_pending_set(turn: Turn) -> None:
    """Keep the announced set as pending until the round ends, or drop the pending one.

    A set is pending if it is not the one the table knows, or was loaded anew. A hello of a pending
    set that was loaded anew leaves it pending.
    """
    announced, pending = _announced(turn), turn.now.pending_set
    is_new = isinstance(turn.shoe_event, ShoeLoaded) or is_another_set(turn)
    is_pending = (
        pending is not None and pending.set_id is not None and pending.set_id == announced.set_id
    )
    turn.change(pending_set=announced if is_new or is_pending else None)


def admit_pending_set(turn: Turn) -> None:
    """Admit the pending set."""
    assert turn.now.pending_set is not None
    _admit(turn, turn.now.pending_set)


def admit_unnamed_set(turn: Turn) -> None:
    """Admit a set that the shoe cannot name."""
    _admit(turn, UNNAMED_SET)


def _admit(turn: Turn, announced: LoadedSet) -> None:
    """Begin a shoe of this table with the set.

    Cards that were drawn from it before count as unseen.
    """
    set_aside_opening_cards(turn)
    unplaced.drop_roles(turn, "aside")
    number = turn.now.shoes + 1
    shoe = Shoe(
        id=f"{turn.settings.table}-s{number}",
        set_id=announced.set_id,
        decks=announced.decks or turn.settings.decks,
        drawn=announced.drawn,
        unknown=announced.drawn,
        reported_drawn=announced.drawn,
        cutting_card_out=announced.cutting_card_out,
    )
    turn.change(shoes=number, shoe=shoe, pending_set=None)
    replaces = f"{turn.settings.table}-s{number - 1}" if number > 1 else None
    data = {"shoe_id": shoe.id, "set_id": shoe.set_id, "decks": shoe.decks, "replaces": replaces}
    turn.emit("shoe.loaded", data, restricted={**data, "device_id": turn.now.link.device_id})
    if card_ledger.is_shoe_empty(turn):
        turn.fire("change_due")


def restart_count(turn: Turn) -> None:
    """Restart the count of the set: the shoe sends all its draws again, from the first."""
    unplaced.drop_roles(turn, "aside")
    turn.set_shoe(
        drawn=0, unknown=0, returned=0, reported_drawn=0, cutting_card_out=False, stale_arm=None
    )


def refuse_set(turn: Turn) -> None:
    """Refuse a set that does not fit this table: another must be loaded."""
    set_aside_opening_cards(turn)
    unplaced.drop_roles(turn, "aside")
    turn.change(shoe=None, pending_set=None)
    seen = message("seen_set_refused", decks=turn.settings.decks, deck=turn.game.deck.name)
    turn.emit_ended_irregularity("other", seen, "set_refused", None)


def remove_shoe(turn: Turn) -> None:
    """Record that the cards were taken out: the table has no set."""
    set_aside_opening_cards(turn)
    unplaced.drop_roles(turn, "aside")
    turn.change(shoe=None, pending_set=None)


def set_aside_opening_cards(turn: Turn) -> None:
    """Drop a card that was to open the next round: no round is dealt from these cards any more."""
    if turn.now.opening:
        unplaced.drop_roles(turn, "opening")
        secret = {"key": "overdraw", "step": "set_aside_no_further_round"}
        data = {**secret, "key": turn.public_key("overdraw")}
        turn.emit("irregularity.step", data, restricted=secret)


# The shoe-opening record (2.1).


def check_record(turn: Turn, args: ShoePreparation | None) -> Message | None:
    """Return why the shoe-opening record cannot be made."""
    shoe, rule = turn.shoe, turn.game.clause("decks")
    if shoe.recorded:
        return message("refused_shoe_is_recorded")
    if args is None:
        return None
    if not args.same_backs:
        return message("refused_unlike_backs").citing(rule)
    if args.decks not in (None, shoe.decks):
        return message("refused_other_decks", decks=shoe.decks).citing(rule)
    return None


def record_opening(turn: Turn) -> None:
    """Record how the set was put in: the shoe-opening record."""
    args, shoe = require_args(turn, ShoePreparation), turn.shoe
    turn.set_shoe(recorded=True)
    data = {
        "shoe_id": shoe.id,
        "set_id": shoe.set_id if args.set is None else str(args.set),
        "decks": shoe.decks,
        "shuffle": args.shuffle,
        "cut": args.cut,
        "burn": args.burn,
        "same_backs": args.same_backs,
        "rule": turn.game.clause("decks"),
    }
    secret = {"device_id": turn.now.link.device_id, "drawn": shoe.drawn}
    turn.emit("shoe.opened", data, restricted={**data, **secret})


# The cutting card, and when a change of the set is due.


def check_cutting_card(turn: Turn, _args: object = None) -> Message | None:
    """Return why the cutting card cannot be declared."""
    if card_ledger.has_no_shoe(turn):
        return message("refused_no_shoe")
    return message("refused_cutting_card_is_out") if turn.shoe.cutting_card_out else None


def note_cutting_card(turn: Turn) -> None:
    """Record that the cutting card came. It is removed, and the round is completed.

    Where it was declared before, the shoe says so too now: that is not taken back any more.
    """
    if turn.shoe.cutting_card_out:
        kept = tuple(one for one in turn.now.declarations if one.shoe is None)
        turn.change(declarations=kept)
        return
    turn.set_shoe(cutting_card_out=True)
    dealt = () if turn.now.round is None else turn.now.round.cards
    first = not dealt and not turn.now.opening
    seen = message("seen_cutting_card_first") if first else message("seen_cutting_card_in_round")
    rule = turn.game.rule("cutting_card", "completed")
    turn.emit_ended_irregularity("cutting_card", seen, "removed", rule)


def is_cutting_card_out(turn: Turn, shoe_id: str) -> bool:
    """Return True if this shoe is on the table, and its cutting card is out."""
    shoe = turn.now.shoe
    return shoe is not None and shoe.id == shoe_id and shoe.cutting_card_out


def take_back_cutting_card(turn: Turn) -> None:
    """Take the cutting card for not seen yet: it was declared by mistake."""
    turn.set_shoe(cutting_card_out=False)


def is_change_due(turn: Turn) -> bool:
    """True if no further round is dealt from this set: it must be changed."""
    shoe = turn.shoe
    played = shoe.rounds_since_cutting_card > turn.settings.rounds_after_cutting_card
    return (
        card_ledger.is_shoe_empty(turn) or shoe.to_be_replaced or (shoe.cutting_card_out and played)
    )


def is_last_round(turn: Turn) -> bool:
    """True if no round may follow the open one, or the one played last."""
    shoe = turn.shoe
    played = shoe.rounds_since_cutting_card + (0 if turn.now.round is None else 1)
    over = shoe.cutting_card_out and played > turn.settings.rounds_after_cutting_card
    return card_ledger.is_shoe_empty(turn) or over


def replace_before_next(turn: Turn, rule: str | None = None) -> None:
    """Require that the cards are replaced before the next round.

    For ends of procedures whose rule says so (N/T/F 5.12.2; 5.11.5). ``rule`` is part of
    shoe.change_due.
    """
    turn.set_shoe(to_be_replaced=True, replaced_under=rule)


def announce_shoe_change(turn: Turn) -> None:
    """Announce that the shoe is to be changed."""
    shoe = turn.shoe
    under = {"rule": shoe.replaced_under} if shoe.to_be_replaced else {}
    turn.emit("shoe.change_due", {"shoe_id": shoe.id, **under})


# A count of the cards that are left.


def check_count(_turn: Turn, args: Remainder | None) -> Message | None:
    """Return why this is not a count of what is left."""
    if args is None:
        return None
    if (args.left is None) is (args.cards is None):
        return message("refused_say_what_is_left")
    unknown = [code for code in (args.cards or "").split() if code not in CARDS]
    return message("refused_no_such_card", card=unknown[0]) if unknown else None


def count_remainder(turn: Turn) -> None:
    """Record the count of what is left; halt the table if it disagrees with the ledger."""
    found, agrees = _compare_with_ledger(turn), not count_causes(turn)
    data = {"shoe_id": turn.shoe.id, "left": found["left"], "agrees": agrees}
    turn.emit("shoe.counted", data, restricted={**data, **found})
    if not agrees:
        turn.fire("count_disagrees")


def count_causes(turn: Turn) -> list[Cause]:
    """Return the irregularities that the count shows, in words that name no card."""
    found = _compare_with_ledger(turn)
    causes = []
    if found["foreign"]:
        causes.append(Cause("foreign_card", message("seen_foreign_cards_left")))
    if found["extra"] or found["too_many"]:
        causes.append(Cause("extra_card", message("seen_too_many_cards_left")))
    if found["missing"] or found["too_few"]:
        causes.append(Cause("missing_card_in_shoe", message("seen_too_few_cards_left")))
    return causes


def _compare_with_ledger(turn: Turn) -> dict[str, Any]:
    """Return the count beside what the ledger expects.

    Faces are compared only if the cards were listed; a face can be missing only if every draw is
    known.
    """
    shoe, args = turn.shoe, require_args(turn, Remainder)
    left = Counter((args.cards or "").split())
    counted = left.total() if args.left is None else args.left
    in_deck = [card.code for card in turn.game.deck.cards]
    ours = sum(count for code, count in shoe.counts.items() if code in in_deck)
    expected = shoe.decks * len(in_deck) - ours - shoe.unknown
    foreign = {code: n for code, n in left.items() if code not in in_deck}
    of_deck = counted - sum(foreign.values())
    faces = {code: left[code] + shoe.counts.get(code, 0) - shoe.decks for code in in_deck}
    listed, known = args.cards is not None, shoe.unknown == 0
    return {
        "left": counted,
        "expected": expected,
        "too_many": max(0, of_deck - expected),
        "too_few": max(0, expected - of_deck),
        "foreign": foreign,
        "extra": {code: n for code, n in faces.items() if listed and n > 0},
        "missing": {code: -n for code, n in faces.items() if listed and known and n < 0},
    }
