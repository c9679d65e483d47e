"""How an input and what it brought about become records: the same live and in replay.

In: an input and its effects. Out: entries of a journal group.
Must not know: loops, stores, who answers people or arms the shoe.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoe_ctl.journal.group import Group
from shoe_ctl.table.effects import Effect, TableEvent
from shoe_ctl.table.inputs import Input, to_bytes


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
