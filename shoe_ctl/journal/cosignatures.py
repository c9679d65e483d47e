"""Cosignatures of a journal's checkpoints, in a file beside it.

They came from witnesses, and anybody may have written the file: each is a claim that counts only
once its signature and the journal's own records bear it out.

In: a journal's path, lines that a witness sent. Out: the file; its notes. Must not know: how a
witness is reached, what a journal holds.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.files import sync_folder
from shoe_ctl.journal.signed_note import LONGEST_NOTE, CheckpointText, Note, read_note
from shoe_ctl.records import utc

CHECKPOINT_COSIGNED = "checkpoint.cosigned"
CHECKPOINT_REFUSED = "checkpoint.refused"

LONGEST_LINE = 2 * LONGEST_NOTE
"""Bytes of a line: JSON may escape a part of the note."""


class _Data(msgspec.Struct):
    note: str
    stamp: str = ""


class _Event(msgspec.Struct):
    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")


_event = msgspec.json.Decoder(_Event)
_data = msgspec.json.Decoder(_Data)
_json = msgspec.json.Encoder()


def encode_cosigned(
    witness: str, said: CheckpointText, note: Note, t_s: int, stamp: bytes | None = None
) -> bytes:
    """Return the line by which a witness hands out a cosigned note: an event, with a newline.

    ``stamp`` is an authority's time stamp of the note's bytes.
    """
    data = {"origin": said.origin, "size": said.size, "note": note.to_bytes().decode()}
    if stamp is not None:
        data["stamp"] = base64.b64encode(stamp).decode()
    return _encode(witness, CHECKPOINT_COSIGNED, f"{said.origin}/{said.size}", t_s, data)


def encode_refused(witness: str, why: str, text: str, note: bytes, t_s: int) -> bytes:
    """Return the line by which a witness says that it saw two histories of a journal."""
    data = {"why": why, "text": text, "note": note.decode("utf-8", "replace")}
    return _encode(witness, CHECKPOINT_REFUSED, f"refused/{t_s}", t_s, data)


def _encode(witness: str, kind: str, id_: str, t_s: int, data: Mapping[str, object]) -> bytes:
    event = {
        "id": id_,
        "source": f"/witness/{witness}",
        "type": kind,
        "time": utc(t_s * 1_000_000),
        "data": data,
        "specversion": "1.0",
    }
    return _json.encode(event) + b"\n"


def read_cosigned(line: bytes) -> Note | None:
    """Read a line of a witness; None if it is of another type. No signature is verified.

    Raises:
        InputRefused: it is no event, or its note is none.
    """
    if len(line) > LONGEST_LINE:
        raise InputRefused(f"longer than {LONGEST_LINE:,} bytes")
    try:
        found = _event.decode(line)
        if found.type != CHECKPOINT_COSIGNED:
            return None
        return read_note(_data.decode(found.data).note.encode())
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"no event: torn, or of another form ({error})") from None


def read_stamped(path: Path) -> Iterator[tuple[Note, bytes]]:
    """Yield each note of the file that has a time stamp, with it; nothing without a file.

    Raises:
        JournalError: the file cannot be read.
    """
    for _, line in _lines(path):
        try:
            if (note := read_cosigned(line)) is None:
                continue
            data = _data.decode(_event.decode(line).data)
            if data.stamp:
                yield note, base64.b64decode(data.stamp, validate=True)
        except (InputRefused, binascii.Error):
            continue  # `read_cosignatures` says so


def cosignatures_path(journal: Path) -> Path:
    """Return the path of the cosignatures of this journal, or of this export."""
    return journal.with_name(journal.name + "-cosignatures")


def append_cosigned(journal: Path, lines: Iterable[bytes]) -> None:
    """Add lines to the file beside the journal; they are on the disk on return.

    A line that a power failure tore stays, and is ended first: the next one is whole.

    Raises:
        JournalError: the file cannot be written.
    """
    path = cosignatures_path(journal)
    try:
        is_new = not path.exists()
        with path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(path)
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror}") from None


def read_cosignatures(path: Path) -> Iterator[tuple[int, Note | InputRefused]]:
    """Yield each line's number and its note, or why there is none; nothing without a file.

    Raises:
        JournalError: the file cannot be read.
    """
    for number, line in _lines(path):
        try:
            note = read_cosigned(line)
        except InputRefused as error:
            yield number, error
        else:
            if note is not None:
                yield number, note


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line's number and the line; of one that is too long so much that this shows."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 2):
                number += 1
                end = line
                while not end.endswith(b"\n") and (end := file.readline(LONGEST_LINE)):
                    line += b" " * LONGEST_LINE if len(line) <= LONGEST_LINE else b""
                yield number, line.rstrip(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from None
