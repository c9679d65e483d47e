"""Requests to the daemon over a broker for events that are missing, and what its answers mean.

In: what is missing; answers as JSON. Out: requests as JSON; the errors of ``follow``.
Must not know: brokers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shoe_events.consumer import Resend
from shoe_events.event import make_id, number_of
from shoe_events.follow import ConnectionLost, NotAnswered, NotFound, NotKept

EVENT_TYPE = "application/cloudevents+json"
"""The content type of an event that was asked for, among the answers."""


def request_for(asked: Resend, sink: str) -> dict[str, Any]:
    """Return the request for what is missing and no more. ``sink`` is the daemon's.

    Where no event of the table came yet, nobody knows how many there are: all are asked for.
    """
    request = {"request": "resend", "sink": sink, "after": asked.after}
    if asked.upto is not None and asked.missing_in:
        request["upto"] = make_id(asked.table, asked.audience, asked.upto)
    return request


def as_object(body: bytes | str) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def check(answer: Mapping[str, Any]) -> None:
    """Raise what the daemon's refusal means."""
    if answer.get("accepted") is not False:
        return
    error = answer["error"]
    code = error["code"]
    text = str(error.get("text", code))
    if code == "events_not_kept":
        raise NotKept(text)
    if code == "events_unknown":
        raise NotFound(text, number_of(error["args"]["last"]))
    if code == "events_none":
        raise NotFound(text)
    if code in ("daemon_starting", "sink_resends_too_many"):
        raise NotAnswered
    raise ConnectionLost(text)
