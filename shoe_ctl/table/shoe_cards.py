"""The shoe and its cards: a set admitted, counted, due for change, changed.

In: hello, shoe loaded, started, cutting card, burns. Out: shoe.* events, the composition ledger.
Must not know: whose hand a card belongs to.
"""

from __future__ import annotations

from firmware_proto.cards import Card
from firmware_proto.events import CardOutsideGame, Hello, ShoeLoaded

from .state import Shoe
from .turn import Turn

# What was seen.


def holds_cards(turn: Turn) -> bool:
    """The hello says that a set of cards is loaded."""
    event = turn.shoe_event
    return isinstance(event, Hello) and event.set_id is not None


def another_set(turn: Turn) -> bool:
    """The set that the shoe names is not the one the table knows."""
    event = turn.shoe_event
    assert isinstance(event, Hello | ShoeLoaded)
    known = turn.now.shoe
    return known is None or event.set_id != known.set_id


def unsuitable(turn: Turn) -> bool:
    """The set or the device is not what this table's game and settings are for."""
    event = turn.shoe_event
    decks = event.decks if isinstance(event, Hello | ShoeLoaded) else None
    wrong_deck = isinstance(event, Hello) and event.deck != turn.game.deck.name
    return wrong_deck or (decks is not None and decks != turn.settings.decks)


def new_shoe_shown(turn: Turn) -> bool:
    """A start after the cutting card, between rounds, is a new shoe; alone it is a diagnostic."""
    return turn.shoe.cutting_card_out


def burned(turn: Turn) -> bool:
    """The shoe itself counts this card as a burn."""
    return turn.drawn.hand in ("burn", "first_card")


def not_a_card_of_play(turn: Turn) -> bool:
    """The shoe shows its burn count; no card left it."""
    return turn.drawn.hand == "burn_count"


def is_empty(turn: Turn) -> bool:
    """Every card of the set is out."""
    shoe = turn.shoe
    return shoe.drawn >= shoe.decks * len(turn.game.deck.cards)


def change_due(turn: Turn) -> bool:
    """The rounds that may follow the cutting card are played, or no card is left."""
    shoe = turn.shoe
    played = shoe.rounds_since_cutting_card > turn.settings.rounds_after_cutting_card
    return is_empty(turn) or (shoe.cutting_card_out and played)


# What is done.


def admit_shoe(turn: Turn) -> None:
    """A set of cards that the shoe names comes to the table: it gets an id of this table.

    Cards drawn from it before this table knew it are *unseen* in the ledger.
    """
    event = turn.shoe_event
    assert isinstance(event, Hello | ShoeLoaded)
    _admit(turn, event.set_id, event.decks)
    if isinstance(event, Hello):
        turn.set_shoe(
            drawn=event.drawn, unseen=event.drawn, cutting_card_out=event.cutting_card_out
        )


def admit_unnamed_shoe(turn: Turn) -> None:
    """A set that the shoe cannot name: the table counts from what it sees."""
    _admit(turn, None, None)


def _admit(turn: Turn, set_id: str | None, decks: int | None) -> None:
    number = turn.now.shoes + 1
    shoe = Shoe(
        id=f"{turn.settings.table}-s{number}", set_id=set_id, decks=decks or turn.settings.decks
    )
    turn.change(shoes=number, shoe=shoe, loaded=None)
    turn.tell("shoe.loaded", {"shoe_id": shoe.id, "set_id": set_id, "decks": shoe.decks})


def note_cutting_card(turn: Turn) -> None:
    """The cutting card is out: it is removed, and the round is completed."""
    if turn.shoe.cutting_card_out:
        return
    turn.set_shoe(cutting_card_out=True)
    first = turn.now.round is None or not turn.now.round.cards
    turn.tell(
        "irregularity.raised",
        {
            "key": "cutting_card",
            "seen": "the cutting card came " + ("before the first card" if first else "in a round"),
            "rule": turn.game.rule("cutting_card", "completed"),
        },
    )
    turn.tell("irregularity.resolved", {"key": "cutting_card", "how": "removed"})


def announce_change(turn: Turn) -> None:
    """No further round is dealt from this shoe."""
    turn.tell("shoe.change_due", {"shoe_id": turn.shoe.id})


def burn(turn: Turn) -> None:
    """A card burned by the opening procedure: counted, never played."""
    _count_unplaced(turn, turn.drawn.card, "burn", None)


def count_unplaced(turn: Turn) -> None:
    """A card that the controller puts into no slot: counted, with the slot the shoe named."""
    _count_unplaced(turn, turn.drawn.card, turn.drawn.hand, turn.drawn.index)


def count_outside_game(turn: Turn) -> None:
    """A card drawn while the shoe was in no game: counted as set aside."""
    event = turn.shoe_event
    assert isinstance(event, CardOutsideGame)
    _count_unplaced(turn, event.card, "set_aside", None)


def _count_unplaced(turn: Turn, card: Card | None, hand: str | None, index: int | None) -> None:
    count_card(turn, card)
    data = {
        "hand": hand,
        "index": index,
        "card": card.code if card is not None else None,
        "number": turn.shoe.drawn,
        "placed": False,
    }
    turn.tell_restricted("round.card_drawn", data)


def count_card(turn: Turn, card: Card | None) -> None:
    """Enter a card in the composition ledger; one not read counts as unseen."""
    shoe = turn.shoe
    if card is None:
        turn.set_shoe(drawn=shoe.drawn + 1, unseen=shoe.unseen + 1)
        return
    counts = {**shoe.counts, card.code: shoe.counts.get(card.code, 0) + 1}
    turn.set_shoe(drawn=shoe.drawn + 1, counts=counts)


def one_too_many(turn: Turn, card: Card) -> bool:
    """The decks hold no further card with this face."""
    shoe = turn.shoe
    return shoe.counts.get(card.code, 0) >= shoe.decks


def note_device(turn: Turn) -> None:
    """Remember who is speaking."""
    event = turn.shoe_event
    assert isinstance(event, Hello)
    turn.set_link(device_id=event.device_id, boot_id=event.boot_id)


def refuse_shoe(turn: Turn) -> None:
    """A set of cards that this table is not set for: it is not played; another must be loaded."""
    turn.change(shoe=None, loaded=None)
    want = f"{turn.settings.decks} decks of {turn.game.deck.name}"
    seen = f"the loaded cards are not the {want} that this table is set for"
    turn.tell("irregularity.raised", {"key": "other", "seen": seen})
    turn.tell("irregularity.resolved", {"key": "other", "how": "the set is refused"})


def keep_loaded(turn: Turn) -> None:
    """A set came while the table was halted: it is admitted when the round has ended."""
    event = turn.shoe_event
    assert isinstance(event, ShoeLoaded)
    turn.change(loaded=(event.set_id, event.decks))


def admit_kept_set(turn: Turn) -> None:
    """Admit the set that came while the table was halted."""
    if turn.now.loaded is not None:
        set_id, decks = turn.now.loaded
        turn.change(loaded=None)
        _admit(turn, set_id, decks)
