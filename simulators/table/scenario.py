"""A scenario: one situation at a table, what is done in it, and the events that have to come.

In: a TOML file, version 1. Out: a Scenario, or one line with file, key and what was expected.
Must not know: how it is played, the table under test.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from firmware_proto.profiles import PROFILES
from firmware_proto.suggestion import nearest_name
from simulators.errors import WrongUsage
from simulators.table.expectation import Pattern, Told, difference, expected_event
from simulators.table.fields import Fields, Wrong
from simulators.table.shoe_setup import ShoeSetup
from simulators.table.steps import Say, Step, TimePasses, step

VERSION = 1
SHIPPED = Path(__file__).parents[1] / "scenarios"
"""Where the scenarios that come with the simulators are; each is known by its file's name."""

MOST_BYTES = 1 << 20
"""The longest file that is read."""

MOST_MISTAKES = 50
"""The most of a file that are told, a line each."""

_NAMED = 5
"""Scenarios that are named to whoever asks for one that is not there and like none."""

TABLE = "t1"
"""The table's id in every scenario, so that ids of shoes and rounds are known: ``t1-s1-r1``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One file. ``table`` is as in a daemon's configuration, without its id and the shoe's port.

    ``expect`` and ``restricted`` are all events of the types they name, in order, in the public
    and in the restricted stream; no event of a type in ``never`` comes in either.
    """

    name: str
    title: str
    table: dict[str, Any]
    profile: str
    shoe: ShoeSetup
    steps: tuple[Step, ...]
    expect: tuple[Pattern, ...]
    restricted: tuple[Pattern, ...]
    never: tuple[str, ...]
    folder: Path | None = None
    """Where its file lies: a game file that it names begins there."""

    @property
    def passes_time(self) -> bool:
        """True if its steps say when time passes at the table."""
        return any(isinstance(step, TimePasses) for step in self.steps)

    def differences(
        self, public: Sequence[Told], restricted: Sequence[Told] | None = None
    ) -> str | None:
        """Return what was told otherwise than expected, for a person to read, or None.

        Without ``restricted`` only the public stream is held to what it says.
        """
        said = difference(self.expect, self.never, public)
        found = [] if said is None else [f"the public events of {self.name}:\n{said}"]
        if restricted is not None:
            said = difference(self.restricted, self.never, restricted)
            found += [] if said is None else [f"the restricted events of {self.name}:\n{said}"]
        return "\n".join(found) or None


def second_persons(scenario: Scenario) -> list[str]:
    """Return who consents in it to what is accepted: people whom the daemon has to know."""
    names = (
        step.consented_by
        for step in scenario.steps
        if isinstance(step, Say) and step.refused is None
    )
    return list(dict.fromkeys(name for name in names if name is not None))


def configured(scenario: Scenario, port: str) -> dict[str, Any]:
    """Return the table as a daemon's configuration holds it, with its id and the shoe's port."""
    shoe = {"profile": scenario.profile, **scenario.table.get("shoe", {}), "port": port}
    table = dict(scenario.table)
    if scenario.folder is not None and str(table["game"]).endswith(".toml"):
        table["game"] = str((scenario.folder / table["game"]).absolute())
    return {"id": TABLE, **table, "shoe": shoe}


def shipped() -> list[str]:
    """Return the names of the scenarios that come with the simulators, in order."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def find(name: str) -> Scenario:
    """Return a shipped scenario by its name, or one in a file by its path.

    Raises:
        WrongUsage: there is none of this name, or the file cannot be read.
        Wrong: the file is wrong.
    """
    if "/" in name or name.endswith(".toml"):
        return load(Path(name))
    if name not in shipped():
        known = shipped()
        meant = nearest_name(name, known)
        if meant is not None:
            raise WrongUsage(f"no scenario {name!r}: is it {meant}?")
        have = f"{', '.join(known[:_NAMED])} and {len(known) - _NAMED} more"
        raise WrongUsage(f"no scenario {name!r} (have: {have}; shoectl demo --scenarios lists all)")
    return load(SHIPPED / f"{name}.toml")


def load(path: Path) -> Scenario:
    """Read a file.

    Raises:
        WrongUsage: it cannot be read.
        Wrong: it is wrong.
    """
    try:
        with path.open("rb") as file:
            source = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise WrongUsage(f"{path}: {error.strerror}") from None
    if len(source) > MOST_BYTES:
        raise WrongUsage(f"{path}: no scenario has more than {MOST_BYTES:,} bytes")
    return replace(parse(source, str(path), name=path.stem), folder=path.parent)


def parse(source: bytes, file: str, *, name: str) -> Scenario:
    """Return the scenario in these bytes, ``file`` naming them in errors.

    Raises:
        Wrong: they are not a scenario of version 1.
    """
    try:
        plain = tomllib.loads(source.decode())
    except RecursionError:
        raise Wrong(f"{file}: expected TOML: it is nested too deeply") from None
    except ValueError as error:  # UTF-8, TOML, a number of more digits than Python takes
        raise Wrong(f"{file}: expected TOML: {error}") from None
    try:
        return of_plain(plain, name)
    except Wrong as wrong:
        mistakes = [f"{file}: {mistake}" for mistake in wrong.mistakes]
        if (more := len(mistakes) - MOST_MISTAKES) > 0:
            mistakes[MOST_MISTAKES:] = [f"{file}: and {more} more mistakes"]
        raise Wrong(*mistakes) from None


def of_plain(plain: dict[str, Any], name: str) -> Scenario:
    """Return the scenario in these plain values, as a file spells them.

    Raises:
        Wrong: they are not a scenario of version 1.
    """
    return _scenario(Fields(plain, "", gathers=True), name)


def _scenario(fields: Fields, name: str) -> Scenario:
    version = fields.take("version")
    if version is None:
        raise Wrong(f"version: missing, expected {VERSION}")
    if version != VERSION or type(version) is not int:
        raise Wrong(f"version: expected {VERSION}, not {version!r}")
    title = fields.text("title")
    table = fields.table("table")
    if not (fields.has("expect") or fields.has("restricted")):
        fields.refuse("expect: missing, expected an array with one event or more", None)
    scenario = Scenario(
        name=name,
        title=title,
        table=table,
        profile=fields.part(lambda: _profile(table), ""),
        shoe=_shoe(fields),
        steps=_steps(fields),
        expect=_patterns(fields, "expect"),
        restricted=_patterns(fields, "restricted"),
        never=_types(fields, "never"),
    )
    fields.nothing_else()
    return scenario


def _shoe(fields: Fields) -> ShoeSetup:
    given = Fields(fields.table("shoe"), "shoe", gathers=True)
    return fields.part(lambda: ShoeSetup.read(given), ShoeSetup())


def _steps(fields: Fields) -> tuple[Step, ...]:
    given = fields.array("steps", of="step")
    read = (fields.part(partial(step, s, f"steps[{i}]"), None) for i, s in enumerate(given))
    return tuple(each for each in read if each is not None)


def _profile(table: dict[str, Any]) -> str:
    """Take in what a bench has to know of the table; the daemon checks the rest."""
    fields = Fields(table, "table", gathers=True)
    fields.text("game")
    shoe = Fields(fields.table("shoe"), "table.shoe", gathers=True)
    for place, key in ((fields, "id"), (shoe, "port")):
        if place.take(key) is not None:
            mistake = f"{place.at(key)}: expected no such key: whoever plays it gives one"
            place.refuse(mistake, None)
    profile = shoe.choice("profile", PROFILES, "reference")
    fields.part(shoe.check, None)
    fields.check()
    return profile


def _patterns(fields: Fields, key: str) -> tuple[Pattern, ...]:
    found: list[Pattern] = []
    for i, line in enumerate(fields.array(key)):
        place = f"{key}[{i}]"
        if not isinstance(line, str):
            fields.refuse(f"{place}: expected text, not {line!r}", None)
            continue
        try:
            found.append(expected_event(line))
        except ValueError as error:
            fields.refuse(f"{place}: {error}", None)
    return tuple(found)


def _types(fields: Fields, key: str) -> tuple[str, ...]:
    found = _patterns(fields, key)
    for i, named in enumerate(found):
        if named.wanted:
            mistake = f"{key}[{i}]: expected an event's type alone, not {str(named)!r}"
            fields.refuse(mistake, None)
    return tuple(named.type for named in found)
