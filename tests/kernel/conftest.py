"""A guest with a real kernel for the tests of this folder: started once, killed at the end.

Where a program or the kernel is missing the tests are skipped, and under ``CI`` they fail.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from itertools import chain
from typing import Any, NoReturn

import pytest

from shoe_testing.guest.kernel import NoKernel, current_kernel
from shoe_testing.guest.machine import Guest, Machine, booted, calls_to, missing_programs

LONGEST = "test_plug_cycles.py"

_guests_key = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, each with another behind it.

    Workers are given two tests first, and then one after the other: so no guest has both of the
    longest, and all end at about the same time.
    """
    longest = [item for item in items if item.path.name == LONGEST]
    others = [item for item in items if item.path.name != LONGEST]
    items[:] = [
        *chain(*zip(longest, others, strict=False)),
        *longest[len(others) :],
        *others[len(longest) :],
    ]


@pytest.fixture(scope="session")
def programs() -> None:
    """The programs that a guest needs are there."""
    missing = missing_programs()
    if missing:
        _cannot(f"no guest: run sudo apt-get install {' '.join(missing)}")


@pytest.fixture(scope="session")
def machine(request: pytest.FixtureRequest, programs: None) -> Iterator[Machine]:
    try:
        kernel = current_kernel()
    except NoKernel as error:
        _cannot(f"no guest: {error}")
    with booted(kernel) as machine:
        yield machine
        _report(request.config, f"guest: {machine.costs()}")


def _report(config: pytest.Config, line: str) -> None:
    """Show a line at the end of the run, also from one of its workers (pytest-xdist)."""
    own: list[str] = config.stash.setdefault(_guests_key, [])
    getattr(config, "workeroutput", {}).setdefault("guests", own)
    own.append(line)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker has to show."""
    for line in getattr(node, "workeroutput", {}).get("guests", ()):
        _report(node.config, line)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show what the guests cost."""
    for line in config.stash.get(_guests_key, []):
        terminalreporter.write_line(line)


def _cannot(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture
async def guest(machine: Machine) -> AsyncIterator[Guest]:
    async with calls_to(machine) as guest:
        yield guest
