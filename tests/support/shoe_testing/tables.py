"""A table to play at: a controller, its clock, and everything it was told and said.

In: the game, method, wagers and limits. Out: the table there, its events, its refusals.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from firmware_proto.cards import Card, card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn, Hello, Result, ShoeEvent, ShoeLoaded
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.games.table_of_play import next_hand, total
from shoe_ctl.records import Audience
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, Effect, TableEvent
from shoe_ctl.table.inputs import (
    Fault,
    Input,
    LinkLost,
    LinkUp,
    Restarted,
    ShoeSaid,
    TableCommand,
    Tick,
)
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.state import TableState
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_ctl.texts import catalogue
from shoe_testing.event_check import OwnData, check_event

DEVICE = "SH-0042"
SHIFT = "gaming_shift_manager"

# Each branch of the draws, in dealing order: P B P B, then third cards as due.
ROUNDS = {
    "Player natural": "9C 2D KD 3H",
    "Banker natural": "2D 8C TS TH",
    "both stand": "7D 7C TS TH",
    "Player draws, Banker stands on 7": "2D 7C TS TH 4C",
    "Player draws an 8, Banker stands on 3": "2D 3C TS TH 8C",
    "both draw": "2D 3C TS TH 4C 5D",
    "Banker draws alone": "7D 5C TS TH 2C",
    "Banker draws on 6 against a 6": "2D 6C TS TH 6H AC",
}
SLOTS = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2))


@functools.cache
def game(name: str = "tiger") -> Game:
    return catalog.load(name)


@functools.cache
def _controller(name: str, settings: TableSettings) -> TableController:
    """Building the machine is the dear part, and all that a controller keeps is its state."""
    return TableController(game(name), settings)


def restarted(t_us: int, host_boot: str, *, reopened: bool = False) -> Restarted:
    """A start of the controller at this time."""
    return Restarted(
        t_us=t_us, host_boot=host_boot, profile="reference", software="0.2.0", reopened=reopened
    )


def settings(**given: Any) -> TableSettings:
    return TableSettings(**{"table": "bac-07", "decks": 8, **given})


def cards(codes: str) -> list[Card]:
    return [card(code) for code in codes.split()]


class EnglishEvents(NamedTuple):
    """A command's answer as people read it; ``answer`` is what the table gave."""

    accepted: bool
    error: str | None
    needs: dict[str, str]
    halted: str | None
    asks: str | None
    text: str | None
    answer: Answer

    @classmethod
    def of(cls, answer: Answer) -> EnglishEvents:
        said = (answer.error, answer.message)
        error, text = (None if one is None else catalogue.text(one) for one in said)
        return cls(answer.accepted, error, answer.needs, answer.halted, answer.asks, text, answer)

    @property
    def command_id(self) -> str:
        return self.answer.command_id


class TableHarness:
    """One table. ``events`` are all it told, ``desires`` each change of the shoe's state."""

    def __init__(
        self, *, angel_eye: bool = False, bee_tek: bool = False, name: str = "tiger",
        state: TableState | None = None, **given: Any,
    ) -> None:  # fmt: skip
        self.angel_eye = angel_eye
        self.bee_tek = bee_tek
        self.profile = "angel_eye" if angel_eye else "bee_tek" if bee_tek else "reference"
        self.settings = settings(**given)
        self.game = game(name)
        self.controller = _controller(name, self.settings)
        self._state = TableState() if state is None else state
        self.inputs: list[Input] = []
        self.effects: list[Effect] = []
        self.events: list[TableEvent] = []
        self.desires: list[Armed | Locked] = []
        self.step: Callable[[], None] = lambda: None

    @property
    def now(self) -> Any:
        """The TableState; Any, or a checker takes what one assert found for what stays so."""
        return self._state

    @property
    def desired(self) -> Any:
        return self._state_of().desired

    def _state_of(self) -> TableController:
        self.controller.state = self._state
        return self.controller

    # What happens.

    def feed(self, happened: Input) -> list[Effect]:
        controller = self._state_of()
        effects = controller.handle(happened)
        self._state = controller.state
        self.inputs.append(happened)
        self.effects += effects
        emitted = [e for e in effects if isinstance(e, TableEvent)]
        for event in emitted:
            check_event(event)
        self.events += emitted
        self.desires += [e for e in effects if isinstance(e, Armed | Locked)]
        self.step()
        return effects

    @property
    def t_us(self) -> int:
        return int(self.now.t_us) + 1000

    def says(
        self, event: ShoeEvent, *, t_us: int | None = None, device_us: int | None = None
    ) -> list[Effect]:
        at = self.t_us if t_us is None else t_us
        return self.feed(ShoeSaid(t_us=at, event=event, device_us=device_us))

    def asks(self, command: str, *, position: str = SHIFT, **more: Any) -> EnglishEvents:
        envelope = {
            key: more.pop(key)
            for key in ("command_id", "round_id", "reason", "consented_by", "older")
            if key in more
        }
        asked = TableCommand(
            t_us=self.t_us,
            command=command,
            args=more,
            person="kim",
            position=position,
            **{"command_id": f"c{self.now.inputs}", **envelope},
        )
        (answer,) = (e for e in self.feed(asked) if isinstance(e, Answer))
        return EnglishEvents.of(answer)

    def does(self, command: str, **more: Any) -> None:
        answer = self.asks(command, **more)
        assert answer.accepted, answer

    def rules(self, ruling: str) -> None:
        self.does("decide", choice=ruling, reason="as it lies")

    def refers(self, ruling: str) -> None:
        """After a loss of power with nothing decided: whoever decides rules on it (6.1)."""
        self.does("decide", choice="refer", position="dealer", reason="no rule helps")
        self.rules(ruling)

    def looks(self) -> None:
        """The room sees what lies open."""
        while self.settings.faces == "face_up" and any(
            not d.revealed and d.card is not None for d in self.now.round.cards
        ):
            self.tick()

    def concludes(self) -> None:
        """After a loss of power: nobody withdraws, where they may, and play goes on by rule."""
        self.looks()
        if self.now.halt.current.step == "take_back":
            self.does("decide", choice="take_hands_back", position="dealer")
        if self.now.halt.current.data["end"] == "withdrawal":
            self.does("decide", choice="offer_withdrawal", position="dealer")
            self.does("decide", choice="close_window", position="dealer")
        self.does("decide", choice="play_on", position="dealer")

    def tick(self) -> list[Effect]:
        """The time that the table asked to be woken at comes."""
        assert self.now.wake_us is not None
        return self.feed(Tick(t_us=max(self.now.wake_us, self.now.t_us)))

    def connect(self, **more: Any) -> list[Effect]:
        return self.feed(
            LinkUp(
                t_us=self.t_us,
                connection=1,
                profile=self.profile,
                arm=self.profile == "reference",
                replay=self.profile == "reference",
                judges=self.angel_eye,
                names_hands=self.angel_eye,
                **more,
            )
        )

    def disconnect(self) -> list[Effect]:
        return self.feed(LinkLost(t_us=self.t_us, connection=1, reason="unplugged"))

    def restart(self, host_boot: str = "b1", *, reopened: bool = False) -> list[Effect]:
        return self.feed(
            restarted(
                self.t_us,
                host_boot=host_boot,
                reopened=reopened,
            )
        )

    def fails(self) -> list[Effect]:
        return self.feed(Fault(t_us=self.t_us, where="ShoeSaid", what="KeyError: 8S"))

    def hello(self, *, resumed: bool = True, boot: int = 7, **more: Any) -> list[Effect]:
        shoe = self.now.shoe
        known = {} if shoe is None else {"set_id": shoe.set_id, "drawn": shoe.drawn}
        fields = {"device_id": DEVICE, "deck": "french52", "decks": 8, **known, **more}
        return self.says(Hello(firmware="1", boot_id=boot, resumed=resumed, **fields))

    def load(self, set_id: str = "set-1", decks: int | None = 8) -> list[Effect]:
        return self.says(ShoeLoaded(set_id=set_id, decks=decks))

    def open_shoe(self) -> TableHarness:
        """A shoe at the table, ready for the first round."""
        self.connect()
        if self.bee_tek:
            self.does("align")
        elif not self.angel_eye:
            deck = self.game.deck.name
            self.hello(resumed=False, deck=deck, decks=self.settings.decks)
            self.load(decks=self.settings.decks)
        return self

    # Cards.

    def draw(self, code: str | None, **more: Any) -> list[Effect]:
        """The card that the table waits for, or the next one, as such a shoe tells of it."""
        face = None if code is None else card(code)
        named: dict[str, Any] = {}
        if self.angel_eye:
            hand, index = self.slot
            named = {"hand": hand, "index": index}
        elif self.bee_tek:
            pass  # it says that a card was drawn, and no more
        else:
            number = 1 if self.now.shoe is None else self.now.shoe.drawn + 1
            named = {"number": number, "armed": isinstance(self.desired, Armed)}
        return self.says(CardDrawn(card=face, **{**named, **more}))

    @property
    def slot(self) -> tuple[str, int]:
        """Where a shoe that reads all cards would say that the next one belongs."""
        dealt = () if self.now.round is None else self.now.round.cards
        if len(dealt) < 4:
            return SLOTS[len(dealt or self.now.opening)]
        assert self.now.round is not None
        if any(d.card is None for d in dealt):
            return ("player", 3)  # without that card nobody can say whose is due
        hand = next_hand(self.now.round.hand("player"), self.now.round.hand("banker"))
        return ("player", 1) if hand is None else (hand, 3)

    def judges(self, winner: str | None = None, **more: bool) -> list[Effect]:
        """The shoe's own result: what its cards give, but for what is said here."""
        assert self.now.round is not None
        hands = [self.now.round.hand(h) for h in ("player", "banker")]
        ours, theirs = map(total, hands)
        right = "tie" if ours == theirs else "player" if ours > theirs else "banker"
        pairs = {
            f"{name}_pair": hand[0].rank is hand[1].rank
            for name, hand in zip(("player", "banker"), hands, strict=True)
        }
        return self.says(Result(winner=winner or right, **{**pairs, **more}))

    def open_round(self) -> None:
        if self.bee_tek and self.now.state == "idle" and not self.now.link.aligned:
            self.does("align")
        if not self.settings.implied:
            self.does("place_your_bets")
            self.does("no_more_bets")

    def turn_over(self) -> None:
        """Whatever it takes until the room has seen every card on the table."""
        if self.settings.faces == "face_up":
            while self.now.round is not None and not self.now.round.all_revealed:
                self.tick()
            return
        for hand in ("player", "banker"):
            if self.now.round is not None and any(
                d.hand == hand and not d.revealed for d in self.now.round.cards
            ):
                self.does("expose", hand=hand)

    def deal(self, codes: str) -> None:
        """Cards into a round, each turned over when it must be for the next one to be due."""
        for code in codes.split():
            if self.now.state == "revealing":
                self.turn_over()
                if not self.settings.implied and not self.now.round.totals_announced:
                    self.does("announce_totals")
            self.draw(code)

    def finish(self) -> None:
        """What follows the last card."""
        if self.angel_eye and self.now.round is not None:
            self.judges()
        if self.now.state in ("revealing", "drawing"):
            self.turn_over()
        if not self.settings.implied:
            if self.now.round is not None and not self.now.round.totals_announced:
                self.does("announce_totals")
            self.does("announce_outcome")
            self.does("settle")

    def play(self, codes: str) -> None:
        """A whole round."""
        self.open_round()
        self.deal(codes)
        self.finish()

    # What was told.

    def told(self, kind: str, audience: Audience = Audience.PUBLIC) -> list[dict[str, Any]]:
        return [OwnData(e.data) for e in self.events if e.type == kind and e.audience is audience]

    @property
    def public(self) -> list[TableEvent]:
        return [e for e in self.events if e.audience is Audience.PUBLIC]

    @property
    def kinds(self) -> list[str]:
        return [e.type for e in self.public]

    @property
    def key(self) -> Any:
        return None if self.now.halt is None else self.now.halt.current.key


def balanced(now: TableState) -> bool:
    """The ledger accounts for every card drawn."""
    shoe = now.shoe
    if shoe is None:
        return True
    out = sum(shoe.counts.values()) + shoe.unknown
    return shoe.unknown >= 0 and shoe.drawn + shoe.uncounted == out + shoe.returned


PIT_PEOPLE = {"supervisor": "pit_supervisor", "manager": "pit_manager"}
CASINO = "assistant_casino_manager"
HLGA: dict[str, Any] = {"method": "C", "area": "Paiza Club"}
BOTH_DRAW = "2D 3C TS TH"
STAND = "7D 7C TS TH"
BANKER_WINS = "2D 8C TS TH"
PLAYER_WINS = "9C 2D KD 3H"
TIED = "9C 9D KD KH"

Stake = tuple[str, int, str, int]


def method_table(method: str = "A", **given: Any) -> TableHarness:
    area = {"area": "Paiza Club"} if method == "C" else {}
    return TableHarness(**{"method": method, **area, **given}).open_shoe()


def staked_table(*stakes: Stake, method: str = "A", **given: Any) -> TableHarness:
    table = method_table(method, **given)
    place_bets(table, *stakes)
    return table


def place_bets(table: TableHarness, *stakes: Stake) -> None:
    """*Place your bets*, and these: who, at which seat, on what, how much."""
    table.does("place_your_bets")
    for player, seat, wager, amount in stakes:
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)


def dealt_table(
    *stakes: Stake, method: str = "A", codes: str = BOTH_DRAW, **given: Any
) -> TableHarness:
    """The initial deal lies face down."""
    table = staked_table(*stakes, method=method, **given)
    table.does("no_more_bets")
    for code in codes.split():
        table.draw(code)
    return table


def exposed_table(*stakes: Stake, **given: Any) -> TableHarness:
    """As ``dealt``, with both hands passed where they are due to somebody, and exposed."""
    table = dealt_table(*stakes, **given)
    for hand in ("player", "banker"):
        table.asks("pass_cards", hand=hand)
        table.does("expose", hand=hand)
    return table


def refusal_of(table: TableHarness, command: str, **more: Any) -> str:
    """Why the command is refused; nothing is changed by it, and the room hears nothing."""
    public = len(table.public)
    before = table.now
    answer = table.asks(command, **more)
    assert not answer.accepted, answer
    assert len(table.public) == public
    for part in ("state", "round", "control", "method", "wagers"):
        assert getattr(table.now, part) == getattr(before, part)
    assert answer.error is not None
    return answer.error


def restricted_data(table: TableHarness, kind: str) -> list[dict[str, Any]]:
    """What the restricted stream was told."""
    return [
        OwnData(e.data if e.restricted_data is None else e.restricted_data)
        for e in table.events
        if e.type == kind
    ]


IMPLIED: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}


def wager_table(limits: dict[str, Any] | None = None, **given: Any) -> TableHarness:
    given["limits"] = msgspec.convert(limits or {}, TableLimits)
    return TableHarness(**given).open_shoe()


def betting_table(limits: dict[str, Any] | None = None, **given: Any) -> TableHarness:
    table = wager_table(limits, **given)
    table.does("place_your_bets")
    return table


def place_bet(table: TableHarness, wager: str = "player", amount: int = 500, **more: Any) -> None:
    table.does("place_wager", **{"player": "ann", "seat": 3, **more}, wager=wager, amount=amount)
