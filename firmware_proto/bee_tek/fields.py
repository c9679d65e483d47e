"""Words and characters of the Bee-Tek wire (SPEC.md, "Lines").

In: nothing. Out: tags, ends of lines, ranks and suits as they are written.
Must not know: where they stand in a line, construct.
"""

from __future__ import annotations

from typing import Final

GAME: Final = "Game"
"""The tag of a card of a round; as the token beside any card's tag, a card that was not read."""
BURN: Final = "Manual Burn Cards"
"""The tag of a card that is burned by hand."""
ALARM: Final = "GameAlarm"
"""The tag of an alarm that is of no card."""

CR: Final = 0x0D
LF: Final = 0x0A
LINE_END: Final = bytes((CR, LF))
"""The end of a line that is sent."""
LONGEST_LINE: Final = 128
"""Bytes of a line without its end. The longest that is known has 40; what is longer is no line."""

TEN: Final = "10"
"""Two characters where every other rank has one; cards call it T."""
RANKS: Final = (TEN, *"23456789ATJQK")
SUITS: Final = tuple("SHDC")
