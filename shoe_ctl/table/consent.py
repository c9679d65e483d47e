"""Consent of a second person: somebody else than the person who asks, in a high enough position.

In: a command. Out: an objection, or none. Must not know: which users are configured, what the
consent is for.
"""

from __future__ import annotations

from shoe_ctl.table import positions
from shoe_ctl.table.inputs import SecondPerson
from shoe_ctl.table.turn import Objection, Turn
from shoe_ctl.texts.message import message


def normalize_name(name: str) -> str:
    """Return the name in a form that is equal for names that people read as the same.

    ``Ann``, ``ann`` and `` ANN `` are the same. Compatibility forms (NFKC), case and invisible
    characters make no difference, nor do spaces around the name; several inside it count as one.
    """
    import unicodedata

    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(seen.split())


def is_another_person(person: str, consented_by: str | None) -> bool:
    """Return True if somebody is named, and it is not the person who asks."""
    return normalize_name(consented_by or "") not in ("", normalize_name(person))


def lowest_consenting(needed: str) -> str:
    """Return the lowest position that may consent to what ``needed`` may do.

    A second dealer is enough for what a dealer may do, a pit supervisor for all else: the documents
    name no position for it.
    """
    lowest, above = positions.LADDER[:2]
    return lowest if needed == lowest else above


def check_second_person(turn: Turn, what: str, needed: str) -> Objection | None:
    """Return what the consent to the command of this turn lacks.

    ``what`` is what is consented to, in words; ``needed`` is the position that may do it.
    """
    command = turn.command
    return check_consent(
        what,
        needed,
        person=command.person,
        consented_by=command.consented_by,
        found=command.second_person,
        highest=turn.settings.highest_position,
    )


def check_consent(  # noqa: PLR0913 - who asks, who consents, and for what
    what: str,
    needed: str,
    *,
    person: str,
    consented_by: str | None,
    found: SecondPerson | None,
    highest: str | None,
) -> Objection | None:
    """Return what a consent lacks, also of a command that is given at no table.

    ``found`` is the second person as looked up among the users, None where nobody looked.
    ``highest`` is as in ``positions.is_sufficient``.
    """
    needs = {"consent": "another_person"}
    if not consented_by:
        return Objection(message("refused_needs_consent", what=what), needs)
    if not is_another_person(person, consented_by):
        asks = message("refused_second_person_asks", name=consented_by)
        return Objection(message("refused_no_consent", what=what, why=asks), needs)
    if found is None:
        return None
    if found.why_not is not None:
        return Objection(message("refused_no_consent", what=what, why=found.why_not), needs)
    lowest = lowest_consenting(needed)
    if any(positions.is_sufficient(own, lowest, highest=highest) for own in found.positions):
        return None
    low = message(
        "refused_consent_too_low",
        what=what, position=lowest, name=consented_by, positions=found.positions,
    )  # fmt: skip
    return Objection(low, {"consent": lowest})
