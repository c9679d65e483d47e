"""What people typed and damaged files hold cannot write on the terminal of who reads it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.cli.main import shoectl
from shoe_ctl.terminal_text import printable
from shoe_testing.cli import invoke
from shoe_testing.journals import dealt_journal, records, spoil


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
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (body, opened.n)))
    shown = invoke(shoectl, "replay", str(path), "--last", "2").output
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "\\x1b[31mred\\u202e" in shown.lower()


def test_differences_spell_out_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    dealt_journal(path, "reference", 2)
    (outcome, *_) = (r for r in records(path) if b'"type":"round.outcome"' in r.body)
    body = outcome.body.replace(b'"winner":"', b'"winner":"\\u202e')
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (body, outcome.n)))
    shown = invoke(shoectl, "replay", str(path)).output
    assert "\u202e" not in shown
    assert "\\u202e" in shown
