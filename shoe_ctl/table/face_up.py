"""Cards that the shoe says lay face up in it: played as if face down, or ruled on.

In: a card drawn with that flag. Out: irregularity.raised .resolved, or a wish to halt.
Must not know: which card it is, what the round wants next.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from . import shoe_cards
from .turn import Turn

KEY = "face_up_in_shoe"
FIRST = "first_card"
"""The step at which its procedure begins where the shoe says so of a round's first card (6.1)."""

SEEN = message("seen_face_up_in_shoe")


def look(turn: Turn) -> None:
    """A card of the round was dealt: after the first one it plays all the same (5.6)."""
    if not turn.drawn.face_up:
        return
    if len(turn.round.cards) > 1:
        _plays_face_down(turn)
    elif not shoe_cards.is_empty(turn):
        turn.then("face_up_first")


def look_at_kept(turn: Turn) -> None:
    """A card came that the round has no place for; before a round's first the halt decides."""
    played = turn.now.round
    if turn.drawn.face_up and played is not None and played.cards:
        _plays_face_down(turn)


def _plays_face_down(turn: Turn) -> None:
    rule = turn.game.rule(KEY, "played_as_face_down")
    turn.tell("irregularity.raised", {"key": KEY, "seen": SEEN.as_data(), "rule": rule})
    turn.tell("irregularity.resolved", {"key": KEY, "how": "played_as_face_down", "rule": rule})
