"""The page on a simulated shoe names all that its socket answers: keys, kinds of errors, limits."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.profiles import PROFILES
from shoe_testing.paths import ROOT
from shoe_testing.served_shoe import served_shoe
from simulators.control import server

TEXT = (ROOT / "docs" / "guides" / "simulated-shoe.md").read_text("utf-8")
PAGE = TEXT.partition("### The protocol of the socket")[2].partition("\n## ")[0]
ANSWER, SHOE, KINDS = re.findall(r"\n\| .*\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)


def keys(table: str) -> set[str]:
    """The names in the first column."""
    return {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }


async def ask(path: Path, *asked: bytes) -> list[dict[str, Any]]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(b"".join(line + b"\n" for line in asked))
        return [json.loads(await reader.readline()) for _ in asked]
    finally:
        writer.close()


@pytest.mark.parametrize("profile", PROFILES)
async def test_the_page_names_every_key_of_an_answer(profile: str, tmp_path: Path) -> None:
    (request,) = re.findall(r'`(\{"do": .*?\})`', PAGE)
    async with served_shoe(tmp_path, profile):
        (answer,) = await ask(tmp_path / "shoe.ctl", request.encode())
    assert answer.keys() == keys(ANSWER)
    assert answer["did"] == "fault"
    only_of_reference = set() if profile == "reference" else {"unacknowledged"}
    assert answer["shoe"].keys() == keys(SHOE) - {"misread", "unsure"} - only_of_reference


async def test_the_page_names_every_kind_of_error(tmp_path: Path) -> None:
    async with served_shoe(tmp_path):
        answers = await ask(
            tmp_path / "shoe.ctl",
            b"nothing",
            b'{"do": "mend"}',
            b'{"do": "warning"}',
            b'{"do": "wait", "until": "host", "within_s": 0}',
        )
    kinds = [answer["kind"] for answer in answers]
    assert kinds == ["usage", "refused", "cannot_report", "not_in_time"]
    assert keys(KINDS) == {*kinds, server.ENVIRONMENT}


def test_the_page_names_the_limits() -> None:
    assert f"{server.LONGEST_LINE:,} bytes" in PAGE
    assert f"takes {server.MOST_CONNECTIONS} connections" in PAGE
