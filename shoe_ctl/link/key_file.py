"""Reads the keys of a table's shoes from a file that nobody else may read.

In: a path. Out: keys by device id and key id. Must not know: what is proved with them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from firmware_proto.reference.keys import parse_keys
from shoe_ctl.errors import ConfigError

LONGEST_BYTES = 1 << 20
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_keys(path: Path) -> dict[str, dict[int, bytes]]:
    """The keys in this file; what it says of them is never repeated in a message.

    Raises:
        ConfigError: it cannot be read, others may read or write it, or a line is wrong.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(f"key_file: {path} is not a file")
            if mode & _OTHERS:
                raise ConfigError(
                    f"key_file: {path} may be used by others: take that away with chmod 600"
                )
            text = file.read(LONGEST_BYTES).decode()
    except OSError as error:
        raise ConfigError(f"key_file: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"key_file: {path} is not text") from None
    try:
        keys = parse_keys(text)
    except ValueError as error:
        raise ConfigError(f"key_file: {path}: {error}") from None
    if not keys:
        raise ConfigError(f"key_file: {path} has no key in it")
    return keys
