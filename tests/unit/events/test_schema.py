"""The documents made from the catalogue are valid, and hold what is sent."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from shoe_ctl.api import schema as api_schema
from shoe_ctl.cli.main import shoectl
from shoe_ctl.events import EVENTS, schema
from shoe_ctl.records import Audience, Envelope
from shoe_ctl.texts.catalogue import LANGUAGES, language
from shoe_testing import recorded_events as recorded

SCENARIOS = (
    "outcome_revised",
    "missing_card_void",
    "card_taken_counted_method_c",
    "differential_decreased",
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(shoectl, ["schema", *arguments])


def document(*arguments: str) -> Any:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def definition(event: dict[str, Any]) -> str:
    restricted = event["id"].rpartition("/")[2].startswith("r")
    audience = Audience.RESTRICTED if restricted else Audience.PUBLIC
    return schema.type_name(EVENTS[event["type"]], audience)


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({**schema.json_schema(), "anyOf": [{"$ref": f"#/$defs/{name}"}]})


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def resolve(whole: Any, reference: str) -> Any:
    for name in reference.removeprefix("#/").split("/"):
        whole = whole[name]
    return whole


def test_the_schema_is_json_schema_2020_12_and_has_every_type_on_each_of_its_streams() -> None:
    printed = document()
    Draft202012Validator.check_schema(printed)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    streams = sum(1 if event.public is None else 2 for event in EVENTS.values())
    assert len(printed["anyOf"]) == streams
    for reference in references(printed):
        assert resolve(printed, reference)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_recorded_events_are_valid(scenario: str) -> None:
    events = recorded.envelopes(scenario)
    assert len(events) > 20
    whole = schema.json_schema()
    for event in events:
        of = {"$defs": whole["$defs"], "$ref": f"#/$defs/{definition(event)}"}
        Draft202012Validator(of).validate(event)


def test_the_whole_document_takes_an_event_and_refuses_one_that_is_of_no_type() -> None:
    event = recorded.envelopes("outcome_revised")[0]
    whole = Draft202012Validator(schema.json_schema())
    assert whole.is_valid(event)
    assert not whole.is_valid({**event, "type": "round.paid"})


def test_an_event_with_a_wrong_value_or_without_a_key_is_not_valid() -> None:
    (outcome, *_) = (
        event for event in recorded.envelopes("outcome_revised") if event["type"] == "round.outcome"
    )
    held = validator("RoundOutcome")
    assert held.is_valid(outcome)
    for path, value in (
        (("data", "winner"), "nobody"),
        (("data", "player", "cards"), ["no card"]),
        (("data", "wagers", "tie", "result"), 8),
        (("id",), "t1/r16"),
        (("time",), "today"),
        (("type",), "round.void"),
        (("specversion",), "2.0"),
    ):
        changed = copy.deepcopy(outcome)
        at = changed
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]
        assert not held.is_valid(changed), path
        at[path[-1]] = value
        assert not held.is_valid(changed), path


def test_keys_of_a_later_version_are_valid() -> None:
    event = recorded.envelopes("outcome_revised")[0]
    later = {**event, "traceparent": "00", "data": {**event["data"], "new": 1}}
    assert validator(definition(event)).is_valid(later)


def test_the_schema_has_every_key_of_the_envelope() -> None:
    of = schema.json_schema()["$defs"]["RoundOutcome"]
    assert set(of["properties"]) == set(Envelope.__struct_fields__)


def test_every_property_has_a_description() -> None:
    whole = schema.json_schema()
    for name, of in whole["$defs"].items():
        for key, value in of.get("properties", {}).items():
            described = value if "$ref" not in value else {**resolve(whole, value["$ref"]), **value}
            assert described["description"], (name, key)
            assert "](" not in described["description"]


def test_one_type_is_printed_with_its_two_streams_alone() -> None:
    printed = document("round.void")
    Draft202012Validator.check_schema(printed)
    assert [each["$ref"] for each in printed["anyOf"]] == [
        "#/$defs/RoundVoid",
        "#/$defs/RoundVoidRestricted",
    ]
    assert set(printed["$defs"]) == {
        "RoundVoid",
        "RoundVoidData",
        "RoundVoidRestricted",
        "RoundVoidRestrictedData",
    }


OF_JOURNALS = {"checkpoint.signed", "checkpoint.cosigned", "checkpoint.refused"}
"""What goes between a journal and its witnesses."""


def test_the_asyncapi_document_has_a_channel_for_each_stream() -> None:
    printed = document("--asyncapi")
    assert printed["asyncapi"] == "3.0.0"
    channels = {name: channel["address"] for name, channel in printed["channels"].items()}
    assert channels == {
        "public": "shoe/v1/{table}/public",
        "restricted": "shoe/v1/{table}/restricted",
        "publicNats": "shoe.v1.{table}.public",
        "restrictedNats": "shoe.v1.{table}.restricted",
        "state": "shoe/v1/{table}/state",
        "commands": "shoe/v1/{table}/commands/{user}",
        "answers": "shoe/v1/{table}/answers/{user}",
        "commandsNats": "shoe.v1.{table}.commands.{user}",
        "answersNats": None,  # the inbox that the request names
        "checkpoints": "shoe/v1/_journal/{journal}/checkpoint",
        "checkpointsNats": "shoe.v1._journal.{journal}.checkpoint",
        "cosignatures": "shoe/v1/cosignatures/{witness}/{journal}",
        "cosignaturesNats": "shoe.v1.cosignatures.{witness}.{journal}",
    }
    operations = {each["channel"]["$ref"] for each in printed["operations"].values()}
    replies = {
        each["reply"]["channel"]["$ref"]
        for each in printed["operations"].values()
        if "reply" in each
    }
    assert operations | replies == {f"#/channels/{name}" for name in channels}
    assert not operations & replies
    for reference in references(printed):
        assert resolve(printed, reference)
    messages = printed["components"]["messages"]
    sent = [set(channel["messages"]) for channel in printed["channels"].values()]
    assert set.union(*sent) == set(messages)
    events = [m for m in messages.values() if m["contentType"] == schema.CONTENT_TYPE]
    assert {message["name"] for message in events} == set(EVENTS) | OF_JOURNALS
    for message in events:
        payload = resolve(printed, message["payload"]["$ref"])
        assert payload["properties"]["type"]["const"] == message["name"]


def test_the_asyncapi_document_says_where_and_as_whom_one_connects() -> None:
    printed = document("--asyncapi")
    assert {each["protocol"] for each in printed["servers"].values()} == {"secure-mqtt", "nats"}
    kinds = {each["type"] for each in printed["components"]["securitySchemes"].values()}
    assert kinds == {"userPassword", "X509"}
    events, requests = schema.json_schema()["$defs"], api_schema.schemas("").definitions
    named = len(events) + len(requests) + 2 * len(OF_JOURNALS)
    assert len(printed["components"]["schemas"]) == named, "a name is there twice"


def test_each_argument_of_a_message_has_its_kind() -> None:
    printed = document("--messages", "en")
    assert printed["arguments"]["next_draw_third"] == {"hand": "hand"}
    assert printed["arguments"]["prompt_card_taken_draw"] == {"card": "nth"}
    kinds = {kind for each in printed["arguments"].values() for kind in each.values()}
    without_words = {"", "count", "how"}
    assert kinds - without_words <= printed["words"].keys() | printed["lists"].keys()


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_messages_are_those_of_the_catalogue(name: str) -> None:
    printed, written = document("--messages", name), language(name)
    assert printed["texts"] == written.TEXTS
    assert printed["words"] == written.WORDS
    assert printed["lists"] == written.LISTS
    assert printed["cited"] == written.CITED


def test_the_nearest_type_is_suggested() -> None:
    result = run("round.outcom")
    assert result.exit_code == 1
    assert "did you mean round.outcome?" in str(result.exception)


@pytest.mark.parametrize(
    "arguments", [("round.void", "--asyncapi"), ("--asyncapi", "--messages", "en")]
)
def test_only_one_document_is_printed(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Give one of TYPE, --asyncapi, --requests and --messages" in result.output
