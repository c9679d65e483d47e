"""A disk that forgets: what may be left of a journal's files when the power goes at any call.

In: the calls on a journal's file layer. Out: the files as they may be found afterwards.
Must not know: SQLite's formats, what is stored.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from shoe_testing.faulty_disk import Call, Do

SECTOR = 512
"""What a disk writes whole or not at all, in bytes."""

Piece = tuple[int, bytes | None]
"""Bytes at an offset; or None, and the size that the file is cut to."""


@dataclass(slots=True)
class _Kept:
    """One file: what is surely on the disk, and what was written since, in pieces of a sector."""

    durable: bytearray
    pending: list[Piece] = field(default_factory=list)


class ForgetfulDisk:
    """Keeps what each file is sure to hold: what was synced, and nothing that came after.

    ``failing_syncs`` names those that fail, counted from 1 over all files. As on Linux, what such
    a sync was to write is never written any more, although it is still read as if it were there.
    """

    def __init__(self, folder: Path, *, failing_syncs: Sequence[int] = ()) -> None:
        self._files = {
            str(path): _Kept(bytearray(path.read_bytes()))
            for path in folder.iterdir()
            if path.is_file() and not path.name.endswith(("-lock", "-shm"))
        }
        self._failing = frozenset(failing_syncs)
        self.syncs = 0

    def __call__(self, call: Call, do: Do) -> Any:
        if call.op == "sync":
            return self._sync(call, do)
        done = do()
        if call.op == "open" and not call.path.endswith("-shm"):
            self._files.setdefault(call.path, _Kept(bytearray()))
        elif call.op == "write":
            self._files[call.path].pending += _in_sectors(call.data, call.offset)
        elif call.op == "truncate":
            self._files[call.path].pending.append((call.offset, None))
        elif call.op == "delete":
            self._files.pop(call.path, None)
        return done

    def _sync(self, call: Call, do: Do) -> None:
        self.syncs += 1
        kept = self._files[call.path]
        pending, kept.pending = kept.pending, []
        if self.syncs in self._failing:
            raise apsw.IOError("the disk failed to sync")
        do()
        for piece in pending:
            _apply(kept.durable, piece)

    def killed(self, folder: Path) -> ForgetfulDisk:
        """This disk after the writer was killed: in ``folder`` stands what can be read of it."""
        folder.mkdir()
        left = ForgetfulDisk(folder)
        for name, kept in self._files.items():
            path = folder / Path(name).name
            path.write_bytes(Path(name).read_bytes())
            left._files[str(path)] = _Kept(bytearray(kept.durable), list(kept.pending))
        return left

    def cut(
        self, folder: Path, choose: random.Random | None = None, *, all_written: bool = False
    ) -> None:
        """The files as they are found after the power went now.

        Of what was not synced there is nothing; all of it with ``all_written``; or as many of its
        sectors, in any order, as ``choose`` chooses.
        """
        folder.mkdir()
        for path, kept in self._files.items():
            content = bytearray(kept.durable)
            pieces = list(kept.pending) if all_written or choose is not None else []
            if choose is not None:
                pieces = [piece for piece in pieces if choose.random() < 0.5]
            for piece in pieces:
                _apply(content, piece)
            (folder / Path(path).name).write_bytes(content)


def _in_sectors(data: bytes, offset: int) -> list[Piece]:
    pieces: list[Piece] = []
    while data:
        size = SECTOR - offset % SECTOR
        pieces.append((offset, data[:size]))
        data, offset = data[size:], offset + size
    return pieces


def _apply(content: bytearray, piece: Piece) -> None:
    offset, data = piece
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
