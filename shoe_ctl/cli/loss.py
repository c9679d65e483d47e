"""``shoectl loss``: show what a journal lost, before anyone rules on it, and who still has it.

In: a journal's path, the configuration whose sinks' files are compared. Out: lines for people or
one JSON object; exit 1 where something may be
lost. It reads only. Must not know: how a loss is found.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shoe_ctl.journal.evidence import DeliveredEvent
    from shoe_ctl.journal.loss import Loss


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compare the files of this configuration's sinks, too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def loss(ctx: click.Context, journal: Path, config_path: Path | None, as_json: bool) -> None:
    """Show what JOURNAL lost, and who still has it, before a ruling.

    No card is named: cards are counted. The exit code is 1 if something may be lost.

    \b
    Example:
      shoectl loss journal.db --config table.toml
    """  # noqa: D301 - click wants the very character
    found = _found(journal, config_path)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show(found)
    ctx.exit(1 if found.evidence else 0)


def _found(journal: Path, config_path: Path | None) -> Loss:
    from functools import partial

    from shoe_ctl.journal.evidence import find_evidence
    from shoe_ctl.journal.files import is_held
    from shoe_ctl.journal.loss import KeptLines, MissingEvents, find_loss
    from shoe_ctl.journal.reader import Reader

    given: Callable[[], Iterable[DeliveredEvent]] = tuple
    files: list[tuple[str, str, Path]] = []
    if config_path is not None:
        from shoe_ctl.config.schema import load
        from shoe_ctl.config.sinks import JsonlConfig
        from shoe_ctl.daemon.delivery import given_last

        config = load(config_path)
        given = partial(given_last, config)
        files = [
            (sink.known_as, sink.path, config.path(sink.path))
            for sink in config.sink
            if isinstance(sink, JsonlConfig) and sink.path != "-"
        ]
    with Reader.open(journal) as reader:
        evidence = find_evidence(reader, given, writer_at_work=is_held(reader.path))
        kept = []
        if files:
            from shoe_ctl.sinks.jsonl_tail import lines_behind

            missing = MissingEvents(reader)
            for sink, said, path in files:
                with suppress(OSError):
                    kept.append(KeptLines(sink, said, lines_behind(path, missing)))
        return find_loss(reader, evidence, kept)


def _show(found: Loss) -> None:
    from shoe_ctl.terminal_text import printable

    if not found.evidence:
        click.echo(f"nothing shows a loss: record {found.last_n} is the last")
    for doubt in found.evidence:
        click.echo(printable(doubt.what))
    if found.records is not None:
        click.echo(f"records lost   {found.records} or more, behind record {found.last_n}")
    for part in found.tables:
        click.echo(f"table {printable(part.table)}")
        for each in part.rounds:
            end = "with its outcome" if each.outcome else "without an outcome"
            click.echo(f"  round {printable(each.round_id)}: {each.cards} cards dealt, {end}")
        for held in part.held_by:
            what = f"{held.first} to {held.last}" if held.first else "events of that stream"
            whole = "without a gap" if held.gapless else "with gaps"
            who = f"{printable(held.sink)} ({printable(held.file)})"
            click.echo(f"  {held.stream} stream: {who} has {what}, {whole}")
        if not part.held_by:
            click.echo("  no sink's file that was compared has any of it")
