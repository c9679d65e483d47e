"""The events that the journal lost, as a stream of NATS JetStream still holds them.

In: where the stream is, the tables, which ids are lost. Out: their lines. It only reads.
Must not know: the journal, what an event means, who compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from shoe_ctl.records import event_id
from shoe_ctl.sinks.jsonl_tail import LONGEST_LINE, MOST_KEPT_BYTES
from shoe_ctl.sinks.nats import subject_of
from shoe_ctl.sinks.nats_connection import NatsConnection, NatsTarget, StoredMessage


class StreamedLines(msgspec.Struct):
    """The lost events that were read, in the stream's order; ``not_kept`` counts further ones."""

    lines: list[bytes] = []
    not_kept: int = 0
    size: int = 0


class _Attributes(msgspec.Struct):
    id: str
    source: str


_attributes = msgspec.json.Decoder(_Attributes)


async def read_lost(
    target: NatsTarget,
    tables: Sequence[str],
    is_lost: Callable[[str, str], bool | None],
    found: StreamedLines,
) -> None:
    """Add to ``found`` what the stream holds of each table's lost events.

    A subject is in the order of the journal: the first lost event is looked for by halves.

    Raises:
        OSError: the stream is away, or does not answer.
        ConfigError: a file with its password or certificates cannot be used.
    """
    connection = NatsConnection(target, "shoe-ctl loss")
    try:
        await connection.open()
        for table in tables:
            await _read_table(connection, subject_of(table, target.audience), is_lost, found)
    finally:
        await connection.close()


async def _read_table(
    connection: NatsConnection,
    subject: str,
    is_lost: Callable[[str, str], bool | None],
    found: StreamedLines,
) -> None:
    last = await connection.last(subject)
    if last is None or _ask(last, is_lost) is False:
        return
    low, high = 0, last.seq  # nothing that is lost lies before high, but for what lies behind low
    while low + 1 < high:
        at = (low + high) // 2
        message = await connection.next_of(subject, at)
        if message is not None and _ask(message, is_lost) is False:
            low = max(at, message.seq)
        else:  # lost, or a stranger's, which tells nothing
            high = at
    async for messages, waiting in connection.follow(subject, after=high - 1):
        for message in messages:
            if _ask(message, is_lost):
                found.size += len(message.body)
                if found.size <= MOST_KEPT_BYTES:
                    found.lines.append(message.body)
                else:
                    found.not_kept += 1
        if not waiting:
            return


def _ask(message: StoredMessage, is_lost: Callable[[str, str], bool | None]) -> bool | None:
    """Return whether the event is lost; None where the message is no event of ours."""
    if len(message.body) > LONGEST_LINE or b"\n" in message.body:
        return None
    try:
        said = _attributes.decode(message.body)
        event_id(said.id)
    except (ValueError, RecursionError):
        return None
    return is_lost(said.id, said.source)
