"""What ran and by which configuration: each change is named, and no replay depends on it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from shoe_ctl import installation
from shoe_ctl.audit.incidents import incidents
from shoe_ctl.audit.starts import changes
from shoe_ctl.cli.main import shoectl
from shoe_ctl.config.effective import digest, effective
from shoe_ctl.config.schema import load
from shoe_ctl.daemon.environment import what_is_installed
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import DaemonStart
from shoe_ctl.journal.recovery import rulings
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, journal_table, opened, replayed_journal, table_meta

TABLE = """
[[table]]
id = "bac-07"
game = "tiger"
shoe = {{ profile = "reference", port = "/dev/ttyS0" }}
[journal]
path = "journal.db"
[[sink]]
kind = "jsonl"
path = "public.jsonl"
audience = "{audience}"
[[sink]]
kind = "mqtt"
address = "mqtts://broker.casino.example"
user = "shoe"
password_file = "{secret}"
[socket]
[[socket.user]]
user = 4001
name = "Ines"
position = "{position}"
{more}
"""
LEE = '[[socket.user]]\nuser = 4002\nname = "Lee"\nposition = "pit_supervisor"'
PASSWORD = "correct horse battery staple"


def configured(
    folder: Path, audience: str = "public", position: str = "gaming_shift_manager", more: str = ""
) -> dict[str, object]:
    (folder / "password").write_text(PASSWORD)
    file = folder / "main.toml"
    text = TABLE.format(audience=audience, position=position, more=more, secret=folder / "password")
    file.write_text(text)
    return effective(load(file))


def start(
    folder: Path, t_us: int, *, software: str = "0.3.0", files: str = "aa" * 32, **given: str
) -> DaemonStart:
    plain = configured(folder, **given)
    return DaemonStart(
        t_us=t_us, software=software, python="3.11.2", files=files, configuration=plain,
        configuration_sha256=digest(plain),
    )  # fmt: skip


def stored(path: Path, *starts: DaemonStart) -> None:
    with opened(path) as store:
        for each in starts:
            batch = Batch()
            batch.append_daemon_start(each)
            store.commit([batch])


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    with journal_table(path, table_meta()):
        pass
    stored(
        path,
        start(tmp_path, T_US),
        start(tmp_path, T_US + 1),
        start(tmp_path, T_US + 2, files="bb" * 32),
        start(tmp_path, T_US + 3, files="bb" * 32, audience="restricted", more=LEE),
    )
    return path


def test_other_software_and_another_configuration_are_named_by_what_differs(journal: Path) -> None:
    with Reader.open(journal) as reader:
        first, same, software, configuration = changes(reader)
    assert not first.differs and not same.differs
    (files,) = software.software
    assert files == f'files: "{"aa" * 32}" -> "{"bb" * 32}"' and not software.configuration
    assert not configuration.software
    audience, user = configuration.configuration
    assert audience == 'sink[public.jsonl].audience: "public" -> "restricted"'
    assert user.startswith("socket.user[Lee]: null -> {") and "pit_supervisor" in user


def test_verify_replay_and_incidents_tell_of_it(journal: Path) -> None:
    for command in ("verify", "replay"):
        said = " ".join(invoke(shoectl, command, journal).stdout.split())
        assert ("0.3.0, files aaaaaaaaaaaaaaaa…, from record" in said) is (command == "verify")
        assert "other software at record" in said
        assert 'sink[public.jsonl].audience: "public" -> "restricted"' in said
        given = json.loads(invoke(shoectl, command, journal, "--json").stdout)
        assert [bool(each["configuration"]) for each in given["starts"]] == [0, 0, 0, 1]
    with Reader.open(journal) as reader:
        found = [(one.kind, one.table) for one in incidents(reader) if "changed" in one.kind]
    assert found == [("software_changed", ""), ("configuration_changed", "")]
    assert "配置变更" in invoke(shoectl, "incidents", journal, "--language", "zh").stdout


def test_a_replay_is_the_same_with_starts_and_without(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with journal_table(path, table_meta()):
        pass
    before = replayed_journal(path)
    stored(path, start(tmp_path, T_US, software="9.9.9"))
    assert replayed_journal(path) == before
    with Reader.open(path) as reader:
        assert list(rulings(reader)) == []  # a start is no ruling


def test_the_effective_configuration_has_every_setting_and_no_secret(tmp_path: Path) -> None:
    plain = configured(tmp_path)
    said = msgspec.json.encode(plain).decode()
    assert PASSWORD not in said and str(tmp_path / "main.toml") not in said
    assert plain["journal"] == {
        "path": "journal.db", "checkpoint_every_s": 600, "keep_days": None, "archive": "archive",
    }  # fmt: skip
    whole = hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
    assert digest(plain) == whole.hexdigest()


def test_the_digest_of_the_installed_files_is_what_coreutils_compute() -> None:
    shown = subprocess.run(
        "find firmware_proto shoe_bench shoe_ctl simulators -name __pycache__ -prune -o -type f "
        "-print | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum",
        shell=True, cwd=installation.root(), env={**os.environ, "LC_ALL": "C"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert what_is_installed().files == shown.split()[0]


def test_one_byte_of_any_file_changes_the_digest(tmp_path: Path) -> None:
    (tmp_path / "shoe_ctl/inner").mkdir(parents=True)
    file = tmp_path / "shoe_ctl/inner/a.py"
    seen = set()
    for content in (b"a", b"b", b""):
        file.write_bytes(content)
        seen.add(installation.digest(tmp_path))
    file.rename(file.with_name("b.py"))
    seen.add(installation.digest(tmp_path))
    (tmp_path / "shoe_ctl/__pycache__").mkdir()
    (tmp_path / "shoe_ctl/__pycache__/a.pyc").write_bytes(b"x")
    seen.add(installation.digest(tmp_path))
    assert len(seen) == 4
