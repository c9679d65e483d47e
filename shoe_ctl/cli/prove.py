"""``shoectl prove``: write the proof of one round of a journal to a file.

In: a journal's path, a round. Out: a file that ``shoectl verify`` needs nothing else for.
Must not know: how a proof is made. It reads only, also while a daemon writes.
"""

from __future__ import annotations

from pathlib import Path

import click

from shoe_ctl.errors import EnvironmentFault, ShoeCtlError


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--round", "round_id", required=True, metavar="ID", help="Prove this round.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the proof to this file, which must not exist.",
)
@click.option("--players", is_flag=True, help="Include the records that name a Player.")
def prove(journal: Path, round_id: str, output: Path, players: bool) -> None:
    """Write the proof of one round of JOURNAL.

    The proof holds the round's records, a signed checkpoint, and the hashes that tie
    them together. shoectl verify reads it without the journal. It has no card of another
    round, and no record that names a Player unless --players is given.

    The round must be over, and a checkpoint must have signed it. Like a report of the
    round, the proof is restricted information.

    \b
    Examples:
      shoectl prove journal.db --round bac-07-s1-r12 -o round.json
      shoectl verify round.json --json
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.common import explain_damage
    from shoe_ctl.terminal_text import printable

    with explain_damage(journal):
        data = _proof(journal, round_id, players=players)
    try:
        with output.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise EnvironmentFault(f"{output} cannot be written: {error.strerror}") from None
    named = "with" if players else "without"
    click.echo(
        printable(f"{output}: proof of {round_id}, {len(data):,} bytes, {named} Players' names")
    )


def _proof(journal: Path, round_id: str, *, players: bool) -> bytes:
    from shoe_ctl.audit.round_disclosure import prove_round
    from shoe_ctl.journal.cosignatures import cosignatures_path
    from shoe_ctl.journal.reader import Reader

    while True:
        with Reader.open(journal) as reader:
            try:
                return prove_round(
                    reader, round_id, players=players, cosigned=cosignatures_path(journal)
                ).to_bytes()
            except ShoeCtlError:
                # a journal at rest is read without locks: a daemon may have been started meanwhile
                if not reader.has_new_writer:
                    raise
