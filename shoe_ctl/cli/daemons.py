"""The daemons that a request may be for, and which of them has a table.

In: configuration files and folders, or a socket; the name of a table. Out: the daemon's socket.
Must not know: requests, answers, how a daemon is spoken to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from shoe_ctl.cli.help_language import said
from shoe_ctl.errors import ConfigError, UsageError


class Daemon(NamedTuple):
    """A daemon: its socket, if it has one, and what its configuration says of it, if that is known.

    ``tables`` are the ids of its tables.
    """

    socket: Path | None
    file: str = ""
    tables: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Return the path of its socket.

        Raises:
            ConfigError: it has none.
        """
        if self.socket is None:
            raise ConfigError(f"{self.file}: the daemon takes no commands: add a [socket]")
        return self.socket


def find_daemons(config_files: Sequence[str], socket_path: str | None) -> list[Daemon]:
    """Return the daemons of these configurations; without any, the one at the socket.

    An explicit configuration is meant before the environment, which may name the socket.

    Raises:
        UsageError: nothing names a daemon. ConfigError: a configuration is wrong.
    """
    if not config_files:
        if socket_path is None:
            raise UsageError(
                said(
                    "no daemon is named: give --config FILE or --socket PATH, or set SHOECTL_SOCKET"
                )
            )
        return [Daemon(Path(socket_path))]
    from shoe_ctl.config.daemons import configuration_files
    from shoe_ctl.config.schema import load

    configs = [load(file) for file in configuration_files(config_files)]
    return [
        Daemon(config.socket_path, config.file, tuple(table.id for table in config.table))
        for config in configs
    ]


def daemon_of(daemons: Sequence[Daemon], table: str | None) -> Daemon:
    """Return the daemon that has this table. A single daemon is asked, whatever the table.

    Raises:
        UsageError: no table is named, or none has that name.
        ConfigError: several configurations have the table.
    """
    if len(daemons) == 1:
        return daemons[0]
    have = ", ".join(each for daemon in daemons for each in daemon.tables)
    if table is None:
        raise UsageError(said("no table is named: give --table, one of {have}", have=have))
    found = [daemon for daemon in daemons if table in daemon.tables]
    if not found:
        text = "there is no table {table} (there is: {have})"
        raise UsageError(said(text, table=table, have=have))
    if len(found) > 1:
        files = " and ".join(daemon.file for daemon in found)
        raise ConfigError(f"table {table} is in {files}: give it to one of them")
    return found[0]
