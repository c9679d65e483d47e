"""Why a request about wagers cannot be taken: each check with the rule number it cites.

In: the wagers, a request, the rules. Out: a Refused, or None where nothing stands against it.
Must not know: how the ledger changes, the state of the round beyond *betting*.
"""

from __future__ import annotations

import itertools

from shoe_ctl.texts.message import message

from .held import Wager, Wagers
from .limits import WagerRules
from .request import Asked, By, Refused, Restriction, Staked

MOST = 10**15
"""No amount is larger (minor units): what is, was mistyped."""


def unnamed(asked: Asked, rules: WagerRules) -> Refused | None:
    """The request names no Player, no wager on offer (3.5) or no seat of the layout (2.2)."""
    if not asked.player:
        return Refused(why=message("refused_say_whose_wager"))
    if asked.wager not in rules.game.wagers:
        why = message(
            "refused_no_such_wager",
            game=rules.game.id, wager=asked.wager, wagers=list(rules.offered),
        )  # fmt: skip
        return Refused(why=why, rule=rules.game.clause("wagers"))
    if asked.wager not in rules.offered:
        # The rule that pays it says on which layouts it is available (I 4.5, 4.6).
        pays = (line.done.rule for line in rules.game.wagers[asked.wager].lines)
        why = message("refused_wager_not_on_layout", layout=rules.layout, wager=asked.wager)
        return Refused(why=why, rule=next(pays))
    if asked.seat not in rules.seats:
        why = message("refused_no_such_seat", seat=asked.seat)
        return Refused(why=why, rule=rules.game.clause("layouts"))
    return None


def amount_is_none(asked: Asked) -> Refused | None:
    """The amount is not a whole number of minor units above zero."""
    if not isinstance(asked, Staked) or 0 < asked.amount <= MOST:
        return None
    return Refused(why=message("refused_amount", most=MOST, amount=asked.amount))


def may_not_act(by: By, rules: WagerRules) -> Refused | None:
    """Someone acts for a Player who may not (N, T, I 3.8; F 3.7; any higher position, 6.2)."""
    if not by.on_behalf:
        return None
    rule = rules.game.clause("on_behalf")
    if not rules.game.options.staffed:
        return Refused(why=message("refused_nobody_acts_for_player", game=rules.game.id), rule=rule)
    return not_of_staff(by, rules, rule)


def not_of_staff(by: By, rules: WagerRules, rule: str | None) -> Refused | None:
    """Who acts holds no position at the table."""
    if by.position in rules.game.positions:
        return None
    least = rules.game.positions[0] if rules.game.positions else None
    why = (
        message("refused_nobody_may", position=by.position)
        if least is None
        else message("refused_needs_higher", least=least, position=by.position)
    )
    return Refused(why=why, rule=rule, position=least)


def too_low(by: By, least: str, rules: WagerRules, rule: str | None) -> Refused | None:
    """Who acts is below the position that the rule names (6.2: a higher one may)."""
    if rules.holds(by.position, least):
        return None
    why = message("refused_needs_higher", least=least, position=by.position)
    return Refused(why=why, rule=rule, position=least)


def too_late(wagers: Wagers, rules: WagerRules, *, adds: bool) -> Refused | None:
    """Betting is not open: nothing is placed or increased (5.4), nothing withdrawn (5.5)."""
    if wagers.betting == "open":
        return None
    if wagers.betting == "between":
        return Refused(why=message("refused_no_round"), rule=rules.game.clause("place_your_bets"))
    if adds:
        key, why = "late_wager", message("refused_late_wager")
    else:
        key, why = "late_withdrawal", message("refused_late_withdrawal")
    return Refused(why=why, rule=rules.game.rule(key, "refused"), irregularity=key)


def no_room(wagers: Wagers, asked: Asked, rules: WagerRules) -> Refused | None:
    """One more Player or one more wager on this area than are permitted (3.7, F 3.6)."""
    game = rules.game
    playing = {held.player for held in wagers.standing}
    most_players = game.limits.players
    if most_players is not None and len(playing | {asked.player}) > most_players:
        return Refused(why=message("refused_too_many_players", game=game.id, most=most_players))
    here = sum(
        held.amount > 0 and held.area == (asked.seat, asked.wager) for held in wagers.standing
    )
    most = wagers_per_area(wagers, rules)
    if most is None or here < most:
        return None
    clause = "wagers_per_area" if most == game.limits.wagers_per_area else "wagers_per_area_lowered"
    why = message("refused_area_is_full", seat=asked.seat, wager=asked.wager, most=most)
    return Refused(why=why, rule=game.clause(clause))


def no_room_at_all(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """No area takes another wager, or only of more Players than are permitted."""
    playing = {held.player for held in wagers.standing}
    most_players, most = rules.game.limits.players, wagers_per_area(wagers, rules)
    others_may = most_players is None or len(playing) < most_players
    for area in itertools.product(rules.seats, rules.offered):
        here = [held.player for held in wagers.standing if held.amount > 0 and held.area == area]
        if (most is None or len(here) < most) and (others_may or playing - {*here}):
            return None
    return Refused(why=message("refused_every_area_is_full"))


def wagers_per_area(wagers: Wagers, rules: WagerRules) -> int | None:
    """How many wagers a playing area takes in this round; None: any number."""
    return wagers.restriction or rules.most_per_area


def outside_limits(wager: str, amount: int, rules: WagerRules) -> Refused | None:
    """The wager would not be within the limits displayed at the table (3.5.1)."""
    return under_minimum(wager, amount, rules) or over_maximum(wager, amount, rules)


def under_minimum(wager: str, amount: int, rules: WagerRules) -> Refused | None:
    """The wager would be less than the table takes."""
    low = rules.minimum(wager)
    if amount >= low:
        return None
    rule = rules.game.rule("under_minimum", "refused")
    why = message("refused_under_minimum", amount=amount, wager=wager, minimum=low)
    return Refused(why=why, rule=rule)


def over_maximum(wager: str, amount: int, rules: WagerRules) -> Refused | None:
    """The wager would be more than the table takes."""
    high = rules.maximum(wager)
    if high is None or amount <= high:
        return None
    rule = rules.game.rule("over_maximum", "refused")
    why = message("refused_over_maximum", amount=amount, wager=wager, maximum=high)
    return Refused(why=why, rule=rule)


def unknown(held: Wager | None, asked: Asked) -> Refused | None:
    """There is no such wager."""
    if held is not None:
        return None
    why = message(
        "refused_player_without_wager", player=asked.player, wager=asked.wager, seat=asked.seat
    )
    return Refused(why=why)


def restriction_stands_against(asked: Restriction, rules: WagerRules) -> Refused | None:
    """The number may not be lowered so: by whom, how far, why (3.7, N/T 3.7.1, F 3.6.1)."""
    game = rules.game
    rule = game.clause("wagers_per_area_lowered")
    if game.limits.lowered_by is None:
        why = message("refused_no_restriction_in_game", game=game.id)
        return Refused(why=why, rule=rule)
    low = too_low(asked.by, game.limits.lowered_by, rules, rule)
    if low is not None:
        return low
    most = game.limits.wagers_per_area
    if asked.number is not None and asked.number < 1:
        return Refused(why=message("refused_restriction_to_none"), rule=rule)
    if asked.number is not None and most is not None and asked.number >= most:
        why = message("refused_restriction_too_high", most=most, number=asked.number)
        return Refused(why=why, rule=rule)
    if game.options.reason_for_discretion and not asked.by.reason:
        return Refused(why=message("refused_discretion_without_reason"), rule=rule)
    return None
