"""Exact payment and the four ways to round it."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.table.wagers.money import Currency, Payout, Rounding, json_amount, payout

BANKER = Fraction(19, 20)
ROUNDINGS: tuple[Rounding, ...] = ("down", "up", "half_up", "half_even")


def of(paid: Payout, *places: int) -> tuple[object, ...]:
    """These fields of a win: pays, commission, capped."""
    return tuple(paid[place] for place in places)


def test_without_a_currency_unit_nothing_is_rounded() -> None:
    assert payout(1, BANKER).pays == Fraction(19, 20)
    assert payout(30, BANKER).pays == Fraction(57, 2)
    assert payout(3, Fraction(1, 2)).pays == Fraction(3, 2)


@pytest.mark.parametrize(
    ("rounding", "paid"),
    [
        ("down", (90, 90, 95, 185)),
        ("up", (95, 95, 95, 190)),
        ("half_up", (95, 90, 95, 190)),
        ("half_even", (90, 90, 95, 190)),
    ],
)
def test_a_payout_is_rounded_as_the_setting_says(rounding: Rounding, paid: tuple[int, ...]) -> None:
    money = Currency(unit=5, rounding=rounding)
    due = (Fraction(185, 2), Fraction(91), Fraction(95), Fraction(188))
    assert tuple(money.round(amount) for amount in due) == paid


def test_half_even_and_half_up_differ_only_half_way() -> None:
    even, up = Currency(unit=10, rounding="half_even"), Currency(unit=10, rounding="half_up")
    assert even.round(Fraction(25)) == 20
    assert up.round(Fraction(25)) == 30
    assert even.round(Fraction(35)) == up.round(Fraction(35)) == 40
    assert even.round(Fraction(251, 10)) == up.round(Fraction(251, 10)) == 30


def test_a_commission_is_what_even_money_would_have_paid_more() -> None:
    paid = payout(10_000, BANKER, commission=Fraction(1, 20))
    assert of(paid, 0, 1) == (9_500, 500)


def test_what_rounding_takes_falls_on_the_commission() -> None:
    down = payout(
        130, BANKER, commission=Fraction(1, 20), currency=Currency(unit=10, rounding="down")
    )
    up = payout(130, BANKER, commission=Fraction(1, 20), currency=Currency(unit=10, rounding="up"))
    assert of(down, 0, 1) == (120, 10)
    assert of(up, 0, 1) == (130, 0)


def test_no_commission_is_shown_where_the_rules_speak_of_none() -> None:
    assert payout(100, BANKER).commission is None


def test_a_win_above_the_cap_is_cut_to_it_and_one_at_the_cap_is_not() -> None:
    assert of(payout(100, Fraction(30), cap=2_999), 0, 2) == (2_999, True)
    assert of(payout(100, Fraction(30), cap=3_000), 0, 2) == (3_000, False)


@pytest.mark.parametrize(
    ("amount", "shown"), [(Fraction(19, 2), "19/2"), (Fraction(95), 95), (7, 7), (0, 0)]
)
def test_json_carries_whole_amounts_as_numbers_and_others_as_fractions(
    amount: Fraction | int, shown: int | str
) -> None:
    assert json_amount(amount) == shown
    assert type(json_amount(amount)) is type(shown)


@pytest.mark.parametrize("wrong", [{"unit": 0, "rounding": "up"}, {"unit": 5}, {"rounding": "up"}])
def test_a_currency_unit_needs_its_rounding_and_a_size(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, Currency)


@given(
    stake=st.integers(1, 10**12),
    odds=st.fractions(Fraction(1, 100), Fraction(1000), max_denominator=100),
    unit=st.integers(1, 10_000),
    rounding=st.sampled_from(ROUNDINGS),
)
def test_a_rounded_payout_is_a_near_multiple_of_the_unit(
    stake: int, odds: Fraction, unit: int, rounding: Rounding
) -> None:
    pays = payout(stake, odds, currency=Currency(unit=unit, rounding=rounding)).pays
    exact = stake * odds
    assert pays % unit == 0
    off = pays - exact
    assert abs(off) < unit
    assert {"down": off <= 0, "up": off >= 0}.get(rounding, abs(off) * 2 <= unit)


@given(
    stake=st.integers(1, 10**12),
    unit=st.none()
    | st.builds(Currency, unit=st.integers(1, 500), rounding=st.sampled_from(ROUNDINGS)),
)
def test_payout_and_commission_add_up_to_even_money(stake: int, unit: Currency | None) -> None:
    paid = payout(stake, BANKER, commission=1 - BANKER, currency=unit)
    assert paid.commission is not None
    assert paid.pays + paid.commission == stake
