"""A round in ten lines of 80 columns: cards, outcome, wagers, irregularities, who decided.

In: an report. Out: lines of text, each cut to its width. Must not know: the journal, terminals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoe_ctl.records import utc
from shoe_ctl.round_report import wording
from shoe_ctl.round_report.collect import RoundReport
from shoe_ctl.terminal_text import printable

COLUMNS = 80
NAME = 10
HANDS = ("player", "banker")

RESTRICTED = "This report is restricted: it shows cards that the table had not seen."

_OUTCOMES = ("round.outcome", "round.revised")
_CARDS = ("round.card_drawn", "round.card_entered", "round.card_corrected", "round.card_revealed")


def summary_lines(report: RoundReport) -> Iterator[str]:
    """Ten lines; each that has much to say begins with how much it is."""
    yield printable(f"Round {report.round_id}", most=COLUMNS)
    yield RESTRICTED
    rows = [("played", _played(report))]
    rows += [(hand.capitalize(), _hand(report, hand)) for hand in HANDS]
    rows += [
        ("outcome", _outcome(report)),
        ("won", _won(report)),
        ("wagers", _wagers(report)),
        ("seen", _irregularities(report)),
        ("decided", _decisions(report)),
    ]
    for name, text in rows:
        yield printable(f"{name:<{NAME}}{text}", most=COLUMNS)


def _played(report: RoundReport) -> str:
    method = next((e.data.get("method") for e in report.events("round.outcome")), None)
    game = "a game that the journal does not name" if report.rules is None else report.rules.title
    parts = [f"table {report.table}", *([f"Method {method}"] if method else []), game]
    if report.entries:
        began = utc(report.entries[0].t_us)[:19].replace("T", " ")
        parts = [began, _seconds(report), *parts]
    return ", ".join(parts)


def _seconds(report: RoundReport) -> str:
    if report.ended is None:
        return "no end"
    return f"{(report.entries[-1].t_us - report.entries[0].t_us) / 1e6:.0f} s"


def _last_outcome(report: RoundReport) -> Mapping[str, Any] | None:
    found = list(report.events(*_OUTCOMES))
    return found[-1].data if found else None


def _hand(report: RoundReport, hand: str) -> str:
    """The hand that counted; of a round without an outcome, the cards that lay there."""
    if (outcome := _last_outcome(report)) is not None:
        held = outcome[hand]
        natural = ", Natural" if held["natural"] else ""
        return f"{' '.join(held['cards'])}  = {held['total']}{natural}"
    cards: dict[int, str] = {}
    for event in report.events(*_CARDS):
        if event.data.get("hand") == hand and isinstance(event.data.get("index"), int):
            cards[event.data["index"]] = event.data.get("card") or "not read"
    return " ".join(cards[index] for index in sorted(cards)) or "no card"


def _outcome(report: RoundReport) -> str:
    void = next(report.events("round.void"), None)
    if void is not None:
        rule = void.data.get("rule")
        cited = "no rule to cite" if rule is None else f"under rule {rule}"
        return f"void: {wording.readable_name(str(void.data.get('reason', '?')))}, {cited}"
    found = list(report.events(*_OUTCOMES))
    if not found:
        return "none within this journal"
    data = found[-1].data
    high, low = sorted((data[hand]["total"] for hand in HANDS), reverse=True)
    winner = {"tie": "tie"}.get(data["winner"], f"{str(data['winner']).capitalize()} wins")
    revised = f"; revised {_times(len(found) - 1)}" if len(found) > 1 else ""
    manual = ", entered by hand" if data.get("manual") else ""
    rules = f", under {', '.join(data['rules'])}" if data.get("rules") else ""
    return f"{winner}, {high} to {low}{manual}{rules}{revised}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _won(report: RoundReport) -> str:
    outcome = _last_outcome(report)
    return "nothing was decided" if outcome is None else wording.won_text(outcome)


def _wagers(report: RoundReport) -> str:
    """Return what was settled, each as it was settled last."""
    settled: dict[object, Mapping[str, Any]] = {}
    for event in report.events("wager.settled", "wager.revised"):
        settled[event.data.get("number")] = event.data
    if not settled:
        return "none were told to the table"
    lines = [
        f"{one.get('player') or 'seat ' + str(one.get('seat'))} "
        f"{wording.readable_name(str(one.get('wager')))} {one.get('stake'):,} {one.get('result')}"
        for one in settled.values()
    ]
    return f"{len(lines)}: {'; '.join(lines)}"


def _irregularities(report: RoundReport) -> str:
    raised = [event.data for event in report.events("irregularity.raised")]
    if not raised:
        return "no irregularity"
    ends: dict[str, list[str]] = {}
    for event in report.events("irregularity.resolved"):
        rule = event.data.get("rule")
        how = wording.readable_name(str(event.data.get("how")))
        key = str(event.data.get("key"))
        ends.setdefault(key, []).append(how if rule is None else f"{how} ({rule})")
    lines: list[str] = []
    for one in raised:
        key = str(one.get("key"))
        left = ends.get(key)
        lines.append(f"{wording.readable_name(key)}: {left.pop(0) if left else 'still open'}")
    many = "1 irregularity" if len(lines) == 1 else f"{len(lines)} irregularities"
    return f"{many}: {'; '.join(lines)}"


def _decisions(report: RoundReport) -> str:
    """Rulings, and whatever else someone gave a reason or consent for; each person's together."""
    lines: dict[str, list[str]] = {}
    for entry in (*report.entries, *report.afterwards):
        said = entry.input
        if said["input"] != "command" or any(e.type == "command.refused" for e in entry.events):
            continue
        if said["command"] == "decide" or said.get("reason") or said.get("consented_by"):
            who = f"{wording.person_text(said)}: "
            lines.setdefault(who, []).append(wording.input_words(said)[0].removeprefix(who))
    if not lines:
        return "nothing needed a decision"
    each = "; ".join(f"{who}{', '.join(said)}" for who, said in lines.items())
    return f"{sum(map(len, lines.values()))}: {each}"
