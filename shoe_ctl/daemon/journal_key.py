"""Another key to sign a journal with, by a person's ruling, at a start of the daemon.

In: an open store, the ruling, the time. Out: a checkpoint that records the change, and the new key
in the old one's place. Must not know: who may rule, tables.

A kill at any moment leaves a journal that opens: the new key lies beside the old one until the
checkpoint that names it is stored, and only then takes its place.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import signing
from shoe_ctl.journal.key_changes import signing_keys
from shoe_ctl.journal.record_format import Ruling
from shoe_ctl.journal.signing import Signer
from shoe_ctl.journal.store import Store

log = logging.getLogger(__name__)


class KeyRuling(msgspec.Struct, frozen=True):
    """A person's ruling that another key signs from now on; ``is_lost``: the old one is lost."""

    ruling: Ruling
    is_lost: bool = False


def change_key(store: Store, given: KeyRuling, t_us: int) -> None:
    """Sign the journal with another key, which the old one endorses unless it is lost.

    ``t_us`` is the time, in µs since 1970 UTC.

    Raises:
        JournalError: there is no key to change, the old key is missing or is not lost, or a file
            cannot be written.
    """
    journal, signed_with = store.path, store.signed_with
    if signed_with is None:
        raise JournalError(
            f"journal {journal} was never signed: start without a ruling on its key, which it gets "
            "by itself"
        )
    if given.is_lost:
        endorser, new = None, _instead_of_lost(store, signed_with)
    else:
        endorser = signing.open_signer(journal, signed_with)
        new = signing.make_next_key(journal)
    store.change_key(new, t_us, given.ruling, endorser=endorser)
    signing.finish_change(journal, new.public_key)
    log.warning(
        'journal: key changed: old=%s new=%s endorsed=%s person="%s" consented_by="%s" reason="%s"',
        signed_with.hex(), new.public_key.hex(), "no" if given.is_lost else "yes",
        given.ruling.person, given.ruling.consented_by, given.ruling.reason,
    )  # fmt: skip


def describe_key(store: Store) -> dict[str, Any]:
    """Return for the status which key signs the journal, and whether its file is private."""
    signed_with, mode = store.signed_with, signing.key_mode(store.path)
    return {
        "public_key": None if signed_with is None else signed_with.hex(),
        "state": _state(mode),
        "mode": None if mode is None else f"{mode:03o}",
    }


def _state(mode: int | None) -> str:
    if mode is None:
        return "missing"
    return "open_to_others" if signing.is_open_to_others(mode) else "private"


def warn_if_open(journal: Path) -> None:
    """Log a warning if the key's file is gone or may be used by others."""
    mode = signing.key_mode(journal)
    if mode is None or signing.is_open_to_others(mode):
        log.warning(
            "journal: key not private: path=%s state=%s. Put it back, or take the others' rights "
            "away with chmod 600; if somebody may have copied it, start once with --new-key.",
            signing.key_path(journal), _state(mode),
        )  # fmt: skip


def _instead_of_lost(store: Store, signed_with: bytes) -> Signer:
    """Return the key that lies in the place of the lost one, or a new one where none does."""
    path: Path = signing.key_path(store.path)
    if not path.exists():
        return signing.make_next_key(store.path)
    found = signing.open_key(path, create=False)
    if found.public_key == signed_with:
        raise JournalError(
            f"key {path} is the one that the journal is signed with, and not lost: start with "
            "--new-key, so that it endorses the new one"
        )
    with store.reader() as reader:
        if found.public_key in signing_keys(reader):
            raise JournalError(
                f"key {path} is one that was changed before, and may be in other hands: move it "
                "away, and a new one is made"
            )
    return found
