"""Rules in combination, in every game and method that has them: in process, and through a daemon.

Each situation is a scenario, written here because it is played in each game and each method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.games import catalog
from shoe_testing.bench import assert_replays
from shoe_testing.bench import play_in_process as played_in_process
from shoe_testing.daemon import nothing_is_wrong_with, play_through_daemon
from shoe_testing.every_game import (
    ANN,
    BO,
    CY,
    DEALT,
    NO_MORE,
    PLACE,
    ROYAL,
    SETTLED,
    SHIFT,
    STAFFED,
    At,
    Situation,
    bets,
    decides,
    declares,
    play,
    refused,
    rules,
    says,
)  # fmt: skip

CONCLUDES = [decides("offer_withdrawal"), decides("close_window"), decides("play_on")]
HOST_REBOOTS = [{"host": "reboot"}]
SHOE_REBOOTS = [{"shoe": "reboot"}, {"wait": "table.halted"}]
BOTH = [bets(ANN, "player", 500), bets(BO, "player", 300), bets(CY, "banker", 400)]


PASSED = ["cards.passed hand=player seat=3", "cards.passed hand=banker seat=5"]


def holds(at: At) -> list[dict[str, Any]]:
    """Both hands are with the Players who squeeze them."""
    if at.method == "C":
        hands = (("player", ANN), ("banker", CY))
        return [says("pass_cards", hand=hand, **who) for hand, who in hands]
    return [says("pass_cards", hand=hand) for hand in ("player", "banker")]


# Each situation.

MakeSituation = Callable[[At], Situation]


def power_before_the_first_card(
    lost: list[dict[str, Any]], announcements: str, *, fed: bool
) -> MakeSituation:
    def situation(at: At) -> Situation:
        wagers = BOTH if fed else []
        answer = [decides("withdraw_all", player="ann")] if fed else []
        window, *closed = CONCLUDES
        whose = "whose=players seats=3,4,5" if fed else "whose=table"
        rule = at.rule("power_failure", "withdrawal")
        return Situation(
            steps=[
                PLACE, *wagers, NO_MORE, *lost, refused(decides("void", SHIFT)),
                window, *answer, *closed, SETTLED,
            ],
            expect=[
                f"irregularity.raised key=power_failure step=power end=withdrawal rule={rule}",
                f"withdrawal.opened rule={rule} scope=all {whose}",
                f"irregularity.resolved key=power_failure how=concluded rule={rule}",
                "table.resumed",
                "round.outcome winner=banker",
                *(["wager.settled seat=4 result=lose", "wager.settled seat=5"] if fed else []),
            ],
            never=["round.void"],
            announcements=announcements,
        )  # fmt: skip

    return situation


def power_with_a_wager_decided(at: At) -> Situation:
    """Player's hand is a Natural and lies open; Banker's is with a Player who squeezes it."""
    rule = at.rule("power_failure", "continued")
    kept = [says("expose", hand="banker", by="holder")] if at.method != "B" else []
    return Situation(
        steps=[
            PLACE, *BOTH, NO_MORE, DEALT, *(holds(at) if at.method != "B" else []),
            says("expose", hand="player"), *HOST_REBOOTS,
            *(refused(decides(choice, SHIFT)) for choice in
              ("void", "refer", "offer_withdrawal", "take_hands_back")),
            decides("play_on"), *kept, SETTLED,
        ],
        expect=[
            f"irregularity.raised key=power_failure step=continue end=continued rule={rule}",
            f"irregularity.resolved key=power_failure how=continued rule={rule}",
            "round.outcome winner=player",
        ],
        never=["round.void", "withdrawal.opened", "cards.retrieved"],
        cards="9C 2D TD 3H",
    )  # fmt: skip


def power_with_held_hands(at: At) -> Situation:
    """Nothing is decided: the hands are taken back, and go by the wagers that are left."""
    rule = at.rule("power_failure", "withdrawal")
    again = [says("pass_cards", hand="player")] if at.method == "A" else []
    return Situation(
        steps=[
            PLACE, *BOTH, NO_MORE, DEALT, *holds(at), *HOST_REBOOTS,
            refused(decides("offer_withdrawal")), refused(decides("play_on", SHIFT)),
            decides("take_hands_back"), decides("offer_withdrawal"),
            decides("withdraw_all", player="ann"), decides("close_window"), decides("play_on"),
            refused(says("expose", hand="player", by="holder")), *again,
            says("expose", hand="player"), says("expose", hand="banker", by="dealer"), SETTLED,
        ],
        expect=[
            *PASSED,
            f"irregularity.raised key=power_failure step=take_back end=withdrawal rule={rule}",
            f"cards.retrieved hand=player seat=3 rule={rule}",
            f"cards.retrieved hand=banker seat=5 rule={rule}",
            f"withdrawal.opened rule={rule}",
            f"irregularity.resolved key=power_failure how=concluded rule={rule}",
            *(["cards.passed hand=player seat=4"] if at.method == "A" else []),
            "round.outcome winner=banker",
        ],
        never=["round.void"],
    )  # fmt: skip


def power_referred(at: At) -> Situation:
    """Nothing is decided, and the Gaming Shift Manager rules beside the window (6.1)."""
    held = holds(at) if at.method != "B" else []
    return Situation(
        steps=[
            PLACE, *BOTH, NO_MORE, DEALT, *held, *HOST_REBOOTS, decides("refer"),
            refused(decides("void"), "position"), rules("void"), play("table.resumed"),
        ],
        expect=[
            "irregularity.raised key=power_failure end=withdrawal",
            "irregularity.step key=power_failure step=ruling end=ruled rule=6.1",
            "round.void rule=6.1",
            "irregularity.resolved key=power_failure how=void rule=6.1",
            "irregularity.step key=after_void",
        ],
        never=["withdrawal.opened"],
    )  # fmt: skip


def holder_withdraws_before_reconstruction(at: At) -> Situation:
    """Both third cards come as one (5.8.1): who had Player's hand withdraws everything."""
    return Situation(
        steps=[
            PLACE, *BOTH, NO_MORE, DEALT, *holds(at), {"draw_as_one": 2},
            decides("order_from_shoe", "pit_supervisor"), decides("withdraw_all", player="ann"),
            decides("close_window"), decides("reconstruct"),
            refused(says("expose", hand="player", by="holder")),
            refused(says("pass_cards", hand="player", seat=3)),
            says("pass_cards", hand="player"), says("expose", hand="player", by="holder"),
            says("expose", hand="banker", by="holder"), SETTLED,
        ],
        expect=[
            *PASSED,
            "withdrawal.closed whose=player seats=3 answer=withdrawn",
            "withdrawal.closed whose=players seats=4,5 answer=stands",
            f"cards.retrieved hand=player seat=3 rule={at.highest_wager}",
            "irregularity.resolved key=double_draw how=reconstructed",
            "cards.passed hand=player seat=4",
            "irregularity.resolved key=drawn_early",
            "irregularity.resolved key=drawn_early",
            "round.outcome winner=banker",
        ],
    )  # fmt: skip


def holder_withdraws_at_a_reset(at: At) -> Situation:
    """The cards open the round that is bet on again (5.9): the hands go by the wagers of then."""
    return Situation(
        steps=[
            PLACE, *BOTH, NO_MORE, DEALT, *holds(at), declares("device_reset"),
            decides("withdraw_all", player="ann"), decides("close_window"),
            {"wait": "irregularity.step step=cards"}, rules("open_round"),
            says("increase_wager", **BO, wager="player", amount=100), NO_MORE,
            refused(says("expose", hand="player", by="holder")),
            *holds(at), says("expose", hand="player", by="holder"),
            says("expose", hand="banker", by="holder"), SETTLED,
        ],
        expect=[
            *PASSED,
            f"cards.retrieved hand=player seat=3 rule={at.highest_wager}",
            "irregularity.resolved key=device_reset how=cards_open_round",
            "cards.retrieved hand=banker seat=5 rule=5.9",
            "cards.passed hand=player seat=4",
            "cards.passed hand=banker seat=5",
            "round.outcome winner=banker",
        ],
    )  # fmt: skip


def late_and_over_the_maximum(*order: str) -> MakeSituation:
    amounts = {"late_wager": 3000, "over_maximum": 12000}

    def situation(at: At) -> Situation:
        of = {**ANN, "wager": "player"}
        late = f"irregularity.resolved key=late_wager how={at.late} rule=5.4"
        over = "irregularity.resolved key=over_maximum how=late rule=5.4"
        raised = [f"irregularity.raised key={key} amount={amounts[key]}" for key in order]
        late_first = [raised[0], late, raised[1], over]
        return Situation(
            steps=[
                PLACE, bets(ANN, "player", 9000), NO_MORE,
                *(declares(key, **of, amount=amounts[key]) for key in order), SETTLED,
            ],
            expect=[
                *(late_first if order[0] == "late_wager" else [*raised, late, over]),
                "wager.settled stake=12000 result=lose collected=9000 returned=3000",
            ],
            never=["table.halted"],
            limits={"maximum": 10000},
        )  # fmt: skip

    return situation


DIFFERENTIAL = {"maximum": 10000, "differential": 5000}
CLOSE = [bets(ANN, "player", 8000), bets(CY, "banker", 6000)]
FOUND = declares("over_maximum", **ANN, wager="player", amount=12000)


def differential_before_the_first_card(at: At) -> Situation:
    """A wager is found over the maximum: Players meet the differential as at *no more bets*."""
    rule = at.rule("table_differential", "increased")
    return Situation(
        steps=[
            PLACE, *CLOSE, NO_MORE, FOUND,
            decides("increase", **CY, wager="banker", amount=2000),
            SETTLED,
        ],
        expect=[
            "irregularity.raised key=over_maximum amount=12000",
            "irregularity.raised key=table_differential step=changing",
            f"irregularity.resolved key=table_differential how=increased rule={rule}",
            "irregularity.resolved key=over_maximum how=to_maximum",
            "round.settled",
        ],
        limits=DIFFERENTIAL,
    )  # fmt: skip


def differential_with_cards_out(at: At) -> Situation:
    """The same with cards out is the Gaming Shift Manager's."""
    return Situation(
        steps=[
            PLACE, *CLOSE, NO_MORE, play("round.card_dealt hand=player index=2"), FOUND,
            refused(decides("play_on"), "position"), rules("play_on"), SETTLED,
        ],
        expect=[
            "irregularity.raised key=over_maximum amount=12000",
            "irregularity.raised key=table_differential step=ruling",
            "irregularity.resolved key=table_differential how=play_on rule=6.1",
            "irregularity.resolved key=over_maximum how=to_maximum",
            "round.settled",
        ],
        limits=DIFFERENTIAL,
    )  # fmt: skip


def differential_after_a_window(at: At) -> Situation:
    """Who withdraws when the power fails leaves the hands too far apart, with a card out."""
    return Situation(
        steps=[
            PLACE, *CLOSE, NO_MORE, play("round.card_dealt hand=player index=1"), *HOST_REBOOTS,
            decides("offer_withdrawal"), decides("withdraw_all", player="cy"),
            decides("close_window"), decides("play_on"), rules("void"),
        ],
        expect=[
            "irregularity.raised key=power_failure",
            "irregularity.resolved key=power_failure how=concluded",
            "irregularity.raised key=table_differential step=ruling",
            "irregularity.resolved key=table_differential how=void rule=6.1",
        ],
        limits=DIFFERENTIAL,
    )  # fmt: skip


def differential_after_late_chips(at: At) -> Situation:
    """What was found turns out to be late, and no longer counts: the hands are too far apart."""
    of = {**CY, "wager": "banker"}
    return Situation(
        steps=[
            PLACE, *CLOSE, NO_MORE, play("round.card_dealt hand=player index=1"),
            declares("over_maximum", **of, amount=11000),
            declares("over_maximum", **ANN, wager="player", amount=14000),
            declares("late_wager", **of, amount=5000), rules("play_on"),
        ],
        expect=[
            "irregularity.raised key=over_maximum amount=11000",
            "irregularity.raised key=over_maximum amount=14000",
            "irregularity.raised key=late_wager amount=5000",
            f"irregularity.resolved key=late_wager how={at.late} rule=5.4",
            "irregularity.resolved key=over_maximum how=late rule=5.4",
            "irregularity.raised key=table_differential differential.excess=3000 step=ruling",
            "irregularity.resolved key=table_differential how=play_on rule=6.1",
        ],
        limits=DIFFERENTIAL,
    )  # fmt: skip


SITUATIONS: dict[str, tuple[MakeSituation, tuple[str, ...]]] = {
    **{
        f"power before the first card: {who}, {announced}{', with wagers' * fed}": (
            power_before_the_first_card(lost, announced, fed=fed),
            ("A", "B", "C") if announced == "explicit" else ("B",),
        )
        for who, lost in (("host", HOST_REBOOTS), ("shoe", SHOE_REBOOTS))
        for announced in ("explicit", "implied")
        for fed in (False, True)
    },
    "power with a wager decided": (power_with_a_wager_decided, ("A", "B", "C")),
    "power with held hands": (power_with_held_hands, ("A", "C")),
    "power referred": (power_referred, ("A", "B", "C")),
    "holder withdraws before reconstruction": (holder_withdraws_before_reconstruction, ("A",)),
    "holder withdraws at a reset": (holder_withdraws_at_a_reset, ("A",)),
    "late, then over the maximum": (
        late_and_over_the_maximum("late_wager", "over_maximum"), ("A", "B", "C"),
    ),
    "over the maximum, then late": (
        late_and_over_the_maximum("over_maximum", "late_wager"), ("A", "B", "C"),
    ),
    "differential before the first card": (differential_before_the_first_card, ("A", "B", "C")),
    "differential with cards out": (differential_with_cards_out, ("A", "B", "C")),
    "differential after a window": (differential_after_a_window, ("A", "B", "C")),
    "differential after late chips": (differential_after_late_chips, ("A", "B", "C")),
}  # fmt: skip
"""Each with the methods in which it can come about."""


def power_in_a_game_without_a_rule(lost: list[dict[str, Any]]) -> MakeSituation:
    def situation(at: At) -> Situation:
        return Situation(
            steps=[
                PLACE, NO_MORE, *lost, refused(decides("offer_withdrawal")),
                refused(decides("play_on"), "position"), rules("play_on"), SETTLED,
            ],
            expect=[
                "irregularity.raised key=power_failure step=ruling",
                "irregularity.resolved key=power_failure how=play_on",
                "round.outcome winner=banker",
            ],
            never=["withdrawal.opened"],
        )  # fmt: skip

    return situation


def _every() -> Iterator[Any]:
    for lost in (HOST_REBOOTS, SHOE_REBOOTS):
        first = next(iter(lost[0]))
        name = f"power before the first card: {first}"
        yield pytest.param(
            At(ROYAL, None), power_in_a_game_without_a_rule(lost), id=f"{name} - {ROYAL}"
        )
    for name, (situation, methods) in SITUATIONS.items():
        for game in STAFFED:
            for method in methods:
                if method in catalog.load(game).methods:
                    at = At(game, method)
                    yield pytest.param(at, situation, id=f"{name} - {game} {method}")


EVERY = tuple(_every())


@pytest.mark.parametrize(("at", "situation"), EVERY)
async def test_in_every_game_and_method_it_comes_out_as_the_rules_say(
    at: At, situation: MakeSituation
) -> None:
    scenario = at.scenario(situation(at), "situation")
    bench, stuck = await played_in_process(scenario)
    said = [stuck, scenario.differences(bench.public, bench.restricted)]
    if any(said):
        pytest.fail("\n".join(text for text in said if text), pytrace=False)
    assert_replays(bench)


SPARSE = 60
"""Of so many one is played through the daemon in every run, and the first of each situation."""


def _through_the_daemon() -> Iterator[Any]:
    """All of them; those that are neither are exhaustive tests."""
    met: set[str] = set()
    for number, each in enumerate(EVERY):
        situation = str(each.id).partition(" - ")[0].partition(",")[0]
        often = number % SPARSE == 0 or situation not in met
        met.add(situation)
        marks = [] if often else [pytest.mark.exhaustive(cpu_s=0.2)]
        yield pytest.param(*each.values, id=each.id, marks=[*each.marks, *marks])


@pytest.mark.slow
@pytest.mark.parametrize(("at", "situation"), tuple(_through_the_daemon()))
async def test_through_the_daemon_at_its_socket_it_comes_out_the_same(
    at: At, situation: MakeSituation, tmp_path: Path
) -> None:
    scenario = at.scenario(situation(at), "situation")
    public, restricted, stuck = await play_through_daemon(scenario, tmp_path)
    said = [stuck, scenario.differences(public, restricted)]
    if any(said):
        pytest.fail("\n".join(text for text in said if text), pytrace=False)
    nothing_is_wrong_with(tmp_path / "journal.db")
