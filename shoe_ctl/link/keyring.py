"""The keys of a table's shoes, in a file that nobody else may read.

In: a path, a maker of keys. Out: keys by device id and key id; new ones stored, old ones retired.
Must not know: what is proved with them, when they are changed.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    HOST_WITHOUT_KEY,
    NO_KEY,
    WRONG_PROOF,
    AuthenticationFailed,
)
from firmware_proto.reference.mac import parse_keys
from shoe_ctl.errors import ConfigError

LONGEST_BYTES = 1 << 20
RETIRED = "# retired "
"""Begins a line that a newer key has made a comment: for auditors, who check what it proved."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class KeyRing:
    """The keys of a table's shoes. ``keys`` stays the same mapping when the file changes.

    ``make`` gives 32 bytes that no one can guess. Whatever is written is whole or not there, and
    one writer waits for another; all of it blocks. A shoe's keys are replaced, never changed: they
    may be looked at meanwhile.

    Raises:
        ConfigError: as ``read_keys``.
    """

    def __init__(self, path: Path, make: Callable[[], bytes]) -> None:
        self._path = path
        self._make = make
        self.keys = read_keys(path)

    def key(self, device_id: str | None, key_id: int) -> bytes | None:
        """This shoe's key of this id."""
        return None if device_id is None else self.keys.get(device_id, {}).get(key_id)

    def newest(self, device_id: str) -> int:
        """The highest key id of this shoe; 0 where it has none."""
        return max(self.keys.get(device_id, {}), default=0)

    def read_again(self) -> None:
        """Takes over what was put into the file; what it held before, connections may be using.

        Raises:
            ConfigError: as ``read_keys``; the keys are then as before.
        """
        for device_id, keys in read_keys(self._path).items():
            self.keys[device_id] = {**self.keys.get(device_id, {}), **keys}

    def check_writable(self) -> None:
        """Whether ``add`` could store a key.

        Raises:
            ConfigError: the file's folder is not to be written in.
        """
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise ConfigError(f"key_file: {self._path}: its folder is not to be written in")

    def add(self, device_id: str, key_id: int) -> bytes:
        """The shoe's key of this id: the one in the file, or one that is made and stored there.

        It is known to ``keys`` only when it is stored.

        Raises:
            ConfigError: as ``read_keys``, or it cannot be stored.
        """
        with self._changing() as text:
            held = _parse_keys(self._path, text).get(device_id, {})
            key = held.get(key_id)
            if key is None:
                key = self._make()
                end = "" if not text or text.endswith("\n") else "\n"
                self._write(f"{text}{end}{device_id} {key_id} {key.hex()}\n")
        self.keys[device_id] = {**self.keys.get(device_id, {}), key_id: key}
        return key

    def retire_before(self, device_id: str, key_id: int) -> bool:
        """Keys of this shoe older than this one count no more, here and in the file.

        Returns whether there were any.

        Raises:
            ConfigError: the file cannot be changed; here they count no more all the same.
        """
        held = self.keys.get(device_id, {})
        if not any(known < key_id for known in held):
            return False
        self.keys[device_id] = {known: key for known, key in held.items() if known >= key_id}
        with self._changing() as text:
            lines = [
                RETIRED + line if _is_older(line, device_id, key_id) else line
                for line in text.splitlines(keepends=True)
            ]
            self._write("".join(lines))
        return True

    @property
    def _folder(self) -> Path:
        return self._path.resolve().parent

    @contextmanager
    def _changing(self) -> Iterator[str]:
        """The file's text, while no one else who asks so changes it."""
        try:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise ConfigError(f"key_file: {self._path}: {error.strerror}") from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield _key_text(self._path)
            os.fsync(folder)
        except OSError as error:
            raise ConfigError(f"key_file: {self._path}: {error.strerror}") from None
        finally:
            os.close(folder)

    def _write(self, text: str) -> None:
        """In the place of the file, with its owner's rights alone: before, or after, never half."""
        path = self._path.resolve()
        new = path.with_name(path.name + "-new")
        new.unlink(missing_ok=True)
        try:
            fd = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
                whose = path.stat()
                if whose.st_uid != os.geteuid():  # root's daemon, another's file
                    os.fchown(fd, whose.st_uid, whose.st_gid)
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise


def _is_older(line: str, device_id: str, key_id: int) -> bool:
    words = line.partition("#")[0].split()
    return len(words) == 3 and words[0] == device_id and int(words[1]) < key_id


def read_keys(path: Path) -> dict[str, dict[int, bytes]]:
    """The keys in this file; what it says of them is never repeated in a message.

    Raises:
        ConfigError: it cannot be read, others may read or write it, or a line is wrong.
    """
    return _parse_keys(path, _key_text(path))


def _key_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(f"key_file: {path} is not a file")
            if mode & _OTHERS:
                raise ConfigError(
                    f"key_file: {path} may be used by others: take that away with chmod 600"
                )
            read = file.read(LONGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"key_file: {path}: {error.strerror}") from None
    if len(read) > LONGEST_BYTES:
        raise ConfigError(f"key_file: {path} has more than {LONGEST_BYTES:,} bytes")
    try:
        return read.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"key_file: {path} is not text") from None


def _parse_keys(path: Path, text: str) -> dict[str, dict[int, bytes]]:
    try:
        keys = parse_keys(text)
    except ValueError as error:
        raise ConfigError(f"key_file: {path}: {error}") from None
    if not keys:
        raise ConfigError(f"key_file: {path} has no key in it")
    return keys


RefusalCause = Literal["no_key", "unauthenticated", "wrong_key"]


def troubleshooting_hint(failed: AuthenticationFailed) -> tuple[RefusalCause, str]:
    """The cause, and what to do."""
    who = failed.device_id
    causes: dict[str, tuple[RefusalCause, str]] = {
        HOST_WITHOUT_KEY: ("no_key", "name a key_file with its key"),
        NO_KEY: ("no_key", f"add a key of {who} to the key_file, or is it the wrong shoe?"),
        CANNOT_AUTHENTICATE: ("unauthenticated", "give the shoe a key, or take key_file away"),
        WRONG_PROOF: ("wrong_key", "put the key that the shoe has into the key_file"),
    }
    return causes.get(failed.reason, ("wrong_key", "put a key that the shoe has into the key_file"))
