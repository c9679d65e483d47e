"""``shoectl verify`` of the proof of one round: what it proves, and the report on the round.

In: the file of a proof, public keys, keys of witnesses. Out: lines for people or one JSON object.
Must not know: how a proof is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.errors import InputRefused

if TYPE_CHECKING:
    from shoe_ctl.audit.round_proof import ProvedRound
    from shoe_ctl.journal.signed_note import VerifierKey


def verify_proof(
    path: Path,
    trusted: frozenset[bytes],
    witnesses: Sequence[VerifierKey],
    write: Callable[[str, str], None],
    *,
    as_json: bool,
) -> None:
    """Verify a proof and print the round.

    Raises:
        InputRefused: the proof does not hold: one line says what and where.
        JournalError: the file cannot be read.
    """
    from shoe_ctl.audit import round_proof
    from shoe_ctl.audit.proved_report import proved_report
    from shoe_ctl.round_report.render import render_page

    try:
        found = round_proof.verify_proof(round_proof.read_proof(path), trusted, witnesses)
    except InputRefused as error:
        raise InputRefused(f"{path}: NOT VERIFIED: {error}") from None
    report = proved_report(found, path)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(_plain(found) | {"report": report}))
        return
    write("proof", f"{path}")
    for name, value in _rows(found):
        write(name, value)
    click.echo()
    for line in render_page(report):
        click.echo(line)


def _rows(found: ProvedRound) -> Iterator[tuple[str, str]]:
    from shoe_ctl.records import utc

    first, last = found.records[0].n, found.records[-1].n
    yield "round", f"{found.round_id}, {found.ended.partition('.')[2]}"
    yield "records", f"{first:,} to {last:,} of table {found.table}, in {found.groups} groups"
    within = [gap for gap in found.gaps if not gap.is_later]
    if found.is_whole:
        yield "whole", "every event of the table between them is here"
    else:
        events = sum(gap.events for gap in within)
        places = "; ".join(
            f"{gap.events} between records {gap.after:,} and {gap.before:,}"
            for gap in within
            if gap.events
        )
        yield "NOT WHOLE", f"{events} events of the table are withheld: {places}"
    if found.left_out:
        count = found.left_out
        many = "1 record that names" if count == 1 else f"{count} records that name"
        yield "left out", f"{many} a Player"
    said = found.said
    signed = f"checkpoint {said.number} of {said.origin}, {utc(said.t_us)}"
    yield "signed", f"{signed}, records up to {said.upto:,}"
    trust = "trusted" if found.trusted else "compare it with the casino's, or give --public-key"
    yield "public key", f"{found.public_key.hex()}: {trust}"
    for each in found.witnesses:
        yield "witness", f"{each.key.name}: seen {utc((each.t_s or 0) * 1_000_000)}"
    if not found.witnesses:
        names = ", ".join(found.cosigned_by)
        claimed = f"; {names} cosigned it: give --witness to verify that" if names else ""
        yield "witness", f"NOT VERIFIED: who holds the key can have signed another journal{claimed}"


def _plain(found: ProvedRound) -> dict[str, object]:
    said = found.said
    return {
        "ok": True,
        "round": found.round_id,
        "table": found.table,
        "first_n": found.records[0].n,
        "last_n": found.records[-1].n,
        "ended": found.ended,
        "whole": found.is_whole,
        "left_out": found.left_out,
        "withheld": [
            {"after": gap.after, "before": gap.before, "events": gap.events, "later": gap.is_later}
            for gap in found.gaps
        ],
        "checkpoint": {
            "origin": said.origin,
            "number": said.number,
            "size": said.size,
            "upto": said.upto,
            "t_us": said.t_us,
        },
        "public_key": found.public_key.hex(),
        "trusted": found.trusted,
        "witnessed": [{"witness": each.key.name, "t_s": each.t_s} for each in found.witnesses],
        "cosigned_by": list(found.cosigned_by),
    }
