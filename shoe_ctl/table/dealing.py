"""Cards into slots: which slot is next, whether a card fits it, the deal itself.

In: cards drawn. Out: round.opened .bets_closed .card_dealt, the draw to arm next.
Must not know: how a card is revealed, what a round pays.
"""

from __future__ import annotations

from firmware_proto.events import Armed, Locked

from . import shoe_cards
from .state import Dealt, Round, TableState
from .turn import Turn

INITIAL_DEAL = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2))
"""The first four cards (N/T/I 3.12-3.13, F 3.12): Player first, in turn."""


def next_slot(now: TableState) -> tuple[str, int] | None:
    """The hand and index that the next card is for, where a card is due."""
    dealt = now.round.cards if now.round is not None else ()
    if len(dealt) < len(INITIAL_DEAL):
        return INITIAL_DEAL[len(dealt)]
    if now.round is not None and now.round.due is not None:
        return now.round.due, 3
    return None


def armed_for(now: TableState, *, implied: bool) -> Armed | Locked:
    """What the shoe should be: armed for exactly the draw that revealed cards imply, or locked."""
    slot = next_slot(now)
    if now.state not in takes_cards(implied=implied) or slot is None:
        return Locked()
    if now.shoe is None or not now.link.aligned:
        return Locked()
    return Armed(now.shoe.drawn + 1, *slot)


def takes_cards(*, implied: bool) -> tuple[str, ...]:
    """The states in which a card may be drawn; implied announcements follow the first card."""
    dealt = ("closed", "dealing", "drawing")
    return ("idle", "betting", *dealt) if implied else dealt


# What was seen.


def in_sequence(turn: Turn) -> bool:
    """The card is readable, ours, in its turn, and for the slot that is due."""
    return what_is_wrong(turn) is None and (turn.now.link.aligned or aligns(turn))


def what_is_wrong(turn: Turn) -> tuple[str, str] | None:
    """The irregularity that this card is, with what was seen, or None.

    The words never hold the card's value: they may be read before it is revealed.
    """
    drawn, slot = turn.drawn, next_slot(turn.now)
    if drawn.card is None:
        return "misread", "a card was drawn that the shoe could not read"
    if drawn.card not in turn.game.deck:
        return "foreign_card", "a card of another deck was drawn"
    if shoe_cards.one_too_many(turn, drawn.card):
        return "extra_card", "a card was drawn beyond the number its decks hold"
    if drawn.number is not None and drawn.number != turn.shoe.drawn + 1:
        return "gap", f"draw {drawn.number} came where draw {turn.shoe.drawn + 1} was next"
    if slot is None or turn.source not in takes_cards(implied=turn.settings.implied):
        return "overdraw", "a card was drawn early"
    if drawn.hand is not None and (drawn.hand, drawn.index) != slot:
        seen = f"the shoe named {drawn.hand} {drawn.index} where {slot[0]} {slot[1]} was due"
        return "wrong_order", seen
    if drawn.armed is False:
        return "overdraw", "a card was drawn that the shoe was not armed for"
    return None


def aligns(turn: Turn) -> bool:
    """A fresh Player card 1: the only card that aligns a shoe that cannot replay."""
    return (turn.drawn.hand, turn.drawn.index) == INITIAL_DEAL[0]


def unaligned(turn: Turn) -> bool:
    """The host does not know where in the round the shoe is."""
    return not turn.now.link.aligned


def fits_the_decks(turn: Turn) -> bool:
    """The card may be one of the shoe's; one not read cannot be told from them."""
    card = turn.drawn.card
    return card is None or (card in turn.game.deck and not shoe_cards.one_too_many(turn, card))


def completes_initial_deal(turn: Turn) -> bool:
    """This card is the fourth."""
    return in_sequence(turn) and len(turn.round.cards) == len(INITIAL_DEAL) - 1


def repeats_a_slot(turn: Turn) -> bool:
    """The shoe names a slot that holds this very card already: it is sent again."""
    drawn = turn.drawn
    if turn.now.round is None or drawn.hand is None or drawn.number is not None:
        return False
    return any(
        (d.hand, d.index, d.card) == (drawn.hand, drawn.index, drawn.card)
        for d in turn.now.round.cards
    )


# What is done.


def open_round(turn: Turn) -> None:
    """*Place your bets* (3.1): the round begins and gets its id."""
    number = turn.now.rounds + 1
    opened = Round(id=f"{turn.shoe.id}-r{number}", first_input=turn.now.inputs)
    turn.change(rounds=number, round=opened, kept=())
    turn.tell("round.opened", turn.inferred({"round_id": opened.id, "shoe_id": turn.shoe.id}))


def close_bets(turn: Turn) -> None:
    """*No more bets* (3.2)."""
    turn.tell("round.bets_closed", turn.inferred({"round_id": turn.round.id}))


def open_and_deal(turn: Turn) -> None:
    """The first card opens the round, closes bets and is dealt."""
    open_round(turn)
    close_bets(turn)
    deal(turn)


def close_and_deal(turn: Turn) -> None:
    """The first card closes bets and is dealt."""
    close_bets(turn)
    deal(turn)


def deal(turn: Turn) -> None:
    """Put the card into the slot that was due, face down or up as the table deals."""
    slot = next_slot(turn.now)
    drawn = turn.drawn
    assert slot is not None and drawn.card is not None
    hand, index = slot
    turn.set_link(aligned=True)
    shoe_cards.count_card(turn, drawn.card)
    dealt = Dealt(
        hand=hand,
        index=index,
        card=drawn.card,
        number=turn.shoe.drawn,
        drawn_us=turn.now.t_us,
    )
    turn.set_round(cards=(*turn.round.cards, dealt), due=None)
    face = "up" if turn.settings.faces == "face_up" else "down"
    turn.tell("round.card_dealt", {"hand": hand, "index": index, "face": face})
    turn.tell_restricted(
        "round.card_drawn",
        {"hand": hand, "index": index, "card": drawn.card.code, "number": dealt.number},
    )
    if turn.state == "dealing" and shoe_cards.is_empty(turn):
        turn.then("cards_ran_out")
