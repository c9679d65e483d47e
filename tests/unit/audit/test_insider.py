"""An insider by seed, with and without the journal's key: what a witness saw finds each act.

In: evenings that a daemon recorded, a witness that saw each checkpoint. Out: for each kind of act,
what finds it, and where. The page for auditors has the same table.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from shoe_ctl.audit.checkpoint_feed import answer, read_arrival
from shoe_ctl.audit.witness import Witness
from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.chain import read_checkpoint
from shoe_ctl.journal.checkpoint_event import events_after, newest_checkpoint
from shoe_ctl.journal.export import select_records, write_export
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signed_note import COSIGNATURE, verifier_key
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_testing import insider
from shoe_testing.checkpoints import NAME, NOW_S, OWN, STRANGER
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.insider import (
    Act,
    History,
    data,
    entries,
    first_difference,
    history,
    inputs,
    of_type,
    start,
    texts,
    without,
)
from shoe_testing.journals import records
from shoe_testing.paths import ROOT
from simulators.table.scenario import find, shipped

EVENINGS = ("outcome_revised", "late_wager_retracted", "wagers_returned", "review", "shoe_change")
"""Rulings with reasons and second persons, money, a void round, a pause, two sets of cards."""

EVERY = 4
"""Groups between two checkpoints: an evening has several."""

SEEDS = 2

WITNESS = verifier_key(NAME, OWN.public_key, COSIGNATURE)


def another(card: str) -> str:
    return "9S" if card != "9S" else "8H"


def raise_by(key: str) -> Any:
    def change(said: dict[str, Any], _: random.Random) -> None:
        said[key] = said.get(key, 0) + 100

    return change


def other_rules(said: dict[str, Any]) -> None:
    text = base64.b64decode(said["game"]).replace(b"19/20", b"9/10").replace(b"0.95", b"0.9")
    said["game"] = base64.b64encode(text + b"\n# as it always was\n").decode()


def other_limits(said: dict[str, Any]) -> None:
    said["settings"]["limits"] = {"maximum": 1}


def swap_hands(said: dict[str, Any], _: random.Random) -> None:
    said["player"], said["banker"] = said["banker"], said["player"]


def other_winner(said: dict[str, Any], _: random.Random) -> None:
    wagers = said["wagers"]
    wagers["player"], wagers["banker"] = wagers["banker"], wagers["player"]


def settle_void(told: History, _: random.Random) -> History | None:
    void, settled = b'"type":"round.void"', b'"type":"round.settled"'
    return insider.edited(told, lambda e: e._replace(body=e.body.replace(void, settled)))


def other_time(told: History, rng: random.Random) -> History | None:
    """A checkpoint was signed at another time than it says."""
    there = [e for e in entries(told) if e.kind == insider.CHECKPOINT]
    chosen = rng.choice(there[:-1])

    def later(found: re.Match[bytes]) -> bytes:
        return b"\nt_us %d\n" % (int(found[1]) + 1)

    body = re.sub(rb"\nt_us (\d+)\n", later, chosen.body, count=1)
    return insider.edited(told, lambda e: e._replace(body=body) if e is chosen else e)


def drop_checkpoint(told: History, rng: random.Random) -> History | None:
    there = [e for e in entries(told) if e.kind == insider.CHECKPOINT]
    chosen = rng.choice(there[:-1])
    return insider.edited(told, lambda e: None if e is chosen else e)


def drop_input(told: History, rng: random.Random) -> History | None:
    there = [e for e in entries(told) if e.kind == "input"]
    chosen = rng.choice(there)
    return insider.edited(told, lambda e: None if e is chosen else e)


def drop_restart(told: History, rng: random.Random) -> History | None:
    starts = [e for e in entries(told) if e.kind == "meta"][1:]
    chosen = rng.choice(starts) if starts else None
    return insider.edited(told, lambda e: None if e is chosen else e)


def other_snapshot(told: History, rng: random.Random) -> History | None:
    there = [e for e in entries(told) if e.kind == "snapshot" and b'"rounds":' in e.body]
    if not there:
        return None
    chosen = rng.choice(there)
    body = re.sub(rb'"rounds":(\d+)', lambda f: b'"rounds":%d' % (int(f[1]) + 1), chosen.body)
    return insider.edited(told, lambda e: e._replace(body=body) if e is chosen else e)


PUBLIC, RESTRICTED = ("event.public",), ("event.restricted",)

KINDS: Mapping[str, Act] = {
    "a reason is rewritten": texts("reason", "why", to=lambda _: "a dealer's error"),
    "a reason is rewritten in the events alone": texts(
        "why", to=lambda _: "as the camera shows", kinds=RESTRICTED
    ),
    "the second person is another": texts("consented_by", to=lambda _: "somebody else"),
    "the person is another": texts("person", to=lambda _: "the new dealer"),
    "the position is another": texts("position", to=lambda _: "assistant_casino_manager"),
    "the login is another": texts("user", to=lambda was: f"{was}1", kinds=("input",)),
    "the time of a decision is another": inputs(
        "decide", lambda said, _: said.update(t_us=said["t_us"] + 1)
    ),
    "a command has another id": texts("command_id", to=lambda was: f"{was}-2"),
    "a rule that was cited is another": texts("rule", to=lambda _: "6.9"),
    "the winner is another": data("round.outcome", other_winner),
    "the hands are swapped": data("round.outcome", swap_hands),
    "a card is another, in all events": texts("card", to=another, kinds=insider.EVENTS),
    "a card is another, as the shoe said it": inputs(
        "card_drawn", lambda said, _: said["event"].update(card=another(said["event"]["card"]))
    ),
    "a total is another": data(
        "round.total_announced", lambda said, _: said.update(total=(said["total"] + 1) % 10)
    ),
    "a round passes for one entered by hand": data(
        "round.outcome", lambda said, _: said.update(manual=not said["manual"])
    ),
    "the public copy alone is another": data("round.outcome", other_winner, kinds=PUBLIC),
    "the restricted copy alone is another": data("round.outcome", other_winner, kinds=RESTRICTED),
    "a void round passes for a settled one": settle_void,
    "the game file has other odds": start(other_rules),
    "the settings have other limits": start(other_limits),
    "the software passes for another version": start(lambda said: said.update(software="9.9.9")),
    "a wager is higher": data("wager.accepted", raise_by("amount")),
    "a wager is dropped": without(of_type("wager.accepted")),
    "a wager is another Player's": texts("player", to=lambda was: f"{was} junior"),
    "a wager is on another result": data(
        "wager.accepted", lambda said, _: said.update(wager="super_tie")
    ),
    "a payment is higher": data("wager.settled", raise_by("pays")),
    "a payment is dropped": without(of_type("wager.settled")),
    "a round is dropped": insider.drop_round,
    "a round is there twice": insider.add_round,
    "two entries change places": insider.swap_groups,
    "a revision is dropped": without(of_type("round.revised")),
    "an irregularity is dropped": without(of_type("irregularity.")),
    "a halt is dropped": without(of_type("table.halted", "table.resumed")),
    "a correction of a card is dropped": without(of_type("round.card_corrected")),
    "a retraction is dropped": without(of_type("irregularity.retracted")),
    "a pause for review is dropped": without(of_type("review.")),
    "a settlement is dropped": without(of_type("round.settled")),
    "an input is dropped": drop_input,
    "a restart is dropped": drop_restart,
    "a snapshot is another": other_snapshot,
    "a byte from the shoe is another": insider.wire_changed,
    "the shoe passes for another device": texts("device_id", to=lambda was: f"{was}9"),
    "a set of cards passes for another": texts("set_id", to=lambda was: f"{was}9"),
    "a checkpoint is dropped": drop_checkpoint,
    "a checkpoint passes for one of another time": other_time,
    "the newest part is cut: an old copy is put back": insider.cut,
    "the newest part is cut, and the rest is signed again": insider.cut_anywhere,
    "the oldest part is cut": insider.cut_beginning,
    "an old copy goes on otherwise: times are shifted": insider.fork,
}


CUT = {"the newest part is cut: an old copy is put back"}
"""What needs no key."""


class Evening(NamedTuple):
    """A clean journal with its ledger, and what a witness outside has of it."""

    journal: Path
    ledger: Path
    cosigned: Path
    told: History
    signer: Signer


def witnessed(journal: Path, state: Path) -> bytes:
    """All that a witness hands out that sees each checkpoint of a journal."""
    lines = b""
    with Reader.open(journal) as reader:
        key = newest_checkpoint(reader).key
        for n, event in events_after(reader, 1, 10_000):
            record = next(reader.records(after=n - 1, upto=n))
            seen_at_s = read_checkpoint(record.body).t_us // 1_000_000 + 1
            arrival = read_arrival("a line", event)
            assert arrival is not None
            own = Witness(NAME, OWN, [key], state, partial(int, seen_at_s))
            found = answer(own, arrival)
            assert found.refusal is None, found.refusal
            lines += found.given_out
    return lines


def play(name: str, folder: Path) -> Evening:
    """A scenario as a daemon recorded it, signed often, and seen by a witness."""
    (folder / "daemon").mkdir(parents=True)
    _, _, stuck = asyncio.run(play_through_daemon(find(name), folder / "daemon"))
    assert stuck is None
    recorded, journal = folder / "daemon" / "journal.db", folder / "journal.db"
    signer = open_signer(recorded, None)
    insider.signed_often(journal, recorded, signer, EVERY)
    cosigned = folder / "cosigned.jsonl"
    cosigned.write_bytes(witnessed(journal, folder / "witness-state"))
    ledger = folder / "daemon" / "public.jsonl"
    return Evening(journal, ledger, cosigned, history(journal), signer)


@pytest.fixture(scope="module")
def evenings(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Evening]:
    """Each evening, played when it is first asked for."""
    folder = tmp_path_factory.mktemp("evenings")
    return cache(lambda name: play(name, folder / name))


class Done(NamedTuple):
    """An act: the journal that the insider leaves, the first record that is another, and how many
    there are more."""

    clean: Evening
    journal: Path
    first: int
    more: int = 0


def commit(
    evenings: Callable[[str], Evening],
    kind: str,
    seed: int,
    folder: Path,
    *,
    by: Literal["own", "stranger", "none"] = "own",
) -> Done:
    """Do it to the first evening that has what it takes, with a key or without."""
    folder.mkdir(exist_ok=True)
    rng = random.Random(f"{kind} {seed}")
    for name in rng.sample(EVENINGS, len(EVENINGS)):
        clean = evenings(name)
        if (now := KINDS[kind](clean.told, rng)) is not None:
            journal = folder / "journal.db"
            signer = {"own": clean.signer, "stranger": STRANGER, "none": None}[by]
            insider.write(journal, now, signer)
            more = max(0, len(entries(now)) - len(entries(clean.told)))
            return Done(clean, journal, first_difference(clean.told, now), more)
    raise AssertionError(f"no evening has what it takes: {kind}")


def verify(act: Done, *words: object) -> tuple[bool, dict[str, Any]]:
    """Whether it finds that something is wrong, and what; the inspector knows the journal's key."""
    key = act.clean.signer.public_key.hex()
    found = invoke(shoectl, "verify", act.journal, "--json", "--public-key", key, *words)
    assert found.exit_code in (0, 1), found.exception
    return found.exit_code == 1, dict(json.loads(found.stdout))


def seen(act: Done) -> tuple[bool, dict[str, Any]]:
    """As ``verify``, with what the witness handed out."""
    copy = act.journal.with_name(f"{act.journal.name}-cosignatures")
    copy.write_bytes(act.clean.cosigned.read_bytes())
    return verify(act, "--witness", WITNESS)


def found_by(act: Done) -> dict[str, bool]:
    """Which of an inspector's means show that something is wrong."""
    return {
        "verify": verify(act)[0],
        "replay": invoke(shoectl, "replay", act.journal).exit_code != 0,
        "ledger": invoke(shoectl, "reconcile", act.journal, act.clean.ledger).exit_code != 0,
        "witness": seen(act)[0],
    }


def stretch(clean: Evening, first: int) -> tuple[int, int]:
    """The records between the checkpoints around a record, by the clean journal's own numbers."""
    ends = [0, *(r.n - 1 for r in records(clean.journal) if r.kind == insider.CHECKPOINT)]
    return max(n for n in ends if n < first) + 1, min(n for n in ends if n >= first)


def page() -> dict[str, list[str]]:
    """The page's table: of each kind, what finds it."""
    text = (ROOT / "docs" / "audit" / "insider.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    return {kind: found for kind, *found in rows[1:]}


SAMPLE = 9


def each_kind() -> list[Any]:
    """Some of them; the others run with the long tests."""
    long = pytest.mark.exhaustive(cpu_s=4)
    return [
        kind if at % SAMPLE == 0 else pytest.param(kind, marks=long)
        for at, kind in enumerate(KINDS)
    ]


@pytest.mark.parametrize("kind", each_kind())
def test_an_act_with_the_key_is_placed_by_the_witness_and_found_by_what_the_page_says(
    evenings: Callable[[str], Evening], tmp_path: Path, kind: str
) -> None:
    for seed in range(SEEDS):
        act = commit(evenings, kind, seed, tmp_path / f"{seed}")
        _, found = seen(act)
        (what,) = found["witnessed"]
        first, last = stretch(act.clean, act.first)
        assert (what["changed"]["first"], what["changed"]["last"]) == (first, last)
        by_number = {record.n: record for record in records(act.clean.journal)}
        signed = [read_checkpoint(by_number[n].body).t_us for n in (first, last + 1) if n > 1]
        times = (what["changed"]["since_us"], what["changed"]["until_us"])
        assert [each for each in times if each is not None] == signed
        assert {each["table"] for each in what["tables"]} <= {"t1"}
        said = dict(zip(("verify", "replay", "ledger", "witness"), page()[kind], strict=True))
        for means, finds in found_by(act).items():
            assert said[means] == "by chance" or finds == (said[means] == "yes"), (means, seed)
        assert said["witness"] == "yes"


@pytest.mark.parametrize("by", ["stranger", "none"])
@pytest.mark.parametrize("kind", each_kind())
def test_an_act_without_the_key_is_found_and_placed_by_the_journal_s_public_key(
    evenings: Callable[[str], Evening], tmp_path: Path, kind: str, by: Literal["stranger", "none"]
) -> None:
    act = commit(evenings, kind, 0, tmp_path / by, by=by)
    is_wrong, found = verify(act)
    if by == "stranger":  # the first checkpoint is another, too
        signed = next(r.n for r in records(act.clean.journal) if r.kind == insider.CHECKPOINT)
        assert (is_wrong, found["first_bad"]["why"]) == (True, "wrong_key")
        first, last = stretch(act.clean, min(signed, act.first))
    else:
        first, last = stretch(act.clean, act.first)
        assert is_wrong == (kind not in CUT)  # what is left of a cut journal is as it was signed
        assert kind in CUT or first <= found["first_bad"]["n"] <= last + 1 + act.more
    is_wrong, found = seen(act)
    assert is_wrong
    if by == "stranger" or kind in CUT:
        (what,) = found["witnessed"]
        assert (what["changed"]["first"], what["changed"]["last"]) == (first, last)


def test_the_page_has_each_kind_and_no_other() -> None:
    assert list(page()) == list(KINDS)
    assert len(KINDS) >= 40


CLEAN = [name for name in shipped() if not name.startswith("storage_fault")][::5]
"""When the disk fails, a sink may get an event again: reconcile says that it is there twice."""


@pytest.mark.parametrize(
    "name",
    [
        name if at % 27 == 0 else pytest.param(name, marks=pytest.mark.exhaustive(cpu_s=3))
        for at, name in enumerate(CLEAN)
    ],
)
def test_a_clean_evening_raises_no_alarm(
    evenings: Callable[[str], Evening], tmp_path: Path, name: str
) -> None:
    clean = evenings(name)
    act = Done(clean, insider.copied(clean.journal, tmp_path / "copy"), 0)
    assert found_by(act) == {"verify": False, "replay": False, "ledger": False, "witness": False}


# Acts on the files around a journal.


def test_a_journal_signed_anew_with_another_key_is_found_without_a_trusted_key_too(
    evenings: Callable[[str], Evening], tmp_path: Path
) -> None:
    clean = evenings("review")
    journal = tmp_path / "journal.db"
    insider.write(journal, clean.told, STRANGER)
    cosignatures = journal.with_name("journal.db-cosignatures")
    cosignatures.write_bytes(clean.cosigned.read_bytes())
    assert invoke(shoectl, "verify", journal).exit_code == 0
    assert invoke(shoectl, "verify", journal, "--witness", WITNESS).exit_code == 1


def test_cosignatures_that_were_removed_shortened_or_made_by_a_stranger_show_nothing(
    evenings: Callable[[str], Evening], tmp_path: Path
) -> None:
    clean = evenings("review")
    act = commit(evenings, "a reason is rewritten", 1, tmp_path)
    lines = act.clean.cosigned.read_bytes().splitlines(keepends=True)
    cosignatures = act.journal.with_name("journal.db-cosignatures")
    strangers = verifier_key("stranger.example/w", STRANGER.public_key, COSIGNATURE)
    for left, witness in ((b"", WITNESS), (lines[0][:-40], WITNESS), (b"".join(lines), strangers)):
        cosignatures.write_bytes(left)
        is_wrong, _ = verify(act, "--witness", witness)
        assert is_wrong
    # the witness's own lines are stored from its machine
    cosignatures.unlink()
    stored = invoke(shoectl, "cosignatures", act.journal, act.clean.cosigned, "--witness", WITNESS)
    assert stored.exit_code == 0
    assert verify(act, "--witness", WITNESS)[1]["witnessed"][0]["changed"] is not None
    assert clean.journal.exists()


@pytest.mark.parametrize("seed", range(2))
def test_an_export_of_another_history_is_found_beside_the_journal(
    evenings: Callable[[str], Evening], tmp_path: Path, seed: int
) -> None:
    act = commit(evenings, "a reason is rewritten", seed, tmp_path / "act")
    folder = tmp_path / "folder"
    genuine = insider.copied(act.clean.journal, folder)
    with Reader.open(act.journal) as reader:
        numbers = [record.n for record in reader.records(table="t1")]
        kept = select_records(reader, "t1", numbers[0], numbers[-1])
        write_export(reader, kept, folder / "t1.journal.gz")
    found = invoke(shoectl, "verify", folder, "--json")
    assert found.exit_code == 1
    (fork,) = json.loads(found.stdout)["forks"]
    assert fork["table"] == "t1" and fork["n"] >= act.first
    assert genuine.exists()


def test_a_witness_that_is_shown_another_history_raises_an_alarm_and_cosigns_none_of_it(
    evenings: Callable[[str], Evening], tmp_path: Path
) -> None:
    act = commit(evenings, "a reason is rewritten", 2, tmp_path)
    state = tmp_path / "state"
    witnessed(act.clean.journal, state)
    with Reader.open(act.journal) as reader:
        forged = newest_checkpoint(reader)
        arrival = read_arrival("a line", events_after(reader, 0, 1)[0][1])
    assert arrival is not None
    found = answer(Witness(NAME, OWN, [forged.key], state, lambda: NOW_S), arrival)
    assert found.refusal is not None and found.refusal.why == "fork"
