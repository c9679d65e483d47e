"""Whatever is wrong outside is one clear line on stderr and an exit code; nothing is half done."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import shoe_ctl
from shoe_ctl.journal.store import Store
from shoe_testing.command_server import CommandServer, serving_commands

pytestmark = pytest.mark.slow


GOOD = """
[journal]
path = "journal.db"
[[table]]
id = "t1"
game = "tiger"
announcements = "implied"
[table.method_b]
faces = "face_up"
[table.shoe]
profile = "reference"
port = "/dev/no-such-port"
[[sink]]
kind = "jsonl"
path = "events.jsonl"
"""

ONE_TABLE = GOOD[GOOD.index("[[table]]") : GOOD.index("[[sink]]")]

REFUSED, USAGE, ENVIRONMENT = 1, 2, 3


class Case(NamedTuple):
    """``old`` in the good configuration becomes ``new``; ``words`` must stand in the one line."""

    name: str
    old: str
    new: str
    code: int
    words: tuple[str, ...]


def table(key: str) -> tuple[str, str]:
    """One more key for the table."""
    return 'id = "t1"', f'id = "t1"\n{key}'


def port(name: str) -> tuple[str, str, int]:
    """Another port, whose opening fails."""
    return "/dev/no-such-port", name, ENVIRONMENT


CONFIGURED_WRONG = (
    Case(
        "commands to a bee_tek",
        'profile = "reference"',
        'profile = "bee_tek"\ncommands = true',
        USAGE,
        ("shoe: commands: no command of a bee_tek shoe is known",),
    ),
    Case("unknown profile", '"reference"', '"nobody"', USAGE, ("t1", "'nobody'", "angel_eye")),
    Case("wrong key", *table("colour = 1"), USAGE, ("table[0]", "`colour`")),
    Case("wrong key of a shoe", "port = ", "speed = 9\nport = ", USAGE, ("shoe", "`speed`")),
    Case("wrong type", *table('decks = "8"'), USAGE, ("table[0].decks", "a whole number")),
    Case("missing key", 'profile = "reference"', "", USAGE, ("shoe", "`profile`")),
    Case("not TOML", "[[table]]", "[[table", USAGE, ("expected TOML", "line 4")),
    Case("two tables with one id", "[[sink]]", f"{ONE_TABLE}[[sink]]", USAGE, ("'t1'",)),
    Case("method A", *table('method = "A"'), USAGE, ("method", '"A"', '"B"')),
    Case("method C", *table('method = "C"'), USAGE, ("method", '"C"', '"B"')),
    Case("explicit", '"implied"', '"explicit"', USAGE, ("announcements", '"implied"')),
    Case("face down", '"face_up"', '"turned_by_dealer"', USAGE, ("faces", '"face_up"')),
    Case("no such game", '"tiger"', '"lion"', REFUSED, ("lion", "tiger")),
    Case("no such game file", '"tiger"', '"lion.toml"', REFUSED, ("lion.toml", "No such file")),
    Case("decks out of range", *table("decks = 11"), USAGE, ("decks", "4 to 10", "11")),
    Case("no such layout", *table('layout = "Z"'), USAGE, ("layout", "'Z'")),
    Case(
        "no such sink", '"jsonl"', '"pigeon"', USAGE, ("sink[0].kind", "'pigeon'", "known: jsonl")
    ),
    Case(
        "no such kind of port",
        "/dev/no-such-port",
        "ftp://x:1",
        USAGE,
        ("t1", "port", "usb:SERIAL"),
    ),
    Case(
        "cards the shoe cannot name",
        'game = "tiger"\nannouncements = "implied"',
        'game = "fa_fa_fabulous_4"\nannouncements = "implied"',
        USAGE,
        ("angel_eye", "element65"),
    ),
)

SURROUNDED_WRONG = (
    Case("no such port", "", "", ENVIRONMENT, ("/dev/no-such-port",)),
    Case("a file as port", "/dev/no-such-port", "/etc/hostname", ENVIRONMENT, ("serial port",)),
    Case("a folder as port", "/dev/no-such-port", "/tmp", ENVIRONMENT, ("serial port", "/tmp")),
    Case("a port that nobody listens at", *port("tcp://127.0.0.1:9"), ("refused", "raw TCP")),
    Case("a host that is unknown", *port("tcp://no-such.invalid:9"), ("no-such.invalid",)),
    Case("a USB device that is absent", *port("usb:SH-1"), ("serial number SH-1", "path")),
    Case("a folder as journal", '"journal.db"', '"."', ENVIRONMENT, ("is a directory",)),
    Case("a journal in no folder", '"journal.db"', '"no/j.db"', ENVIRONMENT, ("no such",)),
    Case("a journal in a file", '"journal.db"', '"table.toml/j"', ENVIRONMENT, ("not writable",)),
    Case("a file as journal", '"journal.db"', '"table.toml"', ENVIRONMENT, ("not a journal",)),
    Case("a folder as sink", '"events.jsonl"', '"."', ENVIRONMENT, ("sink file",)),
)


HELD_TO_MODES = (sys.executable, "-c", """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
""")  # fmt: skip
"""Before a command: what a file's mode forbids is forbidden to root too."""


servers: list[CommandServer] = []


@pytest.fixture(scope="module", autouse=True)
def _server() -> Iterator[None]:
    with serving_commands(HELD_TO_MODES) as server:
        servers.append(server)
        yield
        servers.remove(server)


def shoectl(*words: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return servers[-1].run("shoectl", *words, cwd=cwd, stdin=stdin)


def one_line(done: subprocess.CompletedProcess[bytes], code: int, *, most: int = 240) -> str:
    """The one line on stderr, of at most so many characters, and nothing on stdout."""
    said = done.stderr.decode()
    assert done.returncode == code, said
    assert done.stdout == b""
    assert said.startswith("shoectl: ")
    assert said.count("\n") == 1 and said.endswith("\n")
    assert len(said) < most
    return said


def configured(folder: Path, text: str) -> None:
    (folder / "table.toml").write_text(text)


def run(folder: Path, case: Case, *, most: int = 240) -> str:
    text = GOOD.replace(case.old, case.new, 1) if case.old else GOOD
    if "element65" in case.words:
        text = text.replace('"reference"', '"angel_eye"')
    assert case.old == case.new or text != GOOD
    configured(folder, text)
    said = one_line(shoectl("run", "--config", "table.toml", cwd=folder), case.code, most=most)
    for word in case.words:
        assert word in said
    assert (folder / "table.toml").read_text() == text
    return said


@pytest.mark.parametrize("case", CONFIGURED_WRONG, ids=lambda case: case.name)
def test_a_wrong_configuration_is_refused_before_anything_is_touched(
    tmp_path: Path, case: Case
) -> None:
    said = run(tmp_path, case)
    assert said.startswith("shoectl: table.toml: ")
    assert "t1" in said or not case.old.startswith(('id = "t1"', "profile", '"tiger"', '"implied"'))
    assert [path.name for path in tmp_path.iterdir()] == ["table.toml"]


def test_an_error_names_the_table_of_several_by_its_id(tmp_path: Path) -> None:
    second = ONE_TABLE.replace('"t1"', '"bac-08"').replace("port = ", "colour = 1\nport = ")
    configured(tmp_path, GOOD + second)
    said = one_line(shoectl("run", "--config", "table.toml", cwd=tmp_path), USAGE)
    assert "table.toml: table[1].shoe: unknown key `colour`" in said
    assert said.endswith("(table bac-08)\n")


@pytest.mark.parametrize("case", SURROUNDED_WRONG, ids=lambda case: case.name)
def test_what_cannot_be_opened_is_named(tmp_path: Path, case: Case) -> None:
    run(tmp_path, case)
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {
        "table.toml",
        "journal.db",
        "journal.db-head",
        "journal.db-lock",
        "events.jsonl",
    }


def test_a_journal_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    case = Case("", '"journal.db"', '"closed/j.db"', ENVIRONMENT, ("closed/j.db", "not writable"))
    run(tmp_path, case)


def test_a_journal_on_which_nothing_can_be_stored_is_named(tmp_path: Path) -> None:
    case = Case("", '"journal.db"', '"/proc/self/journal.db"', ENVIRONMENT, ("journal.db",))
    run(tmp_path, case)


def test_a_journal_in_use_names_who_uses_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "journal.db")
    try:
        case = Case("", "", "", ENVIRONMENT, ("in use", f"process {os.getpid()}"))
        run(tmp_path, case)
    finally:
        store.close()


@contextmanager
def held_by_another_process() -> Iterator[tuple[str, int]]:
    """A pty that another process has open for itself: its path, and the process."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    name = os.ttyname(slave)
    os.close(slave)
    holding = "import serial, sys; p = serial.Serial(sys.argv[1], exclusive=True); print(); input()"
    holder = subprocess.Popen(
        (sys.executable, "-c", holding, name), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None and holder.stdout is not None
    try:
        holder.stdout.readline()
        yield name, holder.pid
    finally:
        holder.communicate(b"\n")
        os.close(master)


def test_a_port_that_is_taken_names_who_has_it(tmp_path: Path) -> None:
    with held_by_another_process() as (port, pid):
        case = Case("", "/dev/no-such-port", port, ENVIRONMENT, (port, f"process {pid}"))
        run(tmp_path, case)


LONG_NAME = "a" * 5000
MANY_DIGITS = "9" * 6000
HEX_DIGITS = "0x" + "f" * 6000
DEEP = "[" * 5000 + "]" * 5000

BEYOND_ANY = (
    Case("decks of 6,000 digits", *table(f"decks = {MANY_DIGITS}"), USAGE, ("line 6", "digits")),
    Case("hexadecimal decks", *table(f"decks = {HEX_DIGITS}"), USAGE, ("table[0].decks", "most")),
    Case("decks, nested", *table(f"decks = {DEEP}"), USAGE, ("nested too deeply",)),
    Case("decks that are no number", *table("decks = nan"), USAGE, ("table[0].decks", "found nan")),
    Case("endless decks", *table("decks = 1e999"), USAGE, ("table[0].decks", "found inf")),
    Case("a long wait", *table("result_timeout_s = 99999999999"), USAGE, ("result_timeout_s",)),
    Case("a game of 5,000 characters", '"tiger"', f'"{LONG_NAME}"', REFUSED, ("no such game",)),
    Case("a game file's", '"tiger"', f'"{LONG_NAME}.toml"', REFUSED, ("File name too long",)),
    Case("a game with NUL", '"tiger"', '"a\\u0000.toml"', USAGE, ("table[0].game", "NUL")),
    Case("a journal's", '"journal.db"', f'"{LONG_NAME}"', ENVIRONMENT, ("File name too long",)),
    Case("a journal with NUL", '"journal.db"', '"a\\u0000"', USAGE, ("journal.path", "NUL")),
    Case("a journal that is a loop", '"journal.db"', '"loop"', ENVIRONMENT, ("loop", "itself")),
    Case("a sink's", '"events.jsonl"', f'"{LONG_NAME}"', ENVIRONMENT, ("File name too long",)),
    Case("a sink with NUL", '"events.jsonl"', '"a\\u0000"', USAGE, ("sink[0].path", "NUL")),
    Case(
        "a group beyond any",
        "[[sink]]",
        '[socket]\ngroup = 99999999999\n[[socket.user]]\nuser = 0\nposition = "dealer"\n[[sink]]',
        USAGE,
        ("socket.group",),
    ),
    Case(
        "a user with NUL",
        "[[sink]]",
        '[socket]\n[[socket.user]]\nuser = "a\\u0000"\nposition = "dealer"\n[[sink]]',
        USAGE,
        ("socket.user[0].user", "NUL"),
    ),
)


@pytest.mark.parametrize("case", BEYOND_ANY, ids=lambda case: case.name)
def test_numbers_and_names_that_nothing_takes_are_one_line(tmp_path: Path, case: Case) -> None:
    (tmp_path / "loop").symlink_to("loop")
    run(tmp_path, case, most=500)
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"table.toml", "loop", "journal.db", "journal.db-head", "journal.db-lock"}


GAME = (Path(shoe_ctl.__file__).parent / "games/data/tiger.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (r'pays = "1:1"', f'pays = "{MANY_DIGITS}:1"', ("pays: expected odds",)),
        (r'pays = "1:1"', f'pays = "1:{MANY_DIGITS}"', ("pays: expected odds",)),
        (r'pays = "1:1"', f'pays = "0.{MANY_DIGITS}:1"', ("pays: expected odds",)),
        (r'pays = "1:1"', 'pays = "1e999:1"', ("pays: expected odds",)),
        (r'commission = "0.05"', f'commission = "0.{MANY_DIGITS}"', ("commission: expected",)),
        (r"min = \d+", f"min = {MANY_DIGITS}", ("line ", "a number of fewer digits")),
        (r"min = \d+", f"min = {HEX_DIGITS}", ("decks.min", "thousands of digits")),
        (r"min = \d+", "min = nan", ("decks.min", "nan")),
        (r"min = \d+", "min = 1e999", ("decks.min", "inf")),
        (r"min = \d+", f"min = {DEEP}", ("nested too deeply",)),
        (r"date = \S+", "date = 2022-99-99", ("expected TOML",)),
        (r"\Z", "# " + "x" * (1 << 20), ("no game file has more than 1,048,576 bytes",)),
    ],
    ids=lambda value: str(value)[:24],
)
@pytest.mark.parametrize("command", [("games", "--check"), ("odds",)], ids=" ".join)
def test_a_game_file_with_numbers_beyond_any_is_one_line(
    tmp_path: Path, command: tuple[str, ...], old: str, new: str, words: tuple[str, ...]
) -> None:
    text = re.sub(old, new.replace("\\", "\\\\"), GAME, count=1)
    assert text != GAME
    (tmp_path / "my.toml").write_text(text)
    said = one_line(shoectl(*command, "./my.toml", cwd=tmp_path), REFUSED, most=500)
    for word in ("my.toml", *words):
        assert word in said


@pytest.mark.parametrize(
    "name", [LONG_NAME, f"{LONG_NAME}.toml", "loop", "folder.toml", "zero.toml"]
)
@pytest.mark.parametrize(
    "words",
    [
        ("settle",),
        ("odds",),
        ("games", "--check"),
        ("demo", "--game"),
        ("run", "--config"),
        ("doctor", "--config"),
        ("table", "status", "--config"),
        ("verify",),
        ("replay",),
        ("export",),
        ("decode", "--profile", "reference", "--fixture", "."),
        ("capture", "--journal"),
        ("replay", "none.db", "--games"),
        ("replay", "none.db", "--key-file"),
        ("verify", "none.db", "--public-key"),
    ],
    ids=" ".join,
)
def test_a_name_that_no_file_has_or_a_file_that_cannot_be_read_is_one_line(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    if words[0] == "decode":
        words = words[:1] + words[3:]
    done = shoectl(*words, name, cwd=tmp_path)
    assert done.returncode in {REFUSED, USAGE, ENVIRONMENT}
    said = one_line(done, done.returncode, most=500)
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run",), USAGE, "--config"),
        (("run", "--config", "none.toml"), USAGE, "none.toml"),
        (("run", "--colour"), USAGE, "--colour"),
        (("dance",), USAGE, "dance"),
        (("settle", "lion"), REFUSED, "lion"),
        (("settle", "tiger", "--decks", "11"), None, "11"),
        (("verify", "none.db"), ENVIRONMENT, "none.db"),
        (("replay", "none.db"), ENVIRONMENT, "none.db"),
        (("decode", "--profile", "nobody"), USAGE, "nobody"),
        (("demo", "--profile", "nobody"), USAGE, "nobody"),
        (("demo", "--game", "lion"), REFUSED, "lion"),
        (("demo", "--rounds", "0"), USAGE, "--rounds"),
        (("demo", "--rounds", "9" * 30), USAGE, "--rounds"),
        (("demo", "--seed", MANY_DIGITS), USAGE, "--seed"),
        (
            ("capture", "--profile", "reference", "--port", "/dev/x", "--seconds", "nan"),
            USAGE,
            "--s",
        ),
        (("replay", "none.db", "--last", MANY_DIGITS), USAGE, "--last"),
        (("demo", "--profile", "angel_eye", "--game", "fa_fa_fabulous_4"), USAGE, "element65"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    tmp_path: Path, words: tuple[str, ...], code: int | None, said: str
) -> None:
    done = shoectl(*words, cwd=tmp_path)
    assert done.returncode != 0
    most = 240 + sum(len(word) > 1000 for word in words) * 200
    assert said in one_line(done, done.returncode if code is None else code, most=most)
    assert list(tmp_path.iterdir()) == []


def test_half_a_round_is_refused_and_the_others_are_settled(tmp_path: Path) -> None:
    done = shoectl("settle", "tiger", cwd=tmp_path, stdin=b"7D 9C TS\n7D 9C TS TH\n")
    assert done.returncode == REFUSED
    assert done.stdout.count(b"\n") >= 2
    said = done.stderr.decode()
    assert said.count("\n") == 1
    assert "line 1" in said
