"""A round report laid out for reading: 80 columns, no colour, raw bytes below each message.

In: an report. Out: lines of text; its summary first. Must not know: the journal, terminals. Status
messages of which nothing came are folded to a line: more than half of what a shoe says is nothing
else, and JSON has them whole.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from shoe_ctl.records import utc
from shoe_ctl.round_report import wording
from shoe_ctl.round_report.collect import Entry, RoundReport
from shoe_ctl.round_report.lookup import RawFrame, SentBytes
from shoe_ctl.round_report.summary import COLUMNS, NAME, summary_lines
from shoe_ctl.terminal_text import printable

BYTES_A_LINE = 16


def render_page(report: RoundReport) -> Iterator[str]:
    """The report, line by line."""
    yield from summary_lines(report)
    yield ""
    yield from _header(report)
    yield ""
    yield from _entries(report.entries)
    if report.afterwards:
        yield ""
        yield "After the round"
        yield ""
        yield from _entries(report.afterwards)
    yield ""
    yield from _footer(report)


def _named(name: str, text: str) -> Iterator[str]:
    """A name and what is said of it, wrapped beside it."""
    lead = f"{name:<{NAME}}"
    yield from _wrapped(text, lead, " " * NAME)


def _wrapped(text: str, lead: str, rest: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        COLUMNS,
        initial_indent=lead,
        subsequent_indent=rest,
        break_on_hyphens=False,
    ) or [lead.rstrip()]


def _header(report: RoundReport) -> Iterator[str]:
    yield from _named("table", report.table)
    rules = report.rules
    if rules is None:
        yield from _named("game", "the journal does not say how the table was started")
    else:
        yield from _named("game", f"{rules.title} ({rules.game})")
        version = None if rules.version is None else f"version {rules.version}"
        dated = None if rules.date is None else f"of {rules.date}"
        named = ", ".join(part for part in (version, dated) if part is not None)
        yield from _named("rules", named or "their document names no version and no date")
        yield from _named("sha256", rules.sha256)
        chosen = {name: value for name, value in rules.settings.items() if name != "table"}
        yield from _named("settings", wording.settings_text(chosen))
        yield from _named("software", f"shoe-ctl {rules.software}")
    outcome = next(report.events("round.outcome"), None)
    if outcome is not None:
        yield from _named("method", outcome.data.get("method") or "none: the game has no methods")
    yield from _named("shoe", report.round_id.rpartition("-r")[0])
    if report.entries:
        yield from _named("began", utc(report.entries[0].t_us))
        yield from _named("ended", utc(report.entries[-1].t_us) if report.ended else "not yet")


def _footer(report: RoundReport) -> Iterator[str]:
    outcomes = list(report.events("round.outcome", "round.revised"))
    if outcomes:
        last = outcomes[-1]
        yield from _named("outcome", wording.outcome_words(last.data))
        yield from _named("won", wording.won_text(last.data))
        yield from _named("event", _ids(last.public, last.restricted))
        if (proof := last.data.get("proof")) is not None:
            first, last_input = proof["first"], proof["last"]
            yield from _named("proof", f"inputs {first} to {last_input} of the table")
    void = next(report.events("round.void"), None)
    if void is not None:
        rule = void.data.get("rule")
        yield from _named("void", "no rule to cite" if rule is None else f"under rule {rule}")
        yield from _named("event", _ids(void.public, void.restricted))
    if report.ended is None:
        yield from _named("ended", "not within this journal")
    if report.entries:
        span = f"{report.entries[0].n} to {report.entries[-1].n}"
        yield from _named("records", f"inputs in {span} of the journal")


def _ids(public: str | None, restricted: str) -> str:
    return restricted if public is None else f"{public}, restricted {restricted}"


def _entries(entries: tuple[Entry, ...]) -> Iterator[str]:
    width = max((len(str(entry.n)) for entry in entries), default=1)
    idle: list[Entry] = []
    for entry in entries:
        if entry.bytes_sent:
            yield from _folded(idle, width)
            idle = []
        for went in entry.bytes_sent:
            yield from _sent(went, width)
        if entry.input["input"] == "tick" and not entry.events:
            continue
        if _is_idle(entry):
            idle.append(entry)
            continue
        yield from _folded(idle, width)
        idle = []
        yield from _entry(entry, width)
    yield from _folded(idle, width)


def _is_idle(entry: Entry) -> bool:
    """True if the shoe only said how it is, and nothing came of it."""
    event = entry.input.get("event")
    kind = event.get("type") if isinstance(event, dict) else None
    return kind == "status" and not entry.events


def _folded(idle: list[Entry], width: int) -> Iterator[str]:
    """Status messages behind one another, of which nothing came, in one line."""
    if idle:
        first, last = idle[0], idle[-1]
        said = "the shoe: status" if len(idle) == 1 else f"the shoe: {len(idle)} times status"
        yield f"{first.n:>{width}} {utc(first.t_us)[11:23]} {said}, nothing came of it"
        if first is not last:
            yield f"{'':>{width}} up to record {last.n} at {utc(last.t_us)[11:23]}"


def _entry(entry: Entry, width: int) -> Iterator[str]:
    at = utc(entry.t_us)[11:23]
    lead = f"{entry.n:>{width}} {at} "
    indent = " " * len(lead)
    head, more = wording.input_words(entry.input)
    yield from _wrapped(head, lead, indent)
    for line in more:
        yield from _wrapped(line, indent, indent + "  ")
    if entry.frame is not None:
        yield from _hex(entry.frame, indent)
    commanded = entry.input["input"] == "command"
    for event in entry.events:
        text, lines = wording.event_words(event.type, event.data, commanded=commanded)
        secret = "" if event.public is not None else " [restricted]"
        yield from _wrapped(text + secret, indent + "> ", indent + "    ")
        for line in lines:
            yield from _wrapped(line, indent + "    ", indent + "      ")


def _sent(went: SentBytes, width: int) -> Iterator[str]:
    """Yield what went to the shoe, at its time and without a number: it is no input."""
    lead = f"{'':>{width}} {utc(went.t_us)[11:23]} "
    place = f"connection {went.connection}, bytes {went.first} to {went.last - 1}"
    yield from _wrapped(f"to the shoe: {place}:", lead, " " * len(lead))
    yield from _rows(went.data, " " * len(lead))


def _hex(frame: RawFrame, indent: str) -> Iterator[str]:
    """The bytes that said it."""
    place = f"connection {frame.connection}, bytes {frame.first} to {frame.last - 1}"
    if frame.data is None:
        yield from _wrapped(f"{place}: not all of them are in the journal", indent, indent + "  ")
        return
    yield from _wrapped(place + ":", indent, indent + "  ")
    yield from _rows(frame.data, indent)


def _rows(hex_digits: str, indent: str) -> Iterator[str]:
    """Bytes, as many a line as are easily counted."""
    data = bytes.fromhex(hex_digits)
    for at in range(0, len(data), BYTES_A_LINE):
        yield f"{indent}  {data[at : at + BYTES_A_LINE].hex(' ')}"
