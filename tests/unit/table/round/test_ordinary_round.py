"""The ordinary round, with every announcement made or implied, and every way the draws can go."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import WakeAt
from shoe_ctl.table.inputs import Tick
from shoe_testing.event_check import OwnData
from shoe_testing.tables import ROUNDS, TableHarness, balanced, game

EXPLICIT: dict[str, Any] = {"announcements": "explicit", "faces": "turned_by_dealer"}
FACE_UP: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}
SEEN_LATER: dict[str, Any] = {
    "announcements": "implied",
    "faces": "face_up",
    "face_up_after_ms": 1000,
}
SAID_AND_SEEN: dict[str, Any] = {
    "announcements": "explicit",
    "faces": "face_up",
    "face_up_after_ms": 1000,
}
WAYS = [EXPLICIT, FACE_UP, SEEN_LATER, SAID_AND_SEEN]


@pytest.mark.parametrize("codes", ROUNDS.values(), ids=ROUNDS)
@pytest.mark.parametrize("way", WAYS, ids=["explicit", "0 ms", "1000 ms", "explicit 1000 ms"])
@pytest.mark.parametrize("angel_eye", [False, True], ids=["reference", "angel_eye"])
def test_every_branch_of_the_draws_comes_to_its_outcome(
    angel_eye: bool, way: dict[str, Any], codes: str
) -> None:
    table = TableHarness(angel_eye=angel_eye, **way).open_shoe()
    table.play(codes)
    (outcome,) = table.told("round.outcome")
    given = codes.split()
    hands = {"player": given[0:3:2], "banker": given[1:4:2]}
    for code, hand in zip(given[4:], thirds(codes), strict=True):
        hands[hand].append(code)
    assert {name: outcome[name]["cards"] for name in hands} == hands
    assert set(outcome["wagers"]) == set(game().wagers)
    assert table.now.state == "idle"
    assert table.now.round is None
    assert balanced(table.now)
    assert table.kinds.count("round.settled") == 1


def thirds(codes: str) -> list[str]:
    return {4: [], 5: ["banker" if codes.startswith("7D 5C") else "player"]}.get(
        len(codes.split()), ["player", "banker"]
    )


def test_the_explicit_round_tells_its_story_in_order() -> None:
    table = TableHarness(**EXPLICIT).open_shoe()
    table.play(ROUNDS["both draw"])
    dealt, seen = "round.card_dealt", "round.card_revealed"
    assert table.kinds == [
        "shoe.connected", "shoe.loaded", "round.opened", "round.bets_closed",
        dealt, dealt, dealt, dealt, seen, seen, seen, seen,
        "round.total_announced", "round.total_announced", dealt, seen, dealt, seen,
        "round.outcome", "round.settled",
    ]  # fmt: skip
    assert not any("inferred" in e.data for e in table.public)
    assert {e.data["face"] for e in table.public if e.type == dealt} == {"down"}
    assert [(d["hand"], d["total"]) for d in table.told("round.total_announced")] == [
        ("player", 2),
        ("banker", 3),
    ]


def test_implied_announcements_are_stamped_inferred() -> None:
    table = TableHarness(**FACE_UP).open_shoe()
    table.play(ROUNDS["both stand"])
    made = {"round.opened", "round.bets_closed", "round.total_announced", "round.outcome"}
    for kind in (*made, "round.settled"):
        assert all(d["inferred"] for d in table.told(kind)), kind
    assert {d["face"] for d in table.told("round.card_dealt")} == {"up"}


def test_an_announcement_that_somebody_made_is_not_inferred() -> None:
    table = TableHarness(**FACE_UP).open_shoe()
    table.does("place_your_bets")
    table.draw("7D")
    assert "inferred" not in table.told("round.opened")[0]
    assert table.told("round.bets_closed")[0]["inferred"]


def test_the_shoe_is_armed_draw_by_draw_as_revealed_cards_imply() -> None:
    table = TableHarness(**EXPLICIT).open_shoe()
    table.play(ROUNDS["both draw"])
    assert table.desires == [
        Armed(1, "player", 1), Armed(2, "banker", 1), Armed(3, "player", 2), Armed(4, "banker", 2),
        Locked(), Armed(5, "player", 3), Locked(), Armed(6, "banker", 3), Locked(),
    ]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=["explicit", "0 ms", "1000 ms", "explicit 1000 ms"])
@pytest.mark.parametrize("codes", ROUNDS.values(), ids=ROUNDS)
def test_a_third_card_is_armed_when_all_is_seen_and_said_and_never_an_input_earlier(
    way: dict[str, Any], codes: str
) -> None:
    table = TableHarness(**way).open_shoe()

    def look() -> None:
        desired, played = table.desired, table.now.round
        if isinstance(desired, Armed) and desired.index == 3:
            assert played is not None
            assert played.all_revealed and played.totals_announced
            assert len(played.cards) == (4 if desired.hand == "player" else len(played.cards))
        if table.now.state == "revealing" and played is not None and not played.all_revealed:
            assert desired == Locked()

    table.step = look
    table.play(codes)


def test_bankers_third_waits_until_players_third_is_exposed() -> None:
    table = TableHarness(**EXPLICIT).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH 4C")
    assert table.desired == Locked()
    table.does("expose", hand="player", index=3)
    assert table.desired == Armed(6, "banker", 3)


def test_totals_come_before_players_third_is_due() -> None:
    table = TableHarness(**EXPLICIT).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    assert table.desired == Locked()
    assert not table.asks("announce_outcome").accepted
    table.does("announce_totals")
    assert table.desired == Armed(5, "player", 3)
    assert not table.asks("announce_totals").accepted


def test_cards_dealt_face_up_are_seen_after_their_time_and_not_before() -> None:
    table = TableHarness(**SEEN_LATER).open_shoe()
    (wake,) = (e for e in table.draw("7D") if isinstance(e, WakeAt))
    assert wake.t_us == table.now.t_us + 1_000_000
    table.feed(Tick(t_us=wake.t_us - 1))
    assert table.told("round.card_revealed") == []
    table.feed(Tick(t_us=wake.t_us))
    assert table.told("round.card_revealed") == [{"hand": "player", "index": 1, "card": "7D"}]


def test_the_next_card_reveals_those_whose_time_has_come() -> None:
    table = TableHarness(**SEEN_LATER).open_shoe()
    table.draw("7D")
    late = CardDrawn(card=card("7C"), number=2, armed=True)
    table.says(late, t_us=table.now.t_us + 2_000_000)
    assert [d["card"] for d in table.told("round.card_revealed")] == ["7D"]


def test_a_hand_or_one_card_of_it_can_be_exposed_once() -> None:
    table = TableHarness(**EXPLICIT).open_shoe()
    table.open_round()
    table.deal("7D 7C TS TH")
    table.does("expose", hand="player", index=2)
    table.does("expose", hand="player")
    refused = table.asks("expose", hand="player")
    assert refused.error == "Player has no card face down"
    assert [d["index"] for d in table.told("round.card_revealed")] == [2, 1]


def test_the_restricted_outcome_proves_itself_by_the_inputs_of_its_round() -> None:
    table = TableHarness(**EXPLICIT).open_shoe()
    table.play(ROUNDS["both stand"])
    (outcome,) = (e for e in table.events if e.type == "round.outcome")
    assert outcome.audience is Audience.PUBLIC
    assert outcome.restricted_data is not None
    proof = outcome.restricted_data["proof"]
    first, last = table.inputs[proof["first"] - 1], table.inputs[proof["last"] - 1]
    assert (first.command, last.command) == ("place_your_bets", "announce_outcome")
    assert OwnData(outcome.restricted_data) == {**outcome.data, "proof": proof}


def test_rounds_and_shoes_are_numbered_at_their_table() -> None:
    table = TableHarness(**FACE_UP).open_shoe()
    table.play(ROUNDS["both stand"])
    table.play(ROUNDS["Player natural"])
    assert [d["round_id"] for d in table.told("round.outcome")] == ["bac-07-s1-r1", "bac-07-s1-r2"]


def test_the_outcome_counts_the_wagers_of_the_tables_layout_only() -> None:
    table = TableHarness(name="fa_fa_fabulous_4", layout="B", **FACE_UP)
    table.connect()
    table.hello(resumed=False, deck="element65")
    table.load()
    table.play("7f 7g Se Lw")
    (outcome,) = table.told("round.outcome")
    assert set(outcome["wagers"]) == set(game("fa_fa_fabulous_4").layouts["B"].wagers)
