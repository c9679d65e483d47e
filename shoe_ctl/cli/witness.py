"""``shoectl witness``: cosign the checkpoints of journals that somebody else keeps.

In: checkpoints from files or standard input, the keys of their journals. Out: cosigned notes on
stdout, a line for each one refused on stderr; exit 1 where one was. Must not know: what a witness
checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from shoe_ctl.errors import InputRefused, UsageError
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.audit.witness import Witness
    from shoe_ctl.cli.checkpoint_brokers import BrokerLogin


@click.command
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--signing-key",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The witness's private key. It is made where neither it nor the state file exists.",
)
@click.option(
    "--name", required=True, metavar="NAME", help="The witness's name, such as gaming.example/w1."
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What was cosigned last: a line for each journal.  [the key's name and -state]",
)
@click.option(
    "--journal",
    "journals",
    multiple=True,
    metavar="KEY",
    help="Cosign for the journal of this verifier key, or of each in a file. Repeatable.",
)
@click.option(
    "--tsa",
    metavar="URL",
    help="Have what is cosigned stamped by this time-stamp authority (RFC 3161).",
)
@click.option("--user", metavar="NAME", help="The user to log in as at a broker.")
@click.option("--password-file", metavar="FILE", help="A file with the user's password.")
@click.option(
    "--ca", metavar="FILE", help="The authorities that may sign the server's certificate."
)
@click.option("--cert", metavar="FILE", help="The certificate to show to the server.")
@click.option("--key", metavar="FILE", help="The key of --cert.")
@click.option("--show-key", is_flag=True, help="Print the witness's verifier key, and exit.")
@click.option("--list", "show_list", is_flag=True, help="Print a line for each journal, and exit.")
@click.option("--clear", metavar="JOURNAL", help="Clear this journal's alarm, print it, and exit.")
@click.pass_context
def witness(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    sources: tuple[str, ...],
    signing_key: Path,
    name: str,
    state: Path | None,
    journals: tuple[str, ...],
    tsa: str | None,
    user: str | None,
    password_file: str | None,
    ca: str | None,
    cert: str | None,
    key: str | None,
    show_key: bool,
    show_list: bool,
    clear: str | None,
) -> None:
    """Cosign each checkpoint that continues the last one of its journal.

    SOURCE is a file of events, one a line, as shoectl checkpoint prints them, or a single
    checkpoint with or without a proof; - is standard input. Cosigned checkpoints go to standard
    output, in the form in which the checkpoints came.

    SOURCE may also be a broker, nats://HOST:PORT or mqtt://HOST:PORT, to which a daemon's sink with
    checkpoints = true publishes them. It is followed until Ctrl-C, and cosigned checkpoints go back
    to it, too.

    With --tsa each cosigned checkpoint of an event gets a time stamp by a third clock. One that
    gets none is cosigned all the same, and a line says so.

    A checkpoint that does not continue the last one is an alarm: nothing more of its journal is
    cosigned until a person looked and ran --clear. The exit code is 1 if one was refused or an
    alarm stands.

    \b
    Examples:
      shoectl witness --signing-key w1.key --name gaming.example/w1 --show-key
      shoectl witness --signing-key w1.key --name gaming.example/w1 --list
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.audit.witness import Witness, hold_state
    from shoe_ctl.cli.checkpoint_brokers import broker_login, is_broker
    from shoe_ctl.cli.common import read_verifier_keys
    from shoe_ctl.journal.signing import open_key

    if [bool(sources), show_key, show_list, clear is not None].count(True) != 1:
        raise UsageError("give one of SOURCE, --show-key, --list and --clear JOURNAL")
    login = broker_login(user, password_file=password_file, ca=ca, cert=cert, key=key)
    login.check_unused([each for each in sources if is_broker(each)])
    if len(sources) > 1 and any(map(is_broker, sources)):
        raise UsageError("a broker is the only SOURCE: run a witness for each")
    kept = state or signing_key.with_name(f"{signing_key.name}-state")
    signer = open_key(signing_key, create=not kept.exists())

    def begin() -> Witness:
        keys = read_verifier_keys("--journal", journals)
        return Witness(name, signer, keys, kept, lambda: int(time.time()), _stamper(tsa))

    if show_key:
        click.echo(str(begin().key))
    elif show_list:
        ctx.exit(_show(begin()))
    else:
        with hold_state(kept):
            if clear is not None:
                alarm = begin().clear(clear)
                click.echo(f"{alarm.what}\n\n{alarm.note}", nl=False)
            else:
                own = begin()
                if is_broker(sources[0]):
                    _follow(own, sources[0], login)
                ctx.exit(1 if sum([_cosign_all(own, source) for source in sources]) else 0)


def _stamper(authority: str | None) -> Callable[[bytes], bytes | None]:
    """Return what has a note stamped; one that gets no stamp is cosigned all the same."""
    if authority is None:
        return lambda _: None
    if not authority.startswith(("http://", "https://")):
        raise UsageError(f"--tsa: expected http://HOST/ or https://HOST/, not {authority!r}")
    from shoe_ctl.audit.time_stamps import request_stamp

    def stamp(note: bytes) -> bytes | None:
        try:
            return request_stamp(authority, note)
        except InputRefused as error:
            click.echo(printable(f"cosigned without a time stamp: {error}"), err=True)
            return None

    return stamp


def _follow(own: Witness, address: str, login: BrokerLogin) -> NoReturn:
    """Cosign what a broker brings, until Ctrl-C."""
    import asyncio
    import logging

    from shoe_ctl.cli.checkpoint_brokers import following
    from shoe_ctl.cli.log_format import log_to_stderr

    follow = following(address, login)
    log_to_stderr(logging.INFO)
    asyncio.run(follow(own, lambda line: click.echo(line, nl=False)))
    raise AssertionError("it is followed until Ctrl-C")


def _show(own: Witness) -> int:
    """Print what was cosigned last of each journal; return the exit code."""
    from shoe_ctl.records import utc

    alarms = 0
    for seen in own.seen():
        last = own.cosigned(seen)
        line = f"{last.said.origin}  size {last.said.size:,}  {utc(last.t_s * 1_000_000)[:19]}Z"
        if seen.alarm is not None:
            alarms += 1
            line += f"  ALARM of {utc(seen.alarm.t_s * 1_000_000)[:19]}Z: {seen.alarm.what}"
        click.echo(printable(line))
    return 1 if alarms else 0


def _cosign_all(own: Witness, source: str) -> int:
    """Cosign what a source holds; return how many checkpoints were refused.

    One that is behind the last one counts only where it came alone: events may come twice.
    """
    from shoe_ctl.audit.checkpoint_feed import answer, read_source

    refused = 0
    for arrival in read_source(source):
        found = answer(own, arrival)
        click.echo(found.given_out, nl=False)
        if found.refusal is not None:
            click.echo(printable(f"{arrival.where}: {found.refusal}"), err=True)
            refused += not (arrival.in_event and found.refusal.why == "behind")
    return refused
