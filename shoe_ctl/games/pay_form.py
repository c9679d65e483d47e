"""The wagers of a game file: from TOML to Wagers, every pay line proved able to match.

In: the ``wagers`` and ``outcome`` tables. Out: Wager and OutcomeLine values, or a GameFileError.
Must not know: the rest of the file, tables, stakes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from firmware_proto.cards import Deck
from shoe_ctl.games.conditions import CORE, Condition, Value, initial_values
from shoe_ctl.games.coverage import reachable
from shoe_ctl.games.fields import Fields
from shoe_ctl.games.judge import named
from shoe_ctl.games.pay import OutcomeLine, PayLine, Wager
from shoe_ctl.games.settlement import WagerResult

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_ODDS = re.compile(rf"{_NUMBER}:{_NUMBER}\Z")
_ODDS_EXPECTED = 'odds to a stake such as "8:1", "1:2" or "0.95:1"'
_COMMISSION = re.compile(r"0\.[0-9]{1,9}\Z")


def wagers(fields: Fields, deck: Deck, decks: int) -> dict[str, Wager]:
    """Every wager of the file, by id in the file's order. ``decks`` is the most there can be.

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


def outcome(lines: tuple[Fields, ...], deck: Deck, decks: int) -> tuple[OutcomeLine, ...]:
    """The outcome lines; the first that matches a round is cited, and one always does.

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
    """An outcome follows from totals and card counts only, never from pairs or suits."""
    line = OutcomeLine(_condition(fields.table("when"), CORE), fields.rule("rule"))
    fields.close()
    return line


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
            raise fields.error(name, f"a known condition ({', '.join(known)})")
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
