"""Lost events that the sinks of a configuration still hold: kept up to a limit, over all files.

In: files of sinks. Out: their lines, or how many there are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from shoe_ctl.config.schema import load
from shoe_ctl.daemon import event_copies
from shoe_ctl.daemon.event_copies import find_copies
from shoe_ctl.journal.loss import MissingEvents
from shoe_testing.config import write_config


def lines(stream: str, many: int) -> bytes:
    events = [{"id": f"bac-07/{stream}{n}", "source": "s"} for n in range(1, many + 1)]
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_what_all_files_hold_is_kept_up_to_a_limit_and_then_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load(write_config(tmp_path, str(tmp_path / "shoe")))
    (tmp_path / "public.jsonl").write_bytes(lines("p", 10))
    (tmp_path / "public.jsonl.1").write_bytes(lines("p", 100))
    (tmp_path / "restricted.jsonl").write_bytes(lines("r", 10))
    monkeypatch.setattr(event_copies, "MOST_KEPT_BYTES", len(lines("p", 25)))
    lost = cast(MissingEvents, lambda _id, _source: True)
    found = {each.file: each for each in find_copies(config, lost)}
    assert {name: (len(each.lines), each.not_kept) for name, each in found.items()} == {
        "public.jsonl": (10, 0), "public.jsonl.1": (0, 100), "restricted.jsonl": (10, 0),
    }  # fmt: skip
    assert found["public.jsonl.1"].trouble == "100 lost events are too many to be kept"
