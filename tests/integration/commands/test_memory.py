"""What a command costs in memory does not depend on how long the file is that it is given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe_ctl.journal import schema
from shoe_ctl.journal.chain import GENESIS, chain_hash
from shoe_testing.examples import sampled
from shoe_testing.journals import group_as_is

pytestmark = pytest.mark.slow

SHOECTL = str(Path(sys.executable).parent / "shoectl")
SHOE_SIM = str(Path(sys.executable).parent / "shoe-sim")

MOST_KB = 100_000
BODY = bytes(1 << 20)
BODIES = 200
GROUP = group_as_is([("input", BODY)], before=(0, 0))
POLL_S = 0.02
"""Between two looks at the processor time of a command."""

MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(done.returncode)
"""
"""Runs a command; the last line on stderr is the most memory that it held, in KB."""


def measured(*words: str, stdin: str = "/dev/null", cwd: Path) -> tuple[int, int, str, str]:
    """The exit code, the peak of memory in KB, stdout and stderr."""
    with Path(stdin).open("rb") as source:
        done = subprocess.run(
            (sys.executable, "-c", MEASURED, *words),
            stdin=source,
            capture_output=True,
            cwd=cwd,
            timeout=120,
            check=False,
        )
    *said, peak = done.stderr.decode().splitlines()
    return done.returncode, int(peak), done.stdout.decode(), "\n".join(said)


@pytest.fixture(scope="module")
def long_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole export of 200 MB, of records as long as few are; 200 KB compressed."""
    folder = tmp_path_factory.mktemp("long")
    path = folder / "long.journal.gz"
    with schema.new_export(folder) as (connection, file), path.open("wb") as packed:
        end = GENESIS
        with connection:
            for n in range(1, BODIES + 1):
                end = chain_hash(end, n, "t1", GROUP)
                connection.execute(
                    "INSERT INTO record_group VALUES (?, ?, ?, ?)", (n, "t1", GROUP, end)
                )
            connection.execute("INSERT INTO head VALUES (?, ?, ?, 0, 0, 0, 0)", ("t1", BODIES, end))
        packing = zlib.compressobj(1, wbits=31)
        while piece := file.read(1 << 20):
            packed.write(packing.compress(piece))
        packed.write(packing.flush())
    return path


def test_a_folder_with_a_long_export_is_inspected_in_little_memory(
    long_export: Path, tmp_path: Path
) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "long.journal.gz").hardlink_to(long_export)
    code, peak_kb, told, said = measured(SHOECTL, "inspect", "evidence", cwd=tmp_path)
    assert (code, said) == (1, ""), told
    assert "long.journal.gz" in told.partition("FINDINGS")[2], told
    assert peak_kb < MOST_KB


def test_a_long_export_is_verified_in_little_memory(long_export: Path, tmp_path: Path) -> None:
    code, peak_kb, told, said = measured(SHOECTL, "verify", str(long_export), cwd=tmp_path)
    assert code == 0, said
    assert f"{BODIES} " in told.replace("\n", " ")
    assert peak_kb < MOST_KB


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("replay", "--last", "1"),
        ("export", "--output", "again.gz"),
        ("decode",),
    ],
    ids=" ".join,
)
def test_whoever_reads_a_long_export_needs_little_memory(
    long_export: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    command, *options = words
    _, peak_kb, _, said = measured(SHOECTL, command, str(long_export), *options, cwd=tmp_path)
    assert "Traceback" not in said
    assert peak_kb < MOST_KB


def test_a_capture_of_a_long_export_needs_little_memory(long_export: Path, tmp_path: Path) -> None:
    words = ("capture", "--journal", str(long_export), "-o", "x.capture")
    _, peak_kb, _, said = measured(SHOECTL, *words, cwd=tmp_path)
    assert "Traceback" not in said
    assert peak_kb < MOST_KB


@pytest.mark.parametrize("temporary", ["", "nowhere"], ids=["room", "no place"])
def test_nothing_stays_where_a_long_export_was_unpacked(
    long_export: Path, tmp_path: Path, temporary: str
) -> None:
    folder = tmp_path / (temporary or "there")
    if not temporary:
        folder.mkdir()
    done = subprocess.run(
        (SHOECTL, "verify", str(long_export)),
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ([] if temporary else ["there"])


def test_ctrl_c_ends_an_inspection_and_leaves_nothing_behind(
    long_export: Path, tmp_path: Path
) -> None:
    folder, temporary = tmp_path / "evidence", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    (folder / "long.journal.gz").hardlink_to(long_export)
    with subprocess.Popen(
        (SHOECTL, "inspect", str(folder)),
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as inspecting:
        while _ticks(inspecting.pid) < 40 and inspecting.poll() is None:
            time.sleep(POLL_S)
        inspecting.send_signal(signal.SIGINT)
        told, said = inspecting.communicate(timeout=60)
    assert (inspecting.returncode, told, said.strip()) == (130, b"", b"")
    assert [path.name for path in tmp_path.rglob("*")] == [
        "evidence",
        "temporary",
        "long.journal.gz",
    ]


def bomb(path: Path, *, claims: int | None) -> None:
    """Zeros behind the beginning of a small export; its header claims so many pages if given."""
    with schema.new_export(path.parent) as (_, file):
        small = bytearray(file.read())
    if claims is not None:
        small[28:32] = claims.to_bytes(4)
    packing = zlib.compressobj(9, wbits=31)
    with path.open("wb") as packed:
        packed.write(packing.compress(bytes(small)))
        for _ in range(64):
            packed.write(packing.compress(BODY))
        packed.write(packing.flush())


@pytest.mark.parametrize("command", ["verify", "replay", "export"])
def test_an_export_that_unpacks_to_more_than_it_says_is_one_line(
    tmp_path: Path, command: str
) -> None:
    bomb(tmp_path / "bomb.gz", claims=None)
    code, peak_kb, told, said = measured(SHOECTL, command, "bomb.gz", cwd=tmp_path)
    assert (code, told, said.count("\n")) == (3, "", 0)
    assert "bomb.gz is corrupt: it unpacks to more than it says" in said
    assert peak_kb < MOST_KB


def test_an_export_that_says_it_is_longer_than_any_is_not_unpacked(tmp_path: Path) -> None:
    bomb(tmp_path / "bomb.gz", claims=2**31)
    code, peak_kb, told, said = measured(SHOECTL, "verify", "bomb.gz", cwd=tmp_path)
    assert (code, told, said.count("\n")) == (3, "", 0)
    assert "bomb.gz is longer than any export" in said
    assert peak_kb < MOST_KB


def test_a_header_that_does_not_know_its_length_is_held_to_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoe_ctl.errors import JournalError
    from shoe_ctl.journal.reader import Reader

    bomb(tmp_path / "bomb.gz", claims=0)
    monkeypatch.setattr(schema, "MOST_UNPACKED_BYTES", 1 << 24)
    with pytest.raises(JournalError, match="unpacks to more than any export"):
        Reader.open(tmp_path / "bomb.gz")


def test_a_disk_without_room_for_a_long_export_is_one_line(
    long_export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoe_ctl.errors import JournalError
    from shoe_ctl.journal.reader import Reader

    monkeypatch.setattr(schema, "LEAST_LEFT_BYTES", 1 << 62)
    with pytest.raises(JournalError, match=r"cannot be unpacked: .* is full; .* TMPDIR"):
        Reader.open(long_export)


@contextmanager
def fed(command: str) -> Iterator[int]:
    """The reading end of a pipe that this program never stops writing to."""
    with subprocess.Popen(command.split(), stdout=subprocess.PIPE) as feeding:
        assert feeding.stdout is not None
        try:
            yield feeding.stdout.fileno()
        finally:
            feeding.stdout.close()
            feeding.kill()


ENDLESS = [
    pytest.param(profile, source, id=f"{source}-{profile}")
    for profile in ("reference", "angel_eye", "bee_tek")
    for source in ("cat /dev/zero", "yes")
]


@pytest.mark.parametrize(("profile", "source"), sampled(ENDLESS, one_in=3, cpu_s=0.7))
def test_an_input_without_an_end_is_decoded_in_flat_memory_until_ctrl_c(
    profile: str, source: str
) -> None:
    with (
        fed(source) as pipe,
        subprocess.Popen(
            (SHOECTL, "decode", "--profile", profile),
            stdin=pipe,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as decoding,
    ):
        assert decoding.stderr is not None
        while _ticks(decoding.pid) < 60 and decoding.poll() is None:
            time.sleep(POLL_S)
        peak_kb = _peak_kb(decoding.pid)
        decoding.send_signal(signal.SIGINT)
        said = decoding.stderr.read().decode()
        code = decoding.wait(60)
    assert code == 130
    assert said.count("\n") == 1 and said.endswith(", interrupted\n")
    assert peak_kb < 40_000


def _ticks(pid: int) -> int:
    """Processor time of a process, in hundredths of a second."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def _peak_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("source", ["cat /dev/zero", "yes"])
def test_what_has_no_end_is_not_played_back(source: str, tmp_path: Path) -> None:
    with fed(source) as pipe:
        code, peak_kb, told, said = measured(
            SHOE_SIM,
            "play",
            "/dev/stdin",
            "--port",
            "pty",
            stdin=f"/proc/self/fd/{pipe}",
            cwd=tmp_path,
        )
    assert (code, told, said.count("\n")) == (2, "", 0)
    assert peak_kb < MOST_KB


HEADER = '{"capture": 1, "profile": "reference", "port": "p", "started": "2026-01-01T00:00:00Z"}'
ENTRY = '{"t_us": 1, "from": "shoe", "hex": "01 02"}'


def test_a_capture_that_never_ends_is_read_in_flat_memory_until_ctrl_c(tmp_path: Path) -> None:
    endless = ("sh", "-c", f"echo '{HEADER}'; exec yes '{ENTRY}'")
    with (
        subprocess.Popen(endless, stdout=subprocess.PIPE) as feeding,
        subprocess.Popen(
            (SHOE_SIM, "play", "/dev/stdin", "--port", "pty"),
            stdin=feeding.stdout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        ) as playing,
    ):
        assert playing.stderr is not None
        assert feeding.stdout is not None
        feeding.stdout.close()
        while _ticks(playing.pid) < 100 and playing.poll() is None:
            time.sleep(POLL_S)
        peak_kb = _peak_kb(playing.pid)
        playing.send_signal(signal.SIGINT)
        said = playing.stderr.read().decode()
        code = playing.wait(60)
        feeding.kill()
    assert code == 130
    assert said == "interrupted while /dev/stdin was read\n"
    assert peak_kb < 60_000
    assert list(tmp_path.iterdir()) == []


def test_a_capture_of_more_than_a_stated_length_is_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simulators import capture_player as playback
    from simulators.errors import WrongUsage

    monkeypatch.setattr(playback, "MOST_BYTES", 1 << 20)
    (tmp_path / "long.capture").write_text(f"{HEADER}\n" + f"{ENTRY}\n" * 30_000)
    with (
        pytest.raises(WrongUsage, match="no capture has more than 1 MB"),
        playback.recording(tmp_path / "long.capture"),
    ):
        pass
