"""``shoectl config``: check configuration files without starting anything.

In: configuration files. Out: how their tables are set up, or what is wrong with them.
Must not know: how a daemon serves one, what is at a port. It opens no port and writes nothing.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoe_ctl.cli.common import COLUMNS
from shoe_ctl.errors import ConfigError, ShoeCtlError

if TYPE_CHECKING:
    from shoe_ctl.config.resolve import TableSetup
    from shoe_ctl.config.schema import Config

_LABEL = 10


@click.group
def config() -> None:
    """Check configuration files.

    \b
    Examples:
      shoectl config check table.toml
      shoectl config check /etc/shoectl
    """  # noqa: D301 - click wants the very character


@config.command
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...], as_json: bool) -> None:
    """Check each configuration FILE as its daemon does, and start nothing.

    It checks every key; the game of each table with its decks, layout, method and limits; the
    shoe's profile and settings; the files of keys and their modes; the socket's path, users and
    group; and the paths of the journal and the sinks. It opens no port, writes no file and may run
    beside a daemon. Run it as root or as the daemon's user, who can read the files of keys.

    Of several files, each is the configuration of one daemon. A folder stands for all its files
    NAME.toml. Two daemons must not share a table's id, a port, a journal, a socket or the file of a
    sink, also not under another name or behind a link.

    Use shoectl doctor --config FILE to try the ports.

    Exit code 0: the daemons can serve them; 2: something is wrong, one line for each thing.

    \b
    Examples:
      shoectl config check table.toml
      shoectl config check table.toml --json
      shoectl config check /etc/shoectl
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.config.daemons import configuration_files
    from shoe_ctl.terminal_text import printable, shortened

    each = [examine(file) for file in configuration_files(files)]
    shared = _shared(each)
    problems = [*(problem for found in each for problem in found.problems), *shared]
    if as_json:
        (plain, *_) = every = [found.plain() for found in each]
        if len(files) > 1 or not Path(files[0]).is_file():
            plain = {"ok": not problems, "problems": shared, "files": every}
        click.echo(json.dumps(plain))
    elif not problems:
        for number, found in enumerate(each):
            if number:
                click.echo()
            for line in found.lines():
                click.echo(line)
    for problem in problems:
        click.echo(f"shoectl: {shortened(printable(problem))}", err=True)
    ctx.exit(ConfigError.exit_code if problems else 0)


def _shared(each: Sequence[Findings]) -> list[str]:
    """Return a line for each thing that two of the daemons would both use."""
    from shoe_ctl.config.daemons import collisions

    of_one = {problem for found in each for problem in found.problems}
    configs = [found.config for found in each if found.config is not None]
    return [line for line in collisions(configs) if line not in of_one]


class Findings:
    """The findings about a configuration: what it sets up, what is wrong or missing."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.config: Config | None = None
        self.setups: list[TableSetup] = []
        self.problems: list[str] = []
        self.notes: list[str] = []

    @property
    def ok(self) -> bool:
        """Return True if the daemon can serve it."""
        return not self.problems

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Add an error of the body to the problems, with the file's name first."""
        try:
            yield
        except ShoeCtlError as error:
            self.add(str(error))

    def add(self, *problems: str) -> None:
        """Add problems, each once and with the file's name first."""
        for problem in problems:
            line = f"{self.file}: {problem.removeprefix(f'{self.file}: ')}"
            if line not in self.problems:
                self.problems.append(line)

    def plain(self) -> dict[str, Any]:
        """Return them for programs."""
        import msgspec

        held = self.config
        socket = None if held is None else held.socket_path
        return {
            "file": self.file,
            "ok": self.ok,
            "problems": self.problems,
            "notes": self.notes,
            "tables": [
                {
                    "table": setup.settings.table,
                    "game": setup.game.id,
                    "game_sha256": setup.game.sha256,
                    "profile": setup.config.shoe.profile,
                    "port": setup.config.shoe.port,
                    "keys": 0 if setup.keys is None else len(setup.keys.keys),
                    "settings": msgspec.to_builtins(setup.settings),
                }
                for setup in self.setups
            ],
            "journal": None if held is None else str(held.path(held.journal.path)),
            "socket": None if socket is None else str(socket),
            "sinks": [
                {
                    "name": sink.known_as,
                    "kind": sink.__struct_config__.tag,
                    "audience": sink.audience,
                }
                for sink in ([] if held is None else held.sink)
            ],
        }

    def lines(self) -> Iterator[str]:
        """Yield them for people, in 80 columns; a path is not broken, so that it can be copied."""
        from shoe_ctl.terminal_text import printable

        for label, text in self._rows():
            yield from textwrap.wrap(
                printable(text),
                COLUMNS,
                initial_indent=f"{label:<{_LABEL}}",
                subsequent_indent=" " * _LABEL,
                break_long_words=False,
                break_on_hyphens=False,
            )
        yield f"{printable(self.file)}: valid"

    def _rows(self) -> Iterator[tuple[str, str]]:
        import msgspec

        from shoe_ctl.round_report.wording import settings_text

        assert self.config is not None
        for setup in self.setups:
            settings = msgspec.to_builtins(setup.settings)
            yield "table", f"{settings.pop('table')}: {setup.game.title} ({setup.game.id})"
            yield "", settings_text(settings)
            many = 0 if setup.keys is None else len(setup.keys.keys)
            keys = {0: "without keys", 1: "with keys of 1 shoe"}.get(
                many, f"with keys of {many} shoes"
            )
            yield "shoe", f"{setup.config.shoe.profile} at {setup.config.shoe.port}, {keys}"
        yield "journal", str(self.config.path(self.config.journal.path))
        if self.config.socket is not None:
            users = ", ".join(
                f"{each.name or each.user} ({each.position})" for each in self.config.socket.user
            )
            yield "socket", str(self.config.socket_path)
            yield "users", users
        for sink in self.config.sink:
            yield "sink", f"{sink.known_as} ({sink.audience})"
        for note in self.notes:
            yield "note", note


def examine(file: str) -> Findings:
    """Check a configuration file; every problem is found that does not hide behind another."""
    from shoe_ctl.config.daemons import collisions
    from shoe_ctl.config.resolve import warnings
    from shoe_ctl.config.schema import check_file

    found = Findings(file)
    with found.noting():
        checked = check_file(file)
        config = found.config = checked.config
        found.add(*checked.mistakes)
        if config is None:
            return found
        # Who may give commands is not known where a section is left out that is wrong.
        _check_tables(config, found, way_in=config.takes_commands or not checked.whole)
        _check_socket(config, found)
        _check_paths(config, found)
        found.add(*collisions([config]))
        _check_brokers(config, found)
        found.notes += warnings(config) if checked.whole else []
    return found


def _check_tables(config: Config, found: Findings, *, way_in: bool) -> None:
    from shoe_ctl.config.resolve import check_table, people_needed
    from shoe_ctl.link.address import SerialAddress, parse_address
    from shoe_ctl.link.keyring import KeyRing

    rings: dict[Path, KeyRing] = {}
    for table in config.table:
        setup, errors = check_table(config, table, rings)
        found.add(*map(str, errors))
        if setup is None:
            continue
        found.setups.append(setup)
        port = parse_address(table.shoe.port)
        if isinstance(port, SerialAddress) and not Path(port.path).exists():
            found.notes.append(
                f"table {table.id}: port {port} is not there now; "
                f"try it with: shoectl doctor --config {found.file}"
            )
        found.add(*people_needed(setup.settings, way_in=way_in))


def _check_socket(config: Config, found: Findings) -> None:
    from shoe_ctl.daemon.callers import gid_of, senders_of, uid_of, users_of

    users = [] if config.socket is None else config.socket.user
    known = len(found.problems)
    for entry in users:
        with found.noting():
            uid_of(entry)
    if len(found.problems) == known:
        with found.noting():
            of_socket = {} if config.socket is None else users_of(config.socket)
            senders_of(config, of_socket.values())
    if config.socket is None or config.socket_path is None:
        return
    from shoe_ctl.api.socket_path import check_socket_path

    with found.noting():
        gid_of(config.socket)
    with found.noting():
        check_socket_path(config.socket_path)


def _check_paths(config: Config, found: Findings) -> None:
    """Check that the files that the daemon writes are files, or can be made."""
    from shoe_ctl.config.sinks import JsonlConfig

    paths = {"journal.path": config.path(config.journal.path)}
    paths |= {
        f"sink[{at}].path": config.path(sink.path)
        for at, sink in enumerate(config.sink)
        if isinstance(sink, JsonlConfig) and sink.path != "-"
    }
    if config.socket_path is not None:
        paths["socket.path"] = config.socket_path
    missing: dict[Path, list[str]] = {}
    for key, path in paths.items():
        with found.noting():
            try:
                if path.is_dir():
                    raise ConfigError(f"{key}: {path} is a directory: expected a file's path")
                if not path.parent.is_dir():
                    missing.setdefault(path.parent, []).append(key)
            except OSError as error:
                raise ConfigError(f"{key}: {path}: {error.strerror}") from None
    for folder, keys in missing.items():
        found.notes.append(
            f"{', '.join(keys)}: folder {folder} does not exist; systemd makes those of the unit "
            "at its start; make any other yourself"
        )


def _check_brokers(config: Config, found: Findings) -> None:
    """Check the files that sinks log in with at their brokers; no broker is asked."""
    from shoe_ctl.config.sinks import BrokerConfig
    from shoe_ctl.secret_file import read_password, read_secret

    for at, sink in enumerate(config.sink):
        if not isinstance(sink, BrokerConfig):
            continue
        if sink.password_file is not None:
            with found.noting():
                read_password(config.path(sink.password_file), f"sink[{at}].password_file")
        if sink.tls is None:
            continue
        if sink.tls.key is not None:
            with found.noting():
                read_secret(config.path(sink.tls.key), f"sink[{at}].tls.key")
        for key, file in (("ca", sink.tls.ca), ("cert", sink.tls.cert)):
            if file is not None and not config.path(file).is_file():
                with found.noting():
                    raise ConfigError(f"sink[{at}].tls.{key}: there is no file {config.path(file)}")
