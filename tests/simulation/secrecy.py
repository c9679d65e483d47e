"""What the room has seen, and that nobody is told of a card before.

In: cards as they leave the shoe, hands as they are turned, whatever is told in public.
Out: Broken. Must not know: the controller's rules, the journal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from firmware_proto.cards import CARDS
from tests.simulation.broken import Broken

CODE = re.compile("|".join(rf'"{re.escape(code)}"' for code in CARDS))

RECENT = 30
"""Cards drawn last among which one that is told must be: the last rounds. Of those before, every
code was seen at some time. However many they are, those since the last round but one was settled
are among them: a round that goes wrong again and again may take more, and what is kept of a void
one is played in a later one."""

SETTLED = '"type":"round.settled"'


@dataclass(slots=True)
class _Drawn:
    code: str
    place: str | None
    shown_at: float | None


class Secrecy:
    """``now`` is the loop's time. ``face_up_after_s``: None where hands turn the cards."""

    def __init__(self, now: Callable[[], float], face_up_after_s: float | None) -> None:
        self._now = now
        self._face_up_after_s = face_up_after_s
        self._drawn: list[_Drawn] = []
        self._entered: set[str] = set()
        self._settled: dict[str, int] = {}  # by the event, which may be told again
        self.told = 0

    def drawn(self, code: str, place: str | None, *, face_up: bool) -> None:
        """A card left the shoe; ``place`` is the hand that it belongs to, None if nobody knows."""
        after_s = 0.0 if face_up else self._face_up_after_s
        shown_at = None if after_s is None else self._now() + after_s
        self._drawn.append(_Drawn(code, place, shown_at))

    def turned(self, hand: str) -> None:
        """The cards of this hand lie open from now on."""
        for seen in self._recent():
            if seen.shown_at is None and seen.place in (hand, None):
                seen.shown_at = self._now()

    def moved(self) -> None:
        """People decide where cards belong: any of those that lie there may be any hand's.

        Where nobody turns cards, they look at them as they do.
        """
        for seen in self._recent():
            if seen.shown_at is None:
                seen.place = None
            else:
                seen.shown_at = min(seen.shown_at, self._now())

    def entered(self, code: str) -> None:
        """Somebody named this card aloud."""
        self._entered.add(code)

    def public(self, text: str) -> None:
        """Anyone may read this.

        Raises:
            Broken: it names a card that nobody has seen.
        """
        for found in CODE.findall(text):
            code = found.strip('"')
            self.told += 1
            if code not in self._seen() and code not in self._entered:
                raise Broken("no card known early", f"{code} was not seen by anyone: {text}")
        if SETTLED in text:
            self._settled.setdefault(text, len(self._drawn))

    def _recent(self) -> list[_Drawn]:
        """The cards drawn last, those of the open round and kept ones always among them."""
        settled = list(self._settled.values())
        since = settled[-2] if len(settled) > 1 else 0
        return self._drawn[min(since, max(0, len(self._drawn) - RECENT)) :]

    def _seen(self) -> set[str]:
        now = self._now()
        return {
            d.code for d in self._recent() if d.shown_at is not None and d.shown_at <= now + 1e-6
        }
