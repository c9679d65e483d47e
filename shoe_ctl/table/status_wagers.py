"""What the status says of wagers: what lies at each seat, and what the outcome makes of it.

In: the table's state, its game, its settings. Out: plain values; Players only if asked for.
Must not know: who asks, how it is shown.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.games.game import Game

from .settings import TableSettings
from .state import TableState
from .wagers import settling
from .wagers.held import Wager
from .wagers.limits import WagerRules

_OF_THE_WAGER = ("number", "player", "seat", "wager")
"""What a line of a settlement says that the wager itself says already."""


def shown(
    now: TableState, game: Game, settings: TableSettings, *, restricted: bool
) -> list[dict[str, Any]]:
    """The wagers on the layout, seat by seat counter-clockwise; ``player`` only if ``restricted``.

    Amounts are minor units. ``not_honoured`` came after *no more bets* and goes back; what was
    ``taken_back`` is settled as if it stood. Once the outcome is announced ``settlement`` says what
    *settle* will record of the wager: the same values as in ``wager.settled``.
    """
    if not now.wagers.standing:
        return []
    rules = WagerRules(game, settings.layout, settings.limits)
    lines = _lines(now, game, settings, rules)
    held = settling.in_order(now.wagers.standing, rules)
    return [_wager(one, lines.get(one.number), restricted=restricted) for one in held]


def _lines(
    now: TableState, game: Game, settings: TableSettings, rules: WagerRules
) -> dict[int, settling.Line]:
    """How each wager will be settled, by its number; nothing before the outcome is announced."""
    if now.state != "resolved" or now.round is None:
        return {}
    hands = (now.round.hand("player"), now.round.hand("banker"))
    settlement = game.settle_hands(*hands, layout=settings.layout)
    settled = settling.settle(now.wagers, settlement, rules)
    return {line.number: line for line in settled.lines}


def _wager(held: Wager, line: settling.Line | None, *, restricted: bool) -> dict[str, Any]:
    said: dict[str, Any] = {
        "number": held.number,
        "seat": held.seat,
        "wager": held.wager,
        "amount": held.amount,
    }
    said |= {"player": held.player} if restricted else {}
    said |= {"not_honoured": held.not_honoured} if held.not_honoured else {}
    said |= {"taken_back": True} if held.taken_back else {}
    if line is not None:
        data = settling.line_data(line)
        said["settlement"] = {k: v for k, v in data.items() if k not in _OF_THE_WAGER}
    return said
