"""Compares every run of the corpus with its record, or records the corpus anew.

``python -m tests.corpus`` compares; ``python -m tests.corpus record`` records. Record anew only
where bytes change on purpose, and commit that alone.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.corpus import corpus

PORTION = 40
"""Runs that a worker compares at a time."""


def main() -> int:
    """0 where every run is the same, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("action", nargs="?", choices=("same", "record"), default="same")
    parser.add_argument("--examples", action="store_true", help="show one of each kind")
    asked = parser.parse_args()
    if asked.action == "record":
        return asyncio.run(_record())
    return _same(examples=asked.examples)


async def _record() -> int:
    from tests.corpus.sources import LEFT_OUT, SOURCES

    corpus.FOLDER.mkdir(exist_ok=True)
    for name, source in SOURCES.items():
        began = time.perf_counter()
        runs = await source()
        path = corpus.FOLDER / f"{name}.jsonl.xz"
        corpus.write(path, runs)
        steps = sum(len(run.steps) for run in runs)
        print(
            f"{name}: {len(runs):,} runs, {steps:,} inputs, {path.stat().st_size:,} bytes, "
            f"{time.perf_counter() - began:.0f} s"
        )
    for reason, times in sorted(LEFT_OUT.items()):
        print(f"{times:5} left out: {reason}")
    return 0


def _same(*, examples: bool) -> int:
    began = time.perf_counter()
    found = corpus.Comparison()
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for part in workers.map(_compare, _portions()):
            found.add(part)
    for kind, runs in found.kinds.most_common():
        print(f"{runs:5}  {kind}")
        if examples:
            print(textwrap.indent(str(found.examples[kind]), "       "), end="\n\n")
    print(
        f"{found.runs:,} runs, {found.inputs:,} inputs: {found.differing} differ "
        f"({time.perf_counter() - began:.0f} s)"
    )
    if found.differing and not examples:
        print('an example of each kind: make same ARGS="same --examples"')
    return 1 if found.differing or not found.runs else 0


def _compare(lines: list[bytes]) -> corpus.Comparison:
    return corpus.compare_all(map(corpus.decode, lines))


def _portions() -> Iterator[list[bytes]]:
    for path in corpus.files():
        lines = corpus.lines(path)
        while portion := list(itertools.islice(lines, PORTION)):
            yield portion


if __name__ == "__main__":
    sys.exit(main())
