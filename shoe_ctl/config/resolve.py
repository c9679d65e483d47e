"""Resolve a configuration: each table's game, profile and settings, checked, and warnings about it.

In: a configuration. Out: what each table is set up with; a line for each setting that is valid but
will be missed one day. Must not know: how a table is run, how a line is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from firmware_proto.profiles import Profile, with_keys
from firmware_proto.profiles import profile as profile_named
from shoe_ctl.config.schema import Config, TableConfig
from shoe_ctl.config.sinks import MqttConfig, UserConfig
from shoe_ctl.errors import ConfigError, GameFileError
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.link.address import SerialAddress, parse_address
from shoe_ctl.link.keyring import KeyRing
from shoe_ctl.table.commands import COMMANDS, can_give
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.turn import HANDED

NONCE_BYTES = 16
"""Length of the nonce with which a shoe proves itself; see ``with_keys``."""

KEY_BYTES = 32
"""Length of a key that is made here."""


NO_WAY_IN = (
    "no [socket]: nobody can decide about a table that halts, or resume it; it stands still until "
    "a [socket] is added and the daemon started again"
)

NOBODY_RESUMES = (
    "[socket]: no user may resume a table that halts; it stands still until one is "
    f"added as {COMMANDS['resume'].position} or higher and the daemon started again"
)


class TableSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The setup of a table: its configuration, and its game, settings and profile."""

    config: TableConfig
    game: Game
    settings: TableSettings
    profile: Profile
    keys: KeyRing | None


def resolve(config: Config) -> list[TableSetup]:
    """Check every table against its game and its shoe's profile; return what it is set up with.

    Raises:
        ConfigError: a profile, a port or a setting is wrong. GameFileError: a game file is.
    """
    rings: dict[Path, KeyRing] = {}
    with naming_file(config):
        return [_resolve(config, table, rings) for table in config.table]


@contextmanager
def naming_file(config: Config) -> Iterator[None]:
    """Let errors about a configuration name its file, where it was read from one.

    Raises:
        ConfigError, GameFileError: as the body, with the file's name first.
    """
    try:
        yield
    except (ConfigError, GameFileError) as error:
        if not config.file:
            raise
        raise type(error)(f"{config.file}: {error}") from None


def profile_of(
    config: Config, table: TableConfig, rings: dict[Path, KeyRing]
) -> tuple[Profile, dict[str, Any], KeyRing | None]:
    """Return a table's profile with its keys, and the settings of its sessions, all checked.

    Tables that share a file of keys share its ring, of those opened so far.

    Raises:
        ConfigError: a profile, a setting, the port, its rate or the file of keys is wrong.
    """
    where = f"table {table.id}"
    try:
        chosen, ring = profile_named(table.shoe.profile), None
        if table.shoe.key_file is not None:
            ring = _ring(config.path(table.shoe.key_file), rings)
            chosen = with_keys(chosen, ring.keys, partial(os.urandom, NONCE_BYTES))
        session_settings = table.shoe.session_settings(armed=chosen.CAPABILITIES.arm)
        chosen.host_session(resume=None, settings=session_settings)
        chosen.SERIAL.at(table.shoe.baud)
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{where}: shoe: {error}") from None
    try:
        port = parse_address(table.shoe.port)
    except ConfigError as error:
        raise ConfigError(f"{where}: shoe.{error}") from None
    if table.shoe.baud is not None and not isinstance(port, SerialAddress):
        raise ConfigError(f"{where}: shoe: baud: {port} has none: it is for serial ports")
    return chosen, session_settings, ring


def _ring(path: Path, rings: dict[Path, KeyRing]) -> KeyRing:
    if path not in rings:
        rings[path] = KeyRing(path, partial(os.urandom, KEY_BYTES))
    return rings[path]


def _resolve(config: Config, table: TableConfig, rings: dict[Path, KeyRing]) -> TableSetup:
    where = f"table {table.id}"
    chosen, _, ring = profile_of(config, table, rings)
    is_file = "/" in table.game or table.game.endswith(".toml")
    try:
        game = catalog.load(str(config.path(table.game)) if is_file else table.game)
    except GameFileError as error:
        raise GameFileError(f"{where}: game: {error}") from None
    if game.deck.name not in chosen.CAPABILITIES.decks:
        raise ConfigError(
            f"{where}: shoe: {table.shoe.profile} shoes cannot name the cards of {game.deck.name}, "
            f"which {game.id} is played with"
        )
    settings = table.settings(game)
    return TableSetup(config=table, game=game, settings=settings, profile=chosen, keys=ring)


def refuse_what_needs_people(settings: TableSettings, *, way_in: bool) -> None:
    """Refuse a table that waits for commands if nobody can send any (``way_in`` is false).

    Raises:
        ConfigError: one line that says which key and what to set instead.
    """
    where = f"table {settings.table}"
    needs = "and there is no way in for them: add a [socket], or"
    if not (settings.implied or way_in):
        raise ConfigError(
            f'{where}: announcements = "explicit" waits for a dealer\'s commands, {needs} '
            'set "implied"'
        )
    if settings.implied and settings.method in HANDED:
        raise ConfigError(
            f'{where}: method = "{settings.method}" deals face down, and announcements = "implied" '
            'follows cards that are dealt face up: set "explicit", or method = "B"'
        )
    if settings.faces == "turned_by_dealer" and settings.implied:
        raise ConfigError(
            f'{where}: announcements = "implied" follows cards that are dealt face up: '
            'set method_b.faces = "face_up"'
        )


def warnings(config: Config) -> list[str]:
    """Return one line for each setting that is valid but leaves nobody able to resume a table."""
    if not config.takes_commands:
        return [NO_WAY_IN]
    users: list[UserConfig] = [] if config.socket is None else [*config.socket.user]
    for sink in config.sink:
        users += sink.sender if isinstance(sink, MqttConfig) else []
    positions = [held for user in users for held in (user.position, *user.also)]
    highest = [table.highest_position for table in config.table]
    resumes = all(
        any(
            can_give(held, "resume", COMMANDS["resume"].position, highest=top) for held in positions
        )
        for top in highest
    )
    return [] if resumes else [NOBODY_RESUMES]
