"""The sinks of a configuration file: their kinds, where each goes, who may send commands over it.

In: what the file says of its sinks. Out: one form a kind, or one line that says which key is wrong.
Must not know: how events are delivered, what is connected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from shoe_ctl.records import Audience

T = TypeVar("T")

TableId = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$",
        description="1 to 63 letters, digits, . _ -, a letter or digit first",
    ),
]
SinkName = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z][^\x00-\x1f\x7f]{0,199}\Z",
        description="1 to 200 characters in one line, a letter first",
    ),
]
BrokerUser = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[^\x00-\x20\x7f/+#$][^\x00-\x20\x7f/+#]{0,62}\Z",
        description="1 to 63 characters without a space, / + #, and no $ first",
    ),
]
"""A name that can be one level of a topic."""
TOKEN = r"[A-Za-z0-9_-]+"
"""A name that can be one part of a subject of NATS, and of an inbox."""
StreamName = Annotated[
    str,
    msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z", description="1 to 64 letters, digits, _ and -"),
]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of the file: it takes no key that it does not name."""


class UserConfig(Strict, frozen=True, kw_only=True):
    """A user who may give commands, whatever the way in."""

    name: Text | None = None
    """The user's name for people at the table, for example `"Ann"`. A second person is named by it
    or by `user`. Two users cannot share a name. Without it, `user`."""
    position: str
    """The highest position that this user may act in: `dealer`, `pit_supervisor`, `pit_manager`,
    `gaming_shift_manager`, `assistant_casino_manager` or `surveillance`. `surveillance` sees the
    status, confirms what it saw where a choice is its own, and may pause and resume a table."""
    also: list[str] = []
    """Other positions that this user may act in and that `position` does not include, for example
    `["surveillance"]`."""
    audience: Literal["public", "restricted"] = "public"
    """The stream whose event ids the answers to this user name. At the socket the user may also ask
    for its events, and for those of the public stream."""
    applies: bool = False
    """`true`: this user reports which outcomes its table system has applied, at tables with
    `applied_within_s`."""

    @property
    def sees(self) -> Audience:
        """Return the stream whose event ids this user's answers have."""
        return Audience[self.audience.upper()]


class SinkConfig(Strict, frozen=True, kw_only=True):
    """The keys of every sink, of whatever kind."""

    audience: Literal["public", "restricted"] = "public"
    """`"public"`: what the table can see. `"restricted"`: everything, also cards before they are
    revealed."""
    name: SinkName | None = None
    """The sink's own name, under which the journal keeps how far it has got: with a name, where it
    goes to may change. Two sinks cannot share a name. It begins with a letter. Without it, the kind
    and where it goes to: `"jsonl:public.jsonl"`, `"mqtt:broker:1883:public"`."""
    begins: Literal["now", "shoe", "beginning"] = msgspec.field(default="beginning", name="from")
    """Where the sink begins at its first start: at the journal's `"beginning"`, at the first event
    of the `"shoe"` that is on the table (of the oldest one, if there are several tables), or
    `"now"`, with what this start brings. Afterwards it goes on where it was."""
    table: TableId | None = None
    """The table whose events the sink gets. Without it, those of every table."""

    @property
    def known_as(self) -> str:
        """Return the sink's name, under which the journal keeps its cursor."""
        return self.default_name if self.name is None else self.name

    @property
    def default_name(self) -> str:
        """Return the name of a sink that is given none."""
        raise NotImplementedError

    @property
    def sees(self) -> Audience:
        """Return the stream that this sink gets."""
        return Audience[self.audience.upper()]

    def is_for(self, table: str) -> bool:
        """Return whether the sink gets the events of this table."""
        return self.table in (None, table)


class JsonlConfig(SinkConfig, frozen=True, kw_only=True, tag_field="kind", tag="jsonl"):
    """Events as JSON lines, one event a line, to a file or to standard output."""

    path: str
    """A file that the daemon appends to, or `"-"` for standard output. Two sinks cannot share a
    file, nor can two daemons."""

    @property
    def default_name(self) -> str:
        """Return the name of a sink that is given none."""
        return f"jsonl:{self.path}"


class TlsConfig(Strict, frozen=True, kw_only=True):
    """The files with which the daemon and the broker prove themselves to each other."""

    ca: str | None = None
    """A file with the certificates that the broker's certificate must come from. Without it, those
    that this host trusts."""
    cert: str | None = None
    """A file with the daemon's own certificate, for a broker that asks for one. With `key`."""
    key: str | None = None
    """The private key of `cert`, in a file that only its owner may read."""


class BrokerAddress(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int
    tls: bool


def broker_address(text: str, plain: str, secure: str, ports: tuple[int, int]) -> BrokerAddress:
    """Return the parts of an address such as ``mqtt://HOST:PORT``.

    ``plain`` and ``secure`` are its schemes, ``ports`` are those without and with TLS.

    Raises:
        ValueError: it is no such address; the text says what is expected.
    """
    expected = f"expected {plain}://HOST:PORT or {secure}://HOST:PORT"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{expected}, not {text!r}") from None
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{expected}: give the login as user and password_file")
    if parts.scheme not in (plain, secure) or not host or parts.path.strip("/") or parts.query:
        raise ValueError(f"{expected}, not {text!r}")
    if any(ord(letter) <= 0x20 for letter in text) or port == 0:
        raise ValueError(f"{expected}, not {text!r}")
    tls = parts.scheme == secure
    return BrokerAddress(host, ports[tls] if port is None else port, tls)


class Sender(UserConfig, frozen=True, kw_only=True):
    """A user of the broker who may send commands. The broker's access list makes the name true."""

    user: BrokerUser
    """The user's name at the broker, which is the last part of the topic or subject that its
    commands come on. It has no blank, `/`, `+` or `#`; for NATS only letters, digits, `_` and `-`.
    Each user is listed once."""
    tables: list[TableId] = []
    """The tables that this user may command and ask about. It is needed where the sink publishes
    more than one table; without it, the one table."""


class BrokerConfig(SinkConfig, frozen=True, kw_only=True):
    """The keys of every sink that goes to a broker."""

    address: str
    """Where the broker listens."""
    user: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None
    """The daemon's own user name at the broker. Without it, it gives none."""
    password_file: str | None = None
    """A file with the password of `user`, which only its owner may read. It is read again at each
    connection."""
    tls: TlsConfig | None = None
    """The section `[sink.tls]`, for an address with TLS."""
    checkpoints: bool = False
    """`true`: the sink also publishes the journal's signed checkpoints, to a separate topic
    or stream, which [witnesses](../audit/witness.md) follow."""
    sender: list[Sender] = []
    """The users who may send commands over this sink: the sections `[[sink.sender]]`. Without one,
    it takes no commands."""


class MqttConfig(BrokerConfig, frozen=True, kw_only=True, tag_field="kind", tag="mqtt"):
    """Events to an MQTT 5 broker, the state of each table, and commands from it."""

    address: str
    """Where the broker listens: `"mqtt://HOST:PORT"`, or `"mqtts://HOST:PORT"` with TLS. Without
    the port, 1883 or 8883. Two sinks with the same address cannot publish the same stream of the
    same table."""

    @property
    def broker(self) -> BrokerAddress:
        """Return the parts of the address.

        Raises:
            ValueError: it is no address of an MQTT broker.
        """
        return broker_address(self.address, "mqtt", "mqtts", (1883, 8883))

    @property
    def default_name(self) -> str:
        """Return the name of a sink that is given none."""
        at = self.broker
        return f"mqtt:{at.host}:{at.port}:{self.audience}"


def nats_servers(text: str) -> list[str]:
    """Return the addresses of NATS servers in a list with commas, each with its port.

    Raises:
        ValueError: one is no such address, or they have different schemes.
    """
    found = [broker_address(part.strip(), "nats", "tls", (4222, 4222)) for part in text.split(",")]
    if len({address.tls for address in found}) > 1:
        raise ValueError(f"all addresses need the same scheme, not {text!r}")
    return [
        f"{'tls' if at.tls else 'nats'}://{f'[{at.host}]' if ':' in at.host else at.host}:{at.port}"
        for at in found
    ]


class NatsConfig(BrokerConfig, frozen=True, kw_only=True, tag_field="kind", tag="nats"):
    """Events to a stream of NATS JetStream."""

    address: str
    """Where the server listens: `"nats://HOST:PORT"`, or `"tls://HOST:PORT"` for a connection that
    must be encrypted. Without the port, 4222. For a cluster all its servers, with commas between
    them."""
    stream: StreamName | None = None
    """The JetStream stream that keeps the events. It is created if it is not there. Each audience
    needs another one. Without it, `"SHOE"`, and `"SHOE_RESTRICTED"` for the restricted events."""
    replicas: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None
    """The number of servers that must keep the stream: 3 in a cluster of three. A stream with fewer
    is refused. Without it, a new stream has 1, and any number is accepted."""

    @property
    def servers(self) -> list[str]:
        """Return the addresses, one by one, each with its port.

        Raises:
            ValueError: one of them is no address of a NATS server.
        """
        return nats_servers(self.address)

    @property
    def default_name(self) -> str:
        """Return the name of a sink that is given none."""
        return f"nats:{self.servers[0].partition('://')[2]}:{self.audience}"


def keeps_state(sink: MqttConfig, sinks: Sequence[SinkConfig], table: str) -> bool:
    """Return whether this sink is the one that publishes the table's state at its broker.

    One does, whatever the number of sinks there: that of the public stream, or else the first.
    """
    there = [
        each
        for each in sinks
        if isinstance(each, MqttConfig)
        and each.broker[:2] == sink.broker[:2]
        and each.is_for(table)
    ]
    public = [each for each in there if each.audience == "public"]
    return sink is (public or there)[0]


def sink_mistakes(sinks: Sequence[SinkConfig], tables: Sequence[str]) -> Iterator[str]:
    """Yield what no sink can be, and where two sinks get into each other's way.

    ``tables`` are those that are served.
    """
    known = True
    for at, sink in enumerate(sinks):
        if sink.table is not None and sink.table not in tables:
            have = ", ".join(tables)
            yield f"sink[{at}].table: there is no table {sink.table!r} (there is: {have})"
        yield from _sender_mistakes(sink, tables, f"sink[{at}].sender")
        try:
            _check_sink(sink)
        except ValueError as error:
            known = False
            yield f"sink[{at}].{error}"
    paths = [sink.path for sink in sinks if isinstance(sink, JsonlConfig)]
    for shared in _more_than_once(paths):
        yield f"sink: two sinks write to {shared!r}"
    if not known:  # one has an address from which no name can be made
        return
    files = [sink.known_as for sink in sinks if isinstance(sink, JsonlConfig) and not sink.name]
    for shared in _more_than_once([sink.known_as for sink in sinks]):
        if files.count(shared) < 2:  # else they write to one file, which is said
            yield f"sink: two sinks have the name {shared!r}: give each a name of its own"
    brokers = [sink for sink in sinks if isinstance(sink, BrokerConfig)]
    for one, other in combinations(brokers, 2):
        both = None in (one.table, other.table) or one.table == other.table
        if both and _are_at_one_broker(one, other):
            yield from _mistakes_beside(one, other)


def _check_sink(sink: SinkConfig) -> None:
    if isinstance(sink, NatsConfig):
        if sink.user is not None and sink.password_file is None:
            raise ValueError("user: it needs a password: add password_file")
        encrypted = _parsed(lambda: sink.servers)[0].startswith("tls://")
        _check_login(sink, "nats", "tls", encrypted=encrypted)
        for sender in sink.sender:
            if not re.fullmatch(TOKEN, sender.user):
                raise ValueError(
                    f"sender: {sender.user!r} cannot be a part of a subject: expected letters, "
                    "digits, _ and -"
                )
    elif isinstance(sink, MqttConfig):
        _check_login(sink, "mqtt", "mqtts", encrypted=_parsed(lambda: sink.broker).tls)
    if isinstance(sink, BrokerConfig):
        for shared in _more_than_once([sender.user for sender in sink.sender]):
            raise ValueError(f"sender: {shared!r} is there twice")


def _sender_mistakes(sink: SinkConfig, tables: Sequence[str], where: str) -> Iterator[str]:
    """Yield what is wrong with the tables that the senders of a sink may command."""
    published = [table for table in tables if sink.is_for(table)]
    for at, sender in enumerate(sink.sender if isinstance(sink, BrokerConfig) else ()):
        if not sender.tables and len(published) > 1:
            yield (
                f"{where}[{at}].tables: this sink publishes {len(published)} tables: name those "
                f"that {sender.user!r} may command"
            )
        for table in sender.tables:
            if table not in published:
                have = ", ".join(published)
                yield f"{where}[{at}].tables: no table {table!r} at this sink (there is: {have})"


def _parsed(address: Callable[[], T]) -> T:
    try:
        return address()
    except ValueError as error:
        raise ValueError(f"address: {error}") from None


def _check_login(sink: BrokerConfig, plain: str, secure: str, *, encrypted: bool) -> None:
    if sink.password_file is not None and sink.user is None:
        raise ValueError("password_file: it needs a user: add user")
    if sink.tls is not None:
        if not encrypted:
            raise ValueError(
                f"tls: the address has no TLS: write {secure}:// instead of {plain}://"
            )
        if (sink.tls.cert is None) != (sink.tls.key is None):
            raise ValueError("tls: cert and key belong together: give both")


def _are_at_one_broker(one: BrokerConfig, other: BrokerConfig) -> bool:
    if isinstance(one, MqttConfig) and isinstance(other, MqttConfig):
        return one.broker[:2] == other.broker[:2]
    if isinstance(one, NatsConfig) and isinstance(other, NatsConfig):
        return not {*one.servers}.isdisjoint(other.servers)
    return False


def _mistakes_beside(one: BrokerConfig, other: BrokerConfig) -> Iterator[str]:
    if isinstance(one, MqttConfig) and one.audience == other.audience:
        yield (
            f"sink: two sinks publish the {one.audience} stream of a table to {one.address}: "
            "leave one out, or give each its table"
        )
    if one.checkpoints and other.checkpoints:
        yield f"sink: two sinks publish checkpoints to {one.address}: set it at one of them"
    if one.sender and other.sender:
        yield (
            f"sink: two sinks at {one.address} take the commands of a table: list every sender at "
            "one of them"
        )


def _more_than_once(values: Sequence[str]) -> list[str]:
    """Return the values that are there more than once, each once."""
    return [value for value, count in Counter(values).items() if count > 1]
