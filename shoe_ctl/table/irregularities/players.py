"""Players who handle cards or the shoe: a wrong Player, an absent one, a shoe that is moved.

Rules: a hand passed to the wrong Player is retrieved and passed on if no card of it was exposed
(5.7). A hand that was exposed, dealt face up or passed to no one is no wrong delivery; the outcome
stands (5.7.1). Where the holder of a hand is absent the dealer exposes it (5.10); with cards to
draw it is ruled on (6.1). A card seen while a Player moves the shoe plays as if face down (5.12.1);
an order altered then makes the round void, and the cards are replaced (5.12.2).

In: what people declare. Out: ``WRONG_PLAYER``, ``HOLDER_ABSENT``, ``EXPOSED_WHILE_MOVING``,
``ORDER_ALTERED_WHILE_MOVING``; hands retrieved, passed on or exposed.
Must not know: the values of cards, who has which wager.
"""

from __future__ import annotations

from typing import Any, Literal

from shoe_ctl.table.arguments import (
    ChoiceArgs,
    DeclarationArgs,
    HandToPlayer,
    Name,
    NamedPlayer,
    find_player,
    require_args,
)
from shoe_ctl.table.irregularities import card_taken
from shoe_ctl.table.procedures.procedure import (
    DECIDES,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
    both,
    is_not,
)
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    LAY_ASIDE,
    align,
    check_can_resume,
    check_shoe_ready,
    end_play_on,
    end_set_aside,
    end_void,
    require_new_cards,
)
from shoe_ctl.table.round import entitlement, hands, reveal, shoe_holder
from shoe_ctl.table.shoe import card_set
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import DealtCard, next_slot
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

_RULINGS = (GO_ON, LAY_ASIDE, CALL_VOID)
"""The choices of whoever decides, at each step."""


# The hand that is decided on


def _noted_hand(view: TableView) -> str | None:
    """Return the hand that the current irregularity is about, or None."""
    hand = view.current.data.get("hand")
    return None if hand is None else str(hand)


def _face_down(view: TableView, hand: str | None) -> list[DealtCard]:
    """Return the cards of the hand that lie on the table and that nobody has seen."""
    taken = card_taken.missing_places(view.now)
    return [d for d in view.round.face_down(hand) if (d.hand, d.index) not in taken]


def _is_unopened(view: TableView, hand: str | None) -> bool:
    """Return True if the hand has cards and all of them lie face down."""
    of_hand = [d for d in view.round.cards if d.hand == hand]
    return bool(of_hand) and not any(d.revealed for d in of_hand)


def _hand_facts(view: TableView) -> dict[str, str]:
    hand = _noted_hand(view)
    return {} if hand is None else {"hand": hand}


# Wrong player: detection


class Delivery(DeclarationArgs, frozen=True, kw_only=True):
    """The hand that was passed, and the Player who got it, where that is known."""

    hand: Literal["player", "banker"]
    player: Name | int | None = None
    seat: int | None = None


def _check_delivery(turn: Turn, args: Delivery | None) -> Message | None:
    """Return why it cannot be declared that a hand was passed, dealt or exposed wrongly."""
    if turn.faces == "face_up":
        return message("refused_all_face_up")
    if args is None:
        return None if turn.round.cards else message("refused_no_card_dealt")
    if not any(d.hand == args.hand for d in turn.round.cards):
        return message("refused_hand_not_dealt", hand=args.hand)
    return None


# Conditions


class RightPlayer(ChoiceArgs, frozen=True, kw_only=True):
    """To whom the hand is passed, where the wagers do not say it."""

    player: Name | int | None = None
    seat: int | None = None


class SeenCard(ChoiceArgs, frozen=True, kw_only=True):
    """The card of the hand that was seen; without an index all that lay face down."""

    index: int | None = None


def _can_be_retrieved(view: TableView) -> bool:
    """Return True if Players handle cards and no card of the hand was seen."""
    handed = view.is_handed and view.resume_state == "revealing"
    return handed and _is_unopened(view, _noted_hand(view))


def _has_face_down_cards(view: TableView) -> bool:
    return bool(_face_down(view, _noted_hand(view)))


def _has_no_taker(view: TableView) -> bool:
    """Return True if by the wagers nobody is to get the hand: a Pit Supervisor names the Player."""
    return hands.has_no_taker(view, str(_noted_hand(view)))


def _hand_to_player(turn: Turn) -> HandToPlayer:
    """Return the hand with the Player to whom it is to be passed."""
    args, hand = require_args(turn, RightPlayer), _noted_hand(turn)
    assert hand in ("player", "banker")
    return HandToPlayer(
        hand="player" if hand == "player" else "banker", player=args.player, seat=args.seat
    )


def _check_pass_on(turn: Turn, args: RightPlayer | None) -> Message | None:
    to, hand = None if args is None else _hand_to_player(turn), str(_noted_hand(turn))
    return hands.check_delivery(turn, hand, to) or check_shoe_ready(turn)


def _check_naming(turn: Turn, args: RightPlayer | None) -> Message | None:
    to, hand = None if args is None else _hand_to_player(turn), str(_noted_hand(turn))
    return hands.check_pit_choice(turn, hand, to) or check_shoe_ready(turn)


def _suggested_seat(view: TableView) -> dict[str, Any]:
    """Return that a seat must be given, where neither wagers nor the shoe's holder say it."""
    now = view.now
    by_wagers = (
        view.method == "A" and entitlement.has_wager_feed(now.wagers) and not _has_no_taker(view)
    )
    to_holder = view.method == "C" and now.control.holder is not None
    return {} if by_wagers or to_holder else {"seat": None}


def _named_cards(turn: Turn, index: int | None) -> list[DealtCard]:
    return [d for d in _face_down(turn, _noted_hand(turn)) if index in (None, d.index)]


def _check_seen(turn: Turn, args: SeenCard | None) -> Message | None:
    if not _named_cards(turn, None if args is None else args.index):
        return message("refused_no_card_face_down")
    return check_shoe_ready(turn)


# Actions


def _retrieve(turn: Turn) -> None:
    """Take the hand back, face down, from the Player who has it."""
    hand, noted = str(_noted_hand(turn)), turn.current.data
    taker = turn.round.hands.of(hand).holder
    if taker is None or not {"player", "seat"}.isdisjoint(noted):
        taker = find_player(turn, NamedPlayer(player=noted.get("player"), seat=noted.get("seat")))
    hands.retrieve_hand(turn, hand, taker, turn.game.rule("wrong_player", "retrieved"))


def _pass_on(turn: Turn) -> None:
    hands.deliver_hand(turn, _hand_to_player(turn))


def _pass_on_as_named(turn: Turn) -> None:
    hands.deliver_as_named(turn, _hand_to_player(turn))


def _reveal_seen(turn: Turn) -> None:
    """Reveal what was dealt face up or exposed in error: no wrong delivery (5.7.1)."""
    rule = turn.game.rule("wrong_player", "stands")
    seen = _named_cards(turn, require_args(turn, SeenCard).index)
    reveal.reveal(turn, seen, {"by": "in_error", "rule": rule})


# Procedure

WRONG_PLAYER = Procedure(
    "wrong_player",
    (
        Step(
            "look",
            message("prompt_wrong_player_look"),
            (
                Choice(
                    "retrieve", "dealer", "pass_on", (_retrieve,), reason=False,
                    offered_if=_can_be_retrieved,
                ),
                Choice(
                    "exposed", "dealer", "no_wrong_delivery", (_reveal_seen,),
                    _check_seen, reason=False, arguments=SeenCard, offered_if=_has_face_down_cards,
                ),
                Choice(
                    "not_passed", "dealer", "no_wrong_delivery", check=check_shoe_ready,
                    reason=False,
                ),
                *_RULINGS,
            ),
            facts=_hand_facts,
        ),
        Step(
            "pass_on",
            message("prompt_wrong_player_pass_on"),
            (
                Choice(
                    "pass_on", "dealer", "retrieved", (_pass_on,), _check_pass_on,
                    reason=False, arguments=RightPlayer, offered_if=is_not(_has_no_taker),
                    suggested=_suggested_seat,
                ),
                Choice(
                    "pass_on", "pit_supervisor", "retrieved", (_pass_on_as_named,),
                    _check_naming, reason=False, arguments=RightPlayer, offered_if=_has_no_taker,
                    discretion=hands.rule_of_naming, suggested=_suggested_seat,
                ),
                *_RULINGS,
            ),
            facts=_hand_facts,
            cites=("wrong_player", "retrieved"),
        ),
    ),
    (
        End("retrieved", "retrieved", ("wrong_player", "retrieved")),
        End("no_wrong_delivery", "stands", ("wrong_player", "stands")),
        end_play_on(),
        end_set_aside(),
        end_void(),
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
"""A hand was passed, dealt or exposed wrongly."""


# Holder absent: detection


class Absence(DeclarationArgs, frozen=True, kw_only=True):
    """The hand that the absent Player has. Without one, the Player who has the shoe is absent."""

    hand: Literal["player", "banker"] | None = None


def _check_absence(turn: Turn, args: Absence | None) -> Message | None:
    """Return why it cannot be declared that a Player who handles cards or the shoe is away."""
    if args is None and any(_is_held(turn, hand) for hand in ("player", "banker")):
        return None
    if args is not None and args.hand is not None:
        if _is_held(turn, args.hand):
            return None
        return message("refused_nobody_holds_hand", hand=args.hand)
    if (objection := shoe_holder.check_holder(turn)) is not None:
        return message("refused_say_which_hand", why=objection)
    back_to = turn.source if turn.now.halt is None else turn.now.halt.resume_state
    if back_to == "revealing" or next_slot(turn.now) is None:
        return message("refused_no_draw_say_hand")
    return None


def _is_held(turn: Turn, hand: str) -> bool:
    return turn.now.round is not None and turn.round.hands.of(hand).holder is not None


# Conditions


def _has_hand(view: TableView) -> bool:
    return _noted_hand(view) is not None


def _is_next_to_open(view: TableView) -> bool:
    """Return True if the hand has cards to be opened, and no other is opened before it."""
    hand, played = _noted_hand(view), view.now.round
    if hand is None or not _face_down(view, hand):
        return False
    assert played is not None
    first = played.hands.first
    other_comes_first = first not in (None, hand) and bool(_face_down(view, first))
    return not (other_comes_first and _is_unopened(view, hand))


# Actions


def _dealer_takes(turn: Turn) -> None:
    hands.give_to_dealer(turn, str(_noted_hand(turn)))


def _dealer_exposes(turn: Turn) -> None:
    hand = str(_noted_hand(turn))
    _dealer_takes(turn)
    reveal.reveal(turn, _face_down(turn, hand), hands.note_exposure(turn, hand))


def _dealer_draws(turn: Turn) -> None:
    rule = turn.game.rule("holder_absent", "ruled")
    shoe_holder.return_to_dealer(turn, rule, because="absent")


# Procedure

HOLDER_ABSENT = Procedure(
    "holder_absent",
    (
        Step(
            "ruling",
            message("prompt_holder_absent"),
            (
                Choice(
                    "expose", "dealer", "exposed", (_dealer_exposes,), check_shoe_ready,
                    reason=False, offered_if=_is_next_to_open,
                ),
                Choice(
                    "expose_later", "dealer", "exposed", (_dealer_takes,), check_shoe_ready,
                    reason=False, offered_if=both(_has_hand, is_not(_is_next_to_open)),
                ),
                Choice(
                    "dealer_draws", DECIDES, "drawn", (_dealer_draws, align), check_can_resume,
                    offered_if=is_not(_has_hand),
                ),
                *_RULINGS,
            ),
            facts=_hand_facts,
        ),
    ),
    (
        End("exposed", "dealer_exposes", ("holder_absent", "exposed")),
        End("drawn", "dealer_draws", ("holder_absent", "ruled")),
        end_play_on(("holder_absent", "ruled")),
        end_set_aside(("holder_absent", "ruled")),
        end_void(("holder_absent", "ruled")),
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
"""A Player who handles cards or the shoe is away."""


# Moving the shoe: conditions

_ALTERED_KEY = "order_altered_while_moving"
_MOVE_STATES = ("idle", "betting", "closed", "dealing", "revealing", "drawing", "suspended")


def _check_ready(turn: Turn, _args: object = None) -> Message | None:
    """Return why play cannot go on, in a round or between rounds."""
    return check_can_resume(turn) if turn.now.round is None else check_shoe_ready(turn)


# Procedures

EXPOSED_WHILE_MOVING = Procedure(
    "exposed_while_moving",
    (
        Step(
            "ruling",
            message("prompt_seen_while_moved"),
            (
                Choice(
                    "play_face_down", "dealer", "face_down", check=_check_ready, reason=False
                ),
                GO_ON,
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("face_down", "play_face_down", ("exposed_while_moving", "played_as_face_down")),
        end_play_on(),
        end_set_aside(),
        end_void(),
    ),
    Declared(
        "dealer",
        _MOVE_STATES,
        message("seen_seen_while_moved_declared"),
        unless=shoe_holder.check_method,
    ),
)  # fmt: skip
"""A card was seen while the shoe was moved (Method C)."""

ORDER_ALTERED_WHILE_MOVING = Procedure(
    _ALTERED_KEY,
    (
        Step(
            "ruling",
            message("prompt_altered_while_moved"),
            (
                Choice("rectified", DECIDES, "rectified", (align,), check_can_resume),
                Choice("replace_cards", "pit_supervisor", "replaced", in_round=False),
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("rectified", "rectified", (_ALTERED_KEY, "rectified")),
        End(
            "replaced", "cards_replaced", (_ALTERED_KEY, "shoe_replaced"), "shoe_change",
            (require_new_cards(_ALTERED_KEY), card_set.announce_shoe_change),
        ),
        end_set_aside(),
        end_void((_ALTERED_KEY, "void"))._replace(actions=(require_new_cards(_ALTERED_KEY),)),
    ),
    Declared(
        "dealer",
        _MOVE_STATES,
        message("seen_altered_while_moved_declared"),
        unless=shoe_holder.check_method,
    ),
)  # fmt: skip
"""The order of the cards was altered while the shoe was moved (Method C)."""
