"""The leak checks of conftest.py can fail: each kind of leak fails the very test that leaked.

In: a file of tests that leak, run in one process and in a worker. Out: what pytest says of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoe_testing.pytest_runs import pytest_says

pytestmark = pytest.mark.slow

LEAKY = """
import asyncio, os, subprocess, sys, threading
import pytest
from hypothesis import given, strategies as st

kept = []
stop = threading.Event()

async def test_task():
    kept.append(asyncio.create_task(asyncio.sleep(60), name="forgotten"))

def test_thread():
    kept.append(threading.Thread(target=stop.wait, name="forgotten", daemon=True))
    kept[-1].start()

def test_descriptor():
    kept.append(os.pipe())

async def test_descriptor_in_a_loop():
    kept.append(os.pipe())

def test_child():
    kept.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

@pytest.fixture
async def ends():
    task = asyncio.create_task(asyncio.sleep(60))
    yield
    task.cancel()

async def test_clean(ends):
    await asyncio.to_thread(os.getpid)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()

@given(st.integers())
def test_clean_property(number):
    assert isinstance(number, int)

def test_clean_run():
    asyncio.run(asyncio.sleep(0))
"""


SEEDED = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_seed(seed, number):
    assert seed is None
"""


@pytest.fixture(scope="module", params=["0", "1"], ids=["in one process", "in a worker"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of the leaky file."""
    return pytest_says(tmp_path_factory.mktemp("leaky"), LEAKY, "-n", request.param, seed="77")


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("test_task", "leaked asyncio tasks: forgotten"),
        ("test_thread", "leaked threads: forgotten"),
        ("test_descriptor", "leaked descriptors: .*pipe"),
        ("test_descriptor_in_a_loop", "leaked descriptors: .*pipe"),
        ("test_child", r"leaked children: \d+ python"),
    ],
)
def test_a_leak_fails_the_test_that_leaked(report: str, test: str, says: str) -> None:
    assert re.search(rf"^ERROR test_leaky.py::{test} - Failed: {says}", report, re.MULTILINE)


@pytest.mark.parametrize("test", ["test_clean", "test_clean_property", "test_clean_run"])
def test_a_clean_test_passes(report: str, test: str) -> None:
    assert re.search(rf"^PASSED test_leaky.py::{test}$", report, re.MULTILINE)
    assert not re.search(rf"^ERROR test_leaky.py::{test} ", report, re.MULTILINE)


def test_a_failure_names_its_seeds(report: str) -> None:
    assert "run again with SHOE_CTL_SEED=77 and --hypothesis-seed=77" in report


@pytest.mark.exhaustive(cpu_s=2)
def test_workers_share_a_seed_that_is_drawn_afresh(tmp_path: Path) -> None:
    said = pytest_says(tmp_path, SEEDED, "-n", "2", "--dist", "each", seed="random")
    assert said.count("test_seed[3]") >= 2  # each of the two workers ran it
    found = re.findall(r"run again with SHOE_CTL_SEED=(\d+) and --hypothesis-seed=(\d+)", said)
    assert len(found) == 8
    assert len({number for pair in found for number in pair}) == 1


def test_a_worker_that_dies_fails_the_run_and_names_its_test(tmp_path: Path) -> None:
    dies = "import os\n\ndef test_dies():\n    os._exit(0)\n"
    said = pytest_says(tmp_path, dies, "-n", "1", "--max-worker-restart", "0", seed="1")
    says = r"^FAILED test_leaky.py::test_dies - worker 'gw\d' crashed while running"
    assert re.search(says, said, re.MULTILINE)
    assert said.splitlines()[-1].startswith("1 failed in ")
