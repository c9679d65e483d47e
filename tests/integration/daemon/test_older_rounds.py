"""A running daemon finds a round in its journal that the table no longer holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoe_testing.daemon import at_socket_table

BY_TWO = {
    "position": "gaming_shift_manager",
    "reason": "seen by surveillance",
    "consented_by": "Lee",
}


async def test_a_round_before_the_last_one_is_compared_with_what_was_told_of_it(
    tmp_path: Path,
) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.rounds(3)
        first = table.told.data("round.outcome")[0]
        cards = {hand: " ".join(first[hand]["cards"]) for hand in ("player", "banker")}

        async def asks(round_id: str, **more: Any) -> dict[str, Any]:
            args = {"round": round_id, **cards}
            answer: dict[str, Any] = await table.caller.gives(
                "revise_round", args=args, **{**BY_TWO, **more}
            )
            return answer

        for preview in ({}, {"preview": True}):
            same = await asks(first["round_id"], **preview)
            assert same["error"]["code"] == "refused_same_cards"
            other = await asks(f"{first['shoe_id']}-r99", **preview)
            assert other["error"]["code"] == "refused_round_unknown"
            assert other["error"]["text"].startswith(f"there is no round {first['shoe_id']}-r99")
        low = await asks(first["round_id"], position="dealer")
        assert low["needs"] == {"position": "gaming_shift_manager"}
        alone = await asks(first["round_id"], consented_by=None)
        assert not alone["accepted"]
        assert table.told.data("round.revised") == []
        assert (await table.status())["state"] == "idle"
