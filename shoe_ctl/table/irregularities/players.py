"""Hands of cards with Players: passed to the wrong one, or the one who has them is not there.

In: nothing. Out: their procedures. Must not know: cards' values, who has which wager.
"""

from __future__ import annotations

from typing import Any, Literal

from shoe_ctl.texts.message import Message, message

from .. import turn
from ..arguments import (
    ChoiceArgs,
    DeclarationArgs,
    HandToPlayer,
    Name,
    NamedPlayer,
    find_player,
    require_args,
)
from ..procedures.procedure import DECIDES, Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    CARDS_OUT,
    GO_ON,
    LAY_ASIDE,
    align,
    aside,
    shoe_is_not_ready,
    something_is_missing,
    stands,
    void,
)
from ..round import hands, methods, reveal, shoe_holder
from ..shoe import ledger as card_ledger
from ..state import DealtCard, next_slot
from ..turn import TableView, Turn
from . import card_taken

RULINGS = (GO_ON, LAY_ASIDE, CALL_VOID)


class Delivery(DeclarationArgs, frozen=True, kw_only=True):
    """Which hand was passed, and to whom it went, where that is known."""

    hand: Literal["player", "banker"]
    player: Name | int | None = None
    seat: int | None = None


class Absence(DeclarationArgs, frozen=True, kw_only=True):
    """Which hand the absent Player has; without one, the Player who has the shoe is absent."""

    hand: Literal["player", "banker"] | None = None


class RightPlayer(ChoiceArgs, frozen=True, kw_only=True):
    """To whom the hand is passed, where the wagers do not say it."""

    player: Name | int | None = None
    seat: int | None = None


class OfSeen(ChoiceArgs, frozen=True, kw_only=True):
    """Which card of the hand was seen; without an index all that lay face down."""

    index: int | None = None


# What was seen.


def _noted_hand(standing: TableView) -> str | None:
    """The hand that the irregularity decided now is about."""
    hand = standing.current.noted.get("hand")
    return None if hand is None else str(hand)


def _face_down(standing: TableView, hand: str | None) -> list[DealtCard]:
    """Cards of the hand that lie there, and nobody has seen."""
    played, taken = standing.now.round, card_taken.missing_places(standing.now)
    assert played is not None
    return [d for d in played.face_down(hand) if (d.hand, d.index) not in taken]


def _is_unopened(standing: TableView, hand: str | None) -> bool:
    """It has cards, and all of them lie face down."""
    played = standing.now.round
    assert played is not None
    of_hand = [d for d in played.cards if d.hand == hand]
    return bool(of_hand) and not any(d.revealed for d in of_hand)


def _names_its_hand(standing: TableView) -> dict[str, str]:
    hand = _noted_hand(standing)
    return {} if hand is None else {"hand": hand}


# A hand that went to the wrong Player, to none, or was seen.


def _check_delivery(turn: Turn, args: Delivery | None) -> Message | None:
    """What stands against declaring that a hand was passed, dealt or exposed wrongly."""
    if turn.faces == "face_up":
        return message("refused_all_face_up")
    if args is None:
        return None if turn.round.cards else message("refused_no_card_dealt")
    if not any(d.hand == args.hand for d in turn.round.cards):
        return message("refused_hand_not_dealt", hand=args.hand)
    return None


def _can_be_retrieved(standing: TableView) -> bool:
    """Players handle cards, and no card of the hand was seen."""
    now, settings = standing.now, standing.settings
    assert now.halt is not None
    handed = turn.is_handed(now, settings) and now.halt.back_to == "revealing"
    return handed and _is_unopened(standing, _noted_hand(standing))


def _some_lie_face_down(standing: TableView) -> bool:
    return bool(_face_down(standing, _noted_hand(standing)))


def _named(args: RightPlayer) -> NamedPlayer:
    """The Player to whom the hand is to be passed."""
    return NamedPlayer(player=args.player, seat=args.seat)


def _right_player(turn: Turn) -> HandToPlayer:
    """The same with the hand."""
    args, hand = require_args(turn, RightPlayer), _noted_hand(turn)
    assert hand in ("player", "banker")
    return HandToPlayer(
        hand="player" if hand == "player" else "banker", player=args.player, seat=args.seat
    )


def _pit_names(standing: TableView) -> bool:
    """By the wagers the hand is nobody's: a Pit Supervisor names the Player."""
    return hands.has_no_taker(
        standing.now, standing.game, standing.settings, str(_noted_hand(standing))
    )


def _someones(standing: TableView) -> bool:
    return not _pit_names(standing)


def _check_passing_on(turn: Turn, args: RightPlayer | None) -> Message | None:
    to, hand = None if args is None else _named(args), str(_noted_hand(turn))
    return hands.check_delivery(turn, hand, to) or shoe_is_not_ready(turn)


def _check_naming(turn: Turn, args: RightPlayer | None) -> Message | None:
    to, hand = None if args is None else _named(args), str(_noted_hand(turn))
    return hands.check_named(turn, hand, to) or shoe_is_not_ready(turn)


def _wants_whom(standing: TableView) -> dict[str, Any]:
    """A seat, or a Player, where it does not follow from the wagers or from who has the shoe."""
    now, settings = standing.now, standing.settings
    method = turn.method(now, settings)
    by_wagers = method == "A" and methods.has_wager_feed(now.wagers) and not _pit_names(standing)
    to_holder = method == "C" and now.control.holder is not None
    return {} if by_wagers or to_holder else {"seat": None}


def _check_seen(turn: Turn, args: OfSeen | None) -> Message | None:
    if not _seen(turn, None if args is None else args.index):
        return message("refused_no_card_face_down")
    return shoe_is_not_ready(turn)


def _seen(turn: Turn, index: int | None) -> list[DealtCard]:
    return [d for d in _face_down(turn, _noted_hand(turn)) if index in (None, d.index)]


def _take_back(turn: Turn) -> None:
    hand, noted = str(_noted_hand(turn)), turn.current.noted
    taker = turn.round.hands.of(hand).holder
    if taker is None or not {"player", "seat"}.isdisjoint(noted):
        taker = find_player(turn, NamedPlayer(player=noted.get("player"), seat=noted.get("seat")))
    hands.retrieve_hand(turn, hand, taker, turn.game.rule("wrong_player", "retrieved"))


def _pass_on(turn: Turn) -> None:
    hands.deliver_hand(turn, _right_player(turn))


def _pass_on_as_named(turn: Turn) -> None:
    hands.deliver_as_named(turn, _right_player(turn))


def _show(turn: Turn) -> None:
    """What was dealt face up or exposed in error is seen: no wrong delivery (5.7.1)."""
    rule = turn.game.rule("wrong_player", "stands")
    seen = _seen(turn, require_args(turn, OfSeen).index)
    reveal.reveal(turn, seen, {"by": "in_error", "rule": rule})


WRONG_PLAYER = Procedure(
    "wrong_player",
    (
        Step(
            "look",
            message("prompt_wrong_player_look"),
            (
                Choice(
                    "retrieve", "dealer", "pass_on", (_take_back,), reason=False,
                    when=_can_be_retrieved,
                ),
                Choice(
                    "exposed", "dealer", "no_wrong_delivery", (_show,),
                    _check_seen, reason=False, takes=OfSeen, when=_some_lie_face_down,
                ),
                Choice(
                    "not_passed", "dealer", "no_wrong_delivery", unless=shoe_is_not_ready,
                    reason=False,
                ),
                *RULINGS,
            ),
            facts=_names_its_hand,
        ),
        Step(
            "pass_on",
            message("prompt_wrong_player_pass_on"),
            (
                Choice(
                    "pass_on", "dealer", "retrieved", (_pass_on,), _check_passing_on,
                    reason=False, takes=RightPlayer, when=_someones, wants=_wants_whom,
                ),
                Choice(
                    "pass_on", "pit_supervisor", "retrieved", (_pass_on_as_named,),
                    _check_naming, reason=False, takes=RightPlayer, when=_pit_names,
                    discretion=hands.rule_of_naming, wants=_wants_whom,
                ),
                *RULINGS,
            ),
            facts=_names_its_hand,
            cites=("wrong_player", "retrieved"),
        ),
    ),
    (
        End("retrieved", "retrieved", ("wrong_player", "retrieved")),
        End("no_wrong_delivery", "stands", ("wrong_player", "stands")),
        stands(),
        aside(),
        void(),
    ),
    Declared(
        "dealer",
        (*CARDS_OUT, "resolved", "suspended"),
        message("seen_wrong_player_declared"),
        Delivery,
        _check_delivery,
        "hand",
    ),
    of_cards=True,
)  # fmt: skip


# Whoever has the cards, or the shoe, is not there.


def _check_absence(turn: Turn, args: Absence | None) -> Message | None:
    """What stands against declaring that a Player who handles cards or the shoe is away."""
    if args is None and any(_is_held(turn, hand) for hand in ("player", "banker")):
        return None
    if args is not None and args.hand is not None:
        if _is_held(turn, args.hand):
            return None
        return message("refused_nobody_holds_hand", hand=args.hand)
    if (none := shoe_holder.check_holder(turn)) is not None:
        return message("refused_say_which_hand", why=none)
    back_to = turn.source if turn.now.halt is None else turn.now.halt.back_to
    if back_to == "revealing" or next_slot(turn.now) is None:
        return message("refused_no_draw_say_hand")
    return None


def _is_held(turn: Turn, hand: str) -> bool:
    return turn.now.round is not None and turn.round.hands.of(hand).holder is not None


def _left_a_hand(standing: TableView) -> bool:
    return _noted_hand(standing) is not None


def _left_the_shoe(standing: TableView) -> bool:
    return _noted_hand(standing) is None


def _is_next_to_open(standing: TableView) -> bool:
    """The hand has cards to be opened, and no other is to be opened before it."""
    hand, played = _noted_hand(standing), standing.now.round
    if hand is None or not _face_down(standing, hand):
        return False
    assert played is not None
    first = played.hands.first
    waits = first not in (None, hand) and bool(_face_down(standing, first))
    return not (waits and _is_unopened(standing, hand))


def _is_opened_later(standing: TableView) -> bool:
    return _left_a_hand(standing) and not _is_next_to_open(standing)


def _dealer_takes(turn: Turn) -> None:
    hands.give_to_dealer(turn, str(_noted_hand(turn)))


def _dealer_exposes(turn: Turn) -> None:
    hand = str(_noted_hand(turn))
    _dealer_takes(turn)
    reveal.reveal(turn, _face_down(turn, hand), hands.note_exposure(turn, hand))


def _dealer_draws(turn: Turn) -> None:
    rule = turn.game.rule("holder_absent", "ruled")
    shoe_holder.return_to_dealer(turn, rule, because="absent", **turn.actor())


HOLDER_ABSENT = Procedure(
    "holder_absent",
    (
        Step(
            "ruling",
            message("prompt_holder_absent"),
            (
                Choice(
                    "expose", "dealer", "exposed", (_dealer_exposes,), shoe_is_not_ready,
                    reason=False, when=_is_next_to_open,
                ),
                Choice(
                    "expose_later", "dealer", "exposed", (_dealer_takes,), shoe_is_not_ready,
                    reason=False, when=_is_opened_later,
                ),
                Choice(
                    "dealer_draws", DECIDES, "drawn", (_dealer_draws, align), something_is_missing,
                    when=_left_the_shoe,
                ),
                *RULINGS,
            ),
            facts=_names_its_hand,
        ),
    ),
    (
        End("exposed", "dealer_exposes", ("holder_absent", "exposed")),
        End("drawn", "dealer_draws", ("holder_absent", "ruled")),
        stands(("holder_absent", "ruled")),
        aside(("holder_absent", "ruled")),
        void(("holder_absent", "ruled")),
    ),
    Declared(
        "dealer",
        ("closed", *CARDS_OUT, "suspended"),
        message("seen_holder_absent_declared"),
        Absence,
        _check_absence,
        "hand",
    ),
)  # fmt: skip

_ALTERED = "order_altered_while_moving"
_MOVES = ("idle", "betting", "closed", "dealing", "revealing", "drawing", "suspended")


def _not_ready(turn: Turn, _args: object = None) -> Message | None:
    return something_is_missing(turn) if turn.now.round is None else shoe_is_not_ready(turn)


def _must_be_replaced(turn: Turn) -> None:
    """The cards shall be replaced (5.12.2)."""
    card_ledger.replace_before_next(turn, turn.game.rule(_ALTERED, "shoe_replaced"))


EXPOSED_WHILE_MOVING = Procedure(
    "exposed_while_moving",
    (
        Step(
            "ruling",
            message("prompt_seen_while_moved"),
            (
                Choice(
                    "play_face_down", "dealer", "face_down", unless=_not_ready, reason=False
                ),
                GO_ON,
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("face_down", "play_face_down", ("exposed_while_moving", "played_as_face_down")),
        stands(),
        aside(),
        void(),
    ),
    Declared(
        "dealer",
        _MOVES,
        message("seen_seen_while_moved_declared"),
        unless=shoe_holder.check_method,
    ),
)  # fmt: skip

ORDER_ALTERED_WHILE_MOVING = Procedure(
    _ALTERED,
    (
        Step(
            "ruling",
            message("prompt_altered_while_moved"),
            (
                Choice("rectified", DECIDES, "rectified", (align,), something_is_missing),
                Choice("replace_cards", "pit_supervisor", "replaced", in_round=False),
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("rectified", "rectified", (_ALTERED, "rectified")),
        End(
            "replaced", "cards_replaced", (_ALTERED, "shoe_replaced"), "shoe_change",
            (_must_be_replaced, card_ledger.announce_shoe_change),
        ),
        aside(),
        void((_ALTERED, "void"))._replace(do=(_must_be_replaced,)),
    ),
    Declared(
        "dealer",
        _MOVES,
        message("seen_altered_while_moved_declared"),
        unless=shoe_holder.check_method,
    ),
)  # fmt: skip
