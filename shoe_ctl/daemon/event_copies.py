"""Copies of lost events: what the files and streams of the configured sinks still hold.

In: a configuration, which events are missing. Out: their lines, by sink, or why there are none.
It only reads, and for a bounded time. Must not know: who asks, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

from shoe_ctl.config.schema import Config
from shoe_ctl.config.sinks import JsonlConfig, NatsConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.journal.loss import KeptLines, MissingEvents

READ_WITHIN_S = 20.0
"""A stream is read for no longer: a ruling waits for it."""

NOTHING_KEPT = "the broker keeps no events: ask its subscribers"
MOST_KEPT_BYTES = 1 << 26
"""Lines of all files and streams that are kept: some two thousand rounds. Others are counted."""

STANDARD_OUTPUT = "standard output keeps nothing: ask who read it"

log = logging.getLogger(__name__)


def find_copies(config: Config, missing: MissingEvents) -> list[KeptLines]:
    """Return what the sinks still hold of the missing events. It blocks.

    Raises:
        JournalError: the journal cannot be read.
    """
    found: list[KeptLines] = []
    left = MOST_KEPT_BYTES
    for each in _copies(config, missing):
        size = sum(map(len, each.lines))
        if size > left:
            said = each.trouble or f"{len(each.lines)} lost events are too many to be kept"
            not_kept = each.not_kept + len(each.lines)
            found.append(KeptLines(each.sink, each.file, not_kept=not_kept, trouble=said))
        else:
            left -= size
            found.append(each)
        if found[-1].trouble:
            log.warning(
                'sink %s: lost events not read: from=%s reason="%s"',
                each.sink, each.file, found[-1].trouble,
            )  # fmt: skip
    return found


def _copies(config: Config, missing: MissingEvents) -> Iterator[KeptLines]:
    for sink in config.sink:
        if isinstance(sink, JsonlConfig):
            yield from _in_files(config, sink, missing)
        elif isinstance(sink, NatsConfig):
            yield _in_stream(config, sink, missing)
        else:
            yield KeptLines(sink.known_as, sink.address, trouble=NOTHING_KEPT)


def _in_files(config: Config, sink: JsonlConfig, missing: MissingEvents) -> Iterator[KeptLines]:
    if sink.path == "-":
        yield KeptLines(sink.known_as, sink.path, trouble=STANDARD_OUTPUT)
        return
    from shoe_ctl.sinks.jsonl_tail import find_lost_lines

    path = config.path(sink.path)
    for found in find_lost_lines(path, missing):
        said = sink.path if found.path == path else found.path.name
        if found.lines or found.not_kept or found.trouble:
            yield KeptLines(sink.known_as, said, found.lines, found.not_kept, found.trouble)


def _in_stream(config: Config, sink: NatsConfig, missing: MissingEvents) -> KeptLines:
    # The client of NATS is imported only for a broker.
    from shoe_ctl.daemon.nats_sinks import target_of
    from shoe_ctl.sinks.nats_history import StreamedLines, read_lost

    target = target_of(config, sink)
    tables = [table.id for table in config.table if sink.is_for(table.id)]
    found = StreamedLines()

    async def read() -> None:
        async with asyncio.timeout(READ_WITHIN_S):
            await read_lost(target, tables, missing, found)

    trouble = ""
    try:
        asyncio.run(read())
    except TimeoutError:
        trouble = f"not all was read within {READ_WITHIN_S:g} s"
    except (OSError, ConfigError) as error:
        trouble = str(error)
    return KeptLines(
        sink.known_as, f"{target.where} {target.stream}", found.lines, found.not_kept, trouble
    )
