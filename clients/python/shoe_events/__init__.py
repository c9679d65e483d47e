"""Receive the events of baccarat tables: each once, in order, none lost unseen.

``Consumer`` decides what is applied and what is asked for again, ``change_of`` which outcome of a
round stands. ``follow`` reads a transport: ``shoe_events.unix_socket``, ``shoe_events.mqtt``,
``shoe_events.nats``. ``shoe_events.sqlite`` is a store.
"""

from __future__ import annotations

from shoe_events.consumer import Consumer, Due, NewSource, Offered, Resend
from shoe_events.event import Audience, Event, InvalidEvent, read_event, read_id
from shoe_events.position import Position
from shoe_events.reports import Reports
from shoe_events.rounds import Change, Round, Rounds, Standing, change_of

__all__ = [
    "Audience",
    "Change",
    "Consumer",
    "Due",
    "Event",
    "InvalidEvent",
    "NewSource",
    "Offered",
    "Position",
    "Reports",
    "Resend",
    "Round",
    "Rounds",
    "Standing",
    "change_of",
    "read_event",
    "read_id",
]
