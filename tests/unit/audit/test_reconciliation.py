"""A ledger against the journal: an insider alters the ledger by seed, and each act is found."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import EnvironmentFault, InputRefused
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import dealt_journal
from simulators.table.scenario import find

PUBLIC, RESTRICTED = "public.jsonl", "restricted.jsonl"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds; in the first a wager of 500 on Banker lost, and its outcome was revised twice."""
    folder = tmp_path_factory.mktemp("played")
    _, _, stuck = asyncio.run(play_through_daemon(find("outcome_revised"), folder))
    assert stuck is None
    return folder


@pytest.fixture(scope="module")
def wagered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One round with two wagers."""
    folder = tmp_path_factory.mktemp("wagered")
    _, _, stuck = asyncio.run(play_through_daemon(find("wagers_settled"), folder))
    assert stuck is None
    return folder


def reconcile(folder: Path, lines: list[str] | None = None, *words: str) -> Result:
    """Compare these lines; by default the public ledger as it is."""
    ledger = folder / PUBLIC if lines is None else folder / "ledger.jsonl"
    if lines is not None:
        ledger.write_text("".join(f"{line}\n" for line in lines))
    return invoke(shoectl, "reconcile", folder / "journal.db", ledger, *words)


def found(folder: Path, lines: list[str], *words: str) -> dict[str, Any]:
    result = reconcile(folder, lines, "--json", *words)
    plain: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == (0 if plain["agrees"] else 1)
    return plain


def lines_of(folder: Path, stream: str = PUBLIC) -> list[str]:
    return (folder / stream).read_text().splitlines()


def acts(plain: dict[str, Any]) -> set[tuple[str, str]]:
    """Each difference as kind and id, one for each event."""
    every = set()
    for one in plain["rounds"]:
        for each in one["differences"]:
            stem, first = each["first"].rsplit("/", 1)
            numbers = range(int(first[1:]), int(first[1:]) + each["events"])
            every |= {(each["kind"], f"{stem}/{first[0]}{number}") for number in numbers}
    return every


def index_of(lines: list[str], type_: str) -> int:
    return next(at for at, line in enumerate(lines) if json.loads(line)["type"] == type_)


def altered(line: str, change: Callable[[dict[str, Any]], object]) -> str:
    event = json.loads(line)
    change(event["data"])
    return json.dumps(event)


@pytest.mark.parametrize("stream", [PUBLIC, RESTRICTED])
def test_what_a_sink_wrote_agrees_in_any_order_and_form(played: Path, stream: str) -> None:
    lines = lines_of(played, stream)
    shuffled = random.Random(stream).sample(lines, len(lines))
    spaced = [json.dumps(json.loads(line), sort_keys=True, indent=None) for line in shuffled]
    for each in (lines, shuffled, spaced):
        plain = found(played, each)
        assert plain["agrees"] and plain["rounds"] == [] and plain["troubles"] == []
        assert sum(one["agree"] for one in plain["streams"]) == len(lines)


def test_several_files_one_of_them_compressed_are_one_ledger(played: Path, tmp_path: Path) -> None:
    lines = (played / PUBLIC).read_bytes().splitlines(keepends=True)
    old, new = tmp_path / "events.jsonl.1.gz", tmp_path / "events.jsonl"
    old.write_bytes(gzip.compress(b"".join(lines[:20])))
    new.write_bytes(b"".join(lines[20:]))
    for order in ((old, new), (new, old)):
        assert invoke(shoectl, "reconcile", played / "journal.db", *order).exit_code == 0
    only = invoke(shoectl, "reconcile", played / "journal.db", new, "--json")
    assert acts(json.loads(only.stdout)) == {("missing", f"t1/p{n}") for n in range(1, 21)}
    piped = (played / PUBLIC).read_bytes()
    assert invoke(shoectl, "reconcile", played / "journal.db", "-", stdin=piped).exit_code == 0


ACTS = ("leave out", "leave out a round", "alter", "double", "invent", "cut", "rename")


@pytest.mark.parametrize("stream", [PUBLIC, RESTRICTED])
@pytest.mark.parametrize("seed", range(12))
def test_every_act_of_an_insider_is_found_and_nothing_else(
    played: Path, stream: str, seed: int
) -> None:
    rng = random.Random(seed)
    lines = [json.loads(line) for line in lines_of(played, stream)]
    due: set[tuple[str, str]] = set()
    touched: set[str] = set()
    extra = count(1000)
    for act in rng.sample(ACTS, 4):
        free = [line for line in lines if line["id"] not in touched]
        one = rng.choice(free)
        if act in ("leave out", "leave out a round", "cut"):
            gone = {
                "leave out": [one],
                "leave out a round": [e for e in free if e.get("subject") == one.get("subject")],
                "cut": free[-rng.randint(1, 5) :],
            }[act]
            lines = [line for line in lines if line not in gone]
            due |= {("missing", line["id"]) for line in gone}
        elif act == "alter":
            key = rng.choice(sorted(one["data"]))
            lines[lines.index(one)] = {**one, "data": {**one["data"], key: "another"}}
            due.add(("altered", one["id"]))
        elif act == "rename":
            lines[lines.index(one)] = {**one, "subject": "t1-s1-r9"}
            due.add(("altered", one["id"]))
        elif act == "double":
            lines.insert(rng.randrange(len(lines) + 1), one)
            due.add(("doubled", one["id"]))
        else:
            id_ = f"{one['id'].partition('/')[0]}/{stream[0]}{next(extra)}"
            lines.insert(rng.randrange(len(lines) + 1), {**one, "id": id_})
            due.add(("foreign", id_))
            touched.add(id_)
        touched.add(one["id"])
        if not [line for line in lines if line["id"] not in touched]:
            break
    plain = found(played, [json.dumps(line) for line in lines])
    assert acts(plain) == due
    assert sum(plain["counts"].values()) == len(due)


def test_a_payment_that_was_altered_is_worth_what_it_differs_by(wagered: Path) -> None:
    lines = lines_of(wagered)
    settled = [json.loads(line) for line in lines if '"wager.settled"' in line]
    house = sum(one["data"]["collected"] - one["data"]["pays"] for one in settled)
    at = index_of(lines, "wager.settled")
    lines[at] = altered(lines[at], lambda data: data.update(pays=data["pays"] + 70))
    (one,) = found(wagered, lines)["rounds"]
    stakes = sum(each["data"]["stake"] for each in settled)
    assert one["money"] == {
        "journal": house, "ledger": house - 70, "worth": -70, "stakes": stakes, "by_outcome": False,
    }  # fmt: skip


def test_a_payment_that_comes_twice_is_paid_twice(wagered: Path) -> None:
    lines = lines_of(wagered)
    at = index_of(lines, "wager.settled")
    said = json.loads(lines[at])["data"]
    (one,) = found(wagered, [*lines, lines[at]])["rounds"]
    assert one["money"]["worth"] == said["collected"] - said["pays"]
    assert found(wagered, [*lines, lines[at]], "--as-delivered")["agrees"]


def test_another_winner_is_worth_what_the_wagers_would_be_paid_by_it(played: Path) -> None:
    """By the ledger's last revision the wager of 500 on Banker wins at 19 to 20."""
    lines = lines_of(played)
    at = max(at for at, line in enumerate(lines) if '"round.revised"' in line)
    last = [json.loads(line)["data"] for line in lines if '"wager.revised"' in line][-1]
    assert (last["wager"], last["stake"]) == ("player", 500)
    wins = {"result": "win", "odds": "19/20"}
    lines[at] = altered(lines[at], lambda data: data["wagers"].update(player=wins))
    plain = found(played, lines)
    (one,) = plain["rounds"]
    by_journal = last["collected"] - last["pays"]
    assert one["money"]["by_outcome"]
    assert one["money"]["ledger"] == -475
    assert one["money"]["worth"] == plain["worth"] == -475 - by_journal


def test_a_round_that_was_left_out_is_worth_all_that_the_house_won_in_it(wagered: Path) -> None:
    lines = lines_of(wagered)
    kept = [line for line in lines if not json.loads(line).get("subject", "").endswith("-r1")]
    (one,) = found(wagered, kept)["rounds"]
    settled = [json.loads(line)["data"] for line in lines if '"wager.settled"' in line]
    assert one["money"]["worth"] == sum(each["pays"] - each["collected"] for each in settled)


def test_the_same_difference_in_both_streams_is_counted_once(wagered: Path) -> None:
    both = [*lines_of(wagered), *lines_of(wagered, RESTRICTED)]
    change = {"pays": 1}
    for at in [at for at, line in enumerate(both) if '"wager.settled"' in line][::2]:
        both[at] = altered(both[at], lambda data: data.update(change))
    plain = found(wagered, both)
    worths = {one["stream"]: one["money"]["worth"] for one in plain["rounds"]}
    assert len(worths) == 2
    assert plain["worth"] == max(worths.values(), key=abs)


def test_keys_of_a_card_that_nobody_turned_are_named_without_their_values(played: Path) -> None:
    lines = lines_of(played, RESTRICTED)
    at = index_of(lines, "round.card_drawn")
    card = json.loads(lines[at])["data"]["card"]
    lines[at] = altered(lines[at], lambda data: data.update(card="2C" if card != "2C" else "3C"))
    (one,) = found(played, lines)["rounds"]
    assert one["differences"][0]["keys"] == [{"key": "data.card", "journal": None, "ledger": None}]
    assert card not in reconcile(played, lines).stdout.partition("altered")[2]


def test_a_time_bounds_what_is_compared(played: Path) -> None:
    lines = lines_of(played)
    times = [json.loads(line)["time"] for line in lines]
    middle = times[len(times) // 2]
    newer = [line for line in lines if json.loads(line)["time"] >= middle]
    assert found(played, newer, "--from", middle)["agrees"]
    assert not found(played, newer)["agrees"]
    assert found(played, lines, "--to", middle)["agrees"]
    older = [line for line in lines if json.loads(line)["time"] < middle]
    assert found(played, older[1:], "--to", middle)["counts"] == {"missing": 1}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"id":"t1/p1","sour', "is no event: torn, or not of a ledger"),
        ("[1, 2]", "is no event: torn, or not of a ledger"),
        ('{"id":"t9/p1","source":"/journal/0a0b0c0d/table/t9"}', "is of table t9, which the"),
        ('{"id":"t1/p1","source":"/journal/0a0b0c0d/table/t1"}', "is of another journal: /journal"),
        ('{"id":"t1/p1","source":"/journal/0a0b0c0d/table/t2"}', "is no event: torn"),
    ],
)
def test_a_line_that_cannot_be_compared_is_named(played: Path, line: str, what: str) -> None:
    lines = lines_of(played)
    result = reconcile(played, [*lines[:7], line, line, *lines[7:]])
    assert result.exit_code == 1
    said = " ".join(result.stdout.split())
    assert f"ledger.jsonl line 8 {what}" in said
    assert ("and 1 further line" in said) != ("ledger.jsonl line 9 " in said)
    assert max(map(len, result.stdout.splitlines())) <= 80 or "/" in result.stdout


def test_a_compressed_file_that_was_cut_is_named_behind_its_last_whole_line(
    played: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress((played / PUBLIC).read_bytes())[:-40])
    result = invoke(shoectl, "reconcile", played / "journal.db", cut, "--json")
    assert result.exit_code == 1
    plain = json.loads(result.stdout)
    assert plain["troubles"][0]["what"] == "its compressed data is cut off or damaged here"
    assert set(plain["counts"]) == {"missing"}


def test_what_is_no_ledger_of_this_journal_gets_one_line(played: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    dealt_journal(other, "reference", 1)
    empty, pipe = tmp_path / "empty", tmp_path / "pipe"
    empty.touch()
    os.mkfifo(pipe)
    for words, error, said in (
        ((other, played / PUBLIC), InputRefused, "public.jsonl line 1 is of another journal"),
        ((played / "journal.db", played / "journal.db"), InputRefused, "it is a journal"),
        ((played / "journal.db", tmp_path / "none"), EnvironmentFault, "No such file"),
        ((played / "journal.db", empty), InputRefused, "the ledger has no line"),
        ((played / "journal.db", "/dev/zero"), InputRefused, "it is not a file; - reads"),
        ((played / "journal.db", pipe), InputRefused, "it is not a file; - reads"),
        ((played / "journal.db", *[played / PUBLIC] * 2), InputRefused, "is given twice"),
        ((played / "journal.db", played / PUBLIC, "--table", "t2"), InputRefused, "have: t1"),
    ):
        result = invoke(shoectl, "reconcile", *words)
        assert isinstance(result.exception, error)
        assert said in str(result.exception) and "\n" not in str(result.exception)


def test_an_export_is_compared_as_its_journal_is(wagered: Path, tmp_path: Path) -> None:
    export = tmp_path / "t1-s1.journal.gz"
    journal = wagered / "journal.db"
    assert invoke(shoectl, "export", journal, "--output", export).exit_code == 0
    lines = lines_of(wagered)
    at = index_of(lines, "wager.settled")
    lines[at] = altered(lines[at], lambda data: data.update(pays=data["pays"] + 70))
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text("\n".join(lines))
    result = invoke(shoectl, "reconcile", export, ledger, "--json")
    (one,) = [one for one in json.loads(result.stdout)["rounds"] if one["money"]]
    assert one["money"]["worth"] == -70
