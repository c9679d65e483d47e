"""The gate that holds back events whose ids may have been used before."""

from __future__ import annotations

from shoe_ctl.journal.journal import DeliveryGate

EVENTS = [(n, f'{{"id":"{table}/p{n}"'.encode()) for n, table in enumerate("abab", start=1)]


def passed(gate: DeliveryGate) -> list[int]:
    return [n for n, _ in gate.passes(EVENTS)]


def test_what_came_since_the_start_waits_for_every_shoe() -> None:
    gate, opened = DeliveryGate(2), []
    gate.on_open(lambda: opened.append(True))
    for table in "ab":
        gate.wait_for(table)
    assert passed(gate) == [1, 2]
    assert gate.holds(3) and not gate.holds(2)
    gate.open("a")
    assert passed(gate) == [1, 2] and not opened
    gate.open("b")
    assert passed(gate) == [1, 2, 3, 4] and opened == [True]


def test_withheld_records_of_one_table_never_pass() -> None:
    gate = DeliveryGate(0, [("a", 1, 2)])
    assert passed(gate) == [2, 3, 4]
    gate.withhold("b", 4, 9)
    assert passed(gate) == [2, 3]


def test_all_shoes_can_be_let_off_at_once() -> None:
    gate, opened = DeliveryGate(2), []
    gate.on_open(lambda: opened.append(True))
    gate.wait_for("a")
    gate.open_all()
    gate.open_all()
    assert passed(gate) == [1, 2, 3, 4] and opened == [True]


def test_the_last_record_that_passed_is_known() -> None:
    gate = DeliveryGate(1)
    gate.wait_for("a")
    passed(gate)
    assert gate.published == 1
    gate.open("a")
    assert gate.published == 1  # nobody asked for more yet
    passed(gate)
    assert gate.published == 4
    assert DeliveryGate(1, published=3).published == 3
