"""What a configuration lacks although it can be served: nobody who could let a halted table go on.

In: a configuration. Out: a line for people for each thing that will be missed one day.
Must not know: games, what is halted, how a line is shown.
"""

from __future__ import annotations

from shoe_ctl.config.schema import Config
from shoe_ctl.table.commands import COMMANDS, can_give

NO_WAY_IN = (
    "no [socket]: nobody can decide about a table that halts, or resume it; it stands still until "
    "a [socket] is added and the daemon started again"
)

NOBODY_RESUMES = (
    "[socket]: none of its users may resume a table that halts; it stands still until one is "
    f"added as {COMMANDS['resume'].position} or higher and the daemon started again"
)


def lacks(config: Config) -> list[str]:
    """Nothing, where everything is there."""
    if config.socket is None:
        return [NO_WAY_IN]
    positions = [held for user in config.socket.user for held in (user.position, *user.also)]
    highest = [table.highest_position for table in config.table]
    resumes = all(
        any(
            can_give(held, "resume", COMMANDS["resume"].position, highest=top) for held in positions
        )
        for top in highest
    )
    return [] if resumes else [NOBODY_RESUMES]
