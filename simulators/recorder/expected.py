"""The events of a recorded table, as a scenario expects them.

In: events as they were told. Out: patterns: what they said of the round, without what no second
playing says again. Must not know: steps, files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from simulators.recorder.recording import Recording
from simulators.recorder.rounds import COUNTS_CARDS
from simulators.table.expectation import Pattern, Told, flat
from simulators.table.scenario import TABLE

OF_THE_START = ("table.started", "shoe.connected")
"""Events of every playing, which say nothing of this one."""

NOT_OF_PLAY = (
    "delivery.parked", "delivery.taken", "delivery.lost", "delivery.refilled",
    "outage.opened", "outage.closed", "review.opened",
    "frame.discarded", "login.accepted", "login.refused", "login.locked", "login.ended",
    "login.unrecorded", "restricted.viewed",
    "shoe.hearing_lost", "shoe.hearing_restored", "disk.filling", "disk.relieved",
    "outcome.applied", "outcome.not_applied", "shoe.reconciled", "command.unrecorded",
    "shoe.unanswered",
)  # fmt: skip
"""Events of sinks, disks, lines, logins and table systems: nothing at the table follows from them,
and a recording is played without them. (A disk that failed is played again: the table waited.)

When a wire was cut no recording tells: only when the table noticed that its shoe did not hear.
"""

OF_THE_LINE = ("shoe.answered", "shoe.unanswered")
"""Events that come before or after the next command, as fast as the line is."""

PORTS_OWN = ("shoe.lost", "reason")
"""The event and key that differ by port: a TCP line is closed, a serial cable is unplugged."""

KEYS = (
    "round_id", "shoe_id", "key", "reason", "how", "rule", "rules", "seen.code", "error.code",
    "hand", "index", "number", "card", "face", "placed", "total", "winner", "method",
    "player.cards", "player.total", "banker.cards", "banker.total", "manual",
    "code", "what", "command", "choice", "step", "scope", "answer", "wager", "amount", "seat",
    "cards", "from", "to", "remaining", "decks", "in_error_mode", "warning", "percent", "button",
)  # fmt: skip
"""The keys of an event that are expected, where it has them. The rest of it may be anything."""

_ID = re.compile(r"(?P<table>.+)-s(?P<shoe>[0-9]+)(-r(?P<round>[0-9]+))?")


class Expectation:
    """Makes patterns of events, with the names that a scenario has for shoes and rounds.

    A recording that begins with a later shoe is played with the first one.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        first = _ID.fullmatch(recording.begins_with or "")
        self._first_shoe = min(self._shoes(), default=1) if first is None else int(first["shoe"])
        self._first_round = 1 if first is None or first["round"] is None else int(first["round"])
        counts = first is None or recording.profile == COUNTS_CARDS
        self._keys = [key for key in KEYS if key != "number" or counts]

    def _shoes(self) -> Iterator[int]:
        for happened in self._recording.happened:
            for told in happened.public:
                found = _ID.fullmatch(str(told.data.get("shoe_id")))
                if found is not None:
                    yield int(found["shoe"])

    def pattern(self, told: Told) -> Pattern:
        """Return the pattern that this event matches, and the same one of another playing."""
        got = flat(told.data)
        keys = (key for key in self._keys if (told.type, key) != PORTS_OWN)
        wanted = ((key, self.value(got[key])) for key in keys if key in got)
        return Pattern(told.type, tuple(wanted))

    def as_played(self, told: Told) -> Told:
        """Return the event as another playing says it."""
        got = flat(told.data)
        return Told(told.type, {key: self.value(value) for key, value in got.items()})

    def value(self, value: str) -> str:
        """Return a value as another playing says it: ids name the scenario's table."""
        found = _ID.fullmatch(value)
        if found is None:
            return value
        shoe = int(found["shoe"]) - self._first_shoe + 1
        if found["round"] is None:
            return f"{TABLE}-s{shoe}"
        earlier = self._first_round - 1 if shoe == 1 else 0
        return f"{TABLE}-s{shoe}-r{int(found['round']) - earlier}"

    def public(self) -> list[Pattern]:
        """Return the patterns of the public stream, from the first shoe's connection on."""
        return self._patterns(t for happened in self._recording.happened for t in happened.public)

    def restricted(self) -> list[Pattern]:
        """Return the patterns of what the restricted stream alone has."""
        public = {t.type for happened in self._recording.happened for t in happened.public}
        return self._patterns(
            told
            for happened in self._recording.happened
            for told in happened.restricted
            if told.type not in public
        )

    def _patterns(self, events: Iterable[Told]) -> list[Pattern]:
        left_out = (*OF_THE_START, *NOT_OF_PLAY, *OF_THE_LINE)
        return [self.pattern(told) for told in events if told.type not in left_out]
