"""Cards drawn early: laid face down in no slot, until it is known whose they are.

In: a card that came before its turn, what is decided of it. Out: the table's early and opening
cards, cards placed. Must not know: why it is decided so, which irregularity is open.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import msgspec

from firmware_proto.cards import CARDS
from firmware_proto.events import Hello, ShoeLoaded
from shoe_ctl.texts.message import Message, message

from ..arguments import Name, NoArgs, require_args
from ..state import LoadedSet, Shoe
from ..turn import Cause, Turn
from . import arming, unplaced
from . import ledger as card_ledger

Count = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class ShoePreparation(NoArgs, frozen=True, kw_only=True):
    """How the set was prepared: who or what shuffled and cut it, how many cards were burned.

    ``same_backs``: all backs were seen to be of one colour and design (2.1). ``set`` is the
    house's own name of the set; ``decks`` how many were counted in.
    """

    shuffle: Name
    cut: Name
    burn: Count
    same_backs: bool
    decks: Count | None = None
    set: Name | int | None = None


class Remainder(NoArgs, frozen=True, kw_only=True):
    """What is left in the shoe: how many cards, or ``cards``, each of them ("7D TS")."""

    left: Count | None = None
    cards: str | None = None


# What was seen.


def check_record(turn: Turn, args: ShoePreparation | None) -> Message | None:
    """What stands against recording how the set was put in."""
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


def check_count(_turn: Turn, args: Remainder | None) -> Message | None:
    """What stands against counting what is left."""
    if args is None:
        return None
    if (args.left is None) is (args.cards is None):
        return message("refused_say_what_is_left")
    unknown = [code for code in (args.cards or "").split() if code not in CARDS]
    return message("refused_no_such_card", card=unknown[0]) if unknown else None


def count_causes(turn: Turn) -> list[Cause]:
    """The irregularities that the count shows, in words that name no card."""
    found = _compare_with_ledger(turn)
    told = []
    if found["foreign"]:
        told.append(Cause("foreign_card", message("seen_foreign_cards_left")))
    if found["extra"] or found["too_many"]:
        told.append(Cause("extra_card", message("seen_too_many_cards_left")))
    if found["missing"] or found["too_few"]:
        told.append(Cause("missing_card_in_shoe", message("seen_too_few_cards_left")))
    return told


def _compare_with_ledger(turn: Turn) -> dict[str, Any]:
    """What is left against the ledger; faces are missed only where every draw of them is known."""
    shoe, args = turn.shoe, require_args(turn, Remainder)
    left = Counter((args.cards or "").split())
    counted = left.total() if args.left is None else args.left
    in_deck = [card.code for card in turn.game.deck.cards]
    ours = sum(count for code, count in shoe.counts.items() if code in in_deck)
    expected = shoe.decks * len(in_deck) - ours - shoe.unseen
    foreign = {code: n for code, n in left.items() if code not in in_deck}
    of_deck = counted - sum(foreign.values())
    faces = {code: left[code] + shoe.counts.get(code, 0) - shoe.decks for code in in_deck}
    listed, known = args.cards is not None, shoe.unseen == 0
    return {
        "left": counted,
        "expected": expected,
        "too_many": max(0, of_deck - expected),
        "too_few": max(0, expected - of_deck),
        "foreign": foreign,
        "extra": {code: n for code, n in faces.items() if listed and n > 0},
        "missing": {code: -n for code, n in faces.items() if listed and known and n < 0},
    }


# What is done.


def record_opening(turn: Turn) -> None:
    """The shoe-opening record."""
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
    secret = {"device_id": turn.now.link.device_id, "drawn": shoe.drawn, **turn.actor()}
    turn.tell("shoe.opened", data, restricted={**data, **secret})


def count_remainder(turn: Turn) -> None:
    """What is left is counted; where it disagrees the table halts."""
    found, agrees = _compare_with_ledger(turn), not count_causes(turn)
    data = {"shoe_id": turn.shoe.id, "left": found["left"], "agrees": agrees}
    turn.tell("shoe.counted", data, restricted={**data, **found, **turn.actor()})
    if not agrees:
        turn.then("count_disagrees")


def set_aside_opening_cards(turn: Turn) -> None:
    """No further round is dealt from these cards: one that was to open it opens none."""
    if turn.now.opening:
        unplaced.drop_roles(turn, "opening")
        data = {"step": "set_aside_no_further_round"}
        turn.emit_irregularity("irregularity.step", "overdraw", data)


# What was seen.


def holds_no_cards(turn: Turn) -> bool:
    """The hello says that no cards are in the shoe."""
    event = turn.shoe_event
    assert isinstance(event, Hello)
    return event.set_id is None


def is_another_set(turn: Turn) -> bool:
    """What the shoe says it holds is not the set that the table knows."""
    event = turn.shoe_event
    assert isinstance(event, Hello | ShoeLoaded)
    known = turn.now.shoe
    return event.set_id != (known.set_id if known is not None else None)


def is_unsuitable(turn: Turn) -> bool:
    """The set or the device is not what this table's game and settings are for."""
    return not _announced(turn).fits


def has_no_pending_cards(turn: Turn) -> bool:
    """The shoe was emptied in the round, by hand."""
    shown = turn.now.loaded
    return shown is not None and (shown.set_id, shown.decks) == (None, 0)


def blocks_round_end(turn: Turn) -> bool:
    """Another set waits, and no round is to end before it, or one that wants cards of its own."""
    if turn.now.loaded is None:
        return False
    played = turn.now.round
    return played is None or not (turn.state == "resolved" or played.shoe_sorted)


def is_pending_set_unsuitable(turn: Turn) -> bool:
    """The set that waited for the round's end is not one for this table."""
    return turn.now.loaded is not None and not turn.now.loaded.fits


def shows_new_shoe(turn: Turn) -> bool:
    """A start between rounds when a change is due is a new shoe; alone it is a diagnostic."""
    return turn.source == "shoe_change" or turn.shoe.cutting_card_out


def repeats_known_set(turn: Turn) -> bool:
    """The loading, sent again, of a set that a hello made known and no card was heard of."""
    if is_unsuitable(turn):
        return False
    shoe, event = turn.now.shoe, turn.shoe_event
    assert isinstance(event, ShoeLoaded)
    if shoe is None or shoe.set_id is None or event.set_id != shoe.set_id:
        return False
    return not shoe.counts and shoe.drawn == shoe.unseen


def _announced(turn: Turn) -> LoadedSet:
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


# What is done.


def note_device(turn: Turn) -> None:
    """Remember who is speaking, and how many cards it says are out."""
    event = turn.shoe_event
    assert isinstance(event, Hello)
    turn.set_link(device_id=event.device_id, boot_id=event.boot_id, met=True)
    if turn.now.shoe is not None and not is_another_set(turn):
        turn.set_shoe(told_drawn=event.drawn)
        arming.on_hello(turn, event.drawn)


def show_set(turn: Turn) -> None:
    """The shoe names the cards that it holds now, or none: the table takes them as its own."""
    turn.change(loaded=_announced(turn))
    turn.then("set_shown")


def show_unnamed_set(turn: Turn) -> None:
    """The shoe holds cards that it cannot name."""
    turn.change(loaded=LoadedSet(set_id=None, decks=None, fits=True))
    turn.then("set_shown")


def admit_unnamed_set(turn: Turn) -> None:
    """A set that the shoe cannot name: the table counts from what it sees."""
    _admit(turn, LoadedSet(set_id=None, decks=None, fits=True))


def _admit(turn: Turn, shown: LoadedSet) -> None:
    """The set gets an id of this table; what was drawn of it before is *unseen* in the ledger."""
    set_aside_opening_cards(turn)
    number = turn.now.shoes + 1
    shoe = Shoe(
        id=f"{turn.settings.table}-s{number}",
        set_id=shown.set_id,
        decks=shown.decks or turn.settings.decks,
        drawn=shown.drawn,
        unseen=shown.drawn,
        told_drawn=shown.drawn,
        cutting_card_out=shown.cutting_card_out,
    )
    turn.change(shoes=number, shoe=shoe, loaded=None)
    replaces = f"{turn.settings.table}-s{number - 1}" if number > 1 else None
    data = {"shoe_id": shoe.id, "set_id": shoe.set_id, "decks": shoe.decks, "replaces": replaces}
    turn.tell("shoe.loaded", data, restricted={**data, "device_id": turn.now.link.device_id})
    if card_ledger.is_shoe_empty(turn):
        turn.then("change_due")


def count_from_its_loading(turn: Turn) -> None:
    """All that was drawn of the set is sent again: count it from the first card."""
    turn.set_shoe(
        drawn=0, unseen=0, returned=0, told_drawn=0, cutting_card_out=False, stale_arm=None
    )


def keep_pending_set(turn: Turn) -> None:
    """Another set than the own one, shown in a round or while halted, waits for the round's end.

    So does the own one whose loading was heard after a card: a hello does not take that back.
    """
    shown, waits = _announced(turn), turn.now.loaded
    loaded = isinstance(turn.shoe_event, ShoeLoaded) or is_another_set(turn)
    still = waits is not None and waits.set_id is not None and waits.set_id == shown.set_id
    turn.change(loaded=shown if loaded or still else None)


def admit_pending_set(turn: Turn) -> None:
    """Admit the set that waited for the round's end."""
    assert turn.now.loaded is not None
    _admit(turn, turn.now.loaded)


def refuse_set(turn: Turn) -> None:
    """A set of cards that this table is not set for: it is not played; another must be loaded."""
    set_aside_opening_cards(turn)
    turn.change(shoe=None, loaded=None)
    seen = message("seen_set_refused", decks=turn.settings.decks, deck=turn.game.deck.name)
    turn.tell("irregularity.raised", {"key": "other", "seen": seen.as_data(), "rule": None})
    turn.tell("irregularity.resolved", {"key": "other", "how": "set_refused", "rule": None})


def remove_shoe(turn: Turn) -> None:
    """The cards were taken out of the shoe: the table has none."""
    set_aside_opening_cards(turn)
    turn.change(shoe=None, loaded=None)
