"""Plants faults in the product, one at a time, and lists those that no test notices.

``make mutants ARGS="--part table --seed 7 --count 100"`` runs it, in a copy of the checkout. Which
tests reach which line is recorded first, once; then each fault meets those that reach it, until one
fails. In: ``mutants.toml``: parts, and faults that change nothing. Out: the faults that survived,
each with its file, line and change, and the rate of those that were killed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import difflib
import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from firmware_proto.suggestion import nearest_name
from tools import reach
from tools.faults import Fault, find_faults

OWN = Path(__file__).parents[1]
SETTINGS = "tools/mutants.toml"
PAGE = "docs/contributing/kill-rates.md"

KILLED, SURVIVED, NEVER_BORN, EQUIVALENT = "killed", "survived", "never born", "equivalent"

FIRST_FILES = 6
"""So many test files are tried first: those that killed others, and the most specific ones."""

FEW = 30
"""Where fewer tests reach a line, it may be run once a process: all that reach its file count."""

A_BATCH = 80
"""So many test files are recorded in one go; after it an interrupted record goes on."""

WORTH_WORKERS = 8
"""From so many test files on, several processes record them."""

SLOWEST_S = 30.0
"""A test takes at least so long before it counts as hanging."""


class Wrong(Exception):
    """What was asked for cannot be done; the message is one line for the person who asked."""


# Parts, and the faults in them


@dataclasses.dataclass(frozen=True)
class Part:
    """Files in which faults are planted, and the tests that may notice them."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    """Test files, without those that notice any change of a source."""

    literals: tuple[str, ...]
    """Test files that state tables and literals themselves: a fault in one always meets them."""


class Project:
    """A checkout: its files, parts, and the faults that are known to change nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            self._settings = tomllib.loads((root / SETTINGS).read_text("utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise Wrong(f"{root / SETTINGS} cannot be read: {error}") from None
        self.names = sorted(self._settings["parts"])
        self.equivalent = self._settings.get("equivalent", [])

    def part(self, name: str) -> Part:
        """Return the part of this name."""
        if name not in self.names:
            meant = nearest_name(name, self.names)
            hint = f"did you mean {meant}?" if meant else f"the parts are {', '.join(self.names)}"
            raise Wrong(f"there is no part {name!r}: {hint}")
        stated = self._settings["parts"][name]
        without = tuple(self._settings.get("without", ()))
        tests = {
            str(path.relative_to(self.root))
            for folder in stated["tests"]
            for path in (self.root / folder).rglob("test_*.py")
        }
        kept = sorted(test for test in tests if not test.startswith(without))
        literals = tuple(stated.get("literals", ()))
        return Part(name, self._matching(stated["files"]), tuple(kept), literals)

    def _matching(self, patterns: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for pattern in patterns:
            paths = sorted(self.root.glob(pattern))
            if not paths:
                raise Wrong(f"{SETTINGS}: no file is named {pattern}")
            found += [str(path.relative_to(self.root)) for path in paths]
        return tuple(dict.fromkeys(found))

    def traced(self) -> tuple[str, ...]:
        """Return the Python files of all parts, and those in which marks are left."""
        files = {f for name in self.names for f in self.part(name).files if f.endswith(".py")}
        return tuple(sorted(files | {f for f in reach.PROBED if (self.root / f).is_file()}))

    def source(self, file: str) -> bytes:
        """Return the file's bytes."""
        return (self.root / file).read_bytes()

    def why_equivalent(self, fault: Fault) -> str | None:
        """Return why this fault changes nothing that anyone can observe; None for all others."""
        change = fault.change(self.source(fault.file))
        for each in self.equivalent:
            same = (each["file"], each["within"]) == (fault.file, fault.within)
            if same and (each["is"], each["becomes"]) == change:
                return str(each["reason"])
        return None


def draw(faults: Sequence[Fault], seed: str) -> Iterator[Fault]:
    """Yield the faults in the seed's order: one of each operator in turn, as long as there are any.

    So a table with a thousand rule numbers does not hide its few pay lines.
    """
    chance = random.Random(seed)
    by_operator: dict[str, list[Fault]] = {}
    for fault in faults:
        by_operator.setdefault(fault.operator, []).append(fault)
    for each in by_operator.values():
        chance.shuffle(each)
    while by_operator:
        operators = sorted(by_operator)
        chance.shuffle(operators)
        for operator in operators:
            yield by_operator[operator].pop()
            if not by_operator[operator]:
                del by_operator[operator]


def marks_of(fault: Fault, source: bytes) -> list[str]:
    """Return the marks of tests that reach a fault at the top level of a module, if it has any."""
    file, names = fault.file, fault.within.split(" ")
    if file.endswith("transitions.py"):
        rows = [names] if len(names) > 1 else _rows_with(names[0], source)
        return [f"cell {row[2] if row[0] == 'ROUND' and len(row) > 2 else row[1]}" for row in rows]
    if file.endswith("cases.py") and len(names) > 1:
        return [f"question {names[1]}"]
    if file.endswith("commands.py") and len(names) > 1:
        return [f"command {names[1]}"]
    if "/irregularities/" in file:
        return [f"procedure {key}" for key in _procedures(source)]
    return [f"game {Path(file).stem}"] if file.endswith(".toml") else []


def _rows_with(name: str, source: bytes) -> list[list[str]]:
    """Return the table and the keys of each cell that uses this name."""
    found: list[list[str]] = []
    for table in ast.parse(source).body:
        if isinstance(table, ast.AnnAssign) and isinstance(table.target, ast.Name):
            _find_rows(table.value, [table.target.id], name, found)
    return found


def _find_rows(node: ast.AST | None, keys: list[str], name: str, found: list[list[str]]) -> None:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                _find_rows(value, [*keys, str(key.value)], name, found)
    elif node is not None and len(keys) > 1:
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        found += [keys] if name in names else []


def _procedures(source: bytes) -> list[str]:
    """Return the keys of the procedures in this module."""
    tree = ast.parse(source)
    named: dict[str, object] = {}
    for each in tree.body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant):
            named |= {t.id: each.value.value for t in each.targets if isinstance(t, ast.Name)}
    first = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Procedure" and node.args
    ]
    keys = [named.get(a.id) if isinstance(a, ast.Name) else ast.literal_eval(a) for a in first]
    return [key for key in keys if isinstance(key, str)]


# A copy of the checkout


class Copy:
    """A copy of the checkout, in which one fault at a time is planted."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.root = folder
        self._planted = 0
        folder.mkdir(parents=True, exist_ok=True)
        wanted = set(_checked_in(project.root))
        for path in [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]:
            name = str(path.relative_to(folder))
            if name not in wanted and not {"__pycache__", ".venv"} & set(path.parts):
                path.unlink()
        for name in wanted:
            _copy_file(project.root / name, folder / name)
        venv = folder / ".venv"
        if (project.root / ".venv").exists() and not venv.is_symlink():
            venv.symlink_to(project.root / ".venv")

    @contextlib.contextmanager
    def planting(self, fault: Fault) -> Iterator[None]:
        """Plant the fault as long as the block runs.

        Each planted file has a time of its own, so that no bytecode of another is taken for it.
        """
        path = self.root / fault.file
        source, status = path.read_bytes(), path.stat()
        self._planted += 1
        path.write_bytes(fault.planted(source))
        os.utime(path, (self._planted, self._planted))
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment in which its own modules come before those of the checkout."""
        path = [str(self.root), str(OWN), os.environ.get("PYTHONPATH", "")]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), **more}


def _checked_in(root: Path) -> list[str]:
    asked = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    done = subprocess.run(asked, capture_output=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"{root} is no checkout: {done.stderr.decode().strip()}")
    names = done.stdout.decode().split("\0")
    return [name for name in names if name and (root / name).is_file()]


def _copy_file(source: Path, target: Path) -> None:
    there = source.stat()
    if target.exists():
        here = target.stat()
        if (here.st_size, here.st_mtime_ns) == (there.st_size, there.st_mtime_ns):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


class Runner:
    """Runs pytest in copies; what is still running can be ended."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def pytest(
        self, copy: Copy, words: Sequence[str], env: Mapping[str, str], limit_s: float | None
    ) -> tuple[int | None, str]:
        """Return pytest's exit code and output; None as the code if it took too long."""
        with self._lock:
            if self.stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-q", "-p", "tools.reach", *words],
                cwd=copy.root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        try:
            out, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            return None, process.communicate()[0].decode(errors="replace")
        finally:
            _kill(process)
            with self._lock:
                self._running.discard(process)
        if self.stopped:
            raise KeyboardInterrupt
        return process.returncode, out.decode(errors="replace")

    def stop(self) -> None:
        """End what is running, and begin nothing else."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and what it left behind in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


# What the tests reach


@dataclasses.dataclass(frozen=True)
class KnownTest:
    """A test, as it was recorded."""

    id: str
    took_s: float
    reached: int
    """How many lines it reaches in all: a test of few lines says most of each."""

    @property
    def file(self) -> str:
        """The file it is in."""
        return self.id.partition("::")[0]


class Record:
    """Which tests reach what: recorded in batches of files, each with the sources of that time."""

    def __init__(self, folder: Path, project: Project) -> None:
        self._folder, self._project = folder, project
        self._plans = [
            json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*/plan.json"))
        ]

    def missing(self, tests: Sequence[str]) -> list[str]:
        """Return the test files that were not recorded as they are now."""
        known = {name: sha for plan in self._plans for name, sha in plan["done"].items()}
        return [test for test in tests if known.get(test) != _sha(self._project.source(test))]

    def record(self, tests: Sequence[str], copy: Copy, runner: Runner) -> None:
        """Record these test files in the copy."""
        for begin in range(0, len(tests), A_BATCH):
            batch = tests[begin : begin + A_BATCH]
            print(f"recording what tests reach: {begin} of {len(tests)} files", flush=True)
            self._record_batch(batch, copy, runner)

    def _record_batch(self, batch: Sequence[str], copy: Copy, runner: Runner) -> None:
        files = self._project.traced()
        traced = reach.Traced.of(copy.root, files)
        folder = self._folder / f"{time.time_ns()}"
        folder.mkdir(parents=True)
        site = folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(reach.SITE)
        plan: dict[str, Any] = {
            "root": str(copy.root), "folder": str(folder), "first": dict(traced.first),
            "size": traced.size, "done": {}, "unfit": [],
            "sources": {file: self._keep(copy.root / file) for file in files},
        }  # fmt: skip
        asked = folder / "asked.json"
        asked.write_text(json.dumps(plan), "utf-8")
        env = copy.environment(**{reach.RECORD: str(asked)})
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], str(site)])
        workers = "auto" if len(batch) >= WORTH_WORKERS else "0"
        words = ["-n", workers, "--dist", "worksteal", *batch]
        code, out = runner.pytest(copy, words, env, None)
        if code not in (0, 1, 5):
            raise Wrong(f"recording failed: {_last_lines(out)}")
        failed = [line["test"] for line in _lines(folder) if line["failed"]]
        plan["unfit"] = self._unfit(failed, copy, runner) if failed else []
        plan["done"] = {name: _sha(self._project.source(name)) for name in batch}
        (folder / "plan.json").write_text(json.dumps(plan), "utf-8")
        self._plans.append(plan)

    def _unfit(self, failed: Sequence[str], copy: Copy, runner: Runner) -> list[str]:
        """Return those that fail in the copy without a fault, too: they say nothing."""
        unfit = [test for test in failed if not _passes(test, copy, runner)]
        for test in unfit:
            print(f"left out: it fails without a fault in the copy: {test}", flush=True)
        return unfit

    def _keep(self, path: Path) -> str:
        source = path.read_bytes()
        kept = self._folder / "sources" / _sha(source)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(source)
        return kept.name

    def reaching(self, faults: Sequence[Fault], part: Part) -> list[list[KnownTest]]:
        """Return the tests of the part that reach each fault, those that reach least first."""
        tests, every = {*part.tests}, dict[str, KnownTest]()
        found: list[dict[str, KnownTest]] = [{} for _ in faults]
        wide: list[dict[str, KnownTest]] = [{} for _ in faults]
        importing = [self._importing(fault, part) for fault in faults]
        latest = {name: plan["folder"] for plan in self._plans for name in plan["done"]}
        for plan in self._plans:
            places = [self._places(fault, plan) for fault in faults]
            unfit = set(plan["unfit"])
            for line in _lines(Path(plan["folder"])):
                file = line["test"].partition("::")[0]
                if latest.get(file) != plan["folder"] or file not in tests or line["test"] in unfit:
                    continue
                hits = zlib.decompress(bytes.fromhex(line["hits"]))
                test = KnownTest(line["test"], line["s"], hits.count(1))
                every[test.id] = test
                for number, (own, whole) in enumerate(places):
                    if file in importing[number] or any(hits[place] for place in own):
                        found[number][test.id] = test
                    elif not whole or 1 in hits[whole.start : whole.stop]:
                        wide[number][test.id] = test
        reached = []
        for fault, first, more in zip(faults, found, wide, strict=True):
            named = fault.lines or marks_of(fault, self._project.source(fault.file))
            enough = named and len(first) >= FEW
            all_of_them = [*_by_reach(first), *(() if enough else _by_reach(more))]
            reached.append(all_of_them or _by_reach(every)[:FEW])  # what an import runs, any may
        return reached

    def _places(self, fault: Fault, plan: Mapping[str, Any]) -> tuple[list[int], range]:
        """Return the places of the fault's own lines and marks, and those of its file."""
        source = self._project.source(fault.file)
        first = plan["first"].get(fault.file)
        if first is None:
            return [reach.mark(name) for name in marks_of(fault, source)], range(0)
        old = (self._folder / "sources" / plan["sources"][fault.file]).read_bytes()
        whole = range(first, first + old.count(b"\n") + 2)
        if not fault.lines:
            return [reach.mark(name) for name in marks_of(fault, source)], whole
        moved = _moved_lines(source, old)
        return [first + moved[line] for line in fault.lines if line in moved], whole

    def _importing(self, fault: Fault, part: Part) -> set[str]:
        """Return the test files that read a table or literal themselves."""
        tests = part.tests
        if fault.file.endswith(".toml"):
            named = (f'"{Path(fault.file).stem}"', "shipped(")
            texts = {test: self._project.source(test).decode() for test in tests}
            found = {test for test, text in texts.items() if any(n in text for n in named)}
            return found | {*part.literals}
        if fault.lines or not fault.file.endswith(".py"):
            return set()
        package, _, name = fault.file.removesuffix(".py").replace("/", ".").rpartition(".")
        wanted = (f"from {package}.{name} import", f"import {package}.{name}")
        found = {*part.literals}
        for test in tests:
            text = self._project.source(test).decode()
            parts = text.partition(f"from {package} import ")[2].split("\n\n")[0]
            if any(each in text for each in wanted) or name in parts.replace(",", " ").split():
                found.add(test)
        return found


def _passes(test: str, copy: Copy, runner: Runner) -> bool:
    return runner.pytest(copy, [test], copy.environment(), None)[0] == 0


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def _by_reach(tests: Mapping[str, KnownTest]) -> list[KnownTest]:
    return sorted(tests.values(), key=lambda test: (test.reached, test.took_s))


def _moved_lines(now: bytes, then: bytes) -> dict[int, int]:
    """Return each line's number of then, by its number now."""
    if now == then:
        return {n: n for n in range(1, now.count(b"\n") + 2)}
    matcher = difflib.SequenceMatcher(None, now.splitlines(), then.splitlines(), autojunk=False)
    return {
        block.a + n + 1: block.b + n + 1
        for block in matcher.get_matching_blocks()
        for n in range(block.size)
    }


def _sha(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:16]


def _last_lines(out: str) -> str:
    return " | ".join(out.strip().splitlines()[-3:])


# Trying faults


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one fault."""

    key: str
    outcome: str
    place: str
    operator: str
    diff: list[str]
    tests: int
    """How many tests it met."""

    left_out: int
    """How many reach it and were not run, for want of time."""

    by: str | None
    took_s: float


class Trial:
    """Tries one fault after another, and keeps what became of each."""

    def __init__(
        self, project: Project, part: Part, folder: Path, runner: Runner, most_s: float
    ) -> None:
        self._project, self._part, self._folder = project, part, folder
        self._runner, self._most_s = runner, most_s
        self._killers: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._free: list[Copy] = []

    def use(self, copies: Sequence[Copy]) -> None:
        """Plant faults in these copies, one in each at a time."""
        self._free += copies

    def run(self, fault: Fault, reaching: Sequence[KnownTest]) -> Result:
        """Plant the fault, and run the tests that reach it until one fails."""
        begun = time.monotonic()
        with self._lock:
            copy = self._free.pop()
        try:
            with copy.planting(fault):
                outcome, by, ran = self._meet(copy, fault, reaching)
        finally:
            with self._lock:
                self._free.append(copy)
        source = self._project.source(fault.file)
        return Result(
            fault.key(source), outcome, f"{fault.file}:{fault.line(source)}", fault.operator,
            fault.diff(source), ran, len(reaching) - ran if outcome == SURVIVED else 0, by,
            round(time.monotonic() - begun, 1),
        )  # fmt: skip

    def _meet(
        self, copy: Copy, fault: Fault, reaching: Sequence[KnownTest]
    ) -> tuple[str, str | None, int]:
        first = self._first(Path(fault.file).stem, reaching)
        met = {test.id for test in first}
        rest = [test for test in reaching if test.id not in met]
        ran = 0
        for chosen in (first, _cheap(_interleaved(rest), self._most_s)):
            if not chosen:
                continue
            outcome, by, count = self._try(copy, fault, chosen)
            ran += count
            if outcome != SURVIVED:
                if by is not None:
                    with self._lock:
                        self._killers[by.partition("::")[0]] += 1
                return outcome, by, ran
        return SURVIVED, None, ran

    def _first(self, module: str, reaching: Sequence[KnownTest]) -> list[KnownTest]:
        """Return tests of the module's own file, of those that killed most, and that say most."""
        with self._lock:
            killers = [file for file, _ in self._killers.most_common(FIRST_FILES // 2)]
        there = dict.fromkeys(test.file for test in reaching)
        files = [file for file in there if Path(file).stem.startswith(f"test_{module}")]
        files += [file for file in self._part.literals if file in there]
        files += [file for file in killers if file in there and file not in files]
        files += [file for file in there if file not in files][: max(0, FIRST_FILES - len(files))]
        chosen: list[KnownTest] = []
        for file in files:
            own = [test for test in reaching if test.file == file]
            chosen += _cheap(own, self._most_s / (FIRST_FILES // 2))
        return chosen

    def _try(
        self, copy: Copy, fault: Fault, chosen: Sequence[KnownTest]
    ) -> tuple[str, str | None, int]:
        asked, answer = (self._folder / f"{copy.root.name}.{name}" for name in ("tests", "answer"))
        answer.unlink(missing_ok=True)
        module = fault.file.removesuffix(".py").replace("/", ".")
        imports = [module] if fault.file.endswith(".py") else []
        choice = {
            "tests": [test.id for test in chosen], "answer": str(answer), "imports": imports,
        }  # fmt: skip
        asked.write_text(json.dumps(choice), "utf-8")
        slowest_s = max(SLOWEST_S, 10 * max(test.took_s for test in chosen))
        limit_s = 2 * slowest_s + 5 * sum(test.took_s for test in chosen)
        files = dict.fromkeys(test.file for test in chosen)
        words = ["-x", "-p", "no:cacheprovider", f"--timeout={slowest_s:.0f}", *files]
        env = copy.environment(**{reach.CHOICE: str(asked)})
        code, _ = self._runner.pytest(copy, words, env, limit_s)
        said = json.loads(answer.read_text("utf-8")) if answer.exists() else {}
        if code == reach.NEVER_BORN:
            return NEVER_BORN, None, 0
        ran = int(said.get("ran", 0))
        if code in (0, 5):  # 5: the names of these tests follow from the table that was changed
            return SURVIVED, None, ran
        return KILLED, said.get("failed") or chosen[0].id, ran


def _interleaved(tests: Sequence[KnownTest]) -> list[KnownTest]:
    """Return the first test of each file, then the second of each, and so on."""
    places: Counter[str] = Counter()
    turns: list[tuple[int, KnownTest]] = []
    for test in tests:
        turns.append((places[test.file], test))
        places[test.file] += 1
    return [test for _, test in sorted(turns, key=lambda each: each[0])]


def _cheap(tests: Sequence[KnownTest], most_s: float) -> list[KnownTest]:
    """Return the first of these tests, as many as take so long; at least one."""
    chosen: list[KnownTest] = []
    for test in tests:
        if chosen and test.took_s > most_s:
            continue
        chosen.append(test)
        most_s -= test.took_s
    return chosen


# What a person reads


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return the bounds of the rate that these figures speak for with 95 % (Wilson)."""
    if tried == 0:
        return 0.0, 1.0
    z, rate = 1.96, killed / tried
    middle = rate + z * z / (2 * tried)
    spread = z * math.sqrt(rate * (1 - rate) / tried + z * z / (4 * tried * tried))
    whole = 1 + z * z / tried
    return (middle - spread) / whole, min(1.0, (middle + spread) / whole)


def rate_text(killed: int, tried: int) -> str:
    """Return the rate with its interval."""
    if tried == 0:
        return "none tried"
    low, high = interval(killed, tried)
    return f"{100 * killed / tried:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


class Results:
    """What became of a part's faults by one seed, in a file that a later run continues."""

    def __init__(self, folder: Path, part: str, seed: str) -> None:
        self._path = folder / part / f"{seed}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[str, Result] = {}
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                with contextlib.suppress(ValueError):  # a line that was cut off in the middle
                    result = Result(**json.loads(line))
                    self.known[result.key] = result

    def add(self, result: Result) -> None:
        """Keep this result."""
        self.known[result.key] = result
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(result)) + "\n")

    def count(self, outcome: str) -> int:
        """Return how many faults ended so."""
        return sum(result.outcome == outcome for result in self.known.values())


def show(result: Result) -> None:
    """Print what became of a fault; of one that survived, the change too."""
    how = f" by {result.by}" if result.by else ""
    left_out = f", {result.left_out} left out" if result.left_out else ""
    print(f"{result.outcome:10} {result.place} {result.operator}{how} "
          f"({result.tests} tests{left_out}, {result.took_s} s)", flush=True)  # fmt: skip
    if result.outcome == SURVIVED:
        print("\n".join(f"    {line}" for line in result.diff), flush=True)


def write_page(project: Project, folder: Path, seed: str) -> None:
    """Write the page with the rates of each part that was tried with this seed."""
    rows = []
    for name in project.names:
        results = Results(folder, name, seed)
        killed, survived = results.count(KILLED), results.count(SURVIVED)
        if killed + survived:
            low, high = interval(killed, killed + survived)
            rate = f"{100 * killed / (killed + survived):.1f} %"
            rows.append(f"| {name} | {killed + survived} | {killed} | {rate} | "
                        f"{100 * low:.1f} to {100 * high:.1f} % |")  # fmt: skip
    if not rows:
        raise Wrong(f"nothing was tried with the seed {seed}")
    text = f"""# Kill rates

This page is made by `make mutants ARGS="--page --seed {seed}"` from the runs with that seed.
[Tests](tests.md#planted-faults) says how faults are planted.
The interval is that of a 95 % confidence (Wilson).
Faults that change nothing are not counted: `tools/mutants.toml` names them.
A fault counts as survived, too, where the time for it ended before it met all tests that reach it.

| part | faults | killed | rate | interval |
|---|---|---|---|---|
"""
    (project.root / PAGE).write_text(text + "\n".join(rows) + "\n", "utf-8")
    print(f"written: {PAGE}")


# The command


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--part", help="plant faults in this part of tools/mutants.toml")
    parser.add_argument("--seed", default="1", help="draw the faults by this word (default: 1)")
    parser.add_argument("--count", type=int, default=20, help="so many faults (default: 20)")
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time (default: 1)")
    parser.add_argument("--again", action="store_true", help="try the survivors once more")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE} from the seed's runs")
    parser.add_argument(
        "--most-s", type=float, default=90.0, metavar="SECONDS",
        help="of the tests that reach a fault run as many as took so long when they were recorded,"
        " the most specific first (default: 90)",
    )  # fmt: skip
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", default=_cache(),
        help="keep records, copies and results here (default: %(default)s)",
    )  # fmt: skip
    return parser.parse_args(words)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shoe-ctl/mutants"


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    asked = _arguments(words)
    runner = Runner()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background, too
    try:
        project = Project(Path.cwd())
        folder = asked.cache / _sha(str(project.root).encode())
        if asked.page:
            write_page(project, folder / "results", asked.seed)
            return 0
        if asked.part is None:
            raise Wrong(f"name a part: --part {' | '.join(project.names)}")
        if asked.count < 1 or asked.jobs < 1:
            raise Wrong("--count and --jobs are at least 1")
        return _run(asked, project, project.part(asked.part), folder, runner)
    except Wrong as wrong:
        print(f"mutants: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        runner.stop()
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130


def _run(
    asked: argparse.Namespace, project: Project, part: Part, folder: Path, runner: Runner
) -> int:
    faults = [f for file in part.files for f in find_faults(file, project.source(file))]
    copies = [Copy(project, folder / f"{part.name}-{n + 1}") for n in range(asked.jobs)]
    record = Record(folder / "record", project)
    record.record(record.missing(part.tests), copies[0], runner)
    results = Results(folder / "results", part.name, asked.seed)
    todo = _todo(asked, project, draw(faults, f"{part.name} {asked.seed}"), results)
    print(f"{part.name}: {len(faults)} faults can be planted; {len(results.known)} were tried"
          f" with this seed before", flush=True)  # fmt: skip
    trial = Trial(project, part, folder, runner, asked.most_s)
    trial.use(copies)
    reaching = record.reaching(todo, part)
    begun, done = time.monotonic(), 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        waiting = [pool.submit(trial.run, *each) for each in zip(todo, reaching, strict=True)]
        try:
            for ended in as_completed(waiting):
                result = ended.result()
                results.add(result)
                done += 1
                show(result)
                _show_rate(results, done, len(todo), time.monotonic() - begun)
        except KeyboardInterrupt:
            for each in waiting:
                each.cancel()
            runner.stop()
            raise
    _show_end(part, results)
    return 0


def _todo(
    asked: argparse.Namespace, project: Project, drawn: Iterator[Fault], results: Results
) -> list[Fault]:
    """Return the faults to try: as many as were asked for, without those that were tried before.

    Faults that change nothing, and those that kept the product from being imported, do not count.
    """
    todo: list[Fault] = []
    counted = 0
    for fault in drawn:
        if counted >= asked.count:
            break
        source = project.source(fault.file)
        before = results.known.get(fault.key(source))
        if project.why_equivalent(fault) is not None:
            if before is not None and before.outcome != EQUIVALENT:
                results.add(dataclasses.replace(before, outcome=EQUIVALENT))
            continue
        if not fault.is_readable(source):
            continue
        counted += before is None or before.outcome != NEVER_BORN
        if before is None or (asked.again and before.outcome == SURVIVED):
            todo.append(fault)
    return todo


def _show_rate(results: Results, done: int, of: int, took_s: float) -> None:
    killed, survived = results.count(KILLED), results.count(SURVIVED)
    print(f"    {done} of {of}, {60 * done / max(took_s, 0.001):.1f} a minute;"
          f" killed {rate_text(killed, killed + survived)}", flush=True)  # fmt: skip


def _show_end(part: Part, results: Results) -> None:
    survivors = [each for each in results.known.values() if each.outcome == SURVIVED]
    killed, tried = results.count(KILLED), results.count(KILLED) + len(survivors)
    print(f"{part.name}: {killed} of {tried} killed, {rate_text(killed, tried)}")
    for result in sorted(survivors, key=lambda each: each.place):
        show(result)


if __name__ == "__main__":
    sys.exit(main())
