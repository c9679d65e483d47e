"""The steps of a scenario: what hands, staff, cables and power do, one after the other.

In: one step as its file holds it. Out: a Step, or one line that says what was expected.
Must not know: files, who takes the step, what the table makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from simulators.arguments import Arguments, Word, read_arguments
from simulators.faults import DIRECTIONS, TO_SHOE
from simulators.incidents import INCIDENTS
from simulators.shoe.reference import FEWEST_TOGETHER, MOST_TOGETHER
from simulators.table.expectation import Pattern, expected_event
from simulators.table.fields import Fields
from simulators.table.shoe_setup import OF_THE_SHOE, ShoeSetup

CUT: Arguments = {
    "direction": Word(about="the wire that breaks", default=TO_SHOE, words=DIRECTIONS),
}
CABLE: Mapping[str, Arguments] = {
    "unplug": {}, "replug": {}, "cut": CUT, "mend": {}, "noise": {},
}  # fmt: skip
"""Happenings to the shoe's cable, each with its arguments."""

SHOE_DOES = (*CABLE, *INCIDENTS)
HOST_DOES: Mapping[str, tuple[str, ...]] = {
    "host": ("restart", "reboot"),
    "disk": ("fail", "fill", "clear"),
    "sink": ("refuse", "lose"),
}
"""Acts around the daemon, by where: at its process, its disk, the other end of its sink."""

VERDICTS = ("none", "player", "banker", "tie", "forced_quit")
ACTS = ("place", "increase", "decrease", "withdraw")
LONGEST_MS = 7 * 24 * 3_600_000
"""The most that one step lets pass: a week."""

NEEDS = ("position", "state", "consent", "other")
REQUESTS = ("redeliver", "applied", "shoe")
MOST_TIMES = 1000
"""The most that one command is given in one step."""

REFUSAL = re.compile(r"refused_[a-z0-9_]{1,60}")
"""The code of one refusal of a command, as its error has it."""

CODE = re.compile(r"[a-z0-9]{1,30}(_[a-z0-9]{1,30}){1,10}")
"""The code of one refusal of another request."""

Manner = Literal[
    "freed", "early", "together", "as_one", "unordered", "under_key", "under_way"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Draw:
    """Whoever holds the shoe draws so many cards.

    ``freed``: each once the shoe shows that it may be drawn. ``early``: each at once, bolt or not.
    ``together``: all in one pull, and the shoe counts each. ``as_one``, ``unordered``: the shoe
    tells of the pull, and knows in which order they came, or does not. ``under_key``: by hand,
    while the shoe is locked by its key. ``under_way``: freed, and the host hears of it only behind
    the next step. ``when_freed``: the pull waits until the shoe may be drawn from. ``held_back``:
    the host hears of the cards only behind so many further steps.
    """

    count: int
    manner: Manner = "freed"
    when_freed: bool = False
    held_back: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A command in the envelope. ``round`` is the nth round opened, None the one that is open.

    ``refused`` is what the refusal says it needs (``other``: nothing of the kind), or its code;
    None where the command is to be accepted. Two steps with the same ``id`` are one command, given
    twice. ``times``: so many commands one after the other, each with an id of its own.
    """

    command: str
    args: Mapping[str, Any] = field(default_factory=dict)
    position: str = "dealer"
    person: str | None = None
    reason: str | None = None
    consented_by: str | None = None
    round: int | None = None
    id: str | None = None
    refused: str | None = None
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request at the socket that is no command; ``args`` are its keys beside ``request``.

    ``event`` is the event that it names: the last public one like this. ``refused`` is the code of
    its refusal, None where it is to be taken.
    """

    request: str
    args: Mapping[str, Any] = field(default_factory=dict)
    event: Pattern | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Play:
    """The bots play on in the ordinary way until this event comes."""

    until: Pattern


@dataclass(frozen=True, slots=True)
class Wait:
    """Everybody waits until this event comes, if it did not come since the last wait or play."""

    until: Pattern


@dataclass(frozen=True, slots=True)
class TimePasses:
    """So many microseconds pass at the table."""

    us: int


@dataclass(frozen=True, slots=True)
class ShoeDoes:
    """Something happens to the shoe: its cable, or an incident with its arguments."""

    what: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostDoes:
    """Something happens around the daemon, in one ``part`` of ``HOST_DOES``.

    ``host``: ``restart`` of the daemon, or ``reboot`` of the machine. ``disk``: it takes nothing
    for a moment (``fail``), is nearly full (``fill``) or not any more (``clear``). ``sink``: its
    other end refuses the next event (``refuse``), or loses all that it has (``lose``).
    """

    what: str
    part: str = "host"


@dataclass(frozen=True, slots=True)
class NewShoe:
    """The cards are taken out and others pushed in."""

    setup: ShoeSetup


@dataclass(frozen=True, slots=True)
class ShoeJudges:
    """The shoe's result for the next round it judges, whatever the cards are; ``none``: nothing."""

    winner: str


Step = Draw | Say | Ask | Play | Wait | TimePasses | ShoeDoes | HostDoes | NewShoe | ShoeJudges


def step(given: object, place: str) -> Step:
    """Return the step that this table of a file describes; ``place`` names it in errors.

    Raises:
        simulators.table.fields.Wrong: says of each mistake the key and what was expected.
    """
    fields = Fields(given, place, gathers=True)
    verb = fields.one_of_keys(tuple(_READERS))
    read = _READERS[verb](fields, verb)
    fields.nothing_else()
    return read


def _draw(fields: Fields, verb: str) -> Step:
    manners: dict[str, Manner] = {
        "draw": "freed",
        "draw_early": "early",
        "draw_together": "together",
        "draw_as_one": "as_one",
        "draw_unordered": "unordered",
        "draw_under_key": "under_key",
        "draw_under_way": "under_way",
    }
    if manners[verb] in ("as_one", "unordered"):
        count = fields.whole(verb, at_least=FEWEST_TOGETHER, at_most=MOST_TOGETHER)
    else:
        count = fields.whole(verb, at_least=1)
    is_pull = manners[verb] in ("together", "as_one", "unordered")
    when_freed = is_pull and fields.flag("when_freed")
    held_back = int(manners[verb] == "under_way")
    if manners[verb] == "early":
        held_back = fields.optional_whole("held_back", at_least=1) or 0
    return Draw(count, manners[verb], when_freed, held_back)


def _say(fields: Fields, verb: str) -> Step:
    return Say(
        command=fields.text(verb),
        args=fields.table("args"),
        position=fields.text("position", "dealer"),
        person=fields.optional_text("person"),
        reason=fields.optional_text("reason"),
        consented_by=fields.optional_text("consented_by"),
        round=fields.optional_whole("round", at_least=1),
        id=fields.optional_text("id"),
        refused=_refusal(fields),
        times=fields.optional_whole("times", at_least=1, at_most=MOST_TIMES) or 1,
    )


def _ask(fields: Fields, verb: str) -> Step:
    request = fields.choice(verb, REQUESTS)
    args: dict[str, Any] = {}
    event: Pattern | None = None
    if request == "applied":
        event = _event(fields, "event")
        args["reference"] = fields.text("reference")
    elif request == "shoe":
        args["shoe_id"] = fields.text("shoe_id")
        args["rounds"] = _stated_rounds(fields)
    return Ask(request=request, args=args, event=event, refused=_refusal_code(fields))


def _stated_rounds(fields: Fields) -> list[dict[str, Any]]:
    nothing: dict[str, Any] = {}
    return [
        fields.part(partial(_stated_round, each, f"{fields.at('rounds')}[{i}]"), nothing)
        for i, each in enumerate(fields.array("rounds"))
    ]


def _stated_round(given: object, place: str) -> dict[str, Any]:
    """Return a round as a table system states it; the daemon checks ids and amounts."""
    fields = Fields(given, place, gathers=True)
    stated: dict[str, Any] = {"round_id": fields.text("round_id")}
    if fields.flag("void"):
        stated["void"] = True
    if wagers := fields.table("wagers"):
        stated["wagers"] = wagers
    fields.nothing_else()
    return stated


def _refusal_code(fields: Fields) -> str | None:
    given = fields.optional_text("refused")
    if given is not None and not CODE.fullmatch(given):
        mistake = f"{fields.at('refused')}: expected a refusal's code, such as "
        return fields.refuse(f"{mistake}refused_applied_twice, not {given!r}", None)
    return given


def _wager(fields: Fields, verb: str) -> Step:
    """Return a Player's chips: the command that enters what they do."""
    act = fields.choice("act", ACTS, ACTS[0])
    args: dict[str, Any] = {
        "player": fields.text("player"),
        "seat": fields.whole("seat", at_least=1),
        "wager": fields.text(verb),
    }
    if act != "withdraw":
        args["amount"] = fields.whole("amount", at_least=1)
    return Say(command=f"{act}_wager", args=args, refused=_refusal(fields))


def _refusal(fields: Fields) -> str | None:
    """Return what a refusal has to want, or its code."""
    given = fields.optional_text("refused")
    if given is not None and given not in NEEDS and not REFUSAL.fullmatch(given):
        return fields.refuse(
            f"{fields.at('refused')}: expected one of {', '.join(NEEDS)}, not {given!r} (or a "
            "refusal's code, such as refused_in_this_state)",
            None,
        )
    return given


_NO_EVENT = Pattern("", ())
"""Stands where an event cannot be read, until all mistakes are raised."""


def _event(fields: Fields, verb: str) -> Pattern:
    if not (line := fields.text(verb)):
        return _NO_EVENT
    try:
        return expected_event(line)
    except ValueError as error:
        return fields.refuse(f"{fields.at(verb)}: {error}", _NO_EVENT)


def _play(fields: Fields, verb: str) -> Step:
    return Play(_event(fields, verb))


def _wait(fields: Fields, verb: str) -> Step:
    return Wait(_event(fields, verb))


def _pass_time(fields: Fields, verb: str) -> Step:
    return TimePasses(round(fields.number(verb, above=0, at_most=LONGEST_MS) * 1000))


def _shoe(fields: Fields, verb: str) -> Step:
    what = fields.choice(verb, SHOE_DOES)
    takes = CABLE[what] if what in CABLE else INCIDENTS[what].arguments
    return ShoeDoes(what, read_arguments(takes, fields))


def _host(fields: Fields, verb: str) -> Step:
    return HostDoes(fields.choice(verb, HOST_DOES[verb]), verb)


def _new_shoe(fields: Fields, verb: str) -> Step:
    given = Fields(fields.take(verb), fields.at(verb), gathers=True)
    for key in OF_THE_SHOE:
        if given.take(key) is not None:
            given.refuse(f"{given.at(key)}: expected no such key: the shoe itself stays", None)
    return NewShoe(fields.part(lambda: ShoeSetup.read(given), ShoeSetup()))


def _judges(fields: Fields, verb: str) -> Step:
    return ShoeJudges(fields.choice(verb, VERDICTS))


_READERS: dict[str, Callable[[Fields, str], Step]] = {
    "say": _say,
    "wager": _wager,
    "draw": _draw,
    "draw_early": _draw,
    "draw_together": _draw,
    "draw_as_one": _draw,
    "draw_unordered": _draw,
    "draw_under_key": _draw,
    "draw_under_way": _draw,
    "play": _play,
    "wait": _wait,
    "pass_ms": _pass_time,
    "shoe": _shoe,
    "request": _ask,
    "host": _host,
    "disk": _host,
    "sink": _host,
    "new_shoe": _new_shoe,
    "shoe_judges": _judges,
}

VERBS = tuple(_READERS)
"""The key that says what a step is."""
