"""Rounds alike from the table are alike in public, whatever cards lie face down, until one is seen.

Content, count and order of the public stream, answers, status, prompts, choices, the shoe's lock:
in every method, in the ordinary course and inside irregularities.
"""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st
from msgspec import UnsetType

from firmware_proto.cards import CARDS
from firmware_proto.events import Button, CuttingCard, Gap, Lid, Reply, Started, Status
from shoe_ctl.games import catalog
from shoe_ctl.table.inputs import (
    OutcomeApplied,
    ShoeStated,
    StatedRound,
    StorageRestored,
    TableCommand,
)
from shoe_ctl.table.state import ToldRound
from shoe_ctl.table.status import status
from shoe_ctl.texts.message import message
from shoe_testing.examples import examples
from shoe_testing.generators import (
    ASKED,
    MOST_CARDS,
    OfferingTable,
    by_hand,
    corrections,
    decisions,
    declarations,
    retractions,
)
from shoe_testing.places import STAKES
from shoe_testing.staff import at, comes_back
from shoe_testing.table_corpus import KINDS, WAYS, kind_of
from shoe_testing.tables import TableHarness, game
from shoe_testing.twins import HANDS, Faces, Twins

HLGA = "Paiza Club"
NAMED = 2 * MOST_CARDS
"""The deck's first cards are those that people name: none of them lies face down."""

SETTINGS: list[dict[str, Any]] = [
    {"name": name, "method": method, "area": HLGA, "faces": "turned_by_dealer"}
    for name in catalog.shipped()
    for method in game(name).methods
] + [{"name": "tiger", **WAYS[0]}]


def faces(name: str) -> st.SearchStrategy[Faces]:
    """Of one card at both tables: alike, unlike, read at neither, of another deck."""
    ours = [each.code for each in game(name).deck.cards][NAMED:]
    foreign = [code for code in CARDS if code not in {c.code for c in game(name).deck.cards}]
    any_card = st.sampled_from(ours)
    return st.one_of(
        st.tuples(any_card, any_card),
        st.tuples(any_card, any_card),
        any_card.map(lambda code: (code, code)),
        st.just((None, None)),
        st.tuples(st.sampled_from(foreign), st.sampled_from(foreign)),
    )


class Bench:
    """Twins, and somebody who does the same to both."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.given = dict(data.draw(st.sampled_from(SETTINGS), label="set"))
        shoe = data.draw(st.sampled_from([shoe for shoe, _ in KINDS]), label="shoe")
        # A judging shoe reports at one of the twins alone: their clocks, and what follows from
        # the time, are not the same.
        if shoe != "angel_eye" and data.draw(st.booleans(), label="table system"):
            self.given["applied_within_s"] = 1
        self.twins = Twins(**kind_of(shoe), **self.given)
        self.faces = faces(self.given["name"])

    def card(self) -> Faces:
        return self.data.draw(self.faces, label="card")

    def step(self) -> None:
        steps = (*[self.next] * 6, self.early, self.reports, self.decides,
                 self.decides, self.declares, self.wagers, self.happens, self.together,
                 self.corrects, self.retracts, self.previews, self.previews)  # fmt: skip
        self.data.draw(st.sampled_from(steps))()

    def next(self) -> None:
        """What the status says is next, read at one of them: it is the same at both."""
        one = self.twins.one
        said = status(one.now, one.game, one.settings)["next"]
        if not one.now.link.up:
            self.twins.both(comes_back)
        elif said["command"] == "decide":
            self.decides()
        elif said["command"] is not None:
            self.asks(said["command"], said["args"])
        elif "draw" in said:
            self.twins.draws(self.card())
            self.twins.judge()
        elif one.now.wake_us is not None:
            self.twins.both(TableHarness.tick)

    def early(self) -> None:
        if self.twins.one.now.shoe is not None:
            told = self.data.draw(st.booleans(), label="reported")
            self.twins.draws_early(self.card(), reported=told)

    def reports(self) -> None:
        """A table system reports a round as applied, or states what it has of the shoe."""
        shoe = self.twins.one.now.shoe
        if "applied_within_s" not in self.given or shoe is None:
            return
        if self.data.draw(st.booleans(), label="states"):
            at_most = self.data.draw(st.integers(0, 3), label="rounds stated")
            self.twins.both(lambda table: states(table, shoe.id, at_most))
        else:
            self.twins.both(applies_newest)

    def together(self) -> None:
        known = self.data.draw(st.booleans(), label="order known")
        self.twins.draws_together(self.card(), self.card(), order_known=known)

    def decides(self) -> None:
        if offered := list(decisions(at(self.twins.one))):
            self.asks("decide", self.data.draw(st.sampled_from(offered), label="decided"))

    def declares(self) -> None:
        declared = list(declarations(at(self.twins.one)))
        self.asks("declare", self.data.draw(st.sampled_from(declared), label="declared"))

    def corrects(self) -> None:
        """An open card as another one; and any slot as a card that lies at one of the tables."""
        one = at(self.twins.one)
        if named := [*corrections(one), *typed_cards(one)]:
            self.asks("correct_card", self.data.draw(st.sampled_from(named), label="corrected"))

    def retracts(self) -> None:
        if declared := list(retractions(at(self.twins.one))):
            self.asks("retract", self.data.draw(st.sampled_from(declared), label="retracted"))

    def wagers(self) -> None:
        self.asks("place_wager", self.data.draw(st.sampled_from(STAKES), label="wager"))

    def previews(self) -> None:
        """Whatever can be asked beforehand: also with the very cards that lie at one of them."""
        one = at(self.twins.one)
        asked = [
            *ASKED,
            *(("decide", args) for args in decisions(one)),
            *(("declare", args) for args in declarations(one)),
            *(("correct_card", args) for args in typed_cards(one)),
            *(("retract", args) for args in retractions(one)),
            *(("decide", {"choice": "enter", **args}) for args in typed_cards(one)),
            *(("enter_round", hands) for hands in [by_hand(one)] if hands is not None),
        ]
        command, args = self.data.draw(st.sampled_from(asked), label="previewed")
        self.twins.previews(command, {n: v for n, v in args.items() if n != "position"})

    def happens(self) -> None:
        what = self.data.draw(st.sampled_from(HAPPENS), label="happens")
        self.twins.both(what)

    def asks(self, command: str, args: dict[str, Any]) -> None:
        self.twins.both(lambda t: t.asks(command, reason="seen", consented_by="lee", **args))


def typed_cards(one: OfferingTable) -> list[dict[str, Any]]:
    """Each slot with the card that lies there, open or not, and with those that lie elsewhere."""
    dealt = () if one.now.round is None else one.now.round.cards
    faces = [d.card.code for d in dealt if d.card is not None]
    return [{"hand": d.hand, "index": d.index, "card": face} for d in dealt for face in faces]


def refuses(table: TableHarness, why: str) -> None:
    """The shoe will not give the card that the table waits for."""
    if table.now.armed is not None:
        table.says(Reply(accepted=False, reason=why, number=table.now.armed[0]))


def loses_records(table: TableHarness) -> None:
    """The journal lost its newest part, and a person ruled that it goes on."""
    lost = message(
        "daemon_loss_ruled",
        lost=["it ends at record 9, and records up to 12 of t1 were stored"],
        person="lee",
        position="gaming_shift_manager",
        reason="the disk is lost",
    )
    ruling = TableCommand(
        t_us=table.t_us,
        command_id=f"ruled-{table.t_us}",
        command="accept_loss",
        person="lee",
        position="gaming_shift_manager",
        reason="the disk is lost",
        consented_by="kim",
    )
    table.feed(StorageRestored(t_us=table.t_us, since_us=table.t_us, what=lost, ruling=ruling))


def applies_newest(table: TableHarness) -> None:
    """A table system reports the newest round that it was told, or one that it was not."""
    told = [] if isinstance(table.now.told, UnsetType) else table.now.told.rounds
    ended = told[-1] if told else ToldRound(round_id="bac-07-s1-r1", shoe_id="bac-07-s1")
    table.feed(
        OutcomeApplied(
            t_us=table.t_us, user="ledger", reference="b-1", round_id=ended.round_id,
            type=ended.type, told_us=ended.told_us,
            public_id="bac-07/p1", restricted_id="bac-07/r1",
        )
    )  # fmt: skip


def states(table: TableHarness, shoe_id: str, at_most: int) -> None:
    """A table system states the first rounds of a shoe, each without money."""
    rounds = tuple(StatedRound(round_id=f"{shoe_id}-r{n}") for n in range(1, at_most + 1))
    table.feed(ShoeStated(t_us=table.t_us, user="ledger", shoe_id=shoe_id, rounds=rounds))


HAPPENS = (
    TableHarness.disconnect,
    TableHarness.connect,
    TableHarness.restart,
    lambda table: table.restart("b2"),
    TableHarness.fails,
    loses_records,
    lambda table: table.says(CuttingCard()),
    lambda table: table.says(Gap(first=1, last=2)),
    lambda table: table.says(Lid(open=True)),
    lambda table: table.says(Button(button=1)),
    lambda table: table.says(Started()),
    lambda table: refuses(table, "not_the_next_draw"),
    lambda table: refuses(table, "busy"),
    lambda table: table.says(Status(drawn=1, unacknowledged=0)),
    lambda table: table.asks("pause"),
    lambda table: table.asks("resume"),
    lambda table: table.asks("align"),
    lambda table: table.asks("expose", hand="player"),
    lambda table: table.asks("pass_cards", hand="banker", player="ann"),
)


def plays(data: st.DataObject, steps: int) -> None:
    bench = Bench(data)
    for _ in range(steps):
        if bench.twins.parted:
            break
        bench.step()


BEFORE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "in the deal": [],
    "in a review": [("pause", {})],
    "after a loss of power": [("declare", {"key": "power_failure"})],
    "in a reset": [("declare", {"key": "device_reset"})],
    "in what nobody foresaw": [("declare", {"key": "other"})],
    "among cards drawn together": [("declare", {"key": "double_draw"})],
}
DECIDED: list[list[dict[str, Any]]] = [
    [{"choice": "void"}],
    [{"choice": "correct", "card": "AS"}, {"choice": "play_on"}],
    [{"choice": "play_on"}, {"choice": "void"}],
]


@pytest.mark.parametrize("decided", DECIDED, ids=lambda d: d[0]["choice"])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("shoe", ["reference", "angel_eye"])
def test_why_a_card_is_inspected_makes_no_difference_to_anyone(
    shoe: str, before: str, decided: list[dict[str, Any]]
) -> None:
    """Of another deck, or one more than the deck holds: which of them is nobody's to know."""
    twins = Twins(**kind_of(shoe), **WAYS[0], decks=1)
    twins.both(TableHarness.open_round)
    twins.draws(("9C", "9C"))
    twins.draws(("3H", "KD"))
    for command, args in BEFORE[before]:
        twins.both(lambda t, c=command, a=args: t.asks(c, reason="seen", **a))  # type: ignore[misc]
    twins.draws(("4f", "9C"))
    keys = [[opened.key for opened in t.now.halt.stack] for t in (twins.one, twins.other)]
    assert [each[-1] for each in keys] == ["foreign_card", "extra_card"]
    for args in decided:
        twins.both(lambda t, a=args: t.asks("decide", reason="r", consented_by="lee", **a))  # type: ignore[misc]
    assert not twins.parted
    assert twins.compared >= len(decided) + 4


@pytest.mark.parametrize("cards", [1, 2, 3, 4])
def test_a_ruling_on_lost_records_shows_nobody_a_card_that_lies_face_down(cards: int) -> None:
    twins = Twins(name="tiger", faces="turned_by_dealer")
    twins.both(TableHarness.open_round)
    for unlike in [("9C", "3H"), ("KD", "4S"), ("7H", "8D"), ("2C", "JS")][:cards]:
        twins.draws(unlike)
    twins.both(loses_records)
    assert [opened.key for opened in twins.one.now.halt.stack] == ["storage_fault"]
    twins.both(lambda t: t.asks("resume", reason="seen"))
    assert not twins.parted
    assert twins.compared == cards + 3


@pytest.mark.parametrize("shoe", [shoe for shoe, _ in KINDS])
def test_no_correction_or_its_preview_says_what_lies_face_down(shoe: str) -> None:
    """Player's hand lies open; each slot is named as each card that Banker has at one table."""
    twins = Twins(**kind_of(shoe), **WAYS[0])
    twins.both(TableHarness.open_round)
    for faces_of_one in (("7D", "7D"), ("4H", "9S"), ("TS", "TS"), ("3C", "KD")):
        twins.draws(faces_of_one)
    twins.both(lambda t: t.does("expose", hand="player"))
    before = twins.compared
    for hand, index, code in itertools.product(HANDS, (1, 2), ("4H", "9S", "3C", "KD")):
        args = {"hand": hand, "index": index, "card": code}
        said = {"reason": "it lies there", "consented_by": "lee"}
        twins.previews("correct_card", args)
        twins.both(lambda t, a=args, s=said: t.asks("correct_card", **s, **a))  # type: ignore[misc]
    assert not twins.parted
    assert twins.compared == before + 32


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way["faces"])
def test_no_exchange_says_whether_a_shoe_that_judges_objects_to_an_early_card(
    way: dict[str, Any], reported: bool
) -> None:
    """Player has 9 at one table, and no card is due; at the other Player has 2, and draws."""
    twins = Twins(**kind_of("angel_eye"), **way)
    twins.both(TableHarness.open_round)
    for unlike in (("9C", "2C"), ("TS", "TH"), ("KD", "KC"), ("7D", "3D")):
        twins.draws(unlike)
    twins.draws_early(("4S", "4S"), reported=reported)
    assert [t.now.early[0].named_slot for t in (twins.one, twins.other)] == [
        ("set_aside", None),
        ("player", 3),
    ]
    said = {"reason": "camera 4", "consented_by": "lee"}
    twins.both(lambda t: t.does("declare", key="wrong_order", reason="mixed up"))
    for places in itertools.permutations(("drawn early", "player 1", "banker 2"), 2):
        args = {"choice": "exchange", **dict(zip(("one", "other"), places, strict=True))}
        twins.previews("decide", args)
        twins.both(lambda t, a=args: t.asks("decide", **said, **a))  # type: ignore[misc]
    twins.both(lambda t: t.does("decide", choice="reconstruct", reason="in order"))
    assert not twins.parted


@examples(120)
@given(st.data())
def test_what_lies_face_down_makes_no_difference_to_anyone(data: st.DataObject) -> None:
    plays(data, 30)


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=40)
@tries(max_examples=600)
@given(st.data())
def test_it_makes_none_for_longer(data: st.DataObject) -> None:
    plays(data, 45)


@pytest.mark.soak
def test_it_makes_none_for_as_long_as_there_is_time(seed: int) -> None:
    until = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60")) / 4
    while time.monotonic() < until:
        seed += 1
        many = tries(max_examples=500)(given(st.data())(lambda data: plays(data, 60)))
        hypothesis.seed(seed)(many)()
