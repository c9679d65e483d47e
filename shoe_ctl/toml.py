"""Parse TOML from outside; an error is one line.

In: the bytes of a file. Out: plain values. Must not know: files, what the keys mean.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_BYTES = 1 << 20
"""The longest TOML file that is read, in bytes. A game file has about 20,000."""

_MOST_DIGITS = 4300
"""The most digits of an integer that Python reads; see ``sys.set_int_max_str_digits``."""

_TOO_MANY_DIGITS = re.compile(rf"[0-9_]{{{_MOST_DIGITS},}}")


_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_PLAIN = (
    (r"Expected newline", "something stands behind the value: text needs quotes, a comment a #"),
    (r"Invalid value", 'there is no value here: write text as "text", numbers as 8, lists as [1]'),
    (r"Invalid statement", "this is neither key = value nor a [section]"),
    (r"Invalid initial character for a key", "there is no key here: letters, digits, _ and -"),
    (r"Expected '='", "the = is missing that belongs behind a key"),
    (r"Expected '\]\]'", "the ]] is missing behind the section's name"),
    (r"Expected '\]'", "the ] is missing behind the section's name"),
    (r"Expected|Unterminated|Illegal character '\\n'", "the quotes of a text are not closed"),
    (r"Cannot overwrite|Duplicate", "the key is there twice"),
    (r"Cannot declare", "the section is there twice"),
    (r"Unclosed array", "the ] or a comma is missing in the list"),
    (r"Unclosed inline table", "the } or a comma is missing in the group"),
    (r"Unescaped", r"a \ in a text is written as \\, or put the text in single quotes"),
)
"""Messages of Python's parser, by their beginning, and what they mean to who wrote the file."""


def _in_plain_words(error: str, text: str) -> str:
    """Return the parser's error with the place first."""
    what, place = error, ""
    if (at := _PLACE.search(error)) is not None:
        what = error[: at.start()]
        lines = text.rstrip("\n").count("\n") + 1
        place = f"end of line {lines}: " if at[1] is None else f"line {at[1]}, column {at[2]}: "
    found = (plain for start, plain in _PLAIN if re.match(start, what))
    return f"{place}expected TOML: {next(found, what)}"


def parse(source: bytes) -> dict[str, Any]:
    """Return the values in these bytes.

    Raises:
        ValueError: no UTF-8, no TOML, nested too deeply, or a number is too long. It says where.
    """
    try:
        text = source.decode()
    except UnicodeDecodeError as error:
        found = f"found 0x{source[error.start]:02x}"
        raise ValueError(f"byte {error.start}: expected UTF-8 text, {found}") from None
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("expected TOML: it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_in_plain_words(str(error), text)) from None
    except ValueError:  # of int()
        long = _TOO_MANY_DIGITS.search(text)
        line = 1 if long is None else text.count("\n", 0, long.start()) + 1
        raise ValueError(f"line {line}: expected a number of fewer digits") from None
