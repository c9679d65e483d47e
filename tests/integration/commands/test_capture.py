"""Captures as processes: listened to, decoded, played back, taken from a journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe_testing.command_server import WarmProgram, run_command

pytestmark = pytest.mark.usefixtures("commands")

BIN = Path(sys.executable).parent
SHOECTL, SHOE_SIM = str(BIN / "shoectl"), str(BIN / "shoe-sim")
PATIENCE_S = 60
HEADER = '{"capture": 1, "profile": "angel_eye", "port": "p", "started": "s"}'
CARD = "05 31 44 81 b8 03 34 46"
BURST = "05 32 47 91 03 45 37"


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    with WarmProgram(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def done(*words: str) -> subprocess.CompletedProcess[str]:
    return run_command(*words)


def decoded(file: Path) -> list[str]:
    shown = done(SHOECTL, "decode", "--json", str(file))
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.splitlines()


def port_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def written(folder: Path, *lines: str) -> Path:
    file = folder / "written.capture"
    file.write_text("".join(f"{line}\n" for line in (HEADER, *lines)))
    return file


def entry(t_ms: int, data: str) -> str:
    return json.dumps({"t_us": t_ms * 1000, "from": "shoe", "hex": data})


def opened(t_ms: int) -> str:
    return json.dumps({"t_us": t_ms * 1000, "port": "opened"})


def lost(t_ms: int) -> str:
    return json.dumps({"t_us": t_ms * 1000, "port": "lost", "why": "unplugged"})


def heard_of(capture: Path, folder: Path, port: str) -> tuple[Path, str]:
    """What recording from a capture played back brings, and what was said of it."""
    again = folder / "again.capture"
    with started(SHOE_SIM, "play", str(capture), "--port", port, "--speed", "5") as player:
        where = port_of(player)
        with started(
            SHOECTL, "capture", "--profile", "angel_eye", "--port", where, "-o", str(again)
        ) as listening:
            assert player.wait(PATIENCE_S) == 0
            listening.send_signal(signal.SIGTERM)
            assert listening.stderr is not None
            said = listening.stderr.read()
            assert listening.wait(PATIENCE_S) == 0
    return again, said


@pytest.mark.slow
@pytest.mark.parametrize("port", ["pty:{}/shoe", "tcp:127.0.0.1:0"])
def test_what_is_played_back_is_heard_as_it_was(port: str, tmp_path: Path) -> None:
    lines = [opened(0), entry(50, CARD), entry(60, BURST), entry(61, "ff " + CARD[:8])]
    capture = written(tmp_path, *lines)
    again, said = heard_of(capture, tmp_path, port.format(tmp_path))
    assert decoded(again) == decoded(capture)
    assert len(decoded(capture)) == 4
    assert f"To decode: shoectl decode {again}" in said


@pytest.mark.slow
def test_a_loss_is_played_back_as_a_loss_and_each_connection_decoded_by_itself(
    tmp_path: Path,
) -> None:
    half, rest = CARD[:11], CARD[12:]
    lines = [opened(0), entry(50, half), lost(1000), opened(2000), entry(2050, rest)]
    capture = written(tmp_path, *lines, entry(2060, BURST))
    kinds = [json.loads(line)["type"] for line in decoded(capture)]
    assert kinds[0] == "discarded" and kinds[-1] == "result" and "card_drawn" not in kinds
    again, said = heard_of(capture, tmp_path, f"pty:{tmp_path}/shoe")
    assert decoded(again) == decoded(capture)
    assert "lost 2 times" in said  # once in the capture, once at its end


@pytest.mark.slow
def test_ctrl_c_ends_listening_with_all_that_came_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept.capture"
    options = ("--profile", "angel_eye", "--seed", "3", "--pace-ms", "1")
    with started(SHOE_SIM, "serve", "--port", f"pty:{tmp_path}/shoe", *options) as shoe:
        words = ("--profile", "angel_eye", "--port", port_of(shoe), "-o", str(kept))
        with started(SHOECTL, "capture", *words) as listening:
            assert listening.stderr is not None
            assert "recording from" in listening.stderr.readline()
            while kept.read_text().count("\n") < 20:
                os.sched_yield()
            listening.send_signal(signal.SIGINT)
            assert "bytes, connection lost 0 times" in listening.stderr.read()
            assert listening.wait(PATIENCE_S) == 130
        shoe.send_signal(signal.SIGTERM)
    kinds = {json.loads(line)["type"] for line in decoded(kept)}
    assert "card_drawn" in kinds and "discarded" not in kinds


@pytest.mark.slow
def test_a_daemons_journal_gives_what_came_from_its_shoe(tmp_path: Path) -> None:
    demo = subprocess.run(
        (SHOECTL, "demo", "--rounds", "2", "--seed", "3", "--pace-ms", "0", "--keep"),
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert demo.returncode == 0
    journal = str(next(tmp_path.glob("*/journal.db")))
    kept = tmp_path / "kept.capture"
    assert done(SHOECTL, "capture", "--journal", journal, "-o", str(kept)).returncode == 0
    cards = [line for line in decoded(kept) if json.loads(line)["type"] == "card_drawn"]
    assert len(cards) >= 8
    wrong = done(SHOECTL, "capture", "--journal", journal, "--table", "nobody")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.strip().endswith("no table nobody (have: demo)")


def test_a_fixture_is_the_capture_and_its_events_and_is_never_overwritten(tmp_path: Path) -> None:
    capture = written(tmp_path, opened(0), entry(1, CARD))
    folder = tmp_path / "fixtures"
    folder.mkdir()
    words = (SHOECTL, "decode", str(capture), "--fixture", str(folder))
    assert done(*words).returncode == 0
    assert (folder / "written.capture").read_bytes() == capture.read_bytes()
    assert (folder / "written.events").read_text().splitlines() == decoded(capture)
    again = done(*words)
    assert again.returncode == 3
    assert again.stderr == f"shoectl: {folder}/written.capture: File exists\n"


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("capture",), 2, "--profile is missing"),
        (("capture", "--profile", "angel_eye"), 2, "--port is missing"),
        (("capture", "--profile", "nobody", "--port", "/x"), 2, "unknown profile 'nobody'"),
        (("capture", "--profile", "angel_eye", "--port", "udp:1"), 2, "--port: got 'udp:1'"),
        (("capture", "--profile", "angel_eye", "--port", "/no/such"), 3, "/no/such"),
        (("capture", "--table", "t", "--profile", "angel_eye", "--port", "/x"), 2, "--journal"),
        (("capture", "--journal", "/no/such"), 3, "/no/such does not exist"),
        (
            ("capture", "--journal", "j", "--port", "/x"),
            2,
            "--journal can be combined with --table and --output only",
        ),
        (("decode",), 2, "--profile is missing"),
        (("decode", "--fixture", "/tmp"), 2, "--fixture needs the capture's FILE"),
        (("decode", "--fixture", "/tmp", "/no/such"), 3, "/no/such: No such file"),
        (
            ("decode", "--fixture", "/tmp", "--json", "x"),
            2,
            "--fixture cannot be combined with other options",
        ),
    ],
)
def test_what_cannot_be_captured_is_one_line(words: tuple[str, ...], code: int, why: str) -> None:
    refused = done(SHOECTL, *words)
    assert (refused.returncode, refused.stdout) == (code, "")
    assert why in refused.stderr and refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "no line"),
        ("x\n", "line 1: expected a JSON object"),
        ('{"capture": 7}\n', "line 1: expected a capture of version 1, got 7"),
        (HEADER + "\n{}\n", "line 2: t_us"),
    ],
)
def test_what_is_no_capture_is_not_played(body: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.capture"
    file.write_text(body)
    refused = done(SHOE_SIM, "play", str(file), "--port", "pty")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert why in refused.stderr and refused.stderr.count("\n") == 1


def test_a_capture_cut_off_in_a_line_is_read_up_to_it(tmp_path: Path) -> None:
    file = written(tmp_path, opened(0), entry(1, CARD))
    with file.open("a") as end:
        end.write(entry(2, CARD)[:-9])
    assert [json.loads(line)["type"] for line in decoded(file)] == ["card_drawn"]
    file.write_text(f"{HEADER}\n[]\n")
    refused = done(SHOECTL, "decode", str(file))
    assert refused.returncode == 1
    assert refused.stderr == f"shoectl: {file}: line 2: expected a JSON object\n"
