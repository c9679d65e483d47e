"""A game: what its file says, ready to judge rounds.

In: values the file's form has checked, and cards. Out: Settlements, layouts, rule numbers.
Must not know: files, TOML, stakes, the table's state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from firmware_proto.cards import Card, Deck
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.settle import SettleTable
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.games.wagers import HandResult, OutcomeLine, PayLine, Settlement, Wager, WagerResult

__all__ = [
    "DeckRange",
    "Game",
    "HandResult",
    "Layout",
    "Limits",
    "Method",
    "Options",
    "OutcomeLine",
    "PayLine",
    "Reading",
    "Settlement",
    "Wager",
    "WagerResult",
    "Window",
]


class DeckRange(NamedTuple):
    """The numbers of decks that the game may be played with."""

    min: int
    max: int
    default: int


class Method(msgspec.Struct, frozen=True):
    """One way to conduct the round. ``areas`` empty: allowed anywhere.

    ``chosen_by`` is the position that may choose it, under rule ``chosen_under``; ``clauses`` are
    rule numbers by the names in ``METHOD_CLAUSES``.
    """

    rule: str | None
    chosen_by: str
    chosen_under: str | None
    areas: tuple[str, ...]
    clauses: Mapping[str, str | None]


class Layout(msgspec.Struct, frozen=True):
    """One table layout: its seats counter-clockwise, and the wagers it offers.

    ``min_seats`` is the fewest playing positions it may be set up with; a table's setting ``seats``
    says how many it has.
    """

    seats: tuple[int, ...]
    min_seats: int
    wagers: tuple[str, ...]


class Limits(msgspec.Struct, frozen=True):
    """The bounds of the number of wagers. The amounts are the table's settings.

    ``wagers_per_area`` None: no number in the document. ``lowered_by`` is the position that may
    set a lower number, None where nobody may. ``players``: how many may play at once, None where
    the document does not say.
    """

    wagers_per_area: int | None
    lowered_by: str | None
    players: int | None = None


class Window(msgspec.Struct, frozen=True):
    """When Players may withdraw wagers after *no more bets*.

    ``opened``: ``of_right``, or ``dealer_allows``. ``scope``: ``any`` wagers, ``all_or_none``,
    or ``remaining_or_none`` (all that are undecided). ``areas`` empty: anywhere.
    ``wager_anew``: Players may place wagers again before betting closes a second time; only the
    window of ``device_reset`` may say so.
    """

    rule: str | None
    opened: str
    scope: str
    areas: tuple[str, ...]
    wager_anew: bool


class Options(msgspec.Struct, frozen=True):
    """The points in which the documents let games differ.

    ``staffed``: a dealer conducts the round; else the game deals face up by itself.
    ``payout_cap``: a table may set a highest payout per wager. ``reason_for_discretion``: whoever
    uses discretion states a reason. ``clear_bets``: one command takes all of a Player's wagers
    back while bets are open.
    """

    staffed: bool
    payout_cap: bool
    reason_for_discretion: bool
    clear_bets: bool


class Reading(msgspec.Struct, frozen=True):
    """Our reading of a place that the document leaves open, in our words."""

    about: str
    rule: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Game:
    """One game of baccarat, whole: what its TOML file says, and that file's bytes.

    ``version``, ``date`` (ISO) and rule numbers are None where the document gives none.
    ``decides`` is the position that decides what the rules do not cover, None for the highest
    that the table knows. ``clauses`` are rule numbers by the names in ``CLAUSES``. ``sha256``
    (hex) is of ``source``, the file's exact bytes.
    """

    id: str
    title: str
    version: str | None
    date: str | None
    deck: Deck
    decks: DeckRange
    positions: tuple[str, ...]
    decides: str | None
    hlga: tuple[str, ...]
    methods: Mapping[str, Method]
    layouts: Mapping[str, Layout]
    limits: Limits
    windows: Mapping[str, Window]
    options: Options
    wagers: Mapping[str, Wager]
    outcome: tuple[OutcomeLine, ...]
    clauses: Mapping[str, str | None]
    irregularities: Mapping[str, Mapping[str, str | None]]
    readings: tuple[Reading, ...]
    sha256: str
    source: bytes = field(repr=False)
    _table: SettleTable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = SettleTable(self.deck, self.decks.default, self.wagers, self.outcome)
        object.__setattr__(self, "_table", table)

    def settle(self, cards: Sequence[Card], *, decks: int | None = None) -> Settlement:
        """Settle every wager of the game on a whole round.

        Args:
            cards: in dealing order, P B P B, then Player's third card and Banker's, as due.
            decks: how many decks are in the shoe; the game's default unless given.

        Raises:
            InputRefused: a round cut short or too long, a card of another deck, more copies of a
                card than the decks hold, or a number of decks the game is not played with.
        """
        if decks is not None:
            self.check_decks(decks)
        return self._table.settle(cards, decks)

    def settle_hands(
        self,
        player: tuple[Card, ...],
        banker: tuple[Card, ...],
        layout: str | None = None,
        *,
        ruled: bool = False,
    ) -> Settlement:
        """Settle two finished hands, each in dealing order; copies of a face are not counted.

        With ``layout``, only the wagers which that layout offers. ``ruled``: people ruled that
        these hands stand, two or three cards each, whatever the Table of Play gives.

        Raises:
            InputRefused: the Table of Play gives no such hands, or the layout is unknown.
        """
        if ruled:
            done = self._table.settle_as_ruled(player, banker)
        else:
            due = next_hand(player, banker)
            if due is not None:
                raise InputRefused(f"the round is not complete: the next card is {due.title()}'s")
            pairs = (player[0], banker[0], player[1], banker[1])
            cards = (*pairs, *player[2:], *banker[2:])
            done = self._table.settle(cards, len(cards))
        if layout is None:
            return done
        offered = {name: done.wagers[name] for name in self.offered(layout)}
        return msgspec.structs.replace(done, wagers=MappingProxyType(offered))

    def offered(self, layout: str | None = None) -> tuple[str, ...]:
        """Return the wagers which this layout offers, or every wager of the game, by id.

        Raises:
            InputRefused: the layout is unknown.
        """
        if layout is None:
            return tuple(self.wagers)
        if layout not in self.layouts:
            raise InputRefused(
                f"{self.id} has no layout {layout!r} (layouts: {', '.join(self.layouts)})"
            )
        return self.layouts[layout].wagers

    def check_decks(self, decks: int) -> None:
        """Refuse a number of decks that the game is not played with.

        Raises:
            InputRefused: fewer or more decks than ``decks`` of the game allows.
        """
        if not self.decks.min <= decks <= self.decks.max:
            bounds = "" if self.decks.min == self.decks.max else f" to {self.decks.max}"
            raise InputRefused(
                f"{self.id} is played with {self.decks.min}{bounds} decks, not {decks}"
            )

    def rule(self, key: str, end: str) -> str | None:
        """Return the rule number to cite for this end of this irregularity, None if there is none.

        Raises:
            KeyError: ``irregularity_ends.ENDS`` has no such key or end.
        """
        return self.irregularities[key][end]

    def clause(self, name: str) -> str | None:
        """Return the rule number of a clause in ``game_file.CLAUSES``, None if there is none.

        Raises:
            KeyError: there is no such clause.
        """
        return self.clauses[name]
