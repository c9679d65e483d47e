"""Lines that ask, and lines that ask nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.api.requests import (
    BadRequest,
    Command,
    EventsRequest,
    RedeliverRequest,
    ResendRequest,
    StatusRequest,
    read_request,
)
from shoe_ctl.table.inputs import TableCommand, from_bytes, to_bytes
from shoe_testing.socket_client import envelope

WHOLE = {
    **envelope("c1", "expose"),
    "round_id": "bac-07-s1-r1",
    "args": {"hand": "player", "index": 2},
    "reason": "why",
    "consented_by": "Bo",
}


def line(**changed: Any) -> bytes:
    return json.dumps(WHOLE | changed).encode()


def test_the_whole_envelope_is_read() -> None:
    assert read_request(json.dumps(WHOLE).encode()) == Command(**WHOLE)


def test_what_is_not_said_is_none() -> None:
    command = read_request(json.dumps(envelope("c1", "settle")).encode())
    assert isinstance(command, Command)
    assert (command.round_id, command.args, command.reason, command.consented_by) == (
        None, {}, None, None,
    )  # fmt: skip


def test_status_is_asked_for_all_tables_or_one() -> None:
    assert read_request(b'{"request": "status"}') == StatusRequest(request="status")
    assert read_request(b'{"request": "status", "table": "a"}') == StatusRequest(
        request="status", table="a"
    )
    again = RedeliverRequest(request="redeliver", sink="jsonl:-")
    assert read_request(b'{"request": "redeliver", "sink": "jsonl:-"}') == again
    asked = ResendRequest(request="resend", sink="floor", after="a/p31")
    assert read_request(b'{"request": "resend", "sink": "floor", "after": "a/p31"}') == asked


def test_events_are_asked_for_from_an_id_on_of_a_table_and_an_audience_or_of_all() -> None:
    assert read_request(b'{"request": "events"}') == EventsRequest(request="events")
    whole = {"after": "a/p31", "source": "/journal/1/table/a", "table": "a", "audience": "public"}
    asked = read_request(json.dumps({"request": "events"} | whole).encode())
    assert asked == EventsRequest(request="events", **whole)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["command_id", "table", "command", "person", "position"])
def test_a_missing_key_is_named(key: str) -> None:
    rest = {k: v for k, v in WHOLE.items() if k != key}
    with pytest.raises(BadRequest, match=f"missing key `{key}`"):
        read_request(json.dumps(rest).encode())


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"", "not JSON"),
        (b"expose player", "not JSON"),
        (b'{"command_id": "c1"', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "expected an object, found a list"),
        (b"null", "expected an object, found null"),
        (
            b'{"request": "more"}',
            "expected status, redeliver, resend, events, states, applied, shoe, note or rounds, "
            "not 'more'",
        ),
        (b'{"request": "events", "audience": "all"}', "audience: not a known value: 'all'"),
        (b'{"request": "events", "after": 31}', "after: expected a text, found 31"),
        (b'{"request": "events", "since": "a/p1"}', "unknown key `since`"),
        (b'{"request": "resend", "sink": "a"}', "missing key `after`"),
        (b'{"request": "resend", "after": "t/p1"}', "missing key `sink`"),
        (b'{"request": "resend", "sink": "a", "after": 31}', "after: expected a text, found 31"),
        (b'{"request": "status", "tabel": "a"}', "unknown key `tabel`: is it `table`?"),
        (b'{"request": 1}', "request: expected a text, found 1"),
        (line(pin="1234"), "unknown key `pin`"),
        (line(command_id=7), "command_id: expected a text, found 7"),
        (line(command_id=""), "command_id: expected 1 to 128 letters, digits and signs of ASCII"),
        (line(command_id="x" * 129), "command_id: expected 1 to 128 letters"),
        (line(command_id="a b"), "command_id: expected 1 to 128 letters"),
        (line(table=None), "table: expected a text, found null"),
        (line(command="Expose!"), "command: expected 1 to 64 small letters, digits and _"),
        (line(command="x" * 65), "command: expected 1 to 64 small letters, digits and _"),
        (line(person=""), "person: expected 1 to 200 characters in one line, found ''"),
        (
            line(person="Ann\x1b[2J"),
            "person: expected 1 to 200 characters in one line, found 'Ann\\x1b[2J'",
        ),
        (line(person="x" * 201), "person: expected 1 to 200 characters in one line"),
        (line(position="Dealer"), "position: expected 1 to 64 small letters, digits and _"),
        (line(reason="x" * 2001), "reason: expected at most 2,000 characters in one line"),
        (line(consented_by=["Bo"]), "consented_by: expected a text, found a list"),
        (line(args=["player"]), "args: expected an object, found a list"),
        (line(args={"index": 1.5}), "args.index: expected "),
        (line(args={"index": 2**60}), "args.index: expected a whole number from "),
        (line(args={"a": [[[[1]]]]}), "args.a[0][0]: expected "),
        (b'{"args": ' + b"[" * 30000 + b"]" * 30000 + b"}", "nested too deeply"),
    ],
)
def test_a_line_that_asks_nothing_is_refused_with_the_key_that_is_wrong(
    bad: bytes, says: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        read_request(bad)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_refusal_knows_whose_it_is() -> None:
    with pytest.raises(BadRequest) as refused:
        read_request(line(pin="1234"))
    assert refused.value.command_id == "c1"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*WHOLE, "pin"]), json_values, max_size=9))
def test_what_is_taken_can_be_journaled_and_read_again(changed: dict[str, Any]) -> None:
    try:
        asked = read_request(json.dumps(WHOLE | changed).encode())
    except BadRequest:
        return
    assert isinstance(asked, Command)
    plain = msgspec.structs.asdict(asked)
    table, looks = plain.pop("table"), plain.pop("preview")
    of_the_answer = plain.pop("audience"), plain.pop("language")
    logins = plain.pop("login"), plain.pop("consent_login")
    assert (looks, of_the_answer, logins) == (False, (None, None), (None, None))
    happened = TableCommand(t_us=1, **plain)
    assert table
    assert from_bytes(to_bytes(happened)) == happened


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(BadRequest):
        read_request(data)
