"""The power failed in a round: each Player may withdraw all, or play goes on, by what is decided.

In: nothing. Out: its procedure. Must not know: how the power came back, which wager is decided.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.table import power
from shoe_ctl.table.turn import Turn

from .endings import CALL_VOID, GO_ON, PLAY_ON, stands, void
from .grounds import CARDS_OUT, shoe_is_not_ready
from .procedure import Choice, Declared, End, Procedure, Standing, Step
from .withdrawal import has_window, window_step

_KEY = power.KEY
_RULED = (_KEY, "ruled")


# What decides which rule holds. All of it is seen by everyone at the table.


def _holds_cards(standing: Standing) -> bool:
    """A Player has cards in hand that nobody has seen: the rules for lost power are silent."""
    played = standing.now.round
    assert played is not None
    return any(not d.revealed and played.hands.of(d.hand).holder is not None for d in played.cards)


def _by_rule(standing: Standing, end: str) -> bool:
    halt = standing.now.halt
    assert halt is not None
    noted = halt.top.noted
    covered = noted["rule"] is not None and not _holds_cards(standing)
    return covered and noted["end"] == end


def _may_withdraw(standing: Standing) -> bool:
    return _by_rule(standing, "withdrawal") and has_window(standing, _KEY)


def _must_go_on(standing: Standing) -> bool:
    return _by_rule(standing, "continued")


def _not_covered(standing: Standing) -> bool:
    return not (_may_withdraw(standing) or _must_go_on(standing))


def _some_are_being_seen(turn: Turn) -> str | None:
    """A card lies open that the room has not had its time to see: it may decide a wager."""
    opens = turn.faces == "face_up"
    down = any(not dealt.revealed and dealt.card is not None for dealt in turn.round.cards)
    return "the cards are being seen" if opens and down else None


def _stood(standing: Standing) -> dict[str, Any]:
    halt = standing.now.halt
    if halt is None or halt.top.key != _KEY:
        return {}
    return {name: halt.top.noted[name] for name in ("decided", "end", "rule")}


def _prompt(rest: str) -> str:
    return f"leave the cards as they lie; {rest}"


# The procedure.

_CONCLUDE = Choice(PLAY_ON, "dealer", "concluded", (), shoe_is_not_ready, reason=False)
_CONTINUE = _CONCLUDE._replace(then="continued", when=_must_go_on)
_RULED_ON = GO_ON._replace(when=_not_covered)

POWER_FAILURE = Procedure(
    _KEY,
    (
        Step(
            power.UNDECIDED,
            _prompt("with no wager decided each Player may withdraw all, else play goes on"),
            (
                Choice(
                    "offer_withdrawal",
                    "dealer",
                    "window",
                    unless=_some_are_being_seen,
                    reason=False,
                    when=_may_withdraw,
                ),
                _CONTINUE,
                _RULED_ON,
                CALL_VOID,
            ),
            facts=_stood,
        ),
        window_step(
            "window",
            _prompt("ask each Player: withdraw all wagers or none; then close the window"),
            _KEY,
            "conclude",
        ),
        Step(
            "conclude",
            "when the power is back and the shoe is connected, play the round to its end",
            (_CONCLUDE, CALL_VOID),
        ),
    ),
    (
        End("concluded", "concluded", (_KEY, "withdrawal")),
        End("continued", "continued", (_KEY, "continued")),
        stands(_RULED),
        void(_RULED),
    ),
    Declared("dealer", ("closed", *CARDS_OUT, "suspended"), "a loss of power is declared"),
    covers=("link_lost",),
    facts=power.established,
)
