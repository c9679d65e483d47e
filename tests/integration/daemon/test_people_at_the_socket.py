"""People at a running daemon: whole rounds by commands, and every answer its first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from shoe_ctl.config.schema import load
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.errors import ConfigError, JournalError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.verify import verify
from shoe_ctl.records import Audience
from shoe_testing.config import write_socket_config
from shoe_testing.daemon import ToldEvents, at_socket_table, serve_table, shoe_on_a_pty
from shoe_testing.faulty_disk import Call, Do, disk
from shoe_testing.rounds import all_agree, read_rounds
from shoe_testing.socket_client import PATIENCE_S, Caller, calling

ROUNDS = 12


async def test_a_dealer_plays_whole_rounds_and_every_outcome_is_what_was_dealt(
    tmp_path: Path,
) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.rounds(ROUNDS)
        all_agree(table.told.data("round.outcome"), read_rounds(table.rig.device.truth.lines))
        assert len(table.told.data("round.outcome")) == ROUNDS


async def test_the_status_never_shows_a_card_before_the_public_saw_it(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.rounds(4)
        revealed = {
            (event["subject"], data["hand"], data["index"]): data["card"]
            for event in table.told.events
            if event["type"] == "round.card_revealed"
            for data in [event["data"]]
        }
        held = [h for h in table.seen if h["round"] is not None]
    assert {h["state"] for h in held} >= {"betting", "revealing", "resolved"}
    face_down = 0
    for seen in held:
        for hand, cards in seen["round"]["hands"].items():
            codes = [card["card"] for card in cards]
            face_down += codes.count(None)
            for index, code in enumerate(codes, 1):
                assert code in (None, revealed[seen["round"]["round_id"], hand, index])
    assert face_down > 10  # it did look while cards lay face down


async def test_the_status_says_which_commands_are_taken_and_from_whom(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        held = await table.deal(lambda h: h["state"] == "betting")
        assert {
            "command": "no_more_bets", "position": "dealer", "use": "next"
        } in held["takes"]  # fmt: skip
        assert "settle" not in [taken["command"] for taken in held["takes"]]
        assert held["next"]["command"] == "no_more_bets"
        answer = await table.caller.asks(request="status")
        assert answer["position"] == "gaming_shift_manager"
        unknown = await table.caller.asks(request="status", table="bac-08")
        assert unknown["error"]["text"] == "no table bac-08 is served here: there is bac-07"


async def test_a_refused_command_says_what_it_needs_and_changes_nothing(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path, position="pit_manager") as table:
        before = await table.deal(lambda h: h["state"] == "idle")
        gives = table.caller.gives
        refusals = [
            (await gives("settle"), {"state": "resolved"}),
            (await gives("change_shoe"), {"position": "pit_supervisor"}),
            (await gives("settle", position="gaming_shift_manager"),
             {"position": "gaming_shift_manager"}),
            (await gives("settle", position="emperor"), {"position": "emperor"}),
            (await gives("settle", table="bac-08"), {}),
            (await gives("sing"), {}),
        ]  # fmt: skip
        stale = await gives("place_your_bets", round_id="bac-07-s0-r9")
        assert stale["accepted"] is False and "bac-07-s0-r9" in stale["error"]["text"]
        for refused, needs in refusals:
            assert refused["accepted"] is False
            assert refused["needs"] == needs, refused
            assert refused["command_id"].startswith("c") and "events" not in refused
        assert await table.status() == before
        assert (await gives("place_your_bets"))["accepted"] is True


@pytest.mark.parametrize(("audience", "letter"), [("public", "p"), ("restricted", "r")])
async def test_an_answer_names_the_events_of_the_callers_audience_alone(
    tmp_path: Path, audience: str, letter: str
) -> None:
    async with at_socket_table(tmp_path, audience=audience) as table:
        await table.deal(lambda h: h["state"] == "idle")
        answer = await table.caller.gives("place_your_bets")
        assert len(answer["events"]) == 1
        assert answer["events"][0].startswith(f"bac-07/{letter}")
        if audience == "public":
            await table.told.until(lambda: bool(table.told.data("round.opened")))
            (opened,) = [e for e in table.told.events if e["type"] == "round.opened"]
            assert answer["events"] == [opened["id"]]


async def test_a_repeated_id_gets_its_first_answer_again_after_restarts_too(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with serve_table(tmp_path, rig, told) as table:
            await table.deal(lambda h: h["state"] == "idle")
            given = [
                ("place_your_bets", await table.caller.gives("place_your_bets", command_id="a")),
                ("settle", await table.caller.gives("settle", command_id="b")),
                ("no_more_bets", await table.caller.gives("no_more_bets", command_id="c")),
            ]
            assert [answer["accepted"] for _, answer in given] == [True, False, True]
            assert given[1][1]["needs"] == {"state": "resolved"}
            await again(table.caller, given)
        for _ in range(2):
            async with serve_table(tmp_path, rig, told) as table:
                await again(table.caller, given)
                other = await table.caller.gives("settle", command_id="a")
                assert other["accepted"] is False
                assert "command_id a was used before, for another command" in other["error"]["text"]
                sent_by_another = await table.caller.gives(
                    "place_your_bets", command_id="a", person="Bo"
                )
                assert sent_by_another["error"]["text"] == other["error"]["text"]
        async with serve_table(tmp_path, rig, told, audience="restricted") as table:
            answer = await table.caller.gives("place_your_bets", command_id="a")
            assert answer["events"] == [restricted_id_of("round.opened", tmp_path)]
    stored = [(c["command_id"], c["person"], c["command"]) for c in stored_commands(tmp_path)]
    others = [("a", "Ann", "settle"), ("a", "Bo", "place_your_bets")]
    assert [each for each in stored if each not in others] == [
        ("a", "Ann", "place_your_bets"), ("b", "Ann", "settle"), ("c", "Ann", "no_more_bets"),
    ]  # fmt: skip
    with Reader.open(tmp_path / "journal.db") as reader:
        assert verify(reader).ok


async def again(caller: Any, given: list[tuple[str, dict[str, Any]]]) -> None:
    for command, first in given:
        assert await caller.gives(command, command_id=first["command_id"]) == first


def restricted_id_of(kind: str, folder: Path) -> str:
    with Reader.open(folder / "journal.db") as reader:
        events = [body for _, body in reader.events(Audience.RESTRICTED, after=0, limit=1000)[0]]
    (found,) = [e["id"] for e in map(json.loads, events) if e["type"] == kind]
    return str(found)


def stored_commands(folder: Path) -> list[dict[str, Any]]:
    with Reader.open(folder / "journal.db") as reader:
        inputs = [json.loads(r.body) for r in reader.records() if r.kind == "input"]
    return [happened for happened in inputs if happened["input"] == "command"]


async def test_two_callers_with_one_id_at_once_do_it_once(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.deal(lambda h: h["state"] == "idle")
        async with calling(tmp_path / "shoectl.sock") as other:
            both = await asyncio.gather(
                table.caller.gives("place_your_bets", command_id="x"),
                other.gives("place_your_bets", command_id="x"),
            )
        assert both[0] == both[1] and both[0]["accepted"] is True
    assert len(stored_commands(tmp_path)) == 1


async def test_commands_are_stored_with_all_that_their_envelope_says(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.deal(lambda h: h["state"] == "idle")
        await table.caller.gives(
            "place_your_bets", reason="the table is full", consented_by="Bo", args={"a": [1]}
        )
    (stored,) = stored_commands(tmp_path)
    assert (stored["person"], stored["position"], stored["reason"], stored["consented_by"]) == (
        "Ann", "dealer", "the table is full", "Bo",
    )  # fmt: skip
    assert stored["args"] == {"a": [1]}


async def test_when_the_journal_takes_no_more_the_table_waits_until_a_person_resumes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise JournalError("journal: no space left")

    async with at_socket_table(tmp_path) as table:
        await table.rounds(1)  # so that what the shoe has was compared with the journal
        await table.deal(lambda h: h["state"] == "idle")
        monkeypatch.setattr(table.daemon.runners["bac-07"], "command", full)
        first = await table.caller.gives("place_your_bets")
        assert first["accepted"] is False
        assert first["error"]["code"] == "daemon_storage_fault"
        assert await table.caller.is_hung_up()
        async with calling_back(tmp_path / "shoectl.sock") as caller:
            table.caller = caller
            refused = await caller.gives("place_your_bets", command_id="while")
            assert refused["accepted"] is False
            assert refused["error"] == first["error"]
            assert refused["error"]["text"] == (
                "storage fault, nothing is stored, acknowledged or published: "
                "journal: no space left"
            )
            assert await caller.is_hung_up()
        await table.told.until(lambda: bool(table.told.data("outage.opened")))
        async with calling_back(tmp_path / "shoectl.sock") as caller:
            table.caller = caller
            held = await table.status()
            assert (held["state"], held["next"]["command"]) == ("suspended", "resume")
            alone = await caller.gives("resume")
            assert alone["needs"] == {"position": "pit_supervisor"}
            resumed = await caller.gives("resume", command_id="on", position="pit_supervisor")
            assert resumed["accepted"], resumed
            await table.rounds(2)
    assert table.told.data("table.halted") == [{"reason": "storage_fault"}]
    assert len(table.told.data("table.resumed")) == 1
    assert [c["command_id"] for c in stored_commands(tmp_path)].count("while") == 0


@pytest.mark.parametrize("audience", ["public", "restricted"])
async def test_wagers_stand_in_the_status_by_seat_and_with_their_money_until_they_are_settled(
    tmp_path: Path, audience: str
) -> None:
    async with at_socket_table(tmp_path, audience=audience) as table:
        await table.deal(lambda h: h["state"] == "betting")
        for seat, player, wager in ((4, "cho", "player"), (2, "ann", "banker"), (2, "ben", "tie")):
            args = {"player": player, "seat": seat, "wager": wager, "amount": 1000 + seat}
            answer = await table.caller.gives("place_wager", args=args)
            assert (
                answer["message"]["text"]
                == f"seat {seat}: {1000 + seat} on {wager}; next: no more bets"
            )
        held = await table.status()
        assert [(w["seat"], w["wager"], w["amount"]) for w in held["wagers"]] == [
            (2, "banker", 1002), (2, "tie", 1002), (4, "player", 1004),
        ]  # fmt: skip
        named = [w.get("player") for w in held["wagers"]]
        assert named == ([None] * 3 if audience == "public" else ["ann", "ben", "cho"])
        await table.deal(lambda h: h["state"] == "revealing")
        declared = {"args": {"key": "power_failure"}, "reason": "the lights went out"}
        await table.caller.gives("declare", **declared)
        await table.caller.gives("decide", args={"choice": "offer_withdrawal"})
        answer = await table.caller.gives("decide", args={"choice": "withdraw_all", "seat": 4})
        assert answer["message"]["text"].startswith(
            "seat 4: 1004 on player goes back; seat 4 withdraws; "
        )
        refused = await table.caller.gives("decide", args={"choice": "stand", "seat": 2})
        assert "several Players have wagers at seat 2: say player=..." in refused["error"]["text"]
        await table.caller.gives("decide", args={"choice": "close_window"})
        await table.caller.gives("decide", args={"choice": "play_on"})
        held = await table.deal(lambda h: h["state"] == "resolved")
        before = held["wagers"]
        assert [w["wager"] for w in before] == ["banker", "tie"]
        done = await table.caller.gives("settle")
        assert "; the round is settled; next: place your bets" in done["message"]["text"]
        assert (await table.status())["wagers"] == []
    with Reader.open(tmp_path / "journal.db") as reader:
        sees = Audience.PUBLIC if audience == "public" else Audience.RESTRICTED
        stored = [json.loads(body) for _, body in reader.events(sees, after=0, limit=1000)[0]]
    settled = [e["data"] for e in stored if e["type"] == "wager.settled"]
    for shown, recorded in zip(before, settled, strict=True):
        for key, value in shown["settlement"].items():
            assert recorded[key] == value
        assert (shown["seat"], shown["wager"]) == (recorded["seat"], recorded["wager"])


class Broken:
    """A disk that works until it is broken, and again once it is mended."""

    def __init__(self) -> None:
        self.broken = False

    def __call__(self, call: Call, do: Do) -> Any:
        if self.broken and call.op in ("write", "sync"):
            raise apsw.FullError("the disk is full")
        return do()


@pytest.mark.parametrize("audience", ["public", "restricted"])
async def test_during_a_storage_fault_the_status_shows_what_was_stored_and_what_to_do(
    tmp_path: Path, audience: str
) -> None:
    broken = Broken()
    with disk(broken) as layer:
        async with at_socket_table(tmp_path, vfs=layer.name, audience=audience) as table:
            await table.deal(lambda h: h["state"] == "revealing")
            before = await table.status()
            assert "fault" not in before
            broken.broken = True
            refused = await table.caller.gives("expose", args={"hand": "player"})
            assert refused["accepted"] is False
            assert await table.caller.is_hung_up()
            async with calling_back(tmp_path / "shoectl.sock") as caller:
                table.caller = caller
                stood = await table.status()
            fault = stood.pop("fault")
            assert fault["message"]["text"].startswith(
                "storage fault, nothing is stored, acknowledged"
            )
            assert "the disk is full" in fault["message"]["text"] and fault["since"].endswith("Z")
            # what was exposed as the disk failed is not known to the room
            assert codes_of(stood) == {"player": [None, None], "banker": [None, None]}
            changed = {"next", "takes", "deadlines"}
            assert {k: v for k, v in stood.items() if k not in changed} == {
                k: v for k, v in before.items() if k not in changed
            }
            assert stood["next"]["command"] is None and "resume" in stood["next"]["message"]["text"]
            assert stood["takes"] == []
            async with calling_back(tmp_path / "shoectl.sock") as caller:
                unknown = await caller.asks(request="status", table="bac-99")
            assert unknown["error"]["text"] == "no table bac-99 is served here: there is bac-07"
            broken.broken = False
            await table.told.until(lambda: bool(table.told.data("outage.opened")))
            async with calling_back(tmp_path / "shoectl.sock") as caller:
                table.caller = caller
                held = await table.status()
                assert "fault" not in held and held["next"]["command"] == "resume"
                on = await caller.gives("resume", command_id="on", position="pit_supervisor")
                assert on["accepted"], on
                await table.told.until(lambda: bool(table.told.data("table.resumed")))
                held = await table.status()
                assert codes_of(held) == {"player": [None, None], "banker": [None, None]}


def codes_of(status: dict[str, Any]) -> dict[str, list[str | None]]:
    """The cards that a status shows, hand by hand."""
    return {
        hand: [card["card"] for card in cards] for hand, cards in status["round"]["hands"].items()
    }


@asynccontextmanager
async def calling_back(path: Path) -> AsyncIterator[Caller]:
    """A caller at a socket that may be away for a moment."""
    async with AsyncExitStack() as stack:
        caller = None
        async with asyncio.timeout(PATIENCE_S):
            while caller is None:
                with suppress(OSError):
                    caller = await stack.enter_async_context(calling(path))
                await asyncio.sleep(0.01)
        yield caller


async def test_a_command_that_cannot_be_handled_halts_the_table_and_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.deal(lambda h: h["state"] == "idle")
        controller = table.daemon.runners["bac-07"].controller
        handle = controller.handle

        def faulty(happened: Any) -> Any:
            if getattr(happened, "command", None) == "settle":
                raise RuntimeError("broken: 7D")
            return handle(happened)

        monkeypatch.setattr(controller, "handle", faulty)
        answer = await table.caller.gives("settle")
        assert answer["error"]["text"] == "the command could not be handled; the table is halted"
        held = await table.status()
        assert held["state"] == "suspended"
        del held["setup"]  # which lists the deck
        assert "7D" not in json.dumps(held)


async def test_a_user_may_act_in_positions_that_its_highest_is_not_above(tmp_path: Path) -> None:
    (entry,) = load(write_socket_config(tmp_path)).socket.user  # type: ignore[union-attr]
    assert entry.also == []
    async with at_socket_table(tmp_path, also=["surveillance"]) as table:
        await table.deal(lambda h: h["state"] == "idle")
        assert (await table.caller.gives("declare", args={"key": "other"}, reason="r"))["accepted"]
        asked = {"args": {"choice": "play_on"}, "reason": "r", "position": "surveillance"}
        answer = await table.caller.gives("decide", **asked)
        assert answer["error"]["text"] == "play_on needs a gaming shift manager"


def test_a_position_beside_that_there_is_not_is_a_wrong_configuration(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"socket\.user\[0\]\.also\[0\]: expected one of dealer, "
    ):
        load(write_socket_config(tmp_path, also=["emperor"]))


def test_a_user_this_host_does_not_know_is_a_wrong_configuration(tmp_path: Path) -> None:
    for entries, says in (
        ('user = "no-such-user"', "this host has no user 'no-such-user'"),
        ('user = 0\nposition = "dealer"\n[[socket.user]]\nuser = "root"', "'root' is there twice"),
    ):
        path = write_socket_config(tmp_path)
        text = path.read_text()
        start = text.index("[[socket.user]]")
        path.write_text(f'{text[:start]}[[socket.user]]\n{entries}\nposition = "dealer"\n')
        with pytest.raises(ConfigError, match=says):
            Daemon(load(path), clock=None, executor=None, host_boot="b")  # type: ignore[arg-type]


def test_a_group_this_host_does_not_know_is_a_wrong_configuration(tmp_path: Path) -> None:
    path = write_socket_config(tmp_path)
    path.write_text(path.read_text().replace("[socket]\n", '[socket]\ngroup = "no-such-group"\n'))
    with pytest.raises(ConfigError, match="this host has no group 'no-such-group'"):
        Daemon(load(path), clock=None, executor=None, host_boot="b")  # type: ignore[arg-type]
