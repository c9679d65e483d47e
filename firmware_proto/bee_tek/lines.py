"""One Bee-Tek line: its bytes to its event, and back. Stateless.

In: the bytes of one line without its end; an event. Out: the one from the other.
Must not know: where lines begin in a stream, sessions, time, the round.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final

from firmware_proto.bee_tek.compiled_layouts import (
    ALARM_CODE,
    ALARM_CODE_TEXT,
    ALARM_START,
    ALARM_WITH_TEXT,
    ALARM_WITH_TEXT_TEXT,
    BARE_LINE,
    BARE_LINE_TEXT,
    CARD_TEXTS,
    TAGGED_LINE,
    TAGGED_LINE_TEXT,
    WARNING,
    WARNING_TEXT,
)
from firmware_proto.bee_tek.compiled_layouts import CARDS as _CARD_FORMS
from firmware_proto.bee_tek.fields import ALARM, BURN, GAME, LINE_END, TEN
from firmware_proto.cards import CARDS, FRENCH52, Card
from firmware_proto.events import CardDrawn, Discarded, Error, ShoeEvent, Warned


class CardForm(Enum):
    """The form of a card: integrators disagree. All are read."""

    NAMED = "named"
    """``Card:4S``"""
    BARE = "bare"
    """``4S``"""
    SUIT_FIRST = "suit_first"
    """``S4``"""


class TenForm(Enum):
    """The form of a ten; both are read."""

    DIGITS = "10"
    LETTER = "T"


_PRINTABLE: Final = frozenset(range(0x20, 0x7F)) | {ord("\t")}


CARD_LINES: Final[dict[bytes, CardDrawn]] = {}
"""The lines of cards that were read, each with its end, for the fast path; ``MOST_CARD_LINES``."""

MOST_CARD_LINES: Final = 1024
"""A shoe has 106 of them; but blanks, upper and lower case mean nothing, so more are possible."""


@lru_cache(maxsize=4096)
def read_line(line: bytes) -> ShoeEvent | None:
    """Return the event of a line, ``Discarded`` if it is none, None for blanks only."""
    event = _read(line)
    if isinstance(event, CardDrawn) and len(CARD_LINES) < MOST_CARD_LINES:
        CARD_LINES[line + LINE_END] = event
    return event


def _read(line: bytes) -> ShoeEvent | None:
    if not _PRINTABLE.issuperset(line):
        return Discarded(reason="not_text")
    text = line.decode("ascii")
    if not text.strip():
        return None
    found = TAGGED_LINE.fullmatch(text)
    if found is None:
        bare = BARE_LINE.fullmatch(text)
        return Discarded(reason="form") if bare is None else _read_warning(bare["token"])
    tag, token = found["tag"], found["token"]
    match " ".join(tag.split()).lower():
        case "game":
            return _read_card(token, hand=None, place="game")
        case "manual burn cards":
            return _read_card(token, hand="burn", place="burn")
        case "gamealarm":
            return _read_alarm(token, place=None)
    return Discarded(reason="tag")


def _read_card(token: str, *, hand: str | None, place: str) -> ShoeEvent:
    """Return what stands beside the tag of a card: the card, that it was not read, or an alarm."""
    if token.lower() == GAME.lower():
        return CardDrawn(card=None, hand=hand)
    if ALARM_START.match(token):
        return _read_alarm(token, place=place)
    for form in _CARD_FORMS.values():
        found = form.fullmatch(token)
        if found is not None:
            rank, suit = found["rank"], found["suit"]
            code = ("T" if rank == TEN else rank) + suit
            return CardDrawn(card=CARDS[code.upper()], hand=hand)
    return Discarded(reason="card")


def _read_alarm(token: str, *, place: str | None) -> ShoeEvent:
    found = ALARM_CODE.fullmatch(token)
    if found is not None:
        return Error(code=found["code"].upper(), place=place)
    found = ALARM_WITH_TEXT.fullmatch(token)
    if found is None:
        return Discarded(reason="alarm")
    return Error(code=found["code"].upper(), text=found["text"], place=place)


def _read_warning(token: str) -> ShoeEvent:
    if WARNING.fullmatch(token) is None:
        return Discarded(reason="tag")
    return Warned(code=token)


@lru_cache(maxsize=1024)
def encode(
    event: ShoeEvent, *, form: CardForm = CardForm.NAMED, ten: TenForm = TenForm.DIGITS
) -> bytes:
    """The line of this event, with its end.

    Raises:
        ValueError: the wire has no line for this event, or not with these values.
    """
    text = _text(event, form, ten)
    line = text.encode("ascii", "replace")
    if read_line(line) != event:
        raise ValueError(f"the wire cannot say {event!r}")
    return line + LINE_END


_TAG_OF_CARD: Final[dict[str | None, str]] = {None: GAME, "burn": BURN}
_TAG_OF_ALARM: Final[dict[str | None, str]] = {
    None: ALARM, "game": GAME, "burn": BURN,
}  # fmt: skip


def _text(event: ShoeEvent, form: CardForm, ten: TenForm) -> str:
    match event:
        case CardDrawn(card=None, hand=None | "burn" as hand):
            return TAGGED_LINE_TEXT.format(tag=_TAG_OF_CARD[hand], token=GAME)
        case CardDrawn(card=Card() as card, hand=None | "burn" as hand) if card in FRENCH52:
            rank = ten.value if card.rank.value == "T" else card.rank.value
            token = CARD_TEXTS[form.value].format(rank=rank, suit=card.suit.value)
            return TAGGED_LINE_TEXT.format(tag=_TAG_OF_CARD[hand], token=token)
        case Error(code=code, text=None, place=None | "game" | "burn" as place):
            token = ALARM_CODE_TEXT.format(code=code)
            return TAGGED_LINE_TEXT.format(tag=_TAG_OF_ALARM[place], token=token)
        case Error(code=code, text=words, place=None | "game" | "burn" as place):
            token = ALARM_WITH_TEXT_TEXT.format(code=code, text=words)
            return TAGGED_LINE_TEXT.format(tag=_TAG_OF_ALARM[place], token=token)
        case Warned(code=code):
            return BARE_LINE_TEXT.format(token=WARNING_TEXT.format(code=code))
    raise ValueError(f"the wire has no line for {event!r}")
