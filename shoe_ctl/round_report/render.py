"""A round report laid out for reading: 80 columns, no colour, raw bytes below each message.

In: an report. Out: lines of text; its summary first. Must not know: the journal, terminals. Status
messages of which nothing came are folded to a line: more than half of what a shoe says is nothing
else, and JSON has them whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from shoe_ctl.records import utc
from shoe_ctl.round_report import wording
from shoe_ctl.round_report.collect import Device, Entry, RoundReport, Standing, is_of
from shoe_ctl.round_report.lookup import RawFrame, SentBytes
from shoe_ctl.round_report.summary import COLUMNS, NAME, summary_lines
from shoe_ctl.round_report.wording import ENGLISH
from shoe_ctl.terminal_text import pad, printable, wrap
from shoe_ctl.texts.screen import Words

BYTES_A_LINE = 16


def render_page(report: RoundReport, words: Words = ENGLISH) -> Iterator[str]:
    """The report, line by line."""
    yield from summary_lines(report, words)
    yield ""
    yield from _header(report, words)
    yield ""
    yield from _entries(report.entries, words)
    if report.afterwards:
        yield ""
        yield words.sentence("After the round")
        yield ""
        yield from _entries(report.afterwards, words)
    yield ""
    yield from _footer(report, words)


def _named(name: str, text: str, words: Words) -> Iterator[str]:
    """A name and what is said of it, wrapped beside it."""
    yield from _wrapped(text, pad(words.name("report", name), NAME), " " * NAME)


def _wrapped(text: str, lead: str, rest: str) -> list[str]:
    return wrap(printable(text), COLUMNS, first=lead, rest=rest) or [lead.rstrip()]


def _header(report: RoundReport, words: Words) -> Iterator[str]:
    yield from _named("table", report.table, words)
    rules = report.rules
    if rules is None:
        yield from _named(
            "game", words.sentence("the journal does not say how the table was started"), words
        )
    else:
        yield from _named(
            "game", f"{wording.game_title(rules.game, rules.title, words)} ({rules.game})", words
        )
        version = (
            None
            if rules.version is None
            else words.sentence("version {version}", version=rules.version)
        )
        dated = None if rules.date is None else words.sentence("of {date}", date=rules.date)
        named = words.join(part for part in (version, dated) if part is not None)
        yield from _named(
            "rules", named or words.sentence("their document names no version and no date"), words
        )
        yield from _named("sha256", rules.sha256, words)
        chosen = {name: value for name, value in rules.settings.items() if name != "table"}
        yield from _named("settings", wording.settings_text(chosen, words), words)
        yield from _named("software", f"shoe-ctl {rules.software}", words)
    outcome = next(report.events("round.outcome"), None)
    if outcome is not None:
        yield from _named(
            "method",
            outcome.data.get("method") or words.sentence("none: the game has no methods"),
            words,
        )
    yield from _named("shoe", report.round_id.rpartition("-r")[0], words)
    if report.device is not None:
        yield from _named("device", _device(report.device, words), words)
    if report.entries:
        yield from _named("began", utc(report.entries[0].t_us), words)
        yield from _named(
            "ended",
            utc(report.entries[-1].t_us) if report.ended else words.sentence("not yet"),
            words,
        )


def _footer(report: RoundReport, words: Words) -> Iterator[str]:
    outcomes = list(report.events("round.outcome", "round.revised"))
    if outcomes:
        last = outcomes[-1]
        yield from _named("outcome", wording.outcome_words(last.data, words), words)
        yield from _named("won", wording.won_text(last.data, words), words)
        yield from _named("event", _ids(last.public, last.restricted, words), words)
        if (proof := last.data.get("proof")) is not None:
            first, last_input = proof["first"], proof["last"]
            yield from _named(
                "proof",
                words.sentence(
                    "inputs {first} to {last} of the table", first=first, last=last_input
                ),
                words,
            )
    void = next(report.events("round.void"), None)
    if void is not None:
        rule = void.data.get("rule")
        yield from _named(
            "void",
            words.sentence("no rule to cite")
            if rule is None
            else words.sentence("under rule {rule}", rule=rule),
            words,
        )
        yield from _named("event", _ids(void.public, void.restricted, words), words)
    if report.ended is None:
        yield from _named("ended", words.sentence("not within this journal"), words)
    if report.entries:
        later = [entry.n for entry in report.afterwards if is_of(entry, report.round_id)]
        span = f"{report.entries[0].n} to {max([report.entries[-1].n, *later])}"
        yield from _named(
            "records", words.sentence("inputs in {span} of the journal", span=span), words
        )
    yield from standing_lines(report.standing, words)


def _device(device: Device, words: Words) -> str:
    """Return the shoe's name, its firmware, and whether it proved who it is."""
    parts = [device.device_id or words.sentence("without a name")]
    firmware = words.sentence("firmware {value}", value=device.firmware or "?")
    parts += [words.sentence("profile {value}", value=device.profile), firmware]
    proved = "it proved who it is with a key" if device.authenticated else "it proved nothing"
    return words.join([*parts, words.sentence(proved)], "facts")


def standing_lines(standing: Standing | None, words: Words = ENGLISH) -> Iterator[str]:
    """Return the lines that say on which key, checkpoint and witness a report stands."""
    if standing is None or standing.why_not is not None:
        why = "" if standing is None or standing.why_not is None else f": {standing.why_not}"
        yield from _named("signed", words.sentence("NOT VERIFIED") + why, words)
        return
    signed = words.sentence(
        "checkpoint {number} of {origin}, {time}",
        number=standing.checkpoint,
        origin=standing.origin,
        time=utc(standing.t_us),
    )
    yield from _named("signed", signed, words)
    trust = "trusted" if standing.trusted else "compare it with the casino's"
    yield from _named("key", f"{standing.public_key} ({words.sentence(trust)})", words)
    if standing.witnesses:
        yield from _named("witness", words.join(standing.witnesses), words)
        return
    none = words.sentence("NOT VERIFIED: the holder of the key can sign another journal")
    said = [none]
    if standing.cosigned_by:
        who = words.join(standing.cosigned_by)
        said.append(words.sentence("cosigned, it says, by {who}", who=who))
    yield from _named("witness", words.join(said, "clauses"), words)


def _ids(public: str | None, restricted: str, words: Words) -> str:
    if public is None or not restricted:
        return public or restricted
    return words.sentence("{public}, restricted {restricted}", public=public, restricted=restricted)


def _entries(entries: tuple[Entry, ...], words: Words) -> Iterator[str]:
    width = max((len(str(entry.n)) for entry in entries), default=1)
    idle: list[Entry] = []
    for entry in entries:
        if entry.bytes_sent:
            yield from _folded(idle, width, words)
            idle = []
        for went in entry.bytes_sent:
            yield from _sent(went, width, words)
        if entry.input["input"] == "tick" and not entry.events:
            continue
        if _is_idle(entry):
            idle.append(entry)
            continue
        yield from _folded(idle, width, words)
        idle = []
        yield from _entry(entry, width, words)
    yield from _folded(idle, width, words)


def _is_idle(entry: Entry) -> bool:
    """True if the shoe only said how it is, and nothing came of it."""
    event = entry.input.get("event")
    kind = event.get("type") if isinstance(event, dict) else None
    return kind == "status" and not entry.events


def _folded(idle: list[Entry], width: int, words: Words) -> Iterator[str]:
    """Status messages behind one another, of which nothing came, in one line."""
    if idle:
        first, last = idle[0], idle[-1]
        said = words.sentence(
            "the shoe: status, nothing came of it"
            if len(idle) == 1
            else "the shoe: {many} times status, nothing came of it",
            many=len(idle),
        )
        yield f"{first.n:>{width}} {utc(first.t_us)[11:23]} {said}"
        if first is not last:
            until = words.sentence(
                "up to record {n} at {time}", n=last.n, time=utc(last.t_us)[11:23]
            )
            yield f"{'':>{width}} {until}"


def _entry(entry: Entry, width: int, words: Words) -> Iterator[str]:
    at = utc(entry.t_us)[11:23]
    lead = f"{entry.n:>{width}} {at} "
    indent = " " * len(lead)
    head, more = wording.input_words(entry.input, words)
    yield from _wrapped(head, lead, indent)
    for line in more:
        yield from _wrapped(line, indent, indent + "  ")
    if entry.frame is not None:
        yield from _hex(entry.frame, indent, words)
    commanded = entry.input["input"] == "command"
    for event in entry.events:
        text, lines = wording.event_words(event.type, event.data, words, commanded=commanded)
        secret = "" if event.public is not None else words.sentence(" [restricted]")
        yield from _wrapped(text + secret, indent + "> ", indent + "    ")
        for line in lines:
            yield from _wrapped(line, indent + "    ", indent + "      ")


def _place(frame: RawFrame | SentBytes, words: Words) -> str:
    return words.sentence(
        "connection {connection}, bytes {first} to {last}",
        connection=frame.connection,
        first=frame.first,
        last=frame.last - 1,
    )


def _sent(went: SentBytes, width: int, words: Words) -> Iterator[str]:
    """Yield what went to the shoe, at its time and without a number: it is no input."""
    lead = f"{'':>{width}} {utc(went.t_us)[11:23]} "
    place = _place(went, words)
    yield from _wrapped(words.sentence("to the shoe: {place}:", place=place), lead, " " * len(lead))
    yield from _rows(went.data, " " * len(lead))


def _hex(frame: RawFrame, indent: str, words: Words) -> Iterator[str]:
    """The bytes that said it."""
    place = _place(frame, words)
    if frame.data is None:
        missing = words.sentence("{place}: not all of them are in the journal", place=place)
        yield from _wrapped(missing, indent, indent + "  ")
        return
    yield from _wrapped(place + ":", indent, indent + "  ")
    yield from _rows(frame.data, indent)


def _rows(hex_digits: str, indent: str) -> Iterator[str]:
    """Bytes, as many a line as are easily counted."""
    data = bytes.fromhex(hex_digits)
    for at in range(0, len(data), BYTES_A_LINE):
        yield f"{indent}  {data[at : at + BYTES_A_LINE].hex(' ')}"
