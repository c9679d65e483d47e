"""Which worker's journal has which table: checked at each start, before anything is opened.

In: a configuration, the journals of all workers. Out: nothing, or an error that says what to do.
Must not know: how a worker is started, what a record means.
"""

from __future__ import annotations

import re

from shoe_ctl.config.schema import MOST_WORKERS, Config, numbered
from shoe_ctl.errors import ConfigError, JournalError


def check_histories(config: Config) -> None:
    """Refuse a table whose records are in the journal of another worker.

    Served from a journal without these records, the table would forget its round, and would number
    its events from 1 again.

    Raises:
        ConfigError: one line that names the table, the journal and what to do.
        JournalError: the journal of a worker without tables cannot be read.
    """
    path = config.path(config.journal.path)
    form = re.compile(re.escape(path.stem) + "-([1-9][0-9]?)" + re.escape(path.suffix))
    try:
        names = [match for file in path.parent.iterdir() if (match := form.fullmatch(file.name))]
    except OSError:  # opening the journal reports what is wrong
        return
    workers = {int(found[1]) for found in names if 1 < int(found[1]) <= MOST_WORKERS}
    if not workers and config.workers == [1]:
        return
    from shoe_ctl.journal.reader import Reader  # most configurations need none

    holders: dict[str, list[int]] = {}
    unread = set()
    for worker in sorted(workers | {1}):
        journal = config.path(numbered(config.journal.path, worker))
        if not journal.exists():
            continue
        try:
            with Reader.open(journal) as reader:
                for table in reader.heads()[1]:
                    holders.setdefault(table, []).append(worker)
        except JournalError:
            if worker not in config.workers:
                raise
            unread.add(worker)  # the worker reports what is wrong
    for configured in config.table:
        held = holders.get(configured.id, [])
        if held and configured.worker not in {*held, *unread}:
            journal = config.path(numbered(config.journal.path, held[0]))
            raise ConfigError(
                f"{config.file}: table {configured.id}: worker: its records are in {journal}: "
                f"set worker = {held[0]}, or move that journal to another folder to begin again"
            )
