"""The shoe of a bench: cards that are awaited, a person who is asked, a shoe that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shoe_bench import shoe
from shoe_bench.errors import BenchError, NotInTime


class LateCards:
    """Cards that come once a person was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, line: str) -> None:
        self.asked.append(line)

    def pass_over(self) -> None:
        raise AssertionError("a device's own cards count")

    def next(self, cards: int, within_s: float) -> Sequence[str | None]:
        if not self.asked:
            raise NotInTime(f"{within_s:g}")
        return ["4D"] * cards


@pytest.mark.parametrize(
    ("cards", "line"),
    [
        (1, "/dev/shoe: draw a card when the shoe frees it (29 s)"),
        (4, "/dev/shoe: draw 4 cards, each when the shoe frees it (29 s)"),
    ],
)
def test_a_person_is_asked_to_draw_from_a_device_that_does_not(cards: int, line: str) -> None:
    late = LateCards()
    device = shoe.BenchShoe(
        kind=shoe.DEVICE, profile="reference", port="/dev/shoe", control=None, tell=late.ask
    )
    device.connect(late, 30.0)
    assert device.draw(cards) == ["4D"] * cards
    assert late.asked == [line]


@pytest.mark.parametrize(
    ("profile", "setup", "why"),
    [
        ("reference", {"cards": "1X"}, "shoe.cards: expected cards such as 7D TS 4g, not '1X'"),
        ("reference", {"card": "7D"}, "shoe.card: unknown key"),
        ("bee_tek", {"dirty_lens": {"unsure": 0.5}}, "a shoe of profile bee_tek cannot report"),
        ("nobody", {}, "nobody"),
    ],
)
def test_a_simulated_shoe_that_cannot_be_is_one_line(
    tmp_path: Path, profile: str, setup: dict[str, object], why: str
) -> None:
    simulated = shoe.SimulatedShoe(tmp_path, profile, setup)
    with pytest.raises(BenchError) as wrong:
        simulated.start(30.0)
    assert why in str(wrong.value)
    assert "\n" not in str(wrong.value)
    simulated.stop(30.0)


def test_a_simulated_shoe_opens_once_a_host_is_there(tmp_path: Path) -> None:
    """What a shoe without a memory says before that is lost."""
    simulated = shoe.SimulatedShoe(tmp_path, "bee_tek", {})
    simulated.start(30.0)
    try:
        with pytest.raises(NotInTime, match="no host opened the simulated shoe's port in 0 s"):
            simulated.open(0.0)
    finally:
        simulated.stop(30.0)
