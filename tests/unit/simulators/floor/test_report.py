"""The report of a load in words: which tables were at fault."""

from __future__ import annotations

from typing import Any

from simulators.floor.report import in_words


def table(number: int, **found: Any) -> dict[str, Any]:
    fine = {"connections": 1, "never_armed": False, "waiting": False}
    return {"table": f"t{number}", "port": f"tcp://x:{number}", **fine, **found}


def test_tables_at_fault_are_named() -> None:
    each = [table(1), table(2, never_armed=True), table(3, waiting=True)]
    each += [table(number, connections=0) for number in range(4, 10)]
    sums = dict.fromkeys(
        ("connected", "connections", "never_armed", "drawn", "acknowledged", "waiting", "refused",
         "seconds", "seed"), 0,
    )  # fmt: skip
    lines = list(in_words({**sums, "tables": len(each), "each": each}))
    gone = ", ".join(f"t{number} (tcp://x:{number})" for number in range(4, 9))
    assert [line for line in lines if "(tcp://" in line] == [
        f"not connected {gone} and 1 more",
        "never armed   t2 (tcp://x:2)",
        "no answer     t3 (tcp://x:3)",
    ]
