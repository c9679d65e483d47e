"""Limits of wagers: those displayed at the table, with all that its game and layout allow.

In: settings, a game; a request, the wagers as they stand. Out: TableLimits, WagerRules; what stands
against a request. Must not know: how a wager changes, payment, files.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.games.game import Game
from shoe_ctl.table.wagers.money import Currency
from shoe_ctl.table.wagers.types import (
    AmountRequest,
    Refused,
    Restriction,
    Wager,
    WagerActor,
    WagerRequest,
    Wagers,
)
from shoe_ctl.texts.message import message

Amount = Annotated[int, msgspec.Meta(ge=1)]
"""Minor units, at least one."""


class WagerLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one wager where they differ from the table's, in minor units."""

    minimum: Amount | None = None
    """The least that it may be; None: the table's."""
    maximum: Amount | None = None
    """The most that it may be; None: the table's."""


class TableLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits displayed at the table, in minor units.

    Raises:
        ValueError: a minimum above its maximum, or a payout cap the currency cannot pay.
    """

    minimum: Amount = 1
    """The least that a wager may be."""
    maximum: Amount | None = None
    """The most that a wager may be; None: no limit."""
    differential: Amount | None = None
    """The table differential: how far apart all main wagers on Player and on Banker may be. Only in
    games with staff. None: not checked."""
    wagers_per_area: Amount | None = None
    """A lower number of wagers per playing area than the game's, from the first round on. Only in
    games that let staff lower it. None: the game's number."""
    payout_cap: Amount | None = None
    """The most that a wager wins, a multiple of the currency's unit. Only in games whose rules know
    a highest payout. None: no cap."""
    currency: Currency | None = None
    """The unit that payouts are rounded to; None: nothing is rounded."""
    wagers: dict[str, WagerLimits] = {}
    """Limits of single wagers, by name: the sections `[table.limits.wagers.NAME]`."""

    def __post_init__(self) -> None:
        for wager in ("", *self.wagers):
            low, high = self.of(wager)
            if high is not None and low > high:
                of_wager = f" of {wager}" if wager else ""
                raise ValueError(f"the minimum{of_wager} ({low}) is above the maximum ({high})")
        unit = 1 if self.currency is None else self.currency.unit
        if self.payout_cap is not None and self.payout_cap % unit:
            raise ValueError(f"payout_cap {self.payout_cap} is no multiple of the unit {unit}")

    def __hash__(self) -> int:
        return hash((*(getattr(self, name) for name in _HASHED), *sorted(self.wagers)))

    def of(self, wager: str) -> tuple[int, int | None]:
        """Return the minimum and the maximum of this wager."""
        own = self.wagers.get(wager, _AS_THE_TABLE)
        return own.minimum or self.minimum, own.maximum or self.maximum


_AS_THE_TABLE = WagerLimits()
_HASHED = tuple(name for name in TableLimits.__struct_fields__ if name != "wagers")


@dataclass(frozen=True)
class WagerRules:
    """The limits of wagers at one table.

    Raises:
        InputRefused: the game or the layout does not know one of the limits.
    """

    game: Game
    """The game."""
    layout: str | None
    """The layout; None: any of the game's."""
    limits: TableLimits
    """The limits displayed at the table."""
    positions: int | None = None
    """The number of the layout's playing positions that the table has; None: all."""

    def __post_init__(self) -> None:
        game, limits = self.game, self.limits
        for wager in limits.wagers:
            if wager not in self.offered:
                raise InputRefused(f"wagers.{wager}: not offered (have: {', '.join(self.offered)})")
        if limits.payout_cap is not None and not game.options.payout_cap:
            raise InputRefused(f"payout_cap: {game.id} knows no highest payout")
        if limits.differential is not None and not game.options.staffed:
            raise InputRefused(f"differential: {game.id} knows no table differential")
        per_area, most = limits.wagers_per_area, game.limits.wagers_per_area
        if per_area is None:
            return
        if game.limits.lowered_by is None:
            raise InputRefused(f"wagers_per_area: nobody may lower the number in {game.id}")
        if most is not None and per_area >= most:
            raise InputRefused(f"wagers_per_area: must be lower than the game's {most}")

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The wagers on offer, in the game's order."""
        return self.game.offered(self.layout)

    @cached_property
    def seats(self) -> tuple[int, ...]:
        """The seats, counter-clockwise; without a layout, every seat of any of them."""
        if self.layout is not None:
            return self.game.layouts[self.layout].seats[: self.positions]
        return tuple(dict.fromkeys(s for one in self.game.layouts.values() for s in one.seats))

    def minimum(self, wager: str) -> int:
        """Return the least that this wager may be."""
        return self.limits.of(wager)[0]

    def maximum(self, wager: str) -> int | None:
        """Return the most that this wager may be; None if there is no limit."""
        return self.limits.of(wager)[1]

    @property
    def most_per_area(self) -> int | None:
        """The number of wagers that a playing area takes, unless a Pit Manager restricts them."""
        return self.limits.wagers_per_area or self.game.limits.wagers_per_area

    @cached_property
    def mains(self) -> Mapping[str, str]:
        """Main wager on offer → the hand it is on (``player`` or ``banker``)."""
        mains = {name: self.game.wagers[name].main for name in self.offered}
        return MappingProxyType({name: hand for name, hand in mains.items() if hand is not None})

    @property
    def late_end(self) -> str:
        """The end of late chips: ``returned`` (T/F 5.4), or ``refused`` where no rule does that."""
        return "refused" if self.game.rule("late_wager", "returned") is None else "returned"

    def holds(self, position: str, least: str) -> bool:
        """Return True if this position is ``least`` or a higher one (6.2).

        The game's file lists its positions from low to high.
        """
        ladder = self.game.positions
        return least in ladder and position in ladder[ladder.index(least) :]


HIGHEST_AMOUNT = 10**15
"""The largest amount of a wager, in minor units: anything above it is a typing error."""


def check_named(asked: WagerRequest, rules: WagerRules) -> Refused | None:
    """Refuse a request without a Player, a wager on offer (3.5) or a seat of the layout (2.2)."""
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


def check_amount(asked: WagerRequest) -> Refused | None:
    """Refuse an amount that is not a whole number of minor units above zero."""
    if not isinstance(asked, AmountRequest) or 0 < asked.amount <= HIGHEST_AMOUNT:
        return None
    return Refused(why=message("refused_amount", most=HIGHEST_AMOUNT, amount=asked.amount))


def check_may_act(by: WagerActor, rules: WagerRules) -> Refused | None:
    """Refuse somebody who may not act for a Player (N, T, I 3.8; F 3.7; 6.2)."""
    if not by.on_behalf:
        return None
    rule = rules.game.clause("on_behalf")
    if not rules.game.options.staffed:
        return Refused(why=message("refused_nobody_acts_for_player", game=rules.game.id), rule=rule)
    return check_staff(by, rules, rule)


def check_staff(by: WagerActor, rules: WagerRules, rule: str | None) -> Refused | None:
    """Refuse somebody who holds no position at the table."""
    if by.position in rules.game.positions:
        return None
    least = rules.game.positions[0] if rules.game.positions else None
    why = (
        message("refused_nobody_may", position=by.position)
        if least is None
        else message("refused_needs_higher", least=least, position=by.position)
    )
    return Refused(why=why, rule=rule, position=least)


def check_position(
    by: WagerActor, least: str, rules: WagerRules, rule: str | None
) -> Refused | None:
    """Refuse somebody below the position that the rule names (6.2: a higher one may)."""
    if rules.holds(by.position, least):
        return None
    why = message("refused_needs_higher", least=least, position=by.position)
    return Refused(why=why, rule=rule, position=least)


def check_betting_open(wagers: Wagers, rules: WagerRules, *, adds: bool) -> Refused | None:
    """Refuse a change while betting is not open (5.4, 5.5).

    ``adds``: something is placed or increased, else withdrawn or decreased.
    """
    if wagers.betting == "open":
        return None
    if wagers.betting == "between":
        return Refused(why=message("refused_no_round"), rule=rules.game.clause("place_your_bets"))
    if adds:
        key, why = "late_wager", message("refused_late_wager")
    else:
        key, why = "late_withdrawal", message("refused_late_withdrawal")
    return Refused(why=why, rule=rules.game.rule(key, "refused"), irregularity=key)


def check_room(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> Refused | None:
    """Refuse one more Player or one more wager on this area than are permitted (3.7, F 3.6)."""
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


def check_any_room(wagers: Wagers, rules: WagerRules) -> Refused | None:
    """Refuse any new wager if no area takes one of a Player who may play."""
    playing = {held.player for held in wagers.standing}
    most_players, most = rules.game.limits.players, wagers_per_area(wagers, rules)
    others_may = most_players is None or len(playing) < most_players
    for area in itertools.product(rules.seats, rules.offered):
        here = [held.player for held in wagers.standing if held.amount > 0 and held.area == area]
        if (most is None or len(here) < most) and (others_may or playing - {*here}):
            return None
    return Refused(why=message("refused_every_area_is_full"))


def wagers_per_area(wagers: Wagers, rules: WagerRules) -> int | None:
    """Return how many wagers a playing area takes in this round; None: any number."""
    return wagers.restriction or rules.most_per_area


def check_limits(wager: str, amount: int, rules: WagerRules) -> Refused | None:
    """Refuse a wager outside the limits displayed at the table (3.5.1)."""
    return check_minimum(wager, amount, rules) or check_maximum(wager, amount, rules)


def check_minimum(wager: str, amount: int, rules: WagerRules) -> Refused | None:
    """Refuse a wager under the minimum."""
    low = rules.minimum(wager)
    if amount >= low:
        return None
    rule = rules.game.rule("under_minimum", "refused")
    why = message("refused_under_minimum", amount=amount, wager=wager, minimum=low)
    return Refused(why=why, rule=rule)


def check_maximum(wager: str, amount: int, rules: WagerRules) -> Refused | None:
    """Refuse a wager over the maximum."""
    high = rules.maximum(wager)
    if high is None or amount <= high:
        return None
    rule = rules.game.rule("over_maximum", "refused")
    why = message("refused_over_maximum", amount=amount, wager=wager, maximum=high)
    return Refused(why=why, rule=rule)


def check_exists(held: Wager | None, asked: WagerRequest) -> Refused | None:
    """Refuse a change of a wager that does not exist."""
    if held is not None:
        return None
    why = message(
        "refused_player_without_wager", player=asked.player, wager=asked.wager, seat=asked.seat
    )
    return Refused(why=why)


def check_restriction(asked: Restriction, rules: WagerRules) -> Refused | None:
    """Refuse a restriction by the wrong person, too high, or without a reason (3.7, F 3.6.1)."""
    game = rules.game
    rule = game.clause("wagers_per_area_lowered")
    if game.limits.lowered_by is None:
        why = message("refused_no_restriction_in_game", game=game.id)
        return Refused(why=why, rule=rule)
    low = check_position(asked.by, game.limits.lowered_by, rules, rule)
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
