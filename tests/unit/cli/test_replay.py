"""``shoectl replay`` of a whole journal: what it says, its JSON, its exit codes."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from shoe_ctl.cli import replay_view
from shoe_ctl.cli.common import Progress
from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import ConfigError, GameFileError
from shoe_ctl.games import catalog
from shoe_ctl.journal.record_format import Kind, Wire
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import MOST_WHOLE, Difference, Differences, Money
from shoe_ctl.replay.replay import Replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import (
    DEVICE,
    KEY,
    alter_record,
    dealt_journal,
    records,
)
from simulators.table.scenario import find as scenario

ROUNDS = 12
HIDE, SHOW, UP_AND_CLEAR = "\x1b[?25l", "\x1b[?25h", "\x1b[1A\r\x1b[K"
"""What a terminal is sent: the cursor hidden and shown, the line of the bar cleared."""


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of cards from a shoe that proved itself."""
    path = tmp_path_factory.mktemp("keyed") / "journal.db"
    dealt_journal(path, "reference", ROUNDS, keyed=True)
    return path


@pytest.fixture
def journal(keyed: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copy(keyed, tmp_path))


def replay(*words: str | Path) -> Result:
    return invoke(shoectl, "replay", *words)


def key_file(folder: Path, key: bytes = KEY, key_id: int = 1) -> Path:
    path = folder / "keys"
    path.write_text(f"{DEVICE} {key_id} {key.hex()}\n")
    path.chmod(0o600)
    return path


def told(result: Result) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(result.stdout)
    return plain


def test_a_whole_journal_is_decoded_and_run_again_in_one_command(keyed: Path) -> None:
    result = replay(keyed)
    lines = result.stdout.splitlines()
    assert (result.exit_code, result.stderr) == (0, "")
    assert lines[0] == f"{ROUNDS} rounds replayed: every input and every event is the same"
    assert lines[1].startswith("decoded      ") and lines[1].endswith("on 1 connection")
    assert lines[2].startswith("not checked  1 connection had to authenticate")
    assert max(map(len, lines)) <= replay_view.COLUMNS


def test_json_is_one_object_with_what_was_found_and_checked(keyed: Path, tmp_path: Path) -> None:
    plain = told(replay(keyed, "--json"))
    assert plain.pop("bytes") > 1_000
    assert plain == {
        "rounds": ROUNDS,
        "differences": [],
        "found": 0,
        "rounds_differing": 0,
        "connections": 1,
        "overheard": 0,
        "followed": 0,
        "stopped_at": None,
        "not_compared": {},
        "missing": [],
        "money": None,
        "keys": {"connections": 1, "checked": False, "missing": []},
        "starts": [],
    }
    checked = told(replay(keyed, "--json", "--key-file", key_file(tmp_path)))
    assert checked["keys"] == {"connections": 1, "checked": True, "missing": []}


def test_with_the_keys_it_says_that_all_was_checked(keyed: Path, tmp_path: Path) -> None:
    result = replay(keyed, "--key-file", key_file(tmp_path))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "checked      every proof and MAC, on 1 connection"


def test_a_key_that_is_missing_is_named_and_a_check_that_was_asked_for_failed(
    keyed: Path, tmp_path: Path
) -> None:
    keys = key_file(tmp_path, key_id=2)
    result = replay(keyed, "--key-file", keys)
    assert result.exit_code == 1
    assert "key 1 of SIM-0001 is not in the key file" in " ".join(result.stdout.split())
    missing = told(replay(keyed, "--key-file", keys, "--json"))["keys"]["missing"]
    assert missing == [{"device_id": DEVICE, "key_id": 1}]


def test_a_byte_that_was_changed_is_told_round_by_round(journal: Path) -> None:
    wires = [record for record in records(journal) if record.kind == Kind.WIRE.value]
    record = wires[len(wires) // 2]
    body = record.body[:-9] + bytes([record.body[-9] ^ 1]) + record.body[-8:]
    assert Wire.from_bytes(body) != Wire.from_bytes(record.body)
    alter_record(journal, record.n, body)
    result = replay(journal, "--all")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert max(map(len, lines)) <= replay_view.COLUMNS
    assert lines[0].startswith("t1-s1-r")
    assert lines[1].startswith("  record ")
    assert "bytes to inputs: the bytes say" in lines[1]
    assert any(line.startswith(f"{ROUNDS} rounds replayed: ") for line in lines)
    plain = told(replay(journal, "--all", "--json"))
    assert plain["found"] == len(plain["differences"]) > 0
    assert {difference["replay"] for difference in plain["differences"]} == {"wire"}


def altered(journal: Path, record: Record, at: int) -> None:
    """Changes one bit of a record's body."""
    body = bytearray(record.body)
    body[at] ^= 1
    alter_record(journal, record.n, bytes(body))


def test_it_stops_at_the_first_difference_names_the_record_and_where_to_look(
    journal: Path,
) -> None:
    inputs = [r for r in records(journal) if b'"type":"card_drawn"' in r.body and r.kind == "input"]
    wrong = inputs[len(inputs) // 2]
    altered(journal, wrong, wrong.body.index(b'"card":"') + 8)
    result = replay(journal)
    text = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert f"record {wrong.n}" in text
    assert text.count("record ") == 2  # the difference, and where it stopped
    assert "1 difference, in 1 of them stopped at record" in text
    assert "after the first difference; add --all to continue" in text
    assert "shoectl verify" in text
    assert told(replay(journal, "--json"))["stopped_at"] >= wrong.n


@pytest.mark.parametrize("kind", [Kind.WIRE, Kind.INPUT, Kind.PUBLIC, Kind.RESTRICTED])
@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.85])
def test_one_altered_byte_gives_few_differences_when_all_is_replayed(
    journal: Path, kind: Kind, part: float
) -> None:
    of_kind = [r for r in records(journal) if r.kind == kind.value]
    wrong = of_kind[int(len(of_kind) * part)]
    altered(journal, wrong, len(wrong.body) * 2 // 3)
    plain = told(replay(journal, "--all", "--json"))
    assert plain["stopped_at"] is None
    assert plain["rounds"] in {ROUNDS - 1, ROUNDS}
    assert 1 <= plain["found"] <= 3, plain["differences"]
    assert plain["rounds_differing"] <= 2


def test_a_second_altered_byte_far_behind_the_first_is_found_too(journal: Path) -> None:
    wires = [r for r in records(journal) if r.kind == Kind.WIRE.value and len(r.body) > 50]
    events = [r for r in records(journal) if b'"type":"round.outcome"' in r.body]
    altered(journal, wires[len(wires) // 4], -9)
    altered(journal, events[-1], len(events[-1].body) // 2)
    plain = told(replay(journal, "--all", "--json"))
    assert {d["replay"] for d in plain["differences"]} == {"wire", "inputs"}
    assert plain["found"] <= 4


def other_tiger(folder: Path, was: str, now: str) -> Path:
    source = catalog.load("tiger").source.decode()
    assert was in source
    path = folder / "tiger.toml"
    path.write_text(source.replace(was, now))
    return path


def test_a_changed_game_file_shows_as_a_difference_round_by_round(
    keyed: Path, tmp_path: Path
) -> None:
    other = other_tiger(tmp_path, "20:1", "21:1")
    for place in (other, tmp_path):
        result = replay(keyed, "--games", place)
        lines = result.stdout.splitlines()
        assert result.exit_code == 1
        assert lines[0] == "t1-s1-r1"
        assert any(line.startswith("    data.game_sha256: ") for line in lines)
        assert f"{ROUNDS} rounds replayed: " in result.stdout
        assert max(map(len, lines)) <= replay_view.COLUMNS
    plain = told(replay(keyed, "--games", other, "--json"))
    assert plain["rounds_differing"] == ROUNDS
    assert {difference["replay"] for difference in plain["differences"]} == {"inputs"}


async def test_what_other_rules_change_of_money_comes_first(tmp_path: Path) -> None:
    """Player 4D 5S beats Banker 7C QH: of the wagers that stand, 900 on Player wins 1 to 1."""
    await play_through_daemon(scenario("power_failure_withdrawn"), tmp_path)
    journal = tmp_path / "journal.db"
    source = catalog.load("immortal_dragon_tiger").source.decode()
    was = '{ when = { winner = "player" }, unless = { player_total = 7 }, pays = "1:1"'
    assert was in source
    other = tmp_path / "other.toml"
    other.write_text(source.replace(was, was.replace("1:1", "2:1")))
    result = replay(journal, "--games", other)
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "t1-s1-r1",
        "  the Players would have 900 more by the replay, in minor units",
    ]
    assert "data.pays: 900 -> 1800" in result.stdout
    assert told(replay(journal, "--games", other, "--json"))["money"] == {
        "worth": -900, "rounds": 1
    }  # fmt: skip


def test_differences_are_listed_by_the_money_that_they_are_worth() -> None:
    def difference(number: int, type_: str, worth: int | str | None = None) -> Difference:
        said = json.dumps({"type": type_, "data": {}})
        return Difference("t1", number, f"t1-s1-r{number}", "differs", said, said, worth=worth)

    found = Replay(
        5,
        [
            difference(1, "round.opened"),
            difference(2, "wager.settled", 100),
            difference(3, "round.outcome"),
            difference(4, "wager.settled", "-1001/2"),
            difference(5, "wager.settled", 0),
        ],
        found=5,
        money=Money("-801/2", 3),
    )
    lines = list(replay_view.lines(found, RecordedSessions()))
    rounds = [line.rpartition("-r")[2] for line in lines if line.startswith("t1-s1-")]
    assert rounds == ["4", "2", "5", "3", "1"]
    said = "of 3 rounds differs: the Players would have 801/2 more by the replay, in minor units"
    assert f"money {said}" in " ".join(" ".join(lines).split())


def test_the_same_game_file_is_no_difference_and_one_that_was_not_played_is_named(
    keyed: Path, tmp_path: Path
) -> None:
    for game_id in ("tiger", "dragon_bonus_royal"):
        (tmp_path / f"{game_id}.toml").write_bytes(catalog.load(game_id).source)
    result = replay(keyed, "--games", tmp_path)
    assert result.exit_code == 0
    assert result.stderr == (
        "shoectl: dragon_bonus_royal is not used: no table was started with it\n"
    )


def test_a_game_kept_in_the_journal_and_changed_there_is_found(journal: Path) -> None:
    meta = [r for r in records(journal) if r.kind == Kind.META.value][-1]
    plain = json.loads(meta.body)
    source = base64.b64decode(plain["game"]).replace(b"20:1", b"21:1")
    plain["game"] = base64.b64encode(source).decode()
    body = json.dumps(plain).encode()
    alter_record(journal, meta.n, body)
    result = replay(journal)
    assert result.exit_code == 1
    assert "data.game_sha256" in result.stdout


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("--games", "nowhere.toml"), GameFileError, "nowhere.toml: cannot be read"),
        (("--games", "."), GameFileError, "no game file"),
        (("--key-file", "nowhere"), ConfigError, "nowhere"),
    ],
)
def test_what_cannot_be_read_is_one_line(  # noqa: PLR0913
    words: tuple[str, ...],
    error: type[Exception],
    said: str,
    keyed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = replay(keyed, *words)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)


@pytest.mark.parametrize("option", ["--key-file", "--games"])
def test_an_account_takes_no_option_of_a_replay(option: str, keyed: Path) -> None:
    result = replay(keyed, "--last", "1", option, "x")
    assert result.exit_code == 2
    assert "need a whole replay: remove --round or --last" in result.stderr


def difference(round_id: str | None, recorded: str | None, replayed: str | None) -> Difference:
    return Difference("t", 7, round_id, "other events", recorded, replayed)


def shown(*differences: Difference) -> list[str]:
    found = Differences()
    found.add(differences)
    held = Replay(9, found.first, found.count, found.rounds, 2, 1234)
    lines = list(replay_view.lines(held, RecordedSessions()))
    assert max(map(len, lines)) <= replay_view.COLUMNS
    return lines


def test_fields_that_differ_are_told_by_their_path_and_no_others() -> None:
    recorded = '{"type":"a","data":{"odds":"20:1","same":[1,2],"gone":null}}'
    replayed = '{"type":"a","data":{"odds":"21:1","same":[1,2],"long":"%s"}}' % ("x" * 90)
    assert shown(difference("t-s1-r2", recorded, replayed), difference("t-s1-r2", None, "{}")) == [
        "t-s1-r2",
        "  record 7, inputs to events: other events",
        '    data.odds: "20:1" -> "21:1"',
        "    data.gone: null -> (nothing)",
        '    data.long: (nothing) -> "xxxxxxxxxxxxxxxxxxxx...',
        "  and 1 more in this round",
        "",
        "9 rounds replayed: 2 differences, in 1 of them",
        "decoded      1,234 bytes from shoes, on 2 connections",
    ]


def test_keys_that_had_nothing_to_check_are_told_so() -> None:
    found = Replay(9, [], overheard=77)
    lines = list(replay_view.lines(found, RecordedSessions({DEVICE: {1: KEY}})))
    assert max(map(len, lines)) <= replay_view.COLUMNS
    text = " ".join(" ".join(lines).split())
    assert "overheard 77 bytes of connections that began before this journal does" in text
    assert text.endswith(
        "not checked no connection on which a shoe must authenticate begins in this journal"
    )


def test_what_stands_on_one_side_alone_is_shown_as_it_is() -> None:
    lines = shown(
        difference(None, None, '{"type":"%s"}' % ("y" * 99)), difference(None, "not JSON", None)
    )
    assert lines[0] == "table t, in no round"
    assert lines[2].startswith('    replayed  {"type": "yyy') and lines[2].endswith("...")
    assert shown(difference(None, "not JSON", None))[2] == "    recorded  not JSON"


def test_of_very_many_rounds_the_first_are_told_and_all_are_counted() -> None:
    lines = shown(*(difference(f"t-s1-r{n}", "1", "2") for n in range(MOST_WHOLE + 500)))
    assert f"... and more: --json lists {MOST_WHOLE:,} differences" in lines
    assert lines[-2] == "9 rounds replayed: 1,500 differences, in 1,500 of them"
    assert sum(line.startswith("t-s1-r") for line in lines) == replay_view.MOST_ROUNDS


def test_a_long_run_shows_a_bar_on_a_terminal_and_removes_it_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Progress("replayed") as progress:
        progress(1, 4000)
        assert capsys.readouterr().err == ""
        now[0] += 1
        progress(1000, 4000)
        shown = capsys.readouterr().err
        bar = r"\rreplayed records, 999/s  \[#+-+\]  1000/4000 +25%$"
        assert re.search(bar, shown.replace(HIDE, ""))
        now[0] += 1
        progress(4000, 4000)
        assert "4000/4000  100%" in capsys.readouterr().err
    assert capsys.readouterr().err == f"{SHOW}\n{UP_AND_CLEAR}"
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with Progress("replayed") as progress:
        now[0] += 1
        progress(1000, 4000)
    assert capsys.readouterr().err == ""
