"""Sets of cards and the devices that hold them: shown, admitted, refused, kept for later.

In: hello, shoe loaded, started. Out: shoe.loaded, the shoe that the table plays from.
Must not know: single cards, hands, halts.
"""

from __future__ import annotations

from firmware_proto.events import Hello, ShoeLoaded
from shoe_ctl.texts.message import message

from . import early, shoe_cards
from .shoe import arming
from .state import LoadedSet, Shoe
from .turn import Turn

# What was seen.


def is_empty_handed(turn: Turn) -> bool:
    """The hello says that no cards are in the shoe."""
    event = turn.shoe_event
    assert isinstance(event, Hello)
    return event.set_id is None


def another_set(turn: Turn) -> bool:
    """What the shoe says it holds is not the set that the table knows."""
    event = turn.shoe_event
    assert isinstance(event, Hello | ShoeLoaded)
    known = turn.now.shoe
    return event.set_id != (known.set_id if known is not None else None)


def unsuitable(turn: Turn) -> bool:
    """The set or the device is not what this table's game and settings are for."""
    return not _announced(turn).fits


def no_cards_wait(turn: Turn) -> bool:
    """The shoe was emptied in the round, by hand."""
    shown = turn.now.loaded
    return shown is not None and (shown.set_id, shown.decks) == (None, 0)


def stands_in_the_way(turn: Turn) -> bool:
    """Another set waits, and no round is to end before it, or one that wants cards of its own."""
    if turn.now.loaded is None:
        return False
    played = turn.now.round
    return played is None or not (turn.state == "resolved" or played.shoe_sorted)


def kept_set_is_unsuitable(turn: Turn) -> bool:
    """The set that waited for the round's end is not one for this table."""
    return turn.now.loaded is not None and not turn.now.loaded.fits


def new_shoe_shown(turn: Turn) -> bool:
    """A start between rounds when a change is due is a new shoe; alone it is a diagnostic."""
    return turn.source == "shoe_change" or turn.shoe.cutting_card_out


def loads_what_is_known(turn: Turn) -> bool:
    """The loading, sent again, of a set that a hello made known and no card was heard of."""
    if unsuitable(turn):
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
    if turn.now.shoe is not None and not another_set(turn):
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
    early.set_aside_opening(turn)
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
    if shoe_cards.is_empty(turn):
        turn.then("change_due")


def count_from_its_loading(turn: Turn) -> None:
    """All that was drawn of the set is sent again: count it from the first card."""
    turn.set_shoe(
        drawn=0, unseen=0, returned=0, told_drawn=0, cutting_card_out=False, stale_arm=None
    )


def keep_set(turn: Turn) -> None:
    """Another set than the own one, shown in a round or while halted, waits for the round's end.

    So does the own one whose loading was heard after a card: a hello does not take that back.
    """
    shown, waits = _announced(turn), turn.now.loaded
    loaded = isinstance(turn.shoe_event, ShoeLoaded) or another_set(turn)
    still = waits is not None and waits.set_id is not None and waits.set_id == shown.set_id
    turn.change(loaded=shown if loaded or still else None)


def admit_kept_set(turn: Turn) -> None:
    """Admit the set that waited for the round's end."""
    assert turn.now.loaded is not None
    _admit(turn, turn.now.loaded)


def refuse_set(turn: Turn) -> None:
    """A set of cards that this table is not set for: it is not played; another must be loaded."""
    early.set_aside_opening(turn)
    turn.change(shoe=None, loaded=None)
    seen = message("seen_set_refused", decks=turn.settings.decks, deck=turn.game.deck.name)
    turn.tell("irregularity.raised", {"key": "other", "seen": seen.as_data(), "rule": None})
    turn.tell("irregularity.resolved", {"key": "other", "how": "set_refused", "rule": None})


def take_out(turn: Turn) -> None:
    """The cards were taken out of the shoe: the table has none."""
    early.set_aside_opening(turn)
    turn.change(shoe=None, loaded=None)
