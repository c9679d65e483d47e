"""JSON Schema of the requests and their answers, the same on every way in.

In: the types of requests and answers. Out: plain values to print as JSON.
Must not know: who reads them, how a request gets here.

The schemas of answers allow keys that they do not name: a later version may add some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.api.requests import Command, Question
from shoe_ctl.api.shapes import ANSWERS, Status
from shoe_ctl.docstrings import field_docstrings

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KINDS: Mapping[str, str] = {
    "StatusRequest": "status",
    "RedeliverRequest": "redeliver",
    "ResendRequest": "resend",
    "EventsRequest": "events",
    "StatesRequest": "states",
    "AppliedRequest": "applied",
    "ShoeRequest": "shoe",
    "NoteRequest": "note",
    "RoundsRequest": "rounds",
}
"""The value of ``request`` in each form; a command has no such key."""


class Schemas(NamedTuple):
    """Schemas by name, and the names of those that are a whole request or answer."""

    definitions: Mapping[str, dict[str, Any]]
    requests: tuple[str, ...]
    answers: tuple[str, ...]
    state: str
    """The status of one table, as a broker keeps it."""


def schemas(prefix: str) -> Schemas:
    """Return the schemas of all requests and answers, which name one another below ``prefix``."""
    requests: tuple[type[msgspec.Struct], ...] = (Command, *Question.__args__)
    answers: tuple[type[msgspec.Struct], ...] = ANSWERS
    _, found = msgspec.json.schema_components(
        [*requests, *answers, Status], ref_template=prefix + "{name}"
    )
    for name, kind in _KINDS.items():
        found[name]["properties"]["request"] = {"const": kind}
    for name, of in _structs(*requests, *answers, Status).items():
        for field, text in field_docstrings(of).items():
            found[name]["properties"][field]["description"] = text
    return Schemas(
        dict(sorted(found.items())),
        tuple(each.__name__ for each in requests),
        tuple(each.__name__ for each in answers),
        Status.__name__,
    )


def json_schema() -> dict[str, Any]:
    """Return one JSON Schema (2020-12): any request, or any answer."""
    every = schemas("#/$defs/")
    return {
        "$schema": _DIALECT,
        "$id": "urn:shoe-ctl:requests:v1",
        "title": "Requests to shoe-ctl, and their answers",
        "description": "One object a line at the socket, one a message at a broker. The answer to "
        "an events request is a stream of events, and to a states request one of statuses.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in (*every.requests, *every.answers)],
        "$defs": every.definitions,
    }


def _structs(*roots: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """Return these types and every struct in them, by name."""
    found: dict[str, type[msgspec.Struct]] = {}
    left: list[Any] = list(roots)
    while left:
        of = left.pop()
        if isinstance(of, type) and issubclass(of, msgspec.Struct):
            if of.__name__ not in found:
                found[of.__name__] = of
                left += (field.type for field in msgspec.structs.fields(of))
        else:
            left += getattr(of, "__args__", ())
    return found
