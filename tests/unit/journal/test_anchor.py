"""Where a journal begins, while a daemon takes old records out of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shoe_ctl.journal import anchor
from shoe_ctl.journal.anchor import FIRST_RECORD, Anchor, WrongAnchor
from shoe_ctl.journal.chain import Fault


def lasting(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> Any:
    """A reader whose last checkpoint has these numbers in turn; that of record 5 is wrong."""
    found = iter([SimpleNamespace(n=n) for n in numbers])

    def named_by(_: Any, last: Any) -> Anchor:
        if last.n == 5:
            raise WrongAnchor(5, Fault.MISSING, "the checkpoint with which the journal begins")
        return FIRST_RECORD

    monkeypatch.setattr(anchor, "_last_checkpoint", lambda _: next(found))
    monkeypatch.setattr(anchor, "_named_by", named_by)
    return SimpleNamespace(is_export=False)


def test_records_taken_out_between_two_reads_are_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    assert anchor.find_anchor(lasting(monkeypatch, 5, 9)) is FIRST_RECORD


def test_a_beginning_that_stays_wrong_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongAnchor, match="record 5"):
        anchor.find_anchor(lasting(monkeypatch, 5, 5))
