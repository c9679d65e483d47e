"""Which tests reach which lines of the product: recorded once, and asked for each planted fault.

``-p tools.reach`` makes this a plugin of pytest. With ``MUTANTS_RECORD`` it records, for each test,
the lines that are run in the traced files and the marks that its probes leave, in the processes
that the test starts too. With ``MUTANTS_CHOICE`` it runs the chosen tests alone, in their order.

A mark stands for what no line shows: the cell of a table that was taken, the questions that were
asked of a message, the irregularity that was raised, the game that was played.
Must not know: faults, parts.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import mmap
import os
import resource
import sys
import threading
import time
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

RECORD = "MUTANTS_RECORD"
"""Names the file that says what is traced, and the folder that is written to."""

CHOICE = "MUTANTS_CHOICE"
"""Names the file that says which tests are run."""

_HITS = "MUTANTS_HITS"
"""Names the file of one worker in which its own children note what they reach."""

SITE = """\
import os
if "MUTANTS_HITS" in os.environ:
    from tools.reach import follow
    follow()
"""
"""What a Python that a test starts runs first, as its module ``sitecustomize``."""

MARKS = 1 << 14
"""Places of marks, before those of lines; two marks may share one."""

MOST_MEMORY = 3 << 30
"""Bytes that a process of a planted fault may hold: an endless loop must not starve a machine."""

NEVER_BORN = 77
"""Exit code where the product cannot be imported with the fault in it."""


@dataclasses.dataclass(frozen=True)
class Traced:
    """The files that are traced: the place of each one's first line, and the number of places."""

    first: Mapping[str, int]
    size: int

    @classmethod
    def of(cls, root: Path, files: Sequence[str]) -> Traced:
        """Return the places of these files, as long as they are now."""
        first, size = {}, MARKS
        for file in files:
            first[file] = size
            size += (root / file).read_bytes().count(b"\n") + 2
        return cls(first, size)


def mark(name: str) -> int:
    """Return the place of this mark."""
    return zlib.crc32(name.encode()) % MARKS


# Recording

_Local = Callable[[FrameType, str, Any], Any]


def _cell(frame: FrameType) -> list[str]:
    turn, trigger = frame.f_locals["turn"], frame.f_locals["self"]
    left = "" if turn.now.halt is None else turn.now.halt.resume_state
    return [f"cell {trigger.name} {turn.state} {left}", f"cell {trigger.name}"]


def _question(frame: FrameType) -> list[str]:
    return [f"question {frame.f_locals['trigger']}"]


def _procedure(frame: FrameType) -> list[str]:
    return [f"procedure {frame.f_locals['key']}"]


def _command(frame: FrameType) -> list[str]:
    command, turn = frame.f_locals["command"], frame.f_locals["turn"]
    return [f"command {command.command}", f"game {turn.game.id}"]


def _game(frame: FrameType) -> list[str]:
    return [f"game {getattr(frame.f_locals['self'], 'id', '')}"]


_PROBES: dict[tuple[str, str], Callable[[FrameType], list[str]]] = {
    ("shoe_ctl/table/controller.py", "Trigger.take"): _cell,
    ("shoe_ctl/table/cases.py", "find_case"): _question,
    ("shoe_ctl/table/procedures/procedure.py", "find_procedure"): _procedure,
    ("shoe_ctl/table/controller.py", "TableController._handle_command"): _command,
    ("shoe_ctl/games/game.py", "Game.settle"): _game,
    ("shoe_ctl/games/game.py", "Game.settle_hands"): _game,
    ("shoe_ctl/games/game.py", "Game.rule"): _game,
    ("shoe_ctl/games/game.py", "Game.clause"): _game,
    ("shoe_ctl/games/game.py", "Game.offered"): _game,
}
"""File and function → the marks that a call of it leaves."""

PROBED = sorted({file for file, _ in _PROBES})
"""Files that are traced for their marks."""


class _Tracer:
    """Notes each line that is run in a traced file, and the marks of probed calls."""

    def __init__(self, root: str, traced: Traced, hits: mmap.mmap) -> None:
        self._root, self._first, self._hits = root + "/", traced.first, hits
        self._known: dict[Any, _Local | None] = {}
        self._by_file: dict[str, _Local] = {}

    def start(self) -> None:
        threading.settrace(self.call)
        sys.settrace(self.call)

    def call(self, frame: FrameType, _event: str, _arg: object) -> _Local | None:
        code = frame.f_code
        try:
            local = self._known[code]
        except KeyError:
            local = self._known[code] = self._follow(frame)
        if local is not None:
            local(frame, "call", None)
        return local

    def _follow(self, frame: FrameType) -> _Local | None:
        code = frame.f_code
        file = code.co_filename.removeprefix(self._root)
        if file not in self._first:
            return None
        local = self._by_file.setdefault(file, self._noting(self._first[file]))
        probe = _PROBES.get((file, code.co_qualname))
        return local if probe is None else self._probing(local, probe)

    def _noting(self, first: int) -> _Local:
        hits = self._hits

        def note(frame: FrameType, _event: str, _arg: object) -> _Local:
            hits[first + frame.f_lineno] = 1
            return note

        return note

    def _probing(self, local: _Local, probe: Callable[[FrameType], list[str]]) -> _Local:
        hits = self._hits

        def note(frame: FrameType, event: str, arg: object) -> _Local:
            if event == "call":
                for name in probe(frame):
                    hits[mark(name)] = 1
            local(frame, event, arg)
            return local

        return note


def _open_hits(path: Path, size: int) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), size)


def follow() -> None:
    """Trace this process, if a test that is recorded started it."""
    if _HITS in os.environ:
        plan = json.loads(Path(os.environ[RECORD]).read_text("utf-8"))
        traced = Traced(plan["first"], plan["size"])
        _Tracer(plan["root"], traced, _open_hits(Path(os.environ[_HITS]), traced.size)).start()


class Recorder:
    """Writes what each test reaches: a line of JSON a test, with its hits packed.

    What a fixture of many tests reaches counts for each test that asks for it.
    """

    def __init__(self, plan: Mapping[str, Any], name: str) -> None:
        folder = Path(plan["folder"])
        self._traced = Traced(plan["first"], plan["size"])
        path = folder / f"{name}.hits"
        path.write_bytes(bytes(self._traced.size))
        self._hits = _open_hits(path, self._traced.size)
        os.environ[_HITS] = str(path)
        self._out = (folder / f"{name}.jsonl").open("a", encoding="utf-8")
        self._shared: dict[Any, int] = {}
        self._failed = False
        _Tracer(plan["root"], self._traced, self._hits).start()

    def _take(self) -> int:
        """Return what was reached since the last call, a byte for each place, as one number."""
        found = int.from_bytes(self._hits[:], "little")
        self._hits[:] = bytes(self._traced.size)
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Keeps apart what a fixture of many tests reaches."""
        if fixturedef.scope == "function":
            return (yield)
        before = self._take()
        try:
            return (yield)
        finally:
            reached = self._take()
            self._shared[fixturedef] = self._shared.get(fixturedef, 0) | reached
            whole = before | reached
            self._hits[:] = whole.to_bytes(self._traced.size, "little")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Writes one test's line."""
        self._take()
        self._failed = False
        begun = time.perf_counter()
        try:
            return (yield)
        finally:
            took_s = time.perf_counter() - begun
            reached = self._take()
            known = getattr(item, "_fixtureinfo", None)
            for definitions in known.name2fixturedefs.values() if known is not None else ():
                reached |= self._shared.get(definitions[-1], 0)
            data = zlib.compress(reached.to_bytes(self._traced.size, "little"), 1)
            line = {"test": item.nodeid, "s": round(took_s, 4), "failed": self._failed}
            self._out.write(json.dumps({**line, "hits": data.hex()}) + "\n")
            self._out.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a failure; pytest-xdist calls this in each worker, too."""
        self._failed |= report.failed


# Running a choice


class Chooser:
    """Runs the chosen tests in the order given, file by file, and says which one failed first."""

    def __init__(self, choice: Mapping[str, Any]) -> None:
        self._place = {test: place for place, test in enumerate(choice["tests"])}
        self._answer = Path(choice["answer"])
        self._ran = 0
        self._failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leaves the chosen tests alone."""
        chosen = [item for item in items if item.nodeid in self._place]
        others = [item for item in items if item.nodeid not in self._place]
        first: dict[str, int] = {}
        for item in chosen:
            file, place = item.nodeid.partition("::")[0], self._place[item.nodeid]
            first[file] = min(place, first.get(file, place))
        chosen.sort(key=lambda i: (first[i.nodeid.partition("::")[0]], self._place[i.nodeid]))
        items[:] = chosen
        config.hook.pytest_deselected(items=others)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts the tests, and notes the first that fails."""
        self._ran += report.when == "call"
        if report.failed and self._failed is None:
            self._failed = report.nodeid

    def pytest_sessionfinish(self) -> None:
        """Writes the answer."""
        answer = {"ran": self._ran, "failed": self._failed}
        self._answer.write_text(json.dumps(answer), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Records or chooses, as the environment says."""
    worker = getattr(config, "workerinput", {}).get("workerid")
    if RECORD in os.environ and (worker or not config.getoption("numprocesses", None)):
        plan = json.loads(Path(os.environ[RECORD]).read_text("utf-8"))
        config.pluginmanager.register(Recorder(plan, f"{worker or 'alone'}-{os.getpid()}"))
    elif CHOICE in os.environ:
        choice = json.loads(Path(os.environ[CHOICE]).read_text("utf-8"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(hard, MOST_MEMORY)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
        try:
            for module in choice["imports"]:
                importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - whatever a fault makes of an import
            pytest.exit(f"cannot be imported: {error!r}", returncode=NEVER_BORN)
        config.pluginmanager.register(Chooser(choice))
