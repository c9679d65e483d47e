"""``shoectl replay``: run a journal's inputs again and compare the events byte for byte.

In: a journal's path. Out: a summary for people or one JSON object; exit 1 where they differ.
Must not know: how inputs are run. It reads only, also while a daemon writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shoe_ctl.replay import Difference, Replay


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def replay(ctx: click.Context, journal: Path, as_json: bool) -> None:
    """Run the inputs in JOURNAL again, with the game files kept in it, and compare the events.

    Example: shoectl replay journal.db
    """
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.replay import replay as run
    from shoe_ctl.resuming import agrees
    from shoe_ctl.rules import controller

    with Reader.open(journal) as reader:
        found = run(reader, controller, agrees)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show(found)
    ctx.exit(1 if found.differences else 0)


def _show(found: Replay) -> None:
    for difference in found.differences:
        _show_difference(difference)
    count = len(found.differences)
    same = "every event is the same" if not count else f"{count} inputs gave other events"
    click.echo(f"{found.rounds:,} rounds replayed: {same}")


def _show_difference(difference: Difference) -> None:
    subject = f", {difference.round_id}" if difference.round_id else ""
    click.echo(f"table {difference.table}, record {difference.n}{subject}: {difference.why}")
    click.echo(f"  recorded  {difference.recorded or '(nothing)'}")
    click.echo(f"  replayed  {difference.replayed or '(nothing)'}")
