"""A cable that is pulled at chosen bytes, and proof that it cost nothing.

In: places to cut; a shoe and what a daemon wrote beside it. Out: what was lost or doubled.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoe_testing.daemon import ShoeAtTable, nothing_is_wrong_with
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each
from simulators.faults import CleanLine


class CutLine(CleanLine):
    """Pulls the cable behind these bytes, counted over all connections."""

    def __init__(self, cuts: Iterable[int]) -> None:
        super().__init__()
        self.cuts = sorted(cuts)
        self._carried = 0
        self._out = False

    def put(self, data: bytes, t: float) -> None:
        if self._out:
            return
        room = self.cuts[0] - self._carried if self.cuts else len(data) + 1
        if len(data) >= room:
            data, self._out = data[:room], True
            self.cuts.pop(0)
        self._carried += len(data)
        super().put(data, t)

    def pulled(self, t: float) -> bool:  # noqa: ARG002 - as a line has it
        pulled, self._out = self._out, False
        return pulled

    def cut(self) -> None:
        super().cut()
        self._out = False


def nothing_was_lost_or_doubled(folder: Path, shoe: ShoeAtTable) -> list[dict[str, Any]]:
    """Both streams hold every round and every card once; gives the public one."""
    public, restricted = (lines_of(folder / f"{name}.jsonl") for name in ("public", "restricted"))
    for stream in (public, restricted):
        assert once_each(stream) == stream
        all_agree(of_type(stream, "round.outcome"), shoe.rounds)
    drawn = [(data["number"], data["card"]) for data in of_type(restricted, "round.card_drawn")]
    assert drawn == shoe.truth.cards
    halts = of_type(public, "table.halted")
    assert {halt["reason"] for halt in halts} == {"link_lost"}
    assert len(of_type(public, "table.resumed")) == len(halts)
    assert nothing_is_wrong_with(folder / "journal.db") == len(shoe.rounds)
    return public
