"""Hands of cards passed face down to Players, in Methods A and C.

In: who is given a hand, who does not take it, whom the pit names. Out: cards.passed .refused.
Must not know: cards' values, which state takes a command, how a card is revealed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.texts.message import Message, message

from .. import turn
from ..arguments import (
    HandName,
    HandToAnyone,
    HandToPlayer,
    NamedPlayer,
    find_player,
    require_args,
)
from ..inputs import TableCommand
from ..settings import TableSettings
from ..state import HandCustody, Player, TableState
from ..turn import Turn
from ..wagers.limits import WagerRules
from . import methods
from .methods import Recipient

# What was seen. Each check is asked with the arguments, or with none: of whatever is given.


def check_pass(turn: Turn, args: HandToPlayer | None) -> Message | None:
    """What stands against passing the hand, or against passing it to the Player named."""
    if args is None:
        return _of_both_hands(turn, lambda hand: _check_passing(turn, hand))
    return _check_held_by_nobody(turn, args.hand) or check_delivery(turn, args.hand, args)


def _check_passing(turn: Turn, hand: str) -> Message | None:
    return _check_held_by_nobody(turn, hand) or check_delivery(turn, hand, None)


def _of_both_hands(turn: Turn, check: Callable[[str], Message | None]) -> Message | None:
    """What stands against a command about a hand, whichever of the two it is."""
    if (keeps_off := _why_not_handled(turn)) is not None:
        return keeps_off
    player_hand, banker_hand = check("player"), check("banker")
    if player_hand is None or banker_hand is None:
        return None
    return message("refused_each", reasons=[player_hand, banker_hand])


def _check_held_by_nobody(turn: Turn, hand: str) -> Message | None:
    """The hand is opened, or a Player holds it already."""
    if (why := _check_unopened(turn, hand)) is not None:
        return why
    holder = turn.round.hands.of(hand).holder
    if holder is None:
        return None
    return message("refused_hand_is_held", player=holder.named, hand=hand)


def check_delivery(turn: Turn, hand: str, args: NamedPlayer | None) -> Message | None:
    """What stands against the hand's going to the Player named, or to whoever is to have it."""
    if turn.method == "A" and methods.has_wager_feed(turn.now.wagers):
        return _check_entitled(turn, hand, args)
    if args is None or (turn.method == "C" and turn.now.control.holder is not None):
        return None
    return None if args.is_named else message("refused_say_to_whom")


def _check_entitled(turn: Turn, hand: str, args: NamedPlayer | None) -> Message | None:
    """The wagers say whose the hand is: that it is nobody's, or another's than the one named."""
    entitled = entitled_player(turn, hand)
    if entitled is None:
        return _pit_names(turn, hand)
    if args is None:
        return None
    given = find_player(turn, args)
    is_other = (given.id not in (None, entitled.player.id)) or (
        args.seat not in (None, entitled.player.seat)
    )
    if is_other:
        why = message("refused_hand_goes_to", hand=hand, player=entitled.player.named)
        return why.citing(entitled.rule)
    return None


def _pit_names(turn: Turn, hand: str) -> Message:
    why = message("refused_pit_supervisor_names", hand=hand)
    return why.citing(_clause(turn, "pit_supervisor_names"))


def check_refusal(turn: Turn, args: HandName | None) -> Message | None:
    """What stands against recording that a Player does not take the hand."""
    if args is None:
        return _of_both_hands(turn, lambda hand: _check_refusing(turn, hand))
    return _check_refusing(turn, args.hand)


def _check_refusing(turn: Turn, hand: str) -> Message | None:
    if (why := _check_face_down(turn, hand)) is not None:
        return why
    if turn.round.hands.of(hand).holder is None and entitled_player(turn, hand) is None:
        return message("refused_hand_given_to_nobody", hand=hand)
    return None


def check_name(turn: Turn, args: HandToPlayer | None) -> Message | None:
    """What stands against a Pit Supervisor's naming the Player (I/N/T 3.10.4.1, F 3.9.4.1)."""
    if turn.method == "C":
        return message("refused_dealer_passes_in_c")
    if args is None:
        return _of_both_hands(
            turn,
            lambda hand: _check_held_by_nobody(turn, hand) or check_named(turn, hand, None),
        )
    return _check_held_by_nobody(turn, args.hand) or check_named(turn, args.hand, args)


def check_named(turn: Turn, hand: str, args: NamedPlayer | None) -> Message | None:
    """What stands against a Pit Supervisor's saying that the hand goes to this Player."""
    entitled = entitled_player(turn, hand)
    if entitled is not None:
        to = message("player_of_highest_wager") if args is None else entitled.player.named
        return message("refused_hand_goes_to", hand=hand, player=to).citing(entitled.rule)
    if args is not None and not args.is_named:
        return message("refused_name_player")
    return None


def rule_of_naming(turn: Turn, _args: object = None) -> str | None:
    """The rule that leaves it to a Pit Supervisor whom to name."""
    return _clause(turn, "pit_supervisor_names")


def check_squeeze(turn: Turn, args: HandToAnyone | None) -> Message | None:
    """What stands against a Pit Manager's letting anyone squeeze (I 3.15, N/F 3.16, T 3.21)."""
    if args is None:
        return _of_both_hands(turn, lambda hand: _check_face_down(turn, hand))
    if (why := _check_face_down(turn, args.hand)) is not None:
        return why
    if not args.is_named and args.designee is None:
        return message("refused_name_player_or_designee")
    return None


def rule_of_squeezing(turn: Turn, _args: object = None) -> str | None:
    """The rule that leaves it to a Pit Manager who may squeeze."""
    return turn.game.clause("squeeze_allowed")


def check_first_hand(turn: Turn, args: HandName | None) -> Message | None:
    """What stands against setting the hand to be revealed first (I/N/T 3.10.6, F 3.9.6)."""
    if turn.method == "C":
        return message("refused_no_order_in_c")
    if args is None:
        why = _of_both_hands(turn, lambda hand: _check_face_down(turn, hand))
    else:
        why = _check_face_down(turn, args.hand)
    if why is None and any(dealt.revealed for dealt in turn.round.cards):
        return message("refused_cards_revealed")
    return why


def check_exposure(turn: Turn, hand: str, by: str | None) -> Message | None:
    """What stands against exposing the hand now, by whom it is said to be exposed.

    ``by`` is ``dealer`` or ``holder``; left out, it is the Player who holds the hand, else the
    dealer.
    """
    holder = turn.round.hands.of(hand).holder
    if by == "holder" and holder is None:
        return _why_not_handled(turn) or message("refused_nobody_holds_hand", hand=hand)
    if not turn.is_handed:
        return None
    if by == "dealer" and holder is not None:
        why = message("refused_holder_exposes", player=holder.named, hand=hand)
        return why.citing(_clause(turn, "further_cards"))
    first = turn.round.hands.first
    if first not in (None, hand) and _lies_face_down(turn, str(first)) and is_unopened(turn, hand):
        why = message("refused_other_hand_first", hand=first)
        return why.citing(_clause(turn, "reveal_order"))
    entitled = entitled_player(turn, hand)
    if holder is None and by is None and entitled is not None and is_unopened(turn, hand):
        why = message("refused_pass_hand_first", hand=hand, player=entitled.player.named)
        return why.citing(entitled.rule)
    return None


def check_exposure_by_anyone(turn: Turn, hand: str) -> Message | None:
    """What stands against exposing the hand now, whoever does it."""
    holder = turn.round.hands.of(hand).holder
    return check_exposure(turn, hand, "dealer" if holder is None else "holder")


def is_unopened(turn: Turn, hand: str) -> bool:
    """No card of this hand is revealed."""
    return not any(dealt.revealed for dealt in turn.round.cards if dealt.hand == hand)


def has_no_taker(now: TableState, game: Game, settings: TableSettings, hand: str) -> bool:
    """In Method A, by the wagers that are recorded, no Player is left to have the hand."""
    if (
        turn.method(now, settings) != "A"
        or not methods.has_wager_feed(now.wagers)
        or now.round is None
    ):
        return False
    rules = WagerRules(game, settings.layout, settings.limits)
    return methods.find_recipient(now.wagers, hand, now.round.hands.of(hand).refused, rules) is None


def entitled_player(turn: Turn, hand: str) -> Recipient | None:
    """Who is to have the hand in Method A, by the wagers; None also once it is opened.

    Where staff declared single wagers and no others are recorded, nobody: it is for the dealer.
    """
    handling = turn.round.hands.of(hand)
    if turn.method != "A" or handling.with_dealer or not is_unopened(turn, hand):
        return None
    if not methods.has_wager_feed(turn.now.wagers):
        return None
    return methods.find_recipient(turn.now.wagers, hand, handling.refused, turn.wager_rules)


def _lies_face_down(turn: Turn, hand: str) -> bool:
    return bool(turn.round.face_down(hand))


def is_held_face_down(turn: Turn, hand: str) -> bool:
    """A Player holds the hand, and a card of it that nobody has seen."""
    return turn.round.hands.of(hand).holder is not None and _lies_face_down(turn, hand)


def _why_not_handled(turn: Turn) -> Message | None:
    """Where no Player handles cards: that, and the rule that says so."""
    if turn.is_handed:
        return None
    played = turn.game.methods.get(turn.method or "")
    if played is None:
        return message("refused_no_handling_in_game", game=turn.game.id)
    why = message("refused_no_handling_in_method", method=turn.method)
    return why.citing(played.clauses["dealer_keeps_cards"])


def _check_face_down(turn: Turn, hand: str) -> Message | None:
    """Players handle no cards, or the hand has none that lies face down."""
    if (keeps_off := _why_not_handled(turn)) is not None:
        return keeps_off
    if _lies_face_down(turn, hand):
        return None
    return message("refused_hand_not_face_down", hand=hand)


def _check_unopened(turn: Turn, hand: str) -> Message | None:
    """The same, or a card of the hand is revealed: further ones are exposed."""
    if (why := _check_face_down(turn, hand)) is not None:
        return why
    if not is_unopened(turn, hand):
        opened = message("refused_hand_is_opened", hand=hand)
        return opened.citing(_clause(turn, "further_cards"))
    if turn.round.hands.of(hand).with_dealer:
        away = message("refused_holder_is_away", hand=hand)
        return away.citing(turn.game.rule("holder_absent", "exposed"))
    return None


def _clause(turn: Turn, name: str) -> str | None:
    """A clause of the method in force."""
    return turn.game.methods[turn.method or ""].clauses.get(name)


# What is done.


def pass_cards(turn: Turn) -> None:
    """The hand goes face down to the Player whose it is, or whom the dealer names."""
    deliver_hand(turn, require_args(turn, HandToPlayer))


def deliver_hand(turn: Turn, args: HandToPlayer) -> None:
    """The hand goes to whoever is to have it, or to the Player named."""
    if turn.method == "C":
        _deliver_in_method_c(turn, args)
        return
    entitled = entitled_player(turn, args.hand)
    if entitled is not None:
        _give_hand(turn, args.hand, entitled.player, entitled.rule)
        held = turn.round.hands.of(args.hand)
        _set_custody(turn, args.hand, msgspec.structs.replace(held, by_wagers=True))
    else:
        _give_hand(turn, args.hand, find_player(turn, args), _clause(turn, "highest_wager"))


def _deliver_in_method_c(turn: Turn, args: HandToPlayer) -> None:
    """In Method C: to the Player with the shoe, or through the dealer to another (3.12.3)."""
    draws = turn.now.control.holder
    taker = find_player(turn, args) if args.is_named else draws
    assert taker is not None
    through = draws is not None and not methods.is_same_player(draws, taker)
    rule = _clause(turn, "through_dealer" if through else "placed")
    _give_hand(turn, args.hand, taker, rule, through_dealer=through)


def refuse_cards(turn: Turn) -> None:
    """The Player who has the hand, or is to have it, does not take it."""
    hand = require_args(turn, HandName).hand
    held, entitled = turn.round.hands.of(hand), entitled_player(turn, hand)
    refuser = held.holder
    if refuser is None:
        assert entitled is not None
        refuser = entitled.player
    _set_custody(turn, hand, HandCustody(refused=(*held.refused, refuser)))
    data = {"round_id": turn.round.id, "hand": hand, "seat": refuser.seat}
    turn.tell("cards.refused", data, restricted={**data, "player": refuser.id, **turn.actor()})


def name_holder(turn: Turn) -> None:
    """A Pit Supervisor names the Player who handles the hand."""
    deliver_as_named(turn, require_args(turn, HandToPlayer))


def deliver_as_named(turn: Turn, args: HandToPlayer) -> None:
    """The hand goes to the Player whom a Pit Supervisor named."""
    _give_hand(turn, args.hand, find_player(turn, args), _clause(turn, "pit_supervisor_names"))


def retrieve_hand(turn: Turn, hand: str, taker: Player, rule: str | None) -> None:
    """The hand comes back from the Player who should not have it, or no longer (5.7)."""
    _set_custody(turn, hand, HandCustody(refused=turn.round.hands.of(hand).refused))
    data = {"round_id": turn.round.id, "hand": hand, "seat": taker.seat, "rule": rule}
    who = turn.actor() if isinstance(turn.happened, TableCommand) else {}
    turn.tell("cards.retrieved", data, restricted={**data, "player": taker.id, **who})


def take_back_hand(turn: Turn, hand: str, rule: str | None) -> None:
    """The hand is the dealer's to pass anew; a Player who holds it gives it back."""
    handling = turn.round.hands.of(hand)
    if handling.holder is None:
        _set_custody(turn, hand, HandCustody(refused=handling.refused))
    else:
        retrieve_hand(turn, hand, handling.holder, rule)


def update_holders_after_withdrawals(turn: Turn) -> None:
    """Withdrawals are done: who has a hand by wagers that others now exceed gives it back.

    Then it goes to whom the wagers name as they stand (I/N/T 3.10.2, F 3.9.2). A hand that is
    opened stays with a Player who still has a wager on it.
    """
    for hand in ("player", "banker"):
        handling = turn.round.hands.of(hand)
        if handling.by_wagers and not _is_still_due(turn, hand, handling):
            take_back_hand(turn, hand, _clause(turn, "highest_wager"))


def _is_still_due(turn: Turn, hand: str, handling: HandCustody) -> bool:
    assert handling.holder is not None, "by_wagers has a holder"
    wagers, rules, holder = turn.now.wagers, turn.wager_rules, handling.holder
    if not is_unopened(turn, hand) and methods.has_wager_on(holder, hand, wagers, rules):
        return True
    due = methods.find_recipient(wagers, hand, handling.refused, rules)
    return due is not None and methods.is_same_player(due.player, holder)


def give_to_dealer(turn: Turn, hand: str) -> None:
    """The Player who had the hand is away: it is the dealer's to expose (5.10)."""
    refused = turn.round.hands.of(hand).refused
    _set_custody(turn, hand, HandCustody(refused=refused, with_dealer=True))


def allow_squeeze(turn: Turn) -> None:
    """A Pit Manager lets a Player or a designee squeeze the hand, whoever had it."""
    args = require_args(turn, HandToAnyone)
    taker = find_player(turn, args, args.designee)
    _give_hand(turn, args.hand, taker, turn.game.clause("squeeze_allowed"))


def set_first_hand(turn: Turn) -> None:
    """The dealer determines which hand is revealed first."""
    hand = require_args(turn, HandName).hand
    _set_first(turn, hand)
    data = {"round_id": turn.round.id, "hand": hand, "rule": _clause(turn, "reveal_order")}
    turn.tell("round.first_hand", data, restricted={**data, **turn.actor()})


def note_exposure(turn: Turn, hand: str) -> dict[str, str | None]:
    """Who exposes the hand, as restricted events carry it; the first hand exposed is the first."""
    if not turn.is_handed:
        return {}
    if turn.method == "A" and turn.round.hands.first is None:
        _set_first(turn, hand)
    handling = turn.round.hands.of(hand)
    holder = handling.holder
    if holder is not None:
        return {"by": "holder", "player": holder.id, "designee": holder.designee}
    if handling.with_dealer:
        return {"by": "dealer", "rule": turn.game.rule("holder_absent", "exposed")}
    if entitled_player(turn, hand) is not None:
        # Passed to no Player: the outcome stands (5.7.1).
        return {"by": "dealer", "rule": turn.game.rule("wrong_player", "stands")}
    return {"by": "dealer"}


def _give_hand(
    turn: Turn, hand: str, taker: Player, rule: str | None, *, through_dealer: bool = False
) -> None:
    _set_custody(turn, hand, HandCustody(holder=taker, refused=turn.round.hands.of(hand).refused))
    data = {
        "round_id": turn.round.id,
        "hand": hand,
        "seat": taker.seat,
        "through_dealer": through_dealer,
        "rule": rule,
    }
    secret = {"player": taker.id, "designee": taker.designee, **turn.actor()}
    turn.tell("cards.passed", data, restricted={**data, **secret})


def _set_custody(turn: Turn, hand: str, handling: HandCustody) -> None:
    hands = turn.round.hands
    if hand == "player":
        hands = msgspec.structs.replace(hands, player=handling)
    else:
        hands = msgspec.structs.replace(hands, banker=handling)
    turn.set_round(hands=hands)


def _set_first(turn: Turn, hand: str) -> None:
    turn.set_round(hands=msgspec.structs.replace(turn.round.hands, first=hand))
