"""The second person who consents: another one than who asks, in a sufficient position.

In: a command. Out: an objection, or none. Must not know: who is configured, what is consented to.
"""

from __future__ import annotations

import unicodedata

from . import positions
from .inputs import TableCommand
from .rows import Objection
from .turn import Turn


def same_name(name: str) -> str:
    """Equal for names that people take for one: ``Ann``, ``ann`` and `` ANN `` are.

    Compatibility forms (NFKC), case and what cannot be seen make no other name; spaces around it
    do not count, and those inside it count as one.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(seen.split())


def is_another(command: TableCommand) -> bool:
    """Somebody is named, and not by the name of who asks."""
    second = same_name(command.consented_by or "")
    return second not in ("", same_name(command.person))


def sufficient(needed: str) -> str:
    """The lowest position that consents to what ``needed`` may do.

    Two dealers are enough for what is the dealer's, and a pit supervisor for all else: the
    documents name no position for it.
    """
    lowest, above = positions.LADDER[:2]
    return lowest if needed == lowest else above


def objection(turn: Turn, what: str, needed: str) -> Objection | None:
    """What the consent to ``what`` lacks, which ``needed`` may do."""
    command, found = turn.command, turn.command.second_person
    needs = {"consent": "another person"}
    wants = f"{what} needs the consent of another person"
    if not is_another(command):
        same = f": {command.consented_by} is who asks" if command.consented_by else ""
        return Objection(f"{wants}{same}", needs)
    if found is None:
        return None
    if found.why_not is not None:
        return Objection(f"{wants}: {found.why_not}", needs)
    lowest, highest = sufficient(needed), turn.settings.highest_position
    if any(positions.may(own, lowest, highest=highest) for own in found.positions):
        return None
    acts = ", ".join(found.positions)
    return Objection(
        f"{what} needs the consent of {positions.one(lowest)} or above: "
        f"{command.consented_by} acts up to {acts}",
        {"consent": lowest},
    )
