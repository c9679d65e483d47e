"""The key of a real daemon's journal is changed at a start; each start says what runs."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shoe_ctl.audit.starts import changes
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import key_path
from shoe_testing.config import write_config
from shoe_testing.journals import verified
from shoe_testing.programs import rest_of, started_program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

PEOPLE = ("--person", "Ines", "--reason", "a laptop was stolen", "--consented-by", "Kim")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, str(tmp_path / "no-shoe"))


def run_once(config: Path, *options: str) -> str:
    """Starts the daemon, stops it once it serves, and gives what it logged."""
    with started_program("run", "--config", str(config), "--wait", *options) as process:
        assert process.stderr is not None
        said = b""
        for line in process.stderr:
            said += line
            if b"ready: " in line:
                process.send_signal(signal.SIGTERM)
                break
        code, rest = rest_of(process)
    assert code == 0, said + rest
    return (said + rest).decode()


def refused(config: Path, *options: str) -> tuple[int, str]:
    with started_program("run", "--config", str(config), "--wait", *options) as process:
        code, said = rest_of(process)
    return code, said.decode().splitlines()[-1]


def test_a_key_is_changed_at_a_start_and_every_start_says_what_runs(config: Path) -> None:
    path = config.with_name("journal.db")
    first = run_once(config)
    assert "started: software=" in first
    old = next(iter(verified(path).signed.keys))

    log = run_once(config, "--new-key", *PEOPLE)
    assert f"key changed: old={old}" in log and 'person="Ines" consented_by="Kim"' in log
    text = config.read_text().replace('audience = "restricted"', 'audience = "public"')
    config.write_text(text.replace('path = "restricted.jsonl"', 'path = "more.jsonl"'))
    run_once(config)

    found = verified(path, frozenset({bytes.fromhex(old)}))
    assert found.ok
    before, after = found.signed.ranges
    assert (before.key, after.endorsed) == (old, True)
    assert after.change is not None and after.change.ruling.reason == "a laptop was stolen"
    with Reader.open(path) as reader:
        one, same, other = changes(reader)
    assert not one.differs and not same.differs and not other.software
    assert {line.split(":")[0] for line in other.configuration} == {
        "sink[restricted.jsonl]", "sink[more.jsonl]",
    }  # fmt: skip


def test_a_lost_key_needs_a_ruling_and_a_ruling_needs_people(config: Path) -> None:
    path = config.with_name("journal.db")
    run_once(config)
    (old,) = verified(path).signed.keys
    before = path.read_bytes()
    for options, said in (
        (("--new-key",), "--new-key needs the person who decided"),
        (("--new-key", *PEOPLE[:2], *PEOPLE[4:]), "a reason is missing"),
        (("--new-key", *PEOPLE[:4]), "needs the consent of another person"),
        (("--new-key", *PEOPLE[:4], "--consented-by", " INES "), "another person"),
        (("--new-key", "--accept-lost-key", *PEOPLE), "are two rulings"),
        (PEOPLE, "belong to a ruling"),
    ):
        code, line = refused(config, *options)
        assert code == 2 and said in line, line
    code, line = refused(config, "--accept-lost-key", *PEOPLE)
    assert code == 3 and "not lost: start with --new-key" in line, line
    key_path(path).unlink()
    for given in list[tuple[str, ...]]([(), ("--new-key", *PEOPLE)]):
        code, line = refused(config, *given)
        assert code == 3 and "is missing: put it back; if it is lost" in line, line
    assert path.read_bytes() == before

    run_once(config, "--accept-lost-key", *PEOPLE)
    run_once(config)

    assert not verified(path, frozenset({bytes.fromhex(old)})).ok
    assert verified(path).signed.ranges[-1].endorsed is False
