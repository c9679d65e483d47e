"""``shoectl checkpoint``: print a journal's newest checkpoint for a witness.

In: a journal's path. Out: one event on a line, or the journal's verifier key. Must not know: how a
proof is made. It reads only, also while a daemon writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli.common import WholeNumber
from shoe_ctl.errors import JournalError, UsageError

if TYPE_CHECKING:
    from shoe_ctl.journal.reader import Reader


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option(
    "--old",
    type=WholeNumber(min=0),
    metavar="N",
    help="Prove that it continues the tree of N groups.  [that of the checkpoint before]",
)
@click.option(
    "--witness",
    metavar="KEY",
    help="Prove that it continues what this witness, a verifier key, cosigned last.",
)
@click.option("--key", is_flag=True, help="Print the journal's verifier key, and exit.")
def checkpoint(journal: Path, old: int | None, witness: str | None, key: bool) -> None:
    """Print the newest checkpoint of JOURNAL as an event, which shoectl witness takes.

    With it goes the proof that it continues an older one. A witness that missed checkpoints says
    from which size it needs the proof: give that with --old. With --witness it is the size of the
    last one that shoectl cosignatures stored beside JOURNAL, 0 where there is none.

    \b
    Examples:
      shoectl checkpoint journal.db
      shoectl checkpoint journal.db --key
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.common import explain_damage

    if [old is not None, witness is not None, key].count(True) > 1:
        raise UsageError("give one of --old, --witness and --key")
    with explain_damage(journal):
        click.echo(_line(journal, old, witness, key=key), nl=False)


def _line(journal: Path, old: int | None, witness: str | None, *, key: bool) -> bytes:
    """Return the event, or the verifier key."""
    from shoe_ctl.journal.checkpoint_event import event, newest_checkpoint
    from shoe_ctl.journal.reader import Reader

    while True:
        with Reader.open(journal) as reader:
            try:
                signed = newest_checkpoint(reader)
                if key:
                    return f"{signed.key}\n".encode()
                size = old if witness is None else _last_cosigned(reader, journal, witness)
                return event(reader, signed, size)
            except JournalError:
                # a journal at rest is read without locks: a daemon may have been started meanwhile
                if not reader.has_new_writer:
                    raise


def _last_cosigned(reader: Reader, journal: Path, witness: str) -> int:
    """Return the size of the largest tree that a witness cosigned, by what is stored; else 0.

    Raises:
        UsageError: not one key is named.
    """
    from shoe_ctl.audit.cosigned_journal import Claims
    from shoe_ctl.cli.common import read_verifier_keys
    from shoe_ctl.journal.cosignatures import cosignatures_path
    from shoe_ctl.journal.key_changes import signing_keys

    keys = read_verifier_keys("--witness", [witness])
    if len(keys) != 1:
        raise UsageError(f"--witness {witness}: {len(keys)} keys: one witness at a time")
    claims = Claims(signing_keys(reader), keys)
    claims.read_stored(cosignatures_path(journal))
    return max((said.size for said, _, _ in claims.cosigned()), default=0)
