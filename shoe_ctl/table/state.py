"""Everything the table remembers between inputs, as one frozen value.

In: nothing. Out: TableState and its parts, their JSON bytes.
Must not know: how it changes, who asks, clocks.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.records import key_difference
from shoe_ctl.texts.message import Message, message

from .effects import Answer
from .wagers.types import Scope, Wagers

Command = Literal["reset", "self_test", "query", "clear_error", "rotate_key", "show"]
"""What a shoe is told once and answers; ``Capabilities.obeys`` says which shoes have which."""


class PendingCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command on its way to the shoe. ``number`` is its id on the wire, 1 to 2**32 - 1.

    ``of`` is what is asked, an overdrawn card's fate (``keep``, ``discard``) or the new key's id.
    It is for this device alone, None where shoes do not name themselves. ``overdue``: that no
    answer came in time was told.
    """

    number: int
    command: Command
    of: str | int | None = None
    since_us: int
    device_id: str | None = None
    overdue: bool = False


class Outbox(msgspec.Struct, frozen=True, kw_only=True):
    """One errand of each command at most, oldest first; ``count`` are all there ever were.

    ``last`` is the last answer as the room was told it.
    """

    count: int = 0
    waiting: tuple[PendingCommand, ...] = ()
    last: dict[str, Any] | None = None

    def find(self, number: int | None) -> PendingCommand | None:
        """The one with this id."""
        return next((e for e in self.waiting if e.number == number), None)

    def of(self, command: str) -> PendingCommand | None:
        """The one that is on its way with this command."""
        return next((e for e in self.waiting if e.command == command), None)


class Player(msgspec.Struct, frozen=True, kw_only=True):
    """A Player at the table, as far as known: by id, by seat, or both.

    ``designee`` is who handles the cards in the Player's place, where one was allowed.
    """

    id: str | None = None
    seat: int | None = None
    designee: str | None = None

    @property
    def named(self) -> Message:
        """The Player by seat; by id only where no seat is known."""
        if self.seat is None:
            return message("player_by_id", player=self.id)
        return message("player_by_seat", seat=self.seat)


class HandCustody(msgspec.Struct, frozen=True, kw_only=True):
    """One hand's cards in a round: who holds them face down, and who did not take them.

    ``refused`` are Players who did not take the hand, in order. ``holder`` None: the dealer has it.
    ``by_wagers``: the wagers named the holder, who has it no longer than they do.
    ``with_dealer``: it was a Player's, and the dealer exposes it to the end (5.10).
    """

    holder: Player | None = None
    refused: tuple[Player, ...] = ()
    by_wagers: bool = False
    with_dealer: bool = False


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """Both hands of a round; ``first`` is the one to be revealed first, once that is settled."""

    player: HandCustody = HandCustody()
    banker: HandCustody = HandCustody()
    first: str | None = None

    def of(self, hand: str) -> HandCustody:
        """The handling of this hand: ``player`` or ``banker``."""
        return self.player if hand == "player" else self.banker


class ShoeControl(msgspec.Struct, frozen=True, kw_only=True):
    """Who controls the shoe in Method C; ``holder`` None: the dealer.

    ``leaves`` are Players allowed to draw without a wager.
    """

    holder: Player | None = None
    leaves: tuple[Player, ...] = ()


class DealtCard(msgspec.Struct, frozen=True, kw_only=True):
    """One card of the round, in its slot. ``number`` counts draws from the set, from 1.

    Below 0 the shoe counts no draw for it: the cards of a round stand in the order they were laid.
    ``card`` is None while nobody could read it: then it is not revealed either. ``entered``: people
    said which card it is, not the shoe.
    """

    hand: str
    index: int
    card: Card | None
    number: int
    drawn_us: int
    revealed: bool = False
    entered: bool = False

    @property
    def seen(self) -> bool:
        """Whether the room has seen the card."""
        return self.revealed

    @property
    def place(self) -> str:
        """Where it lies, in words."""
        return f"{self.hand} {self.index}"

    @property
    def subject(self) -> str:
        """What tells an irregularity about this card from others of the same key."""
        return self.place


Role = Literal["held", "early", "opening", "pending", "ahead", "outside_game"]
"""Why a card lies on the table without a slot.

``held``: it came while the table was halted. ``early``: it was drawn early and its fate is open.
``opening``: it was ruled to open the next round. ``pending``: it was drawn for a slot as the table
halted, and takes it when play resumes. ``ahead``: it was drawn ahead for the open round and laid
aside (5.11.1). ``outside_game``: the shoe gave it while the table was halted and counts it to no
game; where the round is finished by hand it is one of its cards.
"""


class UnplacedCard(msgspec.Struct, frozen=True, kw_only=True):
    """A card that lies on the table without a slot, and why (``role``)."""

    card: Card | None
    """None while it is not known which card it is."""
    number: int | None
    """The number of its draw; None where no shoe was known."""
    named_slot: tuple[str, int | None] | None = None
    """The hand and index that the shoe named, or that it was drawn for."""
    role: Role = "held"
    seen: bool = False
    """The room has seen it: it may never open a round."""
    counted: bool = True
    """False where the ledger had this number before, or where the shoe only objected so far."""
    came_after: int = 0
    """How many irregularities had been raised when it came (``TableState.irregularities``)."""

    @property
    def place(self) -> str:
        """Where it lies, in words."""
        return "drawn early" if self.role == "early" else self.role.replace("_", " ")

    @property
    def subject(self) -> str:
        """What tells an irregularity about this card from others of the same key."""
        return subject_of_draw(self.number or 0)


def subject_of_draw(number: int) -> str:
    """The subject of an irregularity about the card of this draw."""
    return f"draw {number}"


CardOnTable = DealtCard | UnplacedCard
"""A card that lies on the table, in its slot or in none."""


class ShoeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The round as the shoe judged it."""

    winner: str
    player_pair: bool
    banker_pair: bool


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round of play, from *place your bets* to *settled*.

    ``due`` is the hand whose third card is due. ``first_input`` numbers the table's inputs;
    ``drawn_before`` cards were out of the shoe when it was opened.
    ``complete_us`` is when the last card was seen: the wait for the shoe's result starts there;
    ``result_overruled`` when a person ruled that the cards stand without it (6.3). ``manual``: it
    was finished by hand and entered afterwards. ``shoe_sorted``: the shoe's other cards lie sorted
    on the table.
    """

    id: str
    first_input: int
    drawn_before: int = 0
    cards: tuple[DealtCard, ...] = ()
    totals_announced: bool = False
    due: str | None = None
    result: ShoeResult | None = None
    complete_us: int | None = None
    result_overruled: bool = False
    manual: bool = False
    hands: Hands = Hands()
    shoe_sorted: bool = False

    def hand(self, name: str) -> tuple[Card, ...]:
        """The cards of this hand that are known, in order, revealed or not."""
        return tuple([d.card for d in self.cards if d.hand == name and d.card is not None])

    def face_down(self, hand: str | None, index: int | None = None) -> list[DealtCard]:
        """The cards of this hand that nobody has seen; with ``index`` only the one there."""
        return [
            d for d in self.cards if d.hand == hand and not d.revealed and index in (None, d.index)
        ]

    @property
    def all_revealed(self) -> bool:
        """Every card dealt so far has been seen by the table, and so every one is known."""
        for dealt in self.cards:  # noqa: SIM110 - asked for each card: a generator costs more
            if not dealt.revealed:
                return False
        return True


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Cards seen one after the other in a deck's factory order: the last of them, how many.

    ``number`` is its draw's; ``step`` is 1 up the ranks, -1 down, 0 with one card.
    """

    number: int
    card: Card
    length: int = 1
    step: int = 0


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """Cards drawn as one, in an order that the shoe does not have.

    ``numbers`` are the draws whose cards nobody named yet; ``read`` is what the shoe read of all,
    None where it could not; ``named`` is what people named so far.
    """

    numbers: tuple[int, ...]
    read: tuple[Card | None, ...]
    named: tuple[Card, ...] = ()


class Arming(msgspec.Struct, frozen=True, kw_only=True):
    """The draw that the shoe is armed for, from the order to the proof that it is locked again."""

    number: int
    hand: str
    index: int
    round_id: str | None
    """The round that was open when it was ordered."""
    confirmed: bool = False
    """The shoe showed that it is armed for this draw."""
    refused: str | None = None
    """Why the shoe refuses it: a word of the shoe's own."""
    withdrawn: bool = False
    """No longer wanted; a card may still arrive until the shoe shows that it is locked."""


class Shoe(msgspec.Struct, frozen=True, kw_only=True):
    """The loaded set of cards. ``drawn`` counts draws; ``counts`` the cards known, by code.

    ``unseen`` are cards drawn before this table knew the set, lost on the way, or never read;
    ``returned`` draws are of cards that are in the shoe again, ``pushed_back`` the numbers of those
    that the shoe says so of and that lie counted all the same until people decide.
    ``told_drawn`` is how many the shoe last said are out: more than ``drawn`` are on their way, or
    lost. ``shown`` are those of ``counts`` that the room has seen; ``entered`` are the numbers of
    draws that people entered and nobody heard of, with the card's code where they named it;
    ``missed`` are those of draws that were passed over, and that nobody entered. ``stale_arm`` is
    the arm that stood as the link went, or as the round ended and the shoe did not yet show that it
    is locked, with the round that was open then.
    ``uncounted`` are cards that are out and that the shoe counts no draw for, by what people said.
    ``to_be_replaced``: no further round is dealt from it, under this rule, where there is one.
    ``recorded``: people said how it was put in. ``run`` is the last of what the room has seen.
    ``pulls`` are cards drawn as one of which nobody knows which is which; ``counts`` has them as
    they were read. ``overruled`` are readings, by code, that people ruled to be wrong: not counted,
    but one card too many is looked for with them.
    """

    id: str
    set_id: str | None = None
    decks: int
    drawn: int = 0
    unseen: int = 0
    returned: int = 0
    uncounted: int = 0
    pushed_back: tuple[int, ...] = ()
    told_drawn: int = 0
    counts: dict[str, int] = {}
    shown: dict[str, int] = {}
    entered: dict[int, str | None] = {}
    missed: tuple[int, ...] = ()
    stale_arm: Arming | None = None
    cutting_card_out: bool = False
    rounds_since_cutting_card: int = 0
    to_be_replaced: bool = False
    replaced_under: str | None = None
    recorded: bool = False
    run: Run | None = None
    pulls: tuple[Pull, ...] = ()
    overruled: dict[str, int] = {}


class LoadedSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set of cards as the shoe announced it. ``fits``: it is what this table is set for.

    ``decks`` is None where the shoe cannot tell, 0 where it holds no cards any more. ``drawn``
    cards of it are out, and ``cutting_card_out``, before the table plays from it.
    """

    set_id: str | None
    decks: int | None
    fits: bool
    drawn: int = 0
    cutting_card_out: bool = False


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Who speaks said to be this device and was asked for a proof at ``t_us``."""

    device_id: str
    t_us: int


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Who spoke on this connection is not this table's shoe; ``reason`` is a code."""

    reason: str
    connection: int


class Suspended(msgspec.Struct, frozen=True, kw_only=True):
    """The line brought too much garbage and is not listened to; it is looked at ``until_us``."""

    until_us: int


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the device and the connection to it.

    ``aligned``: the host knows where in the round the shoe is. ``met``: on this connection it said
    who it is. ``reports_arming``: it showed once what it is armed for. ``connected``:
    shoe.connected was told of this connection. ``claim`` waits for its proof. ``refusal`` is the
    last one since a shoe was connected. ``since_us``: when the port was opened.
    """

    up: bool = False
    connection: int = 0
    profile: str = ""
    arm: bool = False
    replay: bool = False
    judges: bool = False
    names_hands: bool = False
    commands: bool = False
    obeys: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    authenticated: bool = False
    met: bool = False
    aligned: bool = True
    device_id: str | None = None
    boot_id: int | None = None
    reports_arming: bool = False
    connected: bool = False
    claim: Claim | None = None
    refusal: Refusal | None = None
    suspended: Suspended | None = None
    since_us: int = 0


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Players may withdraw wagers of a closed round, under ``rule``, until the dealer closes it.

    ``scope``: ``any`` of their wagers, ``all`` or none, all the ``remaining`` (undecided) or none.
    ``per_player``: each answers for themselves; without recorded wagers the table does as one.
    ``answered`` are the Players who did. ``decided`` wagers stay.
    """

    scope: Scope
    rule: str | None
    per_player: bool
    answered: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()


class OpenIrregularity(msgspec.Struct, frozen=True, kw_only=True):
    """An irregularity that is open, at a step of its procedure.

    ``number`` counts what the table raised, from 1. ``publicly`` is what the public was told was
    seen, None where nothing may be said. ``subject``: one of several alike.
    ``covers``: the one under it is a part of the same event, and ends with it. ``noted`` is what
    its own steps remember. ``window`` is the one that its step opened.
    """

    number: int
    key: str
    step: str
    seen: Message
    since_us: int
    subject: str | None = None
    publicly: Message | None = None
    covers: bool = False
    noted: dict[str, Any] = {}
    window: Window | None = None


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """All that is open, the last one on top, and the state that the table left for the first."""

    back_to: str
    stack: tuple[OpenIrregularity, ...]

    @property
    def top(self) -> OpenIrregularity:
        """The one that is decided now: the one raised last."""
        return self.stack[-1]

    @property
    def deciding(self) -> tuple[OpenIrregularity, ...]:
        """The one on top with those that it covers: they are decided as one, and end together."""
        first = len(self.stack) - 1
        while first > 0 and self.stack[first].covers:
            first -= 1
        return self.stack[first:]

    @property
    def earlier(self) -> tuple[str, ...]:
        """The keys of those under it."""
        return tuple(opened.key for opened in self.stack[:-1])


class SettledRound(msgspec.Struct, frozen=True, kw_only=True):
    """The last round that was settled, and what it was settled from: it may still be revised.

    ``wagers`` are as they stood before the settlement, ``method`` the one it was dealt in.
    """

    round: Round
    wagers: Wagers
    shoe_id: str
    method: str | None


class UndeliveredEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of this table that a sink would not take: how many, the last one's id and type.

    ``public``: the sink gets the public stream. ``waiting`` are the journal's records of those that
    it has not taken since, in order.
    """

    sink: str
    public: bool
    count: int = 0
    last: str = ""
    kind: str = ""
    waiting: tuple[int, ...] = ()


class FirstAnswer(Answer, frozen=True, kw_only=True):
    """A command's answer with the user who gave the command, and the digest of what was asked."""

    user: str = ""
    digest: str = ""

    def again(self) -> Answer:
        """The answer alone."""
        return Answer(**{name: getattr(self, name) for name in Answer.__struct_fields__})


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    """The table between two inputs. Its counters count from 1; ``irregularities`` are those raised.

    ``loaded`` is a set that came in a round or while the table was halted: it waits for the round's
    end. ``arming`` is the arm that was ordered last.
    ``answered`` holds the last answers by command id.
    ``method`` is the one last changed to, None while it is the table's setting. ``waiting`` are
    irregularities that are open and halt nothing yet. ``unplaced`` are the cards that lie in no
    slot; those of one role stand in the order in which they came to it.
    """

    state: str = "no_shoe"
    t_us: int = 0
    inputs: int = 0
    shoes: int = 0
    rounds: int = 0
    irregularities: int = 0
    host_boot: str | None = None
    shoe: Shoe | None = None
    round: Round | None = None
    link: Link = Link()
    halt: Halt | None = None
    waiting: tuple[OpenIrregularity, ...] = ()
    unplaced: tuple[UnplacedCard, ...] = ()
    loaded: LoadedSet | None = None
    arming: Arming | None = None
    wake_us: int | None = None
    answered: dict[str, FirstAnswer] = {}
    wagers: Wagers = Wagers()
    method: str | None = None
    control: ShoeControl = ShoeControl()
    last: SettledRound | None = None
    outbox: Outbox = Outbox()
    parked: tuple[UndeliveredEvents, ...] = ()

    @property
    def armed(self) -> tuple[int, str, int] | None:
        """The draw that the shoe is to be armed for: number, hand, index. None: locked."""
        arming = self.arming
        if arming is None or arming.withdrawn:
            return None
        return arming.number, arming.hand, arming.index

    @property
    def held(self) -> tuple[UnplacedCard, ...]:
        """Cards drawn while the table was halted, in the order drawn."""
        return self._of_role("held")

    @property
    def early(self) -> tuple[UnplacedCard, ...]:
        """Cards drawn early whose fate is open."""
        return self._of_role("early")

    @property
    def opening(self) -> tuple[UnplacedCard, ...]:
        """Cards that were ruled to open the next round, in the order drawn."""
        return self._of_role("opening")

    @property
    def pending(self) -> UnplacedCard | None:
        """The card that takes its slot when the table goes on."""
        return next(iter(self._of_role("pending")), None)

    @property
    def ahead(self) -> tuple[UnplacedCard, ...]:
        """Cards drawn ahead for the open round, in the order drawn."""
        return self._of_role("ahead")

    @property
    def outside_game(self) -> tuple[UnplacedCard, ...]:
        """Cards that the shoe gave while the table was halted and counts to no game."""
        return self._of_role("outside_game")

    def _of_role(self, role: Role) -> tuple[UnplacedCard, ...]:
        if not self.unplaced:
            return ()
        return tuple(card for card in self.unplaced if card.role == role)


def _enc(value: Any) -> Any:
    if isinstance(value, Card):
        return value.code
    raise TypeError(f"not a value of the state: {type(value).__name__}")


def _dec(kind: type, value: Any) -> Any:
    if kind is Card:
        return card(value)
    raise TypeError(f"not a value of the state: {kind.__name__}")


# In the order kept: the oldest answers are forgotten first, after a restore too.
_encoder = msgspec.json.Encoder(enc_hook=_enc)
_decoder = msgspec.json.Decoder(TableState, dec_hook=_dec)


def to_bytes(state: TableState) -> bytes:
    """The state's bytes: the same state always gives the same bytes."""
    return _encoder.encode(state)


def from_bytes(body: bytes) -> TableState:
    """The state that ``to_bytes`` gave.

    Raises:
        ValueError: anything else, also a state with other keys; one line says which.
    """
    state = _decoder.decode(body)
    written = to_bytes(state)
    if written != body:
        differs = key_difference(msgspec.json.decode(body), msgspec.json.decode(written))
        raise ValueError(differs or "it is not as this version writes it")
    return state


INITIAL_DEAL = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2))
"""The first four cards (N/T/I 3.12-3.13, F 3.12): Player first, in turn."""

PHASES = ("closed", "dealing", "drawing", "revealing")
"""The states from *no more bets* to the outcome: the cards of the round say which of them it is."""

ASIDE = "set_aside"
"""The hand of cards that are drawn ahead and laid aside (5.11.1)."""


def next_slot(now: TableState) -> tuple[str, int] | None:
    """The hand and index that the next card is for, where a card is due."""
    dealt = now.round.cards if now.round is not None else ()
    if len(dealt) < len(INITIAL_DEAL):
        return INITIAL_DEAL[len(dealt or now.opening)]
    if now.round is not None and now.round.due is not None:
        return now.round.due, 3
    return None


def phase(now: TableState) -> str:
    """Return the one of PHASES that the cards of the round stand for."""
    played = now.round
    if played is None or not played.cards:
        return "closed"
    if len(played.cards) < len(INITIAL_DEAL):
        return "dealing"
    return "revealing" if played.due is None else "drawing"


def pending_cards(now: TableState) -> int:
    """How many cards wait for a slot of a hand until the table goes on: none, or one."""
    return int(now.pending is not None and not is_drawn_ahead(now.pending))


def is_drawn_ahead(card: UnplacedCard) -> bool:
    """True if the card was drawn to be laid aside, for no slot of a hand (5.11.1)."""
    return card.named_slot is not None and card.named_slot[0] == ASIDE


DEALT_IN = ("closed", "dealing", "drawing")
"""The states in which a card may be drawn, however announcements are made."""

BEGUN_BY_A_CARD = ("idle", "betting")
"""Those in which one may be drawn besides where announcements are implied: they follow it."""

_ALL = (*BEGUN_BY_A_CARD, *DEALT_IN)


def takes_cards(*, implied: bool) -> tuple[str, ...]:
    """The states in which a card may be drawn."""
    return _ALL if implied else DEALT_IN
