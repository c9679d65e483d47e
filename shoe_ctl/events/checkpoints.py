"""The events of a journal's checkpoints and of its witnesses, which belong to no table.

In: nothing. Out: their types and data, for documents. Must not know: what a checkpoint proves.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from shoe_ctl.events.event_type import Count, Data


class CheckpointSigned(Data, frozen=True, kw_only=True):
    """The journal was signed: the daemon publishes it for witnesses."""

    note: str
    """The checkpoint as a signed note (C2SP tlog-checkpoint)."""
    old_size: Count
    """The size of the tree of an older checkpoint, mostly the one before; 0 for none."""
    proof: list[str]
    """The proof that the tree continues that one: hashes in base64 (RFC 6962, section 2.1.2)."""
    key_changes: list[str] | UnsetType = UNSET
    """The notes of the checkpoints that changed the journal's key, oldest first. Only if one did.
    """


class CheckpointCosigned(Data, frozen=True, kw_only=True):
    """A witness cosigned a checkpoint: it continues all that the witness saw of the journal."""

    origin: str
    """The journal's name."""
    size: Count
    """The size of the tree: how many groups of records it has."""
    note: str
    """The note, with the witness's cosignature (C2SP tlog-cosignature)."""
    stamp: str | UnsetType = UNSET
    """An authority's time stamp of the note's bytes (RFC 3161), in base64."""


class CheckpointRefused(Data, frozen=True, kw_only=True):
    """A witness saw two histories of a journal, or a key that must not sign."""

    why: Literal["fork", "alarm", "retired_key", "unendorsed_key"]
    """`fork`: two histories; nothing more of it is cosigned. `alarm`: one stands already. The key
    was changed for another one, or nothing endorses it: only this checkpoint is refused."""
    text: str
    """The two histories or the key that it saw, for people."""
    note: str
    """The note that it did not cosign."""


DAEMONS: dict[str, type[Data]] = {"checkpoint.signed": CheckpointSigned}
"""The data of what a daemon publishes, by type."""

WITNESSES: dict[str, type[Data]] = {
    "checkpoint.cosigned": CheckpointCosigned,
    "checkpoint.refused": CheckpointRefused,
}
"""The data of what a witness hands out, by type."""
