"""How an input and what it brought about become records: the same live and in replay.

In: an input and its effects. Out: entries of a journal group.
Must not know: loops, stores, who answers people or arms the shoe.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoe_ctl.history.revised import Told
from shoe_ctl.journal.group import Group
from shoe_ctl.table.effects import Effect, TableEvent
from shoe_ctl.table.inputs import Input, to_bytes


def record_input(
    group: Group, table: str, happened: Input, effects: Iterable[Effect], told: Told
) -> list[int]:
    """Adds the input and then its events, each at the input's time.

    Effects that are not events leave no record: they follow from the inputs again. ``told`` knows
    the events that earlier groups committed. Returns the events' handles, for ``CommitResult.ids``.
    """
    group.input(table, to_bytes(happened), happened.t_us)
    return [
        _record(group, table, happened.t_us, effect, told)
        for effect in effects
        if isinstance(effect, TableEvent)
    ]


def _record(group: Group, table: str, t_us: int, event: TableEvent, told: Told) -> int:
    data, restricted = event.data, event.restricted_data
    if event.revises is not None:
        ids = told.of(event.revises)
        restricted = {**(data if restricted is None else restricted), "revises": ids.restricted}
        data = {**data, "revises": ids.public}
    return group.event(
        table,
        event.audience,
        event.type,
        t_us=t_us,
        subject=event.subject,
        data=data,
        data_restricted=restricted,
    )
