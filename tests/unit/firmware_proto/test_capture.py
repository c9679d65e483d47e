"""The lines of a capture: what is written is read back, and what is none says where it is wrong."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.capture import (
    HOST,
    SHOE,
    Chunk,
    Entry,
    Header,
    Lost,
    Opened,
    header_line,
    is_capture,
    line,
    read_entry,
    read_header,
)

times = st.integers(0, 10**15)
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Chunk, times, st.sampled_from([SHOE, HOST]), st.binary(max_size=60)),
    st.builds(Opened, times),
    st.builds(Lost, times, st.text()),
)


@given(entries)
def test_an_entry_is_one_line_and_reads_back_as_itself(entry: Entry) -> None:
    text = line(entry)
    assert "\n" not in text and text.isascii()
    assert read_entry(text) == entry


@given(st.text(), st.text(), st.text())
def test_a_header_reads_back_as_itself_and_tells_a_capture(
    profile: str, port: str, started: str
) -> None:
    header = Header(profile=profile, port=port, started=started)
    assert read_header(header_line(header)) == header
    assert is_capture(header_line(header).encode())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a JSON object"),
        ("[]", "expected a JSON object"),
        ("[" * 5000, "expected a JSON object"),
        ("{}", "t_us: expected microseconds, 0 or more, got None"),
        ('{"t_us": -1}', "t_us: expected microseconds, 0 or more, got -1"),
        ('{"t_us": true}', "t_us: expected microseconds, 0 or more, got True"),
        ('{"t_us": 1}', "from: expected a text, got None"),
        ('{"t_us": 1, "from": "dealer", "hex": ""}', "from: expected shoe or host, got 'dealer'"),
        ('{"t_us": 1, "from": "shoe"}', "hex: expected a text, got None"),
        ('{"t_us": 1, "from": "shoe", "hex": "0g"}', "hex: non-hexadecimal"),
        ('{"t_us": 1, "port": "lost"}', "why: expected a text, got None"),
    ],
)
def test_a_line_that_is_none_says_what_was_expected(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        read_entry(text)


@given(st.text() | st.dictionaries(st.text(), st.none() | st.integers()).map(str))
def test_no_text_raises_anything_else(text: str) -> None:
    for read in (read_entry, read_header):
        with contextlib.suppress(ValueError):
            read(text)


def test_a_header_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="a capture of version 1, got 2"):
        read_header('{"capture": 2}')
