"""A configuration held against the games and the profiles that it names.

In: a configuration. Out: each table's game, settings, profile and session settings, all checked.
Must not know: how a table is run.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

import msgspec

from firmware_proto.profiles import Profile, with_keys
from firmware_proto.profiles import profile as profile_named
from shoe_ctl.config import Config, TableConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.link.key_file import read_keys
from shoe_ctl.link.ports import SerialPort, parse_port
from shoe_ctl.table.settings import TableSettings

NONCE_BYTES = 16
"""What a shoe is asked to prove itself with; see ``with_keys``."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A table's configuration, checked against its game and its shoe's profile."""

    config: TableConfig
    game: Game
    settings: TableSettings
    profile: Profile


def check(config: Config) -> list[Checked]:
    """Check every table of a configuration against its game and its shoe's profile.

    Raises:
        ConfigError: a profile, a port or a setting is wrong. GameFileError: a game file is.
    """
    return [_check(config, table) for table in config.table]


def profile_of(config: Config, table: TableConfig) -> tuple[Profile, dict[str, Any]]:
    """A table's profile, with its keys, and the settings of its sessions, all checked.

    Raises:
        ConfigError: a profile, a setting, the port, its rate or the file of keys is wrong.
    """
    where = f"table {table.id}"
    try:
        chosen = profile_named(table.shoe.profile)
        if table.shoe.key_file is not None:
            keys = read_keys(config.path(table.shoe.key_file))
            chosen = with_keys(chosen, keys, partial(secrets.token_bytes, NONCE_BYTES))
        session_settings = table.shoe.session_settings(armed=chosen.CAPABILITIES.arm)
        chosen.host_session(resume=None, settings=session_settings)
        chosen.SERIAL.at(table.shoe.baud)
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{where}: shoe: {error}") from None
    try:
        port = parse_port(table.shoe.port)
    except ConfigError as error:
        raise ConfigError(f"{where}: shoe.{error}") from None
    if table.shoe.baud is not None and not isinstance(port, SerialPort):
        raise ConfigError(f"{where}: shoe: baud: {port} has none: it is for serial ports")
    return chosen, session_settings


def _check(config: Config, table: TableConfig) -> Checked:
    where = f"table {table.id}"
    chosen, _ = profile_of(config, table)
    is_file = "/" in table.game or table.game.endswith(".toml")
    game = catalog.load(str(config.path(table.game)) if is_file else table.game)
    if game.deck.name not in chosen.CAPABILITIES.decks:
        raise ConfigError(
            f"{where}: shoe: {table.shoe.profile} shoes cannot name the cards of {game.deck.name}, "
            f"which {game.id} is played with"
        )
    return Checked(config=table, game=game, settings=table.settings(game), profile=chosen)
