"""``shoectl explain``: what a message does to a table, why, by which rule, and a scenario of it.

In: the name of a message or a case, a state or a situation; the tables of transitions.py; the index
of scenarios, which ``make docs`` writes. Out: text, or JSON.
Must not know: what makes a message one case or another, how scenarios are played.
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from firmware_proto.suggestion import nearest_name
from shoe_ctl.cli.common import COLUMNS
from shoe_ctl.errors import UsageError
from shoe_ctl.table.cases import list_cases
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.irregularities.halts import HALTS, halt
from shoe_ctl.table.situations import SITUATIONS, STATES
from shoe_ctl.table.transitions import (
    ALWAYS,
    BY_CARDS,
    OTHERWISE,
    ROUND,
    SHOE,
    Action,
    Cell,
    triggers,
)

SCENARIOS = Path(__file__).with_name("scenarios.json")
"""The index beside this module: for each message and place, a scenario that takes the line."""

_IN_WORDS = {
    "no_shoe": "no set of cards is known",
    "between": "no round is open",
    "betting": "bets are open",
    "closed": "bets are closed, no card is out",
    "cards": "cards are out",
    "resolved": "the outcome is announced",
    "halted": "halted before bets closed, or after the outcome",
    "halted_closed": "halted with bets closed, no card is out",
    "halted_cards": "halted with cards out",
}

_ANYWHERE = "anywhere"


class _Explained(NamedTuple):
    """One line of the tables, at the places where it holds: states of the round, or situations."""

    message: str
    places: tuple[str, ...]
    cell: Cell


@click.command()
@click.argument("message", metavar="MESSAGE")
@click.option("--state", metavar="STATE", help="Only in this state or situation.")
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object.")
def explain(message: str, state: str | None, as_json: bool) -> None:
    """Explain what a message does to a table, and by which rule.

    MESSAGE is what the shoe or its link reports, a case of it, or what the table itself finds:
    link_lost, card.early, third_card_due. A message that is one thing or another, such as
    card_drawn, is explained case by case. STATE is one of the ten states of a table, or a
    situation: betting, dealing, suspended; between, cards, halted_cards. For each line: what the
    table does, why, the rule where one says so, and a shipped scenario in which it happens.

    \b
    Examples:
      shoectl explain link_lost --state dealing
      shoectl explain card_drawn
    """  # noqa: D301 - click wants the very character
    name, place = _known_message(message), None if state is None else _known_place(state)
    found = [
        each._replace(places=places)
        for each in _explained(name)
        if (places := tuple(p for p in each.places if _is_at(p, place)))
    ]
    if not found:
        held = dict.fromkeys(p for each in _explained(name) for p in each.places)
        raise UsageError(f"{name} does not come up in {place}, only in: {', '.join(held)}")
    shown = json.loads(SCENARIOS.read_bytes())
    if as_json:
        lines = [_plain(each, shown, place) for each in found]
        click.echo(json.dumps({"message": name, "lines": lines}, indent=2))
        return
    click.echo("\n\n".join("\n".join(_text(each, shown, place)) for each in found))


# Names.


def _known_message(name: str) -> str:
    known = {*_rows(), *(t for t in triggers() if _cases_in_tables(t))}
    if name in known:
        return name
    if name in COMMANDS:
        raise UsageError(f"{name} moves no round, see: shoectl table {name} --help")
    raise UsageError(f"no message {name[:64]!r}; {_hint(name, known)}")


def _known_place(name: str) -> str:
    if name in STATES or name in SITUATIONS:
        return name
    known = [*STATES, *(s for s in SITUATIONS if s not in STATES)]
    near = nearest_name(name, known)
    hint = f"did you mean {near}?" if near else f"expected one of: {', '.join(known)}"
    raise UsageError(f"no state or situation {name[:64]!r}; {hint}")


def _hint(name: str, known: set[str]) -> str:
    near = nearest_name(name, sorted(known))
    return f"did you mean {near}?" if near else "such as: link_lost, card_drawn, error"


def _is_at(place: str, asked: str | None) -> bool:
    """Return True if a line at this place is a line of the state or situation that is asked for."""
    if asked is None or place in (asked, _ANYWHERE):
        return True
    if place in SITUATIONS:
        return asked in SITUATIONS[place]
    return place in SITUATIONS.get(asked, ())


# Lines.


@functools.cache
def _rows() -> dict[str, list[_Explained]]:
    """Return the lines of each message and case that has some, as they stand in the tables."""
    rows: dict[str, list[_Explained]] = {}
    for state, of_state in ROUND.items():
        for message, cell in of_state.items():
            rows.setdefault(message, []).append(_Explained(message, (state,), cell))
    for message, row in SHOE.items():
        named = [name for names in row for name in names.split(", ")]
        rest = tuple(name for name in SITUATIONS if name not in named)
        rows[message] = [
            _Explained(message, rest if names == OTHERWISE else tuple(names.split(", ")), cell)
            for names, cell in row.items()
        ]
    for message, cell in ALWAYS.items():
        rows[message] = [_Explained(message, (_ANYWHERE,), cell)]
    return rows


def _cases_in_tables(message: str) -> list[str]:
    rows = _rows()
    return [case for case in (message, *list_cases(message)) if case in rows]


def _explained(message: str) -> Iterator[_Explained]:
    rows = _rows()
    for case in dict.fromkeys(_cases_in_tables(message)):
        yield from rows[case]


def _destination(cell: Cell) -> str:
    """Return where the table goes."""
    if cell.to is None:
        return "stays in its state"
    if isinstance(cell.to, str):
        return "halts" if cell.to == "suspended" else f"goes to {cell.to}"
    if cell.to is BY_CARDS:
        return "goes to the state that the cards stand for"
    return "goes back to the state it left, or where the end says"


def _action(action: Action) -> str:
    """Return the action as the tables name it."""
    for name in HALTS:
        if halt(name) is action:
            return f"halt {name}"
    return f"{action.__module__.rpartition('.')[2]}.{action.__name__}"


def _scenario(each: _Explained, shown: Mapping[str, Any], place: str | None) -> str | None:
    """Return the scenario in which this line is taken, best at the place that is asked for."""
    by_place: Mapping[str, str] = shown["lines"].get(each.message, {})
    held = [at for at in by_place if each.places == (_ANYWHERE,) or at in each.places]
    near = [at for at in held if place is not None and _is_at(at, place)]
    return by_place[(near or held)[0]] if held else None


# What is shown.


def _plain(each: _Explained, shown: Mapping[str, Any], place: str | None) -> dict[str, Any]:
    name = _scenario(each, shown, place)
    found = None if name is None else {"name": name, "title": shown["titles"][name]}
    return {
        "message": each.message,
        "places": list(each.places),
        "halts": each.cell.to == "suspended",
        "to": each.cell.to if isinstance(each.cell.to, str) else None,
        "do": [_action(action) for action in each.cell.do],
        "why": each.cell.why.replace("*", ""),
        "rule": each.cell.rule,
        "scenario": found,
    }


def _text(each: _Explained, shown: Mapping[str, Any], place: str | None) -> Iterator[str]:
    yield each.message
    yield from _field("in", _places_in_words(each.places))
    done = ", ".join(_action(action) for action in each.cell.do) or "nothing else"
    yield from _field("line", f"{_destination(each.cell)}: {done}")
    yield from _field("why", each.cell.why.replace("*", ""))
    if each.cell.rule is not None:
        yield from _field("rule", each.cell.rule)
    name = _scenario(each, shown, place)
    if name is None:
        yield from _field("scenario", "none is shipped")
    else:
        yield from _field("scenario", f"{name}: {shown['titles'][name]}")


def _places_in_words(places: tuple[str, ...]) -> str:
    if places == (_ANYWHERE,):
        return "any situation in which it comes up"
    if len(places) == 1 and places[0] in _IN_WORDS:
        return f"{places[0]}: {_IN_WORDS[places[0]]}"
    return ", ".join(places)


def _field(name: str, value: str) -> list[str]:
    lines = textwrap.wrap(value, COLUMNS - 12, break_long_words=False, break_on_hyphens=False)
    heads = (name, *[""] * (len(lines) - 1))
    return [f"  {head:8}  {line}" for head, line in zip(heads, lines, strict=True)]
