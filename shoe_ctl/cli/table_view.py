"""The status of a table, for people: lines of 80 columns or fewer, or a table on a terminal.

In: the status of a table as the daemon sends it, a language. Out: lines; what a terminal shows.
Must not know: the daemon, the round's rules. Commands and labels are codes here; ``Words`` names
them in the reader's language.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from shoe_ctl.terminal_text import pad, printable, wrap
from shoe_ctl.texts.screen import Words

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

ENGLISH = Words()


def lines(
    held: dict[str, Any],
    connection: Sequence[str] = (),
    position: str | None = None,
    words: Words = ENGLISH,
) -> Iterator[str]:
    """Yield the table in a few lines: what is next near the end, who may do what last.

    ``connection`` are the words that name the daemon, ``position`` is the caller's highest:
    with both, the commands can be typed as they stand.
    """
    yield from _line(held["table"], heading(held, words))
    yield from _in_lines(_rows(held, connection, position, words), words)


def show_on_terminal(
    held: dict[str, Any],
    connection: Sequence[str] = (),
    position: str | None = None,
    words: Words = ENGLISH,
) -> None:
    """Print the table on a terminal. Commands stand outside its cells, to be copied whole."""
    from shoe_ctl.cli.common import Column, make_cell, make_console, make_table

    console = make_console()
    columns = [Column(held["table"]), Column(heading(held, words), fits=False)]
    table = make_table(columns, least=_LABEL)
    for label, text in _rows(held, connection, position, words):
        if label == COMMAND:
            if table.row_count or table.show_header:
                console.print(table)
            table = make_table([Column(""), Column("", fits=False)], least=_LABEL)
            for line in wrap_command(text, indent=_INDENT):
                click.echo(line)
        else:
            style = _STYLES.get(label, "")
            named = _label(label, words)
            for number, part in enumerate(_parts(text, console.width - _LABEL - 3)):
                shown = make_cell("" if number else named, style or "cyan")
                table.add_row(shown, make_cell(part, style))
    if table.row_count or table.show_header:
        console.print(table)


def _parts(text: str, width: int) -> list[str]:
    """Return a text in lines, where the terminal's table would break Chinese within words."""
    return [text] if text.isascii() else wrap(printable(text), width)


_STYLES = {"doubt": "bold red", "fault": "bold red", "halted": "bold red", "parked": "yellow",
           "refused": "yellow", "link": "yellow", "next": "bold green"}  # fmt: skip
"""Of rows that people must not overlook."""


def heading(held: dict[str, Any], words: Words = ENGLISH) -> str:
    """Return the game, the method and the state of a table."""
    game, method, state = held["game"], held["method"], held["state"]
    if method:
        return words("heading_method", game=game, method=method, state=state)
    return words("heading", game=game, state=state)


def open_lines(
    held: dict[str, Any],
    connection: Sequence[str] = (),
    position: str | None = None,
    words: Words = ENGLISH,
) -> Iterator[str]:
    """Yield what the table waits for people to decide, and the commands; nothing otherwise."""
    if open_choices(held) or held["halt"] is not None:
        yield from _in_lines(_open(held, words), words)
        yield from _in_lines(_next(held, connection, position, words), words)


def _in_lines(rows: Iterable[Labelled], words: Words) -> Iterator[str]:
    for label, text in rows:
        if label == COMMAND:
            yield from wrap_command(text, indent=_INDENT)
        else:
            yield from _line(_label(label, words), text)


def _label(label: str, words: Words) -> str:
    return words.name("label", label) if label else ""


def _rows(
    held: dict[str, Any], connection: Sequence[str], position: str | None, words: Words
) -> Iterator[Labelled]:
    """Yield everything about the table but its heading."""
    if held.get("doubt"):
        yield "doubt", held["doubt"]
        yield "takes", words("doubt_takes")
        return
    shoe = held["shoe"]
    if shoe is not None:
        player = _seat(held.get("shoe_with"), words)
        who = [words("with_player", player=player)] if player else []
        out = [words("cutting_card_out")] if shoe["cutting_card_out"] else []
        yield "shoe", words.join([shoe["shoe_id"], *who, *out], "facts")
    if held.get("fault"):
        since = held["fault"].get("since")
        yield "fault", words.text(held["fault"]["message"])
        yield "", words("stood_since", since=since) if since else words("stood")
    if held["link"] != "up":
        yield "link", words.name("link", held["link"])
    elif held.get("link_reason") == "does_not_hear":
        yield "link", words.name("link", "does_not_hear")
    yield from _told(held.get("told") or {}, words)
    if held.get("refused"):
        yield "refused", words.text(held["refused"]["message"])
    if held["round"] is not None:
        yield from _round(held["round"], held.get("held_by", {}), words)
    yield from _wagers(held.get("wagers") or [], words)
    yield from _declared(held.get("declared") or [], words)
    yield from _last_round(held, words)
    yield from _open(held, words)
    for parked in held["parked"]:
        waits = parked["waiting"]
        left = words("parked_waiting", waiting=waits) if waits else words("parked_none")
        last = {"last": parked["last"], "type": parked["type"]}
        yield (
            "parked",
            words("parked", count=parked["count"], sink=parked["sink"], waiting=left, **last),
        )
    yield from _next(held, connection, position, words)
    takes = [
        words("takes", command=taken["command"], who=_who(taken, words)) for taken in held["takes"]
    ]
    yield "takes", words.join(takes) or words("takes_none")


def answer_lines(answer: dict[str, Any], words: Words = ENGLISH) -> Iterator[str]:
    """Yield what a command brought about, and the ids of its events."""
    ids = " ".join(answer["events"]) or words("nothing_public")
    said = answer.get("message")
    if said is None:
        yield words("done_events", ids=ids)
        return
    happened = said["args"].get("happened")
    waits = answer.get("halted") or answer.get("asks")  # what is next stands below, with commands
    done = (
        words.join(map(words.text, happened), "clauses") if waits and happened else words.text(said)
    )
    told = printable(words("done", said=done))
    yield from wrap(told, WIDTH, rest="      ")
    yield from _line(_label("events", words), ids)


def preview_lines(answer: dict[str, Any], words: Words = ENGLISH) -> Iterator[str]:
    """Yield what a command would change, who may give it and who must consent."""
    yield from _in_lines(_preview_rows(answer, words), words)


def _preview_rows(answer: dict[str, Any], words: Words) -> Iterator[Labelled]:
    shown = answer["preview"]
    yield "preview", words.text(answer["message"])
    if shown.get("if_shoe_agrees"):
        yield "", words("if_shoe_agrees")
    for change in shown.get("seats", ()):
        yield words("seat", seat=change["seat"]), _seat_change(change, words)
    if shown.get("shoe_ends"):
        yield "shoe", words("shoe_ends")
    yield "who", _who({**shown, "second_person": False}, words)
    if "second_person" in shown:
        yield "consent", words("consents", position=shown["second_person"])


def _seat_change(change: dict[str, Any], words: Words) -> str:
    """Return a wager as it would be: settled, settled otherwise, changed or gone."""
    before, after = change.get("before"), change.get("after")
    held = after or before or {"amount": change.get("settled", {}).get("stake")}
    held = {"wager": change["wager"], "amount": held["amount"]}
    if "settled" in change:
        settlement = {"applied": [], **change["settled"]}
        return words.join(_payment_lines({**held, "settlement": settlement}, words), "clauses")
    if after is not None and "settlement" in after:
        return words.join(_payment_lines(after, words), "clauses")
    return words("gone", stake=_stake(held, words)) if after is None else _stake(after, words)


def _open(held: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """Yield what halts the table, and what is open beside the round."""
    if held["halt"] is not None:
        yield from _halt_lines(held["halt"], words)
    for waiting in held["waiting"]:
        yield from _waiting_lines(waiting, words)


# What is open: what was seen, what may be chosen, with what and by whom.


def _halt_lines(halt: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """Yield what halts the table, the rules for it, and the choices of the step that is open."""
    seen = words.text(halt["seen"]) if "seen" in halt else words("inspection")
    yield "halted", words("halted", reason=halt["reason"], seen=seen)
    if halt["earlier"]:
        yield "", words("open_before", keys=halt["earlier"])
    yield "", words("since", since=halt["since"])
    yield from _rules(halt, words)
    if "withdrawal" in halt:
        yield "window", _window(halt["withdrawal"], words)
    if "counts" in halt:
        counts = halt["counts"]
        yield "counted", words("counted", table=counts["table"], shoe=counts["shoe"])
    for one, other in halt.get("exchanged", ()):
        places = (words.name("place", place) for place in (one, other))
        yield "exchanged", words.join(places, "and")
    if "differential" in halt:
        yield from _differential(halt["differential"], words)
    yield from _choice_lines(halt["choices"], words)


def _waiting_lines(waiting: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """Yield what is open beside the round, and what may be chosen where it asks."""
    yield "open", words("open", key=waiting["key"], prompt=words.text(waiting["prompt"]))
    yield from _choice_lines(waiting.get("choices", []), words)


def _rules(halt: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """The rule of the step that is open, or those of all ends; a game may have none of them."""
    if halt.get("rule") is not None:
        yield "rule", halt["rule"]
        return
    numbered = {end: rule for end, rule in halt.get("rules", {}).items() if rule is not None}
    if numbered:
        each = (
            words("rule_of_end", end=words.name("end", end), rule=rule)
            for end, rule in numbered.items()
        )
        yield "rules", words.join(each)


def _choice_lines(choices: list[dict[str, Any]], words: Words) -> Iterator[Labelled]:
    """Each as it is typed behind ``shoectl table decide``."""
    for choice in choices:
        args, who = choice.get("arguments", []), _who(choice, words)
        typed = " ".join([choice["choice"], *map(_argument, args)])
        if args:
            said = words(
                "choice_with",
                typed=typed,
                choice=choice["choice"],
                meanings=[one["name"] for one in args],
                who=who,
            )
        else:
            said = words("choice", typed=typed, choice=choice["choice"], who=who)
        if "not_now" in choice:
            said = words("choice_not_now", choice=said, why=words.text(choice["not_now"]))
        yield "choice", said


def _argument(one: dict[str, Any]) -> str:
    """An argument as it is typed; what may be left out stands in brackets."""
    typed = f"{one['name']}={one.get('value', '...')}"
    return f"[{typed}]" if one.get("optional") else typed


def _who(offer: dict[str, Any], words: Words) -> str:
    """Return who may take it, and what they must say besides: why, and who consents."""
    reason = [words("with_reason")] if offer.get("reason") else []
    second = [words("with_consent")] if offer.get("second_person") else []
    return words.join([words.name("position", offer["position"]), *reason, *second], "facts")


def _window(window: dict[str, Any], words: Words) -> str:
    seats, scope = window["seats"], window["scope"]
    if seats == []:
        text = words("window_closed")
    elif not seats:
        text = words("window_of_table", scope=scope)
    elif len(seats) == 1:
        text = words("window_of_seat", seat=seats[0], scope=scope)
    else:
        text = words("window_of_seats", seats=words.join(map(str, seats), "and"), scope=scope)
    rule = window["rule"]
    return text if rule is None else words("cited", text=text, rule=rule)


def _differential(found: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """Both sides of the table and what may be changed, where the ledger knows it."""
    if found["excess"] <= 0:
        return
    yield (
        "wagers",
        words(
            "differential",
            player=found["player"],
            banker=found["banker"],
            excess=found["excess"],
            limit=found["limit"],
        ),
    )
    for name in ("decrease", "increase"):
        rooms = [
            words("room", seat=room["seat"], wager=room["wager"], most=room["most"])
            for room in found.get(name, [])
        ]
        if rooms:
            yield name, words.join(rooms, "clauses")
    removable = [
        words("removable", seat=held["seat"], wager=held["wager"], amount=held["amount"])
        for held in found.get("remove", [])
    ]
    if removable:
        yield "remove", words.join(removable, "clauses")


# How the table stands besides.


def _told(told: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """Yield what the shoe was told and has not answered, and its last answer."""
    waiting, last = told.get("told") or [], told.get("answered")
    if waiting:
        named = words.join(words.name("told", command) for command in waiting)
        yield "told", words("no_answer_yet", commands=named)
    if last is not None:
        what = last.get("what", last["command"])
        answer = _answer(last, words)
        yield "answered", words("answered", what=words.name("told", what), answer=answer)


def _answer(last: dict[str, Any], words: Words) -> str:
    if not last["accepted"]:
        return words.name("answer", "refused")
    if "passed" in last:
        return words.name("answer", "passed" if last["passed"] else "failed")
    if "value" in last:
        value = last["value"]
        return words.name("answer", "unknown") if value is None else str(value)
    return words.name("answer", "done")


def _round(played: dict[str, Any], held_by: dict[str, Any], words: Words) -> Iterator[Labelled]:
    yield "round", played["round_id"]
    for hand, cards in played["hands"].items():
        shown = " ".join(FACE_DOWN if card["card"] is None else card["card"] for card in cards)
        totals = played["totals"]
        total = "" if totals is None else f"  = {totals[hand]}"
        player = _seat(held_by.get(hand), words)
        holder = f"  {words('with_player', player=player)}" if player else ""
        yield hand, f"{shown or words('no_card_yet')}{total}{holder}"
    if played["outcome"] is not None:
        yield "", words.text(played["outcome"]["message"])


def _seat(holder: dict[str, Any] | None, words: Words) -> str | None:
    """The Player who holds a hand or the shoe, None where the dealer does."""
    if holder is None:
        return None
    seat = holder["seat"]
    return words("a_player") if seat is None else words("seat", seat=seat)


def _wagers(wagers: list[dict[str, Any]], words: Words) -> Iterator[Labelled]:
    """Yield what lies at each seat; once the outcome is announced, what it is paid or loses."""
    for seat in dict.fromkeys(one["seat"] for one in wagers):
        here = [one for one in wagers if one["seat"] == seat]
        label = words("seat", seat=seat)
        if any("settlement" in one for one in here):
            texts = [text for one in here for text in _payment_lines(one, words)]
            yield from _under_label(label, texts)
        else:
            yield label, words.join(_stake(one, words) for one in here)


def _declared(declared: list[dict[str, Any]], words: Words) -> Iterator[Labelled]:
    """Yield what was declared and can be retracted, and what each seat would get without it."""
    for one in declared:
        said = words("declared", number=one["declaration"], key=one["key"])
        if "wager" in one:
            chips = words(
                "declared_chips", seat=one["seat"], wager=one["wager"], chips=one["chips"]
            )
            said = words.join([said, chips], "facts")
        yield "declared", said
        for change in one.get("changes", []):
            yield (
                "",
                words(
                    "without_it",
                    seat=change["seat"],
                    wager=change["wager"],
                    change=change["change"],
                ),
            )


def _last_round(held: dict[str, Any], words: Words) -> Iterator[Labelled]:
    """The round settled last: between rounds, and as long as it was revised."""
    last = held.get("last_round")
    if last is None or not (held["round"] is None or last["revisions"]):
        return
    said = words.text(last["message"])
    yield "last", words("last_round", round_id=last["round_id"], said=said)
    for before in last["revisions"]:
        yield "revised", words("it_was", said=words.text(before["message"]))
        for change in before["changes"]:
            yield "", words.text(change["message"])


def _under_label(label: str, texts: list[str]) -> Iterator[Labelled]:
    for number, text in enumerate(texts):
        yield label if number == 0 else "", text


def _stake(one: dict[str, Any], words: Words) -> str:
    wager, amount = one["wager"], one["amount"]
    if "player" in one:
        stake = words("stake_of", wager=wager, amount=amount, player=one["player"])
    else:
        stake = words("stake", wager=wager, amount=amount)
    late = one.get("not_honoured")
    more = [words("late_goes_back", amount=late)] if late else []
    more += [words("taken_back")] if one.get("taken_back") else []
    return words("cited", text=stake, rule=words.join(more, "facts")) if more else stake


def _payment_lines(one: dict[str, Any], words: Words) -> Iterator[str]:
    """Yield how a wager is settled, with the money; its commission on a line of its own."""
    done = one["settlement"]
    paid = [
        f"{words.name('money', name)} {done[name]}"
        for name in ("pays", "collected", "returned")
        if done[name]
    ]
    stake, result = _stake(one, words), done["result"]
    money = words.join(paid, "facts") or words("no_money")
    odds, rule = done.get("odds"), done.get("rule")
    if odds and rule:
        yield words(
            "paid_at_odds_under", stake=stake, result=result, odds=odds, rule=rule, money=money
        )
    elif odds:
        yield words("paid_at_odds", stake=stake, result=result, odds=odds, money=money)
    elif rule:
        yield words("paid_under", stake=stake, result=result, rule=rule, money=money)
    else:
        yield words("paid", stake=stake, result=result, money=money)
    if "commission" in done:
        yield words("commission", wager=one["wager"], amount=done["commission"])
    for applied in done["applied"]:
        key, end = words.name("key", applied["key"]), words.name("end", applied["end"])
        text, rule = words("applied", key=key, end=end), applied["rule"]
        yield words("cited", text=text, rule=rule) if rule else text


def _next(
    held: dict[str, Any], connection: Sequence[str], position: str | None, words: Words
) -> Iterator[Labelled]:
    """Yield what the table waits for, and below it, each on lines of its own, what may be typed.

    What the reader may not do stands there with who is called for it; a void stands apart.
    """
    yield "next", words.text(held["next"]["message"])
    offers, where = _next_offers(held), _where(held, connection)
    ways = [one for one in offers if one[1].get("choice") != VOID]
    for typed, offer in ways:
        if _may_give(held, offer):
            yield COMMAND, _command(typed, offer, position, where)
    yield from _calls(held, [offer for _, offer in ways], words)
    for typed, offer in (one for one in offers if one not in ways):
        yield VOID, words("void_apart")
        if _may_give(held, offer):
            yield COMMAND, _command(typed, offer, position, where)
    yield from _calls(held, [offer for _, offer in offers if offer.get("choice") == VOID], words)


def _calls(held: dict[str, Any], offers: list[dict[str, Any]], words: Words) -> Iterator[Labelled]:
    """Yield who is called for what the reader may not do."""
    others = [offer for offer in offers if not _may_give(held, offer)]
    for needed in dict.fromkeys(offer["position"] for offer in others):
        names = [_name(offer) for offer in others if offer["position"] == needed]
        yield "call", words("call", position=needed, what=words.join(names))


def _name(offer: dict[str, Any]) -> str:
    return str(offer["choice"] if "choice" in offer else offer["command"])


VOID = "void"
"""The choice that stands apart: the round is over, and all wagers go back."""


def _may_give(held: dict[str, Any], offer: dict[str, Any]) -> bool:
    """Return True if the reader may give it, or if it is not known who reads."""
    acts_as = held.get("acts_as")
    return acts_as is None or offer["position"] in acts_as


def next_commands(
    held: dict[str, Any],
    connection: Sequence[str] = (),
    position: str | None = None,
) -> list[str]:
    """Return what the reader may type, quoted for a shell; ``...`` is what only people know."""
    where = _where(held, connection)
    return [
        _command(typed, offer, position, where)
        for typed, offer in _next_offers(held)
        if _may_give(held, offer)
    ]


_Offer = tuple[list[str], dict[str, Any]]
"""The words of a command, and what the status says that it needs."""


def _next_offers(held: dict[str, Any]) -> list[_Offer]:
    """Return the command that is next, and the choices that can be taken."""
    due = held["next"]
    offers: list[_Offer] = []
    if due["command"] not in (None, "decide"):
        args = [_word(key, value) for key, value in due["args"].items()]
        now = (taken for taken in held["takes"] if taken["command"] == due["command"])
        offers += [([due["command"], *args], offer) for offer in now]
    can = (choice for choice in open_choices(held) if "not_now" not in choice)
    return offers + [(_decision(choice), choice) for choice in can]


def _where(held: dict[str, Any], connection: Sequence[str]) -> list[str]:
    return [shlex.quote(word) for word in ("--table", str(held["table"]), *connection)]


def _command(
    typed: list[str], offer: dict[str, Any], position: str | None, where: list[str]
) -> str:
    return " ".join(["shoectl", "table", *typed, *_extra_options(offer, position), *where])


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


def open_choices(held: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what may be decided now: of what halts the table, else of what is asked beside it."""
    if held["halt"] is not None:
        return list(held["halt"]["choices"])
    return [choice for waiting in held["waiting"] for choice in waiting.get("choices", [])]


def _line(label: str, text: str) -> Iterator[str]:
    yield from wrap(printable(text), WIDTH, first=f"{pad(label, _LABEL)}  ", rest=_INDENT)
