"""Completeness of a journal: up to which record nothing is missing, and what shows it.

A chain shows that nothing is missing in between, not that the end is still there.

In: what verifying found, what was kept elsewhere. Out: each claim with what bears it. Must not
know: how any of it was verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from shoe_ctl.audit.cosigned_journal import Witnessed
from shoe_ctl.journal.continuity import Continuity
from shoe_ctl.journal.verify import Verification

Evidence = Literal["witness", "against", "signed_to", "checkpoint", "head_file"]


class Complete(msgspec.Struct, frozen=True):
    """No record up to ``upto`` is missing; ``by`` shows it.

    ``name`` is the witness's name, the path of what was kept, or the checkpoint's number; None
    where ``by`` says it all.
    """

    upto: int
    by: Evidence
    name: str | None = None

    @property
    def text(self) -> str:
        """The claim, for people."""
        shown_by = " ".join(word for word in (_WORDS[self.by], self.name) if word)
        return f"up to record {self.upto:,} by {shown_by}"


_WORDS = {
    "witness": "witness",
    "against": "",
    "signed_to": "--signed-to",
    "checkpoint": "checkpoint",
    "head_file": "the head file",
}


def completeness(
    found: Verification,
    signed_to: int,
    continues: Sequence[tuple[Path, Continuity]],
    seen: Sequence[Witnessed],
) -> list[Complete]:
    """Return what shows that nothing is missing, what is hardest to forge first.

    Nothing is shown of a journal in which something is wrong. ``signed_to`` is 0 where no number
    was kept elsewhere.
    """
    if not found.ok or any(each.first_other is not None for each in seen):
        return []
    claims = [Complete(each.upto, "witness", each.witness) for each in seen if each.upto]
    claims += [Complete(same.upto, "against", f"{path}") for path, same in continues]
    if signed_to:
        claims.append(Complete(signed_to, "signed_to"))
    if found.signed.number is not None:
        claims.append(Complete(found.signed.upto, "checkpoint", f"{found.signed.number}"))
    if found.head_file == "agrees":
        claims.append(Complete(found.last_n, "head_file"))
    return claims
