"""``shoectl inspect``: inspect a folder of evidence, and write one page of what it proves.

In: a folder, keys and earlier states from another hand. Out: a page for people, HTML to be printed
or one JSON object; exit 1 where something is wrong. Must not know: what is found, how it is laid
out. It writes nothing to the folder.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli import help_language
from shoe_ctl.cli.common import Progress, WholeNumber, read_verifier_keys

if TYPE_CHECKING:
    from shoe_ctl.audit.inspection import Checks


@click.command
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--public-key",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Trust checkpoints of this key only: 64 hex digits, or a file. Repeatable.",
)
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="KEY",
    help="A witness's verifier key, or a file of them, that it gave you itself. Repeatable.",
)
@click.option(
    "--against",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A copy, export or checkpoint of the journal that you kept yourself. Repeatable.",
)
@click.option(
    "--jobs",
    type=WholeNumber(min=1),
    default=1,
    metavar="N",
    help="Verify and replay in N processes.  [1]",
)
@click.option("--html", "as_html", is_flag=True, help="Print a page for a browser, to be printed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def inspect(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    folder: Path,
    keys: tuple[str, ...],
    witnesses: tuple[str, ...],
    against: tuple[Path, ...],
    jobs: int,
    as_html: bool,
    as_json: bool,
) -> None:
    """Inspect all files in FOLDER, and write one page of what they prove.

    FOLDER may hold journals, exports, ledgers (JSON lines, also compressed with gzip), checkpoints,
    cosignatures, game files, keys of shoes, of journals and of witnesses. Each file is recognized
    by what it holds, and hashed. Journals and exports are verified and replayed; all are compared.

    The page has the verdict, each finding with its table, round, record and time, what is proven,
    what is only claimed, what is missing, a worksheet, the hashes, and lines for custody. It is
    restricted information. Nothing in FOLDER is changed. The exit code is 1 if something is wrong.

    Keys that came with the files prove little: give those that you have from another hand.

    \b
    Examples:
      shoectl inspect evidence
      shoectl inspect evidence --public-key journal.pub --html > page.html
    """  # noqa: D301 - click wants the very character
    if as_html and as_json:
        raise click.UsageError(help_language.said("--html and --json are forms: give one of them"))
    import msgspec

    from firmware_proto.version import describe_version
    from shoe_ctl.audit import inspection
    from shoe_ctl.records import utc

    made = utc(time.time_ns() // 1000)
    found = inspection.inspect(folder, _checks(keys, witnesses, against, jobs))
    version = describe_version()
    if as_json:
        said = {"made": made, "software": version, **msgspec.to_builtins(found)}
        click.echo(msgspec.json.encode(said))
    else:
        from shoe_ctl.cli import inspect_view

        shown = inspect_view.page if as_html else inspect_view.text
        for line in shown(found, made, version):
            click.echo(line)
    ctx.exit(0 if found.ok else 1)


def _checks(
    keys: tuple[str, ...], witnesses: tuple[str, ...], against: tuple[Path, ...], jobs: int
) -> Checks:
    from shoe_ctl.audit.inspection import Checks
    from shoe_ctl.cli.replay import replay_file
    from shoe_ctl.cli.verify import compare_with_kept, verify_file
    from shoe_ctl.journal.signing import parse_public_key

    trusted = frozenset(parse_public_key(key) for key in keys)
    return Checks(
        verify=lambda path: verify_file(path, trusted, jobs=jobs),
        replay=lambda path, shoe_keys: replay_file(path, shoe_keys, jobs=jobs),
        compare=lambda path, found: compare_with_kept(path, against, trusted, found),
        progress=Progress,
        keys=trusted,
        witnesses=read_verifier_keys("--witness", witnesses),
    )
