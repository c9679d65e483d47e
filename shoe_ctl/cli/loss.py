"""``shoectl loss``: show what a journal lost, who still has it, and what earlier rulings kept.

In: a journal's path, the configuration whose sinks are asked. Out: lines for people, one JSON
object, or recovered events as JSON lines; exit 1 where something may be lost. It reads only.
Must not know: how a loss is found, which events name a card.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoe_ctl.config.schema import Config
    from shoe_ctl.journal.evidence import DeliveredEvent, Evidence
    from shoe_ctl.journal.loss import KeptLines, Loss, LostPart, Unread


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ask this configuration's sinks (files, rotated ones, streams) and daemon, too.",
)
@click.option(
    "--recovered",
    is_flag=True,
    help="Print the events that earlier rulings kept, one JSON object per line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def loss(
    ctx: click.Context, journal: Path, config_path: Path | None, recovered: bool, as_json: bool
) -> None:
    """Show what JOURNAL lost, and who still has it, before a ruling.

    It also shows earlier rulings, and what they kept of what sinks still had.

    No card is named: cards are counted. The exit code is 1 if something may be lost.

    With --recovered it prints each event that was kept, with the ruling's record and the file or
    stream that had it. No card of a round without an outcome is named: such an event says only
    where a card lies ("is_withheld"). The lines are restricted information.

    \b
    Examples:
      shoectl loss journal.db --config table.toml
      shoectl loss journal.db --recovered
    """  # noqa: D301 - click wants the very character
    if recovered:
        if config_path is not None or as_json:
            raise UsageError("--recovered cannot be combined with --config or --json")
        _print_recovered(journal)
        return
    found = _found(journal, config_path)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show(found)
    ctx.exit(1 if found.evidence else 0)


def _print_recovered(journal: Path) -> None:
    import msgspec

    from shoe_ctl.journal.loss import shown_recovered
    from shoe_ctl.journal.reader import Reader

    with Reader.open(journal) as reader:
        for line in shown_recovered(reader):
            click.echo(msgspec.json.encode(line))


def _found(journal: Path, config_path: Path | None) -> Loss:
    from shoe_ctl.journal.evidence import find_evidence
    from shoe_ctl.journal.files import is_held
    from shoe_ctl.journal.loss import MissingEvents, find_loss
    from shoe_ctl.journal.reader import Reader

    with Reader.open(journal) as reader:
        kept: list[KeptLines] = []
        given: list[DeliveredEvent] = []
        shown: list[Evidence] = []
        if config_path is not None:
            from shoe_ctl.config.schema import load
            from shoe_ctl.daemon.event_copies import find_copies

            config = load(config_path)
            kept = find_copies(config, MissingEvents(reader))
            given = _given(config, kept)
            shown = _shown_by_shoes(config)
        evidence = find_evidence(reader, lambda: given, writer_at_work=is_held(reader.path))
        return find_loss(reader, [*evidence, *shown], kept)


def _shown_by_shoes(config: Config) -> list[Evidence]:
    """Return what the shoes show, as the daemon of this configuration reports it.

    Nothing where no daemon is there, or where it does not answer this user.
    """
    from shoe_ctl.cli.table import Wire
    from shoe_ctl.errors import EnvironmentFault
    from shoe_ctl.journal.evidence import Evidence

    if config.socket_path is None:
        return []
    try:
        with Wire(config.socket_path) as wire:
            tables = wire.ask({"request": "status"}).get("tables") or []
    except EnvironmentFault:
        return []
    doubts = (table["doubt"].partition(";")[0] for table in tables if table.get("doubt"))
    return [Evidence("shoe", doubt) for doubt in doubts]


def _given(config: Config, kept: Iterable[KeptLines]) -> list[DeliveredEvent]:
    """Return the last events that the sinks were given: by their files, and by their streams."""
    from shoe_ctl.config.sinks import JsonlConfig
    from shoe_ctl.daemon.delivery import given_last
    from shoe_ctl.journal.loss import last_delivered

    files = {sink.known_as for sink in config.sink if isinstance(sink, JsonlConfig)}
    return [*given_last(config), *last_delivered(each for each in kept if each.sink not in files)]


def _show(found: Loss) -> None:
    from shoe_ctl.records import utc
    from shoe_ctl.terminal_text import printable

    if not found.evidence:
        click.echo(f"nothing shows a loss: record {found.last_n} is the last")
    for doubt in found.evidence:
        click.echo(printable(doubt.what))
    if found.records is not None:
        click.echo(f"records lost   {found.records} or more, behind record {found.last_n}")
    _show_parts(found.tables, found.unread)
    for ruled in found.ruled:
        who = f"{printable(ruled.person)}: {printable(ruled.reason)}"
        click.echo(f"record {ruled.n}, {utc(ruled.t_us)}: a loss was accepted by {who}")
        for what in ruled.lost:
            click.echo(f"  {printable(what)}")
        _show_parts(ruled.tables, ruled.unread)


def _show_parts(tables: Iterable[LostPart], unread: Iterable[Unread]) -> None:
    from shoe_ctl.terminal_text import printable

    for part in tables:
        click.echo(f"table {printable(part.table)}")
        for each in part.rounds:
            end = "with its outcome" if each.outcome else "without an outcome"
            click.echo(f"  round {printable(each.round_id)}: {each.cards} cards dealt, {end}")
        for held in part.held_by:
            what = f"{held.first} to {held.last}" if held.first else "events of that stream"
            whole = "without a gap" if held.gapless else "with gaps"
            if held.not_kept:
                whole += f", and {held.not_kept} events that are too many to read here"
            who = f"{printable(held.sink)} ({printable(held.file)})"
            click.echo(f"  {held.stream} stream: {who} has {what}, {whole}")
        if not part.held_by:
            click.echo("  no sink that was asked has any of it")
    for source in unread:
        who = f"{printable(source.sink)} ({printable(source.file)})"
        click.echo(f"not read: {who}: {printable(source.why)}")
