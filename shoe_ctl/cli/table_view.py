"""The status of a table, for people: lines of 80 columns or fewer, or a table on a terminal.

In: the status of a table as the daemon sends it. Out: lines; what a terminal shows.
Must not know: the daemon, the round's rules.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from shoe_ctl.terminal_text import pad, printable, wrap
from shoe_ctl.texts import catalogue

WIDTH = 80
_LABEL = 10
_INDENT = " " * (_LABEL + 2)

FACE_DOWN = "[ ]"

PLACEHOLDER = "..."
"""The part of a shown command that only its user knows."""

Labelled = tuple[str, str]
"""A label, empty where it is the one above, and what stands behind it."""

COMMAND = "$"
"""The label of a command that can be typed: it is never broken as text is."""

_LINK = {
    "lost": "the shoe cannot be heard",
    "unidentified": "the port is open, and no shoe has said yet who it is",
    "refused": "who speaks is not this table's shoe",
    "suspended": "the line brings too much garbage",
}


def lines(
    held: dict[str, Any], connection: Sequence[str] = (), position: str | None = None
) -> Iterator[str]:
    """Yield the table in a few lines: what is next near the end, who may do what last.

    ``connection`` are the words that name the daemon, ``position`` is the caller's highest:
    with both, the commands can be typed as they stand.
    """
    yield from _line(held["table"], heading(held))
    yield from _in_lines(_rows(held, connection, position))


def show_on_terminal(
    held: dict[str, Any], connection: Sequence[str] = (), position: str | None = None
) -> None:
    """Print the table on a terminal. Commands stand outside its cells, to be copied whole."""
    from shoe_ctl.cli.common import Column, make_cell, make_console, make_table

    console = make_console()
    columns = [Column(held["table"]), Column(heading(held), fits=False)]
    table = make_table(columns, least=_LABEL)
    for label, text in _rows(held, connection, position):
        if label == COMMAND:
            if table.row_count or table.show_header:
                console.print(table)
            table = make_table([Column(""), Column("", fits=False)], least=_LABEL)
            for line in wrap_command(text, indent=_INDENT):
                click.echo(line)
        else:
            style = _STYLES.get(label, "")
            table.add_row(make_cell(label, style or "cyan"), make_cell(text, style))
    if table.row_count or table.show_header:
        console.print(table)


_STYLES = {"doubt": "bold red", "fault": "bold red", "halted": "bold red", "parked": "yellow",
           "refused": "yellow", "link": "yellow", "next": "bold green"}  # fmt: skip
"""Of rows that people must not overlook."""


def heading(held: dict[str, Any]) -> str:
    """Return the game, the method and the state of a table."""
    method = f", Method {held['method']}" if held["method"] else ""
    return f"{held['game']}{method}: {held['state']}"


def open_lines(
    held: dict[str, Any], connection: Sequence[str] = (), position: str | None = None
) -> Iterator[str]:
    """Yield what the table waits for people to decide, and the commands; nothing otherwise."""
    if _choices(held) or held["halt"] is not None:
        yield from _in_lines(_open(held))
        yield from _in_lines(_next(held, connection, position))


def _in_lines(rows: Iterable[Labelled]) -> Iterator[str]:
    for label, text in rows:
        if label == COMMAND:
            yield from wrap_command(text, indent=_INDENT)
        else:
            yield from _line(label, text)


def _rows(
    held: dict[str, Any], connection: Sequence[str], position: str | None
) -> Iterator[Labelled]:
    """Yield everything about the table but its heading."""
    if held.get("doubt"):
        yield "doubt", held["doubt"]
        yield "takes", "accept_loss (gaming_shift_manager, with a reason and consent)"
        return
    shoe = held["shoe"]
    if shoe is not None:
        out = ", the cutting card is out" if shoe["cutting_card_out"] else ""
        player = _seat(held.get("shoe_with"))
        who = f", with {player}" if player else ""
        yield "shoe", f"{shoe['shoe_id']}{who}{out}"
    if held.get("fault"):
        since = held["fault"].get("since")
        stood = "the table stood so when it was last stored"
        yield "fault", catalogue.text(held["fault"]["message"])
        yield "", f"since {since}: {stood}" if since else stood
    if held["link"] != "up":
        yield "link", f"{held['link']}: {_LINK[held['link']]}"
    yield from _told(held.get("told") or {})
    if held.get("refused"):
        yield "refused", catalogue.text(held["refused"]["message"])
    if held["round"] is not None:
        yield from _round(held["round"], held.get("held_by", {}))
    yield from _wagers(held.get("wagers") or [])
    yield from _last_round(held)
    yield from _open(held)
    for parked in held["parked"]:
        last = f"the last {parked['last']} ({parked['type']})"
        waits = parked["waiting"]
        left = f"; {waits} can be offered again: redeliver" if waits else "; none waits any more"
        yield "parked", f"{parked['count']} not taken by {parked['sink']}: {last}{left}"
    yield from _next(held, connection, position)
    takes = [
        f"{taken['command']} ({taken['position']}{_demands(taken)})" for taken in held["takes"]
    ]
    yield "takes", ", ".join(takes) or "no command now"


def answer_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield what a command brought about, and the ids of its events."""
    ids = " ".join(answer["events"]) or "nothing public came of it"
    said = answer.get("message")
    if said is None:
        yield f"done: {ids}"
        return
    happened = said["args"].get("happened")
    waits = answer.get("halted") or answer.get("asks")  # what is next stands below, with commands
    done = "; ".join(map(catalogue.text, happened)) if waits and happened else catalogue.text(said)
    told = printable(f"done: {done}")
    yield from wrap(told, WIDTH, rest="      ")
    yield from _line("events", ids)


def _open(held: dict[str, Any]) -> Iterator[Labelled]:
    """Yield what halts the table, and what is open beside the round."""
    if held["halt"] is not None:
        yield from _halt_lines(held["halt"])
    for waiting in held["waiting"]:
        yield from _waiting_lines(waiting)


# What is open: what was seen, what may be chosen, with what and by whom.

_SCOPES = {
    "any": "any of their wagers",
    "all": "all of their wagers or none",
    "remaining": "all of their wagers that are not decided, or none",
}


def _halt_lines(halt: dict[str, Any]) -> Iterator[Labelled]:
    """Yield what halts the table, the rules for it, and the choices of the step that is open."""
    seen = (
        catalogue.text(halt["seen"]) if "seen" in halt else "the shift manager inspects the cards"
    )
    yield "halted", f"{halt['reason']}: {seen}"
    if halt["earlier"]:
        yield "", f"open before it: {', '.join(halt['earlier'])}"
    yield "", f"since {halt['since']}"
    yield from _rules(halt)
    if "withdrawal" in halt:
        yield "window", _window(halt["withdrawal"])
    if "counts" in halt:
        counts = halt["counts"]
        yield "counted", f"{counts['table']} by the table, {counts['shoe']} by the shoe"
    if "differential" in halt:
        yield from _differential(halt["differential"])
    yield from _choice_lines(halt["choices"])


def _waiting_lines(waiting: dict[str, Any]) -> Iterator[Labelled]:
    """Yield what is open beside the round, and what may be chosen where it asks."""
    yield "open", f"{waiting['key']}: {catalogue.text(waiting['prompt'])}"
    yield from _choice_lines(waiting.get("choices", []))


def _rules(halt: dict[str, Any]) -> Iterator[Labelled]:
    """The rule of the step that is open, or those of all ends; a game may have none of them."""
    if halt.get("rule") is not None:
        yield "rule", halt["rule"]
        return
    numbered = {end: rule for end, rule in halt.get("rules", {}).items() if rule is not None}
    if numbered:
        yield (
            "rules",
            ", ".join(f"{end.replace('_', ' ')} {rule}" for end, rule in numbered.items()),
        )


def _choice_lines(choices: list[dict[str, Any]]) -> Iterator[Labelled]:
    """Each as it is typed behind ``shoectl table decide``."""
    for choice in choices:
        args = "".join(f" {_argument(one)}" for one in choice.get("arguments", []))
        against = f"; not now: {catalogue.text(choice['not_now'])}" if "not_now" in choice else ""
        who = f"{choice['position']}{_demands(choice)}"
        yield "choice", f"{choice['choice']}{args} ({who}){against}"


def _argument(one: dict[str, Any]) -> str:
    """An argument as it is typed; what may be left out stands in brackets."""
    typed = f"{one['name']}={one.get('value', '...')}"
    return f"[{typed}]" if one.get("optional") else typed


def _demands(offer: dict[str, Any]) -> str:
    """Return what whoever takes it must say besides: why, and who consents."""
    reason = ", with a reason" if offer.get("reason") else ""
    second = ", and another person consents" if offer.get("second_person") else ""
    return reason + second


def _window(window: dict[str, Any]) -> str:
    seats = window["seats"]
    whose = "for the whole table"
    if seats:
        whose = f"seat {', '.join(map(str, seats))} may answer"
    rule = "" if window["rule"] is None else f" ({window['rule']})"
    if seats == []:
        return f"every Player has answered{rule}"
    return f"{whose}: {_SCOPES[window['scope']]}{rule}"


def _differential(found: dict[str, Any]) -> Iterator[Labelled]:
    """Both sides of the table and what may be changed, where the ledger knows it."""
    if found["excess"] <= 0:
        return
    sides = f"player {found['player']}, banker {found['banker']}"
    yield "wagers", f"{sides}: {found['excess']} over the differential of {found['limit']}"
    for name in ("decrease", "increase"):
        rooms = [
            f"seat {room['seat']} {room['wager']} by {room['most']} at most"
            for room in found.get(name, [])
        ]
        if rooms:
            yield name, "; ".join(rooms)
    removable = [
        f"seat {held['seat']} {held['wager']} {held['amount']}" for held in found.get("remove", [])
    ]
    if removable:
        yield "remove", "; ".join(removable)


# How the table stands besides.


def _told(told: dict[str, Any]) -> Iterator[Labelled]:
    """Yield what the shoe was told and has not answered, and its last answer."""
    waiting, last = told.get("told") or [], told.get("answered")
    if waiting:
        yield "told", f"{', '.join(waiting)}: no answer yet"
    if last is not None:
        yield "answered", f"{last.get('what', last['command'])}: {_answer(last)}"


def _answer(last: dict[str, Any]) -> str:
    if not last["accepted"]:
        return "refused"
    if "passed" in last:
        return "passed" if last["passed"] else "failed"
    if "value" in last:
        return "the shoe cannot tell" if last["value"] is None else str(last["value"])
    return "done"


def _round(played: dict[str, Any], held_by: dict[str, Any]) -> Iterator[Labelled]:
    yield "round", played["round_id"]
    for hand, cards in played["hands"].items():
        shown = " ".join(FACE_DOWN if card is None else card for card in cards) or "no card yet"
        totals = played["totals"]
        total = "" if totals is None else f"  = {totals[hand]}"
        player = _seat(held_by.get(hand))
        yield hand, f"{shown}{total}" + (f"  with {player}" if player else "")


def _seat(holder: dict[str, Any] | None) -> str | None:
    """The Player who holds a hand or the shoe, None where the dealer does."""
    if holder is None:
        return None
    return "a Player" if holder["seat"] is None else f"seat {holder['seat']}"


def _wagers(wagers: list[dict[str, Any]]) -> Iterator[Labelled]:
    """Yield what lies at each seat; once the outcome is announced, what it is paid or loses."""
    for seat in dict.fromkeys(one["seat"] for one in wagers):
        here = [one for one in wagers if one["seat"] == seat]
        if any("settlement" in one for one in here):
            yield from _under_label(
                f"seat {seat}", [x for one in here for x in _payment_lines(one)]
            )
        else:
            yield f"seat {seat}", ", ".join(map(_stake, here))


def _last_round(held: dict[str, Any]) -> Iterator[Labelled]:
    """The round settled last: between rounds, and as long as it was revised."""
    last = held.get("last_round")
    if last is None or not (held["round"] is None or last["revisions"]):
        return
    yield "last", f"{last['round_id']}: {catalogue.text(last['message'])}"
    for before in last["revisions"]:
        yield "revised", f"it was: {catalogue.text(before['message'])}"
        for change in before["changes"]:
            yield "", catalogue.text(change["message"])


def _under_label(label: str, texts: list[str]) -> Iterator[Labelled]:
    for number, text in enumerate(texts):
        yield label if number == 0 else "", text


def _stake(one: dict[str, Any]) -> str:
    whose = f" of {one['player']}" if "player" in one else ""
    late = f", {one['not_honoured']} late that goes back" if one.get("not_honoured") else ""
    taken = ", taken back and settled as if it stood" if one.get("taken_back") else ""
    more = f" ({(late + taken).removeprefix(', ')})" if late or taken else ""
    return f"{one['wager']} {one['amount']}{whose}{more}"


def _payment_lines(one: dict[str, Any]) -> Iterator[str]:
    """Yield how a wager is settled, with the money; its commission on a line of its own."""
    done = one["settlement"]
    words = {"win": "wins", "lose": "loses", "push": "is a push", "returned": "is returned"}
    odds = f" {done['odds']} to 1" if "odds" in done else ""
    rule = f" ({done['rule']})" if done.get("rule") else ""
    money = [
        f"{verb} {done[name]}"
        for verb, name in (("pay", "pays"), ("collect", "collected"), ("give back", "returned"))
        if done[name]
    ]
    yield f"{_stake(one)} {words[done['result']]}{odds}{rule}: {', '.join(money) or 'nothing'}"
    if "commission" in done:
        yield f"commission on {one['wager']} {done['commission']}"
    for applied in done["applied"]:
        cited = f" ({applied['rule']})" if applied["rule"] else ""
        yield f"{applied['key']}: {applied['end']}{cited}".replace("_", " ")


def _next(
    held: dict[str, Any], connection: Sequence[str], position: str | None
) -> Iterator[Labelled]:
    """Yield what the table waits for, and below it, each on lines of its own, what may be typed."""
    yield "next", catalogue.text(held["next"]["message"])
    for command in next_commands(held, connection, position):
        yield COMMAND, command


def next_commands(
    held: dict[str, Any], connection: Sequence[str] = (), position: str | None = None
) -> list[str]:
    """Return what may be typed next, quoted for a shell; ``...`` is what only people know."""
    due = held["next"]
    offers: list[tuple[list[str], dict[str, Any]]] = []
    if due["command"] not in (None, "decide"):
        args = [_word(key, value) for key, value in due["args"].items()]
        now = (taken for taken in held["takes"] if taken["command"] == due["command"])
        offers += [([due["command"], *args], offer) for offer in now]
    can = (choice for choice in _choices(held) if "not_now" not in choice)
    offers += [(_decision(choice), choice) for choice in can]
    where = [shlex.quote(word) for word in ("--table", str(held["table"]), *connection)]
    return [
        " ".join(["shoectl", "table", *words, *_extra_options(offer, position), *where])
        for words, offer in offers
    ]


def _decision(choice: dict[str, Any]) -> list[str]:
    """The words that take this choice, with what the room can see of what it takes."""
    needed = [one for one in choice.get("arguments", []) if not one.get("optional")]
    known = [_word(one["name"], one["value"]) for one in needed if "value" in one]
    asked = [f"{one['name']}={PLACEHOLDER}" for one in needed if "value" not in one]
    return ["decide", _word("choice", choice["choice"]), *known, *asked]


def _extra_options(offer: dict[str, Any], position: str | None) -> Iterator[str]:
    """Yield what must be said besides: a position beside the caller's, why, who consents."""
    needed = offer.get("position")
    if needed in _BESIDE and needed != position:
        yield f"--position {needed}"
    if offer.get("reason"):
        yield f'--reason "{PLACEHOLDER}"'
    if offer.get("second_person"):
        yield f"--consented-by {PLACEHOLDER}"


_BESIDE = ("assistant_casino_manager", "surveillance")
"""Positions that no higher one has by itself: each is said."""


def _word(key: str, value: object) -> str:
    return shlex.quote(f"{key}={value}")


def wrap_command(command: str, *, indent: str, width: int = WIDTH) -> Iterator[str]:
    """A command on lines that a shell takes together: broken between words, a long word within.

    What does not fit behind the indent begins at the left edge: there the shell joins it.
    """
    room = width - 2  # behind each line but the last stands a backslash
    line = indent
    for word in _split_words(command):
        longer = f"{line} {word}" if line.strip() else f"{line}{word}"
        if len(longer) <= room:
            line = longer
            continue
        if line.strip():
            yield f"{line} \\"
        line = f"{indent}  {word}"
        if len(line) > room:
            *pieces, line = _pieces(word, width - 1)
            yield from (f"{piece}\\" for piece in pieces)
    yield line


def _pieces(word: str, most: int) -> list[str]:
    """A long word in pieces of so many characters at most, quoted so that it may be broken."""
    pieces = [""]
    for char in shlex.split(word)[0]:
        quoted = char if _PLAIN.match(char) else f"\\{char}"
        if len(pieces[-1]) + len(quoted) > most:
            pieces.append("")
        pieces[-1] += quoted
    return pieces


_PLAIN = re.compile(r"[\w@%+=:,./-]", re.ASCII)
"""Words that need no quotes in a shell."""


def _split_words(command: str) -> Iterator[str]:
    """The words of a command as they are spelt, quotes kept."""
    word, quote = "", ""
    for char in command:
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        if char == " " and not quote:
            yield word
            word = ""
        else:
            word += char
    yield word


def _choices(held: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what may be decided now: of what halts the table, else of what is asked beside it."""
    if held["halt"] is not None:
        return list(held["halt"]["choices"])
    return [choice for waiting in held["waiting"] for choice in waiting.get("choices", [])]


def _line(label: str, text: str) -> Iterator[str]:
    yield from wrap(printable(text), WIDTH, first=f"{pad(label, _LABEL)}  ", rest=_INDENT)
