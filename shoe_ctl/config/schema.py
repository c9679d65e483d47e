"""The daemon's configuration file: every key checked before anything is opened.

In: TOML bytes. Out: Config, or one line that says which key and what was expected.
Must not know: devices, the journal's insides, the loop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from shoe_ctl import toml
from shoe_ctl.config.sinks import (
    JsonlConfig,
    MqttConfig,
    NatsConfig,
    Strict,
    TableId,
    UserConfig,
    check_sinks,
)
from shoe_ctl.errors import ConfigError, InputRefused
from shoe_ctl.games.game import Layout
from shoe_ctl.table.positions import POSITIONS
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.wagers.limits import TableLimits, WagerRules
from shoe_ctl.validation import error_text

Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
HostId = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 2)]
"""The number of a user or group of this host; the highest number names nobody."""

_FARTHEST = 2**53


class JournalConfig(Strict, frozen=True, kw_only=True):
    """The journal: its file, how often it is signed, and how long it keeps records."""

    path: str = "journal.db"
    """The journal's file. Its folder must exist. The daemon creates the file, readable by its owner
    only."""
    checkpoint_every_s: Positive = 600
    """Seconds between two signatures. The journal is also signed at the start, at each shoe and at
    the end."""
    keep_days: Positive | None = None
    """Days to keep a set of cards after its end. Older sets are exported to `archive` and removed
    from the journal. Without it, the journal keeps everything."""
    archive: str = "archive"
    """The folder for these exports. The daemon creates it if it is missing."""


class ShoeConfig(Strict, frozen=True, kw_only=True):
    """The table's shoe: its protocol, its port, its keys."""

    profile: str
    """The protocol that the shoe speaks: `"reference"`, `"angel_eye"` or `"bee_tek"`."""
    port: str
    """The path of a serial port, `"usb:SERIAL"` or `"tcp://HOST:PORT"`."""
    baud: int | None = None
    """The rate of a serial port: one that shoes of the profile are known to use. An `angel_eye`
    shoe uses 4800 or 9600. Without it, the profile's usual rate."""
    commands: bool | None = None
    """`true`: the daemon sends commands to the shoe. A shoe that is armed for each draw always gets
    commands, an `angel_eye` shoe only with `true`, a `bee_tek` shoe never. Without it, the
    profile's own behavior: vendors' shoes get no commands."""
    key_file: str | None = None
    """A file with the keys of the shoes that may be used at this table; `reference` only. Without
    it, the link is not authenticated, and the status shows that."""
    firmware: list[str] | None = None
    """SHA-256 digests of the allowed firmware; `reference` only. A shoe with other firmware is
    reported. Without it, any firmware is allowed."""
    unknown_firmware: Literal["report", "refuse_to_arm"] | None = None
    """The answer to a shoe with other firmware: report it, or also keep it locked. Without it,
    `"report"`."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """Settings of the profile itself, as its `SPEC.md` in `firmware_proto/` lists them."""

    def session_settings(self, *, armed: bool) -> dict[str, Any]:
        """Return the settings of a session; ``armed``: the shoes are armed for each draw.

        Raises:
            ConfigError: commands are off, and the shoe gives no card without them.
        """
        options = dict(self.options)
        for name in ("firmware", "unknown_firmware"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        if self.commands is None:
            return options
        if not armed:
            return {**options, "commands": self.commands}
        if not self.commands:
            raise ConfigError(
                f"shoe.commands: a {self.profile} shoe gives no card unless it is told to: "
                "expected true"
            )
        return options


class MethodBConfig(Strict, frozen=True, kw_only=True):
    """The way cards are dealt in Method B."""

    faces: Literal["turned_by_dealer", "face_up"] = "turned_by_dealer"
    """`"turned_by_dealer"`: a card is secret until the command `expose`. `"face_up"`: everyone sees
    a card as soon as it is drawn."""
    face_up_after_ms: Count = 1000
    """With `"face_up"`: milliseconds from the draw until the card counts as seen."""


class TableConfig(Strict, frozen=True, kw_only=True):
    """One table: what is played there, and how."""

    id: TableId
    """The table's name: letters, digits, `.`, `_` and `-`, up to 63 characters. Each id is used
    once. It is part of every event's id."""
    game: str
    """A game that `shoectl games` lists, or the path of a game file."""
    shoe: ShoeConfig
    """The table's shoe: the section `[table.shoe]`."""
    decks: Positive | None = None
    """The number of decks, within what the game allows. Without it, the game's default."""
    layout: str | None = None
    """A layout of the game. Without it, the game's first layout."""
    seats: Positive | None = None
    """The number of the layout's playing positions that the table has, from seat 1 on. Without it,
    all."""
    area: Literal["main", "Paiza Club", "Ruby Room"] = "main"
    """Where the table stands. `"Paiza Club"` and `"Ruby Room"` are high-limit gaming areas."""
    method: Literal["A", "B", "C"] | None = None
    """The method at the start; staff can change it at the table. `"C"` is for high-limit areas
    only. Without it, `"B"`, or none if the game has no methods."""
    announcements: Literal["explicit", "implied"] = "explicit"
    """`"explicit"`: people announce each step, so a `[socket]` is needed. `"implied"`: the steps
    follow from the cards, which are dealt face up."""
    rounds_after_cutting_card: Count = 0
    """Full rounds to deal after the round in which the cutting card came."""
    result_timeout_s: Positive = 5
    """Seconds to wait for the result of a shoe that judges the round too."""
    method_b: MethodBConfig = MethodBConfig()
    """The section `[table.method_b]`."""
    highest_position: Literal["gaming_shift_manager", "assistant_casino_manager"] | None = None
    """The one of these two positions that outranks the other. The rule documents do not rank them.
    Without it, neither."""
    limits: TableLimits = TableLimits()
    """The section `[table.limits]`."""

    def settings(self, game: Any) -> TableSettings:
        """Return the table's settings for this game.

        Raises:
            ConfigError: the game does not allow this number of decks, layout, method or limits.
        """
        where = f"table {self.id}"
        decks = game.decks.default if self.decks is None else self.decks
        if not game.decks.min <= decks <= game.decks.max:
            span = f"{game.decks.min} to {game.decks.max}"
            raise ConfigError(f"{where}: decks: {game.id} is played with {span}, not {decks}")
        layout = self.layout if self.layout is not None else next(iter(game.layouts), None)
        if layout not in (None, *game.layouts):
            have = ", ".join(game.layouts)
            raise ConfigError(f"{where}: layout: {game.id} has {have}, not {layout!r}")
        if self.seats is not None and layout is not None:
            _check_seats(where, layout, game.layouts[layout], self.seats)
        method = self.method if self.method is not None or not game.methods else "B"
        if method is not None and method not in game.methods:
            have = ", ".join(game.methods) or "no methods: leave the key out"
            raise ConfigError(f"{where}: method: {game.id} has {have}, not {method!r}")
        areas = game.methods[method].areas if method is not None else ()
        if areas and self.area not in areas:
            raise ConfigError(
                f'{where}: method = "{method}" is for {" and ".join(areas)}, and area is '
                f'"{self.area}": set the area, or method = "B"'
            )
        try:
            WagerRules(game, layout, self.limits)
        except InputRefused as error:
            raise ConfigError(f"{where}: limits.{error}") from None
        staffed = bool(game.methods)
        return TableSettings(
            table=self.id,
            decks=decks,
            layout=layout,
            seats=self.seats,
            area=self.area,
            method=method,
            announcements=self.announcements,
            rounds_after_cutting_card=self.rounds_after_cutting_card,
            faces=self.method_b.faces if staffed else "face_up",
            face_up_after_ms=self.method_b.face_up_after_ms,
            result_timeout_s=self.result_timeout_s,
            limits=self.limits,
            highest_position=self.highest_position,
        )


def _check_seats(where: str, name: str, layout: Layout, seats: int) -> None:
    """Refuse a number of playing positions with which the layout is not available (rule 2.2)."""
    least, most = layout.min_seats, len(layout.seats)
    if not least <= seats <= most:
        span = str(most) if least == most else f"{least} to {most}"
        raise ConfigError(f"{where}: seats: layout {name} has {span}, not {seats}")


class SocketUser(UserConfig, frozen=True, kw_only=True):
    """A user of this host who may give commands."""

    user: str | HostId
    """The user's name on this host, or its number. Each user is listed once."""


class SocketConfig(Strict, frozen=True, kw_only=True):
    """The local socket that takes commands."""

    user: Annotated[list[SocketUser], msgspec.Meta(min_length=1)]
    """The users: the sections `[[socket.user]]`, one or more."""
    path: str | None = None
    """The socket's file, up to 107 bytes. Without it, `shoectl.sock` beside the journal."""
    group: str | HostId | None = None
    """A group of this host, by name or number, whose members may connect. Without it, the group
    that the daemon creates files with."""


class Config(Strict, frozen=True, kw_only=True):
    """The whole file."""

    table: Annotated[list[TableConfig], msgspec.Meta(min_length=1)]
    """The tables: the sections `[[table]]`, one or more."""
    journal: JournalConfig = JournalConfig()
    """The section `[journal]`."""
    sink: list[JsonlConfig | MqttConfig | NatsConfig] = msgspec.field(default_factory=list)
    """The sinks: the sections `[[sink]]`."""
    socket: SocketConfig | None = None
    """The section `[socket]`. Without it, only the senders of a sink can give commands."""
    folder: str = "."
    """Where relative paths start. Not a key of the file."""
    file: str = ""
    """The name of the file in errors. Not a key of the file."""

    def path(self, name: str) -> Path:
        """Return a path of this file: a relative one starts at the file's own folder."""
        return Path(self.folder) / name

    @property
    def takes_commands(self) -> bool:
        """Return whether anybody can give commands: at the socket, or over a sink."""
        over_sinks = any(isinstance(sink, MqttConfig) and sink.sender for sink in self.sink)
        return self.socket is not None or over_sinks

    @property
    def socket_path(self) -> Path | None:
        """Return the path of the socket; None without one."""
        if self.socket is None:
            return None
        if self.socket.path is not None:
            return self.path(self.socket.path)
        return self.path(self.journal.path).with_name("shoectl.sock")


def load(path: str | Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    try:
        with Path(path).open("rb") as file:
            source = file.read(toml.MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(source) > toml.MOST_BYTES:
        raise ConfigError(f"{path}: no configuration has more than {toml.MOST_BYTES:,} bytes")
    config = parse(source, str(path))
    return msgspec.structs.replace(config, folder=str(Path(path).parent), file=str(path))


def with_public_output(config: Config) -> Config:
    """Return the configuration with a sink to standard output, if it has none.

    Raises:
        ConfigError: another sink has the name of that one.
    """
    if any(isinstance(sink, JsonlConfig) and sink.path == "-" for sink in config.sink):
        return config
    sinks = [*config.sink, JsonlConfig(path="-")]
    check_sinks(sinks, [table.id for table in config.table], config.file)
    return msgspec.structs.replace(config, sink=sinks)


def parse(source: bytes, name: str) -> Config:
    """Check the bytes of a configuration file called ``name`` in messages.

    Raises:
        ConfigError: as ``load``.
    """
    try:
        plain = toml.parse(source)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None
    return of_plain(plain, name)


def of_plain(plain: Mapping[str, Any], name: str) -> Config:
    """Check a configuration that is in plain values already; as ``parse``.

    Raises:
        ConfigError: as ``load``.
    """
    for key in ("folder", "file"):
        if key in plain:
            raise ConfigError(f"{name}: unknown key `{key}`")
    _check_values(plain, name)
    _refuse_workers(plain, name)
    try:
        config = msgspec.convert(plain, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{name}: {error_text(str(error), Config)}{_whose(plain, str(error))}"
        ) from None
    _check_ids(config, name)
    check_sinks(config.sink, [table.id for table in config.table], name)
    _check_positions([] if config.socket is None else config.socket.user, f"{name}: socket.user")
    for at, sink in enumerate(config.sink):
        if isinstance(sink, MqttConfig):
            _check_positions(sink.sender, f"{name}: sink[{at}].sender")
    return config


def _check_positions(users: Sequence[UserConfig], where: str) -> None:
    for at, user in enumerate(users):
        also = [(f"also[{i}]", position) for i, position in enumerate(user.also)]
        for key, position in (("position", user.position), *also):
            if position not in POSITIONS:
                have = ", ".join(POSITIONS)
                raise ConfigError(f"{where}[{at}].{key}: expected one of {have}, not {position!r}")


def _check_values(plain: Mapping[str, Any], name: str) -> None:
    """Refuse what no key takes: NUL in a path or name, a number beyond JSON's."""
    left: list[tuple[str, Any]] = list(plain.items())
    while left:
        key, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{key}.{inner}", one) for inner, one in value.items()]
        elif isinstance(value, list):
            left += [(f"{key}[{at}]", one) for at, one in enumerate(value)]
        elif isinstance(value, int) and not -_FARTHEST <= value <= _FARTHEST:
            raise ConfigError(f"{name}: {key}: expected a number of at most {_FARTHEST:,}")
        elif isinstance(value, str) and "\0" in value:
            raise ConfigError(f"{name}: {key}: expected a text without the character NUL")


def _refuse_workers(plain: Mapping[str, Any], name: str) -> None:
    """Refuse keys for several processes in one daemon, which daemons had while they were made."""
    tables = plain.get("table")
    held = [
        (table.get("id"), table["worker"])
        for table in (tables if isinstance(tables, list) else [])
        if isinstance(table, dict) and "worker" in table
    ]
    for table_id, worker in held:
        if worker != 1:
            raise ConfigError(
                f"{name}: table {table_id}: worker: a daemon is one process: move the tables of "
                f"worker {worker} to a separate configuration, which keeps their journal (the "
                f"one that ends in -{worker}), and remove the key: see docs/guides/many-tables.md"
            )
    if held or "workers" in plain:
        key = f"table {held[0][0]}: worker" if held else "workers"
        raise ConfigError(f"{name}: {key}: a daemon is one process: remove the key")


def _check_ids(config: Config, name: str) -> None:
    ids = [table.id for table in config.table]
    twice = next((i for i in ids if ids.count(i) > 1), None)
    if twice is not None:
        raise ConfigError(f"{name}: table: two tables have the id {twice!r}")


def _whose(plain: Mapping[str, Any], message: str) -> str:
    """Return the id of the table that msgspec's message is about, if it has one."""
    place = re.search(r"at `\$\.table\[([0-9]+)\]", message)
    if place is None:
        return ""
    table_id = plain["table"][int(place[1])]
    table_id = table_id.get("id") if isinstance(table_id, dict) else None
    return f" (table {table_id})" if isinstance(table_id, str) else ""
