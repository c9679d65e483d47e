"""Compiled layouts of the Bee-Tek profile: the pattern that reads and the text that is sent.

Generated from ``layouts.py`` by ``make layouts``: do not edit. A test holds the two equal. Sessions
read and write by this module, so that they need not import construct.
"""

from __future__ import annotations

import re
from typing import Final

_FLAGS = re.IGNORECASE | re.ASCII

TAGGED_LINE: Final = re.compile(
    r"[ \t]*\[[ \t]*(?P<tag>[^\[\]<>]*?)[ \t]*\][ \t]*<[ \t]*(?P<token>[^\[\]<>]*?)[ \t]*>[ \t]*",
    _FLAGS,
)

TAGGED_LINE_TEXT: Final = " [{tag}]<{token}> "

BARE_LINE: Final = re.compile(
    r"[ \t]*<[ \t]*(?P<token>[^\[\]<>]*?)[ \t]*>[ \t]*",
    _FLAGS,
)

BARE_LINE_TEXT: Final = "<{token}>"

ALARM_START: Final = re.compile(
    r"Alarm[ \t]*:",
    _FLAGS,
)

ALARM_WITH_TEXT: Final = re.compile(
    r"Alarm[ \t]*:[ \t]*(?P<code>(?:E)[0-9A-F]{1,4})[ \t]+(?P<text>[^ \t].*)",
    _FLAGS,
)

ALARM_WITH_TEXT_TEXT: Final = "Alarm:{code} {text}"

ALARM_CODE: Final = re.compile(
    r"Alarm[ \t]*:[ \t]*(?P<code>(?:E)[0-9A-F]{1,4})",
    _FLAGS,
)

ALARM_CODE_TEXT: Final = "Alarm:{code}"

WARNING: Final = re.compile(
    r"(?P<code>(?:W0x|W)[0-9A-F]{1,4})",
    _FLAGS,
)

WARNING_TEXT: Final = "{code}"

CARDS: Final = {
    "named": re.compile(
        r"Card[ \t]*:[ \t]*(?P<rank>(?:10|[23456789ATJQK]))(?P<suit>[SHDC])",
        _FLAGS,
    ),
    "bare": re.compile(
        r"(?P<rank>(?:10|[23456789ATJQK]))(?P<suit>[SHDC])",
        _FLAGS,
    ),
    "suit_first": re.compile(
        r"(?P<suit>[SHDC])(?P<rank>(?:10|[23456789ATJQK]))",
        _FLAGS,
    ),
    "named_suit_first": re.compile(
        r"Card[ \t]*:[ \t]*(?P<suit>[SHDC])(?P<rank>(?:10|[23456789ATJQK]))",
        _FLAGS,
    ),
}
"""A token that names a card, in each form."""

CARD_TEXTS: Final = {
    "named": "Card:{rank}{suit}",
    "bare": "{rank}{suit}",
    "suit_first": "{suit}{rank}",
    "named_suit_first": "Card:{suit}{rank}",
}
