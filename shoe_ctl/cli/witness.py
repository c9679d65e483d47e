"""``shoectl witness``: cosign the checkpoints of journals that somebody else keeps.

In: checkpoints from files or standard input, the keys of their journals. Out: cosigned notes on
stdout, a line for each one refused on stderr; exit 1 where one was. Must not know: what a witness
checks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.errors import UsageError
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.audit.checkpoint_feed import Arrival
    from shoe_ctl.audit.witness import Witness
    from shoe_ctl.journal.signed_note import VerifierKey


@click.command
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--key",
    "key_file",
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
@click.option("--show-key", is_flag=True, help="Print the witness's verifier key, and exit.")
@click.option("--list", "show_list", is_flag=True, help="Print a line for each journal, and exit.")
@click.option("--clear", metavar="JOURNAL", help="Clear this journal's alarm, print it, and exit.")
@click.pass_context
def witness(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    sources: tuple[str, ...],
    key_file: Path,
    name: str,
    state: Path | None,
    journals: tuple[str, ...],
    show_key: bool,
    show_list: bool,
    clear: str | None,
) -> None:
    """Cosign each checkpoint that continues the last one of its journal.

    SOURCE is a file of events, one a line, as a jsonl sink writes it, or a single checkpoint with
    or without a proof; - is standard input. Cosigned checkpoints go to standard output, in the
    form in which the checkpoints came.

    A checkpoint that does not continue the last one is an alarm: nothing more of its journal is
    cosigned until a person looked and ran --clear. The exit code is 1 if one was refused or an
    alarm stands.

    \b
    Examples:
      shoectl witness --key w1.key --name gaming.example/w1 --show-key
      shoectl witness --key w1.key --name gaming.example/w1 --list
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.audit.witness import Witness, hold_state
    from shoe_ctl.journal.signing import open_key

    if [bool(sources), show_key, show_list, clear is not None].count(True) != 1:
        raise UsageError("give one of SOURCE, --show-key, --list and --clear JOURNAL")
    kept = state or key_file.with_name(f"{key_file.name}-state")
    signer = open_key(key_file, create=not kept.exists())

    def begin() -> Witness:
        return Witness(name, signer, _journal_keys(journals), kept, lambda: int(time.time()))

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
                ctx.exit(1 if sum([_cosign_all(own, source) for source in sources]) else 0)


def _journal_keys(given: tuple[str, ...]) -> Iterator[VerifierKey]:
    """Yield the verifier keys that the options name.

    Raises:
        UsageError: one is none.
    """
    from shoe_ctl.journal.signed_note import NoteError, read_verifier_key

    for each in given:
        lines = [(f"--journal {each}", each)]
        if Path(each).is_file():
            try:
                text = Path(each).read_text("utf-8")
            except (OSError, ValueError) as error:
                raise UsageError(f"--journal {each}: it cannot be read ({error})") from None
            lines = [(f"{each} line {n}", line) for n, line in enumerate(text.splitlines(), 1)]
        for where, line in lines:
            if not (key := line.partition("#")[0].strip()):
                continue
            try:
                yield read_verifier_key(key)
            except NoteError as error:
                raise UsageError(f"{where}: {error}") from None


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
    from shoe_ctl.audit.checkpoint_feed import read_source
    from shoe_ctl.audit.witness import Refusal

    refused = 0
    for arrival in read_source(source):
        try:
            _cosign(own, arrival)
        except Refusal as error:
            click.echo(printable(f"{arrival.where}: {error}"), err=True)
            refused += not (arrival.in_event and error.why == "behind")
    return refused


def _cosign(own: Witness, arrival: Arrival) -> None:
    """Cosign one checkpoint and write it to stdout, or an alarm in its place.

    Raises:
        Refusal: it is not cosigned.
    """
    from shoe_ctl.audit.witness import Refusal
    from shoe_ctl.journal.cosignatures import encode_cosigned, encode_refused

    if isinstance(arrival.given, Refusal):
        raise arrival.given
    try:
        found = own.cosign(arrival.given)
    except Refusal as error:
        if error.is_alarm and arrival.in_event:
            now_s, note = int(time.time()), arrival.given.note
            line = encode_refused(own.key.name, error.why, str(error), note, now_s)
            click.echo(line, nl=False)
        raise
    if arrival.in_event:
        click.echo(encode_cosigned(own.key.name, found.said, found.note, found.t_s), nl=False)
    else:
        click.echo(found.note.to_bytes(), nl=False)
