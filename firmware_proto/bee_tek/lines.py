"""One Bee-Tek line: its bytes to what it says, and back. Stateless.

In: the bytes of one line without its end; an event. Out: what it says; its bytes.
Must not know: where lines begin in a stream, sessions, time, the round.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final

from firmware_proto.bee_tek import layouts
from firmware_proto.cards import CARDS, FRENCH52, Card
from firmware_proto.events import CardDrawn, Discarded, Error, ShoeEvent, Warned

LINE_END: Final = b"\r\n"
"""What ends a line that is sent."""


class CardForm(Enum):
    """How a card is written: integrators disagree. All are read."""

    NAMED = "named"
    """``Card:4S``"""
    BARE = "bare"
    """``4S``"""
    SUIT_FIRST = "suit_first"
    """``S4``"""


class TenForm(Enum):
    """How a ten is written; both are read."""

    DIGITS = "10"
    LETTER = "T"


_PRINTABLE: Final = frozenset(range(0x20, 0x7F)) | {ord("\t")}


@lru_cache(maxsize=4096)
def read_line(line: bytes) -> ShoeEvent | None:
    """What a line says, ``Discarded`` when that is not known; None when it holds blanks only."""
    if not _PRINTABLE.issuperset(line):
        return Discarded(reason="not_text")
    text = line.decode("ascii")
    if not text.strip():
        return None
    found = layouts.LINE.fullmatch(text)
    if found is None:
        return Discarded(reason="form")
    tag, token = found["tag"], found["token"]
    if tag is None:
        return _read_warning(token)
    match " ".join(tag.split()).lower():
        case "game":
            return _read_card(token, hand=None, place="game")
        case "manual burn cards":
            return _read_card(token, hand="burn", place="burn")
        case "gamealarm":
            return _read_alarm(token, place=None)
    return Discarded(reason="tag")


def _read_card(token: str, *, hand: str | None, place: str) -> ShoeEvent:
    """What stands beside the tag of a card: the card, that it was not read, or an alarm."""
    if token.lower() == layouts.GAME.lower():
        return CardDrawn(card=None, hand=hand)
    if layouts.IS_ALARM.match(token):
        return _read_alarm(token, place=place)
    found = layouts.CARD.fullmatch(token)
    if found is None:
        return Discarded(reason="card")
    rank = found["rank"] or found["rank_last"]
    suit = found["suit"] or found["suit_first"]
    code = ("T" if rank == layouts.TEN else rank) + suit
    return CardDrawn(card=CARDS[code.upper()], hand=hand)


def _read_alarm(token: str, *, place: str | None) -> ShoeEvent:
    found = layouts.FAULT.fullmatch(token)
    if found is None:
        return Discarded(reason="alarm")
    return Error(code=found["code"].upper(), text=found["text"], place=place)


def _read_warning(token: str) -> ShoeEvent:
    if layouts.WARNING.fullmatch(token) is None:
        return Discarded(reason="tag")
    return Warned(code=token)


def encode(
    event: ShoeEvent, *, form: CardForm = CardForm.NAMED, ten: TenForm = TenForm.DIGITS
) -> bytes:
    """The line of this event, with its end.

    Raises:
        ValueError: the wire cannot say this event, or not with these values.
    """
    text = _text(event, form, ten)
    line = text.encode("ascii", "replace")
    if read_line(line) != event:
        raise ValueError(f"the wire cannot say {event!r}")
    return line + LINE_END


_TAG_OF_CARD: Final[dict[str | None, str]] = {None: layouts.GAME, "burn": layouts.BURN}
_TAG_OF_ALARM: Final[dict[str | None, str]] = {
    None: layouts.ALARM, "game": layouts.GAME, "burn": layouts.BURN,
}  # fmt: skip


def _text(event: ShoeEvent, form: CardForm, ten: TenForm) -> str:
    match event:
        case CardDrawn(card=None, hand=None | "burn" as hand):
            return f" [{_TAG_OF_CARD[hand]}]<{layouts.GAME}> "
        case CardDrawn(card=Card() as card, hand=None | "burn" as hand) if card in FRENCH52:
            return f" [{_TAG_OF_CARD[hand]}]<{_token(card, form, ten)}> "
        case Error(code=code, text=words, place=None | "game" | "burn" as place):
            said = code if words is None else f"{code} {words}"
            return f" [{_TAG_OF_ALARM[place]}]<Alarm:{said}> "
        case Warned(code=code):
            return f"<{code}>"
    raise ValueError(f"the wire has no line for {event!r}")


def _token(card: Card, form: CardForm, ten: TenForm) -> str:
    rank = ten.value if card.rank.value == "T" else card.rank.value
    if form is CardForm.SUIT_FIRST:
        return f"{card.suit.value}{rank}"
    return f"{rank}{card.suit.value}" if form is CardForm.BARE else f"Card:{rank}{card.suit.value}"
