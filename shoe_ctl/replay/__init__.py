"""Replays of a journal, compared with what it holds: bytes to inputs, and inputs to events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.replay.difference import Difference
    from shoe_ctl.replay.input_replay import GameOverrides, read_overrides
    from shoe_ctl.replay.replay import Replay
    from shoe_ctl.replay.wire_replay import RecordedSessions
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Difference": "difference",
            "GameOverrides": "input_replay",
            "RecordedSessions": "wire_replay",
            "Replay": "replay",
            "read_overrides": "input_replay",
        },
    )

__all__ = ["Difference", "GameOverrides", "RecordedSessions", "Replay", "read_overrides"]
