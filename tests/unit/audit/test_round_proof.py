"""The proof of one round: it stands alone, and gives nothing of other rounds or of Players."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from shoe_ctl.audit.proved_report import proved_report
from shoe_ctl.audit.round_disclosure import prove_round
from shoe_ctl.audit.round_proof import (
    ProofError,
    ProvedGroup,
    RoundProof,
    verify_proof,
)
from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import EnvironmentFault, InputRefused
from shoe_ctl.journal.cosignatures import append_cosigned, cosignatures_path, encode_cosigned
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.round_index import RoundQuery
from shoe_ctl.journal.signed_note import (
    COSIGNATURE,
    NoteError,
    cosign,
    read_checkpoint_text,
    read_note,
    verifier_key,
)
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.round_report.collect import collect
from shoe_ctl.round_report.lookup import find_round
from shoe_testing.checkpoints import KEY_RULING, key_of
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import (
    IMPLIED_SETTINGS,
    T_US,
    dealt_by,
    dealt_journal,
    journal_table,
    opened,
    records,
    stored_round,
    table_meta,
)
from simulators.table.scenario import find

SCENARIOS = (
    *("power_failure_withdrawn", "older_round_revised", "outcome_revised", "finished_by_hand"),
    *("early_draw_set_aside", "host_restart", "late_wager_retracted", "wagers_returned"),
)
NAMED = ("power_failure_withdrawn", "t1-s1-r1")
"""A round with Players called ann and bo."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each of the scenarios, each with its journal."""
    folder = tmp_path_factory.mktemp("played")

    async def play(name: str) -> None:
        (folder / name).mkdir()
        _, _, stuck = await play_through_daemon(find(name), folder / name)
        assert stuck is None

    async def play_all() -> None:
        await asyncio.gather(*map(play, SCENARIOS))

    asyncio.run(play_all())
    return folder


def proof_of(journal: Path, round_id: str, *, players: bool = False) -> RoundProof:
    with Reader.open(journal) as reader:
        return prove_round(reader, round_id, players=players, cosigned=cosignatures_path(journal))


def rounds_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """The rounds that are over, each with its journal."""
    for journal in sorted(folder.glob("*/journal.db")):
        with Reader.open(journal) as reader:
            for of in list(reader.rounds(RoundQuery())):
                try:
                    proof_of(journal, str(of.id))
                except InputRefused as error:
                    assert "is not over" in str(error)  # noqa: PT017 - the others are proved
                else:
                    yield journal, str(of.id)


@pytest.fixture(scope="module")
def named(played: Path) -> RoundProof:
    return proof_of(played / NAMED[0] / "journal.db", NAMED[1])


def events_of(journal: Path) -> list[bytes]:
    return [one.body for one in records(journal) if one.kind == Kind.RESTRICTED.value]


def test_every_round_of_a_daemon_is_proved_and_reads_as_in_its_journal(played: Path) -> None:
    proved = 0
    for journal, round_id in rounds_of(played):
        found = verify_proof(proof_of(journal, round_id, players=True).to_bytes())
        with Reader.open(journal) as reader:
            whole = collect(reader, find_round(reader, round_id))
        report = proved_report(found, journal)
        assert (report.round_id, report.ended) == (round_id, whole.ended)
        assert report.rules == whole.rules
        if found.is_whole:
            assert [entry.n for entry in report.entries] == [entry.n for entry in whole.entries]
            assert [e.events for e in report.entries] == [e.events for e in whole.entries]
        revised = [
            event["id"]
            for event in map(json.loads, events_of(journal))
            if (event["type"], event.get("subject")) == ("round.revised", round_id)
        ]
        for each in (report, whole):
            of_round = [e for e in each.events("round.revised") if e.subject == round_id]
            assert [event.restricted for event in of_round] == revised
        proved += 1
    assert proved >= len(SCENARIOS)


def test_a_proof_has_the_records_of_the_journal_and_those_of_no_other_round(played: Path) -> None:
    for journal, round_id in rounds_of(played):
        stored = {record.n: record.body for record in records(journal)}
        found = verify_proof(proof_of(journal, round_id, players=True).to_bytes())
        assert {one.n: one.body for one in found.records}.items() <= stored.items()
        for one in found.records:
            assert one.kind not in {Kind.SNAPSHOT.value, Kind.CHECKPOINT.value}
            if one.kind.startswith("event."):
                subject = json.loads(one.body).get("subject")
                assert subject in (None, round_id, round_id.rpartition("-r")[0])


def test_players_are_named_in_a_proof_only_where_that_is_asked_for(played: Path) -> None:
    journal, round_id = played / NAMED[0] / "journal.db", NAMED[1]
    name = re.compile(rb'"(ann|bo)"')
    without = verify_proof(proof_of(journal, round_id).to_bytes())
    assert without.left_out > 0
    assert not any(name.search(one.body) for one in without.records)
    whole = verify_proof(proof_of(journal, round_id, players=True).to_bytes())
    assert whole.left_out == 0
    assert {found[1] for one in whole.records if (found := name.search(one.body))} == {
        b"ann",
        b"bo",
    }
    assert len(whole.records) > len(without.records)
    assert [
        one.n
        for one in whole.records
        if b'"wager.settled"' in one.body and one.kind == Kind.PUBLIC.value
    ] == [one.n for one in without.records if b'"wager.settled"' in one.body]


def test_no_name_of_a_player_is_in_any_proof_of_any_scenario(played: Path) -> None:
    """Names are taken from the commands of the journal, by their arguments alone."""
    for journal, round_id in rounds_of(played):
        names = {
            given["args"]["player"]
            for record in records(journal)
            if record.kind == Kind.INPUT.value
            and (given := json.loads(record.body)).get("input") == "command"
            and isinstance(given["args"].get("player"), str)
            and " " not in given["args"]["player"]
        }
        found = verify_proof(proof_of(journal, round_id).to_bytes())
        for one in found.records:
            words = set(re.findall(r"\w+", one.body.decode("latin-1")))
            assert not names & words, (round_id, one.body)


@pytest.mark.parametrize("profile", ["reference", "angel_eye", "bee_tek"])
def test_an_ordinary_round_s_proof_is_short_and_whole(tmp_path: Path, profile: str) -> None:
    path = tmp_path / "journal.db"
    dealt_journal(path, profile, 40)
    with opened(path) as store:
        store.checkpoint(open_signer(path, None), T_US)
    for number in (1, 2, 17, 40):
        data = proof_of(path, f"t1-s1-r{number}", players=True).to_bytes()
        found = verify_proof(data)
        assert len(data) < 20_000
        assert (found.is_whole, found.rules is not None) == (True, True)


@pytest.mark.parametrize("is_endorsed", [True, False])
def test_a_proof_is_trusted_with_the_key_that_endorsed_the_one_that_signed_it(
    tmp_path: Path, is_endorsed: bool
) -> None:
    path = tmp_path / "journal.db"
    old, new = key_of(21), key_of(22)
    with opened(path) as store:
        store.commit([stored_round(1, "other")])
        store.checkpoint(old, T_US)
    dealt_journal(path, "reference", 2)
    with opened(path) as store:
        store.change_key(new, T_US + 1, KEY_RULING, endorser=old if is_endorsed else None)
    data = proof_of(path, "t1-s1-r1").to_bytes()
    assert verify_proof(data, frozenset({new.public_key})).trusted
    if is_endorsed:
        assert verify_proof(data, frozenset({old.public_key})).trusted
    else:
        with pytest.raises(ProofError, match="another key than is trusted"):
            verify_proof(data, frozenset({old.public_key}))


# What is wrong.


def test_a_proof_altered_in_any_byte_is_refused_in_one_line(named: RoundProof) -> None:
    data = named.to_bytes()
    chance = random.Random(5)
    for at in chance.sample(range(len(data)), 400):
        other = data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :]
        with pytest.raises(InputRefused) as error:
            verify_proof(other)
        assert "\n" not in str(error.value)


def test_a_proof_cut_anywhere_is_refused(named: RoundProof) -> None:
    data = named.to_bytes()
    for length in range(0, len(data), 97):
        with pytest.raises(ProofError, match=r"cut short|no proof of a round"):
            verify_proof(data[:length])
    with pytest.raises(ProofError, match="cut short"):
        verify_proof(data + b"{}")


def stretched(proof: RoundProof, change: Callable[[list[ProvedGroup]], None]) -> RoundProof:
    """The proof with other groups in its first stretch."""
    groups = list(proof.stretches[0].groups)
    change(groups)
    first = replace(proof.stretches[0], groups=tuple(groups))
    return replace(proof, stretches=(first, *proof.stretches[1:]))


def flipped(text: str) -> str:
    data = bytearray(base64.b64decode(text))
    data[-1] ^= 1
    return base64.b64encode(data).decode()


def swap(groups: list[ProvedGroup]) -> None:
    groups[1], groups[2] = groups[2], groups[1]


def swap_bodies(groups: list[ProvedGroup]) -> None:
    groups[1], groups[2] = (
        replace(groups[1], body=groups[2].body),
        replace(groups[2], body=groups[1].body),
    )


def alter_name(groups: list[ProvedGroup]) -> None:
    at = next(at for at, group in enumerate(groups) if group.closed)
    groups[at] = replace(groups[at], closed=flipped(groups[at].closed))


def alter_card(groups: list[ProvedGroup]) -> None:
    groups[4] = replace(groups[4], body=flipped(groups[4].body))


def without(place: int) -> Callable[[RoundProof], RoundProof]:
    return lambda proof: stretched(proof, lambda groups: groups.__delitem__(place))


def in_tree(proof: RoundProof, **changed: Any) -> RoundProof:
    """The proof with its first stretch elsewhere in the tree."""
    first, *rest = proof.stretches
    return replace(proof, stretches=(replace(first, **changed), *rest))


def with_other_root(proof: RoundProof) -> RoundProof:
    return replace(
        proof, checkpoint=re.sub(r"(?m)^[A-Za-z0-9+/]{43}=$", "A" * 43 + "=", proof.checkpoint)
    )


NOT_IN = "not in the journal"
MOVED = f"not in its place|counts other events|no section of its group was left out|{NOT_IN}"
FORGED: dict[str, tuple[Callable[[RoundProof], RoundProof], str]] = {
    "a group left out": (without(3), MOVED),
    "the first left out": (without(0), NOT_IN),
    "the last left out": (without(-1), NOT_IN),
    "groups exchanged": (lambda p: stretched(p, swap), MOVED),
    "bodies exchanged": (lambda p: stretched(p, swap_bodies), MOVED),
    "a group twice": (lambda p: stretched(p, lambda g: g.insert(1, g[0])), "not in its place"),
    "a closed section altered": (lambda p: stretched(p, alter_name), NOT_IN),
    "a card altered": (lambda p: stretched(p, alter_card), NOT_IN),
    "another leaf": (lambda p: in_tree(p, leaf=p.stretches[0].leaf + 1), NOT_IN),
    "no path": (lambda p: in_tree(p, path=()), NOT_IN),
    "another beginning": (lambda p: in_tree(p, before=flipped(p.stretches[0].before)), NOT_IN),
    "no groups": (lambda p: stretched(p, list.clear), "without records"),
    "no stretch": (lambda p: replace(p, stretches=()), "does not reach to the end"),
    "another table": (lambda p: replace(p, table="t2"), NOT_IN),
    "another round": (lambda p: replace(p, round="t1-s1-r2"), "of another round"),
    "another key": (lambda p: replace(p, public_key="0" * 64), "signed by no known key"),
    "no key": (lambda p: replace(p, public_key="00"), "names no public key"),
    "another version": (lambda p: replace(p, version=2), "version 2"),
    "another root": (with_other_root, "is not that of its key"),
    "rules of the round": (lambda p: replace(p, rules=p.stretches[0]), "no start of a table"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_proof_that_is_put_together_otherwise_is_refused(named: RoundProof, what: str) -> None:
    forge, why = FORGED[what]
    with pytest.raises(InputRefused, match=why) as error:
        verify_proof(forge(named).to_bytes())
    assert "\n" not in str(error.value)


def test_records_of_another_round_do_not_fit_in(played: Path) -> None:
    journal = played / "outcome_revised" / "journal.db"
    one, other = proof_of(journal, "t1-s1-r1"), proof_of(journal, "t1-s1-r2")
    joined = replace(one, stretches=(one.stretches[0], other.stretches[0]))
    with pytest.raises(ProofError, match=r"is of another round, t1-s1-r2|not in its place"):
        verify_proof(joined.to_bytes())


def test_the_checkpoint_of_another_journal_does_not_fit(played: Path, named: RoundProof) -> None:
    other = proof_of(played / "finished_by_hand" / "journal.db", "t1-s1-r1")
    mixed = replace(named, checkpoint=other.checkpoint, public_key=other.public_key)
    with pytest.raises(ProofError, match=r"not in the journal|not in its place"):
        verify_proof(mixed.to_bytes())


def test_only_a_trusted_key_and_a_named_witness_are_believed(
    played: Path, named: RoundProof, tmp_path: Path
) -> None:
    key = bytes.fromhex(named.public_key)
    assert verify_proof(named.to_bytes(), frozenset({key})).trusted
    with pytest.raises(ProofError, match="another key than is trusted"):
        verify_proof(named.to_bytes(), frozenset({bytes(32)}))
    witness = open_signer(tmp_path / "w", None)
    own = verifier_key("gaming.example/w1", witness.public_key, COSIGNATURE)
    with pytest.raises(NoteError, match="signed by no known key"):
        verify_proof(named.to_bytes(), witnesses=[own])
    journal = played / NAMED[0] / "journal.db"
    note = read_note(named.checkpoint.encode())
    cosigned = note.add(cosign(note.text, own.name, witness, 1_700_000_000))
    said = read_checkpoint_text(note.text)
    append_cosigned(journal, [encode_cosigned(own.name, said, cosigned, 1_700_000_000)])
    try:
        found = verify_proof(proof_of(journal, NAMED[1]).to_bytes(), witnesses=[own])
    finally:
        cosignatures_path(journal).unlink()
    assert [(each.key.name, each.t_s) for each in found.witnesses] == [
        ("gaming.example/w1", 1_700_000_000)
    ]


@pytest.mark.parametrize(
    ("cards", "wanted", "why"),
    [
        ("4D 7C 5S QH", "bac-07-s1-r9", "no round bac-07-s1-r9; shoectl rounds lists them"),
        ("4D 7C 5S QH", "nothing", "no round nothing"),
        ("4D 7C 5S QH", "bac-07-s1-r1", "no checkpoint signs round bac-07-s1-r1 yet"),
        ("4D 7C", "bac-07-s1-r1", "round bac-07-s1-r1 is not over"),
    ],
)
def test_a_round_that_cannot_be_proved_gets_one_line(
    tmp_path: Path, cards: str, wanted: str, why: str
) -> None:
    path = tmp_path / "j.db"
    with journal_table(path, table_meta(**IMPLIED_SETTINGS), dealt_by(cards)):
        pass
    with pytest.raises(InputRefused, match=why) as error:
        proof_of(path, wanted)
    assert "\n" not in str(error.value)


def test_an_export_proves_no_round(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    dealt_journal(path, "reference", 2)
    done = invoke(shoectl, "export", path, "--shoe", "t1-s1", "--output", tmp_path / "e.gz")
    assert done.exit_code == 0, done.exception
    with pytest.raises(InputRefused, match="an export holds a part of the tree only"):
        proof_of(tmp_path / "e.gz", "t1-s1-r1")


# At the command line.


def test_a_round_is_proved_and_verified_at_the_command_line(played: Path, tmp_path: Path) -> None:
    journal, output = played / NAMED[0] / "journal.db", tmp_path / "round.json"
    done = invoke(shoectl, "prove", journal, "--round", NAMED[1], "-o", output)
    assert (done.exit_code, "without Players' names" in done.stdout) == (0, True), done.stderr
    shown = invoke(shoectl, "verify", output)
    assert shown.exit_code == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert max(map(len, lines[1:])) <= 80
    text = " ".join(shown.stdout.split())
    for said in (
        "round t1-s1-r1, settled",
        "whole every event of the table between them is here",
        "a Player",
        "signed checkpoint",
        "compare it with the casino's, or give --public-key",
        "witness NOT VERIFIED",
        "Player 4D 5S = 9, Natural",
        "this names a Player and is left out",
    ):
        assert said in text, said
    assert not re.search(r"\b(ann|bo)\b", text)
    said = json.loads(invoke(shoectl, "verify", output, "--json").stdout)
    assert (said["ok"], said["whole"], said["round"]) == (True, True, NAMED[1])
    again = invoke(shoectl, "prove", journal, "--round", NAMED[1], "-o", output)
    assert isinstance(again.exception, EnvironmentFault)
    assert str(again.exception) == f"{output} cannot be written: File exists"
    output.write_bytes(output.read_bytes().replace(b'"version":1', b'"version":3'))
    refused = invoke(shoectl, "verify", output)
    assert str(refused.exception).startswith(f"{output}: NOT VERIFIED: the proof has version 3")
