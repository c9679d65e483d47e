"""Signed notes: the text form in which a journal's checkpoints are signed, sent and cosigned.

A note is a text, an empty line, and one line for each signature (C2SP ``signed-note``). The text of
a checkpoint names the journal, how many leaves its tree has, and the tree's root (C2SP
``tlog-checkpoint``). A witness adds a signature with its own time (C2SP ``tlog-cosignature``, v1).

In: the bytes of a note, keys. Out: notes, signatures, or one line that says what is wrong. Must not
know: records, stores, where a note came from.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.signing import KEY_BYTES, Signer, is_valid_signature

LONGEST_NOTE = 1 << 16
"""Bytes: a longer note is refused unread. A checkpoint of a thousand chains stays far below."""

MOST_SIGNATURES = 64
"""Signatures on one note; the specification wants at least 16."""

LONGEST_NAME = 255
"""Bytes of a key's name or of an origin in UTF-8."""

LARGEST_SIZE = (1 << 63) - 1
"""Of a tree's size and of a cosignature's time, in seconds since 1970."""

ROOT_BYTES = 32

ED25519 = 0x01
"""A plain signature of the text: how a journal signs its own checkpoint."""

COSIGNATURE = 0x04
"""A signature of the text with the time at which it was made: how a witness signs."""

_KEY_ID_BYTES = 4
_TIME = struct.Struct(">Q")
_DASH = "— "  # an em dash and a space begin the line of a signature


class NoteError(InputRefused):
    """A note, a signature or a verifier key is not what it should be."""


class NoteSignature(msgspec.Struct, frozen=True):
    """One signature: ``signature`` is what stands behind the key's 4 bytes of ``key_id``."""

    name: str
    key_id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        """Return the line in a note, without its newline."""
        return f"{_DASH}{self.name} {_encode(self.key_id + self.signature)}"


class Note(msgspec.Struct, frozen=True):
    """A text that ends in a newline, and its signatures in the order of their lines."""

    text: str
    signatures: tuple[NoteSignature, ...] = ()

    def add(self, *signatures: NoteSignature) -> Note:
        """Return the note with more signatures; one that it has is not added again."""
        return Note(self.text, tuple(dict.fromkeys((*self.signatures, *signatures))))

    def to_bytes(self) -> bytes:
        """Return the note as it is stored and sent."""
        lines = "".join(f"{each.line}\n" for each in self.signatures)
        return f"{self.text}\n{lines}".encode()


class VerifierKey(msgspec.Struct, frozen=True):
    """A public key with the name and the kind of signature it stands for.

    ``kind`` is ``ED25519`` or ``COSIGNATURE``; ``public_key`` has 32 bytes.
    """

    name: str
    kind: int
    public_key: bytes

    @property
    def key_id(self) -> bytes:
        """Return the 4 bytes that stand in front of this key's signatures."""
        named = f"{self.name}\n".encode()
        return sha256(named + bytes([self.kind]) + self.public_key).digest()[:_KEY_ID_BYTES]

    def __str__(self) -> str:
        """Return the key as people exchange it: name, key id in hex, kind and key in base64."""
        return f"{self.name}+{self.key_id.hex()}+{_encode(bytes([self.kind]) + self.public_key)}"

    def signed(self, signature: NoteSignature) -> bool:
        """Return True if the signature says that it is this key's. Nothing is verified."""
        return signature.name == self.name and signature.key_id == self.key_id


class Verified(msgspec.Struct, frozen=True):
    """A signature that holds; ``t_s`` is a cosignature's time in seconds since 1970, else None."""

    key: VerifierKey
    t_s: int | None = None


class CheckpointText(msgspec.Struct, frozen=True):
    """The three lines of a checkpoint's text, and its extensions.

    ``origin`` names the journal, ``size`` counts the leaves of its tree, ``root`` is the tree's
    hash (32 bytes), ``extensions`` are further lines without their newline.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the text to sign.

        Raises:
            NoteError: a line could not be read back.
        """
        head = (self.origin, str(self.size), _encode(self.root))
        text = "".join(f"{line}\n" for line in (*head, *self.extensions))
        if read_checkpoint_text(text) != self:
            raise NoteError(f"checkpoint of {self.origin!r}: it cannot be written as a note")
        return text


def read_note(data: bytes) -> Note:
    """Read a note strictly; its signatures are not verified.

    Raises:
        NoteError: it is no note, or larger than ``LONGEST_NOTE``.
    """
    if len(data) > LONGEST_NOTE:
        raise NoteError(f"note: larger than {LONGEST_NOTE:,} bytes")
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise NoteError(f"note: byte {error.start + 1} is not UTF-8") from None
    if any(char < " " and char != "\n" for char in whole):
        raise NoteError("note: it holds a control character")
    text, separator, rest = whole.rpartition("\n\n")
    if not separator or not rest:
        raise NoteError("note: no empty line with signatures behind it")
    if not rest.endswith("\n"):
        raise NoteError("note: its last line is torn")
    lines = rest.removesuffix("\n").split("\n")
    if len(lines) > MOST_SIGNATURES:
        raise NoteError(f"note: more than {MOST_SIGNATURES} signatures")
    return Note(f"{text}\n", tuple(read_signature(line) for line in lines))


def read_signature(line: str) -> NoteSignature:
    """Read the line of one signature, without its newline.

    Raises:
        NoteError: it is no such line.
    """
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not _is_key_name(name):
        raise NoteError(f"note: no signature: {_shorten(line)}")
    decoded = _decode(encoded)
    if decoded is None or len(decoded) <= _KEY_ID_BYTES:
        raise NoteError(f"note: the signature of {name} is not base64 of a key id and a signature")
    return NoteSignature(name, decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])


def read_verifier_key(text: str) -> VerifierKey:
    """Read a verifier key: ``NAME+HASH+KEY``, with the hash in hex and the key in base64.

    Raises:
        NoteError: it is none, its hash is another key's, or its kind is not known here.
    """
    what = f"verifier key {_shorten(text)}"
    parts = text.split("+", 2)
    if len(parts) != 3 or not _is_key_name(parts[0]):
        raise NoteError(f"{what}: NAME+HASH+KEY was expected")
    decoded = _decode(parts[2])
    if not decoded or decoded[0] not in {ED25519, COSIGNATURE} or len(decoded) != 1 + KEY_BYTES:
        raise NoteError(f"{what}: its last part is no Ed25519 key in base64")
    key = VerifierKey(parts[0], decoded[0], decoded[1:])
    if parts[1] != key.key_id.hex():
        raise NoteError(f"{what}: its hash is not that of its name and key")
    return key


def read_checkpoint_text(text: str) -> CheckpointText:
    """Read the text of a checkpoint.

    Raises:
        NoteError: a line is missing or is not what it should be.
    """
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or not all(lines):
        raise NoteError("checkpoint: at least three lines, none of them empty, were expected")
    origin, size, root, *extensions = lines
    if len(origin.encode()) > LONGEST_NAME:
        raise NoteError(f"checkpoint: its origin is longer than {LONGEST_NAME} bytes")
    what = f"checkpoint of {origin}"
    if not (size.isascii() and size.isdigit()) or (size[0] == "0" and size != "0"):
        raise NoteError(f"{what}: its second line is no tree size: {_shorten(size)}")
    if len(size) > len(str(LARGEST_SIZE)) or int(size) > LARGEST_SIZE:
        raise NoteError(f"{what}: its tree size is too large")
    decoded = _decode(root)
    if decoded is None or len(decoded) != ROOT_BYTES:
        raise NoteError(f"{what}: its third line is no hash of {ROOT_BYTES} bytes in base64")
    return CheckpointText(origin, int(size), decoded, tuple(extensions))


@lru_cache(1 << 10)
def verifier_key(name: str, public_key: bytes, kind: int = ED25519) -> VerifierKey:
    """Return the verifier key of a public key of 32 bytes. Each checkpoint asks for the same one.

    Raises:
        NoteError: the name is empty, too long, or has a space or a plus sign.
    """
    if not _is_key_name(name):
        raise NoteError(
            f"key name {name!r}: 1 to {LONGEST_NAME} bytes without spaces and plus signs "
            "were expected, for example witness.example/casino"
        )
    return VerifierKey(name, kind, public_key)


def sign(text: str, name: str, signer: Signer) -> NoteSignature:
    """Sign a note's text as the journal ``name``.

    Raises:
        NoteError: the name is none.
    """
    key = verifier_key(name, signer.public_key)
    return NoteSignature(name, key.key_id, signer.sign(text.encode()))


def cosign(text: str, name: str, signer: Signer, t_s: int) -> NoteSignature:
    """Sign a checkpoint's text as the witness ``name``, at ``t_s`` seconds since 1970.

    Raises:
        NoteError: the name is none.
    """
    key = verifier_key(name, signer.public_key, COSIGNATURE)
    return NoteSignature(name, key.key_id, _TIME.pack(t_s) + signer.sign(_timed(text, t_s)))


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[Verified, ...]:
    """Return the signatures of these keys, in the order of their lines. Others are passed over.

    Raises:
        NoteError: none of the keys signed, or a signature is not that of the key that it names.
    """
    known = tuple(keys)
    found = tuple(
        _verify(note.text, signature, key)
        for signature in note.signatures
        for key in known
        if key.signed(signature)
    )
    if not found:
        names = ", ".join(sorted({signature.name for signature in note.signatures}))
        raise NoteError(f"note: signed by no known key, only by {_shorten(names)}")
    return found


def _verify(text: str, signature: NoteSignature, key: VerifierKey) -> Verified:
    signed, t_s, statement = signature.signature, None, text.encode()
    if key.kind == COSIGNATURE:
        (t_s,) = _TIME.unpack(signed[: _TIME.size].rjust(_TIME.size, b"\0"))
        signed, statement = signed[_TIME.size :], _timed(text, t_s)
    if (t_s or 0) > LARGEST_SIZE or not is_valid_signature(statement, signed, key.public_key):
        raise NoteError(f"note: the signature of {key.name} is not that of its key")
    return Verified(key, t_s)


def _timed(text: str, t_s: int) -> bytes:
    """Return what a cosignature signs. Its first line keeps it apart from a plain signature."""
    return f"cosignature/v1\ntime {t_s}\n{text}".encode()


def _is_key_name(name: str) -> bool:
    if not 0 < len(name.encode()) <= LONGEST_NAME:
        return False
    return not any(char.isspace() or char == "+" or char < " " for char in name)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: str) -> bytes | None:
    """Return what the base64 says; None if other text would say the same, or it is none."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if _encode(decoded) == text else None


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
