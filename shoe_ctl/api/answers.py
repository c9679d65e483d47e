"""Answers to requests that are refused, the same on every way in.

In: why. Out: the answer, in plain values. Must not know: who asks, how the answer gets there.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.texts.catalogue import with_texts
from shoe_ctl.texts.message import Message, message


def refusal(why: Message, command_id: str | None = None) -> dict[str, Any]:
    """Return the answer to a request that is refused; ``command_id`` is the command's, if known."""
    named = {} if command_id is None else {"command_id": command_id}
    return {**named, "accepted": False, "error": with_texts(why.as_data()), "needs": {}}


def failure(error: str, command_id: str | None = None) -> dict[str, Any]:
    """Return the answer to a request that cannot be read or handled, with the error's own text."""
    return refusal(message("daemon_failed", detail=error), command_id)
