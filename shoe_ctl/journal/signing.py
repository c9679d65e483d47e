"""The key that a journal's checkpoints are signed with: Ed25519, beside the journal, never in it.

In: a journal's path, the key that it was signed with so far. Out: a Signer; whether a signature is
a key's. Must not know: records, what is signed.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shoe_ctl.errors import JournalError, UsageError
from shoe_ctl.journal import files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


SIGNATURE_BYTES = 64
KEY_BYTES = 32
LONGEST_BYTES = 1 << 14
"""No more of a key file is read: one has a few hundred bytes, and the path may name any file."""

_NOTED = re.compile(rb"public key: ([0-9a-f]{64})\n")
"""The key file's first line: the public key, so that it can be compared at once."""

_PEM = b"-----BEGIN PRIVATE KEY-----\n%b\n-----END PRIVATE KEY-----\n"
_PLAIN = re.compile(_PEM % rb"([A-Za-z0-9+/]{64})")
"""A key as it is made here, without what cryptography loads to read and write any: a megabyte."""

_DER = bytes.fromhex("302e020100300506032b657004220420")
"""The bytes before the 32 bytes of a private key in PKCS #8 (RFC 8410, section 7)."""

_LOST = (
    "if it is lost, a gaming shift manager rules that another one signs from now on: shoectl run "
    "--accept-lost-key"
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Signer:
    """Signs with one private key; ``public_key`` is 32 bytes."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public_key = key.public_key().public_bytes_raw()

    def sign(self, statement: bytes) -> bytes:
        """Return the 64 bytes of the signature."""
        return self._key.sign(statement)


def key_path(journal: Path) -> Path:
    """Return the path of the private key of this journal."""
    return journal.with_name(journal.name + "-key")


def open_key(path: Path, *, create: bool) -> Signer:
    """Open a key file; with ``create`` one is made where there is none.

    Raises:
        JournalError: it is missing, unreadable or open to others, or cannot be made.
    """
    if create and not path.exists():
        return _create_key(path)
    return _load_key(path, _read_key_file(path))


def check_key(journal: Path, signed_with: bytes | None) -> None:
    """Refuse what ``open_signer`` would refuse; fast, as it imports no cryptography.

    ``signed_with`` is the public key of the journal's last checkpoint.

    Raises:
        JournalError: the key is missing, unreadable, open to others, or another one.
    """
    path = key_path(journal)
    if path.exists():
        _check_public_key(journal, public_key_of(path), signed_with)
    elif signed_with is not None:
        raise JournalError(
            f"journal {journal} is signed with {signed_with.hex()}, and its key {path} is missing: "
            f"put it back; {_LOST}"
        )


def public_key_of(path: Path) -> bytes:
    """Return the public key of a key file; the one noted in it, if any, without a look at the key.

    Raises:
        JournalError: the file is missing, unreadable, open to others, or no key.
    """
    text = _read_key_file(path)
    noted = _NOTED.match(text)
    return bytes.fromhex(noted[1].decode()) if noted else _load_key(path, text).public_key


def key_mode(journal: Path) -> int | None:
    """Return the modes of the key's file; None if it is not there."""
    try:
        return stat.S_IMODE(key_path(journal).stat().st_mode)
    except OSError:
        return None


def is_open_to_others(mode: int) -> bool:
    """Return True if a file with these modes may be used by others than its owner."""
    return bool(mode & _OTHERS)


def open_signer(journal: Path, signed_with: bytes | None) -> Signer:
    """Open the journal's key; create it where there is none and the journal was never signed.

    Raises:
        JournalError: as ``check``; or it cannot be made.
    """
    check_key(journal, signed_with)
    found = open_key(key_path(journal), create=True)
    _check_public_key(journal, found.public_key, signed_with)
    return found


def _check_public_key(journal: Path, found: bytes, signed_with: bytes | None) -> None:
    if signed_with not in (None, found):
        assert signed_with is not None
        raise JournalError(
            f"journal {journal} is signed with {signed_with.hex()}, and {key_path(journal)} is "
            f"another key, {found.hex()}: put the right one back; {_LOST}"
        )


# Another key.


def next_key_path(journal: Path) -> Path:
    """Return the path of a key that is made, and with which the journal is not signed yet."""
    return journal.with_name(journal.name + "-key-next")


def make_next_key(journal: Path) -> Signer:
    """Make a further key beside the journal's own; it is on the disk on return.

    Raises:
        JournalError: it cannot be made.
    """
    return _create_key(next_key_path(journal))


def finish_change(journal: Path, signed_with: bytes | None) -> None:
    """Put the next key in the place of the old one if the journal is signed with it; else drop it.

    A kill in the middle of a change leaves one or the other. Call it with the journal's lock held.

    Raises:
        JournalError: a file cannot be read, moved or removed.
    """
    made = next_key_path(journal)
    try:
        files.unfinished_path(made).unlink(missing_ok=True)
        if not made.exists():
            return
        if public_key_of(made) == signed_with:
            made.rename(key_path(journal))
        else:
            made.unlink()
        files.sync_folder(made)
    except OSError as error:
        raise JournalError(f"key {made} cannot be moved: {error.strerror}") from None


def _read_key_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & _OTHERS:
                raise JournalError(
                    f"key {path} may be used by others: take that away with chmod 600"
                )
            return file.read(LONGEST_BYTES)
    except OSError as error:
        raise JournalError(f"key {path} cannot be read: {error.strerror}") from None


def _load_key(path: Path, text: bytes) -> Signer:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pem = _NOTED.sub(b"", text)
    if (plain := _PLAIN.fullmatch(pem)) is not None:
        with suppress(ValueError):
            der = base64.b64decode(plain[1])
            if len(der) == len(_DER) + KEY_BYTES and der.startswith(_DER):
                return Signer(Ed25519PrivateKey.from_private_bytes(der[len(_DER) :]))
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None  # what stood in it is never repeated
    if not isinstance(key, Ed25519PrivateKey):
        raise JournalError(f"key {path} is not an Ed25519 private key in PEM, without a password")
    return Signer(key)


def _create_key(path: Path) -> Signer:
    """Create a key that is on the disk before it is used."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw().hex().encode()
    text = b"public key: %b\n" % public + _PEM % base64.b64encode(_DER + key.private_bytes_raw())
    try:
        files.write_atomically(path, text)
    except OSError as error:
        raise JournalError(f"key {path} cannot be made: {error.strerror}") from None
    return Signer(key)


def is_valid_signature(statement: bytes, signature: bytes, public_key: bytes) -> bool:
    """Return True if this is the key's signature under this statement."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, statement)
    except (InvalidSignature, ValueError):
        return False
    return True


def parse_public_key(text: str) -> bytes:
    """Parse a public key: 64 hex digits, or a file with those or with PEM.

    Raises:
        UsageError: it is none of these.
    """
    with suppress(ValueError):
        if len(found := bytes.fromhex(text)) == KEY_BYTES:
            return found
    try:
        with Path(text).open("rb") as file:
            content = file.read(LONGEST_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a path that no system takes
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(
            f"{text}: neither a public key of 64 hex digits nor a file ({why})"
        ) from None
    with suppress(ValueError):
        if len(found := bytes.fromhex(content.decode("ascii", "replace").strip())) == KEY_BYTES:
            return found
    return _from_pem(content, text)


def _from_pem(content: bytes, name: str) -> bytes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    with suppress(ValueError, UnsupportedAlgorithm):
        key = load_pem_public_key(content)
        if isinstance(key, Ed25519PublicKey):
            return key.public_bytes_raw()
    raise UsageError(f"{name}: no Ed25519 public key, in 64 hex digits or PEM")
