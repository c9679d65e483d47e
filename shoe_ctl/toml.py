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
        raise ValueError(f"expected TOML: {error}") from None
    except ValueError:  # of int()
        long = _TOO_MANY_DIGITS.search(text)
        line = 1 if long is None else text.count("\n", 0, long.start()) + 1
        raise ValueError(f"line {line}: expected a number of fewer digits") from None
