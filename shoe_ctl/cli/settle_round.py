"""``shoectl settle --from``: settle the wagers that a journal recorded of one round again.

In: a journal or the proof of a round. Out: a line for each wager, or one JSON object. Must not
know: how a wager is settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoe_ctl.cli.common import explain_damage, format_row
from shoe_ctl.errors import UsageError
from shoe_ctl.terminal_text import printable, wrap

if TYPE_CHECKING:
    from shoe_ctl.audit.round_settlement import RoundSettlement
    from shoe_ctl.journal.record_format import Meta
    from shoe_ctl.records import Record
    from shoe_ctl.round_report.collect import RoundReport

COLUMNS = 80
_STANDS_ON = "stands on  "
_HEADS = ("NO", "SEAT", "WAGER", "STAKE", "RESULT", "ODDS", "PAYS", "RULE")
_WIDTHS = (-3, -4, 18, -9, 8, 6, -9, 0)


def settle_recorded(path: Path, round_id: str | None, *, as_json: bool) -> bool:
    """Print the round settled again; return True if the record says the same.

    Raises:
        UsageError: no round is named, or another than the proof has.
        InputRefused: there is no such round, it has no end, or the proof does not hold.
        JournalError: the file cannot be read.
    """
    from shoe_ctl.audit.round_proof import is_proof
    from shoe_ctl.audit.round_settlement import settle_again

    with explain_damage(path):
        report, start, stands_on = (_proved if is_proof(path) else _recorded)(path, round_id)
        found = settle_again(report, start)
    if as_json:
        import msgspec

        said = msgspec.to_builtins(found) | {"agrees": found.agrees, "stands_on": stands_on}
        click.echo(msgspec.json.encode(said))
        return found.agrees
    for line in _lines(found):
        click.echo(printable(line, most=COLUMNS))
    for line in wrap(printable(stands_on), COLUMNS, first=_STANDS_ON, rest=" " * len(_STANDS_ON)):
        click.echo(line)
    return found.agrees


def _recorded(path: Path, round_id: str | None) -> tuple[RoundReport, Meta | None, str]:
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.record_format import Kind
    from shoe_ctl.round_report.collect import collect
    from shoe_ctl.round_report.lookup import find_round

    if round_id is None:
        raise UsageError("--from a journal needs --round: shoectl rounds lists them")
    with Reader.open(path) as reader:
        place = find_round(reader, round_id)
        record = next(reader.indexed_records(place.table, Kind.META, before=place.n), None)
        stands_on = f"NOT VERIFIED: run shoectl verify {path}, or settle a proof of the round"
        return collect(reader, place), _start(record), stands_on


def _proved(path: Path, round_id: str | None) -> tuple[RoundReport, Meta | None, str]:
    from shoe_ctl.audit.proved_report import proved_report
    from shoe_ctl.audit.round_proof import read_proof, verify_proof

    found = verify_proof(read_proof(path))
    if round_id not in (None, found.round_id):
        raise UsageError(f"{path} is the proof of {found.round_id}, not of {round_id}")
    said = found.said
    stands_on = f"checkpoint {said.number} of {said.origin}, key {found.public_key.hex()}"
    return proved_report(found, path), _start(found.rules), stands_on


def _start(record: Record | None) -> Meta | None:
    from shoe_ctl.journal.record_format import Meta

    return None if record is None else Meta.from_bytes(record.body)


def _lines(found: RoundSettlement) -> Iterator[str]:
    yield f"round {found.round_id}: {'void' if found.winner is None else found.winner}"
    if found.wagers:
        yield format_row(_HEADS, _WIDTHS)
    for one in found.wagers:
        yield format_row(_cells(one.computed or one.recorded or {}), _WIDTHS)
        for key in one.differs:
            was = "nothing" if one.recorded is None else one.recorded.get(key)
            yield f"    DIFFERS: {key} was recorded as {was}, and is {one.computed.get(key)}"
    for key in found.differs:
        yield f"DIFFERS: {key} of the recorded outcome"
    many = len(found.wagers)
    wagers = "1 wager" if many == 1 else f"{many} wagers"
    yield f"{wagers}: {'as recorded' if found.agrees else 'NOT as recorded'}"


def _cells(said: Mapping[str, Any]) -> tuple[str, ...]:
    keys = ("number", "seat", "wager", "stake", "result", "odds", "pays", "rule")
    return tuple("" if said.get(key) is None else str(said[key]) for key in keys)
