"""A witness: cosigns each checkpoint of a journal that continues the last one it cosigned.

It runs on somebody else's machine, with a key of its own. So whoever holds a journal's key cannot
change what the witness has seen without the change being found.

In: checkpoints with their proofs. Out: cosigned notes; or a Refusal, which is an alarm if a journal
has two histories. Must not know: how checkpoints arrive, what a journal holds.

The state file has one line for each journal: the last note that was cosigned, and an alarm while
nobody has looked at it. It is on the disk before a cosignature is handed out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.errors import EnvironmentFault, InputRefused, UsageError
from shoe_ctl.file_locks import held_lock
from shoe_ctl.journal.checkpoint_event import CHECKPOINT_SIGNED
from shoe_ctl.journal.files import write_atomically
from shoe_ctl.journal.key_changes import ReadChange, read_change
from shoe_ctl.journal.merkle_tree import verify_consistency
from shoe_ctl.journal.signed_note import (
    COSIGNATURE,
    CheckpointText,
    Note,
    NoteError,
    VerifierKey,
    cosign,
    read_checkpoint_text,
    read_note,
    verifier_key,
    verify_note,
)
from shoe_ctl.journal.signing import Signer
from shoe_ctl.records import utc

LONGEST_CHECKPOINT = 4096
"""Bytes of a note: one is kept for each journal, and there may be a thousand."""

LONGEST_LINE = 1 << 17
"""Bytes of an event or a request; a longer one is no checkpoint."""

MOST_KEY_CHANGES = 64
"""Changes of a journal's key that come with a checkpoint; a key is changed once in years."""

MOST_HASHES = 63
"""Hashes in the proof of a request, as C2SP ``tlog-witness`` bounds them."""

_HASH_BYTES = 32

Why = Literal[
    "unreadable",
    "unknown_journal",
    "wrong_signature",
    "retired_key",
    "unendorsed_key",
    "behind",
    "gap",
    "fork",
    "alarm",
]


class Refusal(InputRefused):
    """A checkpoint was not cosigned. ``why`` is for programs, the text for people.

    ``is_alarm``: the journal ``origin`` has two histories, and nothing of it is cosigned until a
    person clears the alarm.
    """

    def __init__(self, why: Why, line: str, origin: str = "") -> None:
        super().__init__(line)
        self.why = why
        self.origin = origin

    @property
    def is_alarm(self) -> bool:
        """Return True if a person must look at it before anything more is cosigned."""
        return self.why in {"fork", "alarm"}

    @property
    def is_loud(self) -> bool:
        """Return True if people are to hear of it: an alarm, or a key that must not sign."""
        return self.is_alarm or self.why in {"retired_key", "unendorsed_key"}


class Submission(msgspec.Struct, frozen=True):
    """A checkpoint as it came: the note, and the proof that it continues that of ``old_size``.

    ``old_size`` is None where nothing was said of an older one. ``key_changes`` are the notes that
    changed the journal's key, oldest first.
    """

    note: bytes
    old_size: int | None = None
    proof: tuple[bytes, ...] = ()
    key_changes: tuple[str, ...] = ()


class Alarm(msgspec.Struct, frozen=True):
    """Two histories were seen at ``t_s``; ``note`` is the checkpoint that was not cosigned."""

    t_s: int
    what: str
    note: str


class Seen(msgspec.Struct, frozen=True):
    """A line of the state file: the last note of a journal that was cosigned, and its alarm.

    ``key_changes`` are the notes by which its key was changed since the one that was given.
    """

    origin: str
    note: str
    alarm: Alarm | None = None
    key_changes: tuple[str, ...] | UnsetType = UNSET


class Cosigned(NamedTuple):
    """A note that a witness cosigned, what its text says, and the time of its cosignature."""

    note: Note
    said: CheckpointText
    t_s: int


class _Data(msgspec.Struct):
    note: str
    old_size: int | None = None
    proof: list[str] = []
    key_changes: list[str] = []


class _Event(msgspec.Struct):
    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")


_event = msgspec.json.Decoder(_Event)
_data = msgspec.json.Decoder(_Data)
_seen = msgspec.json.Decoder(Seen)
_json = msgspec.json.Encoder()


def read_event(line: bytes) -> Submission | None:
    """Read an event; None if it is of another type than ``checkpoint.signed``.

    Raises:
        Refusal: it is no event, or no such one.
    """
    if len(line) > LONGEST_LINE:
        raise Refusal("unreadable", f"longer than {LONGEST_LINE:,} bytes")
    try:
        found = _event.decode(line)
        if found.type != CHECKPOINT_SIGNED:
            return None
        said = _data.decode(found.data)
    except (ValueError, RecursionError) as error:
        raise Refusal("unreadable", f"no event: torn, or of another form ({error})") from None
    given = _submission(said.note.encode(), said.old_size, said.proof)
    changes = tuple(said.key_changes)
    if len(changes) > MOST_KEY_CHANGES or max(map(len, changes), default=0) > LONGEST_CHECKPOINT:
        raise Refusal("unreadable", "too many changes of the key, or too long ones")
    return msgspec.structs.replace(given, key_changes=changes)


def read_request(data: bytes) -> Submission:
    """Read a note, or a request of C2SP ``tlog-witness``.

    Such a request is a line ``old SIZE``, a line of base64 for each hash of the proof, an empty
    line, and the note.

    Raises:
        Refusal: it is neither.
    """
    if not data.startswith(b"old "):
        return Submission(data)
    head, _, note = data.partition(b"\n\n")
    first, *hashes = head.decode("ascii", "replace").split("\n")
    size = first.removeprefix("old ")
    if not size.isascii() or not size.isdigit() or len(size) > 19:
        raise Refusal("unreadable", f"line 1: a tree size was expected, not {size[:30]!r}")
    return _submission(note, int(size), hashes)


def _submission(note: bytes, old_size: int | None, hashes: list[str]) -> Submission:
    if len(hashes) > MOST_HASHES:
        raise Refusal("unreadable", f"a proof of more than {MOST_HASHES} hashes")
    try:
        proof = tuple(base64.b64decode(each, validate=True) for each in hashes)
    except (binascii.Error, ValueError):
        raise Refusal("unreadable", "a hash of the proof is not base64") from None
    if any(len(each) != _HASH_BYTES for each in proof):
        raise Refusal("unreadable", f"a hash of the proof has not {_HASH_BYTES} bytes")
    return Submission(note, old_size, proof)


class Witness:
    """Cosigns as ``name``, with the key of ``signer``.

    ``journals`` are the keys that checkpoints may be signed with; a journal is named by its key's
    name. ``now_s`` is the time in whole seconds since 1970. ``stamp`` returns an authority's time
    stamp of a cosigned note, None where there is none.

    Raises:
        EnvironmentFault: the state file cannot be read, or is not this witness's.
        UsageError: a journal has the witness's own key.
        NoteError: the name cannot be one.
    """

    def __init__(  # noqa: PLR0913 - who it is, whom it serves, what it asks for
        self,
        name: str,
        signer: Signer,
        journals: Iterable[VerifierKey],
        state: Path,
        now_s: Callable[[], int],
        stamp: Callable[[bytes], bytes | None] = lambda _: None,
    ) -> None:
        self.key = verifier_key(name, signer.public_key, COSIGNATURE)
        self._signer = signer
        self.now_s = now_s
        self.stamp = stamp
        self._path = state
        self._journals: dict[str, list[VerifierKey]] = {}
        for key in journals:
            if key.public_key == signer.public_key:
                raise UsageError(
                    f"{key.name}: its key is the witness's own: it would be no witness"
                )
            self._journals.setdefault(key.name, []).append(key)
        self._seen = {each.origin: each for each in read_state(state, self.key)}

    def cosign(self, given: Submission) -> Cosigned:
        """Return the checkpoint with the journal's signatures and a cosignature.

        One that was the last to be cosigned is returned as it was.

        Raises:
            Refusal: it is not cosigned.
            EnvironmentFault: the state cannot be stored; nothing is cosigned then.
        """
        note, said, changes = self._read(given)
        t_s = self.now_s()
        if (seen := self._seen.get(said.origin)) is not None:
            last = self.cosigned(seen)
            self._check(seen, last.said, Cosigned(note, said, t_s), given)
            if last.note.text == note.text:
                return last
            t_s = max(t_s, last.t_s)  # the clock may have been set back
        signed = note.add(cosign(note.text, self.key.name, self._signer, t_s))
        self._store(Seen(said.origin, signed.to_bytes().decode(), None, changes or UNSET))
        return Cosigned(signed, said, t_s)

    def seen(self) -> list[Seen]:
        """Return what is kept, a line for each journal."""
        return list(self._seen.values())

    def cosigned(self, seen: Seen) -> Cosigned:
        """Return what a line keeps."""
        note = read_note(seen.note.encode())
        t_s = max(each.t_s or 0 for each in verify_note(note, [self.key]))
        return Cosigned(note, read_checkpoint_text(note.text), t_s)

    def clear(self, origin: str) -> Alarm:
        """Clear a journal's alarm, and return it. What continues the last cosigned one is cosigned.

        Raises:
            UsageError: there is no alarm.
            EnvironmentFault: the state cannot be stored.
        """
        seen = self._seen.get(origin)
        if seen is None or seen.alarm is None:
            raise UsageError(f"{origin}: there is no alarm of such a journal")
        self._store(msgspec.structs.replace(seen, alarm=None))
        return seen.alarm

    def _read(self, given: Submission) -> tuple[Note, CheckpointText, tuple[str, ...]]:
        """Return the note with its journal's own signatures only, which hold.

        With it come the changes of the journal's key that are known now.
        """
        data = given.note
        if len(data) > LONGEST_CHECKPOINT:
            raise Refusal("unreadable", f"a checkpoint of more than {LONGEST_CHECKPOINT:,} bytes")
        try:
            note = read_note(data)
            said = read_checkpoint_text(note.text)
        except NoteError as error:
            raise Refusal("unreadable", str(error)) from None
        known = self._journals.get(said.origin)
        if known is None:
            line = f"{said.origin}: a journal that this witness has no key of: add its --journal"
            raise Refusal("unknown_journal", line)
        seen = self._seen.get(said.origin)
        stored = () if seen is None else seen.key_changes or ()
        changed = _Keys(said.origin, known)
        for each in (*stored, *given.key_changes, note.to_bytes().decode()):
            changed.take(each)
        keys = changed.at(said.size)
        try:
            verify_note(note, keys)
        except NoteError as error:
            raise changed.refusal(note, said) or Refusal(
                "wrong_signature", f"{said.origin}: size {said.size}: {error}"
            ) from None
        own = (each for each in note.signatures if any(key.signed(each) for key in keys))
        return Note(note.text).add(*own), said, tuple(changed.notes)

    def _check(
        self, seen: Seen, before: CheckpointText, found: Cosigned, given: Submission
    ) -> None:
        """Refuse what does not continue the last one.

        Raises:
            Refusal: it does not.
        """
        said = found.said
        what = f"{said.origin}: size {said.size}"
        if seen.alarm is not None:
            line = f"ALARM of {utc(seen.alarm.t_s * 1_000_000)} stands: {seen.alarm.what}"
            raise Refusal("alarm", line, said.origin)
        if said.size < before.size:
            raise Refusal("behind", f"{what} is behind {before.size}, the last one cosigned")
        if said.size == before.size:
            if said.root != before.root:
                self._raise_alarm(seen, found, f"{what} was cosigned with another root")
        elif given.old_size != before.size:
            raise Refusal(
                "gap",
                f"{what} came without a proof from size {before.size}, the last one cosigned: "
                "ask for a checkpoint with that proof",
            )
        elif not verify_consistency(before.size, said.size, before.root, said.root, given.proof):
            self._raise_alarm(
                seen, found, f"{what} does not continue {before.size}, the last one cosigned"
            )

    def _raise_alarm(self, seen: Seen, found: Cosigned, what: str) -> None:
        alarm = Alarm(found.t_s, what, found.note.to_bytes().decode())
        self._store(msgspec.structs.replace(seen, alarm=alarm))
        line = f"ALARM: {what}; nothing more of it is cosigned until --clear"
        raise Refusal("fork", line, seen.origin)

    def _store(self, seen: Seen) -> None:
        """Put it on the disk, and only then count on it."""
        lines = {**self._seen, seen.origin: seen}
        try:
            write_atomically(self._path, (_json.encode(each) + b"\n" for each in lines.values()))
        except OSError as error:
            raise EnvironmentFault(
                f"state file {self._path} cannot be written: {error.strerror}"
            ) from None
        self._seen = lines


class _Keys:
    """The keys of one journal: those given, and those that followed them.

    A key signs no larger tree than that with which it was changed. ``notes`` are the changes by
    which other keys came to sign.
    """

    def __init__(self, origin: str, given: Iterable[VerifierKey]) -> None:
        self._origin = origin
        self._keys = {key.public_key: key for key in given}
        self._ends: dict[bytes, int] = {}
        self._not_endorsed: list[ReadChange] = []
        self.notes: list[str] = []

    def take(self, text: str) -> None:
        """Take a change's note; what is none, or of another journal, is passed over."""
        change = read_change(text)
        if change is None or change.origin != self._origin or change.old in self._ends:
            return
        if not (change.new in self._keys or (change.endorsed and change.old in self._keys)):
            if change.old in self._keys:
                self._not_endorsed.append(change)
            return
        self._keys.setdefault(change.new, verifier_key(self._origin, change.new))
        self._ends[change.old] = change.size
        self.notes.append(text)

    def at(self, size: int) -> list[VerifierKey]:
        """Return the keys that may sign a tree of this size."""
        return [key for each, key in self._keys.items() if size <= self._ends.get(each, size)]

    def refusal(self, note: Note, said: CheckpointText) -> Refusal | None:
        """Return why a note is refused that none of the keys signed, where a change tells."""
        what = f"{said.origin}: size {said.size}"
        for key, size in self._ends.items():
            if _has_signed(note, said.origin, key):
                line = f"{what} is signed with {key.hex()}, which was changed at size {size}"
                return Refusal("retired_key", f"{line}: somebody still signs with it", said.origin)
        for change in self._not_endorsed:
            if _has_signed(note, said.origin, change.new):
                line = (
                    f"{what} is signed with {change.new.hex()}, which the key before it did not "
                    "endorse: ask who ruled that it is lost, then add the new one as --journal"
                )
                return Refusal("unendorsed_key", line, said.origin)
        return None


def _has_signed(note: Note, origin: str, key: bytes) -> bool:
    try:
        verify_note(note, [verifier_key(origin, key)])
    except NoteError:
        return False
    return True


@contextmanager
def hold_state(path: Path) -> Iterator[None]:
    """Let no other process use this state file: two witnesses would each forget what one saw.

    Raises:
        EnvironmentFault: another process uses it, or its lock cannot be made.
    """
    with ExitStack() as held:
        try:
            held.enter_context(held_lock(path.with_name(f"{path.name}-lock"), wait_s=0))
        except BlockingIOError:
            raise EnvironmentFault(f"state file {path} is in use by another process") from None
        except OSError as error:
            raise EnvironmentFault(f"state file {path}: {error.strerror}") from None
        yield


def read_state(path: Path, key: VerifierKey) -> list[Seen]:
    """Read a witness's state file: a line for each journal; none where there is no file.

    Raises:
        EnvironmentFault: it cannot be read, or a line is not what the witness with ``key`` wrote.
    """
    found: dict[str, Seen] = {}
    try:
        with path.open("rb") as file:
            for at, line in enumerate(file, 1):
                seen = _read_line(line, key)
                if seen is None or seen.origin in found:
                    raise EnvironmentFault(
                        f"state file {path} line {at} is not what this witness wrote: restore it, "
                        "or use the key and the name that it was written with"
                    )
                found[seen.origin] = seen
    except FileNotFoundError:
        return []
    except OSError as error:
        raise EnvironmentFault(f"state file {path} cannot be read: {error.strerror}") from None
    return list(found.values())


def _read_line(line: bytes, key: VerifierKey) -> Seen | None:
    """Return what a line keeps; None if it was altered, or another witness cosigned it."""
    try:
        seen = _seen.decode(line)
        note = read_note(seen.note.encode())
        verify_note(note, [key])
        origin = read_checkpoint_text(note.text).origin
    except (ValueError, NoteError):
        return None
    return seen if line.endswith(b"\n") and origin == seen.origin else None
