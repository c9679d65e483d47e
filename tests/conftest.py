"""What every test runs under: what it leaks fails it, and what was random can be run again.

In: nothing. Out: the leak checks (tasks, threads, descriptors, children) and the seeds.
Must not know: what is being tested.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pytest_asyncio import is_async_test

SEED_VARIABLE = "SHOE_CTL_SEED"
"""A number, or ``random`` to draw a fresh one. Without it every run is the same run."""

FIXED_SEED = 1

GRACE_S = 5.0
"""How long what is already ending (a joined pool's thread, a signalled child) may take to end."""

LIMIT_S = 300.0
"""After so long a test fails; on a shared machine an exhaustive one may take longer."""

LIMIT_A_CPU_S = 15.0
"""So much longer for each CPU second that its mark names."""

MOST_WORKERS = 8
"""Each reads all the tests first: on a few shares of a machine of many cores that is the most."""

HARMLESS = ("/dev/urandom", "/dev/random")
"""Descriptors that the interpreter itself keeps once it has opened them."""

# Shared machines stall for seconds: a slow example says nothing about the code. No example
# database: with a fixed seed each failure is found again, and no test depends on an earlier run.
# `make test-all` tries all examples of a property, other runs fewer: see `shoe_testing.examples`.
for _name, _examples in (("thorough", 100), ("shoe-ctl", 40)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("shoe-ctl")

os.environ["LC_ALL"] = "C.UTF-8"
"""Tests expect English, whatever the terminal of who runs them is set to; children inherit it."""

_seed_key = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """A share of the exhaustive tests, chosen by a seed: what a run has time for."""
    group = parser.getgroup("exhaustive tests")
    group.addoption(
        "--exhaustive-s",
        type=float,
        metavar="SECONDS",
        help="of the exhaustive tests run as many as take about so many CPU seconds in all",
    )
    group.addoption(
        "--exhaustive-seed",
        default="1",
        metavar="SEED",
        help="choose them by this seed: a number, a date, any word (default: 1)",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the exhaustive tests that the seed did not choose, where time is limited.

    Tests that are to take long may take as long as they need.
    """
    for item in items:
        if item.get_closest_marker("soak") or item.get_closest_marker("deb"):
            item.add_marker(pytest.mark.timeout(0))
        elif item.get_closest_marker("exhaustive"):
            item.add_marker(pytest.mark.timeout(LIMIT_S + LIMIT_A_CPU_S * _cpu_s(item)))
    cpu_s = config.getoption("--exhaustive-s")
    if cpu_s is None:
        return
    chosen = _chosen(items, cpu_s, config.getoption("--exhaustive-seed"))
    left_out = [i for i in items if i.get_closest_marker("exhaustive") and i.nodeid not in chosen]
    items[:] = [i for i in items if not i.get_closest_marker("exhaustive") or i.nodeid in chosen]
    config.hook.pytest_deselected(items=left_out)


def _chosen(items: list[pytest.Item], cpu_s: float, seed: str) -> set[str]:
    """The ids of exhaustive tests, in the seed's order, as long as their costs fit in the time.

    Nothing but the ids, their marks and the two options has a part in it: any machine and each
    worker chooses the same.
    """
    costs = {item.nodeid: _cpu_s(item) for item in items if item.get_closest_marker("exhaustive")}
    ids = sorted(costs)
    random.Random(seed).shuffle(ids)
    chosen: set[str] = set()
    for each in ids:
        if costs[each] <= cpu_s:
            cpu_s -= costs[each]
            chosen.add(each)
    return chosen


def _cpu_s(item: pytest.Item) -> float:
    """CPU seconds that an exhaustive test takes, by its mark."""
    mark = item.get_closest_marker("exhaustive")
    return 0.0 if mark is None else float(mark.kwargs.get("cpu_s", 1.0))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One number seeds both ``random`` and hypothesis, unless hypothesis was given its own."""
    seed = _given_to_this_worker(config)
    if seed is None:
        wanted = os.environ.get(SEED_VARIABLE, str(FIXED_SEED))
        seed = random.SystemRandom().getrandbits(32) if wanted == "random" else int(wanted)
    config.stash[_seed_key] = seed
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # or no child could be interrupted
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(seed)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return two workers more than there are cores, within bounds: one that waits idles a core."""
    return min(len(os.sched_getaffinity(0)) + 2, MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """The workers of one run (pytest-xdist) share its seed, a fresh one too."""
    node.workerinput[SEED_VARIABLE] = node.config.stash[_seed_key]


def _given_to_this_worker(config: pytest.Config) -> int | None:
    """The run's seed, where this process is one of its workers."""
    given: dict[str, int] = getattr(config, "workerinput", {})
    return given.get(SEED_VARIABLE)


def pytest_report_header(config: pytest.Config) -> str:
    """Names the seed in the first lines."""
    return f"seed: {config.stash[_seed_key]} (hypothesis: {config.option.hypothesis_seed})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure says how to run it again."""
    report = yield
    if report.failed:
        config = item.config
        report.sections.append(
            (
                "seed",
                f"run again with {SEED_VARIABLE}={config.stash[_seed_key]} and "
                f"--hypothesis-seed={config.option.hypothesis_seed}",
            )
        )
    return report


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The run's seed, for tests that seed something of their own."""
    return request.config.stash[_seed_key]


@pytest.fixture(scope="session")
def commands() -> Iterator[object]:
    """What ``run_command`` of ``shoe_testing`` needs: one process that has loaded all commands."""
    from shoe_testing.command_server import shared_server

    with shared_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> None:
    """Each test starts ``random`` afresh: its numbers do not depend on the tests before it."""
    random.seed(f"{request.config.stash[_seed_key]} {request.node.nodeid}")


@pytest.fixture
async def _no_leaked_task() -> AsyncIterator[None]:
    """Fails the test whose asyncio tasks outlive it; its own fixtures have ended by then."""
    before = asyncio.all_tasks()
    yield
    own = asyncio.current_task()
    leaked = [t for t in asyncio.all_tasks() - before if t is not own and not t.done()]
    names = sorted(f"{t.get_name()}: {t.get_coro()}" for t in leaked)
    for task in leaked:
        task.cancel()
    if leaked:
        await asyncio.wait(leaked, timeout=GRACE_S)
        pytest.fail(f"leaked asyncio tasks: {'; '.join(names)}")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """Fails the test whose threads, descriptors or children outlive it."""
    threads = set(threading.enumerate())
    children = set(_children())
    descriptors = _descriptors()
    yield
    problems = [
        _leaked("threads", lambda: _new_threads(threads)),
        _leaked("children", lambda: [p for p in _children() if p not in children]),
        _leaked("descriptors", lambda: _new_descriptors(descriptors)),
    ]
    if found := [p for p in problems if p]:
        pytest.fail("; ".join(found))


@pytest.fixture(autouse=True)
def _no_leak_in_the_loop(request: pytest.FixtureRequest, _no_leak: None) -> None:
    """Starts the loop of an asynchronous test here: after the outer look, before all else."""
    if is_async_test(request.node):
        request.getfixturevalue("_no_leaked_task")


def _leaked(what: str, look: Callable[[], list[str]]) -> str:
    """What is still there once what was ending has had time to end; empty when nothing is."""
    deadline = time.monotonic() + GRACE_S
    if not look():
        return ""
    gc.collect()  # cycles keep a descriptor a while: only what is unclosed for good is a leak
    while (left := look()) and time.monotonic() < deadline and what != "descriptors":
        time.sleep(0.01)
    return f"leaked {what}: {', '.join(left)}" if left else ""


def _new_threads(before: set[threading.Thread]) -> list[str]:
    return [t.name for t in threading.enumerate() if t not in before and t.is_alive()]


def _children() -> list[str]:
    """Processes whose parent we are, zombies too: one not waited for is a leak as well."""
    if not _has_children():
        return []
    found: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        try:
            pids = (task / "children").read_text().split()
        except OSError:  # the thread ended while we looked, or a kernel without this file
            continue
        found += [f"{pid} {_command(pid)}" for pid in pids]
    return sorted(found)


def _has_children() -> bool:
    """One system call, so that most tests never search ``/proc``."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _command(pid: str) -> str:
    try:
        return Path("/proc", pid, "comm").read_text().strip()
    except OSError:
        return "(ended)"


def _descriptors() -> dict[int, tuple[int, int]]:
    """Open descriptors by number, with the device and inode of what each leads to."""
    found: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - called twice a test
        try:
            status = os.fstat(int(name))
        except OSError:  # the descriptor of this very listing
            continue
        found[int(name)] = (status.st_dev, status.st_ino)
    return found


def _new_descriptors(before: dict[int, tuple[int, int]]) -> list[str]:
    """Those that are new or lead elsewhere than before, with what each leads to."""
    found: list[str] = []
    for fd, leads_to in _descriptors().items():
        if before.get(fd) == leads_to:
            continue
        with contextlib.suppress(OSError):  # a thread closed it while we looked
            target = str(Path(f"/proc/self/fd/{fd}").readlink())
            if target not in HARMLESS:
                found.append(f"{fd} -> {target}")
    return found


@pytest.fixture
def known_salts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same records give the same groups, as for a forger, who keeps salts that there are."""
    monkeypatch.setattr("shoe_ctl.journal.group.new_salt", lambda: bytes(16))
