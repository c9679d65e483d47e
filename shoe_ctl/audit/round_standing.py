"""The standing of a report on a round: it is proved, as ``shoectl prove`` does, and verified.

In: a reader, or a proved round. Out: a Standing. Must not know: how a report is made or shown.
"""

from __future__ import annotations

from shoe_ctl.audit.round_disclosure import prove_round
from shoe_ctl.audit.round_proof import ProvedRound, verify_proof
from shoe_ctl.errors import CorruptJournal, InputRefused
from shoe_ctl.journal.cosignatures import cosignatures_path
from shoe_ctl.journal.reader import Reader
from shoe_ctl.round_report.collect import Standing


def round_standing(reader: Reader, round_id: str) -> Standing:
    """Return what a journal's round stands on: the checkpoint that signs all of its records.

    Where that does not hold the report is of use all the same: it says so.

    Raises:
        JournalError: the journal cannot be read.
    """
    try:
        cosigned = cosignatures_path(reader.path)
        proof = prove_round(reader, round_id, players=True, cosigned=cosigned)
        return proved_standing(verify_proof(proof.to_bytes()))
    except InputRefused as error:
        return Standing(why_not=str(error).removeprefix(f"{reader.path}: "))
    except CorruptJournal as error:
        return Standing(why_not=error.what)


def proved_standing(proved: ProvedRound) -> Standing:
    """Return what a proved round stands on."""
    said = proved.said
    return Standing(
        checkpoint=said.number,
        origin=said.origin,
        t_us=said.t_us,
        public_key=proved.public_key.hex(),
        trusted=proved.trusted,
        witnesses=tuple(each.key.name for each in proved.witnesses),
        cosigned_by=proved.cosigned_by,
        why_not=None,
    )
