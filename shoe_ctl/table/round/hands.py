"""Hands of cards in Players' hands, in Methods A and C: passed, refused, retrieved, exposed.

In: whom a hand is passed to, who refuses it, whom the pit names. Out: cards.passed .refused
.retrieved, round.first_hand.
Must not know: the values of cards, which state takes a command, how a card is revealed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shoe_ctl.table.arguments import (
    HandName,
    HandToAnyone,
    HandToPlayer,
    NamedPlayer,
    Possible,
    find_player,
    require_args,
)
from shoe_ctl.table.round import entitlement
from shoe_ctl.table.state import HandCustody, Player
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

# Who is to have a hand, and who has it.


def entitled_player(turn: Turn, hand: str) -> entitlement.Recipient | None:
    """Return who is to have the hand in Method A by the recorded wagers.

    None once a card of it is revealed, and where wagers are not recorded: then the dealer decides.
    """
    custody = turn.round.hands.of(hand)
    if turn.method != "A" or custody.with_dealer or not is_unopened(turn, hand):
        return None
    if not entitlement.has_wager_feed(turn.now.wagers):
        return None
    return entitlement.find_recipient(turn.now.wagers, hand, custody.refused, turn.wager_rules)


def has_no_taker(at: TableView, hand: str) -> bool:
    """True if in Method A no Player with a recorded wager is left to have the hand."""
    wagers, played = at.now.wagers, at.now.round
    if at.method != "A" or played is None or not entitlement.has_wager_feed(wagers):
        return False
    refused = played.hands.of(hand).refused
    return entitlement.find_recipient(wagers, hand, refused, at.wager_rules) is None


def is_held_face_down(turn: Turn, hand: str) -> bool:
    """True if a Player holds the hand and a card of it lies face down."""
    return turn.round.hands.of(hand).holder is not None and _lies_face_down(turn, hand)


def is_unopened(turn: Turn, hand: str) -> bool:
    """True if no card of this hand is revealed."""
    return not any(dealt.revealed for dealt in turn.round.cards if dealt.hand == hand)


def _lies_face_down(turn: Turn, hand: str) -> bool:
    return bool(turn.round.face_down(hand))


# Conditions. Each check takes the arguments, or None: then it answers for any arguments.


def check_pass(turn: Turn, args: HandToPlayer | None) -> Message | None:
    """Return why the hand cannot be passed, or not to the Player named."""
    return _check_hand(
        turn, args, lambda h: _check_held_by_nobody(turn, h) or check_delivery(turn, h, args)
    )


def hands_to_pass(turn: Turn) -> Possible:
    """Return which hands can be passed to a Player."""
    return _hands_without(lambda h: _check_held_by_nobody(turn, h) or check_delivery(turn, h, None))


def check_delivery(turn: Turn, hand: str, args: NamedPlayer | None) -> Message | None:
    """Return why the hand cannot go to the Player named, or to whoever is to have it."""
    if turn.method == "A" and entitlement.has_wager_feed(turn.now.wagers):
        return _check_entitled(turn, hand, args)
    if args is None or (turn.method == "C" and turn.now.control.holder is not None):
        return None
    return None if args.is_named else message("refused_say_to_whom")


def _check_entitled(turn: Turn, hand: str, args: NamedPlayer | None) -> Message | None:
    """Return why the recorded wagers do not give the hand to the Player named."""
    entitled = entitled_player(turn, hand)
    if entitled is None:
        return _no_taker(turn, hand)
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


def _no_taker(turn: Turn, hand: str) -> Message:
    """Return that the pit names the Player, as no Player is entitled to the hand."""
    why = message("refused_pit_supervisor_names", hand=hand)
    return why.citing(_clause(turn, "pit_supervisor_names"))


def check_refusal(turn: Turn, args: HandName | None) -> Message | None:
    """Return why no Player can refuse the hand."""
    return _check_hand(turn, args, lambda hand: _check_refusing(turn, hand))


def _check_refusing(turn: Turn, hand: str) -> Message | None:
    """Return why no Player can refuse this hand: nobody has it, or is to have it."""
    if (why := _check_face_down(turn, hand)) is not None:
        return why
    if turn.round.hands.of(hand).holder is None and entitled_player(turn, hand) is None:
        return message("refused_hand_given_to_nobody", hand=hand)
    return None


def hands_to_refuse(turn: Turn) -> Possible:
    """Return which hands a Player can refuse."""
    return _hands_without(lambda hand: _check_refusing(turn, hand))


def check_name_holder(turn: Turn, args: HandToPlayer | None) -> Message | None:
    """Return why a Pit Supervisor cannot name the Player (I/N/T 3.10.4.1, F 3.9.4.1)."""
    if turn.method == "C":
        return message("refused_dealer_passes_in_c")
    return _check_hand(
        turn, args, lambda h: _check_held_by_nobody(turn, h) or check_pit_choice(turn, h, args)
    )


def hands_to_name_holder_of(turn: Turn) -> Possible:
    """Return for which hands a Pit Supervisor can name the Player."""
    return _hands_without(
        lambda h: _check_held_by_nobody(turn, h) or check_pit_choice(turn, h, None)
    )


def check_pit_choice(turn: Turn, hand: str, args: NamedPlayer | None) -> Message | None:
    """Return why the choice is not a Pit Supervisor's, or that no Player is named."""
    entitled = entitled_player(turn, hand)
    if entitled is not None:
        to = message("player_of_highest_wager") if args is None else entitled.player.named
        return message("refused_hand_goes_to", hand=hand, player=to).citing(entitled.rule)
    if args is not None and not args.is_named:
        return message("refused_name_player")
    return None


def rule_of_naming(turn: Turn, _args: object = None) -> str | None:
    """Return the rule that leaves it to a Pit Supervisor whom to name."""
    return _clause(turn, "pit_supervisor_names")


def check_squeeze(turn: Turn, args: HandToAnyone | None) -> Message | None:
    """Return why a Pit Manager cannot let anyone squeeze (I 3.15, N/F 3.16, T 3.21)."""
    why = _check_hand(turn, args, lambda hand: _check_face_down(turn, hand))
    if args is None or why is not None:
        return why
    if not args.is_named and args.designee is None:
        return message("refused_name_player_or_designee")
    return None


def hands_face_down(turn: Turn) -> Possible:
    """Return of which hands a card lies face down, where Players handle cards."""
    return _hands_without(lambda hand: _check_face_down(turn, hand))


def rule_of_squeezing(turn: Turn, _args: object = None) -> str | None:
    """Return the rule that leaves it to a Pit Manager who may squeeze."""
    return turn.game.clause("squeeze_allowed")


def check_first_hand(turn: Turn, args: HandName | None) -> Message | None:
    """Return why the hand to be revealed first cannot be set (I/N/T 3.10.6, F 3.9.6)."""
    if turn.method == "C":
        return message("refused_no_order_in_c")
    why = _check_hand(turn, args, lambda hand: _check_face_down(turn, hand))
    if why is None and any(dealt.revealed for dealt in turn.round.cards):
        return message("refused_cards_revealed")
    return why


def check_exposure(turn: Turn, hand: str, by: str | None) -> Message | None:
    """Return why the hand cannot be exposed now by whoever is said to expose it.

    ``by`` is ``dealer`` or ``holder``. None means the Player who holds the hand, else the dealer.
    """
    holder = turn.round.hands.of(hand).holder
    if by == "holder" and holder is None:
        return _check_handled(turn) or message("refused_nobody_holds_hand", hand=hand)
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
    """Return why nobody can expose the hand now."""
    holder = turn.round.hands.of(hand).holder
    return check_exposure(turn, hand, "dealer" if holder is None else "holder")


def _check_hand(
    turn: Turn, args: HandName | HandToPlayer | None, check: Callable[[str], Message | None]
) -> Message | None:
    """Return why the command is not possible for the hand named, or with None for neither hand."""
    if args is not None:
        return check(args.hand)
    if (why := _check_handled(turn)) is not None:
        return why
    player_hand, banker_hand = check("player"), check("banker")
    if player_hand is None or banker_hand is None:
        return None
    return message("refused_each", reasons=[player_hand, banker_hand])


def _hands_without(check: Callable[[str], Message | None]) -> Possible:
    """Return the hands against which nothing stands."""
    return {"hand": [hand for hand in ("player", "banker") if check(hand) is None]}


def _check_held_by_nobody(turn: Turn, hand: str) -> Message | None:
    """Return why the hand cannot be given: a Player holds it, or it is opened."""
    if (why := _check_unopened(turn, hand)) is not None:
        return why
    holder = turn.round.hands.of(hand).holder
    if holder is None:
        return None
    return message("refused_hand_is_held", player=holder.named, hand=hand)


def _check_unopened(turn: Turn, hand: str) -> Message | None:
    """Return why the hand cannot be handled: it is opened, or the dealer exposes it."""
    if (why := _check_face_down(turn, hand)) is not None:
        return why
    if not is_unopened(turn, hand):
        opened = message("refused_hand_is_opened", hand=hand)
        return opened.citing(_clause(turn, "further_cards"))
    if turn.round.hands.of(hand).with_dealer:
        away = message("refused_holder_is_away", hand=hand)
        return away.citing(turn.game.rule("holder_absent", "exposed"))
    return None


def _check_face_down(turn: Turn, hand: str) -> Message | None:
    """Return why no card of the hand can be handled: none lies face down."""
    if (why := _check_handled(turn)) is not None:
        return why
    if _lies_face_down(turn, hand):
        return None
    return message("refused_hand_not_face_down", hand=hand)


def _check_handled(turn: Turn) -> Message | None:
    """Return that no Player handles cards in this game or method, with the rule."""
    if turn.is_handed:
        return None
    played = turn.game.methods.get(turn.method or "")
    if played is None:
        return message("refused_no_handling_in_game", game=turn.game.id)
    why = message("refused_no_handling_in_method", method=turn.method)
    return why.citing(played.clauses["dealer_keeps_cards"])


def _clause(turn: Turn, name: str) -> str | None:
    """Return the rule number of a clause of the method in force."""
    return turn.game.methods[turn.method or ""].clauses.get(name)


# Actions.


def pass_cards(turn: Turn) -> None:
    """Pass the hand face down to the Player who is to have it, or whom the dealer names."""
    deliver_hand(turn, require_args(turn, HandToPlayer))


def deliver_hand(turn: Turn, args: HandToPlayer) -> None:
    """Give the hand to the Player who is to have it, or to the Player named."""
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
    """Give it to the Player with the shoe, or through the dealer to another (3.12.3)."""
    draws = turn.now.control.holder
    taker = find_player(turn, args) if args.is_named else draws
    assert taker is not None
    through = draws is not None and not entitlement.is_same_player(draws, taker)
    rule = _clause(turn, "through_dealer" if through else "placed")
    _give_hand(turn, args.hand, taker, rule, through_dealer=through)


def refuse_cards(turn: Turn) -> None:
    """Record that the Player who has the hand, or is to have it, does not take it."""
    hand = require_args(turn, HandName).hand
    held, entitled = turn.round.hands.of(hand), entitled_player(turn, hand)
    refuser = held.holder
    if refuser is None:
        assert entitled is not None
        refuser = entitled.player
    _set_custody(turn, hand, HandCustody(refused=(*held.refused, refuser)))
    data = {"hand": hand, "seat": refuser.seat}
    turn.emit("cards.refused", data, restricted={**data, "player": refuser.id})


def name_holder(turn: Turn) -> None:
    """Give the hand to the Player whom a Pit Supervisor names."""
    deliver_as_named(turn, require_args(turn, HandToPlayer))


def deliver_as_named(turn: Turn, args: HandToPlayer) -> None:
    """Give the hand to the Player named, by the rule for a Pit Supervisor."""
    _give_hand(turn, args.hand, find_player(turn, args), _clause(turn, "pit_supervisor_names"))


def allow_squeeze(turn: Turn) -> None:
    """Give the hand to the Player or designee whom a Pit Manager lets squeeze."""
    args = require_args(turn, HandToAnyone)
    taker = find_player(turn, args, args.designee)
    _give_hand(turn, args.hand, taker, turn.game.clause("squeeze_allowed"))


def retrieve_hand(turn: Turn, hand: str, taker: Player, rule: str | None) -> None:
    """Take the hand back from a Player who should not have it, or no longer (5.7)."""
    _set_custody(turn, hand, HandCustody(refused=turn.round.hands.of(hand).refused))
    data = {"hand": hand, "seat": taker.seat, "rule": rule}
    secret = {"player": taker.id}
    turn.emit("cards.retrieved", data, restricted={**data, **secret})


def take_back_hand(turn: Turn, hand: str, rule: str | None) -> None:
    """Let the dealer pass the hand anew. A Player who holds it gives it back."""
    custody = turn.round.hands.of(hand)
    if custody.holder is None:
        _set_custody(turn, hand, HandCustody(refused=custody.refused))
    else:
        retrieve_hand(turn, hand, custody.holder, rule)


def update_holders_after_withdrawals(turn: Turn) -> None:
    """Take back hands from Players whose wagers others now exceed, after withdrawals.

    The hand then goes to whom the wagers name (I/N/T 3.10.2, F 3.9.2). A hand with a revealed card
    stays with a Player who still has a wager on it.
    """
    for hand in ("player", "banker"):
        custody = turn.round.hands.of(hand)
        if custody.by_wagers and not _is_still_entitled(turn, hand, custody):
            take_back_hand(turn, hand, _clause(turn, "highest_wager"))


def _is_still_entitled(turn: Turn, hand: str, custody: HandCustody) -> bool:
    """True if the wagers still give the hand to the Player who holds it."""
    assert custody.holder is not None, "by_wagers has a holder"
    wagers, rules, holder = turn.now.wagers, turn.wager_rules, custody.holder
    if not is_unopened(turn, hand) and entitlement.has_wager_on(holder, hand, wagers, rules):
        return True
    due = entitlement.find_recipient(wagers, hand, custody.refused, rules)
    return due is not None and entitlement.is_same_player(due.player, holder)


def give_to_dealer(turn: Turn, hand: str) -> None:
    """Give the hand of a Player who is away to the dealer, who exposes it (5.10)."""
    refused = turn.round.hands.of(hand).refused
    _set_custody(turn, hand, HandCustody(refused=refused, with_dealer=True))


def set_first_hand(turn: Turn) -> None:
    """Record which hand the dealer wants revealed first."""
    hand = require_args(turn, HandName).hand
    _set_first(turn, hand)
    data = {"hand": hand, "rule": _clause(turn, "reveal_order")}
    turn.emit("round.first_hand", data)


def note_exposure(turn: Turn, hand: str) -> dict[str, str | None]:
    """Return who exposes the hand, as restricted events carry it.

    In Method A the first hand that is exposed becomes the first hand of the round.
    """
    if not turn.is_handed:
        return {}
    if turn.method == "A" and turn.round.hands.first is None:
        _set_first(turn, hand)
    custody = turn.round.hands.of(hand)
    holder = custody.holder
    if holder is not None:
        return {"by": "holder", "player": holder.id, "designee": holder.designee}
    if custody.with_dealer:
        return {"by": "dealer", "rule": turn.game.rule("holder_absent", "exposed")}
    if entitled_player(turn, hand) is not None:
        # It was not passed to the entitled Player: the outcome stands (5.7.1).
        return {"by": "dealer", "rule": turn.game.rule("wrong_player", "stands")}
    return {"by": "dealer"}


def _give_hand(
    turn: Turn, hand: str, taker: Player, rule: str | None, *, through_dealer: bool = False
) -> None:
    """Make the Player the holder of the hand, and emit cards.passed."""
    _set_custody(turn, hand, HandCustody(holder=taker, refused=turn.round.hands.of(hand).refused))
    data = {
        "hand": hand,
        "seat": taker.seat,
        "through_dealer": through_dealer,
        "rule": rule,
    }
    secret = {"player": taker.id, "designee": taker.designee}
    turn.emit("cards.passed", data, restricted={**data, **secret})


def _set_custody(turn: Turn, hand: str, custody: HandCustody) -> None:
    turn.set_round(hands=msgspec.structs.replace(turn.round.hands, **{hand: custody}))


def _set_first(turn: Turn, hand: str) -> None:
    turn.set_round(hands=msgspec.structs.replace(turn.round.hands, first=hand))
