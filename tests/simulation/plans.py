"""Plans that tests write down themselves, instead of taking a seed's."""

from __future__ import annotations

from tests.simulation.plan import Fault, Plan


def struck(*kinds: tuple[str, float], face_up: bool = True, lasts_s: float = 20.0) -> Plan:
    """A table of tiger, and these faults at these times in seconds."""
    faults = (Fault(number, at_s, kind) for number, (kind, at_s) in enumerate(kinds))
    return Plan(
        seed=1,
        lasts_s=lasts_s,
        game="tiger",
        announces=not face_up,
        face_up_after_ms=300 if face_up else None,
        faults=tuple(faults),
    )
