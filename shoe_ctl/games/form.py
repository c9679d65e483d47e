"""The form of a game file: from its bytes to a Game.

In: TOML bytes and the name to blame. Out: a Game, or a GameFileError that names file, key and
what was expected. Must not know: where the bytes came from.
"""

from __future__ import annotations

import functools
import hashlib

from firmware_proto.cards import DECKS, Deck
from shoe_ctl import toml
from shoe_ctl.errors import GameFileError
from shoe_ctl.games import pay_form
from shoe_ctl.games.clauses import CLAUSES, METHOD_CLAUSES
from shoe_ctl.games.fields import NONE, Fields
from shoe_ctl.games.game import (
    DeckRange,
    Game,
    Layout,
    Limits,
    Method,
    Options,
    OutcomeLine,
    Reading,
    Wager,
    Window,
)
from shoe_ctl.games.irregularity_ends import ENDS

POSITIONS = (
    "dealer",
    "pit_supervisor",
    "pit_manager",
    "gaming_shift_manager",
    "assistant_casino_manager",
)
"""The positions a rule document may name."""

WINDOWS = ("cutting_card", "double_draw", "double_draw_ordered", "device_reset", "power_failure")
"""What may open a withdrawal window after *no more bets*."""

_OPENED = ("of_right", "dealer_allows")
_SCOPES = ("any", "all_or_none", "remaining_or_none")
_MOST_DECKS = 100
_MOST_SEATS = 100


@functools.lru_cache(maxsize=16)
def parse(source: bytes, name: str) -> Game:
    """The game that these bytes describe; ``name`` stands for the file in errors.

    Tables that play the same game share it: proving its pay lines is the dear part.

    Raises:
        GameFileError: not TOML, or not a game: says file, key and what was expected.
    """
    fields = Fields(name, "", _toml(source, name))
    deck = DECKS[fields.one_of("deck", DECKS)]
    decks = _decks(fields.table("decks"))
    positions = fields.texts("positions", POSITIONS)
    hlga = fields.texts("hlga")
    wagers = pay_form.wagers(fields.table("wagers"), deck, decks.max)
    game = Game(
        id=fields.name("id"),
        title=fields.text("title"),
        version=_text_or_none(fields, "version"),
        date=fields.date("date"),
        deck=deck,
        decks=decks,
        positions=positions,
        decides=_position_or_none(fields, "decides", positions),
        hlga=hlga,
        methods=_methods(fields, positions, hlga),
        layouts=_layouts(fields.table("layouts"), wagers),
        limits=_limits(fields.table("limits"), positions),
        windows=_windows(fields, hlga),
        options=_options(fields.table("options")),
        wagers=wagers,
        outcome=_outcome(fields, deck, decks.max),
        clauses=_rules(fields, "clauses", CLAUSES),
        irregularities=_irregularities(fields),
        readings=_readings(fields),
        sha256=hashlib.sha256(source).hexdigest(),
        source=source,
    )
    fields.close()
    return game


def _toml(source: bytes, name: str) -> dict[str, object]:
    try:
        return toml.parse(source)
    except ValueError as error:
        raise GameFileError(f"{name}: {error}") from None


def _text_or_none(fields: Fields, key: str) -> str | None:
    found = fields.text(key, 'text, or "none"')
    return None if found == NONE else found


def _position_or_none(fields: Fields, key: str, positions: tuple[str, ...]) -> str | None:
    found = fields.one_of(key, (*positions, NONE))
    return None if found == NONE else found


def _decks(fields: Fields) -> DeckRange:
    low = fields.integer("min", 1, _MOST_DECKS)
    high = fields.integer("max", low, _MOST_DECKS)
    default = fields.integer("default", low, high)
    fields.close()
    return DeckRange(low, high, default)


def _methods(
    fields: Fields, positions: tuple[str, ...], hlga: tuple[str, ...]
) -> dict[str, Method]:
    methods = fields.table_or_none("methods")
    if methods is None:
        return {}
    found: dict[str, Method] = {}
    for letter in methods.names():
        if letter not in METHOD_CLAUSES:
            raise methods.error(letter, f"a method: {', '.join(METHOD_CLAUSES)}")
        method = methods.table(letter)
        found[letter] = Method(
            rule=method.rule("rule"),
            chosen_by=method.one_of("chosen_by", positions),
            chosen_under=method.rule("chosen_under"),
            areas=_areas(method, hlga),
            clauses=_rules(method, "clauses", METHOD_CLAUSES[letter]),
        )
        method.close()
    return found


def _areas(fields: Fields, hlga: tuple[str, ...]) -> tuple[str, ...]:
    return hlga if fields.one_of("area", ("hlga", "any")) == "hlga" else ()


def _layouts(fields: Fields, wagers: dict[str, Wager]) -> dict[str, Layout]:
    found: dict[str, Layout] = {}
    for letter in fields.names():
        layout = fields.table(letter)
        seats = layout.integers("seats", 1, _MOST_SEATS)
        if not seats:
            raise layout.error("seats", "at least one seat")
        found[letter] = Layout(
            seats=seats,
            min_seats=layout.integer("min_seats", 1, len(seats)),
            wagers=layout.texts("wagers", tuple(wagers)),
        )
        layout.close()
        if not found[letter].wagers:
            raise layout.error("wagers", "at least one wager")
    if not found:
        raise fields.error("", "at least one layout")
    for wager in wagers:
        if not any(wager in layout.wagers for layout in found.values()):
            raise fields.error("", f"some layout that offers {wager}")
    return found


def _limits(fields: Fields, positions: tuple[str, ...]) -> Limits:
    per_area = None
    if fields.has("wagers_per_area"):
        per_area = fields.integer("wagers_per_area", 1, _MOST_SEATS)
    players = fields.integer("players", 1, _MOST_SEATS) if fields.has("players") else None
    limits = Limits(per_area, _position_or_none(fields, "lowered_by", positions), players)
    fields.close()
    return limits


def _windows(fields: Fields, hlga: tuple[str, ...]) -> dict[str, Window]:
    windows = fields.table_or_none("windows")
    if windows is None:
        return {}
    tables = {key: windows.table_or_none(key) for key in WINDOWS}
    windows.close()
    return {key: _window(table, hlga) for key, table in tables.items() if table is not None}


def _window(fields: Fields, hlga: tuple[str, ...]) -> Window:
    window = Window(
        rule=fields.rule("rule"),
        opened=fields.one_of("opened", _OPENED),
        scope=fields.one_of("scope", _SCOPES),
        areas=_areas(fields, hlga),
        wager_anew=fields.flag("wager_anew"),
    )
    fields.close()
    return window


def _options(fields: Fields) -> Options:
    options = Options(
        staffed=fields.flag("staffed"),
        payout_cap=fields.flag("payout_cap"),
        reason_for_discretion=fields.flag("reason_for_discretion"),
        clear_bets=fields.flag("clear_bets"),
    )
    fields.close()
    return options


def _outcome(fields: Fields, deck: Deck, decks: int) -> tuple[OutcomeLine, ...]:
    lines = fields.tables("outcome")
    if not lines:
        raise fields.error("outcome", "at least one line")
    return pay_form.outcome(lines, deck, decks)


def _rules(fields: Fields, key: str, names: tuple[str, ...]) -> dict[str, str | None]:
    """A rule number for every name, or ``none`` for all of them."""
    table = fields.table_or_none(key)
    if table is None:
        return dict.fromkeys(names)
    found = {name: table.rule(name) for name in names}
    table.close()
    return found


def _irregularities(fields: Fields) -> dict[str, dict[str, str | None]]:
    table = fields.table_or_none("irregularities")
    if table is None:
        return {key: dict.fromkeys(ends) for key, ends in ENDS.items()}
    found = {key: _rules(table, key, ends) for key, ends in ENDS.items()}
    table.close()
    return found


def _readings(fields: Fields) -> tuple[Reading, ...]:
    found = []
    for reading in fields.tables("readings"):
        found.append(Reading(reading.text("about"), reading.rule("rule"), reading.text("text")))
        reading.close()
    return tuple(found)
