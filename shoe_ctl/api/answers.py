"""Answers to requests that are refused, the same on every way in.

In: why. Out: the answer, in plain values. Must not know: who asks, how the answer gets there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoe_ctl.api.requests import AudienceName, BadRequest, Caller, Language
from shoe_ctl.errors import ShoeCtlError
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import text, with_texts, without_texts
from shoe_ctl.texts.message import Message, message

NOT_ANSWERED = message(
    "daemon_failed", detail="this could not be answered; the daemon's log says why"
)


class RequestRefused(ShoeCtlError):
    """A request is refused, with a message that the caller gets as it is."""

    def __init__(self, why: Message) -> None:
        super().__init__(text(why))
        self.why = why


def audience_of(caller: Caller, named: AudienceName | None) -> Audience:
    """Return the audience that a request names; without a name the caller's own.

    Raises:
        RequestRefused: the caller may not see the restricted stream.
    """
    if named is None:
        return caller.sees
    audience = Audience[named.upper()]
    if audience is Audience.RESTRICTED and caller.sees is not Audience.RESTRICTED:
        raise RequestRefused(message("events_not_for_this_user", user=caller.user))
    return audience


def in_language(answer: Mapping[str, Any], to: Language | None) -> Mapping[str, Any]:
    """Return an answer, whose texts are English, with its texts in this language or without."""
    if to in (None, "en"):
        return answer
    told: Mapping[str, Any] = without_texts(answer) if to == "none" else with_texts(answer, to)
    return told


def refusal(why: Message, command_id: str | None = None) -> dict[str, Any]:
    """Return the answer to a request that is refused; ``command_id`` is the command's, if known."""
    named = {} if command_id is None else {"command_id": command_id}
    return {**named, "accepted": False, "error": with_texts(why.as_data()), "needs": {}}


def failure(error: Exception, command_id: str | None = None) -> dict[str, Any]:
    """Return the answer to a request that was not handled: the error's own code, if it has one."""
    if isinstance(error, RequestRefused):
        return refusal(error.why, command_id)
    if isinstance(error, BadRequest):
        return refusal(message("request_invalid", detail=str(error)), error.command_id)
    if isinstance(error, ShoeCtlError):
        return refusal(message("daemon_failed", detail=str(error)), command_id)
    return refusal(NOT_ANSWERED, command_id)
