"""``shoectl replay``: run a journal again and compare; or read single rounds of it as accounts.

In: a journal's path. Out: a summary or accounts for people, or JSON; exit 1 where they differ.
Must not know: how inputs are run, how a round is found. It reads only, also while a daemon writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shoe_ctl.account.places import Place
    from shoe_ctl.differences import Difference
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.replay import Replay


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--round", "round_id", metavar="ID", help="The account of one round.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Those of the last rounds.")
@click.option("--table", metavar="ID", help="With --last: of this table alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, or one for each round.")
@click.pass_context
def replay(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    journal: Path,
    round_id: str | None,
    last: int | None,
    table: str | None,
    as_json: bool,
) -> None:
    """Run the inputs in JOURNAL again, with the game files kept in it, and compare the events.

    With --round or --last: what happened in a round, in order, with the raw bytes, and what the
    table told because of it. It holds what only the restricted audience may see.

    \b
    shoectl replay journal.db
    shoectl replay journal.db --round bac-07-s1-r12
    shoectl replay journal.db --last 10
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.journal.reader import Reader

    if round_id is not None and last is not None:
        raise click.UsageError("give --round or --last, not both", ctx)
    if table is not None and last is None:
        raise click.UsageError("--table goes with --last", ctx)
    with Reader.open(journal) as reader:
        if round_id is None and last is None:
            ctx.exit(_replay(reader, as_json=as_json))
        _tell(reader, _places(reader, round_id, last, table), as_json=as_json)


def _places(
    reader: Reader, round_id: str | None, last: int | None, table: str | None
) -> list[Place]:
    from shoe_ctl.account import places

    if round_id is not None:
        return [places.find(reader, round_id)]
    assert last is not None
    return places.last(reader, last, table)


def _tell(reader: Reader, places: list[Place], *, as_json: bool) -> None:
    """Each round's account as it is read: there may be many."""
    import msgspec

    from shoe_ctl.account.gather import gather
    from shoe_ctl.account.page import COLUMNS, page

    for number, place in enumerate(places):
        account = gather(reader, place)
        if as_json:
            click.echo(msgspec.json.encode(account))
            continue
        if number:
            click.echo(f"\n{'=' * COLUMNS}\n")
        for line in page(account):
            click.echo(line)


def _replay(reader: Reader, *, as_json: bool) -> int:
    from shoe_ctl.replay import replay as run
    from shoe_ctl.resuming import agrees
    from shoe_ctl.rules import controller

    found = run(reader, controller, agrees)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show(found)
    return 1 if found.differences else 0


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
