"""Answers held to their documented shapes: no key that the schema does not know, and none missing.

In: an answer or a status, as plain values. Out: nothing, or the first difference.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.api import shapes

OF_KEYS: dict[str, type[shapes.Shape]] = {
    "tables": shapes.StatusAnswer,
    "resent": shapes.ResendAnswer,
    "sent": shapes.EventsAnswer,
    "redelivered": shapes.RedeliverAnswer,
    "applied": shapes.AppliedAnswer,
    "shoe": shapes.ShoeAnswer,
    "noted": shapes.NoteAnswer,
    "rounds": shapes.RoundsAnswer,
}
HALT = set(shapes.Halt.__struct_fields__)


def assert_is_an_answer(plain: dict[str, Any]) -> None:
    """It is any answer at all."""
    if "accepted" in plain:
        _assert_is(plain, shapes.Done if plain["accepted"] else shapes.Refusal)
        return
    (form,) = (form for key, form in OF_KEYS.items() if key in plain)
    without = dict(plain)
    if form is shapes.StatusAnswer:
        without["tables"] = [_without_facts(table) for table in plain["tables"]]
    _assert_is(without, form)


def assert_is_a_status(plain: dict[str, Any]) -> None:
    """It is the status of a table."""
    _assert_is(_without_facts(plain), shapes.Status)


def _without_facts(status: dict[str, Any]) -> dict[str, Any]:
    """Without the facts of a step, which its schema leaves open."""
    halt = status["halt"]
    if halt is None:
        return status
    return status | {"halt": {key: halt[key] for key in halt if key in HALT}}


def _assert_is(plain: dict[str, Any], form: type[shapes.Shape]) -> None:
    read = msgspec.to_builtins(msgspec.convert(plain, form))
    assert read == msgspec.to_builtins(plain)
