"""What people typed and damaged files hold cannot write on the terminal of who reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.cli.main import shoectl
from shoe_ctl.terminal_text import cell_width, printable, wrap
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    alter_record,
    dealt_journal,
    records,
)


@given(st.text())
def test_every_character_is_one_that_is_printed(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(categories=["L", "N", "P"])))
def test_text_is_left_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(st.text(), st.integers(4, 40))
def test_it_is_cut_where_there_is_no_more_room(text: str, most: int) -> None:
    shown = printable(text, most=most)
    assert len(shown) <= most
    assert shown == printable(text) or shown.endswith("...")


def test_an_account_spells_out_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    dealt_journal(path, "reference", 2)
    (opened, *_) = (r for r in records(path) if b'"type":"round.card_drawn"' in r.body)
    body = opened.body.replace(b'"hand":"player"', b'"hand":"\\u001b[31mred\\u202e"')
    assert body != opened.body
    alter_record(path, opened.n, body)
    shown = invoke(shoectl, "replay", str(path), "--last", "2").output
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "\\x1b[31mred\\u202e" in shown.lower()


def test_differences_spell_out_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    dealt_journal(path, "reference", 2)
    (outcome, *_) = (r for r in records(path) if b'"type":"round.outcome"' in r.body)
    body = outcome.body.replace(b'"winner":"', b'"winner":"\\u202e')
    alter_record(path, outcome.n, body)
    shown = invoke(shoectl, "replay", str(path)).output
    assert "\u202e" not in shown
    assert "\\u202e" in shown


# Chinese: broken between characters, never before a stop.

SAID = "restrict_wagers（限制投注数，监场经理）、expose（开牌，荷官）、pause（暂停复核，监场主任）"


@pytest.mark.parametrize("width", range(24, 81))
def test_chinese_fills_lines_that_begin_with_no_stop_and_break_no_word(width: int) -> None:
    lines = wrap(SAID, width, first="可用命令    ", rest=" " * 12)
    assert all(cell_width(line) <= width for line in lines)
    assert "".join(line[8 if n == 0 else 12 :] for n, line in enumerate(lines)) == SAID
    for line in lines:
        assert line.strip()[0] not in "，、。；：）" and line[-1] != "（"
    if width >= 40:
        assert all(any(word in line for line in lines) for word in ("restrict_wagers", "expose"))


def test_a_word_that_is_too_long_for_a_line_is_broken_within() -> None:
    assert wrap("牌 " + "x" * 12, 10) == ["牌", "x" * 10, "xx"]
