"""Which number stands for what on the wire of the reference profile (SPEC 5).

In: nothing. Out: tables from meaning to number. Must not know: fields, frames.
"""

from __future__ import annotations

from firmware_proto.cards import DECKS, ELEMENT65, FRENCH52, Card, Element, Suit

SUIT_CODES: dict[Suit | Element, int] = {
    suit: code for code, suit in enumerate((*FRENCH52.suits, *ELEMENT65.suits), start=1)
}
"""SPEC 5: 1-4 spades hearts diamonds clubs, 5-9 fire gold earth wood water."""

CARD_CODES: dict[Card | None, int] = {None: 0} | {
    card: SUIT_CODES[card.suit] << 4 | deck.ranks.index(card.rank) + 1
    for deck in DECKS.values()
    for card in deck.cards
}
"""SPEC 5: the suit's code in the high half, 1-13 (the rank's place in its deck) in the low half;
0 is a card that was not read."""

HAND_CODES = {"player": 1, "banker": 2, "burn": 3, "set_aside": 4}
DECK_CODES = {FRENCH52.name: 1, ELEMENT65.name: 2}
OTHER_REASON = "other"
REASON_CODES = {
    None: 0,  # accepted
    "already drawn": 1,
    "not the next draw": 2,
    "locked by key": 3,
    "empty": 4,
    "memory full": 5,
    "busy": 6,
    "not supported": 7,
    OTHER_REASON: 255,
}
CAN_ARM = 1
AUTHENTICATES = 2
"""Bits of ``capabilities``; the other bits are reserved, sent as 0 and not looked at."""

OTHER_FAULT = "other"
FAULT_CODES = {
    "cannot_read": 1,
    "jam": 2,
    "reverse_run": 3,
    "draw_timeout": 4,
    "sensor": 5,
    "bolt": 6,
    "memory": 7,
    "display": 8,
    "battery": 9,
    "clock": 10,
    OTHER_FAULT: 255,
}
TAMPER_CODES = {"seal": 1, "opened_without_power": 2, "sensor": 3, "other": 255}
QUERY_CODES = {"clock": 1, "battery": 2, "lifetime_draws": 3, "temperature": 4}
PARTS = ("sensor", "bolt", "memory", "display", "battery", "clock", "lid", "other")
"""Bits of ``failed`` in self_test, from bit 0."""
