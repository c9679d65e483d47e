"""Each capture in this folder still says what it said when it was put there, however it is split.

In: NAME.capture and NAME.events, made by ``shoectl decode NAME.capture --fixture tests/captures``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.capture import SHOE, Chunk, Entry, header_line, line
from shoe_ctl.cli.capture_files import CAPTURE, EVENTS, Captured
from shoe_ctl.cli.decode import events_of_capture
from shoe_testing.examples import examples

CAPTURES = sorted(Path(__file__).parent.glob(f"*{CAPTURE}"))
EACH = pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)


def events(body: bytes) -> list[str]:
    return list(events_of_capture(Captured([body], "fixture")))


def test_every_capture_has_its_events_beside_it_and_there_are_some() -> None:
    assert CAPTURES
    assert {p.stem for p in CAPTURES} == {p.stem for p in Path(__file__).parent.glob(f"*{EVENTS}")}


@EACH
def test_a_capture_holds_the_events_that_it_held(path: Path) -> None:
    assert events(path.read_bytes()) == path.with_suffix(EVENTS).read_text("utf-8").splitlines()


@EACH
@examples(20)
@given(data=st.data())
def test_however_its_bytes_were_read_they_hold_the_same_events(
    path: Path, data: st.DataObject
) -> None:
    captured = Captured([path.read_bytes()], "fixture")
    split: list[Entry] = []
    for entry in captured.entries():
        if isinstance(entry, Chunk) and entry.sender == SHOE and len(entry.data) > 1:
            at = data.draw(st.integers(1, len(entry.data) - 1))
            split += [Chunk(entry.t_us, SHOE, part) for part in (entry.data[:at], entry.data[at:])]
        else:
            split.append(entry)
    lines = [header_line(captured.header), *map(line, split)]
    body = "".join(f"{text}\n" for text in lines).encode()
    assert events(body) == events(path.read_bytes())
