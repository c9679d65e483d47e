"""A journal and the time stamps of its cosigned checkpoints.

In: a journal's cosignatures, what its witnesses saw, the authorities to trust. Out: up to which
record it existed at which time. Must not know: how a stamp is verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shoe_ctl.audit.cosigned_journal import Witnessed
from shoe_ctl.audit.time_stamps import time_of_stamp
from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.chain import read_note_text
from shoe_ctl.journal.cosignatures import read_stamped
from shoe_ctl.journal.signed_note import NoteError, VerifierKey, verify_note
from shoe_ctl.records import utc


class Stamped(msgspec.Struct, frozen=True):
    """The newest stamp of what a witness cosigned: records up to ``upto`` existed at ``t_us``.

    ``upto`` is None where there is no stamp, ``t_us`` where it does not hold: ``why`` says why.
    """

    witness: str
    upto: int | None = None
    t_us: int | None = None
    why: str | None = None

    @property
    def ok(self) -> bool:
        """Return True if there is a stamp that holds."""
        return self.t_us is not None

    @property
    def text(self) -> str:
        """The finding in one line, for people."""
        if self.upto is None:
            return "no time stamp is stored"
        if self.t_us is None:
            return f"the time stamp of record {self.upto:,} is wrong: {self.why}"
        return f"records up to {self.upto:,} existed {utc(self.t_us)}, by a time-stamp authority"


def newest_stamps(
    path: Path, seen: Sequence[Witnessed], witnesses: Sequence[VerifierKey], authorities: Path
) -> list[Stamped]:
    """Return the newest stamp of each witness of a state that the journal still has.

    ``path`` is that of the cosignatures, and ``seen`` what the witnesses saw of the journal.

    Raises:
        JournalError: the file cannot be read.
        EnvironmentFault: stamps cannot be verified here.
    """
    found: dict[str, tuple[int, bytes, bytes]] = {}
    for note, stamp in read_stamped(path):
        try:
            signed = verify_note(note, witnesses)
            upto = read_note_text(note.text).upto
        except NoteError:
            continue  # a claim that counts for nothing
        for each in signed:
            newest = max(found.get(str(each.key), (0, b"", b"")), (upto, note.to_bytes(), stamp))
            if any(one.witness == each.key.name and upto <= (one.upto or 0) for one in seen):
                found[str(each.key)] = newest
    return [_stamped(key, found.get(str(key)), authorities) for key in witnesses]


def _stamped(
    key: VerifierKey, newest: tuple[int, bytes, bytes] | None, authorities: Path
) -> Stamped:
    if newest is None:
        return Stamped(key.name)
    upto, note, stamp = newest
    try:
        return Stamped(key.name, upto, time_of_stamp(stamp, note, authorities))
    except InputRefused as error:
        return Stamped(key.name, upto, why=str(error))
