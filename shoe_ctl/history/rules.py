"""What a table is run under, from and to the journal: its game file and its settings.

In: a game and settings, or the journal's account of them. Out: Meta records, a controller.
Must not know: links, sinks, loops.
"""

from __future__ import annotations

from functools import cache

import msgspec

from shoe_ctl.errors import ConfigError, JournalError
from shoe_ctl.games import form
from shoe_ctl.games.game import Game
from shoe_ctl.journal.bodies import Meta
from shoe_ctl.records import NO_EPOCH
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.settings import TableSettings


def meta(game: Game, settings: TableSettings, t_us: int, epoch: str = NO_EPOCH) -> Meta:
    """What the journal keeps of a start: enough to run the table's inputs again, anywhere."""
    return Meta(
        game=game.source,
        settings=msgspec.to_builtins(settings),
        software=software(),
        t_us=t_us,
        epoch=epoch,
    )


@cache
def software() -> str:
    """The version of shoe-ctl that runs."""
    from importlib.metadata import version  # costs more than the rest of a replay's imports

    return version("shoe-ctl")


def controller(kept: Meta, before: TableController | None = None) -> TableController:
    """A controller under these rules; ``before`` is the table until now, whose state goes on.

    A shoe of other cards than the new rules play with is left behind.

    Raises:
        JournalError: the settings or the game file cannot be read.
    """
    try:
        settings = msgspec.convert(kept.settings, TableSettings)
        game = form.parse(kept.game, "the journal's game file")
    except ValueError as error:
        raise JournalError(f"the journal's settings cannot be read: {error}") from None
    if before is None:
        return TableController(game, settings)
    state = before.state
    same_cards = (before.game.deck, before.settings.decks) == (game.deck, settings.decks)
    if not same_cards and state.state != "no_shoe":
        state = msgspec.structs.replace(
            state,
            state="no_shoe",
            shoe=None,
            halt=None,
            unplaced=tuple(c for c in state.unplaced if c.role not in ("held", "outside_game")),
            loaded=None,
            arming=None,
        )
    return TableController(game, settings, state)


def go_on(before: TableController | None, kept: Meta | None, started: Meta) -> TableController:
    """The controller to start with: the table as it was, under the rules configured now.

    Raises:
        ConfigError: a round is open, and the rules it began under were changed.
    """
    if before is None or kept is None:
        return controller(started)
    if started.same_rules(kept):
        return before
    if before.state.round is not None:
        raise ConfigError(
            f"table {before.settings.table}: round {before.state.round.id} is open under other "
            "settings or another game file; start with those, end the round, then change them"
        )
    return controller(started, before)
