"""Tables that are played by Methods A and C.

In: the method, wagers. Out: a table with the initial deal on it, and what was told of whom.
"""

from __future__ import annotations

from typing import Any

from shoe_testing.tables import Playing

PIT = {"supervisor": "pit_supervisor", "manager": "pit_manager"}
CASINO = "assistant_casino_manager"
HLGA: dict[str, Any] = {"method": "C", "area": "Paiza Club"}
BOTH_DRAW = "2D 3C TS TH"
STAND = "7D 7C TS TH"
BANKER_WINS = "2D 8C TS TH"
PLAYER_WINS = "9C 2D KD 3H"
TIED = "9C 9D KD KH"

Stake = tuple[str, int, str, int]


def at(method: str = "A", **given: Any) -> Playing:
    area = {"area": "Paiza Club"} if method == "C" else {}
    return Playing(**{"method": method, **area, **given}).open_shoe()


def betting(*stakes: Stake, method: str = "A", **given: Any) -> Playing:
    table = at(method, **given)
    bet(table, *stakes)
    return table


def bet(table: Playing, *stakes: Stake) -> None:
    """*Place your bets*, and these: who, at which seat, on what, how much."""
    table.does("place_your_bets")
    for player, seat, wager, amount in stakes:
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)


def dealt(*stakes: Stake, method: str = "A", codes: str = BOTH_DRAW, **given: Any) -> Playing:
    """The initial deal lies face down."""
    table = betting(*stakes, method=method, **given)
    table.does("no_more_bets")
    for code in codes.split():
        table.draw(code)
    return table


def opened(*stakes: Stake, **given: Any) -> Playing:
    """As ``dealt``, with both hands passed where they are due to somebody, and exposed."""
    table = dealt(*stakes, **given)
    for hand in ("player", "banker"):
        table.asks("pass_cards", hand=hand)
        table.does("expose", hand=hand)
    return table


def refused(table: Playing, command: str, **more: Any) -> str:
    """Why the command is refused; nothing is changed by it, and the room hears nothing."""
    public = len(table.public)
    before = table.now
    answer = table.asks(command, **more)
    assert not answer.accepted, answer
    assert len(table.public) == public
    for part in ("state", "round", "control", "method", "wagers"):
        assert getattr(table.now, part) == getattr(before, part)
    assert answer.error is not None
    return answer.error


def secret(table: Playing, kind: str) -> list[dict[str, Any]]:
    """What the restricted stream was told."""
    return [
        e.data if e.restricted_data is None else e.restricted_data
        for e in table.events
        if e.type == kind
    ]
