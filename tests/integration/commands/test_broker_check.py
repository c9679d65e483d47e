"""``shoectl broker check`` at real brokers: the documented users hold, and each planted hole shows.

What a hole is stands here by hand: a line in an access list that should not be there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from nats.js.api import ConsumerConfig

from shoe_testing.brokers import Authority, broker, passwords, subscribed
from shoe_testing.cli import Result, run_shoectl
from shoe_testing.config import make_config, table_section
from shoe_testing.nats_server import (
    GUIDE,
    PASSWORDS,
    NatsServer,
    make_mirror,
    nats_client,
    nats_server,
    user_options,
    with_users,
)
from shoe_testing.ports import HOST

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

SECRETS = {"shoe-main": "a", "table-system": "b", "display": "c", "witness": "d"}
ACCESS = """
user shoe-main
topic write shoe/v1/+/public
topic write shoe/v1/+/restricted
topic write shoe/v1/+/state
topic write shoe/v1/+/answers/#
topic read shoe/v1/+/commands/+

user table-system
topic read shoe/v1/+/public
topic read shoe/v1/+/restricted
topic read shoe/v1/+/state
topic write shoe/v1/bac-07/commands/table-system
topic read shoe/v1/bac-07/answers/table-system/#

user display
topic read shoe/v1/+/public
topic read shoe/v1/+/state
"""
CHECKPOINTS = """
user shoe-main
topic write shoe/v1/_journal/+/checkpoint

user witness
topic read shoe/v1/_journal/+/checkpoint
topic write shoe/v1/cosignatures/5f3d51cf/+
"""
WITNESS: Mapping[str, Any] = {"user": "witness", "reads": "nothing", "witness": True}
TABLE_SYSTEM = {"user": "table-system", "reads": "restricted", "commands": ["bac-07"]}
DISPLAY = {"user": "display", "reads": "public"}


def rare(*values: str) -> Any:
    """A case that runs with the long tests: it differs from the others by a line alone."""
    return pytest.param(*values, marks=pytest.mark.exhaustive(cpu_s=3))


class Files(NamedTuple):
    """A configuration, and a file of logins."""

    config: Path
    logins: Path

    def check(self, *more: str) -> Result:
        return run_shoectl(
            "broker", "check", "--config", str(self.config), "--logins", str(self.logins), *more
        )

    def leaks(self) -> set[tuple[str, str]]:
        """Who can do what they must not; the exit code says the same."""
        done = self.check("--json")
        found = json.loads(done.out)["findings"]
        assert done.code == int(any(each["result"] in ("leaks", "fails") for each in found)), done
        assert [each for each in found if each["result"] == "fails"] == []
        return {(each["user"], each["what"]) for each in found if each["result"] == "leaks"}


def secret(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(0o600)
    return name


def files(
    folder: Path,
    sinks: Sequence[Mapping[str, Any]],
    logins: Sequence[Mapping[str, Any]],
    known: Mapping[str, str],
) -> Files:
    """The files in a folder: each user's password is in a file of its name."""
    folder.mkdir(exist_ok=True)
    for user, text in known.items():
        secret(folder, user, text)
    config, list_ = folder / "table.toml", folder / "logins.toml"
    named = [{**each, "password_file": str(each["user"])} for each in sinks]
    config.write_text(make_config(table_section(port="shoe"), sink=named))
    every = [{**each, "password_file": str(each["user"])} for each in logins]
    list_.write_text(
        "".join(
            "[[login]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in each.items())
            for each in every
        )
    )
    return Files(config, list_)


# MQTT.


def mqtt_files(
    folder: Path, port: int, *, others: Sequence[Mapping[str, Any]] = (), **more: Any
) -> Files:
    sink = {"kind": "mqtt", "address": f"mqtt://{HOST}:{port}", "user": "shoe-main", "name": "hall"}
    return files(folder, [{**sink, **more}], [TABLE_SYSTEM, DISPLAY, *others], SECRETS)


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Any]:
    """Starts a broker with this access list; returns the files to check it with."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(access: str) -> tuple[Files, int]:
            folder = tmp_path / "broker"
            folder.mkdir()
            secret(folder, "access", access)
            lines = ("allow_anonymous false", passwords(folder, **SECRETS))
            at = stack.enter_context(broker(folder, *lines, f"acl_file {folder}/access"))
            return mqtt_files(tmp_path / "files", at.port), at.port

        yield start


def test_the_documented_access_list_holds_for_everybody(mosquitto: Any) -> None:
    checked, _ = mosquitto(ACCESS)
    assert checked.leaks() == set()
    shown = checked.check()
    assert shown.code == 0
    assert shown.out.endswith("everything holds\n")
    assert "user display" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("topic read shoe/v1/#", "read restricted events"),
        rare("topic read shoe/v1/+/restricted", "read restricted events"),
        rare("topic read shoe/v1/+/answers/#", "read answers to others"),
        rare("topic write shoe/v1/+/public", "publish events, states, answers"),
        rare("topic write shoe/v1/+/state", "publish events, states, answers"),
        ("topic write shoe/v1/+/commands/display", "command tables that are not its own"),
        rare("topic write shoe/v1/+/commands/shoe-main", "command under another name"),
    ],
)
def test_a_line_too_many_in_the_access_list_shows(mosquitto: Any, line: str, what: str) -> None:
    checked, _ = mosquitto(f"{ACCESS}{line}\n")
    assert ("display", what) in checked.leaks()


@pytest.mark.parametrize(
    ("line", "who", "what"),
    [
        ("", None, ""),
        ("user display\ntopic read shoe/v1/_journal/#", "display", "read checkpoints"),
        (
            "user witness\ntopic write shoe/v1/cosignatures/#",
            "witness",
            "publish checkpoints, or cosignatures of others",
        ),
        rare("user witness\ntopic read shoe/v1/+/restricted", "witness", "read restricted events"),
        rare(
            "user display\ntopic write shoe/v1/_journal/#",
            "display",
            "publish checkpoints, or cosignatures of others",
        ),
    ],
)
def test_checkpoints_are_for_witnesses_alone(
    mosquitto: Any, tmp_path: Path, line: str, who: str | None, what: str
) -> None:
    _, port = mosquitto(f"{ACCESS}{CHECKPOINTS}{line}\n")
    checked = mqtt_files(tmp_path / "files", port, others=[WITNESS], checkpoints=True)
    assert checked.leaks() == ({(who, what)} if who else set())


def test_a_daemon_and_a_witness_without_their_rights_fail(mosquitto: Any, tmp_path: Path) -> None:
    _, port = mosquitto(ACCESS)
    checked = mqtt_files(tmp_path / "files", port, others=[WITNESS], checkpoints=True)
    found = json.loads(checked.check("--json").out)["findings"]
    assert ("shoe-main", "publish checkpoints") in {
        (each["user"], each["what"]) for each in found if each["result"] == "fails"
    }


def test_a_pattern_for_all_tables_lets_each_user_command_every_table(mosquitto: Any) -> None:
    checked, _ = mosquitto(f"{ACCESS}\npattern write shoe/v1/+/commands/%u\n")
    what = "command tables that are not its own"
    assert checked.leaks() == {("display", what), ("table-system", what)}


def test_nothing_stays_at_the_broker_and_no_served_table_is_touched(mosquitto: Any) -> None:
    checked, port = mosquitto(f"{ACCESS}\nuser watcher\ntopic readwrite #\n" + ACCESS)

    async def watched() -> list[str]:
        who: dict[str, Any] = {"user": "table-system", "password": "b"}
        async with subscribed(port, "shoe/v1/+/public", "shoe/v1/+/restricted", **who) as reader:
            await asyncio.to_thread(checked.check)
            seen = {got.topic for got in reader.got}
        async with subscribed(port, "shoe/v1/+/public", "shoe/v1/+/state", **who) as later:
            await asyncio.sleep(0)
            assert [got for got in later.got if got.retain] == []
        return sorted(seen)

    topics = asyncio.run(watched())
    assert all(topic.startswith("shoe/v1/check-") for topic in topics), topics


def test_a_wrong_password_of_a_login_is_a_finding_and_of_the_daemon_one_line(
    mosquitto: Any, tmp_path: Path
) -> None:
    checked, port = mosquitto(ACCESS)
    secret(tmp_path / "files", "display", "wrong")
    done = checked.check("--json")
    (failed,) = [each for each in json.loads(done.out)["findings"] if each["result"] == "fails"]
    assert (failed["user"], failed["what"]) == ("display", "log in")
    assert done.code == 1
    secret(tmp_path / "files", "shoe-main", "wrong")
    done = checked.check()
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert f"sink hall: mqtt://{HOST}:{port}: the broker refuses the login" in done.err


# NATS.


def nats_files(
    folder: Path, address: str, logins: Sequence[Mapping[str, Any]], *, checkpoints: bool = False
) -> Files:
    known = {
        name.removesuffix("_PASSWORD").lower().replace("_", "-"): text
        for name, text in PASSWORDS.items()
    }
    both = [
        {"kind": "nats", "address": address, "user": "shoe-main", "name": audience}
        | {"audience": audience}
        for audience in ("public", "restricted")
    ]
    sinks: list[Mapping[str, Any]] = [{**both[0], "checkpoints": checkpoints}, both[1]]
    return files(folder, sinks, logins, known)


SYSTEM = {"user": "table-system", "reads": "restricted"}
FLOOR = {"user": "floor", "reads": "public"}


async def make_streams(address: str) -> None:
    async with nats_client(address, **user_options("shoe-main")) as (_, js):
        for stream, audience in (("SHOE", "public"), ("SHOE_RESTRICTED", "restricted")):
            await js.add_stream(name=stream, subjects=[f"shoe.v1.*.{audience}"])
        subjects = ["shoe.v1._journal.*.checkpoint"]
        await js.add_stream(name="SHOE_CHECKPOINTS", subjects=subjects)


def test_the_documented_users_hold_at_nats(tmp_path: Path) -> None:
    server = with_users(tmp_path)
    server.start()
    try:
        asyncio.run(make_streams(server.address))
        asyncio.run(make_mirror(server.address))
        logins = [SYSTEM, FLOOR, WITNESS]
        checked = nats_files(tmp_path / "files", server.address, logins, checkpoints=True)
        assert checked.leaks() == set()
        shown = checked.check()
        assert shown.code == 0, shown
        assert "not seen" in shown.out  # sync_interval
        assert max(map(len, shown.out.splitlines())) <= 80
    finally:
        server.kill()


def hall_with(folder: Path, floor: str) -> NatsServer:
    """One server where the display user ``floor`` is in the account of the others, with this."""
    text = (GUIDE / "users.conf").read_text()
    head, _, _ = text.partition("  # Readers of the public stream alone.")
    head = head.rstrip().removesuffix("}").rstrip().removesuffix("]")
    exports = head.index("    exports: [")
    head = head[:exports] + head[head.index("    users: [") :]
    user = f"{{ user: floor, password: $FLOOR_PASSWORD, permissions {floor} }}\n]\n}}\n}}\n"
    return NatsServer(folder, more=head + user, environment=PASSWORDS)


CONSUMES = '"$JS.API.STREAM.INFO.SHOE", "$JS.API.CONSUMER.CREATE.SHOE.>"'
INBOX = 'subscribe: ["_INBOX_floor.>"]'


@pytest.mark.parametrize(
    ("floor", "what"),
    [
        (f"{{ publish: [{CONSUMES}], {INBOX} }}", "touch consumers of trusted readers"),
        rare(
            f'{{ publish: [{CONSUMES}, "$JS.API.CONSUMER.DELETE.SHOE.>"], {INBOX} }}',
            "touch consumers of trusted readers",
        ),
        rare(
            f'{{ publish: [{CONSUMES}, "$JS.API.STREAM.INFO.SHOE_RESTRICTED"], {INBOX} }}',
            "read restricted events",
        ),
        (
            f'{{ publish: [{CONSUMES}], subscribe: ["_INBOX_floor.>", "shoe.v1.>"] }}',
            "read restricted events",
        ),
        rare(
            f'{{ publish: [{CONSUMES}], subscribe: ["_INBOX_floor.>", "_INBOX_table-system.>"] }}',
            "read answers to others",
        ),
        rare(f'{{ publish: [{CONSUMES}, "shoe.v1.>"], {INBOX} }}', "publish events"),
        rare(f'{{ publish: [{CONSUMES}, "shoe.v1.>"], {INBOX} }}', "publish checkpoints"),
        (
            f'{{ publish: [{CONSUMES}, "$JS.API.CONSUMER.CREATE.SHOE_CHECKPOINTS.>"], {INBOX} }}',
            "read checkpoints",
        ),
        rare(
            f'{{ publish: [{CONSUMES}, "$JS.API.STREAM.DELETE.SHOE"], {INBOX} }}',
            "delete or change a stream",
        ),
        rare(
            f'{{ publish: [{CONSUMES}, "$JS.API.STREAM.PURGE.>"], {INBOX} }}',
            "delete or change a stream",
        ),
    ],
)
def test_a_permission_too_many_shows_and_does_no_harm(
    tmp_path: Path, floor: str, what: str
) -> None:
    server = hall_with(tmp_path, floor)
    server.start()
    try:
        asyncio.run(make_streams(server.address))
        before = asyncio.run(_with_an_event_and_a_durable(server.address))
        checked = nats_files(tmp_path / "files", server.address, [SYSTEM, FLOOR], checkpoints=True)
        leaks = checked.leaks()
        assert ("floor", what) in leaks
        assert {user for user, _ in leaks} == {"floor"}
        assert asyncio.run(_what_is_there(server.address)) == before
    finally:
        server.kill()


async def _with_an_event_and_a_durable(address: str) -> object:
    """What a hall has: an event, and the table system's durable consumer that has not read it."""
    async with nats_client(address, **user_options("shoe-main")) as (_, js):
        await js.publish("shoe.v1.bac-07.public", b"{}")
    async with nats_client(address, **user_options("table-system")) as (_, js):
        durable = ConsumerConfig(durable_name="scores", filter_subject="shoe.v1.*.public")
        await js.add_consumer("SHOE", durable)
    return await _what_is_there(address)


async def _what_is_there(address: str) -> object:
    """The consumers and how far they are, and what the streams hold."""
    async with nats_client(address, **user_options("table-system")) as (_, js):
        durable = await js.consumer_info("SHOE", "scores")
        states = [(await js.stream_info(name)).state for name in ("SHOE", "SHOE_RESTRICTED")]
    held = [(state.messages, state.consumer_count) for state in states]
    return durable.num_pending, durable.config.filter_subject, held


def test_a_server_without_users_leaks_at_once(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        config = tmp_path / "table.toml"
        sink = {"kind": "nats", "address": server.address, "name": "hall"}
        config.write_text(make_config(table_section(port="shoe"), sink=[sink]))
        done = run_shoectl("broker", "check", "--config", str(config))
    assert done.code == 1
    assert "LEAKS     must not  delete or change a stream" in done.out
    assert "give the others with --logins" in done.out


# What is wrong in the files.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[login]]\n", "login[0]"),
        ('[[login]]\nuser = "x"\nreads = "all"\n', "login[0].reads"),
        ('[[login]]\nuser = "x"\nsink = "nowhere"\n', "no sink 'nowhere' goes to a broker"),
        ("[[login\n", "logins.toml"),
    ],
)
def test_a_mistake_in_the_file_of_logins_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    checked = mqtt_files(tmp_path / "files", 1)
    checked.logins.write_text(text)
    done = checked.check()
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_a_configuration_without_a_broker_has_nothing_to_check(tmp_path: Path) -> None:
    config = tmp_path / "table.toml"
    config.write_text(make_config(table_section(port="shoe")))
    done = run_shoectl("broker", "check", "--config", str(config))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no sink goes to a broker" in done.err


def test_a_certificate_that_ends_soon_is_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("server", host=HOST, ends=timedelta(days=1))
    folder = tmp_path / "broker"
    folder.mkdir()
    secret(folder, "access", ACCESS)
    lines = (
        "allow_anonymous false",
        passwords(folder, **SECRETS),
        f"acl_file {folder}/access",
        f"certfile {cert}",
        f"keyfile {key}",
    )
    with broker(folder, *lines, tls=True) as at:
        sink = {"kind": "mqtt", "address": at.address, "user": "shoe-main", "name": "hall"}
        checked = files(
            tmp_path / "files",
            [{**sink, "tls": {"ca": str(authority.file)}}],
            [DISPLAY],
            SECRETS,
        )
        done = checked.check("--json")
    wrong = [each for each in json.loads(done.out)["findings"] if each["result"] == "fails"]
    assert [each["what"] for each in wrong] == ["keep its certificate for 14 days"]
    assert "renew it" in wrong[0]["detail"]
