"""The form of a game file: from its bytes to a Game.

In: TOML bytes and the name to blame. Out: a Game, or a GameFileError that names file, key and
what was expected. Must not know: where the bytes came from.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from firmware_proto.cards import DECKS, Deck
from shoe_ctl import toml
from shoe_ctl.errors import GameFileError
from shoe_ctl.games.conditions import CORE, Condition, Value, initial_values, reachable
from shoe_ctl.games.fields import NONE, Fields
from shoe_ctl.games.game import DeckRange, Game, Layout, Limits, Method, Options, Reading, Window
from shoe_ctl.games.irregularity_ends import ENDS
from shoe_ctl.games.settle import named
from shoe_ctl.games.wagers import OutcomeLine, PayLine, Wager, WagerResult

CLAUSES: tuple[str, ...] = (
    "round_of_play",
    "hlga",
    "decks",
    "layouts",
    "place_your_bets",
    "no_more_bets",
    "points",
    "totals",
    "wagers",
    "limits",
    "side_wagers_alone",
    "wagers_per_area",
    "wagers_per_area_lowered",
    "on_behalf",
    "methods",
    "device_control",
    "method_choice",
    "dealing_order",
    "table_of_play",
    "squeeze_allowed",
    "uncovered",
    "higher_position",
    "displays",
)
"""Clauses that any round may cite, whatever the method."""

METHOD_CLAUSES: Mapping[str, tuple[str, ...]] = {
    "A": (
        "announcements",
        "highest_wager",
        "refused_next_highest",
        "equal_first_placed",
        "pit_supervisor_names",
        "equal_counter_clockwise",
        "reveal_order",
        "further_cards",
    ),
    "B": ("announcements", "dealer_keeps_cards"),
    "C": (
        "player_draws",
        "without_wager",
        "through_dealer",
        "full_view",
        "placed",
        "further_cards",
        "relinquished",
        "wager_lost",
    ),
}
"""The methods there are, and the clauses that each cites."""

POSITIONS = (
    "dealer",
    "pit_supervisor",
    "pit_manager",
    "gaming_shift_manager",
    "assistant_casino_manager",
)
"""The positions a rule document may name."""

WINDOWS = ("cutting_card", "double_draw", "double_draw_ordered", "device_reset", "power_failure")
"""The irregularities that may open a withdrawal window after *no more bets*."""

_REOPENS_BETS = "device_reset"
"""The window after which the round goes back to betting, until *no more bets* is said again."""

_OPENED = ("of_right", "dealer_allows")

_SCOPES = ("any", "all_or_none", "remaining_or_none")

_MOST_DECKS = 100

_MOST_SEATS = 100

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"

_ODDS = re.compile(rf"{_NUMBER}:{_NUMBER}\Z")

_ODDS_EXPECTED = 'odds to a stake such as "8:1", "1:2" or "0.95:1"'

_COMMISSION = re.compile(r"0\.[0-9]{1,9}\Z")


# The whole file


@dataclass(frozen=True, slots=True)
class _GameFile:
    """A file by what it holds: the same bytes are the same game under any name."""

    source: bytes
    name: str = field(compare=False)


def parse(source: bytes, name: str) -> Game:
    """Return the game that these bytes describe; ``name`` stands for the file in errors.

    Tables that play the same game share it, and so does the journal's copy of its file: proving its
    pay lines is the dear part.

    Raises:
        GameFileError: not TOML, or not a game: says file, key and what was expected.
    """
    return _parse(_GameFile(source, name))


@functools.lru_cache(maxsize=16)
def _parse(file: _GameFile) -> Game:
    source, name = file.source, file.name
    fields = Fields(name, "", _toml(source, name))
    deck = DECKS[fields.one_of("deck", DECKS)]
    decks = _decks(fields.table("decks"))
    positions = fields.texts("positions", POSITIONS)
    hlga = fields.texts("hlga")
    wagers = parse_wagers(fields.table("wagers"), deck, decks.max)
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
    return {key: _window(key, table, hlga) for key, table in tables.items() if table is not None}


def _window(key: str, fields: Fields, hlga: tuple[str, ...]) -> Window:
    window = Window(
        rule=fields.rule("rule"),
        opened=fields.one_of("opened", _OPENED),
        scope=fields.one_of("scope", _SCOPES),
        areas=_areas(fields, hlga),
        wager_anew=fields.flag("wager_anew"),
    )
    fields.close()
    if window.wager_anew and key != _REOPENS_BETS:
        raise fields.error("wager_anew", f"false: bets open again only in {_REOPENS_BETS}", True)
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


def _rules(fields: Fields, key: str, names: tuple[str, ...]) -> dict[str, str | None]:
    """Return a rule number for every name, or ``none`` for all of them."""
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


# Wagers and their pay lines


def parse_wagers(fields: Fields, deck: Deck, decks: int) -> dict[str, Wager]:
    """Return the file's wagers, by id in its order. ``decks`` is the most there can be.

    Raises:
        GameFileError: a wager with no pay line, odds that do not parse, an unknown condition, a
            line that can never match, lines that overlap and differ.
    """
    found = {name: _wager(name, fields, deck, decks) for name in fields.names()}
    if not found:
        raise fields.error("", "at least one wager")
    for hand in ("player", "banker"):
        mains = [name for name, wager in found.items() if wager.main == hand]
        if len(mains) > 1:
            raise fields.error(f"{mains[1]}.main", f"one main wager a hand, {mains[0]} is {hand}'s")
    return found


def _wager(name: str, parent: Fields, deck: Deck, decks: int) -> Wager:
    parent.check_name(name)
    fields = parent.table(name)
    title = fields.text("title")
    main = fields.one_of("main", ("player", "banker")) if fields.has("main") else None
    rule = fields.rule("rule")
    rows = fields.tables("lines")
    fields.close()
    if not rows:
        raise fields.error("lines", "at least one pay line")
    lines = tuple(_line(row, deck) for row in rows)
    if all(line.done.result == "push" for line in lines):
        raise fields.error("lines", "at least one line that pays")
    _prove(lines, rows, fields, deck, decks)
    return Wager(name, title, main, lines, WagerResult("lose", None, rule))


def _line(fields: Fields, deck: Deck) -> PayLine:
    known = {**CORE, **initial_values(deck)}
    when = _condition(fields.table("when"), known)
    unless: tuple[Condition, ...] = ()
    if fields.has("unless"):
        unless = tuple(_condition(table, known) for table in fields.table_or_tables("unless"))
    rule = fields.rule("rule")
    commission = pays = None
    if fields.has("pays") == fields.has("result"):
        raise fields.error("pays", 'either pays = "8:1" or result = "push"')
    if fields.has("result"):
        fields.one_of("result", ("push",))
        done = WagerResult("push", None, rule)
    else:
        odds, pays = _odds(fields), fields.text("pays")
        if fields.has("commission"):
            commission = _commission(fields, odds)
        done = WagerResult("win", odds, rule, commission)
    fields.close()
    return PayLine(when, unless, done, commission, pays)


def _odds(fields: Fields) -> Fraction:
    text = fields.text("pays", _ODDS_EXPECTED)
    found = _ODDS.match(text)
    if found is None or not Fraction(found[1]) or not Fraction(found[2]):
        raise fields.error("pays", _ODDS_EXPECTED, text)
    return Fraction(found[1]) / Fraction(found[2])


def _commission(fields: Fields, odds: Fraction) -> Fraction:
    expected = f'the part kept of an even-money win, "{float(1 - odds):g}" for these odds'
    text = fields.text("commission", expected)
    if not _COMMISSION.match(text) or Fraction(text) + odds != 1:
        raise fields.error("commission", expected, text)
    return Fraction(text)


def _condition(fields: Fields, known: Mapping[str, tuple[Value, ...]]) -> Condition:
    terms: list[tuple[str, frozenset[Value]]] = []
    for name in fields.names():
        if name not in known:
            raise fields.unknown(name, "a known condition", known)
        terms.append((name, fields.values_of(name, known[name])))
    return Condition(tuple(terms))


def _prove(
    lines: tuple[PayLine, ...], rows: tuple[Fields, ...], wager: Fields, deck: Deck, decks: int
) -> None:
    """Refuse lines that no finished round matches, and two that match one round and differ."""
    names = named(c for line in lines for c in (line.when, *line.unless))
    matched: set[int] = set()
    clashes: list[tuple[int, int, str]] = []
    for seen in reachable(names, deck, decks):
        hits = [place for place, line in enumerate(lines) if line.holds(seen)]
        matched.update(hits)
        clashes += [
            (other, hits[0], _told(seen))
            for other in hits[1:]
            if _pays(lines[other]) != _pays(lines[hits[0]])
        ]
    if clashes:
        other, first, told = min(clashes)
        expected = f"no overlap with lines[{first}], which ends otherwise for {told}"
        raise wager.error(f"lines[{other}]", expected)
    for place, row in enumerate(rows):
        if place not in matched:
            raise row.error("when", "a line that can match, but no finished round does")


def _pays(line: PayLine) -> tuple[str, Fraction | None]:
    return line.done.result, line.done.odds


def _told(seen: dict[str, Value | None]) -> str:
    known = {name: value for name, value in sorted(seen.items()) if value is not None}
    return ", ".join(f"{name} {value}" for name, value in known.items()) or "every round"


# Outcome lines


def _outcome(fields: Fields, deck: Deck, decks: int) -> tuple[OutcomeLine, ...]:
    lines = fields.tables("outcome")
    if not lines:
        raise fields.error("outcome", "at least one line")
    return parse_outcome_lines(lines, deck, decks)


def parse_outcome_lines(
    lines: tuple[Fields, ...], deck: Deck, decks: int
) -> tuple[OutcomeLine, ...]:
    """Return the outcome lines; the first that matches a round is cited, and one always does.

    Raises:
        GameFileError: a line is wrong, can never match, or some round matches none.
    """
    read = tuple(_outcome_line(fields) for fields in lines)
    names = named(line.when for line in read)
    reached = set()
    for seen in sorted(reachable(names, deck, decks), key=_told):
        first = next((n for n, line in enumerate(read) if line.when.holds(seen)), None)
        if first is None:
            raise lines[-1].error("when", f"a line for every round, none matches {_told(seen)}")
        reached.add(first)
    for place, fields in enumerate(lines):
        if place not in reached:
            raise fields.error("when", "a line that can match, but no finished round reaches it")
    return read


def _outcome_line(fields: Fields) -> OutcomeLine:
    """Parse a line; an outcome follows from totals and card counts, never from pairs or suits."""
    line = OutcomeLine(_condition(fields.table("when"), CORE), fields.rule("rule"))
    fields.close()
    return line
