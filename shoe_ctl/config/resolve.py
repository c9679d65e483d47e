"""Resolve a configuration: each table's game, profile and settings, checked, and warnings about it.

In: a configuration. Out: what each table is set up with; a line for each setting that is valid but
will be missed one day. Must not know: how a table is run, how a line is shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from firmware_proto.profiles import Profile, with_keys
from firmware_proto.profiles import profile as profile_named
from shoe_ctl.config.schema import Config, ShoeConfig, TableConfig
from shoe_ctl.config.sinks import BrokerConfig, UserConfig
from shoe_ctl.errors import ConfigError, GameFileError
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.link.address import SerialAddress, parse_address
from shoe_ctl.link.keyring import KeyRing
from shoe_ctl.table.commands import COMMANDS, can_give
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.turn import HANDED

T = TypeVar("T")

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
    checks = _Checks(table)
    found = checks.profile(config, rings)
    if checks.errors:
        raise checks.errors[0]
    assert found is not None
    return found


def check_table(
    config: Config, table: TableConfig, rings: dict[Path, KeyRing]
) -> tuple[TableSetup | None, list[ConfigError | GameFileError]]:
    """Return what a table is set up with, or everything that is wrong with it."""
    checks = _Checks(table)
    shoe = checks.profile(config, rings)
    game = checks.game(config)
    settings = None
    if game is not None:
        for wrong in table.mistakes(game):
            checks.errors.append(ConfigError(f"table {table.id}: {wrong}"))
        if shoe is not None and game.deck.name not in shoe[0].CAPABILITIES.decks:
            checks.errors.append(
                ConfigError(
                    f"table {table.id}: shoe: {table.shoe.profile} shoes cannot name the cards of "
                    f"{game.deck.name}, which {game.id} is played with"
                )
            )
        if not checks.errors:
            settings = table.settings(game)
    if shoe is None or game is None or settings is None:
        return None, checks.errors
    setup = TableSetup(config=table, game=game, settings=settings, profile=shoe[0], keys=shoe[2])
    return setup, checks.errors


class _Checks:
    """The checks of one table. ``errors`` are all that they found."""

    def __init__(self, table: TableConfig) -> None:
        self.errors: list[ConfigError | GameFileError] = []
        self._table = table
        self._where = f"table {table.id}"

    def _attempt(self, key: str, check: Callable[[], T]) -> T | None:
        """Return what a check returns; None if it finds an error, which is noted."""
        try:
            return check()
        except GameFileError as error:
            self.errors.append(GameFileError(f"{self._where}: {key}{error}"))
        except (ConfigError, ValueError) as error:
            self.errors.append(ConfigError(f"{self._where}: {key}{error}"))
        return None

    def profile(
        self, config: Config, rings: dict[Path, KeyRing]
    ) -> tuple[Profile, dict[str, Any], KeyRing | None] | None:
        """Return the profile with its keys, the settings of its sessions and the ring of keys."""
        shoe, ring, settings = self._table.shoe, None, None
        chosen = self._attempt("shoe: ", lambda: profile_named(shoe.profile))
        if (file := shoe.key_file) is not None:
            ring = self._attempt("shoe: ", lambda: _ring(config.path(file), rings))
        if chosen is not None:
            plain = chosen
            if ring is not None:
                nonce, keys = partial(os.urandom, NONCE_BYTES), ring.keys
                chosen = self._attempt("shoe: ", lambda: with_keys(plain, keys, nonce))
            settings = self._attempt("shoe: ", lambda: _session_settings(shoe, chosen or plain))
            self._attempt("shoe: ", lambda: plain.SERIAL.at(shoe.baud))
        port = self._attempt("shoe.", lambda: parse_address(shoe.port))
        if shoe.baud is not None and not (port is None or isinstance(port, SerialAddress)):
            wrong = f"{self._where}: shoe: baud: {port} has none: it is for serial ports"
            self.errors.append(ConfigError(wrong))
        return None if chosen is None or settings is None else (chosen, settings, ring)

    def game(self, config: Config) -> Game | None:
        """Return the game."""
        name = self._table.game
        is_file = "/" in name or name.endswith(".toml")
        file = str(config.path(name)) if is_file else name
        return self._attempt("game: ", lambda: catalog.load(file))


def _session_settings(shoe: ShoeConfig, profile: Profile) -> dict[str, Any]:
    settings = shoe.session_settings(armed=profile.CAPABILITIES.arm)
    profile.host_session(resume=None, settings=settings)
    return settings


def _ring(path: Path, rings: dict[Path, KeyRing]) -> KeyRing:
    if path not in rings:
        rings[path] = KeyRing(path, partial(os.urandom, KEY_BYTES))
    return rings[path]


def _resolve(config: Config, table: TableConfig, rings: dict[Path, KeyRing]) -> TableSetup:
    setup, errors = check_table(config, table, rings)
    if errors:
        raise errors[0]
    assert setup is not None
    return setup


def refuse_what_needs_people(settings: TableSettings, *, way_in: bool) -> None:
    """Refuse a table that waits for commands if nobody can send any (``way_in`` is false).

    Raises:
        ConfigError: one line that says which key and what to set instead.
    """
    for wrong in people_needed(settings, way_in=way_in):
        raise ConfigError(wrong)


def people_needed(settings: TableSettings, *, way_in: bool) -> Iterator[str]:
    """Yield a line for each setting that waits for commands which nobody can send."""
    where = f"table {settings.table}"
    needs = "and there is no way in for them: add a [socket], or"
    if not (settings.implied or way_in):
        yield (
            f'{where}: announcements = "explicit" waits for a dealer\'s commands, {needs} '
            'set "implied"'
        )
    if settings.implied and settings.method in HANDED:
        yield (
            f'{where}: method = "{settings.method}" deals face down, and announcements = "implied" '
            'follows cards that are dealt face up: set "explicit", or method = "B"'
        )
    if settings.faces == "turned_by_dealer" and settings.implied:
        yield (
            f'{where}: announcements = "implied" follows cards that are dealt face up: '
            'set method_b.faces = "face_up"'
        )


def warnings(config: Config) -> list[str]:
    """Return one line for each setting that is valid but leaves nobody able to resume a table."""
    if not config.takes_commands:
        return [NO_WAY_IN]
    users: list[UserConfig] = [] if config.socket is None else [*config.socket.user]
    for sink in config.sink:
        users += sink.sender if isinstance(sink, BrokerConfig) else []
    positions = [held for user in users for held in (user.position, *user.also)]
    highest = [table.highest_position for table in config.table]
    resumes = all(
        any(
            can_give(held, "resume", COMMANDS["resume"].position, highest=top) for held in positions
        )
        for top in highest
    )
    return [] if resumes else [NOBODY_RESUMES]
