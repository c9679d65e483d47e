"""A plugin of pytest that writes down the processor time of each test, its children's included.

``tools/test_times.py`` gives it to the pytest of any checkout: it uses nothing of the project.
In: the folder that ``CPU_TIMES_FOLDER`` names. Out: a JSON file for each process that ran tests.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Generator
from pathlib import Path

import pytest

VARIABLE = "CPU_TIMES_FOLDER"

OURS = (VARIABLE, "PYTEST_ADDOPTS", "PYTHONPATH")
"""With what this plugin was loaded: what a test starts is not to load it."""


def _cpu_s() -> float:
    """Processor seconds of this process and of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


class CpuTimes:
    """Measures the tests of this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._collection_s = 0.0
        self._tests: dict[str, tuple[float, float]] = {}

    def pytest_collection_finish(self) -> None:
        """Note what everything up to here took: the interpreter, the imports, the collection."""
        self._collection_s = _cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test with its fixtures. One that is made once is counted where it is made."""
        cpu_s, wall_s = _cpu_s(), time.monotonic()
        result = yield
        self._tests[item.nodeid] = (_cpu_s() - cpu_s, time.monotonic() - wall_s)
        return result

    def pytest_unconfigure(self) -> None:
        """Write the file."""
        content = json.dumps({"collection_s": self._collection_s, "tests": self._tests})
        (self._folder / f"{os.getpid()}.json").write_text(content)


def pytest_configure(config: pytest.Config) -> None:
    """Measure where tests run: in each worker, or here if there is none."""
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        folder = os.environ[VARIABLE]
        for name in OURS:
            os.environ.pop(name, None)
        config.pluginmanager.register(CpuTimes(Path(folder)))
