"""The secrecy check remembers what it must, and still finds a card that nobody saw."""

from __future__ import annotations

import pytest

from firmware_proto.cards import CARDS
from tests.simulation.broken import Broken
from tests.simulation.secrecy import RECENT, Secrecy

CODES = list(CARDS)
FIRST, LAST = CODES[0], CODES[-1]


def settled(number: int) -> str:
    return f'{{"id":"t/p{number}","type":"round.settled"}}'


def watched() -> Secrecy:
    return Secrecy(lambda: 0.0, None)


def draw(secrecy: Secrecy, code: str, *, face_up: bool = True, times: int = 1) -> None:
    for _ in range(times):
        secrecy.drawn(code, "player", face_up=face_up)


def test_no_card_of_the_open_round_is_forgotten_however_many_follow() -> None:
    secrecy = watched()
    draw(secrecy, FIRST)
    draw(secrecy, LAST, times=3 * RECENT)
    secrecy.public(f'"{FIRST}"')


def test_a_hand_is_turned_however_many_cards_follow() -> None:
    secrecy = watched()
    draw(secrecy, FIRST, face_up=False)
    draw(secrecy, LAST, times=3 * RECENT)
    with pytest.raises(Broken):
        secrecy.public(f'"{FIRST}"')
    secrecy.turned("player")
    secrecy.public(f'"{FIRST}"')


def test_a_card_of_long_ago_is_no_excuse_for_one_that_is_told_now() -> None:
    secrecy = watched()
    draw(secrecy, FIRST)
    for number in range(3):
        draw(secrecy, LAST, times=RECENT)
        secrecy.public(settled(number))
    with pytest.raises(Broken):
        secrecy.public(f'"{FIRST}"')


def test_an_event_that_is_told_again_settles_nothing_anew() -> None:
    secrecy = watched()
    secrecy.public(settled(1))
    draw(secrecy, FIRST)
    draw(secrecy, LAST, times=2 * RECENT)
    for _ in range(3):
        secrecy.public(settled(1))
    secrecy.public(f'"{FIRST}"')
