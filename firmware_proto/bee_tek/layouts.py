"""Every line of the Bee-Tek wire, declared once (SPEC.md, "Lines" and "What is taken").

In: nothing. Out: what a line must look like, and names of what stands in it.
Must not know: where lines begin and end in a stream, shoe events.
"""

from __future__ import annotations

import re
from typing import Final

GAME: Final = "Game"
"""The tag of a card of a round; as the token beside any card's tag, a card that was not read."""
BURN: Final = "Manual Burn Cards"
"""The tag of a card that is burned by hand."""
ALARM: Final = "GameAlarm"
"""The tag of an alarm that is of no card."""

CR: Final = 0x0D
LF: Final = 0x0A
LONGEST_LINE: Final = 128
"""Bytes of a line without its end. The longest that is known has 40; what is longer is no line."""

_BLANKS: Final = r"[ \t]*"
_TAG: Final = rf"\[{_BLANKS}(?P<tag>[^\[\]<>]*?){_BLANKS}\]"
_TOKEN: Final = rf"<{_BLANKS}(?P<token>[^\[\]<>]*?){_BLANKS}>"

LINE: Final = re.compile(rf"{_BLANKS}(?:{_TAG}{_BLANKS})?{_TOKEN}{_BLANKS}")
"""A line without its end: at most one tag, then one token, blanks around either."""

CARD: Final = re.compile(
    rf"(?:card{_BLANKS}:{_BLANKS})?"
    r"(?:(?P<rank>10|[2-9ATJQK])(?P<suit>[SHDC])|(?P<suit_first>[SHDC])(?P<rank_last>10|[2-9ATJQK]))",
    re.IGNORECASE,
)
"""A token that names a card, in any of the forms that integrators know."""

FAULT: Final = re.compile(
    rf"alarm{_BLANKS}:{_BLANKS}(?P<code>E[0-9A-F]{{1,4}})(?:[ \t]+(?P<text>.+))?", re.IGNORECASE
)
"""A token that names an alarm: its code, and words for people."""

IS_ALARM: Final = re.compile(rf"alarm{_BLANKS}:", re.IGNORECASE)
"""How a token begins that is an alarm, where a card's could stand."""

WARNING: Final = re.compile(r"W(?:0x)?[0-9A-F]{1,4}", re.IGNORECASE)
"""A token that is a warning."""

TEN: Final = "10"
"""Two characters where every other rank has one; cards call it T."""
