"""What one seed simulates: the table, how long it is played, and which faults strike when.

In: a seed, or a command line that narrows it. Out: a Plan; the command that runs it again.
Must not know: what a fault does.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulators.shoe.event_log import CAPACITY

SHORTEST_S, LONGEST_S = 15.0, 60.0
MOST_FAULTS = 25

SMALL = 24
"""A memory that is full soon after a host went."""

NOT_PLAYED = {"angel_eye": ("fa_fa_fabulous_4",)}
"""Games whose cards a profile cannot name."""

GAMES = (
    "tiger", "dragon_tiger_no_commission", "fa_fa_fabulous_4", "immortal_dragon_tiger",
)  # fmt: skip


LIMITS = {"minimum": 100, "maximum": 1000, "differential": 900}
"""Of a table where several Players have wagers."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, ``at_s`` seconds after the start; its number names it."""

    number: int
    at_s: float
    kind: str

    def __str__(self) -> str:
        return f"{self.number}:{self.kind}@{self.at_s:.3f}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``lasts_s`` is how long faults may strike; then all is well, and the table has to go on.

    ``memory`` is how many events the shoe keeps; only a ``reference`` shoe keeps any. In Method A
    several Players have wagers and squeeze the cards; elsewhere one has, and handles none.
    """

    seed: int
    lasts_s: float
    game: str
    announces: bool
    face_up_after_ms: int | None
    faults: tuple[Fault, ...]
    profile: str = "reference"
    memory: int = CAPACITY
    method: str | None = None

    def table(self) -> Mapping[str, Any]:
        """The table as a configuration file has it."""
        faces: dict[str, Any] = {"faces": "turned_by_dealer"}
        if self.face_up_after_ms is not None:
            faces = {"faces": "face_up", "face_up_after_ms": self.face_up_after_ms}
        handed = {} if self.method is None else {"method": self.method, "limits": LIMITS}
        return {
            "id": "sim-1",
            "game": self.game,
            "announcements": "explicit" if self.announces else "implied",
            "method_b": faces,
            **handed,
        }

    def chance(self, what: str) -> random.Random:
        """Chance for one part of the world: what others draw does not change it."""
        return random.Random(f"{self.seed}/{what}")

    def only(self, faults: Sequence[Fault]) -> Plan:
        """The same with these faults alone."""
        return replace(self, faults=tuple(faults))

    def cut(self, lasts_s: float) -> Plan:
        """The same, ended earlier."""
        left = tuple(fault for fault in self.faults if fault.at_s < lasts_s)
        return replace(self, lasts_s=lasts_s, faults=left)

    @property
    def command(self) -> str:
        """What runs exactly this again."""
        numbers = ",".join(str(fault.number) for fault in self.faults) or "none"
        return f"python -m tests.simulation {self.seed} --only {numbers} --lasts {self.lasts_s:.3f}"


def plan_of(seed: int, kinds: Mapping[str, float], apart: Mapping[str, float]) -> Plan:
    """The plan of a seed; ``kinds`` are the faults there are, each with its weight.

    ``apart`` are kinds that are drawn by themselves, each with how likely a seed meets it.
    """
    chance = random.Random(f"{seed}/plan")
    lasts_s = round(chance.uniform(SHORTEST_S, LONGEST_S), 3)
    profile = chance.choices(("reference", "angel_eye"), (5, 1))[0]
    face_up = profile == "angel_eye" or chance.random() < 0.5
    # A seed meets some kinds of faults, often, and others not at all: rare pairs come together.
    met = chance.sample(sorted(kinds), chance.randint(2, min(8, len(kinds))))
    times = sorted(
        round(chance.uniform(0.0, lasts_s), 3) for _ in range(chance.randint(1, MOST_FAULTS))
    )
    drawn = chance.choices(met, [kinds[kind] for kind in met], k=len(times))
    for kind, likely in apart.items():
        alone = random.Random(f"{seed}/{kind}")
        if alone.random() < likely:
            more = [round(alone.uniform(0.0, lasts_s), 3) for _ in range(alone.randint(1, 3))]
            times, drawn = [*times, *more], [*drawn, *[kind] * len(more)]
    handed = not face_up and random.Random(f"{seed}/method").random() < 0.5
    return Plan(
        seed=seed,
        lasts_s=lasts_s,
        method="A" if handed else None,
        game=chance.choice([g for g in GAMES if g not in NOT_PLAYED.get(profile, ())]),
        announces=profile == "reference" and (not face_up or chance.random() < 0.5),
        face_up_after_ms=chance.choice((0, 300, 1000)) if face_up else None,
        faults=tuple(
            Fault(number, at_s, kind)
            for number, (at_s, kind) in enumerate(zip(times, drawn, strict=True))
        ),
        profile=profile,
        memory=chance.choice((CAPACITY, CAPACITY, SMALL)),
    )
