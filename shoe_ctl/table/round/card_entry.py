"""Cards that people enter: which card is named, whether the shoe can have held it, the ledger.

In: arguments that name cards. Out: cards, or one line that says what is wrong with them.
Must not know: which irregularity it is, who may enter a card, what the room has not seen.
"""

from __future__ import annotations

from typing import Literal

from firmware_proto.cards import Card, card
from shoe_ctl.texts.message import Message, message

from .. import positions
from ..arguments import ChoiceArgs, Name, require_args
from ..shoe import ledger as card_ledger
from ..state import DealtCard
from ..turn import Objection, Turn
from . import deal as dealing
from . import pulls


class CardArgs(ChoiceArgs, frozen=True, kw_only=True):
    """The card that lies there, by its code: rank, then suit (``TS``)."""

    card: Name


class SeenCardArgs(CardArgs, frozen=True, kw_only=True):
    """The same; ``against_reading``: where the shoe read it otherwise, the people are right."""

    against_reading: bool = False


class MissedCardArgs(ChoiceArgs, frozen=True, kw_only=True):
    """A card that was missed, by its code where it lies open."""

    card: Name | None = None


class CardAtSlot(ChoiceArgs, frozen=True, kw_only=True):
    """What really lies in this place of a hand."""

    hand: Literal["player", "banker"]
    index: int
    card: Name

    @property
    def slot(self) -> tuple[str, int]:
        """The place."""
        return self.hand, self.index


def require_card(code: str) -> Card:
    """The card of this code, which was looked at before."""
    return card(code)


def named_card(turn: Turn) -> Card:
    """The card that the command names, which was looked at before."""
    return card(require_args(turn, CardArgs).card)


def seen_card(turn: Turn) -> Card:
    """The card that lies open by what the command says, which was looked at before."""
    return card(require_args(turn, SeenCardArgs).card)


def check_seen(turn: Turn, args: SeenCardArgs | None) -> Objection | Message | None:
    """The card that is named cannot be it, or whoever says that the shoe is wrong may not."""
    if args is None:
        return None
    if args.against_reading and (low := why_not_against_reading(turn)) is not None:
        return low
    return check_card(turn, args.card)


def why_not_against_reading(turn: Turn) -> Objection | None:
    """Only whoever decides may say that the shoe read a card wrongly."""
    decides, highest = positions.who_decides(turn.game), turn.settings.highest_position
    if positions.is_sufficient(turn.command.position, decides, highest=highest):
        return None
    why = message("refused_against_reading", position=decides)
    return Objection(why, {"position": decides})


def is_possible(turn: Turn, dealt: DealtCard, face: Card) -> bool:
    """What the shoe read of this card, or of those of its pull, does not say otherwise."""
    if dealt.card is not None:
        return dealt.card == face
    return pulls.can_be_named(turn.now, [(dealt.number, face)])


def check_card(turn: Turn, code: str, *, besides: int = 0) -> Message | None:
    """What is wrong with a card of this code, as far as anyone at the table can know.

    Only cards that the room has seen are counted, and ``besides`` others named in the same breath:
    a refusal must not tell what lies face down.
    """
    if (why := check_card_of_deck(turn, code)) is not None:
        return why
    if turn.shoe.shown.get(code, 0) + besides >= turn.shoe.decks:
        return message("refused_all_of_card_seen", card=code)
    return None


def check_card_of_deck(turn: Turn, code: str) -> Message | None:
    """That this is no card's code, or no card's of the deck."""
    try:
        face = card(code)
    except ValueError:
        example = turn.game.deck.cards[0].code
        return message("refused_not_a_card", card=code, example=example)
    return None if face in turn.game.deck else message("refused_not_of_deck", card=code)


def name_card(turn: Turn, dealt: DealtCard, face: Card) -> None:
    """This is the card that lies there, by what people see of it."""
    if dealt.card is None:
        pulls.name_pulled_card(turn, dealt.number, face)
    elif dealt.card != face:
        card_ledger.overrule_reading(turn, dealt.card, face)
    dealing.set_card(turn, (dealt.hand, dealt.index), face, entered=dealt.card != face)


def correct_card(turn: Turn, dealt: DealtCard, right: Card) -> None:
    """The ledger counts the right card; what the shoe read in its place it keeps beside it."""
    assert dealt.card is not None, "it was counted as some card"
    by_people = dealt.entered or dealt.number in turn.shoe.entered
    change = card_ledger.correct_count if by_people else card_ledger.overrule_reading
    change(turn, dealt.card, right)


def replace_card(turn: Turn, dealt: DealtCard, right: Card) -> None:
    """A card that lies open was read as another: ledger, slot and streams have the right one."""
    wrong = dealt.card
    assert wrong is not None, "it lies open"
    correct_card(turn, dealt, right)
    card_ledger.show_other_card(turn, wrong, right)
    dealing.set_card(turn, (dealt.hand, dealt.index), right, entered=True)
    data = {"hand": dealt.hand, "index": dealt.index, "card": right.code, "was": wrong.code}
    turn.tell("round.card_corrected", data)
    emit_card_entered(turn, dealt.hand, dealt.index, right)


def emit_card_entered(turn: Turn, hand: str | None, index: int | None, face: Card | None) -> None:
    """Tell those who may know it of a card that people entered, and who they are."""
    command = turn.command
    data = {
        "hand": hand,
        "index": index,
        "card": None if face is None else face.code,
        "person": command.person,
        "position": command.position,
        "consented_by": command.consented_by,
        "why": command.reason,
    }
    turn.tell_restricted("round.card_entered", data)
