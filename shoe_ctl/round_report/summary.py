"""A round in ten lines of 80 columns: cards, outcome, wagers, irregularities, who decided.

In: an report. Out: lines of text, each cut to its width. Must not know: the journal, terminals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoe_ctl.records import utc
from shoe_ctl.round_report import wording
from shoe_ctl.round_report.collect import RoundReport
from shoe_ctl.round_report.wording import ENGLISH
from shoe_ctl.terminal_text import pad, printable, wrap
from shoe_ctl.texts.screen import Words

COLUMNS = 80
NAME = 10
CONTRADICTED = 14
HANDS = ("player", "banker")

RESTRICTED = "This report is restricted: it shows cards that the table had not seen."

_OUTCOMES = ("round.outcome", "round.revised")
_CARDS = ("round.card_drawn", "round.card_entered", "round.card_corrected", "round.card_revealed")


def summary_lines(report: RoundReport, words: Words = ENGLISH) -> Iterator[str]:
    """Ten lines; each that has much to say begins with how much it is.

    A reading that people contradicted comes first, in further lines that are not cut.
    """
    yield printable(words.sentence("Round {round}", round=report.round_id), most=COLUMNS)
    yield printable(words.sentence(RESTRICTED), most=COLUMNS)
    for text in _contradictions(report, words):
        first = pad(words.name("report", "contradicted"), CONTRADICTED)
        yield from wrap(printable(text), COLUMNS, first=first, rest=" " * CONTRADICTED)
    rows = [("played", _played(report, words))]
    rows += [(hand.capitalize(), _hand(report, hand, words)) for hand in HANDS]
    rows += [
        ("outcome", _outcome(report, words)),
        ("won", _won(report, words)),
        ("wagers", _wagers(report, words)),
        ("seen", _irregularities(report, words)),
        ("decided", _decisions(report, words)),
    ]
    for name, text in rows:
        yield printable(f"{pad(words.name('report', name), NAME)}{text}", most=COLUMNS)


def _contradictions(report: RoundReport, words: Words) -> Iterator[str]:
    """Yield each reading that people contradicted, with both persons and the reason."""
    for event in report.events("round.card_corrected", "round.card_moved"):
        data = event.data
        if event.type == "round.card_corrected":
            card, was = data.get("card"), data.get("was")
            what = words.sentence("{was} is now {card}", was=was, card=card)
            parts = [f"{_slot(data, words)}: {what}"]
        else:
            to = _slot(data, words) if data.get("hand") else words.sentence("no hand")
            held = _slot(data.get("from") or {}, words)
            parts = [words.sentence("moved from {was} to {card}", was=held, card=to)]
        parts.append(wording.person_text(data, words))
        if data.get("consented_by"):
            parts.append(words.sentence("second person: {who}", who=data["consented_by"]))
        if data.get("why"):
            parts.append(words.sentence("reason: {why}", why=data["why"]))
        yield words.join(parts, "clauses")


def _slot(place: Mapping[str, Any], words: Words) -> str:
    hand = words.name("report", str(place.get("hand")).capitalize())
    return f"{hand} {place.get('index')}"


def _played(report: RoundReport, words: Words) -> str:
    method = next((e.data.get("method") for e in report.events("round.outcome")), None)
    rules = report.rules
    game = (
        words.sentence("a game that the journal does not name")
        if rules is None
        else wording.game_title(rules.game, rules.title, words)
    )
    parts = [words.sentence("table {value}", value=report.table)]
    parts += [words.sentence("Method {value}", value=method)] if method else []
    parts.append(game)
    if report.entries:
        began = utc(report.entries[0].t_us)[:19].replace("T", " ")
        parts = [began, _seconds(report, words), *parts]
    return words.join(parts, "facts")


def _seconds(report: RoundReport, words: Words) -> str:
    if report.ended is None:
        return words.sentence("no end")
    lasted = (report.entries[-1].t_us - report.entries[0].t_us) / 1e6
    return words.sentence("{seconds:.0f} s", seconds=lasted)


def _last_outcome(report: RoundReport) -> Mapping[str, Any] | None:
    found = list(report.events(*_OUTCOMES))
    return found[-1].data if found else None


def _hand(report: RoundReport, hand: str, words: Words) -> str:
    """The hand that counted; of a round without an outcome, the cards that lay there."""
    if (outcome := _last_outcome(report)) is not None:
        held = outcome[hand]
        natural = words.sentence(", Natural") if held["natural"] else ""
        return f"{' '.join(held['cards'])}  = {held['total']}{natural}"
    cards: dict[int, str] = {}
    for event in report.events(*_CARDS):
        if event.data.get("hand") == hand and isinstance(event.data.get("index"), int):
            cards[event.data["index"]] = event.data.get("card") or words.sentence("not read")
    return " ".join(cards[index] for index in sorted(cards)) or words.sentence("no card")


def _outcome(report: RoundReport, words: Words) -> str:
    void = next(report.events("round.void"), None)
    if void is not None:
        rule = void.data.get("rule")
        reason = words.code(str(void.data.get("reason", "?")))
        text = words.sentence("void: {reason}", reason=reason)
        if rule is None:
            return text + words.sentence(", no rule to cite")
        return text + words.sentence(", under rule {rule}", rule=rule)
    found = list(report.events(*_OUTCOMES))
    if not found:
        return words.sentence("none within this journal")
    data = found[-1].data
    high, low = sorted((data[hand]["total"] for hand in HANDS), reverse=True)
    parts = [wording.winner_text(str(data["winner"]), words)]
    parts.append(words.sentence("{high} to {low}", high=high, low=low))
    parts += [words.sentence("entered by hand")] if data.get("manual") else []
    cited = data.get("rules")
    parts += [words.sentence("under {rules}", rules=words.join(cited))] if cited else []
    text = words.join(parts, "facts")
    if len(found) == 1:
        return text
    times = len(found) - 1
    revised = "revised once" if times == 1 else "revised {times} times"
    return words.join([text, words.sentence(revised, times=times)], "clauses")


def _won(report: RoundReport, words: Words) -> str:
    outcome = _last_outcome(report)
    if outcome is None:
        return words.sentence("nothing was decided")
    return wording.won_text(outcome, words)


def _wagers(report: RoundReport, words: Words) -> str:
    """Return what was settled, each as it was settled last."""
    settled: dict[object, Mapping[str, Any]] = {}
    for event in report.events("wager.settled", "wager.revised"):
        settled[event.data.get("number")] = event.data
    if not settled:
        return words.sentence("none were told to the table")
    lines = []
    for one in settled.values():
        who = one.get("player") or words("seat", seat=one.get("seat"))
        wager = words.name("wager", str(one.get("wager")))
        result = words.name("settled", str(one.get("result")))
        lines.append(f"{who} {wager} {one.get('stake'):,} {result}")
    return f"{len(lines)}: {words.join(lines, 'clauses')}"


def _irregularities(report: RoundReport, words: Words) -> str:
    raised = [event.data for event in report.events("irregularity.raised")]
    if not raised:
        return words.sentence("no irregularity")
    ends: dict[str, list[str]] = {}
    for event in report.events("irregularity.resolved"):
        rule = event.data.get("rule")
        how = words.name("how", str(event.data.get("how")))
        key = str(event.data.get("key"))
        ends.setdefault(key, []).append(how if rule is None else f"{how} ({rule})")
    lines: list[str] = []
    for one in raised:
        key = str(one.get("key"))
        left = ends.get(key)
        end = left.pop(0) if left else words.sentence("still open")
        lines.append(f"{words.name('key', key)}: {end}")
    many = words.sentence(
        "1 irregularity" if len(lines) == 1 else "{many} irregularities", many=len(lines)
    )
    return f"{many}: {words.join(lines, 'clauses')}"


def _decisions(report: RoundReport, words: Words) -> str:
    """Rulings, and whatever else someone gave a reason or consent for; each person's together."""
    lines: dict[str, list[str]] = {}
    for entry in (*report.entries, *report.afterwards):
        said = entry.input
        if said["input"] != "command" or any(e.type == "command.refused" for e in entry.events):
            continue
        if said["command"] == "decide" or said.get("reason") or said.get("consented_by"):
            who = f"{wording.person_text(said, words)}: "
            lines.setdefault(who, []).append(wording.input_words(said, words)[0].removeprefix(who))
    if not lines:
        return words.sentence("nothing needed a decision")
    each = words.join((f"{who}{words.join(said)}" for who, said in lines.items()), "clauses")
    return f"{sum(map(len, lines.values()))}: {each}"
