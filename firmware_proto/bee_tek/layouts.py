"""Every line of the Bee-Tek wire, declared once in construct (SPEC.md, "Lines", "What is taken").

``make layouts`` derives from here ``compiled_layouts.py``, by which sessions read and write lines,
and the table of patterns in SPEC.md. No session imports this
module: construct is slow to import.

Each element below parses and builds, as construct has it, and knows its regular expression and the
text that is sent; a test holds the three equal.

In: the text of a line or of a token. Out: containers of named fields, and back.
Must not know: where lines begin and end in a stream, shoe events.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Final

from construct import (
    Construct,
    Renamed,
    SelectError,
    StreamError,
    Struct,
    Terminated,
    ValidationError,
)

from firmware_proto.bee_tek.fields import RANKS, SUITS

_BLANKS: Final = b" \t"
_BRACKETS: Final = b"[]<>"


class Element(Construct):  # type: ignore[misc]  # construct is not typed
    """A piece of text. ``pattern`` matches what is read, ``written`` is what is sent."""

    written: str | None = None
    """None: the value of the field."""

    @property
    @abstractmethod
    def pattern(self) -> str: ...

    @abstractmethod
    def _parse(self, stream: Any, context: Any, path: str) -> Any: ...

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:  # noqa: ARG002
        text = obj if self.written is None else self.written
        if self.written is None and not re.fullmatch(self.pattern, text, re.IGNORECASE | re.ASCII):
            raise ValidationError(f"does not fit: {text!r}", path=path)
        stream.write(text.encode("ascii"))
        return obj


class Blanks(Element):
    """Blanks, or none, that mean nothing; ``least`` of them at least."""

    def __init__(self, written: str = "", *, least: int = 0) -> None:
        super().__init__()
        self.flagbuildnone = True
        self.written = written
        self.least = least

    @property
    def pattern(self) -> str:
        return r"[ \t]+" if self.least else r"[ \t]*"

    def _parse(self, stream: Any, context: Any, path: str) -> None:  # noqa: ARG002
        if len(_take(stream, _BLANKS)) < self.least:
            raise StreamError("no blank", path=path)


class Word(Element):
    """This word, in upper or lower case."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.flagbuildnone = True
        self.written = word

    @property
    def pattern(self) -> str:
        return re.escape(str(self.written))

    def _parse(self, stream: Any, context: Any, path: str) -> None:  # noqa: ARG002
        word = str(self.written)
        if stream.read(len(word)).lower() != word.lower().encode():
            raise StreamError(f"not {word}", path=path)


class OneOf(Element):
    """One of these spellings, the longest that fits, in upper or lower case."""

    def __init__(self, spellings: Iterable[str]) -> None:
        super().__init__()
        self.spellings = sorted(spellings, key=len, reverse=True)

    @property
    def pattern(self) -> str:
        long = [spelling for spelling in self.spellings if len(spelling) > 1]
        short = "".join(spelling for spelling in self.spellings if len(spelling) == 1)
        return "(?:" + "|".join((*long, f"[{short}]")) + ")" if long else f"[{short}]"

    def _parse(self, stream: Any, context: Any, path: str) -> str:  # noqa: ARG002
        before = stream.tell()
        for spelling in self.spellings:
            text: bytes = stream.read(len(spelling))
            if text.upper() == spelling.encode():
                return text.decode("ascii")
            stream.seek(before)
        raise SelectError("none of the spellings", path=path)


class Number(Element):
    """``prefix``, then one to four hexadecimal digits."""

    def __init__(self, *prefixes: str) -> None:
        super().__init__()
        self.prefixes = prefixes

    @property
    def pattern(self) -> str:
        return f"(?:{'|'.join(self.prefixes)})[0-9A-F]{{1,4}}"

    def _parse(self, stream: Any, context: Any, path: str) -> str:  # noqa: ARG002
        before = stream.tell()
        for prefix in self.prefixes:
            start: bytes = stream.read(len(prefix))
            digits = _take(stream, b"0123456789ABCDEFabcdef", most=4)
            if start.upper() == prefix.upper().encode() and digits:
                return (start + digits).decode("ascii")
            stream.seek(before)
        raise StreamError("no number", path=path)


class Words(Element):
    """All that is left, and it does not begin with a blank."""

    pattern = r"[^ \t].*"

    def _parse(self, stream: Any, context: Any, path: str) -> str:  # noqa: ARG002
        text: bytes = stream.read()
        if not text or text[0] in _BLANKS:
            raise StreamError("no words", path=path)
        return text.decode("ascii")


class Enclosed(Element):
    """Text between two brackets, without the blanks around it."""

    def __init__(self, brackets: str) -> None:
        super().__init__()
        self.left, self.right = brackets[0], brackets[1]

    @property
    def pattern(self) -> str:
        return r"[^\[\]<>]*?"

    @property
    def around(self) -> tuple[str, str]:
        """The patterns before the text and behind it."""
        return rf"{re.escape(self.left)}[ \t]*", rf"[ \t]*{re.escape(self.right)}"

    def _parse(self, stream: Any, context: Any, path: str) -> str:  # noqa: ARG002
        if stream.read(1) != self.left.encode():
            raise StreamError(f"no {self.left}", path=path)
        text = _take(stream, bytes(set(range(256)) - set(_BRACKETS)))
        if stream.read(1) != self.right.encode():
            raise StreamError(f"no {self.right}", path=path)
        return text.strip(_BLANKS).decode("ascii")

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:  # noqa: ARG002
        if any(character in obj for character in "[]<>"):
            raise ValidationError(f"does not fit: {obj!r}", path=path)
        stream.write(f"{self.left}{obj}{self.right}".encode("ascii"))
        return obj


def _take(stream: Any, allowed: bytes, most: int | None = None) -> bytes:
    """As many of these bytes as stand next in the stream, and no more than that."""
    start = stream.tell()
    rest: bytes = stream.read() if most is None else stream.read(most)
    taken = len(rest) - len(rest.lstrip(allowed))
    stream.seek(start + taken)
    return rest[:taken]


TAGGED_LINE: Final = Struct(
    Blanks(" "), "tag" / Enclosed("[]"), Blanks(), "token" / Enclosed("<>"), Blanks(" "), Terminated
)
"""A line without its end: a tag, then a token, blanks around either."""

BARE_LINE: Final = Struct(Blanks(), "token" / Enclosed("<>"), Blanks(), Terminated)
"""A line without its end: a token alone."""

_card_prefix = (Word("Card"), Blanks(), Word(":"), Blanks())
_rank_first = ("rank" / OneOf(RANKS), "suit" / OneOf(SUITS), Terminated)
_suit_first = ("suit" / OneOf(SUITS), "rank" / OneOf(RANKS), Terminated)

CARDS: Final[dict[str, Construct]] = {
    "named": Struct(*_card_prefix, *_rank_first),
    "bare": Struct(*_rank_first),
    "suit_first": Struct(*_suit_first),
    "named_suit_first": Struct(*_card_prefix, *_suit_first),
}
"""A token that names a card, in each of the forms that integrators know."""

_alarm_prefix = (Word("Alarm"), Blanks(), Word(":"), Blanks())

ALARM_START: Final = Struct(*_alarm_prefix[:3])
"""The beginning of an alarm's token, where a card's could stand."""

ALARM_WITH_TEXT: Final = Struct(
    *_alarm_prefix, "code" / Number("E"), Blanks(" ", least=1), "text" / Words(), Terminated
)
"""A token that names an alarm: its code, and words for people."""

ALARM_CODE: Final = Struct(*_alarm_prefix, "code" / Number("E"), Terminated)
"""A token that names an alarm by its code alone."""

WARNING: Final = Struct("code" / Number("W0x", "W"), Terminated)
"""A token that is a warning."""


def pattern(layout: Construct) -> str:
    """The regular expression of all that a layout reads, a group for each named field.

    Raises:
        TypeError: the layout has something that is not one of the elements above.
    """
    return "".join(map(_part_pattern, layout.subcons))


def _part_pattern(part: Construct) -> str:
    if part is Terminated:
        return ""
    if not isinstance(part, Renamed):
        if not isinstance(part, Element):
            raise TypeError(f"no pattern for {part!r}")
        return part.pattern
    before, behind = part.subcon.around if isinstance(part.subcon, Enclosed) else ("", "")
    return f"{before}(?P<{part.name}>{part.subcon.pattern}){behind}"


def template(layout: Construct) -> str:
    """The text that is sent, with each field's name in braces.

    Raises:
        TypeError: the layout has something that is not one of the elements above.
    """
    return "".join(_part_template(part) for part in layout.subcons if part is not Terminated)


def _part_template(part: Construct) -> str:
    if isinstance(part, Renamed):
        inner = part.subcon
        left, right = (inner.left, inner.right) if isinstance(inner, Enclosed) else ("", "")
        return f"{left}{{{part.name}}}{right}"
    if not isinstance(part, Element):
        raise TypeError(f"no text for {part!r}")
    return str(part.written)
