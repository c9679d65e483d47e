"""Users who may ask the daemon: those configured for the socket and for a broker, with their ids.

In: a configuration. Out: callers by their ids, and by their names at a broker; the socket's group.
Must not know: what they may do, how a request comes in.
"""

from __future__ import annotations

import grp
import pwd
from collections.abc import Iterable
from contextlib import suppress

from shoe_ctl.api.requests import Caller
from shoe_ctl.config.schema import Config, SocketConfig, SocketUser
from shoe_ctl.config.sinks import BrokerConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.table.consent import normalize_name


def users_of(config: SocketConfig) -> dict[int, Caller]:
    """Return the configured users by their ids on this host.

    Raises:
        ConfigError: a name that this host does not know, one user twice, or two of one name.
    """
    users: dict[int, Caller] = {}
    named: dict[str, int] = {}
    for entry in config.user:
        uid = uid_of(entry)
        if uid in users:
            raise ConfigError(f"socket: user: {entry.user!r} is there twice")
        users[uid] = Caller(
            user=str(entry.user),
            position=entry.position,
            sees=entry.sees,
            also=tuple(entry.also),
            names=_names(entry, uid),
            applies=entry.applies,
            vouches=entry.vouches,
        )
        for name in users[uid].names:
            if named.setdefault(normalize_name(name), uid) != uid:
                raise ConfigError(f"socket: user: two users go by the name {name!r}")
    return users


def uid_of(entry: SocketUser) -> int:
    """Return the id of a configured user on this host.

    Raises:
        ConfigError: a name that this host does not know.
    """
    if isinstance(entry.user, int):
        return entry.user
    try:
        return pwd.getpwnam(entry.user).pw_uid
    except KeyError:
        raise ConfigError(f"socket: user: this host has no user {entry.user!r}") from None


def senders_of(config: Config, users: Iterable[Caller]) -> dict[str, dict[str, Caller]]:
    """Return who may send commands over each sink, by the sink's name and the user's at its broker.

    ``users`` are those of the socket. A name that is there and here, or at two sinks, is one user.

    Raises:
        ConfigError: one user with two positions, or two users of one name.
    """
    known = {user.user: user for user in users}
    named = {normalize_name(name): user.user for user in known.values() for name in user.names}
    senders: dict[str, dict[str, Caller]] = {}
    for sink in config.sink:
        if not isinstance(sink, BrokerConfig):
            continue
        for entry in sink.sender:
            names = (entry.user,) if entry.name is None else (entry.name, entry.user)
            caller = Caller(
                user=entry.user,
                position=entry.position,
                sees=entry.sees,
                also=tuple(entry.also),
                names=names,
                applies=entry.applies,
            )
            before = known.setdefault(entry.user, caller)
            if (before.position, before.also) != (caller.position, caller.also):
                raise ConfigError(
                    f"sink {sink.known_as}: sender: user {entry.user!r} has another position "
                    "elsewhere in this file: give it the same"
                )
            for name in names:
                if named.setdefault(normalize_name(name), entry.user) != entry.user:
                    raise ConfigError(
                        f"sink {sink.known_as}: sender: two users go by the name {name!r}"
                    )
            senders.setdefault(sink.known_as, {})[entry.user] = caller
    return senders


def _names(entry: SocketUser, uid: int) -> tuple[str, ...]:
    """Return all names of this user: the configured one, the host's, and the number."""
    with suppress(KeyError):
        host = pwd.getpwuid(uid).pw_name
        return tuple(n for n in (entry.name, host, str(uid)) if n is not None)
    return tuple(n for n in (entry.name, str(uid)) if n is not None)


def gid_of(config: SocketConfig) -> int | None:
    """Return the id of the socket's group on this host.

    Raises:
        ConfigError: a name that this host does not know.
    """
    if config.group is None or isinstance(config.group, int):
        return config.group
    try:
        return grp.getgrnam(config.group).gr_gid
    except KeyError:
        raise ConfigError(f"socket: group: this host has no group {config.group!r}") from None
