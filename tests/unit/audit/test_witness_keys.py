"""A witness and a journal whose key is changed: no fork, and a stranger's key is told loudly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoe_ctl.audit.incidents import incidents
from shoe_ctl.audit.witness import Refusal, Witness, read_event
from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.checkpoint_event import event, newest_checkpoint
from shoe_ctl.journal.cosignatures import append_cosigned, cosignatures_path, encode_cosigned
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signed_note import verifier_key
from shoe_ctl.journal.signing import Signer
from shoe_testing.checkpoints import KEY_RULING, NAME, NOW_S, OWN, key_of
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, stored_round

FIRST, SECOND, THIRD, STRANGER = map(key_of, range(11, 15))


class Table:
    """A journal, and the event of its newest checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0

    def signed(self, key: Signer, *, instead_of: Signer | None = None, lost: bool = False) -> bytes:
        """Deals a round and signs; ``instead_of`` is the key before, which endorses unless lost."""
        self._at += 1
        with opened(self.path) as store:
            store.commit([stored_round(self._at)])
            if instead_of is None:
                store.checkpoint(key, T_US + self._at)
            else:
                endorser = None if lost else instead_of
                store.change_key(key, T_US + self._at, KEY_RULING, endorser=endorser)
        return self.event()

    def event(self, old: int | None = None) -> bytes:
        with Reader.open(self.path) as reader:
            return event(reader, newest_checkpoint(reader), old)

    @property
    def origin(self) -> str:
        with Reader.open(self.path) as reader:
            return newest_checkpoint(reader).said.origin


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "journal.db")


def witness(table: Table, *keys: Signer) -> Witness:
    given = [verifier_key(table.origin, key.public_key) for key in keys or (FIRST,)]
    return Witness(NAME, OWN, given, table.path.with_name("w.state"), lambda: NOW_S)


def cosigned_size(own: Witness, line: bytes) -> int:
    given = read_event(line)
    assert given is not None
    return own.cosign(given).said.size


def refused(own: Witness, line: bytes) -> Refusal:
    with pytest.raises(Refusal) as found:
        cosigned_size(own, line)
    assert "\n" not in str(found.value)
    return found.value


def test_a_journal_whose_key_was_changed_is_cosigned_on(table: Table) -> None:
    lines = [table.signed(FIRST)]
    own = witness(table)
    lines += [
        table.signed(SECOND, instead_of=FIRST),
        table.signed(SECOND),
        table.signed(THIRD, instead_of=SECOND),
        table.signed(THIRD),
    ]
    sizes = [cosigned_size(own, line) for line in lines]
    assert sizes == sorted(set(sizes))
    again = witness(table)  # started anew, with the first key alone
    assert cosigned_size(again, table.signed(THIRD)) > sizes[-1]


def test_a_witness_that_missed_the_change_learns_it_from_the_next_checkpoint(table: Table) -> None:
    first = table.signed(FIRST)
    own = witness(table)
    size = cosigned_size(own, first)
    table.signed(SECOND, instead_of=FIRST)
    table.signed(SECOND)
    assert cosigned_size(own, table.event(size)) > size


def test_what_is_still_signed_with_the_old_key_is_refused_loudly(table: Table) -> None:
    own_line = table.signed(FIRST)
    own = witness(table)
    cosigned_size(own, own_line)
    cosigned_size(own, table.signed(SECOND, instead_of=FIRST))

    found = refused(own, table.signed(FIRST))  # who has a copy of the old key goes on with it

    assert (found.why, found.is_loud) == ("retired_key", True)
    assert FIRST.public_key.hex() in str(found)


def test_a_key_that_nothing_endorses_is_refused_loudly_until_it_is_given(table: Table) -> None:
    line = table.signed(FIRST)
    own = witness(table)
    size = cosigned_size(own, line)

    found = refused(own, table.signed(SECOND, instead_of=FIRST, lost=True))

    assert (found.why, found.is_loud) == ("unendorsed_key", True)
    assert SECOND.public_key.hex() in str(found)
    assert refused(own, table.signed(SECOND)).why == "unendorsed_key"
    given = witness(table, FIRST, SECOND)
    assert cosigned_size(given, table.event(size)) > size
    assert refused(given, table.signed(FIRST)).why == "retired_key"


def test_a_stranger_s_endorsement_of_himself_is_none(table: Table) -> None:
    line = table.signed(FIRST)
    own = witness(table)
    cosigned_size(own, line)
    assert refused(own, table.signed(THIRD, instead_of=STRANGER)).why == "unendorsed_key"


@pytest.mark.parametrize("changes", [["x"], ["x" * 5_000], ["x"] * 100, ["\x00"], [""]])
def test_changes_that_are_none_do_no_harm(table: Table, changes: list[str]) -> None:
    said = json.loads(table.signed(FIRST))
    own = witness(table)
    said["data"]["key_changes"] = changes
    if len(changes) > 64 or len(changes[0]) > 4_096:
        assert refused(own, json.dumps(said).encode()).why == "unreadable"
    else:
        assert cosigned_size(own, json.dumps(said).encode()) == 1


def test_what_was_cosigned_under_the_old_key_still_counts(table: Table) -> None:
    line = table.signed(FIRST)
    own = witness(table)
    given = read_event(line)
    assert given is not None
    found = own.cosign(given)
    append_cosigned(table.path, [encode_cosigned(NAME, found.said, found.note, found.t_s)])
    table.signed(SECOND, instead_of=FIRST)
    shown = invoke(shoectl, "verify", table.path, "--witness", own.key)
    assert shown.exit_code == 0, shown.stdout
    assert "nothing was changed up to record 4" in " ".join(shown.stdout.split())
    assert cosignatures_path(table.path).exists()


def test_a_change_is_listed_with_who_ruled_it_and_whether_it_is_endorsed(table: Table) -> None:
    table.signed(FIRST)
    table.signed(SECOND, instead_of=FIRST)
    table.signed(THIRD, instead_of=SECOND, lost=True)
    table.signed(STRANGER)
    with Reader.open(table.path) as reader:
        found = [one for one in incidents(reader) if one.kind == "key_changed"]
    assert [(one.how, one.person, one.consented_by, one.reason) for one in found] == [
        ("key_endorsed", "Ines", "Kim", "a copy was seen"),
        ("key_lost", "Ines", "Kim", "a copy was seen"),
        ("key_change_not_recorded", None, None, None),
    ]
    text = invoke(shoectl, "incidents", table.path).stdout
    assert "NOT ENDORSED" in text and "NO CHANGE RECORDED" in text
    assert "未经背书" in invoke(shoectl, "incidents", table.path, "--language", "zh").stdout
