"""What of a journal is disclosed to prove a round: nothing of others; what is missing is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.audit.round_disclosure import prove_round
from shoe_ctl.audit.round_proof import Gap, ProvedRound, verify_proof
from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Direction
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.records import Audience
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened

TABLE = "a"
encode = msgspec.json.Encoder(order="deterministic").encode


class Told:
    """Batches of a table, one for each group, by hand."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self._t_us = T_US

    def bytes(self, offset: int, data: bytes) -> Told:
        batch = self._batch()
        batch.append_wire(
            TABLE, connection=1, direction=Direction.FROM_SHOE, offset=offset,
            t_us=self._t_us, data=data,
        )  # fmt: skip
        return self

    def card(self, first: int, last: int, *events: tuple[str, int], code: str) -> Told:
        """A card that the shoe reports in these bytes, and events of rounds."""
        said = {"type": "card_drawn", "card": code}
        batch = self._input(
            f'"event":{encode(said).decode()},"connection":1,"first":{first},"last":{last}'
        )
        for type_, number in events:
            self._event(batch, type_, number, {"card": code})
        return self

    def command(self, *events: tuple[str, int], **data: Any) -> Told:
        batch = self._input('"command":"some"')
        for type_, number in events:
            self._event(batch, type_, number, data)
        return self

    def _batch(self) -> Batch:
        self._t_us += 1000
        self.batches.append(Batch("0a1b2c3d"))
        return self.batches[-1]

    def _input(self, rest: str) -> Batch:
        batch = self._batch()
        body = f'{{"input":"some","t_us":{self._t_us},{rest}}}'.encode()
        batch.append_input(TABLE, body, self._t_us)
        return batch

    def _event(self, batch: Batch, type_: str, number: int, data: dict[str, Any]) -> None:
        batch.append_event(
            TABLE, Audience.PUBLIC, type_, t_us=self._t_us,
            subject=f"{TABLE}-s1-r{number}", data=data,
        )  # fmt: skip


def proved(path: Path, told: Told, number: int, *, players: bool = False) -> ProvedRound:
    with opened(path) as store:
        for batch in told.batches:
            store.commit([batch])
        store.checkpoint(open_signer(path, None), T_US)
    with Reader.open(path) as reader:
        proof = prove_round(reader, f"{TABLE}-s1-r{number}", players=players)
    return verify_proof(proof.to_bytes())


def bodies(found: ProvedRound) -> bytes:
    return b"\n".join(one.body for one in found.records)


def ordinary() -> Told:
    return (
        Told()
        .command(("round.opened", 1))
        .bytes(0, b"card-4D ")
        .card(0, 8, ("round.card_drawn", 1), code="4D")
        .command(("round.settled", 1))
        .command(("round.opened", 2))
        .bytes(8, b"card-KC ")
        .card(8, 16, ("round.card_drawn", 2), code="KC")
        .command(("round.settled", 2))
    )


@pytest.mark.parametrize(("number", "own", "other"), [(1, b"4D", b"KC"), (2, b"KC", b"4D")])
def test_a_round_is_disclosed_without_the_one_beside_it(
    tmp_path: Path, number: int, own: bytes, other: bytes
) -> None:
    found = proved(tmp_path / "j.db", ordinary(), number)
    assert (found.is_whole, found.ended, found.gaps) == (True, "round.settled", ())
    assert own in bodies(found) and other not in bodies(found)


def test_a_change_of_an_older_round_within_a_round_is_withheld_and_counted(tmp_path: Path) -> None:
    told = Told().command(("round.opened", 1)).command(("round.settled", 1))
    told.command(("round.opened", 2)).command(("round.revised", 1), cards=["9S"])
    told.command(("round.settled", 2))
    path = tmp_path / "j.db"
    found = proved(path, told, 2)
    assert not found.is_whole
    assert found.gaps == (Gap(9, 13, 2, False),)
    assert b"9S" not in bodies(found)
    proof = tmp_path / "r.json"
    assert invoke(shoectl, "prove", path, "--round", "a-s1-r2", "-o", proof).exit_code == 0
    shown = " ".join(invoke(shoectl, "verify", proof).stdout.split())
    assert "NOT WHOLE 2 events of the table are withheld: 2 between records 9 and 13" in shown


def test_a_later_revision_is_in_the_proof_and_what_lies_between_is_not(tmp_path: Path) -> None:
    told = ordinary().command(("round.revised", 1), cards=["9S"])
    found = proved(tmp_path / "j.db", told, 1)
    assert b"9S" in bodies(found) and b"KC" not in bodies(found)
    (gap,) = found.gaps
    assert (gap.events, gap.is_later, found.is_whole) == (6, True, True)


def test_bytes_with_the_beginning_of_the_next_round_s_card_are_withheld(tmp_path: Path) -> None:
    told = Told().command(("round.opened", 1)).bytes(0, b"card-4D card-K")
    told.card(0, 8, ("round.card_drawn", 1), code="4D").command(("round.settled", 1))
    told.command(("round.opened", 2)).bytes(14, b"C ")
    told.card(8, 16, ("round.card_drawn", 2), code="KC").command(("round.settled", 2))
    found = proved(tmp_path / "j.db", told, 1)
    assert b"card-K" not in bodies(found)
    assert b'"4D"' in bodies(found)
    assert (found.is_whole, [gap.events for gap in found.gaps]) == (True, [0])


def test_bytes_of_two_rounds_that_came_at_once_are_in_no_proof(tmp_path: Path) -> None:
    told = Told()
    all_at_once = Batch("0a1b2c3d")
    for batch in (
        Told().bytes(0, b"card-4D card-KC ").batches
        + Told().card(0, 8, ("round.opened", 1), ("round.settled", 1), code="4D").batches
        + Told().card(8, 16, ("round.opened", 2), ("round.settled", 2), code="KC").batches
    ):
        all_at_once.entries += batch.entries
    told.batches.append(all_at_once)
    for number, own, other in ((1, b"4D", b"KC"), (2, b"KC", b"4D")):
        path = tmp_path / f"{number}.db"
        found = proved(path, told, number)
        assert found.is_whole
        assert own in bodies(found) and other not in bodies(found)


def test_a_reason_that_names_a_player_is_withheld_unless_players_are_asked_for(
    tmp_path: Path,
) -> None:
    told = Told().command(("round.opened", 1))
    batch = told._input('"command":"place_wager"')
    batch.append_event(
        TABLE, Audience.PUBLIC, "wager.accepted", t_us=T_US, subject="a-s1-r1",
        data={"seat": 3}, data_restricted={"seat": 3, "player": "Ann Lee"},
    )  # fmt: skip
    told.command(("table.halted", 1), reason="Ann left").command(
        ("table.resumed", 1), reason="ANN LEE came back"
    )
    told.command(("round.settled", 1))
    found = proved(tmp_path / "j.db", told, 1)
    assert b"came back" not in bodies(found) and b"Ann left" in bodies(found)
    assert (found.is_whole, found.left_out) == (False, 1)
    whole = proved(tmp_path / "k.db", told, 1, players=True)
    assert b"came back" in bodies(whole) and b'"Ann Lee"' in bodies(whole)
    assert (whole.is_whole, whole.left_out) == (True, 0)
