"""How a table's start, its inputs and what they bring about become records, and back.

In: an input and its effects; a game file and settings. Out: entries of a journal group; the
controller that a ``meta`` record describes. Live and in replay it is this same code.
Must not know: loops, stores, who answers people or arms the shoe.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.games.form import parse
from shoe_ctl.journal.bodies import Meta
from shoe_ctl.journal.group import Group
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Effect, TableEvent
from shoe_ctl.table.inputs import Input, to_bytes
from shoe_ctl.table.settings import TableSettings


def record_input(group: Group, table: str, happened: Input, effects: Iterable[Effect]) -> list[int]:
    """Adds the input and then its events, each at the input's time.

    Effects that are not events leave no record: they follow from the inputs again. Returns the
    events' handles, for ``CommitResult.ids``.
    """
    group.input(table, to_bytes(happened), happened.t_us)
    return [
        group.event(
            table,
            effect.audience,
            effect.type,
            t_us=happened.t_us,
            subject=effect.subject,
            data=effect.data,
            data_restricted=effect.restricted_data,
        )
        for effect in effects
        if isinstance(effect, TableEvent)
    ]


def started_with(game: bytes, settings: TableSettings, *, software: str, t_us: int) -> Meta:
    """The ``meta`` record of a table started with this game file and these settings."""
    return Meta(game=game, settings=msgspec.to_builtins(settings), software=software, t_us=t_us)


def controller_of(meta: Meta) -> TableController:
    """A new controller with the game file and the settings that a table was started with.

    Raises:
        GameFileError: this software cannot read the game file any more.
        JournalError: nor the settings.
    """
    try:
        settings = msgspec.convert(meta.settings, TableSettings)
    except msgspec.ValidationError as error:
        raise JournalError(f"the settings kept in the journal cannot be used: {error}") from None
    return TableController(parse(meta.game, "the journal's game file"), settings)
