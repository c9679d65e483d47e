"""``shoectl publish``: play recorded events at a broker, so that a table system can be tested.

In: a recording, an address, a pace. Out: the events, as a daemon's sink publishes them.
Must not know: what an event means, how a broker is spoken to.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from shoe_ctl.cli.common import Number, WholeNumber
from shoe_ctl.errors import EnvironmentFault, InputRefused, UsageError
from shoe_ctl.records import Audience, epoch_in, source_of

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from shoe_ctl.cli.recording import Contents, RecordedEvent, Recording
    from shoe_ctl.sinks.pump import Sink

_BATCH = 256
_INTERRUPTED = 130
_MOST_PACE_MS = 3_600_000
_PACE_MS = 100
_UPDATED_EVERY_S = 0.1


@click.command
@click.option(
    "--from",
    "recording",
    required=True,
    metavar="RECORDING",
    help="A file of events, a journal, an export, or irregular_shoe, which comes with shoectl.",
)
@click.option(
    "--to",
    "address",
    default="-",
    metavar="ADDRESS",
    show_default=True,
    help="Where to: mqtt://HOST:PORT, nats://HOST:PORT, or - for stdout.",
)
@click.option(
    "--audience",
    type=click.Choice(["public", "restricted"]),
    default="public",
    show_default=True,
    help="The stream to publish.",
)
@click.option("--table", metavar="ID", help="Publish the events of this table only.")
@click.option(
    "--pace-ms",
    type=WholeNumber(0, _MOST_PACE_MS),
    metavar="N",
    help=f"Wait so long after each event, in milliseconds.  [{_PACE_MS}]",
)
@click.option(
    "--speed",
    type=Number(0, 1000, min_open=True),
    metavar="X",
    help="Wait as long as between the recorded times, divided by X.",
)
@click.option(
    "--new-source", is_flag=True, help="Publish as a new journal, so that no event is known yet."
)
@click.option(
    "--leave-out", metavar="ID", multiple=True, help="Leave out this event. May be given again."
)
def publish(  # noqa: PLR0913 - the options of the command line
    recording: str,
    address: str,
    audience: str,
    table: str | None,
    pace_ms: int | None,
    speed: float | None,
    new_source: bool,
    leave_out: tuple[str, ...],
) -> None:
    """Publish recorded events, so that a table system can be tested without a table.

    RECORDING is a file of JSON lines as a jsonl sink writes it (also compressed with gzip), a
    journal, or an export. irregular_shoe is a recording with a lost link, a double draw, a
    revision, a void round, and a void that revokes an outcome.

    Events keep their ids and sources, so that a receiver that got them before ignores them: with
    --new-source they are new to it. --leave-out makes a gap that the receiver has to notice.

    \b
    Examples:
      shoectl publish --from irregular_shoe --pace-ms 0
      shoectl publish --from irregular_shoe --new-source --leave-out t1/p16
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.recording import Recording

    if pace_ms is not None and speed is not None:
        raise UsageError("--pace-ms cannot be combined with --speed: give one of them")
    sees = Audience[audience.upper()]
    recorded = Recording(recording, sees, table)
    contents = recorded.contents()
    if not contents.events:
        of_table = "" if table is None else f" of table {table}"
        raise InputRefused(f"{recorded.path}: there is no {audience} event{of_table} in it")
    if unknown := [each for each in leave_out if each not in contents.ids]:
        raise UsageError(f"--leave-out: there is no {audience} event {unknown[0]!r} to publish")
    change = _change(leave_out, new_source=new_source)
    gap_s = _pace(_PACE_MS if pace_ms is None else pace_ms, speed)
    _run(recorded, contents, address, sees, change, gap_s)


Change = Callable[["RecordedEvent"], bytes | None]
Pace = Callable[["RecordedEvent", "RecordedEvent"], float]


def _change(leave_out: tuple[str, ...], *, new_source: bool) -> Change:
    """Return what makes of a recorded event the bytes to publish; None: it is left out."""
    epoch = secrets.token_hex(4)

    def change(event: RecordedEvent) -> bytes | None:
        if event.id in leave_out:
            return None
        if not new_source:
            return event.body
        plain: dict[str, Any] = json.loads(event.body)
        if not epoch_in(plain["source"]):
            raise InputRefused(f"{event.id}: its source names no journal: {plain['source']!r}")
        plain["source"] = source_of(epoch, event.table)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()

    return change


def _pace(pace_ms: int, speed: float | None) -> Pace:
    """Return how long to wait between one event and the next, in seconds."""
    if speed is None:
        return lambda _one, _next: pace_ms / 1000

    def recorded(one: RecordedEvent, following: RecordedEvent) -> float:
        try:
            between = datetime.fromisoformat(following.time) - datetime.fromisoformat(one.time)
        except ValueError:
            raise InputRefused(f"{following.id}: time: expected one, for --speed") from None
        return max(0.0, between.total_seconds()) / speed

    return recorded


def _run(  # noqa: PLR0913 - what is published, where and how
    recorded: Recording,
    contents: Contents,
    address: str,
    audience: Audience,
    change: Change,
    pace: Pace,
) -> None:
    from shoe_ctl.cli.run import until_terminated

    counting = _Counting(contents.events)

    async def publishing() -> None:
        async with _sink(address, audience) as sink:
            await _publish(recorded, sink, change, pace, counting)

    try:
        with counting:
            terminated = asyncio.run(until_terminated(publishing()))
    except KeyboardInterrupt:
        behind = "\n" if sys.stderr.isatty() else ""  # the terminal shows ^C
        click.echo(f"{behind}interrupted: {counting}", err=True)
        raise click.exceptions.Exit(_INTERRUPTED) from None
    if terminated:
        click.echo(f"stopped: {counting}", err=True)
    else:
        click.echo(str(counting), err=True)


async def _publish(
    recorded: Recording, sink: Sink, change: Change, pace: Pace, counting: _Counting
) -> None:
    """Publish all of it, as many at a time as come at once.

    Raises:
        EnvironmentFault: the other end takes nothing.
        BrokenPipeError: nobody reads stdout any more.
    """
    before: RecordedEvent | None = None
    together: list[bytes] = []
    for event in recorded:
        wait_s = 0.0 if before is None else pace(before, event)
        if together and (wait_s > 0 or len(together) == _BATCH):
            await _deliver(sink, together, counting)
            together = []
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        before = event
        body = change(event)
        if body is None:
            counting.left_out += 1
        else:
            together.append(body)
    if together:
        await _deliver(sink, together, counting)


async def _deliver(sink: Sink, events: list[bytes], counting: _Counting) -> None:
    from shoe_ctl.sinks.pump import SinkEnded

    try:
        await sink.deliver(events)
    except SinkEnded:
        raise BrokenPipeError from None
    except Exception as error:  # noqa: BLE001 - a sink that is away says so in any way
        raise EnvironmentFault(f"not published: {error}; before that: {counting}") from None
    counting.add(len(events))


@asynccontextmanager
async def _sink(address: str, audience: Audience) -> AsyncIterator[Sink]:
    """Open the sink of an address.

    Raises:
        UsageError: it is no address.
    """
    from concurrent.futures import ThreadPoolExecutor

    if address == "-":
        from shoe_ctl.sinks.jsonl import open_jsonl

        with ThreadPoolExecutor(1, thread_name_prefix="sink") as writer:
            stream = open_jsonl("-", audience, writer)
            try:
                yield stream
            finally:
                await stream.close()
        return
    raise UsageError(
        f"--to: expected mqtt://HOST:PORT, nats://HOST:PORT or - for stdout, not {address!r}"
    )


class _Counting:
    """How many events were published; a bar of it where stderr is a terminal and stdout is not."""

    def __init__(self, events: int) -> None:
        self.published = 0
        self.left_out = 0
        self._events = events
        self._shows = sys.stderr is not None and sys.stderr.isatty() and not _shows_events()
        self._updated_at = 0.0
        self._bar: ProgressBar[Any] | None = None

    def __str__(self) -> str:
        events = "event" if self._events == 1 else "events"
        left_out = f", left out {self.left_out}" if self.left_out else ""
        return f"published {self.published} of {self._events} {events}{left_out}"

    def __enter__(self) -> None:
        if self._shows:
            self._bar = click.progressbar(
                length=self._events, label="published", file=sys.stderr, show_pos=True
            )

    def __exit__(self, *_: object) -> None:
        if self._bar is not None and self._updated_at:
            self._bar.render_finish()

    def add(self, events: int) -> None:
        """Count these as published."""
        self.published += events
        now = time.monotonic()
        if self._bar is not None and now - self._updated_at >= _UPDATED_EVERY_S:
            self._updated_at = now
            self._bar.update(self.published - self._bar.pos)


def _shows_events() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
