"""The second person who consents: another one than who asks, in a sufficient position.

In: a command. Out: an objection, or none. Must not know: who is configured, what is consented to.
"""

from __future__ import annotations

import unicodedata

from shoe_ctl.texts.message import message

from . import positions
from .inputs import SecondPerson
from .turn import Objection, Turn


def same_name(name: str) -> str:
    """Equal for names that people take for one: ``Ann``, ``ann`` and `` ANN `` are.

    Compatibility forms (NFKC), case and what cannot be seen make no other name; spaces around it
    do not count, and those inside it count as one.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(seen.split())


def is_another(person: str, consented_by: str | None) -> bool:
    """Somebody is named, and not by the name of who asks."""
    return same_name(consented_by or "") not in ("", same_name(person))


def sufficient(needed: str) -> str:
    """The lowest position that consents to what ``needed`` may do.

    Two dealers are enough for what is the dealer's, and a pit supervisor for all else: the
    documents name no position for it.
    """
    lowest, above = positions.LADDER[:2]
    return lowest if needed == lowest else above


def objection(turn: Turn, what: str, needed: str) -> Objection | None:
    """What the consent to ``what`` lacks, which ``needed`` may do."""
    command = turn.command
    return lack(
        what,
        needed,
        person=command.person,
        consented_by=command.consented_by,
        found=command.second_person,
        highest=turn.settings.highest_position,
    )


def lack(  # noqa: PLR0913 - who asks, who consents, and for what
    what: str,
    needed: str,
    *,
    person: str,
    consented_by: str | None,
    found: SecondPerson | None,
    highest: str | None,
) -> Objection | None:
    """The same of a command that is not at a table. ``highest`` is as in ``positions.may``."""
    needs = {"consent": "another_person"}
    if not consented_by:
        return Objection(message("refused_needs_consent", what=what), needs)
    if not is_another(person, consented_by):
        asks = message("refused_second_person_asks", name=consented_by)
        return Objection(message("refused_no_consent", what=what, why=asks), needs)
    if found is None:
        return None
    if found.why_not is not None:
        return Objection(message("refused_no_consent", what=what, why=found.why_not), needs)
    lowest = sufficient(needed)
    if any(positions.may(own, lowest, highest=highest) for own in found.positions):
        return None
    low = message(
        "refused_consent_too_low",
        what=what, position=lowest, name=consented_by, positions=found.positions,
    )  # fmt: skip
    return Objection(low, {"consent": lowest})
