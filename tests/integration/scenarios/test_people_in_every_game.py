"""What people put right, in every game and method: cards, wagers, draws, and what it comes to.

Each situation is played at the table's socket, with a simulated shoe on a pty, and in process. At
the socket every command is looked at beforehand, and the status is read behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.games import catalog
from shoe_testing.bench import assert_replays
from shoe_testing.bench import play_in_process as played_in_process
from shoe_testing.daemon import daemon_bench, nothing_is_wrong_with
from shoe_testing.every_game import (
    NO_MORE,
    PLACE,
    ROYAL,
    SETTLED,
    SHIFT,
    STAFFED,
    At,
    Situation,
    bets,
    declares,
    play,
    refused,
    rules,
    says,
)
from shoe_testing.main_wagers import MAIN_WAGERS, net
from simulators.table.client import Answer, Client
from simulators.table.expectation import Told
from simulators.table.live_bench import Stream
from simulators.table.scenario_player import ScenarioPlayer

STAKE = 1000
LATE = 500
ANN = {"player": "ann", "seat": 1}
WAGERED = [bets(ANN, wager, STAKE) for wager in MAIN_WAGERS]
OUTCOME = play("round.outcome")
TOTALS = play("round.total_announced hand=banker")

MakeSituation = Callable[[At], Situation]


def agreed(step: dict[str, Any]) -> dict[str, Any]:
    """The shift manager says so, and a second person consents."""
    return step | {"position": SHIFT, "reason": "as it lies", "consented_by": "lee"}


def corrects(hand: str, index: int, card: str) -> dict[str, Any]:
    return agreed(says("correct_card", hand=hand, index=index, card=card))


def retracts(declaration: int) -> dict[str, Any]:
    return agreed(says("retract", declaration=declaration))


PAUSE = says("pause", "surveillance") | {"reason": "a look"}
RESUME = says("resume", "surveillance")


# A card is missing: Player has 7, Banker was read as 7 and has 5. It draws a five, and has 0.

MISSING = "7D 4H TS 3C 5C"
IS_TWO = corrects("banker", 1, "2H")
TOLD_TWO = "round.card_corrected hand=banker index=1 card=2H was=4H"
DREW_FIVE = "banker.cards=2H,3C,5C banker.total=0"


def missing_before_the_outcome(_: At) -> Situation:
    return Situation(
        cards=MISSING,
        steps=[PLACE, *WAGERED, NO_MORE, TOTALS, IS_TWO, SETTLED],
        expect=[TOLD_TWO, f"round.outcome winner=player player.total=7 {DREW_FIVE}"],
        never=["round.reopened", "round.revised", "round.void"],
    )


def missing_after_the_outcome(at: At) -> Situation:
    return Situation(
        cards=MISSING,
        steps=[PLACE, *WAGERED, NO_MORE, OUTCOME, IS_TWO, SETTLED],
        expect=[
            "round.outcome winner=tie player.total=7 banker.total=7",
            TOLD_TWO,
            f"round.reopened rule={at.cites('6.3')}",
            f"round.revised winner=player player.total=7 {DREW_FIVE}",
        ],
        never=["round.void"],
    )


# A card was drawn that was not due: Banker was read as 5, drew a two and had 7; it has 6.

NOT_DUE = "7D 5H TS TC 2C"
IS_SIX = corrects("banker", 1, "6H")
TOLD_SIX = "round.card_corrected hand=banker index=1 card=6H was=5H"
LEFT = "round.card_moved hand=null index=null from.hand=banker from.index=3"
RULED = "irregularity.resolved key=drawn_early how=set_aside"
NEVER_OPENS = refused(rules("first_card"))


def not_due_before_the_outcome(at: At) -> Situation:
    return Situation(
        cards=NOT_DUE,
        steps=[
            PLACE, *WAGERED, NO_MORE, play("round.card_revealed hand=banker index=3"), IS_SIX,
            NEVER_OPENS, rules("set_aside"), SETTLED,
        ],
        expect=[
            TOLD_SIX, LEFT, f"{RULED} rule={at.cites('6.1')}",
            "round.outcome winner=player player.total=7 banker.total=6", "round.settled",
        ],
        never=["round.reopened", "round.revised", "round.void"],
    )  # fmt: skip


def not_due_after_the_outcome(at: At) -> Situation:
    return Situation(
        cards=NOT_DUE,
        steps=[
            PLACE, *WAGERED, NO_MORE, OUTCOME, IS_SIX, NEVER_OPENS, rules("set_aside"), SETTLED,
        ],
        expect=[
            "round.outcome winner=tie player.total=7 banker.total=7",
            TOLD_SIX, LEFT, "round.revised winner=player player.total=7 banker.total=6",
            f"{RULED} rule={at.cites('6.1')}", "round.settled",
        ],
        never=["round.reopened", "round.void"],
    )  # fmt: skip


# A card lies at the wrong hand: Player was read as 6, and Banker drew a two alone. Player has 5.

MOVED = "6D 5H TS TC 2C"
IS_FIVE = corrects("player", 1, "5D")
TOLD_FIVE = "round.card_corrected hand=player index=1 card=5D was=6D"
TO_PLAYER = "round.card_moved hand=player index=3 from.hand=banker from.index=3"


def moved_before_the_outcome(at: At) -> Situation:
    return Situation(
        cards=MOVED,
        steps=[
            PLACE, *WAGERED, NO_MORE, play("round.card_revealed hand=banker index=3"), IS_FIVE,
            SETTLED,
        ],
        expect=[
            TOLD_FIVE, f"{TO_PLAYER} rule={at.cites('5.7')}",
            "round.outcome winner=player player.total=7 banker.total=5", "round.settled",
        ],
        never=["round.reopened", "round.revised", "round.void", "table.halted"],
    )  # fmt: skip


def moved_after_the_outcome(at: At) -> Situation:
    return Situation(
        cards=MOVED,
        steps=[PLACE, *WAGERED, NO_MORE, OUTCOME, IS_FIVE, SETTLED],
        expect=[
            "round.outcome winner=banker player.total=6 banker.total=7",
            TOLD_FIVE, f"{TO_PLAYER} rule={at.cites('5.7')}",
            "round.revised winner=player player.total=7 banker.total=5", "round.settled",
        ],
        never=["round.reopened", "round.void", "table.halted"],
    )  # fmt: skip


# Late chips that never lay there.

FOUND_LATE = declares("late_wager", **ANN, wager="player", amount=LATE)
TAKEN_BACK = "irregularity.retracted key=late_wager declaration=1 seat=1 wager=player"


def late_chips_taken_back_before_the_outcome(_: At) -> Situation:
    return Situation(
        steps=[
            PLACE, *WAGERED, NO_MORE, TOTALS, FOUND_LATE,
            refused(retracts(1) | {"position": "dealer"}, "position"), retracts(1), SETTLED,
        ],
        expect=["irregularity.raised key=late_wager", TAKEN_BACK, "round.outcome winner=banker"],
        never=["irregularity.alarm"],
    )  # fmt: skip


def late_chips_taken_back_after_the_outcome(_: At) -> Situation:
    return Situation(
        steps=[
            PLACE, *WAGERED, NO_MORE, OUTCOME, FOUND_LATE,
            refused(retracts(1) | {"consented_by": None}, "consent"), retracts(1), SETTLED,
        ],
        expect=["round.outcome winner=banker", "irregularity.raised key=late_wager", TAKEN_BACK],
        restricted=["irregularity.alarm key=late_wager player=ann why='as it lies'"],
    )  # fmt: skip


# What else people say, and when.


def draw_declared_missed_after_the_outcome(at: At) -> Situation:
    return Situation(
        cards=MISSING,
        steps=[
            PLACE, *WAGERED, NO_MORE, OUTCOME, declares("missed_draw"),
            refused(rules("reconstruct")), IS_TWO, rules("reconstruct"), SETTLED,
        ],
        expect=[
            "round.outcome winner=tie player.total=7 banker.total=7",
            "irregularity.raised key=missed_draw step=correction",
            "table.halted reason=missed_draw", TOLD_TWO, f"round.reopened rule={at.cites('6.3')}",
            f"irregularity.resolved key=missed_draw how=reconstructed rule={at.cites('5.7')}",
            f"round.revised winner=player player.total=7 {DREW_FIVE}",
        ],
        never=["round.void"],
    )  # fmt: skip


def first_card_pulled_in_a_pause(_: At) -> Situation:
    return Situation(
        steps=[PLACE, *WAGERED, NO_MORE, PAUSE, {"draw_early": 1}, RESUME, SETTLED],
        expect=["round.outcome winner=banker player.cards=2D,TS,4C banker.cards=3C,TH,5D"],
        never=["round.void"],
    )  # fmt: skip


def halted_between_outcome_and_payment(_: At) -> Situation:
    return Situation(
        steps=[
            PLACE, *WAGERED, NO_MORE, OUTCOME, PAUSE, RESUME, declares("other"),
            rules("play_on"), declares("other"), retracts(5), SETTLED,
        ],
        expect=[
            "round.outcome winner=banker player.total=6 banker.total=8",
            "table.halted reason=review", "table.halted reason=other",
            "irregularity.resolved key=other how=play_on", "table.halted reason=other",
            "irregularity.retracted key=other declaration=5",
            "irregularity.resolved key=other how=retracted", "round.settled",
        ],
        never=["round.void", "round.revised"],
    )  # fmt: skip


NOT_DECLARED_IN_ROYAL = (
    late_chips_taken_back_before_the_outcome,
    late_chips_taken_back_after_the_outcome,
)
"""Royal takes wagers by itself: no chips lie there that came late."""

SITUATIONS: tuple[MakeSituation, ...] = (
    missing_before_the_outcome,
    missing_after_the_outcome,
    not_due_before_the_outcome,
    not_due_after_the_outcome,
    moved_before_the_outcome,
    moved_after_the_outcome,
    draw_declared_missed_after_the_outcome,
    first_card_pulled_in_a_pause,
    halted_between_outcome_and_payment,
    *NOT_DECLARED_IN_ROYAL,
)
CONDUCTED = (
    *(At(game, method) for game in STAFFED for method in catalog.load(game).methods),
    At(ROYAL, None),
)


APART = 5
"""Where a situation is played in every run, as many places on for each: every game has its turn."""


def _every(cpu_s: float) -> list[Any]:
    """Each situation wherever it can come about; all places but one are exhaustive tests."""
    found = []
    for number, situation in enumerate(SITUATIONS):
        staffed = situation in NOT_DECLARED_IN_ROYAL
        places = [at for at in CONDUCTED if not (staffed and at.game == ROYAL)]
        for at in places:
            often = at == places[APART * number % len(places)]
            marks = [] if often else [pytest.mark.exhaustive(cpu_s=cpu_s)]
            name = f"{situation.__name__}-{at.game}-{at.method}"
            found.append(pytest.param(at, situation, id=name, marks=marks))
    return found


# In process: what happens, and that it replays.


@pytest.mark.parametrize(("at", "situation"), _every(cpu_s=0.05))
async def test_it_comes_out_so_and_the_same_again(at: At, situation: MakeSituation) -> None:
    scenario = at.scenario(situation(at), situation.__name__)
    bench, stuck = await played_in_process(scenario)
    assert (stuck, scenario.differences(bench.public, bench.restricted)) == (None, None)
    assert_one_outcome_that_revisions_name(bench.public)
    assert_settled_by_the_documents(at.game, bench.public)
    assert_replays(bench)


def assert_one_outcome_that_revisions_name(public: list[Told]) -> None:
    """A round's outcome is announced once; what comes behind it names that event."""
    (outcome,) = (told for told in public if told.type == "round.outcome")
    named = {"round.revised": "revises", "round.reopened": "reopens"}
    for told in public:
        if told.type in named:
            assert told.data[named[told.type]] == outcome.id


def assert_settled_by_the_documents(game: str, public: list[Told]) -> None:
    """Each wager is settled once, by the cards of the last outcome that was announced."""
    ended = [told for told in public if told.type in ("round.outcome", "round.revised")][-1].data
    hands = [ended[name]["cards"] for name in ("player", "banker")]
    lines = [told.data for told in public if told.type == "wager.settled"]
    assert [line["wager"] for line in lines if line["stake"]] == list(MAIN_WAGERS)
    for line in lines:
        assert won(line) == net(game, line["wager"], STAKE, *hands), line


def won(line: Mapping[str, Any]) -> Fraction:
    """What a wager's Player wins of it beside what lay there; below 0 what is collected."""
    return Fraction(line["pays"]) - Fraction(line["collected"])


# At the socket: what is said beforehand and in the status, too.


@dataclass(frozen=True)
class Given:
    """A command at the socket: its preview, its answer, and the status behind it."""

    command: str
    preview: Answer
    answer: Answer
    behind: Answer


class CarefulClient:
    """Looks at each command before giving it, and at the table before and behind that."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.given: list[Given] = []

    async def ask(self, asked: Mapping[str, Any]) -> Answer:
        stood = await self._status()
        preview = await self._client.ask({**asked, "preview": True})
        assert await self._status() == stood, "a preview changes nothing"
        answer = await self._client.ask(asked)
        self.given.append(Given(asked["command"], preview, answer, await self._status()))
        return answer

    async def close(self) -> None:
        await self._client.close()

    async def _status(self) -> Answer:
        (table,) = (await self._client.ask({"request": "status"}))["tables"]
        return dict(table)


async def played_carefully(
    at: At, situation: MakeSituation, folder: Path
) -> tuple[list[Told], list[Given]]:
    """What the public was told, and what was given, through a daemon at its socket."""
    scenario = at.scenario(situation(at), situation.__name__)
    async with daemon_bench(scenario, folder) as bench:
        client = bench.client = CarefulClient(bench.client)
        await ScenarioPlayer(scenario, bench).play()
    public, restricted = (Stream(folder / f"{name}.jsonl") for name in ("public", "restricted"))
    for stream in (public, restricted):
        stream.read()
    assert scenario.differences(public.told, restricted.told) is None
    return public.told, client.given


@pytest.mark.slow
@pytest.mark.parametrize(("at", "situation"), _every(cpu_s=0.3))
async def test_at_the_socket_it_is_looked_at_first_and_the_money_is_always_there(
    at: At, situation: MakeSituation, tmp_path: Path
) -> None:
    public, given = await played_carefully(at, situation, tmp_path)
    assert_one_outcome_that_revisions_name(public)
    assert_settled_by_the_documents(at.game, public)
    for one in given:
        assert_foretold(one)
    assert_money_from_the_outcome_until_settled(at.game, public, given)
    nothing_is_wrong_with(tmp_path / "journal.db")


def assert_foretold(one: Given) -> None:
    """What its preview said of a command is what came of it."""
    wants = one.answer.get("needs") or {}
    if wants.keys() & {"position", "consent"}:
        return  # a preview tells who may do it, whoever asks
    assert one.preview["accepted"] is one.answer["accepted"], one
    if not one.answer["accepted"]:
        assert one.preview["error"] == one.answer["error"]
        return
    shown = one.preview["preview"]
    if "reveals" in shown:
        return
    assert shown["state"] == one.behind["state"], one
    assert shown["next"] == one.behind["next"], one
    halt = one.behind["halt"]
    assert shown["halted"] == (None if halt is None else halt["reason"]), one


def assert_money_from_the_outcome_until_settled(
    game: str, public: list[Told], given: list[Given]
) -> None:
    """In play and in every halt the status has it, and so have the answers that change it."""
    places = {told.id: place for place, told in enumerate(public)}
    reached = 0
    for one in given:
        reached = max([reached, *(places[event] for event in one.answer.get("events", ()))])
        wagers = one.behind["wagers"]
        if not is_announced(public[: reached + 1]):
            assert not any("settlement" in wager for wager in wagers), one
            continue
        lying = one.behind["round"]["hands"]
        hands = [[card["card"] for card in lying[name]] for name in ("player", "banker")]
        owed = {wager: net(game, wager, STAKE, *hands) for wager in MAIN_WAGERS}
        assert {wager["wager"]: won(wager["settlement"]) for wager in wagers} == owed, one
        if one.command in ("correct_card", "retract") and one.answer["accepted"]:
            assert money_in(one.answer) == owed, one


def is_announced(public: list[Told]) -> bool:
    """Whether an outcome stands by these events, and is not settled."""
    decides = {
        "round.outcome": True, "round.revised": True, "round.reopened": False,
        "round.settled": False, "round.void": False,
    }  # fmt: skip
    return [False, *(decides[told.type] for told in public if told.type in decides)][-1]


def money_in(answer: Answer) -> dict[str, Fraction]:
    """What each wager comes to, as an answer says it."""
    amounts = {"done_wager_wins": "pays", "done_wager_loses": "collected"}
    said: dict[str, Fraction] = {}
    for each in answer["message"]["args"]["happened"]:
        code, args = each["code"], each["args"]
        if code in amounts:
            amount = Fraction(args[amounts[code]])
            said[args["wager"]] = amount if code == "done_wager_wins" else -amount
        elif code == "done_wager_goes_back":
            said[args["wager"]] = Fraction(0)
    return said
