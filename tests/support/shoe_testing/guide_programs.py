"""The guide's programs at a real transport: started, read, and stopped when they have shown enough.

In: words, a way to make events come. Out: the lines that it printed.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from shoe_testing.paths import ROOT
from shoe_testing.typescript import built_package, program

LANGUAGES = ("python", "typescript")

SHOWN = (
    "t1-s1-r1 outcome player",
    "t1-s1-r2 outcome player",
    "t1-s1-r2 outcome tie",
    "t1-s1-r3 void",
    "t1-s1-r4 outcome",
    "t1-s1-r4 void",
    "t1-s1-r5 outcome player",
    "t1-s1-r6 outcome player",
)
"""How each line begins that a program prints of the recording that is shipped."""


def guide_program(language: str, name: str) -> list[str]:
    """The words that start an example in this language."""
    if language == "python":
        return [sys.executable, str(ROOT / f"clients/python/examples/{name}.py")]
    return [program("node"), str(built_package() / f"examples/{name}.js")]


async def nothing() -> None:
    """All events are there already."""


async def lines_of(
    words: list[str], folder: Path, count: int, events: Callable[[], Awaitable[None]] = nothing
) -> list[str]:
    """The first lines that a program prints. ``events`` is called until there are so many."""
    path = os.environ | {"PYTHONPATH": str(ROOT / "clients/python")}
    child = await asyncio.create_subprocess_exec(
        *words, cwd=folder, env=path, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    reading = asyncio.create_task(_read(child.stdout, count))
    try:
        while not reading.done():  # it may have connected in the middle
            await events()
            await asyncio.wait({reading}, timeout=0.5)
    finally:
        child.kill()
        await child.wait()
        lines = await reading
    return lines


async def _read(stream: asyncio.StreamReader, count: int) -> list[str]:
    lines: list[str] = []
    while len(lines) < count and (line := await stream.readline()):
        lines.append(line.decode().strip())
    return lines


def are_as_shown(lines: list[str]) -> bool:
    """The lines are those of the recording that is shipped."""
    pairs = zip(lines, SHOWN, strict=True)
    return len(lines) == len(SHOWN) and all(line.startswith(start) for line, start in pairs)
