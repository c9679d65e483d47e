"""``shoectl publish``: play recorded events at a broker, so that a table system can be tested.

In: a recording, an address, a pace. Out: the events, as a daemon's sink publishes them.
Must not know: what an event means, how a broker is spoken to.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoe_ctl.cli.common import Number, WholeNumber, is_terminal
from shoe_ctl.cli.publish_target import Deliver, Target, opened
from shoe_ctl.errors import EnvironmentFault, InputRefused, UsageError
from shoe_ctl.records import Audience, epoch_in, source_of

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from shoe_ctl.cli.recording import Contents, RecordedEvent, Recording

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
@click.option("--user", metavar="NAME", help="Log in to the broker as this user.")
@click.option("--password-file", metavar="FILE", help="A file with the password of that user.")
@click.option(
    "--ca", metavar="FILE", help="The authorities that may sign the broker's certificate."
)
@click.option("--cert", metavar="FILE", help="The certificate to show to the broker.")
@click.option("--key", metavar="FILE", help="The key of that certificate.")
@click.option("--stream", metavar="NAME", help="The stream of JetStream.  [SHOE, SHOE_RESTRICTED]")
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
    user: str | None,
    password_file: str | None,
    ca: str | None,
    cert: str | None,
    key: str | None,
    stream: str | None,
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

    At a broker the events appear as those of a daemon do: on the same topics and subjects, but
    without the state of the table, and nobody answers commands.

    \b
    Examples:
      shoectl publish --from irregular_shoe --pace-ms 0
      shoectl publish --from irregular_shoe --pace-ms 0 --leave-out t1/p16
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.recording import Recording

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.ERROR)
    if pace_ms is not None and speed is not None:
        raise UsageError("--pace-ms cannot be combined with --speed: give one of them")
    target = Target(
        address,
        user=user,
        password=_path(password_file),
        ca=_path(ca),
        cert=_path(cert),
        key=_path(key),
        stream=stream,
    )
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
    _run(recorded, contents, target, sees, change, gap_s)


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


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
    target: Target,
    audience: Audience,
    change: Change,
    pace: Pace,
) -> None:
    from shoe_ctl.cli.run import until_terminated

    counting = _Counting(contents.events, on_stdout=target.address == "-")

    async def publishing() -> None:
        async with opened(target, audience, contents.tables) as deliver:
            await _publish(recorded, deliver, change, pace, counting)

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
    recorded: Recording, deliver: Deliver, change: Change, pace: Pace, counting: _Counting
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
            await _deliver(deliver, together, counting)
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
        await _deliver(deliver, together, counting)


async def _deliver(deliver: Deliver, events: list[bytes], counting: _Counting) -> None:
    from shoe_ctl.sinks.pump import SinkEnded

    try:
        await deliver(events)
    except SinkEnded:
        raise BrokenPipeError from None
    except Exception as error:  # noqa: BLE001 - a sink that is away says so in any way
        so_far = f"; {counting}" if counting.published else ""
        raise EnvironmentFault(f"not published: {error}{so_far}") from None
    counting.add(len(events))


class _Counting:
    """The count of events published; a bar of it on a terminal that does not show the events."""

    def __init__(self, events: int, *, on_stdout: bool) -> None:
        self.published = 0
        self.left_out = 0
        self._events = events
        shows_events = on_stdout and is_terminal()
        self._shows = sys.stderr is not None and sys.stderr.isatty() and not shows_events
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
            click.echo("\x1b[1A\r\x1b[K", err=True, nl=False)  # the line that the bar was on

    def add(self, events: int) -> None:
        """Count these as published."""
        self.published += events
        now = time.monotonic()
        if self._bar is not None and now - self._updated_at >= _UPDATED_EVERY_S:
            self._updated_at = now
            self._bar.update(self.published - self._bar.pos)
