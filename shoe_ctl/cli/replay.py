"""``shoectl replay``: replay a journal and compare; or report single rounds of it.

In: a journal's path. Out: a summary or accounts for people, or JSON; exit 1 where they differ.
Must not know: how inputs are run, how a round is found. It reads only, also while a daemon writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from shoe_ctl.cli.common import (
    Progress,
    WholeNumber,
    explain_damage,
    with_language,
    words_in,
)

if TYPE_CHECKING:
    from shoe_ctl.audit.starts import Change
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.replay.input_replay import GameOverrides
    from shoe_ctl.replay.parts import Keys
    from shoe_ctl.replay.replay import Replay
    from shoe_ctl.replay.wire_replay import RecordedSessions
    from shoe_ctl.round_report.lookup import RoundLocation
    from shoe_ctl.texts.screen import Words


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--round", "round_id", metavar="ID", help="Report on this round.")
@click.option("--last", type=WholeNumber(min=1), metavar="N", help="Report on the last N rounds.")
@click.option("--table", metavar="ID", help="With --last: rounds of this table only.")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The shoes' keys: verify every proof and MAC again.",
)
@click.option(
    "--games",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Use this game file, or folder of them, instead of the recorded ones.",
)
@click.option("--brief", is_flag=True, help="With --round or --last: print summaries only.")
@click.option("--all", "go_on", is_flag=True, help="Continue after the first difference.")
@click.option(
    "--jobs", type=WholeNumber(min=1), default=1, metavar="N", help="Replay in N processes.  [1]"
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep in this file what is done, and go on from it after a stop.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, or one per round.")
@with_language
@click.pass_context
def replay(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    journal: Path,
    round_id: str | None,
    last: int | None,
    table: str | None,
    key_file: Path | None,
    games: Path | None,
    brief: bool,
    go_on: bool,
    jobs: int,
    state: Path | None,
    as_json: bool,
    language: str | None,
) -> None:
    """Decode the bytes in JOURNAL again, replay its inputs, and compare both with the record.

    Replay stops at the first difference. With --all it continues; differences that only follow from
    another are counted, not listed. With --games all differences are listed.

    With --jobs or --state a long journal is replayed in parts; the result is the same. Where one
    has a difference, all of it is replayed by one process.

    With --round or --last it reports rounds instead: each input in order, with the raw bytes,
    and the events that followed. These reports are restricted information.

    \b
    Examples:
      shoectl replay journal.db
      shoectl replay journal.db --jobs 4 --state replay.state
      shoectl replay journal.db --round bac-07-s1-r12
      shoectl replay journal.db --last 10 --brief
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.journal.reader import Reader

    if round_id is not None and last is not None:
        raise click.UsageError("--round cannot be combined with --last: give one of them", ctx)
    if table is not None and last is None:
        raise click.UsageError("--table needs --last", ctx)
    if round_id is None and last is None:
        if brief:
            raise click.UsageError("--brief needs --round or --last", ctx)
        if games is not None and (jobs > 1 or state is not None):
            raise click.UsageError("--games is for one process: remove --jobs and --state", ctx)
        work = Work(jobs, state)
        ctx.exit(_replay(journal, key_file, games, work, go_on=go_on, as_json=as_json))
    if key_file is not None or games is not None or go_on or jobs > 1 or state is not None:
        raise click.UsageError(
            "--key-file, --games, --all, --jobs and --state need a whole replay: remove --round "
            "or --last",
            ctx,
        )
    if brief and as_json:
        raise click.UsageError("--brief cannot be combined with --json", ctx)
    with Reader.open(journal) as reader:
        places = _places(reader, round_id, last, table)
        if not places:
            click.echo("no rounds recorded", err=True)
        _tell(journal, reader, places, words_in(language), as_json=as_json, brief=brief)


def _places(
    reader: Reader, round_id: str | None, last: int | None, table: str | None
) -> list[RoundLocation]:
    from shoe_ctl.round_report import lookup

    if round_id is not None:
        return [lookup.find_round(reader, round_id)]
    assert last is not None
    return lookup.last_rounds(reader, last, table)


def _tell(  # noqa: PLR0913 - each of them by name
    journal: Path,
    reader: Reader,
    places: list[RoundLocation],
    words: Words,
    *,
    as_json: bool,
    brief: bool,
) -> None:
    """Each round's account as it is read: there may be many."""
    import msgspec

    from shoe_ctl.audit.round_standing import round_standing
    from shoe_ctl.round_report.collect import collect
    from shoe_ctl.round_report.render import render_page
    from shoe_ctl.round_report.summary import COLUMNS
    from shoe_ctl.round_report.summary import summary_lines as summary

    for number, place in enumerate(places):
        with explain_damage(journal):
            account = collect(reader, place)
            if not brief:
                standing = round_standing(reader, place.round_id)
                account = msgspec.structs.replace(account, standing=standing)
            lines: list[bytes] | list[str]
            if as_json:
                lines = [msgspec.json.encode(account)]
            else:
                lines = list(summary(account, words) if brief else render_page(account, words))
        if number and brief:
            click.echo()
        elif number and not as_json:
            click.echo(f"\n{'=' * COLUMNS}\n")
        for line in lines:
            click.echo(line)


class Work(NamedTuple):
    """The number of processes, and the file that keeps the parts that are done."""

    jobs: int
    state: Path | None


def _replay(  # noqa: PLR0913 - each of them by name
    journal: Path,
    key_file: Path | None,
    games: Path | None,
    work: Work,
    *,
    go_on: bool,
    as_json: bool,
) -> int:
    """Runs both replays and shows what they find; what the command exits with."""
    from shoe_ctl.replay.wire_replay import RecordedSessions

    keys, others = None, None
    if key_file is not None:
        from shoe_ctl.link.keyring import read_keys

        keys = read_keys(key_file)
    if games is not None:
        from shoe_ctl.replay.input_replay import read_overrides

        others = read_overrides(games)
    sessions = RecordedSessions(keys)
    found = _run_in_parts(journal, sessions, keys, work)
    if found is None:
        found = _run(journal, sessions, others, go_on=go_on)
    if as_json:
        import msgspec

        more = {"keys": _keys(sessions), "starts": _starts(journal)}
        click.echo(msgspec.json.encode(msgspec.to_builtins(found) | more))
    else:
        from shoe_ctl.audit import starts
        from shoe_ctl.cli.replay_view import lines, named
        from shoe_ctl.terminal_text import printable

        for line in lines(found, sessions, same_rules=others is None):
            click.echo(line)
        for started in starts.lines(_starts(journal))[1:]:  # what changed
            for line in named("software", printable(started)):
                click.echo(line)
    for game_id in sorted(others.games.keys() - others.used) if others is not None else ():
        click.echo(f"shoectl: {game_id} is not used: no table was started with it", err=True)
    return 1 if found.found or found.missing or sessions.missing else 0


def _starts(journal: Path) -> list[Change]:
    """Return with what software and by which configuration a journal was written."""
    from shoe_ctl.audit.starts import changes
    from shoe_ctl.journal.reader import Reader

    with explain_damage(journal), Reader.open(journal) as reader:
        return list(changes(reader))


def replay_file(
    journal: Path, keys: Keys | None, *, jobs: int = 1
) -> tuple[Replay, RecordedSessions]:
    """Replay one journal or export as a whole, with a bar of its progress.

    Raises:
        ShoeCtlError: it cannot be read or replayed.
    """
    from shoe_ctl.replay.wire_replay import RecordedSessions

    sessions = RecordedSessions(keys)
    found = _run_in_parts(journal, sessions, keys, Work(jobs, None))
    return found or _run(journal, sessions, None, go_on=True), sessions


def _run_in_parts(
    journal: Path, sessions: RecordedSessions, keys: Keys | None, work: Work
) -> Replay | None:
    """Replay by several processes; None where one does it all."""
    if work == Work(1, None):
        return None
    from shoe_ctl.replay.parts import replay_in_parts

    with Progress("replayed") as progress:
        return replay_in_parts(
            journal, sessions, jobs=work.jobs, keys=keys, state=work.state, progress=progress
        )


def _run(
    journal: Path, sessions: RecordedSessions, others: GameOverrides | None, *, go_on: bool
) -> Replay:
    from shoe_ctl.history import snapshots
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.replay.replay import replay as run

    rules_of = snapshots.controller_for if others is None else others.controller
    agrees = snapshots.agrees if others is None else others.agrees
    from_first = snapshots.from_first_snapshot if others is None else others.from_first_snapshot
    with Progress("replayed") as progress:
        while True:
            sessions.forget()
            with Reader.open(journal) as reader:
                with explain_damage(journal):
                    found = run(
                        reader,
                        rules_of,
                        agrees,
                        sessions,
                        progress,
                        from_first_snapshot=from_first,
                        resynchronise=others is None,
                        first_only=others is None and not go_on,
                    )
                # a daemon that was started meanwhile may have been in the midst of writing
                if not (found.found or found.missing) or not reader.has_new_writer:
                    return found


def _keys(sessions: RecordedSessions) -> dict[str, object]:
    """Return what was checked of proofs and MACs."""
    return {
        "connections": sessions.authenticated,
        "checked": sessions.checks,
        "missing": [
            {"device_id": device_id, "key_id": key_id}
            for device_id, key_id in sorted(sessions.missing)
        ],
    }
