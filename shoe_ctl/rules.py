"""What a table is run under, from and to the journal: its game file, its settings, its state.

In: a game and settings, or the journal's account of them. Out: Meta records, a controller.
Must not know: links, sinks, loops.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.errors import ConfigError, JournalError
from shoe_ctl.games import form
from shoe_ctl.games.game import Game
from shoe_ctl.journal.bodies import Kind, Meta
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import meta_of
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import from_bytes
from shoe_ctl.table.settings import TableSettings


def meta(game: Game, settings: TableSettings, t_us: int) -> Meta:
    """What the journal keeps of a start: enough to run the table's inputs again, anywhere."""
    from importlib.metadata import version  # costs more than the rest of a replay's imports

    return Meta(
        game=game.source,
        settings=msgspec.to_builtins(settings),
        software=version("shoe-ctl"),
        t_us=t_us,
    )


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
            state, state="no_shoe", shoe=None, halt=None, kept=(), loaded=None, armed=None
        )
    return TableController(game, settings, state)


def recover(reader: Reader, table: str) -> tuple[TableController | None, Meta | None]:
    """The table as its inputs left it, and what it was last run under; None for a new table.

    Raises:
        JournalError: the journal cannot be read.
    """
    now: TableController | None = None
    kept: Meta | None = None
    for record in reader.records(table=table, kinds=(Kind.META, Kind.INPUT)):
        if record.kind == Kind.META.value:
            started = meta_of(record)
            if now is None or kept is None or not started.same_rules(kept):
                now = controller(started, now)
            kept = started
        elif now is None:
            raise JournalError(f"record {record.n}: an input before the table was started")
        else:
            now.handle(from_bytes(record.body))
    return now, kept


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
