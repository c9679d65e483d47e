"""Documents made from the catalogue: JSON Schema, AsyncAPI and the catalogue of messages.

In: the catalogue. Out: plain values to print as JSON.
Must not know: who reads them, how they are printed.

The schemas allow keys that they do not name: a later version may add keys to an event, and its
receivers ignore what they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.docstrings import field_docstrings
from shoe_ctl.events import checkpoints
from shoe_ctl.events.catalog import EVENTS
from shoe_ctl.events.event_type import Actor, Data, EventType, Time, plain
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import arguments, language

VERSION = "1"
"""The version of the contract: it rises where an event changes so that a receiver must follow."""

CONTENT_TYPE = "application/cloudevents+json"

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ABOUT = (
    "An event is a CloudEvents 1.0 object. Apply each pair of source and id once; order by the "
    "number in id; ignore types and keys that you do not know."
)

_ENVELOPE: Mapping[str, Mapping[str, Any]] = {
    "specversion": {"const": "1.0", "description": "The version of CloudEvents."},
    "id": {
        "type": "string",
        "pattern": "^.+/[pr][1-9][0-9]*$",
        "description": "`TABLE/pN` on the public stream, `TABLE/rN` on the restricted stream. N "
        "counts from 1 for each table and stream, without gaps: a missing number is a missing "
        "event.",
    },
    "source": {
        "type": "string",
        "pattern": "^/journal/[0-9a-f]{8}/table/.+$",
        "description": "The journal and the table. Apply each pair of source and id once.",
    },
    "type": {"type": "string", "description": "The type of the event."},
    "time": {
        **msgspec.json.schema(Time),
        "format": "date-time",
        "description": "When it happened at the table: UTC. It never runs backwards.",
    },
    "subject": {
        "type": "string",
        "description": "The open round, or else the shoe; left out where there is neither.",
    },
    "data": {"type": "object", "description": "What happened."},
}
_REQUIRED = ("specversion", "id", "source", "type", "time", "data")


def type_name(event: EventType, audience: Audience) -> str:
    """Return the name of an event in the documents, as in ``RoundOutcomeRestricted``."""
    words = "".join(word.capitalize() for word in event.name.replace(".", "_").split("_"))
    return words if audience is Audience.PUBLIC else f"{words}Restricted"


def json_schema(names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return one JSON Schema (2020-12) of these types, of all by default.

    It describes whole events, with their envelope. Each type and stream has a definition of its
    own, and so has the data of each.

    Raises:
        KeyError: there is no such type.
    """
    events = [EVENTS[name] for name in (EVENTS if names is None else names)]
    kinds, definitions = _definitions(events, "#/$defs/")
    return {
        "$schema": _DIALECT,
        "$id": f"urn:shoe-ctl:events:v{VERSION}",
        "title": "Events of shoe-ctl",
        "description": _ABOUT,
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name, _, _ in kinds],
        "$defs": definitions,
    }


class WaysIn(NamedTuple):
    """The schemas of what goes to a table and back, by name.

    ``requests`` and ``answers`` are the names of whole messages, ``state`` that of a status.
    """

    definitions: Mapping[str, dict[str, Any]]
    requests: Sequence[str]
    answers: Sequence[str]
    state: str


def asyncapi(ways_in: WaysIn) -> dict[str, Any]:
    """Return the AsyncAPI 3 document: all that goes over a broker, and who may connect.

    The two streams of a table have a channel for each broker: a topic of MQTT, and a subject of
    NATS JetStream. Beside them stand its state, its commands and their answers, and what goes
    between a journal and its witnesses.
    """
    kinds, definitions = _definitions(EVENTS.values(), "#/components/schemas/")
    streams = [(audience, broker) for broker in _BROKERS for audience in _STREAMS]
    channels = {
        _key(audience, broker): _channel(audience, broker, kinds) for audience, broker in streams
    }
    sending = {
        f"send{audience.name.capitalize()}{broker.suffix}": {
            "action": "send",
            "channel": {"$ref": f"#/channels/{_key(audience, broker)}"},
            "summary": f"The table sends an event of its {audience.name.lower()} stream over "
            f"{broker.title}.",
            "bindings": broker.bindings,
        }
        for audience, broker in streams
    }
    events = {
        name: {
            "name": event.name,
            "title": name,
            "summary": _without_links(event.description),
            "contentType": CONTENT_TYPE,
            "payload": {"$ref": f"#/components/schemas/{name}"},
        }
        for name, event, _ in kinds
    }
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Events of shoe-ctl", "version": VERSION, "description": _ABOUT},
        "defaultContentType": CONTENT_TYPE,
        "servers": _SERVERS,
        "channels": channels | _ways_in_channels(ways_in) | _checkpoint_channels(),
        "operations": {**sending, **_WAYS_IN, **_CHECKPOINTS_SENT},
        "components": {
            "messages": events | _ways_in_messages(ways_in) | _checkpoint_messages(),
            "schemas": definitions | dict(ways_in.definitions) | _checkpoint_definitions(),
            "securitySchemes": _LOGINS,
        },
    }


_LOGINS: Mapping[str, Mapping[str, str]] = {
    "password": {"type": "userPassword", "description": "A user of the broker."},
    "certificate": {"type": "X509", "description": "A certificate that the broker knows."},
}
_SECURITY = [{"$ref": f"#/components/securitySchemes/{name}"} for name in _LOGINS]
_SERVERS: Mapping[str, Mapping[str, Any]] = {
    "mqtt": {
        "host": "broker.example:8883",
        "protocol": "secure-mqtt",
        "protocolVersion": "5",
        "description": "An MQTT 5 broker. Its access list makes the user in a topic true.",
        "security": _SECURITY,
    },
    "nats": {
        "host": "hall-1.example:4222",
        "protocol": "nats",
        "description": "NATS with JetStream, over TLS. Its permissions make the user in a subject "
        "true.",
        "security": _SECURITY,
    },
}


def _key(audience: Audience, broker: _Broker) -> str:
    return f"{audience.name.lower()}{broker.suffix}"


_ON_MQTT = {"mqtt": {"qos": 1, "retain": False, "bindingVersion": "0.2.0"}}
_ON_NATS = {"nats": {"bindingVersion": "0.1.0"}}
_WAYS_IN: Mapping[str, Mapping[str, Any]] = {
    "sendState": {
        "action": "send",
        "channel": {"$ref": "#/channels/state"},
        "summary": "The table keeps its state at the broker; an empty one means that the daemon "
        "stopped.",
        "bindings": {"mqtt": {"qos": 1, "retain": True, "bindingVersion": "0.2.0"}},
    },
    "receiveRequest": {
        "action": "receive",
        "channel": {"$ref": "#/channels/commands"},
        "summary": "The table takes a request of a user over MQTT.",
        "bindings": _ON_MQTT,
        "reply": {
            "address": {
                "location": "$message.header#/responseTopic",
                "description": "The user's answer topic or one below it; without it, that topic.",
            },
            "channel": {"$ref": "#/channels/answers"},
        },
    },
    "receiveRequestNats": {
        "action": "receive",
        "channel": {"$ref": "#/channels/commandsNats"},
        "summary": "The table takes a request of a user over NATS.",
        "bindings": _ON_NATS,
        "reply": {
            "address": {
                "location": "$message.header#/reply",
                "description": "The reply subject, below `_INBOX_USER.`",
            },
            "channel": {"$ref": "#/channels/answersNats"},
        },
    },
}
"""The operations beside the streams."""


def _ways_in_channels(ways_in: WaysIn) -> dict[str, Any]:
    user = {"description": "The user's name at the broker."}
    of_a_user = {"table": {"description": _BROKERS[0].table}, "user": user}
    of_a_user_nats = {"table": {"description": _BROKERS[1].table}, "user": user}
    requests, answers = list(ways_in.requests), list(ways_in.answers)

    def channel(
        address: str | None, title: str, names: Sequence[str], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "address": address,
            "title": title,
            "parameters": parameters,
            "messages": {each: {"$ref": f"#/components/messages/{each}"} for each in names},
        }

    return {
        "state": channel(
            "shoe/v1/{table}/state",
            "The state of a table, retained",
            [ways_in.state],
            {"table": of_a_user["table"]},
        ),
        "commands": channel(
            "shoe/v1/{table}/commands/{user}",
            "Requests of a user over MQTT",
            requests,
            of_a_user,
        ),
        "answers": channel(
            "shoe/v1/{table}/answers/{user}", "Answers to a user over MQTT", answers, of_a_user
        ),
        "commandsNats": channel(
            "shoe.v1.{table}.commands.{user}",
            "Requests of a user over NATS",
            requests,
            of_a_user_nats,
        ),
        "answersNats": channel(None, "Answers to a user over NATS, in its inbox", answers, {}),
    }


def _ways_in_messages(ways_in: WaysIn) -> dict[str, Any]:
    return {
        name: {
            "name": name,
            "title": name,
            "summary": _without_links(str(ways_in.definitions[name].get("description", name))),
            "contentType": "application/json",
            "payload": {"$ref": f"#/components/schemas/{name}"},
        }
        for name in (ways_in.state, *ways_in.requests, *ways_in.answers)
    }


_CHECKPOINTS_SENT: Mapping[str, Mapping[str, Any]] = {
    "sendCheckpoint": {
        "action": "send",
        "channel": {"$ref": "#/channels/checkpoints"},
        "summary": "The daemon publishes each checkpoint over MQTT; the newest is retained.",
        "bindings": {"mqtt": {"qos": 1, "retain": True, "bindingVersion": "0.2.0"}},
    },
    "sendCheckpointNats": {
        "action": "send",
        "channel": {"$ref": "#/channels/checkpointsNats"},
        "summary": "The daemon publishes each checkpoint over NATS JetStream.",
        "bindings": _ON_NATS,
    },
    "sendCosignature": {
        "action": "send",
        "channel": {"$ref": "#/channels/cosignatures"},
        "summary": "A witness, not the daemon, keeps its last cosignature at the broker.",
        "bindings": {"mqtt": {"qos": 1, "retain": True, "bindingVersion": "0.2.0"}},
    },
    "sendCosignatureNats": {
        "action": "send",
        "channel": {"$ref": "#/channels/cosignaturesNats"},
        "summary": "A witness, not the daemon, keeps its last cosignature in a stream.",
        "bindings": _ON_NATS,
    },
}


def _checkpoint_channels() -> dict[str, Any]:
    """Return the channels between a journal and its witnesses, over both brokers."""
    journal = {"description": "The first 16 hex digits of the SHA-256 of the journal's name."}
    witness = {"description": "The id of the witness's key, 8 hex digits."}
    found: dict[str, Any] = {}
    for suffix, dot, broker in (("", "/", "MQTT"), ("Nats", ".", "NATS JetStream")):
        found[f"checkpoints{suffix}"] = {
            "address": dot.join(("shoe", "v1", "_journal", "{journal}", "checkpoint")),
            "title": f"A journal's checkpoints over {broker}",
            "description": "For witnesses: restricted records count in it, too.",
            "parameters": {"journal": journal},
            "messages": _named(checkpoints.DAEMONS),
        }
        found[f"cosignatures{suffix}"] = {
            "address": dot.join(("shoe", "v1", "cosignatures", "{witness}", "{journal}")),
            "title": f"A witness's last cosignature of a journal over {broker}",
            "description": "An alarm stands beside it, with -alarm behind the journal.",
            "parameters": {"witness": witness, "journal": journal},
            "messages": _named(checkpoints.WITNESSES),
        }
    return found


def _named(events: Mapping[str, type[Data]]) -> dict[str, Any]:
    return {
        data.__name__: {"$ref": f"#/components/messages/{data.__name__}"}
        for data in events.values()
    }


def _checkpoint_messages() -> dict[str, Any]:
    return {
        data.__name__: {
            "name": name,
            "title": data.__name__,
            "summary": plain(data.__doc__ or ""),
            "contentType": CONTENT_TYPE,
            "payload": {"$ref": f"#/components/schemas/{data.__name__}"},
        }
        for name, data in (checkpoints.DAEMONS | checkpoints.WITNESSES).items()
    }


def _checkpoint_definitions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, data in (checkpoints.DAEMONS | checkpoints.WITNESSES).items():
        title = data.__name__
        own = {
            "id": {"type": "string", "description": "The journal's name and the tree's size."},
            "source": {"type": "string", "description": "The journal, or the witness."},
            "type": {"const": name, "description": "The type of the event."},
            "time": {**_ENVELOPE["time"], "description": "When it was signed: UTC."},
            "data": {"$ref": f"#/components/schemas/{title}Data"},
        }
        required = list(_REQUIRED)
        found[title] = {
            "title": title,
            "description": plain(data.__doc__ or ""),
            "type": "object",
            "properties": {key: dict(own.get(key, _ENVELOPE[key])) for key in required},
            "required": required,
        }
        (_,), components = msgspec.json.schema_components([data])
        described = _described(components[title], f"{title}Data", dict(_meanings(data)))
        found[f"{title}Data"] = {**described, "description": f"The data of {name}."}
    return found


class _Broker(NamedTuple):
    """A kind of broker: what its channels end with, its name, its address, its bindings."""

    suffix: str
    title: str
    address: str
    table: str
    bindings: Mapping[str, Any]


_BROKERS = (
    _Broker(
        "",
        "MQTT",
        "shoe/v1/{{table}}/{audience}",
        "The table's id.",
        {"mqtt": {"qos": 1, "retain": False, "bindingVersion": "0.2.0"}},
    ),
    _Broker(
        "Nats",
        "NATS JetStream",
        "shoe.v1.{{table}}.{audience}",
        "The table's id; a dot in it is written as %2E.",
        {"nats": {"bindingVersion": "0.1.0"}},
    ),
)


def _channel(audience: Audience, broker: _Broker, kinds: Iterable[Kind]) -> dict[str, Any]:
    name = audience.name.lower()
    return {
        "address": broker.address.format(audience=name),
        "parameters": {"table": {"description": broker.table}},
        "title": f"The {name} stream of a table over {broker.title}",
        "description": _STREAMS[audience],
        "messages": {
            each: {"$ref": f"#/components/messages/{each}"}
            for each, _, of in kinds
            if of is audience
        },
    }


_STREAMS = {
    Audience.PUBLIC: "What everyone at the table can see. Nothing in it depends on a card before "
    "it is revealed.",
    Audience.RESTRICTED: "Everything: each public event again, under another id and with more "
    "data, and events that are restricted only. It names cards before they are revealed: keep it "
    "secret.",
}


_TEMPLATES = (
    "texts: a template for each code. {name} stands for an argument, {name:kind} for its name in "
    "words[kind], or for the value where that has none; {name:kind+} for a value that people type, "
    "written as typed says where it has a name; an argument that is a message itself is "
    "written with its own text. {n:count card cards} is a number with its noun. A list is joined "
    "with lists[kind], or with lists['']; {names:kind or} joins with lists['or']. A message with "
    "an argument rule that its template does not write ends as cited says. arguments: the "
    "arguments of each template with their kinds: the keys of words[kind] are the values of one, "
    "count is a whole number, and an empty kind is any value."
)


def messages(name: str) -> dict[str, Any]:
    """Return the catalogue of messages in this language, one of ``LANGUAGES``.

    With it a receiver writes what people read: the text of each code, and the names of values.
    """
    written = language(name)
    return {
        "language": name,
        "about": _TEMPLATES,
        "texts": dict(written.TEXTS),
        "arguments": {code: arguments(text) for code, text in written.TEXTS.items()},
        "words": {kind: dict(words) for kind, words in written.WORDS.items()},
        "lists": dict(written.LISTS),
        "cited": written.CITED,
        "typed": written.TYPED,
    }


def field_descriptions(event: EventType) -> Mapping[str, str]:
    """Return the meaning of each field of the event's data, by its key, the restricted ones too."""
    parts: tuple[type[Data], ...] = (event.data, *event.adds, Actor)
    return {key: text for each in parts for key, text in _meanings(each)}


_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")


def _without_links(text: str) -> str:
    """Return a text without the addresses of its links, which are those of the docs."""
    return _LINK.sub(r"\1", text)


@cache
def _meanings(of: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    texts = field_docstrings(of)
    return tuple(
        (field.encode_name, _without_links(plain(texts[field.name])))
        for field in msgspec.structs.fields(of)
    )


Kind = tuple[str, EventType, Audience]
"""A type of event on one of its streams, with its name in the documents."""


def _definitions(
    events: Iterable[EventType], prefix: str
) -> tuple[list[Kind], dict[str, dict[str, Any]]]:
    """Return the types by stream, and the schemas of the events, of their data and its parts."""
    kinds: list[Kind] = []
    found: dict[str, dict[str, Any]] = {}
    parts: dict[str, dict[str, Any]] = {}
    for event in events:
        for audience in Audience:
            data = event.public if audience is Audience.PUBLIC else event.restricted
            if data is None:
                continue
            name = type_name(event, audience)
            kinds.append((name, event, audience))
            found[name] = _event(event, audience, f"{prefix}{name}Data")
            found[f"{name}Data"] = _data(event, data, f"{name}Data", prefix, parts)
    return kinds, {**found, **dict(sorted(parts.items()))}


def _event(event: EventType, audience: Audience, data: str) -> dict[str, Any]:
    letter = audience.value
    own = {
        "id": {**_ENVELOPE["id"], "pattern": f"^.+/{letter}[1-9][0-9]*$"},
        "type": {"const": event.name, "description": "The type of the event."},
        "data": {"$ref": data},
    }
    return {
        "title": type_name(event, audience),
        "description": _without_links(event.description),
        "type": "object",
        "properties": {key: dict(own.get(key, value)) for key, value in _ENVELOPE.items()},
        "required": list(_REQUIRED),
    }


def _data(
    event: EventType,
    data: type[Data],
    name: str,
    prefix: str,
    parts: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """Return the schema of an event's data; add the structs in it to ``parts``."""
    (_,), components = msgspec.json.schema_components([data], ref_template=prefix + "{name}")
    own = components.pop(data.__name__)
    for part, schema in components.items():
        parts[part] = _described(schema, part, dict(_meanings(_nested(data)[part])))
    described = _described(own, name, field_descriptions(event))
    return {**described, "description": f"The data of {event.name}."}


def _described(schema: dict[str, Any], name: str, meanings: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of a struct with its fields' meanings, open to keys of later versions."""
    properties = {
        key: {**value, "description": meanings[key]}
        for key, value in schema.get("properties", {}).items()
    }
    about = {key: plain(value) for key, value in schema.items() if key == "description"}
    rest = {key: value for key, value in schema.items() if key != "additionalProperties"}
    return {**rest, **about, "title": name, "properties": properties}


@cache
def _nested(data: type[msgspec.Struct]) -> Mapping[str, type[msgspec.Struct]]:
    """Return every struct that values of this one hold, by name."""
    found: dict[str, type[msgspec.Struct]] = {}
    for field in msgspec.structs.fields(data):
        for each in _structs(field.type):
            found |= {each.__name__: each, **_nested(each)}
    return found


def _structs(of: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        yield of
    for each in getattr(of, "__args__", ()):
        yield from _structs(each)
