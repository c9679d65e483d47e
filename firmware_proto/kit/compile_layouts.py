"""``python -m firmware_proto.kit.compile_layouts [--check]``: derives from the construct layouts.

In: each profile's ``layouts``. Out: its ``compiled_layouts.py``, by which sessions read and write
without construct, and the tables of its SPEC.md. Both are committed; a test holds them equal.
Must not know: sessions, what events mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import firmware_proto
from firmware_proto.kit import angel_eye_layouts, bee_tek_layouts, reference_layouts

ROOT = next(iter(firmware_proto.__path__))

_COMPILED = {
    "reference": reference_layouts.compiled,
    "angel_eye": angel_eye_layouts.compiled,
    "bee_tek": bee_tek_layouts.compiled,
}
_SPECS: dict[str, Callable[[str], str]] = {
    "reference": reference_layouts.spec,
    "angel_eye": angel_eye_layouts.spec,
    "bee_tek": bee_tek_layouts.spec,
}


def derived_files() -> Iterator[tuple[str, str, str]]:
    """Each derived file: its path, its text as it is now, and as the layouts give it.

    Raises:
        TypeError: a layout uses something that cannot be compiled.
    """
    for profile, compiled in _COMPILED.items():
        path = f"{ROOT}/{profile}/compiled_layouts.py"
        yield path, read(path), compiled()
    for profile, spec in _SPECS.items():
        path = f"{ROOT}/{profile}/SPEC.md"
        text = read(path)
        yield path, text, spec(text)


def read(path: str) -> str:
    """The text of a file; empty where there is none yet."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - no paths in the wire
            return file.read()
    except FileNotFoundError:
        return ""


def main() -> None:
    """Write what changed, or with ``--check`` fail where something would."""
    parser = argparse.ArgumentParser(
        prog="python -m firmware_proto.kit.compile_layouts",
        description="Derive compiled_layouts.py and the tables of SPEC.md from the layouts.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if they differ")
    check = parser.parse_args().check
    stale = [(path, new) for path, old, new in derived_files() if old != new]
    for path, text in stale:
        print(f"{'out of date' if check else 'written'}: {path}")  # noqa: T201 - the answer
        if not check:
            with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - no paths in the wire
                file.write(text)
    if check and stale:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
