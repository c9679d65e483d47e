"""A file that holds a secret: a key, a password. Only its owner may read it.

In: a path. Out: its text, or one line that says why it cannot be used and never what it holds.
Must not know: what the secret is for.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shoe_ctl.errors import ConfigError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secret(path: Path, key: str, *, longest: int = 1 << 20) -> str:
    """Return the text of a file of up to ``longest`` bytes, which the setting ``key`` names.

    Raises:
        ConfigError: it cannot be read, is no file or too long, others may use it, or it is no text.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(f"{key}: {path} is not a file")
            if mode & _OTHERS:
                raise ConfigError(
                    f"{key}: {path} is accessible to other users: run chmod 600 {path}"
                )
            read = file.read(longest + 1)
    except OSError as error:
        raise ConfigError(f"{key}: {path}: {error.strerror}") from None
    if len(read) > longest:
        raise ConfigError(f"{key}: {path} is larger than {longest:,} bytes")
    try:
        return read.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{key}: {path} is not text") from None


def read_password(path: Path, key: str) -> str:
    """Return the password in a file: its first line.

    Raises:
        ConfigError: as ``read_secret``, or the line is empty.
    """
    password = read_secret(path, key, longest=4096).split("\n")[0].removesuffix("\r")
    if not password:
        raise ConfigError(f"{key}: {path} has no password in its first line")
    return password
