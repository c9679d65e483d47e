"""A card in the pure controller, side by side with the controller of an earlier commit.

In: --commit, --pairs, --json. Out: a table (or JSON): processor time of a card, of all inputs, of
the import; the ratios promised and held; where the time goes. Each pair of processes handles the
same whole shoes of Tiger, one after the other, so that a slow minute of the machine slows both.
All that happens is the card, the shoe's two reports that it is locked and armed again, and the
time at which the card is seen, or the commands of a dealer. Exits 1 where a promise is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import signal
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import process_time_ns
from types import CodeType, FrameType
from typing import Any

from bench._promises import Promise
from bench._table import (
    BEFORE,
    ROOT,
    Table,
    calibration_ms,
    imported_from,
    packages_at,
    run_with,
)

ROUNDS = 75
"""About as many as a shoe of eight decks has."""

REPEATS = 5
"""So often a process handles each shoe; the fastest counts."""

FASTER, SLOWER = 3.0, 1.05
"""A card is promised so many times as fast; an import that takes 5 % more is no slower: two runs of
the same code differ by as much."""

MOST_US = 80.0
"""Of processor time, for all that happens while a card is dealt face up."""

FASTER_FIGURES = ("implied_card", "implied_all", "turned_card")
"""A card's own input; and, where nobody gives a command, all that happens while it is dealt."""

SAMPLE_S = 0.0005
SAMPLES = 6_000
SHOWN = 16

LIBRARY = "/transitions/"
"""In the path of the library that moves the table's machine."""

WAYS = {"implied": "Tiger, face up, announcements implied", "turned": "Tiger, turned by the dealer"}

TEXTS = {
    **{f"{way}_card": f"{text}: a card, µs" for way, text in WAYS.items()},
    **{f"{way}_all": "  with all else that happens, µs a card" for way in WAYS},
    "fixed_loop": "a fixed loop beside them, ms",
    "import_ms": "import of the controller, ms",
    "build_ms": "a game loaded, a controller built, ms",
}

CHANGES = frozenset({"change", "set_round", "set_shoe", "set_link"})
EMITS = frozenset({"tell", "tell_restricted", "announce", "emit", "emit_restricted"})


# In a process that imports one of the packages.


def shoe_of(*, implied: bool) -> list[Any]:
    """The inputs of a whole shoe, as a table in this package's rules takes them."""
    deck = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"] * 8
    random.Random(1).shuffle(deck)
    table = Table(implied=implied)
    table.open_shoe()
    codes = iter(deck)
    for _ in range(ROUNDS):
        table.play_round(codes)
    assert table.controller.state.rounds == ROUNDS
    return table.inputs


def is_card(happened: Any) -> bool:
    """Whether the shoe reports a card with it."""
    return getattr(getattr(happened, "event", None), "type", None) == "card_drawn"


def handled(inputs: list[Any], *, implied: bool) -> dict[str, float]:
    """Microseconds of processor time: of a card's own input, and of all inputs for each card.

    A card is handled in the state that it came in, again and again; no clock is read in between.
    """
    controller = Table(implied=implied).controller
    cards = []
    for happened in inputs:
        if is_card(happened):
            cards.append((controller.state, happened))
        controller.handle(happened)
    fresh = Table(implied=implied).controller
    gc.collect()
    began = process_time_ns()
    for happened in inputs:
        fresh.handle(happened)
    played = process_time_ns()
    for state, happened in cards:
        fresh.state = state
        fresh.handle(happened)
    ended = process_time_ns()
    nanoseconds = {"card": ended - played, "all": played - began}
    return {what: spent / len(cards) / 1000 for what, spent in nanoseconds.items()}


def times() -> dict[str, dict[str, float]]:
    """The fastest of several times, for each way of dealing."""
    found = {}
    for way in WAYS:
        inputs = shoe_of(implied=way == "implied")
        runs = [handled(inputs, implied=way == "implied") for _ in range(REPEATS)]
        found[way] = {key: min(run[key] for run in runs) for key in runs[0]}
    found["fixed_loop"] = {"ms": min(calibration_ms() for _ in range(REPEATS))}
    return found


def import_ms() -> dict[str, float]:
    """What the import of the controller takes, and the first one built, in this fresh process."""
    began = process_time_ns()
    import shoe_ctl.table.controller  # noqa: F401

    imported = process_time_ns()
    Table(implied=True)
    built = process_time_ns()
    return {"import_ms": (imported - began) / 1e6, "build_ms": (built - imported) / 1e6}


def stages() -> dict[str, float]:
    """The part of the time that cards spend in each stage, by samples of where Python is."""
    packages = f"{imported_from()}/"
    inputs = shoe_of(implied=True)
    found: Counter[CodeType] = Counter()

    def note(_: int, frame: FrameType | None) -> None:
        found.update(_innermost(frame, packages))
        signal.setitimer(signal.ITIMER_REAL, SAMPLE_S)

    signal.signal(signal.SIGALRM, note)
    signal.setitimer(signal.ITIMER_REAL, SAMPLE_S)
    while found.total() < SAMPLES:
        handle = Table(implied=True).controller.handle
        for happened in inputs:
            if is_card(happened):
                _handle_card(handle, happened)
            else:
                handle(happened)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    spent: Counter[str] = Counter()
    for code, count in found.items():
        spent[_stage(code, packages)] += count
    return {stage: count / found.total() for stage, count in spent.items()}


def _handle_card(handle: Callable[[Any], object], happened: Any) -> None:
    """Samples are counted under this function alone."""
    handle(happened)


def _innermost(frame: FrameType | None, packages: str) -> list[CodeType]:
    """The innermost function of ours or of the machine's library that handles a card now."""
    innermost: list[CodeType] = []
    while frame is not None and frame.f_code is not _handle_card.__code__:
        file = frame.f_code.co_filename
        if not innermost and (file.startswith(packages) or LIBRARY in file):
            innermost.append(frame.f_code)
        frame = frame.f_back
    return innermost if frame is not None else []


def _stage(code: CodeType, packages: str) -> str:
    if LIBRARY in code.co_filename:
        return "the transitions library"
    if code.co_name in CHANGES:
        return "changing the state"
    if code.co_name in EMITS:
        return "events"
    return code.co_filename.removeprefix(packages).removesuffix(".py")


# In the process that compares.

INSIDE: dict[str, Callable[[], Any]] = {"times": times, "import": import_ms, "stages": stages}


def ask(packages: Path, what: str) -> Any:
    """What a new process that imports these packages measures."""
    return json.loads(run_with(packages, __file__, "--inside", what))


def pairs(before: Path, count: int, what: str) -> list[tuple[Any, Any]]:
    """Measured with the packages before and now, in turn; who goes first changes each time."""
    found = []
    for number in range(count):
        if number % 2:
            now = ask(ROOT, what)
            found.append((ask(before, what), now))
        else:
            found.append((ask(before, what), ask(ROOT, what)))
    return found


def compared(measured: list[tuple[float, float]]) -> dict[str, Any]:
    """Medians of both, and of each pair's ratio of before to now, with the range of the ratios."""
    ratios = [before / now for before, now in measured]
    return {
        "before": statistics.median(before for before, _ in measured),
        "now": statistics.median(now for _, now in measured),
        "ratio": statistics.median(ratios),
        "ratios": (min(ratios), max(ratios)),
    }


def measure(before: Path, count: int) -> dict[str, Any]:
    """Everything but the stages."""
    played = pairs(before, count, "times")
    found: dict[str, Any] = {
        f"{way}_{what}": compared([(was[way][what], now[way][what]) for was, now in played])
        for way in WAYS
        for what in ("card", "all")
    }
    found["fixed_loop"] = compared(
        [(was["fixed_loop"]["ms"], now["fixed_loop"]["ms"]) for was, now in played]
    )
    found["implied_all"]["most"] = MOST_US
    found["implied_all"]["spread"] = spread(now["implied"]["all"] for _, now in played)
    for folder in (before, ROOT):
        ask(folder, "import")  # the bytecode is written
    started = pairs(before, count * 3, "import")
    for what in ("import_ms", "build_ms"):
        found[what] = compared([(was[what], now[what]) for was, now in started])
    for figure in FASTER_FIGURES:
        found[figure]["promised"] = FASTER
    found["import_ms"]["promised"] = 1 / SLOWER
    return found


def spread(values: Iterable[float]) -> tuple[float, float]:
    """The lowest and the highest of them."""
    ordered = sorted(values)
    return ordered[0], ordered[-1]


def is_held(measured: Mapping[str, Any]) -> bool:
    """Whether what is promised of this figure, if anything, is kept."""
    fast = measured["ratio"] >= measured.get("promised", 0.0)
    return bool(fast and measured["now"] <= measured.get("most", float("inf")))


def promises(found: Mapping[str, Mapping[str, Any]]) -> list[Promise]:
    """The figures of which something is promised."""
    rows = []
    for key, each in found.items():
        if "most" in each:
            name = f"{TEXTS[key].strip()}: now"
            rows.append(Promise(name, each["now"], most=each["most"], spread=each["spread"]))
        if "promised" in each:
            name = f"{TEXTS[key].strip()}: times as fast"
            rows.append(Promise(name, each["ratio"], least=each["promised"], spread=each["ratios"]))
    return rows


def main() -> int:
    """Measures both, and compares the ratios with what is promised."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commit", default=BEFORE, help="before (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of processes (default 7)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    parser.add_argument("--inside", choices=INSIDE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(INSIDE[options.inside]()))
        return 0
    if options.pairs < 1:
        parser.error("--pairs: one at least")
    with packages_at(options.commit) as before:
        found = measure(before, options.pairs)
        spent = ask(before, "stages"), ask(ROOT, "stages")
    good = all(map(is_held, found.values()))
    if options.json:
        where = dict(zip(("before", "now"), spent, strict=True))
        about = {"python": platform.python_version(), "commit": options.commit}
        kept = [one.as_json() for one in promises(found)]
        print(json.dumps({**about, "measured": found, "stages": where, "promises": kept}))
    else:
        print(
            f"Python {platform.python_version()}, {options.pairs} pairs of processes, alternating"
        )
        _show(options.commit, found)
        _show_stages(options.commit, found, *spent)
    return 0 if good else 1


def _show(commit: str, found: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{'processor time':46}{commit[:10]:>10}{'now':>10}{'ratio':>8}{'promise':>12}")
    for key, each in found.items():
        promise = f"{each['promised']:.2f}" if "promised" in each else ""
        promise += f" {each['most']:.0f} µs" if "most" in each else ""
        note = "" if is_held(each) else "  MISSED"
        numbers = f"{each['before']:>10.1f}{each['now']:>10.1f}{each['ratio']:>8.2f}"
        print(f"{TEXTS[key]:46}{numbers}{promise:>12}{note}")


def _show_stages(
    commit: str,
    found: Mapping[str, Mapping[str, float]],
    before: Mapping[str, float],
    now: Mapping[str, float],
) -> None:
    """Where the time of a card goes: what takes most first."""
    print(f"\n{'a card, face up: where its µs go':46}{commit[:10]:>10}{'now':>10}")
    whole = found["implied_card"]
    most = {key: max(before.get(key, 0.0), now.get(key, 0.0)) for key in {*before, *now}}
    shown = sorted(most, key=lambda key: -most[key])
    for key in shown[:SHOWN]:
        was, is_now = before.get(key, 0.0) * whole["before"], now.get(key, 0.0) * whole["now"]
        print(f"{key:46}{was:>10.1f}{is_now:>10.1f}")
    rest = [sum(each.get(key, 0.0) for key in shown[SHOWN:]) for each in (before, now)]
    print(f"{'all else':46}{rest[0] * whole['before']:>10.1f}{rest[1] * whole['now']:>10.1f}")


if __name__ == "__main__":
    sys.exit(main())
