"""The daemons of a host, each with its own configuration: their files, and what two of them share.

In: names of files and folders, configurations. Out: the files; a line for each port, file, socket
or table that is used twice. Must not know: what a daemon does with it. It opens no port and writes
nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shoe_ctl.config.schema import Config
from shoe_ctl.config.sinks import JsonlConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.link.address import SerialAddress, TcpAddress, parse_address

ENDING = ".toml"
"""Of the files in a folder, those with this ending are configurations: ``shoectl@NAME`` reads
``/etc/shoectl/NAME.toml``."""


def configuration_files(names: Sequence[str]) -> list[str]:
    """Return the configuration files that these names stand for; a folder stands for all its own.

    A file that is named twice comes once. Hidden files in a folder are passed over.

    Raises:
        ConfigError: a folder cannot be read, or has no configuration.
    """
    files: dict[str, str] = {}
    for name in names:
        found = _files_in(Path(name)) if os.path.isdir(name) else [name]  # noqa: PTH112 - never raises
        for file in found:
            files.setdefault(os.path.abspath(file), file)  # noqa: PTH100 - a link stays itself
    return list(files.values())


def _files_in(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names alone
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}") from None
    found = [name for name in names if name.endswith(ENDING) and not name.startswith(".")]
    if not found:
        raise ConfigError(f"{folder}: it has no configuration: expected a file NAME{ENDING}")
    return [str(folder / name) for name in found]


class _Claim(NamedTuple):
    """Something that a table, a sink or a daemon needs for itself.

    ``ids`` are all that it can be told by, ``key`` is where the file names it, ``owner`` who has
    it, ``advice`` what to do if another has it, too.
    """

    file: str
    key: str
    owner: str
    shown: str
    ids: frozenset[object]
    advice: str


def collisions(configs: Sequence[Config]) -> list[str]:
    """Return a line for each thing that two tables, sinks or daemons would both use.

    A file or port is the same under another name, or behind a link. Each line begins with the name
    of the later file.
    """
    found: list[str] = []
    first: dict[object, _Claim] = {}
    for claim in (claim for config in configs for claim in _claims(config)):
        other = next((first[each] for each in claim.ids if each in first), None)
        if other is not None:
            whose = other.owner if other.file == claim.file else f"{other.owner} of {other.file}"
            what = (
                f"{whose} has {claim.shown} already"
                if claim.shown == other.shown
                else f"{claim.shown} is {other.shown}, which {whose} has already"
            )
            found.append(f"{claim.file}: {claim.key}: {what}: {claim.advice}")
        for each in claim.ids:
            first.setdefault(each, claim)
    return found


def _claims(config: Config) -> Iterator[_Claim]:
    for table in config.table:
        where = f"table {table.id}"
        advice = "give each table an id of its own"
        ids = frozenset({("table", table.id)})
        yield _Claim(config.file, f"{where}: id", where, table.id, ids, advice)
    for table in config.table:
        where, port = f"table {table.id}", table.shoe.port
        advice = "give each table a port of its own"
        yield _Claim(config.file, f"{where}: shoe.port", where, port, _port_ids(port), advice)
    path, advice = config.path(config.journal.path), "give each daemon a journal of its own"
    yield _Claim(config.file, "journal.path", "the journal", str(path), _file_ids(path), advice)
    if config.socket_path is not None:
        path, advice = config.socket_path, "give each daemon a socket of its own"
        yield _Claim(config.file, "socket.path", "the socket", str(path), _file_ids(path), advice)
    taken = {"-"}
    for at, sink in enumerate(config.sink):
        if isinstance(sink, JsonlConfig) and sink.path not in taken:  # the same one is refused
            taken.add(sink.path)
            path, advice = config.path(sink.path), "give each sink a file of its own"
            where = f"sink[{at}]"
            yield _Claim(config.file, f"{where}.path", where, str(path), _file_ids(path), advice)


def _port_ids(port: str) -> frozenset[object]:
    try:
        address = parse_address(port)
    except ConfigError:  # who checks the table reports it
        return frozenset()
    if isinstance(address, SerialAddress):
        return _file_ids(Path(address.path))
    if isinstance(address, TcpAddress):
        return frozenset({(address.host.lower(), address.port)})
    return frozenset({address})


def _file_ids(path: Path) -> frozenset[object]:
    """Return what a file is told by: its path without links; also its inode, or its device."""
    ids: set[object] = {os.path.realpath(path)}
    try:
        found = path.stat()
    except (OSError, ValueError):
        return frozenset(ids)
    if stat.S_ISCHR(found.st_mode):
        ids.add(("device", found.st_rdev))
    else:
        ids.add((found.st_dev, found.st_ino))
    return frozenset(ids)
