"""``shoectl decode``: every event a line, nothing left out, every error one clear line.

In: bytes and hexadecimal text. Out: lines, exit codes. Must not know: profiles' layouts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firmware_proto.angel_eye.frames import encode_event
from firmware_proto.events import PresetChanged, Standby
from shoe_ctl.cli.decode import decode
from shoe_ctl.errors import EnvironmentFault, InputRefused, ShoeCtlError, UsageError

CARD = bytes.fromhex("05314481B8033446")
RESULT = bytes.fromhex("05324791034537")
SHOECTL = [sys.executable, "-c", "from shoe_ctl.cli.main import main; main()"]
DECODE = [*SHOECTL, "decode", "--profile", "angel_eye"]


def _run(*args: str, data: bytes = b"", profile: str = "angel_eye") -> Result:
    return CliRunner().invoke(decode, ["--profile", profile, *args], input=data)


def _objects(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def _shoectl(*args: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*SHOECTL, *args], input=data, capture_output=True, check=False)


def test_each_event_is_an_object_with_its_fields_and_bytes() -> None:
    assert _objects(_run("--json", data=CARD + RESULT)) == [
        {
            "type": "card_drawn",
            "seq": "1",
            "card": "8S",
            "hand": "player",
            "index": 1,
            "face_up": False,
            "raw": "05314481b8033446",
        },
        {
            "type": "result",
            "seq": "2",
            "winner": "player",
            "player_pair": True,
            "banker_pair": False,
            "raw": "05324791034537",
        },
    ]


def test_repeats_replies_commands_and_what_did_not_fit_are_shown() -> None:
    command = bytes.fromhex("024F504C4B303203 3142")
    told = _objects(_run("--json", data=CARD * 2 + b"\x15\x02" + command + b"\xff" + CARD[:3]))
    assert told[1:] == [
        {"type": "repeated", "seq": "1", "of": "card_drawn", "raw": CARD.hex()},
        {"type": "reply", "accepted": False, "reason": "bcc", "raw": "1502"},
        {"type": "command", "command": "LK 02", "raw": command.hex()},
        {"type": "discarded", "reason": "outside_frame", "raw": "ff"},
        {"type": "discarded", "reason": "cut_short", "raw": CARD[:3].hex()},
    ]


def test_a_bee_tek_shoe_s_lines_are_told_by_the_same_names() -> None:
    lines = [
        b" [Game]<Card:10S> \r\n",
        b" [Manual Burn Cards]<H3> \r\n",
        b" [Game]<Game> \r\n",
        b" [GameAlarm]<Alarm:E3 Card Not Read> \r\n",
        b"<W0x01>\r\n",
        b" [Game]<Card:11S> \r\n",
    ]
    told = _objects(_run("--json", data=b"".join(lines), profile="bee_tek"))
    assert [line["raw"] for line in told] == [line.hex() for line in lines]
    assert [{k: v for k, v in line.items() if k != "raw"} for line in told] == [
        {"type": "card_drawn", "card": "TS", "face_up": False},
        {"type": "card_drawn", "card": "3H", "hand": "burn", "face_up": False},
        {"type": "card_drawn", "face_up": False},
        {"type": "error", "code": "E3", "in_error_mode": False, "text": "Card Not Read"},
        {"type": "warning", "code": "W0x01"},
        {"type": "discarded", "reason": "card"},
    ]


def test_no_byte_is_left_out() -> None:
    data = bytes(range(256)) * 4 + CARD + bytes(range(255, -1, -1))
    assert "".join(o["raw"] for o in _objects(_run("--json", data=data))) == data.hex()


def test_text_has_place_type_number_fields_and_bytes_in_columns() -> None:
    result = _run(data=b"\x00" + CARD)
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["0", "discarded", "reason=outside_frame", "00"],
        [
            *["1", "card_drawn", "1", "card=8S", "hand=player", "index=1", "face_up=false"],
            *CARD.hex(" ").split(),
        ],
    ]


def test_text_quotes_what_could_be_mistaken_for_more() -> None:
    data = encode_event(PresetChanged(address="a ", value='"b c'), "1")
    assert 'address="a " value="\\"b c"' in _run(data=data).stdout


@pytest.mark.parametrize(
    ("data", "summary"),
    [
        (b"", "0 events, 0 repeated, 0 discarded\n"),
        (CARD, "1 event, 0 repeated, 0 discarded\n"),
        (CARD * 3 + RESULT + b"\xff", "2 events, 2 repeated, 1 discarded\n"),
    ],
)
def test_the_summary_counts_on_stderr(data: bytes, summary: str) -> None:
    assert _run(data=data).stderr == summary


def test_a_file_is_read_as_stdin_is(tmp_path: Path) -> None:
    path = tmp_path / "capture.bin"
    path.write_bytes(CARD + RESULT)
    assert _run(str(path)).stdout == _run(data=CARD + RESULT).stdout
    assert _run("-", data=CARD + RESULT).stdout == _run(data=CARD + RESULT).stdout


@pytest.mark.parametrize(
    "text", ["05 31 44 81 B8 03 34 46", "05314481b8033446\r\n", "\n 0531\t4481\n\nb803 3446 "]
)
def test_pasted_hexadecimal_text_is_taken(text: str) -> None:
    assert _run("--hex", data=text.encode()).stdout == _run(data=CARD).stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"05 31 4", "hex: line 1, column 7: a byte has two digits, not '4' alone"),
        (b"05\n5 31", "hex: line 2, column 1: a byte has two digits, not '5' alone"),
        (b"05 3x", "hex: line 1, column 5: 'x' is not a hexadecimal digit"),
        (b"05\n \xc3\xa9", "hex: line 2, column 2: byte c3 is not a hexadecimal digit"),
        (b"\x1b", "hex: line 1, column 1: byte 1b is not a hexadecimal digit"),
    ],
)
def test_bad_hexadecimal_text_is_refused_where_it_is_wrong(text: bytes, told: str) -> None:
    result = _run("--hex", data=text)
    assert isinstance(result.exception, InputRefused)
    assert str(result.exception) == told


def test_what_stands_before_bad_text_is_decoded() -> None:
    result = _run("--hex", "--json", data=CARD.hex().encode() + b" zz")
    assert json.loads(result.stdout)["card"] == "8S"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--profile", "bee"], UsageError),
        (["--profile", "angel_eye", "no/such/file"], EnvironmentFault),
        (["--profile", "angel_eye", "/"], EnvironmentFault),
        (["--profile", "angel_eye", "a\0b"], EnvironmentFault),
    ],
)
def test_a_wrong_call_is_told_in_one_line(args: list[str], error: type[ShoeCtlError]) -> None:
    result = CliRunner().invoke(decode, args)
    assert isinstance(result.exception, error)
    assert len(str(result.exception).splitlines()) == 1


def test_both_profiles_are_listened_to() -> None:
    told = _objects(_run("--json", data=b"\x00\x01\x02\x00", profile="reference"))
    assert {o["type"] for o in told} == {"discarded"}


def test_the_command_line_exits_as_promised(tmp_path: Path) -> None:
    done = _shoectl("decode", "--profile", "angel_eye", "--hex", data=b"05 31")
    assert (done.returncode, done.stderr) == (0, b"0 events, 0 repeated, 1 discarded\n")
    refused = _shoectl("decode", "--profile", "angel_eye", "--hex", data=b"xyz")
    assert (refused.returncode, refused.stdout) == (1, b"")
    missing = _shoectl("decode", "--profile", "angel_eye", str(tmp_path / "none"))
    assert missing.returncode == 3
    for failed in (refused, missing):
        assert len(failed.stderr.splitlines()) == 1
        assert b"Traceback" not in failed.stderr


def test_events_are_shown_as_their_bytes_come() -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*DECODE, "--json"],
        env=buffered,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as shown:
        assert shown.stdin is not None
        assert shown.stdout is not None
        for seq in "123":
            frame = encode_event(Standby(), seq)
            shown.stdin.write(frame[:2])
            shown.stdin.flush()
            shown.stdin.write(frame[2:])
            shown.stdin.flush()
            assert json.loads(shown.stdout.readline())["seq"] == seq
        shown.communicate()
    assert shown.returncode == 0


def test_an_interrupt_is_one_line() -> None:
    with subprocess.Popen(
        DECODE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as shown:
        assert shown.stdin is not None
        assert shown.stdout is not None
        shown.stdin.write(CARD)
        shown.stdin.flush()
        assert b"8S" in shown.stdout.readline()
        shown.send_signal(2)
        _, told = shown.communicate()
    assert shown.returncode == 130
    assert told == b"1 event, 0 repeated, 0 discarded, interrupted\n"


@pytest.mark.parametrize("cut", [b'{"capture":', b'{"capture": 1, "profile": "reference"'])
def test_a_capture_cut_off_in_its_first_line_is_one_line(cut: bytes) -> None:
    done = subprocess.run([*SHOECTL, "decode"], input=cut, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"shoectl: stdin: line 1: expected a JSON object\n"


def test_a_reader_that_went_away_is_no_complaint() -> None:
    with subprocess.Popen(
        DECODE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as shown:
        assert shown.stdout is not None
        shown.stdout.close()
        shown.stdout = None
        _, told = shown.communicate(CARD * 10_000)
    assert told.strip() == b""


def test_it_starts_without_what_it_does_not_use() -> None:
    code = (
        "import sys; from shoe_ctl.cli.decode import decode; "
        "decode(['--profile', 'angel_eye'], standalone_mode=False); "
        "heavy = {'rich', 'asyncio', 'apsw', 'serial', 'transitions', 'msgspec', 'sqlite3'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True, check=True)
    assert done.stdout == b"[]\n"
