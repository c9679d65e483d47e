"""Anything in any order: no exception, no guess, no card twice, and the same again in replay."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import card
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CardPushedBack,
    CardsDrawn,
    CuttingCard,
    Error,
    ErrorCleared,
    Gap,
    Redesignated,
    Result,
    ShoeEvent,
    Started,
    Status,
)
from shoe_ctl.table import inputs, state
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.inputs import Input, TableCommand, Tick
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.positions import APART
from shoe_ctl.table.preview import preview
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_testing.examples import examples
from shoe_testing.generators import corrections, declarations, retractions
from shoe_testing.invariants import RoundWatch
from shoe_testing.places import Place, places
from shoe_testing.staff import at, follow, plays_out
from shoe_testing.table_corpus import CHOSEN_WITH, DECLARED_WITH, WAYS, goes_on
from shoe_testing.table_situations import told_in_public
from shoe_testing.tables import SHIFT, TableHarness, balanced
from simulators.shoe.judge import Judge

CHOICES = sorted({c.name for p in PROCEDURES.values() for s in p.steps for c in s.choices})
FACES = ("9C", "2D", "KD", "3H", "7S", "8H", "4f")

faces = st.sampled_from([*FACES, None]).map(lambda code: None if code is None else card(code))
hands = st.sampled_from(["player", "banker", "burn", "first_card", "burn_count", None])
events: st.SearchStrategy[ShoeEvent] = st.one_of(
    st.builds(
        CardDrawn,
        card=faces,
        number=st.none() | st.integers(1, 12),
        hand=hands,
        index=st.none() | st.integers(1, 3),
        armed=st.sampled_from([None, True, False]),
        face_up=st.booleans(),
    ),
    st.builds(CardOutsideGame, card=faces, mode=st.sampled_from(["lock", "error"])),
    st.builds(
        CardsDrawn,
        cards=st.lists(faces, min_size=2, max_size=3).map(tuple),
        number=st.none() | st.integers(1, 12),
        order_known=st.booleans(),
    ),
    st.builds(CardPushedBack, card=faces, number=st.none() | st.integers(1, 12)),
    st.builds(Redesignated, card=faces, hand=st.just("player"), index=st.just(1)),
    st.builds(
        Result,
        winner=st.sampled_from(["player", "banker", "tie", "forced_quit"]),
        player_pair=st.booleans(),
        banker_pair=st.booleans(),
    ),
    st.builds(Error, code=st.sampled_from(["overdraw", "cannot_read", "reverse_run"])),
    st.builds(ErrorCleared, code=st.just("overdraw")),
    st.builds(Gap, first=st.just(1), last=st.just(2)),
    st.builds(Status, drawn=st.integers(0, 12), unacknowledged=st.just(0)),
    st.sampled_from([CuttingCard(), Started()]),
)
hellos = st.fixed_dictionaries(
    {},
    optional={
        "resumed": st.booleans(),
        "boot": st.sampled_from([7, 8]),
        "set_id": st.sampled_from(["set-1", "set-2", None]),
        "drawn": st.integers(0, 12),
        "decks": st.sampled_from([1, 2]),
    },
)
steps = st.one_of(
    st.tuples(st.just("goes_on"), st.integers(1, 8)),
    st.tuples(st.just("goes_on"), st.integers(1, 8)),  # often, so that rounds come to their end
    st.tuples(st.just("draw"), st.sampled_from(FACES)),
    st.tuples(st.just("says"), events),
    st.tuples(st.just("hello"), hellos),
    st.tuples(st.just("load"), st.sampled_from(["set-1", "set-2", "set-3"])),
    st.tuples(st.just("link"), st.sampled_from(["connect", "disconnect", "fails"])),
    st.tuples(st.just("restart"), st.sampled_from(["b1", "b2"])),
    st.tuples(
        st.just("enters"),
        st.tuples(
            st.sampled_from(["enter", "correct", "place"]),
            st.fixed_dictionaries(
                {},
                optional={
                    "card": st.sampled_from(FACES),
                    "hand": st.sampled_from(["player", "banker"]),
                    "index": st.integers(1, 3),
                },
            ),
        ),
    ),
    st.tuples(
        st.just("puts_right"),
        st.tuples(st.sampled_from(["correct_card", "declare", "retract"]), st.integers(0, 99)),
    ),
    st.tuples(
        st.just("by_hand"),
        st.tuples(
            st.sampled_from(["9C 3H", "2D KD", "2D KD 7S", "8H KD"]),
            st.sampled_from(["7S KD", "3H 4S", "KD 3C 6C"]),
            st.booleans(),
        ),
    ),
    st.tuples(st.just("later"), st.sampled_from([0, 500_000, 20_000_000])),
    st.tuples(
        st.just("asks"),
        st.tuples(
            st.sampled_from(sorted(COMMANDS)),
            st.sampled_from(["dealer", SHIFT, APART]),
            st.sampled_from([*CHOICES, "player", "banker", "tie", *sorted(PROCEDURES), *RECORDED]),
        ),
    ),
)
tables = st.fixed_dictionaries(
    {"angel_eye": st.booleans(), "way": st.sampled_from(WAYS), "decks": st.just(1)}
)


def take(table: TableHarness, step: tuple[str, object]) -> None:  # noqa: C901 - one case a step
    match step:
        case "goes_on", int(times):
            for _ in range(times):
                if spare_is_left(table):
                    goes_on(table)
        case "later", int(us):
            table.feed(Tick(t_us=table.t_us + us))
        case "asks", (str(command), str(position), word):
            given = said(str(command), str(word))
            table.asks(
                str(command), position=str(position), reason="r", consented_by="lee", **given
            )
        case "enters", (str(choice), dict(entered)):
            table.asks("decide", choice=choice, reason="r", consented_by="lee", **entered)
        case "puts_right", (str(command), int(number)):
            put_right(table, command, number)
        case "by_hand", (str(player), str(banker), bool(against)):
            said_by = {"reason": "r", "consented_by": "lee"}
            table.asks("revise_round", player=player, banker=banker, **said_by)
            table.asks(
                "enter_round", player=player, banker=banker, against_reading=against, **said_by
            )
        case "hello", dict(more):
            table.hello(**{"decks": 1, **more})
        case "load", str(set_id):
            table.load(set_id, decks=1)
        case "link", str(what):
            getattr(table, what)()
        case name, value:
            getattr(table, name)(value)


WAYS_TO_PUT_RIGHT = {
    "correct_card": corrections,
    "declare": declarations,
    "retract": retractions,
}


def put_right(table: TableHarness, command: str, number: int) -> bool:
    """Say one of what may be corrected, declared or taken back, and whether the table took it.

    People look at it beforehand.
    """
    ways = list(WAYS_TO_PUT_RIGHT[command](at(table)))
    if not ways:
        return False
    now = table.now
    args = {"position": SHIFT, **ways[number % len(ways)]}
    position = args.pop("position")
    asked = TableCommand(
        t_us=table.t_us, command_id="p", command=command, args=args, person="kim", position=position
    )
    foretold = preview(table.controller, now, asked).answer
    assert table.now is now
    given = table.asks(command, position=position, reason="r", consented_by="lee", **args)
    assert foretold.accepted is given.accepted, (foretold.error, given.error)
    return given.accepted


def said(command: str, word: str) -> dict[str, object]:
    """A command's arguments, with this word where it takes one."""
    bet = {"player": "ann", "seat": 3, "wager": word}
    match command:
        case "place_wager" | "increase_wager" | "decrease_wager":
            return {**bet, "amount": 100}
        case "withdraw_wager":
            return bet
        case "decide" if word in ("withdraw_all", "stand"):
            return {"choice": word, "player": "ann"}
        case "decide":
            return {"choice": word, **CHOSEN_WITH.get(word, {})}
        case "declare":
            return {"key": word, **DECLARED_WITH.get(word, {})}
        case _:
            return {"hand": word}


def spare_is_left(table: TableHarness) -> bool:
    shoe = table.now.shoe
    return shoe is None or len(shoe.counts) < 52


def started(given: dict[str, object], at: state.TableState | None = None) -> TableHarness:
    way = given["way"]
    assert isinstance(way, dict)
    return TableHarness(angel_eye=bool(given["angel_eye"]), decks=1, state=at, **way)


@examples(250)
@given(tables, st.lists(steps, min_size=5, max_size=60), st.data())
def test_any_inputs_in_any_order(
    given_table: dict[str, object], order: list[tuple[str, object]], data: st.DataObject
) -> None:
    table = started(given_table)
    watch = RoundWatch(table)
    table.step = watch.look
    table.connect()
    if not table.angel_eye:
        table.hello(resumed=False, decks=1)
        table.load(decks=1)
    saved: list[tuple[int, bytes]] = [(0, state.to_bytes(state.TableState()))]
    for step in order:
        take(table, step)
        saved.append((len(table.inputs), state.to_bytes(table.now)))
    recorded = [inputs.to_bytes(happened) for happened in table.inputs]
    effects = replayed(started(given_table), recorded)
    assert effects == [told_in_public(e) for e in table.effects]
    fed, snapshot = data.draw(st.sampled_from(saved), label="restored from")
    again = started(given_table, state.from_bytes(snapshot))
    rest = replayed(again, recorded[fed:])
    assert rest == effects[len(effects) - len(rest) :]
    assert again.now == table.now


def replayed(table: TableHarness, recorded: list[bytes]) -> list[bytes]:
    for body in recorded:
        happened: Input = inputs.from_bytes(body)
        assert inputs.to_bytes(happened) == body
        table.feed(happened)
    return [told_in_public(e) for e in table.effects]


@examples(120)
@given(tables, st.lists(steps, max_size=40))
def test_whatever_happened_a_willing_staff_comes_to_an_outcome(
    given_table: dict[str, object], order: list[tuple[str, object]]
) -> None:
    table = started(given_table)
    table.connect()
    for step in order:
        take(table, step)
    rounds = table.now.rounds
    for _ in range(60):
        outcomes = table.told("round.outcome")
        if outcomes and int(outcomes[-1]["round_id"].rpartition("-r")[2]) > rounds:
            return
        if table.now.state in ("idle", "betting", "closed") and not spare_is_left(table):
            return
        goes_on(table)
    raise AssertionError(f"no way out of {table.now}")


SAID = st.tuples(
    st.sampled_from(["correct_card", "declare", "retract", "goes_on"]), st.integers(0, 99)
)


def test_whatever_people_put_right_in_any_order_the_round_ends_as_its_cards_say() -> None:
    """From anywhere in a round, in every game, method and shoe."""
    start = [place for place in places() if place.now.round is not None]
    taken: Counter[str] = Counter()

    @examples(200)
    @given(st.sampled_from(start), st.lists(SAID, min_size=6, max_size=16))
    def say(place: Place, order: list[tuple[str, int]]) -> None:
        table = place.table()
        for what, number in order:
            if what == "goes_on" and table.now.round is not None:
                follow(table)
            elif what != "goes_on":
                taken[what] += put_right(table, what, number)
        plays_out(table)
        assert balanced(table.now)
        assert_judged(table)

    say()
    assert taken["correct_card"] > 50
    assert taken["retract"] > 20


def assert_judged(table: TableHarness) -> None:
    """The outcome that was announced last, or revised to, is that of its cards."""
    ended = [*table.told("round.outcome"), *table.told("round.revised")]
    for told in ended:
        judge, left = Judge(), {hand: list(told[hand]["cards"]) for hand in ("player", "banker")}
        while (due := judge.next_place()) is not None:
            judge.place(card(left[due[0]].pop(0)))
        verdict = judge.verdict()
        assert left == {"player": [], "banker": []}
        assert told["winner"] == verdict.winner
        totals = (told["player"]["total"], told["banker"]["total"])
        assert totals == (verdict.player_total, verdict.banker_total)
