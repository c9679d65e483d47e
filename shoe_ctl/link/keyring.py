"""The keys of a table's shoes, in a file that only its owner may read.

In: a path, a source of new keys. Out: keys by device id and key id; new ones stored, old retired.
Must not know: how a key authenticates a shoe, when keys are changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    HOST_WITHOUT_KEY,
    NO_KEY,
    WRONG_PROOF,
    AuthenticationFailed,
)
from firmware_proto.reference.mac import parse_keys
from shoe_ctl.errors import ConfigError
from shoe_ctl.file_locks import held_lock
from shoe_ctl.secret_file import read_secret

LONGEST_BYTES = 1 << 20
"""Of a key file: ten thousand keys. A longer file is another one, and is not read into memory."""


LOCK_WAIT_S = 5.0
"""Seconds to wait for another daemon's write of the same file; it takes milliseconds."""

RETIRED = "# retired "
"""Begins the line of an older key, which is a comment now. Auditors check old proofs with it."""


class KeyRing:
    """The keys of a table's shoes. ``keys`` stays the same mapping when the file changes.

    ``make`` returns 32 unpredictable bytes. Writes are atomic, and writers wait for one another;
    all of it blocks. A shoe's mapping of keys is replaced, never changed, so that others may read
    it meanwhile.

    Raises:
        ConfigError: as ``read_keys``.
    """

    def __init__(self, path: Path, make: Callable[[], bytes]) -> None:
        self._path = path
        self._make = make
        self.keys = read_keys(path)

    def key(self, device_id: str | None, key_id: int) -> bytes | None:
        """Return this shoe's key of this id."""
        return None if device_id is None else self.keys.get(device_id, {}).get(key_id)

    def newest(self, device_id: str) -> int:
        """Return the highest key id of this shoe; 0 where it has none."""
        return max(self.keys.get(device_id, {}), default=0)

    def reload(self) -> None:
        """Add what was put into the file. Keys that left it stay: connections may be using them.

        Raises:
            ConfigError: as ``read_keys``; the keys are then as before.
        """
        for device_id, keys in read_keys(self._path).items():
            self.keys[device_id] = {**self.keys.get(device_id, {}), **keys}

    def check_writable(self) -> None:
        """Check that ``add`` could store a key.

        Raises:
            ConfigError: this user may not write to the file's folder.
        """
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise ConfigError(f"key_file: {self._path}: cannot write to its folder: check its mode")

    def add(self, device_id: str, key_id: int) -> bytes:
        """Return the shoe's key of this id: the one in the file, or a new one, stored there.

        ``keys`` has it only once it is stored.

        Raises:
            ConfigError: as ``read_keys``, or it cannot be stored.
        """
        with self._locked_text() as text:
            held = _parse_keys(self._path, text).get(device_id, {})
            key = held.get(key_id)
            if key is None:
                key = self._make()
                end = "" if not text or text.endswith("\n") else "\n"
                self._write(f"{text}{end}{device_id} {key_id} {key.hex()}\n")
        self.keys[device_id] = {**self.keys.get(device_id, {}), key_id: key}
        return key

    def retire_before(self, device_id: str, key_id: int) -> bool:
        """Retire this shoe's keys older than this one, here and in the file.

        Returns whether there were any.

        Raises:
            ConfigError: the file cannot be changed; here they are retired all the same.
        """
        held = self.keys.get(device_id, {})
        if not any(known < key_id for known in held):
            return False
        self.keys[device_id] = {known: key for known, key in held.items() if known >= key_id}
        with self._locked_text() as text:
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
    def _locked_text(self) -> Iterator[str]:
        """Yield the file's text, under a lock against other writers."""
        path = self._path.resolve()
        try:
            # Not the folder's own lock: every user who may read the folder can take that.
            with held_lock(path.with_name(path.name + "-lock"), wait_s=LOCK_WAIT_S):
                yield read_secret(self._path, "key_file", longest=LONGEST_BYTES)
                folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except BlockingIOError:
            raise ConfigError(f"key_file: {self._path}: another process writes to it") from None
        except OSError as error:
            raise ConfigError(f"key_file: {self._path}: {error.strerror}") from None

    def _write(self, text: str) -> None:
        """Replace the file atomically, for its owner alone."""
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
    """Return the keys in this file. No error repeats what stands in a line.

    Raises:
        ConfigError: it cannot be read, others may read or write it, or a line is wrong.
    """
    return _parse_keys(path, read_secret(path, "key_file", longest=LONGEST_BYTES))


def _parse_keys(path: Path, text: str) -> dict[str, dict[int, bytes]]:
    try:
        keys = parse_keys(text)
    except ValueError as error:
        raise ConfigError(f"key_file: {path}: {error}") from None
    if not keys:
        raise ConfigError(f"key_file: {path} contains no key")
    return keys


RefusalCause = Literal["no_key", "unauthenticated", "wrong_key"]


class TroubleshootingHint(NamedTuple):
    """A hint what to do about a failed authentication.

    ``cause`` is for programs, ``reason`` the same for the log, with more where there is more to
    say. ``step`` is what to do; ``ignored_until`` what ends the trouble.
    """

    cause: RefusalCause
    reason: str
    step: str
    ignored_until: str


def troubleshooting_hint(failed: AuthenticationFailed) -> TroubleshootingHint:
    """Return the cause of this failure, and what to do."""
    who, reason = failed.device_id, failed.reason
    if reason == HOST_WITHOUT_KEY:
        step = f"configure a key_file with a key for {who}"
        until = f"a key_file with a key for {who} is configured"
        return TroubleshootingHint("no_key", "no_key", step, until)
    if reason == NO_KEY:
        step = f"add a key for {who} to key_file, or connect the right shoe"
        until = f"a key for {who} is added to key_file"
        return TroubleshootingHint("no_key", "no_key", step, until)
    if reason == CANNOT_AUTHENTICATE:
        # Whoever swaps the shoe may not be handed the way past the check.
        step = "it proves nothing, an impostor or the wrong shoe: connect the shoe that has the key"
        until = f"{who} has a key, or another shoe is connected"
        return TroubleshootingHint("unauthenticated", "unauthenticated", step, until)
    step = f"put a key that {who} has into key_file"
    until = f"key_file has a key that {who} has"
    detail = "" if reason == WRONG_PROOF else f" ({reason})"
    return TroubleshootingHint("wrong_key", f"wrong_key{detail}", step, until)
