"""The daemon's configuration file: every key checked before anything is opened.

In: TOML bytes. Out: Config, or one line that says which key and what was expected.
Must not know: devices, the journal's insides, the loop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET

from shoe_ctl import toml
from shoe_ctl.config.sinks import (
    BrokerConfig,
    JsonlConfig,
    MqttConfig,
    NatsConfig,
    Strict,
    TableId,
    UserConfig,
    sink_mistakes,
)
from shoe_ctl.errors import ConfigError, InputRefused
from shoe_ctl.link.address import SerialAddress, parse_address
from shoe_ctl.table.positions import POSITIONS
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.wagers.limits import TableLimits, WagerRules
from shoe_ctl.validation import Mistake, find_mistakes, in_words

Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
HostId = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 2)]
"""The number of a user or group of this host; the highest number names nobody."""

_FARTHEST = 2**53

_TABLE = re.compile(r"table\[([0-9]+)\]")
_SECTION = re.compile(r"\w+(\[[0-9]+\])?")


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
    """The path of a serial port, `"usb:SERIAL"` or `"tcp://HOST:PORT"`. A relative path starts at
    the folder of the file."""
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
    applied_within_s: Positive | None = None
    """Seconds within which a table system reports that it applied an outcome, a revision or a void;
    else the pit hears of it. Needs a user with `applies = true`. Without it, nothing is
    reported."""
    method_b: MethodBConfig = MethodBConfig()
    """The section `[table.method_b]`."""
    highest_position: Literal["gaming_shift_manager", "assistant_casino_manager"] | None = None
    """The one of these two positions that outranks the other. The rule documents do not rank them.
    Without it, neither."""
    limits: TableLimits = TableLimits()
    """The section `[table.limits]`."""

    def mistakes(self, game: Any) -> Iterator[str]:
        """Yield what this game does not allow: a number of decks, a layout, a method, limits."""
        if self.decks is not None and not game.decks.min <= self.decks <= game.decks.max:
            span = f"{game.decks.min} to {game.decks.max}"
            yield f"decks: {game.id} is played with {span}, not {self.decks}"
        layout = self.layout if self.layout is not None else next(iter(game.layouts), None)
        if layout not in (None, *game.layouts):
            yield f"layout: {game.id} has {', '.join(game.layouts)}, not {layout!r}"
            layout = None
        if self.seats is not None and layout is not None:
            # Rule 2.2: with another number the layout is not available.
            of_layout = game.layouts[layout]
            least, most = of_layout.min_seats, len(of_layout.seats)
            if not least <= self.seats <= most:
                span = str(most) if least == most else f"{least} to {most}"
                yield f"seats: layout {layout} has {span}, not {self.seats}"
        if self.method is not None and self.method not in game.methods:
            have = ", ".join(game.methods) or "no methods: leave the key out"
            yield f"method: {game.id} has {have}, not {self.method!r}"
        elif self.method is not None:
            areas = game.methods[self.method].areas
            if areas and self.area not in areas:
                yield (
                    f'method = "{self.method}" is for {" and ".join(areas)}, and area is '
                    f'"{self.area}": set the area, or method = "B"'
                )
        try:
            WagerRules(game, layout, self.limits)
        except InputRefused as error:
            yield f"limits.{error}"

    def settings(self, game: Any) -> TableSettings:
        """Return the table's settings for this game.

        Raises:
            ConfigError: the game does not allow this number of decks, layout, method or limits.
        """
        for wrong in self.mistakes(game):
            raise ConfigError(f"table {self.id}: {wrong}")
        decks = game.decks.default if self.decks is None else self.decks
        layout = self.layout if self.layout is not None else next(iter(game.layouts), None)
        method = self.method if self.method is not None or not game.methods else "B"
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
            applied_within_s=UNSET if self.applied_within_s is None else self.applied_within_s,
            limits=self.limits,
            highest_position=self.highest_position,
        )


class SocketUser(UserConfig, frozen=True, kw_only=True):
    """A user of this host who may give commands."""

    user: str | HostId
    """The user's name on this host, or its number. Each user is listed once."""
    vouches: bool = False
    """`true`: this user is a program at which people log in, such as the web process. It says with
    each command who logged in, and who consented: these need no `[[socket.user]]`. Its own
    `position` and `also` are still the highest that any of them may act in."""


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
        over_sinks = any(isinstance(sink, BrokerConfig) and sink.sender for sink in self.sink)
        return self.socket is not None or over_sinks

    @property
    def socket_path(self) -> Path | None:
        """Return the path of the socket; None without one."""
        if self.socket is None:
            return None
        if self.socket.path is not None:
            return self.path(self.socket.path)
        return self.path(self.journal.path).with_name("shoectl.sock")


class Checked(NamedTuple):
    """A configuration as far as it is right: all of it if ``whole``, None if no table is.

    Each of ``mistakes`` is a line, without the file's name.
    """

    config: Config | None
    mistakes: list[str]
    whole: bool


def load(path: str | Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    return _without_mistakes(check_file(path), str(path), f": shoectl config check {path}")


def check_file(path: str | Path) -> Checked:
    """Read a configuration file, and find every mistake in it.

    Raises:
        ConfigError: the file cannot be read, or is no TOML.
    """
    try:
        with Path(path).open("rb") as file:
            source = file.read(toml.MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(source) > toml.MOST_BYTES:
        raise ConfigError(f"{path}: no configuration has more than {toml.MOST_BYTES:,} bytes")
    checked = _check(_read_toml(source, str(path)))
    if checked.config is None:
        return checked
    folder = Path(path).parent
    tables = [_with_port_in(folder, table) for table in checked.config.table]
    config = msgspec.structs.replace(
        checked.config, table=tables, folder=str(folder), file=str(path)
    )
    return checked._replace(config=config)


def _with_port_in(folder: Path, table: TableConfig) -> TableConfig:
    """Return the table with its port's path, where it is relative, below the file's folder."""
    try:
        port = parse_address(table.shoe.port)
    except ConfigError:  # who resolves the table reports it
        return table
    if folder == Path() or not isinstance(port, SerialAddress):
        return table
    shoe = msgspec.structs.replace(table.shoe, port=str(folder / port.path))
    return msgspec.structs.replace(table, shoe=shoe)


def with_public_output(config: Config) -> Config:
    """Return the configuration with a sink to standard output, if it has none.

    Raises:
        ConfigError: another sink has the name of that one.
    """
    if any(isinstance(sink, JsonlConfig) and sink.path == "-" for sink in config.sink):
        return config
    sinks = [*config.sink, JsonlConfig(path="-")]
    wrong = list(sink_mistakes(sinks, [table.id for table in config.table]))
    changed = msgspec.structs.replace(config, sink=sinks)
    return _without_mistakes(Checked(changed, wrong, whole=True), config.file)


def parse(source: bytes, name: str) -> Config:
    """Check the bytes of a configuration file called ``name`` in messages.

    Raises:
        ConfigError: as ``load``.
    """
    return of_plain(_read_toml(source, name), name)


def of_plain(plain: Mapping[str, Any], name: str) -> Config:
    """Check a configuration that is in plain values already; as ``parse``.

    Raises:
        ConfigError: as ``load``.
    """
    return _without_mistakes(_check(plain), name)


def _read_toml(source: bytes, name: str) -> dict[str, Any]:
    try:
        return toml.parse(source)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None


def _without_mistakes(checked: Checked, name: str, see: str = "") -> Config:
    """Return the configuration; ``see`` says where all mistakes are shown.

    Raises:
        ConfigError: it has a mistake: the first one, and how many more.
    """
    if checked.mistakes:
        first, *more = checked.mistakes
        others = f" (and {len(more)} more{see})" if more else ""
        raise ConfigError(f"{name}: {first}{others}")
    assert checked.config is not None
    return checked.config


# Mistakes in a file.


def _check(plain: Mapping[str, Any]) -> Checked:
    """Find every mistake, also in what is beside another one."""
    found = list(_values_nobody_takes(plain))
    lines = [
        *_worker_mistakes(plain),
        *(f"unknown key `{key}`" for key in _NOT_KEYS if key in plain),
    ]
    given = _without_workers(plain)
    config = None
    try:
        config = msgspec.convert(given, Config) if not found else None
    except msgspec.ValidationError as error:
        found = find_mistakes(given, Config) or [Mistake("", in_words(str(error)))]
    else:
        said = {mistake.place for mistake in found}
        if found:
            found += [one for one in find_mistakes(given, Config) if one.place not in said]
    lines += [f"{mistake}{_whose(given, mistake.place)}" for mistake in found]
    if config is None:
        config = _convert_rest(given, [mistake.place for mistake in found])
    if config is not None:
        lines += _mistakes_between(config, _ids_in(given))
    return Checked(config, lines, whole=not found)


_NOT_KEYS = ("folder", "file")
"""Fields of ``Config`` that are no keys of the file."""


def _convert_rest(plain: Mapping[str, Any], wrong: Sequence[str]) -> Config | None:
    """Return the configuration without the sections at these places, if a table is left.

    Of several sinks all are left out: their places would no longer be those of the file.
    """
    bad = {found[0] for place in wrong if (found := _SECTION.match(place))}
    rest: dict[str, Any] = {}
    for key, value in plain.items():
        if key == "table" and isinstance(value, list):
            rest[key] = [one for at, one in enumerate(value) if f"table[{at}]" not in bad]
        elif key in Config.__struct_fields__ and not any(
            place.partition("[")[0] == key for place in bad
        ):
            rest[key] = value
    try:
        return msgspec.convert(rest, Config)
    except msgspec.ValidationError:  # no table is left
        return None


def _mistakes_between(config: Config, ids: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with keys that are right one by one; ``ids`` are of all its tables."""
    yield from (
        f"table: two tables have the id {twice!r}"
        for twice, count in Counter(ids).items()
        if count > 1
    )
    yield from sink_mistakes(config.sink, ids)
    yield from _wrong_positions([] if config.socket is None else config.socket.user, "socket.user")
    for at, sink in enumerate(config.sink):
        if isinstance(sink, BrokerConfig):
            yield from _wrong_positions(sink.sender, f"sink[{at}].sender")
    yield from _reports_nobody_expects(config)


def _reports_nobody_expects(config: Config) -> Iterator[str]:
    """Yield tables whose reports nobody may give, or a user whose reports no table takes."""
    users = [
        *(() if config.socket is None else config.socket.user),
        *(s for sink in config.sink if isinstance(sink, BrokerConfig) for s in sink.sender),
    ]
    has_reporter = any(user.applies for user in users)
    tables = [at for at, table in enumerate(config.table) if table.applied_within_s is not None]
    if tables and not has_reporter:
        yield (
            f"table[{tables[0]}].applied_within_s: nobody may report what was applied: give a user "
            "applies = true"
        )
    if has_reporter and not tables:
        yield "applies: no table takes such reports: give one applied_within_s"


def _wrong_positions(users: Sequence[UserConfig], where: str) -> Iterator[str]:
    for at, user in enumerate(users):
        also = [(f"also[{i}]", position) for i, position in enumerate(user.also)]
        for key, position in (("position", user.position), *also):
            if position not in POSITIONS:
                have = ", ".join(POSITIONS)
                yield f"{where}[{at}].{key}: expected one of {have}, not {position!r}"


def _values_nobody_takes(plain: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what no key takes: NUL in a path or name, a number beyond JSON's."""
    left: list[tuple[str, Any]] = list(plain.items())
    while left:
        key, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{key}.{inner}", one) for inner, one in value.items()]
        elif isinstance(value, list):
            left += [(f"{key}[{at}]", one) for at, one in enumerate(value)]
        elif isinstance(value, int) and not -_FARTHEST <= value <= _FARTHEST:
            yield Mistake(key, f"expected a number of at most {_FARTHEST:,}")
        elif isinstance(value, str) and "\0" in value:
            yield Mistake(key, "expected a text without the character NUL")


def _tables_in(plain: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables of a file that may be wrong in any way."""
    tables = plain.get("table")
    return [one for one in tables if isinstance(one, dict)] if isinstance(tables, list) else []


def _ids_in(plain: Mapping[str, Any]) -> list[str]:
    ids = [table.get("id") for table in _tables_in(plain)]
    return [each for each in ids if isinstance(each, str)]


def _worker_mistakes(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield the line for keys of several processes in one daemon, which no daemon has any more."""
    held = [(table.get("id"), table["worker"]) for table in _tables_in(plain) if "worker" in table]
    other = next((each for each in held if each[1] != 1), None)
    if other is not None:
        table_id, worker = other
        yield (
            f"table {table_id}: worker: a daemon is one process: move the tables of worker "
            f"{worker} to a separate configuration, which keeps their journal (the one that ends "
            f"in -{worker}), and remove the key: see docs/guides/many-tables.md"
        )
    elif held or "workers" in plain:
        key = f"table {held[0][0]}: worker" if held else "workers"
        yield f"{key}: a daemon is one process: remove the key"


def _without_workers(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file without the keys that have a line of their own."""
    rest = {key: value for key, value in plain.items() if key not in ("workers", *_NOT_KEYS)}
    if isinstance(plain.get("table"), list):
        rest["table"] = [
            {key: value for key, value in table.items() if key != "worker"}
            if isinstance(table, dict)
            else table
            for table in plain["table"]
        ]
    return rest


def _whose(plain: Mapping[str, Any], place: str) -> str:
    """Return the id of the table that a place is in, if it has one."""
    found = _TABLE.match(place)
    if found is None:
        return ""
    table = plain["table"][int(found[1])]
    table_id = table.get("id") if isinstance(table, dict) else None
    return f" (table {table_id})" if isinstance(table_id, str) else ""
