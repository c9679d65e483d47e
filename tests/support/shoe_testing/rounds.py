"""Expected results: rounds as dealt against rounds as told, paid by hand, and of tiny decks.

In: the simulator's own list, the rule documents. Out: outcomes, payments, every round there is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from firmware_proto.cards import FRENCH52, Card, Deck, card
from shoe_ctl.games import catalog
from shoe_ctl.games.conditions import CORE, Condition, Features, Value, features, initial_values
from shoe_ctl.games.game import DeckRange, Game
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.games.wagers import PayLine, Wager, WagerResult

TIE = "player push, banker push, tie 8"

PAID: dict[str, list[tuple[str, str]]] = {
    "immortal_dragon_tiger": [
        ("5S 2H KH 3D 4C 7H", "player 1"),
        # Player 7 against 8 or 9: Player pushes, and it is no tie.
        ("7D 9C TS TH", "player push, banker 19/20, immortal_dragon 25"),
        ("7D 8C TS TH", "player push, banker 19/20, immortal_dragon 25"),
        # Against a Banker 8 of three cards, too; and with Player's 7 of three.
        ("7D 2C TS 3H 3D", "player push, banker 19/20, immortal_dragon 25"),
        ("2D TC AS 3H 4D 5S", "player push, banker 19/20, immortal_dragon 25"),
        ("7D 7C TS TH", TIE),
        ("7D 6C TS TH", "player 1/2, dragon_tiger 30, small_dragon 15"),
        ("2D 6C KS TH 5H", "player 1/2, dragon_tiger 40, big_dragon 30"),
        ("7D 2C TS 3H AD", "player 1/2, dragon_tiger 40, small_dragon 15"),
        ("2D TC AS 3H 4D 3S", "player 1/2, dragon_tiger 100, big_dragon 30"),
        ("2D TC 2S 3H AD 3S", "banker 19/20, big_tiger 50, player_pair 11"),
        ("2D 6C KS TH AH", "banker 19/20, small_tiger 22"),
        ("6D 6C TS TH", f"{TIE}, tiger_tie 35"),
        ("9D 4C TS 4H", "player 1, banker_pair 11"),
        # Ten and King count the same and are no pair, nor are King and Queen.
        ("TD 9C KS KH", "banker 19/20"),
        ("KD 9C QS TH", "banker 19/20"),
        # A pair of each: two Tens are one.
        ("TD 9C TS 9H", "banker 19/20, player_pair 11, banker_pair 11"),
    ],
    "dragon_tiger_no_commission": [
        ("5S 2H KH 3D 4C 7H", "player 1"),
        ("7D 9C TS TH", "banker 1"),
        ("7D 6C TS TH", "player 1, dragon_tiger 30, small_dragon 15"),
        ("2D 6C KS TH 5H", "player 1, dragon_tiger 40, big_dragon 30"),
        ("7D 2C TS 3H AD", "player 1, dragon_tiger 40, small_dragon 15"),
        ("2D TC AS 3H 4D 3S", "player 1, dragon_tiger 100, big_dragon 30"),
        # Any winning six pays half, of two cards or three.
        ("2D TC 2S 3H AD 3S", "banker 1/2, big_tiger 50"),
        ("2D 6C KS TH AH", "banker 1/2, small_tiger 22"),
        ("6D 6C TS TH", TIE),
    ],
    "tiger": [
        ("5S 2H KH 3D 4C 7H", "player 1"),
        ("7D 9C TS TH", "banker 19/20"),
        ("2D 6C KS TH AH", "banker 19/20, tiger 12, small_tiger 22"),
        # Two Tens against two Kings are Double, not Twin.
        ("TS KH TD KC 5D 6C", "banker 19/20, tiger 20, big_tiger 50, tiger_pair 20"),
        ("9S 9H 9D 9C", f"{TIE}, tiger_pair 100"),
        ("KS KH KD KC 5D 2C", "player 1, tiger_pair 100"),
        ("9S 2H 9D 7C", "banker 19/20, tiger_pair 4"),
        ("2S 9H 7D 9C", "player 1, tiger_pair 4"),
        ("TS 2H KD 7C", "banker 19/20"),
        ("6D 6C TS TH", f"{TIE}, tiger_tie 35"),
    ],
    "dragon_bonus_royal": [
        ("2D TC 3S KH 4D TS", "player 1, player_dragon_bonus 30"),
        ("2D TC 3S KH 4D AS", "player 1, player_dragon_bonus 10"),
        ("2D TC 3S KH 4D 2S", "player 1, player_dragon_bonus 6"),
        ("2D TC 3S KH 4D 3S", "player 1, player_dragon_bonus 4"),
        ("2D TC 3S KH 4D 4S", "player 1, player_dragon_bonus 2"),
        ("2D TC 3S KH 4D 5S", "player 1, player_dragon_bonus 1"),
        ("2D TC 3S KH 4D 6S", "player 1"),
        ("TD QC JS KH TH 9S", "banker 19/20, banker_dragon_bonus 30"),
        ("TD QC JS KH AH 9S", "banker 19/20, banker_dragon_bonus 10"),
        ("TD QC JS KH 2H 9S", "banker 19/20, banker_dragon_bonus 6"),
        ("TD QC JS KH 3H 9S", "banker 19/20, banker_dragon_bonus 4"),
        ("TD QC JS KH 4H 9S", "banker 19/20, banker_dragon_bonus 2"),
        ("TD QC JS KH 5H 9S", "banker 19/20, banker_dragon_bonus 1"),
        ("TD QC JS KH 6H 9S", "banker 19/20"),
        # A natural win pays 1 to 1 at any margin.
        ("9D KC TS QH", "player 1, player_dragon_bonus 1"),
        ("9D 8C TS QH", "player 1, player_dragon_bonus 1"),
        ("KC 9D QH TS", "banker 19/20, banker_dragon_bonus 1"),
        # Equal naturals refund both bonuses; any other tie loses them.
        ("9D 9C TS TH", f"{TIE}, player_dragon_bonus push, banker_dragon_bonus push"),
        ("8D 8C TS TH", f"{TIE}, player_dragon_bonus push, banker_dragon_bonus push"),
        ("7D 7C TS TH", TIE),
        ("6D 6C TS TH", TIE),
        ("2D TC 2S 3H AD 3S", "banker 19/20, fortune_six 20, player_pair 11"),
        ("2D 6C KS TH AH", "banker 19/20, fortune_six 12"),
        ("9D 4C TS 4H", "player 1, player_dragon_bonus 1, banker_pair 11"),
        ("TD 9C KS KH", "banker 19/20, banker_dragon_bonus 1"),
    ],
    "fa_fa_fabulous_4": [
        ("Af Tg 2e 2w Aw Ta", "player 1/2, player_fabulous_4 50"),
        ("Tf Tg Se Lw Aw Ta", "player 2"),
        ("Tf Tg 9e 7w", "player 1"),
        ("Af Tg Te 2w 2f 2g", "banker push, banker_fabulous_4 25"),
        ("Tf Tg Se Lw Ta Aw", "banker 2"),
        ("Tf Tg 7e 9w", "banker 1"),
        # Eight against eight: 800 only when both are two Fours.
        (
            "4f 4w 4e 4a",
            "player push, banker push, tie 800, player_precious_pair 15, banker_precious_pair 15",
        ),
        (
            "4g 4g 4g 4g",
            "player push, banker push, tie 800, player_precious_pair 30, banker_precious_pair 30",
        ),
        ("4f 5g 4e 3w", f"{TIE}, player_precious_pair 15"),
        ("5g 4f 3w 4e", f"{TIE}, banker_precious_pair 15"),
        # Two Fours: 30 needs both Gold; one Gold or none is 15, of one element too.
        ("4g 9e 4g 8w", "player 1, player_precious_pair 30"),
        ("4g 9e 4f 8w", "player 1, player_precious_pair 15"),
        ("4e 9e 4e 8w", "player 1, player_precious_pair 15"),
        ("9e 4g 8w 4g", "banker 1, banker_precious_pair 30"),
        ("9e 4f 8w 4g", "banker 1, banker_precious_pair 15"),
        # Other pairs: 12 needs both Gold.
        ("Lg 9e Lg 8f 9f", "player 1, player_precious_pair 12"),
        ("Lf 9e Lf 8g 9f", "player 1, player_precious_pair 9"),
        ("Lg 9e Lf 8g 9f", "player 1, player_precious_pair 9"),
        ("9g 3e 9g 4e", "player 1, player_precious_pair 12"),
        ("Tg Lg 7e Lg 9f", "banker 1, banker_precious_pair 12"),
        ("Tg Lw 7e Lw 9f", "banker 1, banker_precious_pair 9"),
        # Shou and Lu both count zero and are no pair, Gold or not.
        ("Sg 9e Lg 8g 9f", "player 1"),
        # A tie on four or one: both Fabulous 4 lose.
        ("Tf Tg 4e 4w Ta", TIE),
        ("Tf Tg Se Lw Aw Aa", TIE),
    ],
}

PAIRS = ("player_pair", "banker_pair")


@dataclass(frozen=True, slots=True)
class Played:
    """One finished round: the cards of each hand in order, totals, winner."""

    player: tuple[str, ...]
    banker: tuple[str, ...]
    player_total: int
    banker_total: int
    winner: str


@dataclass(frozen=True, slots=True)
class Dealt:
    """A round as the simulator dealt and judged it, with the pairs that it saw."""

    played: Played
    player_pair: bool
    banker_pair: bool


def read_rounds(lines: Iterable[Mapping[str, Any]]) -> list[Dealt]:
    """The finished rounds of the truth's lines, each hand gathered from where the cards lay."""
    rounds: list[Dealt] = []
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    for line in lines:
        if line.get("place") in hands:
            hands[line["place"]].append(line["card"])
        if "round" in line:
            played = Played(
                player=tuple(hands["player"]),
                banker=tuple(hands["banker"]),
                player_total=line["player_total"],
                banker_total=line["banker_total"],
                winner=line["winner"],
            )
            rounds.append(Dealt(played, line["player_pair"], line["banker_pair"]))
        if "round" in line or "broken_off" in line:
            hands = {"player": [], "banker": []}
    return rounds


def told_outcomes(outcome: Mapping[str, Any]) -> Played:
    """An outcome's data in the same form."""
    return Played(
        player=tuple(outcome["player"]["cards"]),
        banker=tuple(outcome["banker"]["cards"]),
        player_total=outcome["player"]["total"],
        banker_total=outcome["banker"]["total"],
        winner=outcome["winner"],
    )


def agrees(outcome: Mapping[str, Any], truth: Dealt) -> None:
    """Holds an outcome to the dealt round: cards, totals, winner, Natural, and what they decide."""
    assert told_outcomes(outcome) == truth.played
    for hand in ("player", "banker"):
        stood = len(outcome[hand]["cards"]) == 2
        assert outcome[hand]["natural"] is (stood and outcome[hand]["total"] >= 8)
    wagers = outcome["wagers"]
    winner = truth.played.winner
    assert (wagers["tie"]["result"] == "win") is (winner == "tie")
    for side in ("player", "banker"):  # games have pushes of their own, tested where they are read
        never = {"tie": {"win", "lose"}, side: {"lose"}}.get(winner, {"win"})
        assert wagers[side]["result"] not in never
    for pair in PAIRS:
        if pair in wagers:
            paired = getattr(truth, pair)
            assert wagers[pair]["result"] == ("win" if paired else "lose")


def all_agree(outcomes: Iterable[Mapping[str, Any]], truth: list[Dealt]) -> None:
    """Holds every outcome to its round, none missing and none too many."""
    outcomes = list(outcomes)
    for outcome, dealt_round in zip(outcomes, truth, strict=False):
        agrees(outcome, dealt_round)
    assert len(outcomes) == len(truth), (len(outcomes), len(truth))


def lines_of(file: Path) -> list[dict[str, Any]]:
    """A file of JSON lines; a last line that is still being written is left out."""
    text = file.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def once_each(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a receiver takes a stream that may say things twice: each id applied once.

    The ids are contiguous from 1, and what is said again is the same.
    """
    applied: dict[str, dict[str, Any]] = {}
    for event in events:
        assert applied.setdefault(event["id"], event) == event
    numbers = [int(i.rpartition("/")[2][1:]) for i in applied]
    assert numbers == list(range(1, len(numbers) + 1))
    return list(applied.values())


def of_type(events: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The data of the events of this type."""
    return [event["data"] for event in events if event["type"] == kind]


def counts(codes: Iterable[str]) -> dict[str, int]:
    """How many of each card."""
    return dict(Counter(codes))


TINY = [("A3T", "SH", 2), ("4TJ", "SH", 2), ("27T", "SH", 1), ("2368TJ", "S", 1), ("4J", "SHD", 2)]
"""Ranks, suits, decks."""


class TinyRound(NamedTuple):
    """A finished round: its cards in dealing order, what is seen of it, its number of orders."""

    cards: tuple[Card, ...]
    seen: Features
    orders: int


def tiny_deck(ranks: str, suits: str) -> Deck:
    cards = tuple(card(rank + suit) for suit in suits for rank in ranks)
    return Deck(
        FRENCH52.name,
        tuple(r for r in FRENCH52.ranks if r.value in ranks),
        tuple(s for s in FRENCH52.cards[0].suit.__class__ if s.value in suits),  # type: ignore[arg-type]
        cards,
    )


def tiny_game(tiny: Deck, wagers: Mapping[str, Wager]) -> Game:
    """Any shipped game, with another deck and other wagers."""
    return replace(
        catalog.load("tiger"),
        deck=tiny,
        decks=DeckRange(1, 10, 8),
        wagers=wagers,
    )


@cache
def every_round(ranks: str, suits: str, decks: int) -> tuple[TinyRound, ...]:
    """Every round of a full shoe; ``orders`` count its first six cards, dealt or not.

    Rounds in which the same is seen share one ``seen``.
    """
    left = dict.fromkeys(tiny_deck(ranks, suits).cards, decks)
    same: dict[object, Features] = {}
    return tuple(
        dealt._replace(seen=same.setdefault(tuple(dealt.seen.values()), dealt.seen))
        for dealt in _deal((), (), (), left, 1)
    )


@cache
def orders_by_sight(ranks: str, suits: str, decks: int) -> list[tuple[Features, int]]:
    """All that can be seen of a round, with its number of orders."""
    rounds = every_round(ranks, suits, decks)
    orders: Counter[int] = Counter()
    for dealt in rounds:
        orders[id(dealt.seen)] += dealt.orders
    seen = {id(dealt.seen): dealt.seen for dealt in rounds}
    return [(sight, orders[key]) for key, sight in seen.items()]


def _deal(
    dealt: tuple[Card, ...],
    player: tuple[Card, ...],
    banker: tuple[Card, ...],
    left: dict[Card, int],
    orders: int,
) -> Iterator[TinyRound]:
    due = next_hand(player, banker)
    if due is None:
        for undealt in range(len(dealt), 6):
            orders *= sum(left.values()) + len(dealt) - undealt
        yield TinyRound(dealt, features(player, banker), orders)
        return
    for one, copies in left.items():
        if copies:
            hands = ((*player, one), banker) if due == "player" else (player, (*banker, one))
            yield from _deal((*dealt, one), *hands, {**left, one: copies - 1}, orders * copies)


@st.composite
def tiny_wager(draw: st.DrawFn) -> Wager:
    """A wager of up to three pay lines over any features, named twice or thrice or not at all."""
    rows = draw(
        st.lists(
            st.tuples(tiny_condition(), st.none() | tiny_condition(), tiny_result()), max_size=3
        )
    )
    lines = tuple(
        PayLine(when, () if unless is None else (unless,), done) for when, unless, done in rows
    )
    return Wager("any", "Any", None, lines, WagerResult("lose"))


@st.composite
def tiny_condition(draw: st.DrawFn) -> Condition:
    known: dict[str, tuple[Value, ...]] = {**CORE, **initial_values(FRENCH52)}
    names = draw(st.lists(st.sampled_from(sorted(known)), max_size=3, unique=True))
    return Condition(
        tuple(
            (name, draw(st.frozensets(st.sampled_from(known[name]), min_size=1))) for name in names
        )
    )


def tiny_result() -> st.SearchStrategy[WagerResult]:
    paid = [WagerResult("win", Fraction(*odds)) for odds in ((1, 1), (19, 20), (35, 1))]
    return st.sampled_from([*paid, WagerResult("push")])
