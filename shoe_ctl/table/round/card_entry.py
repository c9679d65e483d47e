"""Card entry: cards that people name, checked and recorded in slot, ledger and streams.

In: arguments that name cards. Out: cards, or why a card cannot be the one; round.card_corrected
.card_entered.
Must not know: which irregularity is open, what else an open step asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.table import positions
from shoe_ctl.table.arguments import ChoiceArgs, Name, require_args
from shoe_ctl.table.round import deal, unordered_cards
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import DealtCard
from shoe_ctl.table.turn import Objection, Turn
from shoe_ctl.texts.message import Message, message

# Arguments.


class CardArgs(ChoiceArgs, frozen=True, kw_only=True):
    """A card that people name."""

    card: Name
    """Its code: rank, then suit (``TS``)."""


class SeenCardArgs(CardArgs, frozen=True, kw_only=True):
    """A card that people see on the table and name."""

    against_reading: bool = False
    """The shoe read another card and is overruled."""


class MissedCardArgs(ChoiceArgs, frozen=True, kw_only=True):
    """A card that was drawn and not reported."""

    card: Name | None = None
    """Its code, where it lies open; None: it lies face down."""


class CardAtSlot(ChoiceArgs, frozen=True, kw_only=True):
    """The card that lies in a slot, as people see it."""

    hand: Literal["player", "banker"]
    index: int
    card: Name
    """Its code: rank, then suit (``TS``)."""

    @property
    def slot(self) -> tuple[str, int]:
        """The hand and the index in it."""
        return self.hand, self.index


def named_card(turn: Turn) -> Card:
    """Return the card that the command names; its code was checked before."""
    return card(require_args(turn, CardArgs).card)


# Conditions.


def check_seen(turn: Turn, args: SeenCardArgs | None) -> Objection | Message | None:
    """Return why this cannot be the card that people see in a slot."""
    if args is None:
        return None
    if args.against_reading and (why := check_against_reading(turn)) is not None:
        return why
    return check_card(turn, args.card)


def check_against_reading(turn: Turn) -> Objection | None:
    """Return why this person may not say that the shoe read a card wrongly.

    Only the position that decides irregularities may.
    """
    decides, highest = positions.who_decides(turn.game), turn.settings.highest_position
    if positions.is_sufficient(turn.command.position, decides, highest=highest):
        return None
    why = message("refused_against_reading", position=decides)
    return Objection(why, {"position": decides})


def check_card(
    turn: Turn, code: str, *, besides: int = 0, shown: Mapping[str, int] | None = None
) -> Message | None:
    """Return why there can be no further card with this code.

    ``shown`` counts the faces of another shoe than the one on the table.

    Only revealed cards are counted, and ``besides`` others that the same command names: a refusal
    must not give away a card that lies face down.
    """
    if (why := check_card_of_deck(turn, code)) is not None:
        return why
    if (turn.shoe.shown if shown is None else shown).get(code, 0) + besides >= turn.shoe.decks:
        return message("refused_all_of_card_seen", card=code)
    return None


def check_card_of_deck(turn: Turn, code: str) -> Message | None:
    """Return why this is not the code of a card of the deck."""
    try:
        face = card(code)
    except ValueError:
        example = turn.game.deck.cards[0].code
        return message("refused_not_a_card", card=code, example=example)
    return None if face in turn.game.deck else message("refused_not_of_deck", card=code)


def matches_reading(turn: Turn, dealt: DealtCard, face: Card) -> bool:
    """True if this face does not contradict what the shoe read of this card or its pull."""
    if dealt.card is not None:
        return dealt.card == face
    return unordered_cards.can_be_named(turn.now, [(dealt.number, face)])


# Actions.


def name_card(turn: Turn, dealt: DealtCard, face: Card) -> None:
    """Record the face that people see of a card in its slot, in the ledger and in the slot.

    If the shoe read another face, the ledger keeps that reading beside the count.
    """
    if dealt.card == face:
        return
    read = reading_of(turn, dealt)
    if dealt.card is None:
        unordered_cards.name_pulled_card(turn, dealt.number, face)
    else:
        card_ledger.overrule_reading(turn, dealt.card, face)
    deal.set_card(turn, (dealt.hand, dealt.index), face, entered=True, read=read)


def correct_counted_card(turn: Turn, dealt: DealtCard, right: Card) -> None:
    """Replace the face under which the ledger counts this card.

    A reading of the shoe is kept beside the count; what people had entered is not.
    """
    assert dealt.card is not None, "it was counted as some card"
    by_people = dealt.entered or dealt.number in turn.shoe.entered_draws
    change = card_ledger.correct_count if by_people else card_ledger.overrule_reading
    if dealt.read == right and right.code in turn.shoe.overruled:
        card_ledger.confirm_reading(turn, right)
    change(turn, dealt.card, right)


def as_corrected(turn: Turn, dealt: DealtCard, right: Card) -> DealtCard:
    """Return the card in its slot as this one; it knows what the shoe had read."""
    read = reading_of(turn, dealt)
    entered, read = (False, None) if read == right else (True, read)
    return msgspec.structs.replace(dealt, card=right, entered=entered, read=read)


def reading_of(turn: Turn, dealt: DealtCard) -> Card | None:
    """Return what the shoe read of this card; None where only people have named it."""
    by_people = dealt.entered or dealt.number in turn.shoe.entered_draws
    return dealt.read if by_people else dealt.card


def correct_revealed_card(turn: Turn, dealt: DealtCard, right: Card) -> None:
    """Correct the face of a revealed card: in the ledger, in its slot, in both streams."""
    wrong, known = dealt.card, as_corrected(turn, dealt, right)
    assert wrong is not None, "it lies open"
    correct_counted_card(turn, dealt, right)
    card_ledger.show_other_card(turn, wrong, right)
    deal.set_card(turn, (dealt.hand, dealt.index), right, entered=known.entered, read=known.read)
    emit_card_corrected(turn, (dealt.hand, dealt.index), wrong, right)
    emit_card_entered(turn, dealt.hand, dealt.index, right)


def emit_card_corrected(
    turn: Turn, slot: tuple[str, int], wrong: Card, right: Card, *, of_round: str | None = None
) -> None:
    """Emit that the card in this slot, shown as ``wrong``, is ``right``."""
    data = {"hand": slot[0], "index": slot[1], "card": right.code, "was": wrong.code}
    turn.emit("round.card_corrected", data, of_round=of_round)


def emit_card_entered(turn: Turn, hand: str | None, index: int | None, face: Card | None) -> None:
    """Emit to the restricted stream which card people entered."""
    data = {"hand": hand, "index": index, "card": None if face is None else face.code}
    turn.emit_restricted("round.card_entered", data)
