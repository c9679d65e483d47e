"""The documented shapes of requests and answers hold for what tables show and daemons answer.

``shoe_testing.socket_client`` holds each answer of every daemon under test to them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from shoe_ctl.api import schema, shapes
from shoe_ctl.api.requests import read_request
from shoe_ctl.cli.main import shoectl
from shoe_ctl.docstrings import field_docstrings
from shoe_ctl.table.status import restricted, status
from shoe_testing.answer_shapes import assert_is_a_status
from shoe_testing.places import places

REQUESTS: list[dict[str, Any]] = [
    {"command_id": "7f3a", "table": "bac-07", "command": "expose", "args": {"hand": "player"},
     "person": "Ann", "position": "dealer", "reason": None},
    {"request": "status"},
    {"request": "resend", "sink": "floor", "after": "bac-07/p31"},
    {"request": "redeliver", "table": "bac-07"},
    {"request": "events", "after": "beginning", "audience": "public"},
    {"request": "applied", "event": "bac-07/p32", "reference": "booking-8812"},
    {"request": "shoe", "table": "bac-07", "shoe_id": "bac-07-s3",
     "rounds": [{"round_id": "bac-07-s3-r1", "wagers": {"tie": {"staked": 5, "paid_out": "9/2"}}}]},
]  # fmt: skip


def printed() -> dict[str, Any]:
    done = CliRunner().invoke(shoectl, ["schema", "--requests"])
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_status_has_its_documented_shape_wherever_a_table_can_stand() -> None:
    for place in places():
        at = place.at
        assert_is_a_status(status(at.now, at.game, at.settings))
        both = status(at.now, at.game, at.settings) | restricted(at.now, at.game, at.settings)
        assert_is_a_status(both)


def test_every_request_is_valid_and_is_read() -> None:
    valid = Draft202012Validator(printed())
    for request in REQUESTS:
        valid.validate(request)
        assert read_request(json.dumps(request).encode()) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"request": "stats"},
        {"request": "resend", "sink": "floor"},
        {"command_id": "a b", "table": "t", "command": "expose", "person": "A", "position": "d"},
        {"request": "applied", "event": "bac-07/p32", "reference": ""},
    ],
)
def test_a_wrong_request_is_valid_by_no_schema(wrong: dict[str, Any]) -> None:
    assert not Draft202012Validator(printed()).is_valid(wrong)


def test_every_key_of_an_answer_says_what_it_is() -> None:
    for name, of in vars(shapes).items():
        if isinstance(of, type) and issubclass(of, shapes.Shape):
            assert set(field_docstrings(of)) == set(of.__struct_fields__), name


def test_the_schema_is_json_schema_2020_12_and_names_nothing_that_is_not_there() -> None:
    document = printed()
    Draft202012Validator.check_schema(document)
    named = {each["$ref"].rpartition("/")[2] for each in document["anyOf"]}
    assert named <= document["$defs"].keys()
    assert {"Command", "StatusRequest", "StatusAnswer", "Refusal"} <= named
    assert schema.json_schema() == document
