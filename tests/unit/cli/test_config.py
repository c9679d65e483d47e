"""``shoectl config check``: what the daemon would refuse is found, and nothing is started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from shoe_ctl.cli.config import config
from shoe_ctl.config.schema import load
from shoe_ctl.errors import ConfigError
from shoe_ctl.games import catalog
from shoe_ctl.table.settings import TableSettings
from shoe_testing.cli import invoke
from shoe_testing.config import FACE_UP, PUBLIC_SINK, make_config, table_section, this_user

IMPLIED: dict[str, Any] = {"announcements": "implied", "method_b": FACE_UP}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shoe").touch()
    keys = tmp_path / "shoes.keys"
    keys.write_text(f"SH-0042 1 {1:064x}\nSH-0043 1 {2:064x}\n")
    keys.chmod(0o600)
    return tmp_path


def check(folder: Path, *tables: dict[str, Any], **sections: Any) -> Result:
    path = folder / "table.toml"
    path.write_text(make_config(*tables, **sections))
    return invoke(config, "check", path)


def table(folder: Path, name: str = "bac-07", **more: Any) -> dict[str, Any]:
    return table_section(name, port=str(folder / "shoe"), **{**IMPLIED, **more})


def socket(**more: Any) -> dict[str, Any]:
    return {"user": [this_user("gaming_shift_manager", name="Ann")], **more}


def test_a_valid_file_is_shown_as_it_is_set_up_and_nothing_is_written(folder: Path) -> None:
    keyed = table(folder, decks=6, shoe={"key_file": "shoes.keys"})
    before = sorted(folder.iterdir())
    result = check(folder, keyed, sink=[PUBLIC_SINK], socket=socket())
    assert (result.exit_code, result.stderr) == (0, "")
    shown = " ".join(result.stdout.split())
    for words in (
        "table bac-07: Tiger Baccarat (tiger)",
        "6 decks",
        "announcements follow from the cards",
        f"shoe reference at {folder / 'shoe'}, with keys of 2 shoes",
        f"journal {folder / 'journal.db'}",
        f"socket {folder / 'shoectl.sock'}",
        "users Ann (gaming_shift_manager)",
        "sink jsonl:public.jsonl (public)",
        f"{folder / 'table.toml'}: valid",
    ):
        assert words in shown
    assert "note" not in shown
    assert all(len(line) <= 80 or str(folder) in line for line in result.stdout.splitlines())
    assert sorted(folder.iterdir()) == sorted([*before, folder / "table.toml"])


def test_json_has_all_of_it_for_programs(folder: Path) -> None:
    check(folder, table(folder), socket=socket())
    result = invoke(config, "check", folder / "table.toml", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    plain = json.loads(result.stdout)
    assert (plain["ok"], plain["problems"], plain["notes"]) == (True, [], [])
    assert plain["socket"] == str(folder / "shoectl.sock")
    (only,) = plain["tables"]
    assert (only["table"], only["game"], only["port"]) == ("bac-07", "tiger", str(folder / "shoe"))
    assert only["game_sha256"] == catalog.load("tiger").sha256
    left_out = {"applied_within_s"}  # nobody is to apply anything
    assert set(only["settings"]) == set(TableSettings.__struct_fields__) - left_out


def test_every_problem_has_its_line_and_the_exit_code_is_two(folder: Path) -> None:
    (folder / "shoes.keys").chmod(0o640)
    (folder / "journal.db").mkdir()
    result = check(
        folder,
        table(folder, "t1", shoe={"key_file": "shoes.keys"}),
        table(folder, "t2", layout="Z"),
        table(folder, "t3"),
        table(folder, "t4", announcements="explicit"),
        socket=socket(path="x" * 200, group="no-such-group"),
    )
    assert (result.exit_code, result.stdout) == (2, "")
    file = folder / "table.toml"
    lines = result.stderr.splitlines()
    assert all(line.startswith(f"shoectl: {file}: ") for line in lines)
    found = [line.removeprefix(f"shoectl: {file}: ") for line in lines]
    for told, words in zip(
        found,
        (
            "table t1: shoe: key_file: ",
            "table t2: layout: tiger has A, B",
            "socket: group: this host has no group 'no-such-group'",
            f"socket {folder / ('x' * 200)}: the path is longer than",
            f"journal.path: {folder / 'journal.db'} is a directory",
            f"table t2: shoe.port: table t1 has {folder / 'shoe'} already",
            f"table t3: shoe.port: table t1 has {folder / 'shoe'} already",
            f"table t4: shoe.port: table t1 has {folder / 'shoe'} already",
        ),
        strict=True,
    ):
        assert words in told
    plain = invoke(config, "check", file, "--json")
    assert plain.exit_code == 2
    assert [f"shoectl: {one}" for one in json.loads(plain.stdout)["problems"]] == lines


@pytest.mark.parametrize(
    ("more", "sections", "words"),
    [
        ({"announcements": "explicit"}, {}, 'announcements = "explicit" waits for a dealer'),
        ({"gmae": "tiger"}, {}, "unknown key"),
        ({"game": "lion"}, {}, "lion"),
        ({"shoe": {"profile": "nobody"}}, {}, "nobody"),
        ({"shoe": {"port": "usb:"}}, {}, "port: got 'usb:'"),
        (
            {},
            {"socket": {"user": [{"user": "no-such-user", "position": "dealer"}]}},
            "no-such-user",
        ),
        ({}, {"sink": [PUBLIC_SINK, PUBLIC_SINK]}, "two sinks write to"),
    ],
)
def test_what_the_daemon_does_not_start_with_is_refused(
    folder: Path, more: dict[str, Any], sections: dict[str, Any], words: str
) -> None:
    result = check(folder, table(folder, **more), **sections)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr and result.stderr.count("\n") == 1


def test_a_socket_where_everyone_may_write_is_refused(folder: Path) -> None:
    open_to_all = folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    result = check(folder, table(folder), socket=socket(path="open/socket"))
    assert result.exit_code == 2
    assert "is world-writable" in result.stderr
    (folder / "file").touch()
    result = check(folder, table(folder), socket=socket(path="file"))
    assert "a file of another kind" in result.stderr


def test_what_may_come_later_is_a_note(folder: Path) -> None:
    (folder / "shoe").unlink()
    result = check(folder, table(folder), journal={"path": "later/journal.db"})
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    assert f"port {folder / 'shoe'} is not there now" in shown
    assert f"journal.path: folder {folder / 'later'} does not exist; systemd makes those" in shown
    assert "note no [socket]: nobody can decide about a table that halts" in shown


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    result = invoke(config, "check", tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "none.toml' does not exist" in result.stderr


def test_the_files_that_a_sink_logs_in_with_are_checked(folder: Path) -> None:
    password, key = folder / "password", folder / "key.pem"
    password.write_text("wonderland")
    password.chmod(0o644)
    key.write_text("")
    key.chmod(0o640)
    sink = {
        "kind": "mqtt",
        "address": "mqtts://hall:8883",
        "user": "shoe",
        "password_file": "password",
        "tls": {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"},
    }
    result = check(folder, table(folder), sink=[sink], socket=socket())
    assert result.exit_code == 2
    told = "".join(result.stderr.split())
    for words in (
        f"sink[0].password_file: {password} is accessible to other users: run chmod 600",
        f"sink[0].tls.key: {key} is accessible to other users",
        f"sink[0].tls.ca: there is no file {folder / 'ca.pem'}",
        f"sink[0].tls.cert: there is no file {folder / 'cert.pem'}",
    ):
        assert "".join(words.split()) in told
    assert "wonderland" not in result.output


def two_daemons(folder: Path, **of_other: Any) -> Path:
    """Configurations in a folder, as the unit reads them; each has files of its own."""
    at = folder / "etc"
    at.mkdir()
    for name, table_id in (("hall", "bac-07"), ("salon", "bac-08")):
        (at / f"{name}-shoe").touch()
        section = table_section(table_id, port=str(at / f"{name}-shoe"), **IMPLIED)
        more = {"journal": {"path": f"{name}.db"}, "socket": socket(path=f"{name}.sock")}
        changed = of_other if name == "salon" else {}
        (at / f"{name}.toml").write_text(make_config(section, **{**more, **changed}))
    return at


def test_a_folder_of_configurations_is_checked_whole(folder: Path) -> None:
    at = two_daemons(folder)
    result = invoke(config, "check", at)
    assert (result.exit_code, result.stderr) == (0, "")
    shown = " ".join(result.stdout.split())
    for words in ("table bac-07: ", f"{at / 'hall.toml'}: valid", f"{at / 'salon.toml'}: valid"):
        assert words in shown
    plain = json.loads(invoke(config, "check", at, "--json").stdout)
    assert (plain["ok"], plain["problems"]) == (True, [])
    assert [one["tables"][0]["table"] for one in plain["files"]] == ["bac-07", "bac-08"]


def test_what_two_daemons_would_share_is_a_problem_of_neither_alone(folder: Path) -> None:
    at = two_daemons(folder, journal={"path": "hall.db"})
    for name in ("hall", "salon"):
        assert invoke(config, "check", at / f"{name}.toml").exit_code == 0
    result = invoke(config, "check", at / "hall.toml", at / "salon.toml")
    line = (
        f"{at / 'salon.toml'}: journal.path: the journal of {at / 'hall.toml'} has "
        f"{at / 'hall.db'} already: give each daemon a journal of its own"
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"shoectl: {line}\n"
    plain = json.loads(invoke(config, "check", at, "--json").stdout)
    assert (plain["ok"], plain["problems"]) == (False, [line])
    assert [one["ok"] for one in plain["files"]] == [True, True]


def test_each_wrong_file_of_several_has_its_lines(folder: Path) -> None:
    at = two_daemons(folder, sink=[{"kind": "jsonl", "path": "."}])
    (at / "hall.toml").write_text("[journal]\n")
    result = invoke(config, "check", at)
    assert (result.exit_code, result.stdout) == (2, "")
    hall, salon = result.stderr.splitlines()
    assert hall.startswith(f"shoectl: {at / 'hall.toml'}: ")
    assert salon.startswith(f"shoectl: {at / 'salon.toml'}: sink[0].path: ")


@pytest.mark.parametrize(
    ("workers", "line"),
    [
        ([1, 2], "table bac-08: worker: a daemon is one process: move the tables of worker 2 to a "
         "separate configuration, which keeps their journal (the one that ends in -2), and "
         "remove the key: see docs/guides/many-tables.md"),
        ([1, None], "table bac-07: worker: a daemon is one process: remove the key"),
        ([None, "x"], "table bac-08: worker: a daemon is one process: move the tables of worker x"),
    ],
)  # fmt: skip
def test_a_worker_is_refused_in_one_line_that_says_what_to_do(
    folder: Path, workers: list[Any], line: str
) -> None:
    tables = [
        table_section(
            name,
            port=f"tcp://{name}:7000",
            **IMPLIED,
            **({} if worker is None else {"worker": worker}),
        )
        for name, worker in zip(("bac-07", "bac-08"), workers, strict=True)
    ]
    result = check(folder, *tables)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"shoectl: {folder / 'table.toml'}: {line}")
    assert result.stderr.count("\n") == 1


def test_a_number_of_workers_is_refused_in_one_line(folder: Path) -> None:
    result = check(folder, table(folder), workers=2)
    file = folder / "table.toml"
    line = f"shoectl: {file}: workers: a daemon is one process: remove the key\n"
    assert (result.exit_code, result.stderr) == (2, line)


def test_every_mistake_of_every_section_has_its_line_in_words(folder: Path) -> None:
    good = table(folder, "good", game="lion", shoe={"profile": "nobody", "baud": 9600})
    result = check(
        folder,
        table(folder, "bac 02"),
        table(folder, "t3", decks="8", gmae="tiger", shoe={"baud": "fast"}),
        table(folder, "t4", decks=99, layout="Z", method="D"),
        good,
        journal={"checkpoint_every_s": 0},
        sink=[PUBLIC_SINK, {"kind": "jsonl", "path": 5}],
        socket={"user": [{"user": "nobody-a", "position": "boss"}, {"user": "nobody-b",
                                                                    "position": "dealer"}]},
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (2, "")
    file = folder / "table.toml"
    found = [line.removeprefix(f"shoectl: {file}: ") for line in result.stderr.splitlines()]
    first = [
        "table[0].id: expected 1 to 63 letters, digits, . _ -, a letter or digit first, found "
        "'bac 02' (table bac 02)",
        "table[1]: unknown key `gmae`: is it `game`? (table t3)",
        'table[1].shoe.baud: expected a whole number, found the text "fast" (table t3)',
        'table[1].decks: expected a whole number from 1 to 1,000,000,000, found the text "8" '
        "(table t3)",
        "table[2].method: not a known value: 'D' (known: A, B, C) (table t4)",
        "journal.checkpoint_every_s: expected a whole number from 1 to 1,000,000,000, found 0",
        "sink[1].path: expected a text, found 5",
    ]
    assert found[: len(first)] == first
    rest = "\n".join(found[len(first) :])
    for words in (
        "socket.user[0].position: expected one of dealer, ",
        "table good: shoe: ",
        "table good: game: ",
        "socket: user: this host has no user 'nobody-a'",
        "socket: user: this host has no user 'nobody-b'",
    ):
        assert rest.count(words) == 1, (words, rest)
    assert "way in" not in rest and "there is no table" not in rest
    assert len(found) == len(first) + 5


def test_all_that_a_game_does_not_allow_has_its_line(folder: Path) -> None:
    limits = {"wagers_per_area": 99}
    result = check(
        folder, table(folder, decks=99, layout="Z", method="C", area="main", limits=limits),
        socket=socket(),
    )  # fmt: skip
    told = result.stderr
    for words in ("decks: tiger is played with", "layout: tiger has", 'method = "C" is for'):
        assert f"table bac-07: {words}" in told
    assert result.stderr.count("\n") == 4 and "limits.wagers_per_area" in told


def test_a_daemon_names_the_first_mistake_and_how_many_more_there_are(folder: Path) -> None:
    file = folder / "table.toml"
    file.write_text(make_config(table(folder, decks="8", seats=0)))
    with pytest.raises(ConfigError) as refused:
        load(file)
    assert str(refused.value) == (
        f"{file}: table[0].decks: expected a whole number from 1 to 1,000,000,000, found the text "
        f'"8" (table bac-07) (and 1 more: shoectl config check {file})'
    )


def test_a_relative_port_starts_at_the_folder_of_the_file(folder: Path) -> None:
    result = check(folder, table_section(port="shoe", **IMPLIED), sink=[PUBLIC_SINK])
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    assert f"reference at {folder / 'shoe'}, without keys" in shown
    assert "is not there" not in shown
    for port in ("tcp://hall:7000", "usb:SH-0042", "/dev/card-shoe/SH-0042"):
        (folder / "table.toml").write_text(make_config(table_section(port=port)))
        assert load(folder / "table.toml").table[0].shoe.port == port


IMPORTED = """
import sys
from shoe_ctl.cli.main import main
try:
    main()
except SystemExit as ended:
    heavy = {"apsw", "asyncio", "rich", "serial", "shoe_ctl.cli.run", "shoe_ctl.daemon.requests"}
    print(ended.code, sorted(heavy & sys.modules.keys()), file=sys.stderr)
"""


@pytest.mark.slow
def test_the_check_imports_nothing_of_a_daemon_that_serves(folder: Path) -> None:
    path = folder / "table.toml"
    path.write_text(make_config(table(folder), sink=[PUBLIC_SINK], socket=socket()))
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, "config", "check", str(path)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == "0 []\n"
    assert "valid" in done.stdout
