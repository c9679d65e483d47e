"""What one flooded line costs the table beside it, and what it costs the journal.

In: --seconds, --pairs, --case. Out: a table, or JSON: each figure beside its promise. One daemon
serves a shoe that deals a card each 30 ms, and lines that are flooded one after the other. Quiet
and flooded stretches take turns, each flood at a line that was not flooded before; what counts is
the time from a card's bytes to its acknowledgement, which follows its storing, and of that the
median ratio of a flooded stretch to the quiet one before it, so that a busy machine disturbs both.
The worst second of a stretch is the one with the longest wait of a single card, and that wait is
its figure: a mean of a second's thirty cards would hide half a second at one of them. The first
second counts, too.
Then a few daemons store one flood alone, each its own: the processor's time that it leaves to
others, which no other program's load can lower, and what the journal grew by. A flood without a
pause takes 8 s: its line is suspended within, and a suspended line that is not quiet adds nothing.
A slower one is stored for a minute; and so is one that rests, so that its line is opened again:
what it may keep in a minute is used up, comes back, and is used up again. Exits 1 where a promise
is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench._noise import ALL, CASES, Case, Floods, Tap
from bench._promises import Promise
from bench._shoe import simulated_shoe
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.table.inputs import LineSuspended, from_bytes

SLOWER = 1.5
"""A neighbor's card may take so many times as long as in quiet, at the median, and so may the
longest wait of the worst second."""

BESIDES_MS = 20
"""The longest wait may be so much longer besides."""

GROWS_A_MINUTE = 512 * 1024
"""Bytes by which noise on a line may make the journal grow. New events of a shoe are all kept."""

STORES = 3
"""Daemons that store the same flood at the same time."""

SETS = 10_000
"""More than the neighbour deals while anything is measured."""

PACE_MS = 30

WARMED_BY = 60
"""Cards that are not counted: the first ones load code."""

SETTLED_S = 0.5
"""A daemon that opened its lines, or whose flood has ended, rests by then."""

CALMED_AFTER_S = 0.3
"""What came of a flood before it ended is stored by then."""

DAEMON = (sys.executable, "-c", "from shoe_ctl.cli.main import main; main()")
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Found:
    """One case: the neighbor's medians in ms, their ratios, the journal's growth in bytes.

    ``ratio`` is the median of the stretches' own, ``low`` and ``high`` their quartiles. ``p99``
    is the ratio of the 99th percentiles over all stretches. ``worst_ms`` is the median of the
    stretches' worst seconds, ``worst_most_ms`` the most of them, ``worst_quiet_ms`` that in quiet.
    ``left`` is the part of a processor's time that the flood does not take. ``grew`` is the most of
    several journals in ``stored_s``, ``grew_least`` the least; ``suspended`` how often a line was
    suspended in that time, at least.
    """

    case: str
    makes_sense: bool
    quiet_ms: float
    flooded_ms: float
    worst_quiet_ms: float
    worst_ms: float
    worst_most_ms: float
    ratio: float
    low: float
    high: float
    p99: float
    left: float
    sent: int
    stored_s: float
    grew: int
    grew_least: int
    suspended: int

    @property
    def promises(self) -> list[Promise]:
        """What is promised of it; new events of a shoe are all kept, and no promise."""
        slower = f"{self.case}: a neighbor's card, times its quiet time"
        grows = f"{self.case}: the journal grows in {self.stored_s:g} s by"
        worst = f"{self.case}: a neighbor's longest wait in its worst second"
        found = [
            Promise(slower, self.ratio, most=SLOWER, spread=(self.low, self.high)),
            Promise(
                worst,
                self.worst_ms,
                "ms",
                most=SLOWER * self.worst_quiet_ms + BESIDES_MS,
                spread=(self.worst_quiet_ms, self.worst_most_ms),
            ),
        ]
        if not self.makes_sense:
            spread = (self.grew_least / 1024, self.grew / 1024)
            most = GROWS_A_MINUTE / 1024
            found.append(Promise(grows, self.grew / 1024, "KiB", most=most, spread=spread))
        return found

    @property
    def kept(self) -> bool:
        """Whether its promises are kept."""
        return all(one.held for one in self.promises)


def table(name: str, profile: str, port: str) -> str:
    """A table's part of the configuration."""
    return f"""
[[table]]
id = "{name}"
game = "tiger"
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = "{profile}"
port = "{port}"
"""


@contextmanager
def daemon(folder: Path, *tables: str) -> Iterator[int]:
    """A daemon that serves these, until SIGTERM; its process."""
    file = folder / "table.toml"
    socket_user = f'[socket]\nuser = [{{user = {os.getuid()}, position = "pit_supervisor"}}]\n'
    file.write_text(
        "".join(tables) + '[[sink]]\nkind = "jsonl"\npath = "events.jsonl"\n' + socket_user
    )
    with subprocess.Popen((*DAEMON, "run", "--config", str(file)), stderr=subprocess.DEVNULL) as it:
        try:
            yield it.pid
        finally:
            it.terminate()
            assert it.wait(PATIENCE_S) == 0


def quantile(values: list[float], share: float) -> float:
    """Of unsorted values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Stretch(NamedTuple):
    """How long each card of a stretch took, in the order in which they were drawn."""

    took: list[float]

    @property
    def worst_s(self) -> float:
        """The longest wait in its worst second."""
        return max(self.took)


def stretch(tap: Tap, seconds: float) -> Stretch:
    """How long the cards took that are drawn in this time."""
    began = time.monotonic()
    end = began + seconds
    time.sleep(seconds)
    while not tap.drawn or tap.drawn[-1][0] < end:
        assert time.monotonic() < end + PATIENCE_S, "the neighbor deals nothing"
        time.sleep(0.02)
    return Stretch([took for at, took in tap.drawn if began <= at < end])


def beside(case: Case, seconds: float, pairs: int) -> list[tuple[Stretch, Stretch]]:
    """The neighbor's times in quiet and beside a flood, in turns."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        shoe = stack.enter_context(simulated_shoe("reference", PACE_MS, SETS))
        tap, floods = Tap(shoe), Floods(case, pairs)
        stack.callback(floods.end)
        lines = [table(f"flooded{n}", case.profile, port) for n, port in enumerate(floods.ports)]
        stack.enter_context(daemon(Path(name), table("neighbor", "reference", tap.port), *lines))
        while len(tap.drawn) < WARMED_BY:
            time.sleep(0.02)
        found = []
        for line in range(pairs):
            quiet = stretch(tap, seconds)
            with floods.at_work(line):
                found.append((quiet, stretch(tap, seconds)))
            time.sleep(CALMED_AFTER_S)
        return found


def processor_s(pid: int) -> float:
    """Seconds of the processor that this process had so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stored(NamedTuple):
    """One journal: bytes that were sent, those of the file at its end, the daemon's processor time.

    ``suspended``: how often the line was, anew each time: it was open again in between.
    """

    sent: int
    size: int
    took_s: float
    suspended: int


def stored(case: Case, seconds: float) -> list[Stored]:
    """What several daemons store of a flood, each at a line of its own, at the same time."""
    with ExitStack() as stack:
        floods = Floods(case, STORES)
        stack.callback(floods.end)
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(STORES)]
        with ExitStack() as serving:
            pids = [
                serving.enter_context(daemon(folder, table("flooded", case.profile, port)))
                for folder, port in zip(folders, floods.ports, strict=True)
            ]
            due = time.monotonic() + PATIENCE_S
            while floods.hosts < STORES:
                assert time.monotonic() < due, "a line is not opened"
                time.sleep(0.02)
            time.sleep(SETTLED_S)
            before = [*map(processor_s, pids)]
            flood(floods, case, seconds)
            took_s = [processor_s(pid) - spent for pid, spent in zip(pids, before, strict=True)]
            time.sleep(SETTLED_S)
        return [
            Stored(
                floods.sent // STORES,
                sum(file.stat().st_size for file in folder.glob("journal.db*")),
                spent_s,
                suspensions(folder / "journal.db"),
            )
            for folder, spent_s in zip(folders, took_s, strict=True)
        ]


def flood(floods: Floods, case: Case, seconds: float) -> None:
    """Flood all lines for so long, in bursts if the case has some."""
    end = time.monotonic() + seconds
    while (left_s := end - time.monotonic()) > 0:
        with floods.at_work(ALL):
            time.sleep(min(left_s, case.burst_s or left_s))
        time.sleep(max(0.0, min(case.quiet_s, end - time.monotonic())))


def suspensions(journal: Path) -> int:
    """How often a line that was open was suspended, as the journal has it."""
    with Reader.open(journal) as reader:
        records = reader.records(after=0, upto=reader.heads()[0], kinds=(Kind.INPUT,))
        inputs = [from_bytes(record.body) for record in records]
    return sum(isinstance(each, LineSuspended) and not each.again for each in inputs)


def measured(name: str, case: Case, seconds: float, pairs: int, empty: dict[str, int]) -> Found:
    """One case; ``empty`` keeps what a journal without a flood takes, by profile."""
    found = beside(case, seconds, pairs)
    ratios = [median(flooded.took) / median(quiet.took) for quiet, flooded in found]
    quiet = [took for each, _ in found for took in each.took]
    flooded = [took for _, each in found for took in each.took]
    if case.profile not in empty:
        empty[case.profile] = max(each.size for each in stored(case, 0.0))
    journals = stored(case, case.stored_s)
    grew = [max(0, each.size - empty[case.profile]) for each in journals]
    suspended = min(each.suspended for each in journals)
    if suspended < case.suspended:
        raise SystemExit(
            f"{name}: a line was suspended {suspended} times in {case.stored_s:g} s, and "
            f"{case.suspended} are needed to know what it keeps in a minute"
        )
    return Found(
        case=name,
        makes_sense=case.makes_sense,
        quiet_ms=1000 * median(quiet),
        flooded_ms=1000 * median(flooded),
        worst_quiet_ms=1000 * median(each.worst_s for each, _ in found),
        worst_ms=1000 * median(each.worst_s for _, each in found),
        worst_most_ms=1000 * max(each.worst_s for _, each in found),
        ratio=median(ratios),
        low=quantile(ratios, 0.25),
        high=quantile(ratios, 0.75),
        p99=quantile(flooded, 0.99) / quantile(quiet, 0.99),
        left=1 - median(each.took_s for each in journals) / case.stored_s,
        sent=journals[0].sent,
        stored_s=case.stored_s,
        grew=max(grew),
        grew_least=min(grew),
        suspended=suspended,
    )


def main() -> int:
    """Measure, show, and say whether both promises are kept."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=4.0, help="of each stretch")
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--case", action="append", choices=list(CASES), help="only this; again")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    empty: dict[str, int] = {}
    found = []
    if not given.json:
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(
            f"promised: a neighbor's card is stored within {SLOWER:g} times its quiet time, the "
            f"longest wait within as much plus {BESIDES_MS} ms; "
            f"the journal grows by at most {GROWS_A_MINUTE // 1024} KiB a minute for noise "
            f"(GREW: the most of {STORES})"
        )
        print(
            f"{'FLOOD':<36}{'QUIET':>8}{'FLOODED':>9}{'RATIO':>7}{'SPREAD':>12}"
            f"{'WORST SECOND':>16}{'P99':>7}{'LEFT':>6}{'SENT':>9}{'GREW':>9}"
        )
    for name in given.case or CASES:
        one = measured(name, CASES[name], given.seconds, given.pairs, empty)
        found.append(one)
        if not given.json:
            mark = "" if one.kept else "  MISSED"
            print(
                f"{one.case:<36}{one.quiet_ms:>5.1f} ms{one.flooded_ms:>6.1f} ms{one.ratio:>7.2f}"
                f"{one.low:>7.2f}-{one.high:.2f}"
                f"{one.worst_quiet_ms:>7.1f}{one.worst_ms:>6.1f} ms{one.p99:>7.2f}{one.left:>6.2f}"
                f"{one.sent // 1024:>6} KiB{one.grew // 1024:>5} KiB{mark}",
                flush=True,
            )
    if given.json:
        kept = [one.as_json() for each in found for one in each.promises]
        print(json.dumps({"floods": [*map(asdict, found)], "promises": kept}))
    return 0 if all(one.kept for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
