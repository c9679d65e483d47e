"""The generated reference pages are what the code gives."""

from __future__ import annotations

import msgspec
import pytest

from shoe_ctl.cli.main import COMMANDS
from shoe_ctl.errors import EXIT_CODES, ShoeCtlError
from shoe_ctl.texts.english import TEXTS
from simulators.control.changes import CHANGES
from tools import reference_pages


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_a_committed_page_is_the_generated_one(name: str) -> None:
    committed = (reference_pages.FOLDER / name).read_text("utf-8")
    assert committed == reference_pages.PAGES[name](), "run: make docs"


def test_every_command_of_both_programs_has_a_section() -> None:
    page = reference_pages.cli()
    of_shoes = ("serve", "play", "floor", "ctl", *(f"ctl {change}" for change in CHANGES))
    for name in (
        *(f"shoectl {each}" for each in COMMANDS),
        *(f"shoe-sim {each}" for each in of_shoes),
    ):
        assert f"\n## `{name}`\n" in page


def test_every_exit_code_of_an_error_has_a_meaning() -> None:
    found = [ShoeCtlError]
    for each in found:
        found += each.__subclasses__()
    assert {each.exit_code for each in found} <= EXIT_CODES.keys()


def test_every_code_that_refuses_a_request_is_on_the_page_of_the_socket() -> None:
    page = (reference_pages.FOLDER / "socket.md").read_text("utf-8")
    codes = [code for code in TEXTS if code.startswith(("events_", "request_", "sink_"))]
    assert len(codes) > 20
    assert [code for code in codes if f"`{code}`" not in page] == []


def test_a_key_without_a_docstring_is_noticed() -> None:
    class Described(msgspec.Struct):
        named: int
        """What it is."""
        nameless: int

    with pytest.raises(KeyError, match="nameless"):
        reference_pages.descriptions(Described)
