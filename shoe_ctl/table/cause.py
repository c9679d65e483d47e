"""Why an irregularity is raised: its key and what was seen, by the shoe or by a person.

In: nothing. Out: Cause. Must not know: what is done about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from shoe_ctl.texts.message import Message


class Cause(NamedTuple):
    """What was seen: a message that never holds a card's value.

    ``publicly`` where the room may know less. ``subject`` tells it from others of its key.
    ``noted`` is what its steps are to know: plain JSON values. It begins at ``step``, else at the
    first of its procedure.
    """

    key: str
    seen: Message
    publicly: Message | None = None
    subject: str | None = None
    noted: Mapping[str, Any] = MappingProxyType({})
    step: str | None = None
