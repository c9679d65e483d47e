"""``shoectl cosignatures``: store what witnesses cosigned beside the journal.

In: a journal's path, what witnesses handed out, their verifier keys. Out: lines in a file beside
the journal; a line for each one that is not stored; exit 1 where one was refused. Must not know:
how a cosignature is verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.errors import InputRefused
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.cli.checkpoint_brokers import BrokerLogin


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    required=True,
    metavar="KEY",
    help="The verifier key of a witness, or a file with one a line. Repeatable.",
)
@click.option("--user", metavar="NAME", help="The user to log in as at a broker.")
@click.option("--password-file", metavar="FILE", help="A file with the user's password.")
@click.option(
    "--ca", metavar="FILE", help="The authorities that may sign the server's certificate."
)
@click.option("--cert", metavar="FILE", help="The certificate to show to the server.")
@click.option("--key", metavar="FILE", help="The key of --cert.")
@click.pass_context
def cosignatures(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    journal: Path,
    sources: tuple[str, ...],
    witnesses: tuple[str, ...],
    user: str | None,
    password_file: str | None,
    ca: str | None,
    cert: str | None,
    key: str | None,
) -> None:
    """Store the cosignatures of JOURNAL's checkpoints beside it.

    SOURCE is a file of what shoectl witness handed out, - for standard input, or a broker,
    nats://HOST:PORT or mqtt://HOST:PORT, from which the last cosignature of each witness is read.

    Only cosignatures by a --witness, of checkpoints that this journal's key signed, are stored:
    in JOURNAL-cosignatures, each once. The exit code is 1 if a line of a file was refused.

    \b
    Examples:
      shoectl cosignatures journal.db cosigned.jsonl --witness witness.keys
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.audit.cosigned_journal import Claims
    from shoe_ctl.cli.checkpoint_brokers import broker_login, is_broker
    from shoe_ctl.cli.common import explain_damage, read_verifier_keys
    from shoe_ctl.journal.cosignatures import append_cosigned, cosignatures_path
    from shoe_ctl.journal.key_changes import signing_keys
    from shoe_ctl.journal.reader import Reader

    trusted = read_verifier_keys("--witness", witnesses)
    login = broker_login(user, password_file=password_file, ca=ca, cert=cert, key=key)
    brokers = [source for source in sources if is_broker(source)]
    login.check_unused(brokers)
    with explain_damage(journal), Reader.open(journal) as reader:
        claims = Claims(signing_keys(reader), trusted)
    claims.read_stored(cosignatures_path(journal))
    new, refused = [], 0
    for source in sources:
        for where, line in _at_broker(source, login) if source in brokers else _of_file(source):
            try:
                if claims.add(line):
                    new.append(line.rstrip(b"\n") + b"\n")
            except InputRefused as error:
                if source not in brokers:  # a broker has those of other journals, too
                    click.echo(printable(f"{where}: {error}"), err=True)
                    refused += 1
    if new:
        append_cosigned(journal, new)
    click.echo(f"{cosignatures_path(journal)}: {len(new)} added, {claims.repeated} there before")
    ctx.exit(1 if refused else 0)


def _of_file(source: str) -> Iterator[tuple[str, bytes]]:
    from shoe_ctl.audit.ledger import read_lines

    for number, line in enumerate(read_lines(source), 1):
        if line:
            yield f"{source} line {number}", line


def _at_broker(source: str, login: BrokerLogin) -> Iterator[tuple[str, bytes]]:
    from shoe_ctl.cli.checkpoint_brokers import read_cosigned

    for line in read_cosigned(source, login):
        yield source, line
