"""Sinks that go to NATS: what the file may say of them, and where they connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.config.schema import load, parse
from shoe_ctl.config.sinks import NatsConfig
from shoe_ctl.errors import ConfigError
from shoe_testing.config import make_config, table_section
from shoe_testing.for_each import for_each

TABLES = make_config(table_section("t1", port="/dev/t1"), journal={"path": "journal.db"})


def sink(address: str = "nats://hall", **more: object) -> str:
    return make_config(sink=[{"kind": "nats", "address": address, **more}]).replace(
        "table = []\n", ""
    )


def sinks(text: str) -> list[NatsConfig]:
    found = parse((TABLES + text).encode(), "t.toml").sink
    return [each for each in found if isinstance(each, NatsConfig)]


SERVERS = {
    "nats://hall": ["nats://hall:4222"],
    "tls://192.0.2.1:99/": ["tls://192.0.2.1:99"],
    "tls://[2001:db8::1]": ["tls://[2001:db8::1]:4222"],
    "nats://a, nats://b:4223,nats://c": ["nats://a:4222", "nats://b:4223", "nats://c:4222"],
}


@for_each(SERVERS)
def test_an_address_is_one_server_or_several(address: str) -> None:
    (found,) = sinks(sink(address))
    assert found.servers == SERVERS[address]
    assert found.known_as == f"nats:{SERVERS[address][0].partition('://')[2]}:public"


EXPECTED = "expected nats://HOST:PORT or tls://HOST:PORT"
LOGIN = {"user": "u", "password_file": "p"}
WRONG = {
    sink("mqtt://b"): f"sink[0].address: {EXPECTED}, not 'mqtt://b'",
    sink("hall:4222"): f"sink[0].address: {EXPECTED}, not 'hall:4222'",
    sink("nats://a,"): f"sink[0].address: {EXPECTED}, not ''",
    sink("nats://a:0"): f"sink[0].address: {EXPECTED}, not 'nats://a:0'",
    sink("nats://u:secret@a"): (
        f"sink[0].address: {EXPECTED}: give the login as user and password_file"
    ),
    sink("nats://a,tls://b"): (
        "sink[0].address: all addresses need the same scheme, not 'nats://a,tls://b'"
    ),
    sink(user="u"): "sink[0].user: it needs a password: add password_file",
    sink(password_file="p"): "sink[0].password_file: it needs a user: add user",
    sink(tls={"ca": "x"}): "sink[0].tls: the address has no TLS: write tls:// instead of nats://",
    sink("tls://a", tls={"key": "x"}): "sink[0].tls: cert and key belong together: give both",
    sink(stream="a.b"): "sink[0].stream: expected 1 to 64 letters, digits, _ and -, found 'a.b'",
    sink(replicas=0): "sink[0].replicas: expected a whole number from 1 to 5, found 0",
    sink(replicas=7): "sink[0].replicas: expected a whole number from 1 to 5, found 7",
    sink(table="t3"): "sink[0].table: there is no table 't3' (there is: t1)",
    sink(states="x"): "sink[0]: unknown key `states`",
    sink() + sink(): (
        "sink: two sinks have the name 'nats:hall:4222:public': give each a name of its own"
    ),
}


@for_each(WRONG)
def test_what_is_wrong_with_a_sink_is_one_line(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse((TABLES + text).encode(), "t.toml")
    assert str(refused.value) == f"t.toml: {WRONG[text]}"


def test_both_audiences_go_to_streams_of_their_own(tmp_path: Path) -> None:
    from shoe_ctl.daemon.nats_sinks import target_of

    config = tmp_path / "t.toml"
    restricted = sink("tls://hall", audience="restricted", tls={"ca": "ca.crt"}, **LOGIN)
    config.write_text(TABLES + sink() + restricted + sink(stream="S", name="s"))
    loaded = load(config)
    one, other, named = (
        target_of(loaded, each) for each in loaded.sink if isinstance(each, NatsConfig)
    )
    assert (one.stream, one.subjects, one.inbox) == ("SHOE", "shoe.v1.*.public", "_INBOX")
    assert (other.stream, other.subjects) == ("SHOE_RESTRICTED", "shoe.v1.*.restricted")
    assert other.inbox == "_INBOX_u"
    assert other.password_file == tmp_path / "p"
    assert other.certificates is not None and other.certificates.ca == tmp_path / "ca.crt"
    assert one.certificates is None and named.stream == "S"
