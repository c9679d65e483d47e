"""What all shoe events have in common.

In: nothing. Out: the base class. Must not know: any event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeEvent:
    """Base of all that a shoe can say. ``type`` is its name in records and in ``decode``."""

    type: ClassVar[str] = ""
