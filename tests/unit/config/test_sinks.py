"""Sinks that go to MQTT brokers: what the file may say of them, and who keeps a table's state."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.clock import SystemClock
from shoe_ctl.config.resolve import NO_WAY_IN, NOBODY_RESUMES, warnings
from shoe_ctl.config.schema import load, parse
from shoe_ctl.config.sinks import BrokerAddress, MqttConfig, NatsConfig, keeps_state
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.errors import ConfigError
from shoe_testing.config import make_config, table_section

TABLES = make_config(
    *(table_section(name, port=f"/dev/{name}") for name in ("t1", "t2")),
    journal={"path": "journal.db"},
)


def sink(address: str = "mqtt://broker", **more: str) -> str:
    lines = ["[[sink]]", 'kind = "mqtt"', f'address = "{address}"']
    return "\n".join([*lines, *(f'{key} = "{value}"' for key, value in more.items()), ""])


def sender(
    user: str = "system", position: str = "dealer", tables: str = '["t1", "t2"]', **more: str
) -> str:
    lines = ["[[sink.sender]]", f'user = "{user}"', f'position = "{position}"']
    lines += [f"tables = {tables}"] if tables else []
    return "\n".join([*lines, *(f'{key} = "{value}"' for key, value in more.items()), ""])


def sinks(text: str) -> list[MqttConfig]:
    found = parse((TABLES + text).encode(), "t.toml").sink
    return [each for each in found if isinstance(each, MqttConfig)]


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("mqtt://broker", BrokerAddress("broker", 1883, tls=False)),
        ("mqtts://broker", BrokerAddress("broker", 8883, tls=True)),
        ("mqtt://192.0.2.1:1884/", BrokerAddress("192.0.2.1", 1884, tls=False)),
        ("mqtts://[2001:db8::1]:99", BrokerAddress("2001:db8::1", 99, tls=True)),
    ],
)
def test_an_address_has_the_usual_port_of_its_scheme(address: str, parts: BrokerAddress) -> None:
    (found,) = sinks(sink(address))
    assert found.broker == parts
    assert found.known_as == f"mqtt:{parts.host}:{parts.port}:public"


EXPECTED = "expected mqtt://HOST:PORT or mqtts://HOST:PORT"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (sink("http://broker"), f"sink[0].address: {EXPECTED}, not 'http://broker'"),
        (sink("broker:1883"), f"sink[0].address: {EXPECTED}, not 'broker:1883'"),
        (sink("mqtt://"), f"sink[0].address: {EXPECTED}, not 'mqtt://'"),
        (sink("mqtt://b:0"), f"sink[0].address: {EXPECTED}, not 'mqtt://b:0'"),
        (sink("mqtt://b:77777"), f"sink[0].address: {EXPECTED}, not 'mqtt://b:77777'"),
        (sink("mqtt://b/topic"), f"sink[0].address: {EXPECTED}, not 'mqtt://b/topic'"),
        (
            sink("mqtt://a:secret@b"),
            f"sink[0].address: {EXPECTED}: give the login as user and password_file",
        ),
        (sink(path="x"), "sink[0]: unknown key `path`"),
        (sink(adress="x"), "sink[0]: unknown key `adress`: is it `address`?"),
        ('[[sink]]\nkind = "mqtt"\n', "sink[0]: missing key `address`"),
        ('[[sink]]\naddress = "mqtt://b"\n', "sink[0]: missing key `kind`"),
        (
            sink().replace("mqtt", "mqqt", 1),
            "sink[0].kind: not a known value: 'mqqt' (known: jsonl, mqtt, nats)",
        ),
        (sink(table="t3"), "sink[0].table: there is no table 't3' (there is: t1, t2)"),
        (sink(password_file="x"), "sink[0].password_file: it needs a user: add user"),
        (
            sink() + '[sink.tls]\nca = "x"\n',
            "sink[0].tls: the address has no TLS: write mqtts:// instead of mqtt://",
        ),
        (
            sink("mqtts://b") + '[sink.tls]\ncert = "x"\n',
            "sink[0].tls: cert and key belong together: give both",
        ),
        (sink() + sender() + sender(), "sink[0].sender: 'system' is there twice"),
        (
            sink() + sender(tables=""),
            "sink[0].sender[0].tables: this sink publishes 2 tables: name those that 'system' may "
            "command",
        ),
        (
            sink(table="t1") + sender(tables='["t1", "t2"]'),
            "sink[0].sender[0].tables: no table 't2' at this sink (there is: t1)",
        ),
        (
            sink() + sender(position="boss"),
            "sink[0].sender[0].position: expected one of dealer, pit_supervisor, pit_manager, "
            "gaming_shift_manager, assistant_casino_manager, surveillance, not 'boss'",
        ),
        (
            sink() + sink(name="again"),
            "sink: two sinks publish the public stream of a table to mqtt://broker: leave one out, "
            "or give each its table",
        ),
        (
            sink() + sender() + sink(audience="restricted") + sender("other"),
            "sink: two sinks at mqtt://broker take the commands of a table: list every sender at "
            "one of them",
        ),
    ],
)
def test_what_is_wrong_with_a_sink_is_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse((TABLES + text).encode(), "t.toml")
    assert str(refused.value) == f"t.toml: {said}"


NATS = sink("nats://one,nats://two").replace("mqtt", "nats", 1)


def test_a_sink_of_nats_has_senders_too() -> None:
    (found,) = parse((TABLES + NATS + sender("table-system")).encode(), "t.toml").sink
    assert isinstance(found, NatsConfig)
    assert [(each.user, each.tables) for each in found.sender] == [("table-system", ["t1", "t2"])]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            NATS + sender("a.b"),
            "sink[0].sender: 'a.b' cannot be a part of a subject: expected letters, digits, _ "
            "and -",
        ),
        (NATS + sender() + sender(), "sink[0].sender: 'system' is there twice"),
        (
            NATS + sender() + sink("nats://two").replace("mqtt", "nats", 1) + sender("other"),
            "sink: two sinks at nats://one,nats://two take the commands of a table: list every "
            "sender at one of them",
        ),
    ],
)
def test_what_is_wrong_with_a_sender_over_nats_is_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse((TABLES + text).encode(), "t.toml")
    assert str(refused.value) == f"t.toml: {said}"


@pytest.mark.parametrize("user", ["", "a/b", "+", "a#", "a b", "x" * 64])
def test_a_sender_is_one_level_of_a_topic(user: str) -> None:
    with pytest.raises(
        ConfigError, match=r"sink\[0\]\.sender\[0\]\.user: expected 1 to 63 characters"
    ):
        sinks(sink() + sender(user))


def test_a_sender_at_a_sink_of_one_table_needs_no_list_of_tables() -> None:
    (found,) = sinks(sink(table="t2") + sender(tables=""))
    assert [each.user for each in found.sender] == ["system"]


def test_one_sink_at_each_broker_keeps_the_state_of_a_table() -> None:
    found = sinks(
        sink(audience="restricted")
        + sink(table="t1", name="floor")
        + sink("mqtt://other", audience="restricted", name="vault")
    )
    kept = {
        table: [each.known_as for each in found if keeps_state(each, found, table)]
        for table in ("t1", "t2")
    }
    assert kept == {
        "t1": ["floor", "vault"],
        "t2": ["mqtt:broker:1883:restricted", "vault"],
    }


def test_senders_are_a_way_in() -> None:
    def said(text: str) -> list[str]:
        return warnings(parse((TABLES + text).encode(), "t.toml"))

    assert said(sink()) == [NO_WAY_IN]
    assert said(sink() + sender()) == [NOBODY_RESUMES]
    assert said(sink() + sender(position="pit_manager")) == []


async def started(folder: Path, text: str) -> str:
    """Why a daemon does not start."""
    path = folder / "table.toml"
    path.write_text(TABLES + text)
    with ThreadPoolExecutor(1) as executor, pytest.raises(ConfigError) as refused:
        await Daemon(
            load(path), clock=SystemClock(), executor=executor, host_boot="boot", wait=True
        ).run()
    return str(refused.value).removeprefix(f"{path}: ")


SOCKET = '[socket]\n[[socket.user]]\nuser = 4000000000\nname = "Ann"\nposition = "pit_manager"\n'


async def test_a_daemon_does_not_start_with_secrets_or_users_that_are_wrong(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    login = sink(user="shoe", password_file="secret", name="floor")
    assert await started(tmp_path, login) == (
        f"sink floor: password_file: {secret}: No such file or directory"
    )
    secret.write_text("\nsecret\n")
    secret.chmod(0o600)
    assert await started(tmp_path, login) == (
        f"sink floor: password_file: {secret} has no password in its first line"
    )
    assert await started(tmp_path, sink("mqtts://b", name="f") + '[sink.tls]\nca = "secret"\n') == (
        f"sink f: tls.ca: {secret}: [X509: NO_CERTIFICATE_OR_CRL_FOUND] no certificate or crl found"
    )
    assert await started(tmp_path, SOCKET + sink() + sender("bob", name="ann")) == (
        "sink mqtt:broker:1883:public: sender: two users go by the name 'ann'"
    )
    assert await started(tmp_path, SOCKET + sink() + sender("4000000000")) == (
        "sink mqtt:broker:1883:public: sender: user '4000000000' has another position elsewhere in "
        "this file: give it the same"
    )


def test_a_broker_client_is_loaded_only_for_a_sink_that_names_it() -> None:
    code = (
        "import sys, shoe_ctl.cli.run, shoe_ctl.daemon.daemon, shoe_ctl.daemon.delivery\n"
        "print(sorted({'aiomqtt', 'paho', 'nats', 'ssl'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['ssl']")


def test_reports_of_what_was_applied_need_a_table_and_a_user() -> None:
    reporter = sink() + sender().replace("position", "applies = true\nposition", 1)
    with pytest.raises(ConfigError, match="applies: no table takes such reports"):
        parse((TABLES + reporter).encode(), "t.toml")
    within = TABLES.replace("[[table]]", "[[table]]\napplied_within_s = 30", 1)
    assert parse((within + reporter).encode(), "t.toml").table[0].applied_within_s == 30
    with pytest.raises(ConfigError, match="nobody may report what was applied"):
        parse((within + sink() + sender()).encode(), "t.toml")
