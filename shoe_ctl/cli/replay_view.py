"""The findings of both replays, laid out for reading: 80 columns, one round after the other.

In: what a replay found, what it went by. Out: lines of text.
Must not know: the journal, options, terminals.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from typing import Any

from shoe_ctl.replay.difference import Difference
from shoe_ctl.replay.replay import Replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.terminal_text import printable

COLUMNS = 80
MOST_ROUNDS = 20
"""Rounds that are told of one by one; a changed game file changes them all."""

MOST_FIELDS = 8
_NAME = 13
_SOURCES = {"wire": "bytes to inputs", "inputs": "inputs to events"}


def lines(found: Replay, sessions: RecordedSessions, *, same_rules: bool = False) -> Iterator[str]:
    """The differences, and a summary; ``same_rules``: no other game files explain a difference."""
    rounds = [list(of) for _, of in groupby(found.differences, lambda d: (d.table, d.round_id))]
    rounds.sort(key=_by_money)
    for of in rounds[:MOST_ROUNDS]:
        yield from _round(of)
        yield ""
    if len(rounds) > MOST_ROUNDS:
        yield f"... and more: --json lists {len(found.differences):,} differences"
        yield ""
    yield from _summary(found)
    if (money := found.money) is not None:
        many = "1 round" if money.rounds == 1 else f"{money.rounds:,} rounds"
        yield from named("money", f"of {many} differs: {_house(Fraction(money.worth))}")
    if found.found and same_rules:
        yield from named("see", "shoectl verify finds whether anything was altered, and where")
    yield from _keys(sessions)


def _summary(found: Replay) -> Iterator[str]:
    many = f"{found.rounds:,} round{'' if found.rounds == 1 else 's'} replayed"
    if not found.found:
        same = "that is left is the same" if found.missing else "is the same"
        yield f"{many}: every input and every event {same}"
    else:
        differ = f"{found.found:,} difference{'' if found.found == 1 else 's'}"
        of = f"{found.rounds_differing:,} of them"
        yield f"{many}: {differ}, in {of}" if found.rounds_differing else f"{many}: {differ}"
    if found.stopped_at is not None:
        said = f"at record {found.stopped_at:,}, after the first difference; add --all to continue"
        yield from named("stopped", said)
    if found.followed:
        many = "1 input" if found.followed == 1 else f"{found.followed:,} inputs"
        said = f"{many} differ only because of an earlier difference; they are not listed"
        yield from named("followed", said)
    for first, last in found.missing:
        records = f"record {first:,} is" if first == last else f"records {first:,} to {last:,} are"
        yield from named("MISSING", f"{records} not in the journal; see: shoectl verify")
    for software, count in found.not_compared.items():
        many = "1 snapshot" if count == 1 else f"{count:,} snapshots"
        said = f"{many} of shoe-ctl {software}: their states have another form in this version"
        yield from named("not compared", printable(said))
    links = "1 connection" if found.connections == 1 else f"{found.connections:,} connections"
    yield from named("decoded", f"{found.bytes:,} bytes from shoes, on {links}")
    if found.overheard:
        said = f"{found.overheard:,} bytes of connections that began before this journal does"
        yield from named("overheard", f"{said}: decoded frame by frame, without what came before")


def _keys(sessions: RecordedSessions) -> Iterator[str]:
    if not sessions.authenticated:
        if sessions.checks:
            said = "no connection on which a shoe must authenticate begins in this journal"
            yield from named("not checked", said)
        return
    count = sessions.authenticated
    many = "1 connection" if count == 1 else f"{count:,} connections"
    if not sessions.checks:
        said = f"{many} had to authenticate; proofs and MACs are taken as recorded."
        yield from named("not checked", f"{said} To check them, add --key-file")
        return
    for device_id, key_id in sorted(sessions.missing):
        said = f"key {key_id} of {device_id} is not in the key file: from its first use on,"
        yield from named("not checked", f"{said} proofs and MACs are taken as recorded")
    if not sessions.missing:
        yield from named("checked", f"every proof and MAC, on {many}")


def named(name: str, said: str) -> Iterator[str]:
    """A name and what is said of it, wrapped beside it."""
    yield from textwrap.wrap(
        said,
        COLUMNS,
        initial_indent=f"{name:<{_NAME}}",
        subsequent_indent=" " * _NAME,
        break_on_hyphens=False,
    )


def _round(of: list[Difference]) -> Iterator[str]:
    """A round's first difference, and how many more there are."""
    first = next((one for one in of if one.worth is not None), of[0])
    money = _money(of)
    yield _cut(first.round_id or f"table {first.table}, in no round")
    if money is not None:
        yield f"  {_house(money)}"
    head = f"  record {first.n:,}, {_SOURCES[first.replay]}: {first.why}"
    yield from textwrap.wrap(head, COLUMNS, subsequent_indent="    ", break_on_hyphens=False)
    yield from _what(first)
    if len(of) > 1:
        yield f"  and {len(of) - 1:,} more in this round"


_OF_OUTCOMES = ("round.outcome", "round.revised", "round.void", "round.reopened")


def _by_money(of: list[Difference]) -> tuple[int, Fraction]:
    """Sort what changes money first, the most of it first, then other outcomes."""
    money = _money(of)
    if money is not None:
        return 0, -abs(money)
    return (1 if any(_is_outcome(one) for one in of) else 2), Fraction(0)


def _is_outcome(difference: Difference) -> bool:
    said = _plain(difference.recorded), _plain(difference.replayed)
    return any(isinstance(one, dict) and one.get("type") in _OF_OUTCOMES for one in said)


def _money(of: list[Difference]) -> Fraction | None:
    """Return how much more the house has by the replay; None where no wager's money differs."""
    each = [Fraction(one.worth) for one in of if one.worth is not None]
    return sum(each, Fraction(0)) if each else None


def _house(worth: Fraction) -> str:
    """Return who has how much by the replay."""
    who = "the house" if worth >= 0 else "the Players"
    return f"{who} would have {abs(worth)} more by the replay, in minor units"


def _what(difference: Difference) -> Iterator[str]:
    recorded, replayed = _plain(difference.recorded), _plain(difference.replayed)
    if not (isinstance(recorded, dict) and isinstance(replayed, dict)):
        if difference.recorded is not None:
            yield _cut(f"    recorded  {_kind(recorded)}")
        if difference.replayed is not None:
            yield _cut(f"    replayed  {_kind(replayed)}")
        return
    fields = list(_fields("", recorded, replayed))
    for name, left, right in fields[:MOST_FIELDS]:
        yield _cut(f"    {name}: {left} -> {right}")
    if len(fields) > MOST_FIELDS:
        yield f"    and {len(fields) - MOST_FIELDS} more fields"


def _plain(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


def _kind(value: Any) -> str:
    """An event or input that has nothing to be held against."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _fields(name: str, left: Any, right: Any) -> Iterator[tuple[str, str, str]]:
    """Every field that differs, by its path."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys([*left, *right]):
            inner = f"{name}.{key}" if name else key
            yield from _fields(inner, left.get(key, _NOTHING), right.get(key, _NOTHING))
    elif left != right:
        yield name, _shown(left), _shown(right)


class _Nothing:
    pass


_NOTHING = _Nothing()


def _shown(value: Any) -> str:
    if isinstance(value, _Nothing):
        return "(nothing)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 24 else f"{text[:21]}..."


def _cut(line: str) -> str:
    return printable(line, most=COLUMNS)
