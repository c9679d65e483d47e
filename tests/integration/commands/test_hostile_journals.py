"""A stranger's journal is safe to open: every command ends soon, in little memory, with one line.

In: a real journal, spoiled in ways that no damage makes: endless views, tables that compute their
rows, triggers, bodies that unpack to gigabytes, pages that lead back to each other, another form.
Out: each command's exit code, its lines, the processor time and memory that it took.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind as RecordKind
from shoe_testing.command_server import CommandServer, WarmProgram, shared_server
from shoe_testing.journals import dealt_journal
from shoe_testing.paths import child_environment

pytestmark = pytest.mark.slow

ROUNDS = 4
MOST_CPU_S = 10
"""What a command takes of this journal, untouched, is a tenth of a second."""

MOST_DATA_BYTES = 500 << 20
MOST_WALL_S = 120
PAGE = 4096

BIN = Path(sys.executable).parent

LEDGER = "events.jsonl"
"""The public events of the journal before it was spoiled."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "verify": ("shoectl", "verify", "FILE"),
    "verify --jobs": ("shoectl", "verify", "FILE", "--jobs", "2", "--state", "verify.state"),
    "loss": ("shoectl", "loss", "FILE"),
    "loss --recovered": ("shoectl", "loss", "FILE", "--recovered"),
    "loss --config": ("shoectl", "loss", "FILE", "--config", "run.toml"),
    "replay": ("shoectl", "replay", "FILE"),
    "replay --last": ("shoectl", "replay", "FILE", "--last", "1"),
    "replay --round": ("shoectl", "replay", "FILE", "--round", "t1-s1-r2"),
    "replay --jobs": ("shoectl", "replay", "FILE", "--jobs", "2", "--state", "replay.state"),
    "rounds": ("shoectl", "rounds", "FILE"),
    "reconcile": ("shoectl", "reconcile", "FILE", LEDGER),
    "incidents": ("shoectl", "incidents", "FILE"),
    "inspect": ("shoectl", "inspect", "."),
    "rounds --last": ("shoectl", "rounds", "FILE", "--last", "2"),
    "rounds --since": ("shoectl", "rounds", "FILE", "--since", "2000-01-01"),
    "rounds --until": ("shoectl", "rounds", "FILE", "--until", "2100-01-01"),
    "rounds --all-records": ("shoectl", "rounds", "FILE", "--all-records"),
    "export": ("shoectl", "export", "FILE", "--output", "out.gz"),
    "export --unpacked": ("shoectl", "export", "FILE", "--unpacked", "--output", "out.db"),
    "decode": ("shoectl", "decode", "FILE"),
    "record": ("shoe-sim", "record", "FILE", "-o", "out.toml"),
    "run": ("shoectl", "run", "--config", "run.toml"),
}

CONFIGURATION = """
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
"""

Spoil = Callable[[Path, random.Random], None]


def sql(*statements: str) -> Spoil:
    """Change the file as anybody can who has SQLite's shell."""

    def spoil(path: Path, _: random.Random) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA writable_schema = ON")
            for statement in statements:
                connection.execute(statement)

    return spoil


ENDLESS = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)"
AS_RECORDS = "SELECT n, 't1' AS \"table\", x'7b' AS body, zeroblob(32) AS hash"
AS_HEADS = (
    "SELECT 't' || n AS \"table\", n, zeroblob(32) AS hash, 1 AS public, 1 AS restricted, "
    "1 AS connection, 1 AS t_us"
)


def replaced_by_view(name: str, columns: str, source: str = "FROM x") -> Spoil:
    return sql(
        f"ALTER TABLE {name} RENAME TO was",
        f"CREATE VIEW {name} AS {ENDLESS} {columns} {source}",
    )


def inserted(rows: str, body: str) -> Spoil:
    return sql(
        f"INSERT INTO record_group SELECT m.n + i.n, 't1', {body}, zeroblob(32)"
        f" FROM (SELECT max(n) AS n FROM record_group) AS m, ({rows}) AS i"
    )


def up_to(count: int) -> str:
    return f"{ENDLESS} SELECT n FROM x LIMIT {count}"


def deflated_bomb(says: int) -> Spoil:
    """A group that unpacks to more than a command may take, and says that it has this many bytes.

    Its hash is of no use: it is checked once the group is unpacked.
    """

    def spoil(path: Path, _: random.Random) -> None:
        squeezed = zlib.compressobj(1, wbits=-15)
        body = b"".join(squeezed.compress(bytes(1 << 20)) for _ in range(700)) + squeezed.flush()
        length = bytes(says >> 7 * digit & 0x7F | 0x80 for digit in range(4)) + b"\0"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(
                "UPDATE record_group SET body = ? WHERE n = "
                "(SELECT max(n) FROM record_group WHERE \"table\" = 't1')",
                (b"\x01\x01i" + bytes(37) + length + body,),
            )

    return spoil


def packed_bomb(path: Path, _: random.Random) -> None:
    """An export that unpacks to far more than its header says."""
    with gzip.open(path.with_suffix(".new"), "wb", compresslevel=1) as file:
        file.write(path.read_bytes())
        for _mebibyte in range(200):
            file.write(bytes(1 << 20))
    path.with_suffix(".new").rename(path)


def pages_in_a_circle(path: Path, chance: random.Random) -> None:
    """Inner pages of the table of records name each other as children."""
    content = bytearray(path.read_bytes())
    pages = [at for at in range(0, len(content), PAGE) if content[at] == 0x05]
    assert pages, "the table of records has no inner page"
    for at in pages:
        other = chance.choice(pages) // PAGE + 1
        cells = int.from_bytes(content[at + 3 : at + 5])
        for cell in range(cells):
            where = at + 12 + 2 * cell
            to = at + int.from_bytes(content[where : where + 2])
            content[to : to + 4] = other.to_bytes(4)
        content[at + 8 : at + 12] = other.to_bytes(4)
    path.write_bytes(content)


def leaves_in_a_circle(path: Path, chance: random.Random) -> None:
    """Inner pages name one leaf again and again."""
    content = bytearray(path.read_bytes())
    leaves = [at for at in range(0, len(content), PAGE) if content[at] == 0x0D]
    for at in (at for at in range(0, len(content), PAGE) if content[at] == 0x05):
        leaf = chance.choice(leaves) // PAGE + 1
        for cell in range(int.from_bytes(content[at + 3 : at + 5])):
            where = at + 12 + 2 * cell
            to = at + int.from_bytes(content[where : where + 2])
            content[to : to + 4] = leaf.to_bytes(4)
    path.write_bytes(content)


def cut_page(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(PAGE, len(content))])


def claims_more_pages(path: Path, _: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[28:32] = (2**31).to_bytes(4)
    path.write_bytes(content)


def noise(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _byte in range(64):
        content[chance.randrange(100, len(content))] = chance.randrange(256)
    path.write_bytes(content)


def own_link(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def device(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def pipe(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


class Kind(NamedTuple):
    """How the file is spoiled, and whether its commands must refuse it before any row is read."""

    spoil: Spoil
    refused: bool = True


HOSTILE: dict[str, Kind] = {
    "endless view for records": Kind(replaced_by_view("record_group", AS_RECORDS)),
    "endless view for heads": Kind(replaced_by_view("head", AS_HEADS)),
    "endless view for cursors": Kind(
        replaced_by_view("cursor", "SELECT 's' || n AS sink, '' AS \"table\", n")
    ),
    "view of a product": Kind(
        replaced_by_view(
            "record_group",
            AS_RECORDS.replace("SELECT n", "SELECT x.n"),
            "FROM x, was a, was b, was c",
        )
    ),
    "table that computes its bodies": Kind(
        sql(
            "ALTER TABLE record_group RENAME TO was",
            'CREATE TABLE record_group (n INTEGER PRIMARY KEY, "table" TEXT, body BLOB '
            "GENERATED ALWAYS AS (zeroblob(900000000)) VIRTUAL, hash BLOB)",
            'INSERT INTO record_group (n, "table", hash) SELECT n, "table", hash FROM was',
        )
    ),
    "virtual table": Kind(
        sql(
            "ALTER TABLE record_group RENAME TO was",
            "INSERT INTO sqlite_schema VALUES ('table', 'record_group', 'record_group', 0, "
            "'CREATE VIRTUAL TABLE record_group USING dbstat')",
        )
    ),
    "groups are an index": Kind(
        sql("ALTER TABLE record_group RENAME TO was", "CREATE INDEX record_group ON was (hash)")
    ),
    "no table of groups": Kind(sql("DROP TABLE record_group")),
    "foreign schema": Kind(
        sql(
            "DROP TABLE record_group",
            "CREATE TABLE record_group (n, 'table', body, hash, more)",
        )
    ),
    "endless view for landmarks": Kind(
        replaced_by_view("landmark", "SELECT 't1' AS \"table\", 'meta' AS kind, n")
    ),
    "endless view for rounds": Kind(
        replaced_by_view(
            "round",
            "SELECT n, 't1' AS \"table\", 1 AS shoe, n AS number, n AS t_us, x'01' AS records",
        )
    ),
    "rounds without end": Kind(
        sql(
            "INSERT INTO round SELECT -n, 't1', 9, n, n, x'0000000000000001'"
            f" FROM ({up_to(200_000)})"
        ),
        refused=False,
    ),
    "a round of a million records": Kind(
        sql("UPDATE round SET records = CAST(records || zeroblob(8000000) AS BLOB)"), refused=False
    ),
    "landmarks without end": Kind(
        sql(f"INSERT INTO landmark SELECT 't1', 'meta', -n FROM ({up_to(200_000)})"),
        refused=False,
    ),
    "two hundred thousand tables": Kind(
        sql(
            f"INSERT INTO head SELECT 'x' || n, n, zeroblob(32), n, n, 1, 1 FROM ({up_to(200_000)})"
        ),
        refused=False,
    ),
    "triggers": Kind(
        sql(
            "CREATE TRIGGER t1 AFTER INSERT ON record_group BEGIN DELETE FROM head; END",
            "CREATE TRIGGER t2 AFTER UPDATE ON head BEGIN DELETE FROM head; END",
        ),
        refused=False,
    ),
    "two thousand views": Kind(
        sql(*(f"CREATE VIEW v{n} AS SELECT * FROM record_group" for n in range(2000))),
        refused=False,
    ),
    "bodies of 900 MB": Kind(inserted(up_to(1), "zeroblob(900000000)"), refused=False),
    "sixty bodies of 12 MB": Kind(inserted(up_to(60), "zeroblob(12000000)"), refused=False),
    "numbers at their end": Kind(
        sql(
            "UPDATE record_group SET n = 9223372036854775807"
            " WHERE n = (SELECT max(n) FROM record_group)"
        ),
        refused=False,
    ),
    "numbers below zero": Kind(
        sql(
            "UPDATE record_group SET n = -9223372036854775808"
            " WHERE n = (SELECT min(n) FROM record_group)"
        ),
        refused=False,
    ),
    "counters at their end": Kind(
        sql("UPDATE head SET public = 9223372036854775807, restricted = 9223372036854775807"),
        refused=False,
    ),
    "deflated bomb": Kind(deflated_bomb(700 << 20), refused=False),
    "deflated bomb that says less": Kind(deflated_bomb(1 << 20), refused=False),
    "packed bomb": Kind(packed_bomb),
    "pages in a circle": Kind(pages_in_a_circle, refused=False),
    "leaves in a circle": Kind(leaves_in_a_circle, refused=False),
    "cut page": Kind(cut_page, refused=False),
    "more pages than the file": Kind(claims_more_pages, refused=False),
    "noise": Kind(noise, refused=False),
    "a link to itself": Kind(own_link),
    "an endless device": Kind(device),
    "a pipe": Kind(pipe),
}

WAITS = {("a pipe", "decode")}
"""A pipe is a way to hand over a shoe's bytes: decode waits for them, as cat does."""

SAMPLE = [
    ("endless view for records", "verify"),
    ("endless view for records", "record"),
    ("endless view for heads", "rounds"),
    ("table that computes its bodies", "decode"),
    ("virtual table", "replay"),
    ("deflated bomb", "verify"),
    ("pages in a circle", "verify"),
    ("leaves in a circle", "rounds"),
    ("leaves in a circle", "reconcile"),
    ("packed bomb", "incidents"),
    ("two hundred thousand tables", "incidents"),
    ("two hundred thousand tables", "reconcile"),
    ("packed bomb", "verify"),
    ("two hundred thousand tables", "loss"),
    ("two hundred thousand tables", "inspect"),
    ("endless view for records", "inspect"),
    ("endless view for rounds", "rounds --last"),
    ("a round of a million records", "rounds --since"),
    ("numbers at their end", "replay --jobs"),
    ("deflated bomb", "verify --jobs"),
    ("endless view for cursors", "run"),
    ("a pipe", "replay --last"),
    ("a pipe", "record"),
    ("a pipe", "run"),
]


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dealt") / "journal.db"
    dealt_journal(path, "reference", ROUNDS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    with Reader.open(path) as reader:
        events = [record.body for record in reader.records(kinds=(RecordKind.PUBLIC,))]
    path.with_name(LEDGER).write_bytes(b"\n".join(events))
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[CommandServer]:
    with shared_server() as started:
        yield started


class Ended(NamedTuple):
    code: int
    err: str


def ended(words: tuple[str, ...], folder: Path) -> Ended:
    """Run a command with limits of time and memory; it must end by itself, within them."""
    program, *rest = ["journal.db" if word == "FILE" else word for word in words]
    errors = folder / "err"
    with errors.open("wb") as err, WarmProgram(
        [str(BIN / program), *rest], cwd=folder, env=child_environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
    ) as process:  # fmt: skip
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MOST_DATA_BYTES, MOST_DATA_BYTES))
        began = time.monotonic()
        try:
            code = process.wait(MOST_WALL_S)
        finally:
            process.kill()
    assert time.monotonic() - began < MOST_WALL_S
    return Ended(code, errors.read_text("utf-8", "replace"))


def opened(journal: Path, kind: str, command: str, folder: Path, seed: object) -> None:
    """Spoil a copy and let the command at it; check what came of it."""
    path = Path(shutil.copy(journal, folder / "journal.db"))
    for beside in ("-key", "-head"):
        if (was := journal.with_name(journal.name + beside)).exists():
            shutil.copy(was, folder)
    shutil.copy(journal.with_name(LEDGER), folder)
    (folder / "run.toml").write_text(CONFIGURATION)
    HOSTILE[kind].spoil(path, random.Random(str(seed)))
    code, err = ended(COMMANDS[command], folder)
    shown = f"{kind}, {command}, seed {seed}: exit {code}\n{err[-2000:]}"
    assert code in {0, 1, 2, 3}, shown  # neither killed nor out of memory
    assert "Traceback" not in err and "MemoryError" not in err, shown
    if HOSTILE[kind].refused:
        assert code != 0, shown
        if command == "inspect" and not err:
            return  # its page has a finding
        *said, last = err.splitlines()
        assert last.startswith(("shoectl: ", "shoe-sim: ")), shown
        assert all(" WARNING journal: " in line for line in said), (
            shown
        )  # of a daemon, at its start


@pytest.mark.parametrize(("kind", "command"), SAMPLE)
def test_a_strangers_file_costs_little_and_is_answered_in_a_line(
    server: CommandServer, journal: Path, kind: str, command: str, tmp_path: Path
) -> None:
    opened(journal, kind, command, tmp_path, 1)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_every_strangers_file_with_every_command(
    server: CommandServer, journal: Path, tmp_path: Path
) -> None:
    until_s = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60"))
    seeds = random.Random(os.environ.get("SHOE_CTL_SEED", "1"))
    tried = 0
    while tried == 0 or time.monotonic() < until_s:
        seed = seeds.randrange(2**32)
        for kind in HOSTILE:
            for command in (each for each in COMMANDS if (kind, each) not in WAITS):
                folder = tmp_path / str(tried)
                folder.mkdir()
                opened(journal, kind, command, folder, seed)
                shutil.rmtree(folder)
                tried += 1
