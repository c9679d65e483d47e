"""What is open at a table, for people: what was seen, what may be chosen, with what and by whom.

In: the halt, and what is asked beside it, of a table's status. Out: labels with their text.
Must not know: any particular irregularity, how wide a line is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoe_ctl.texts.catalogue import text

Labelled = tuple[str, str]
"""A label, empty where it is the one above, and what stands behind it."""

_SCOPES = {
    "any": "any of their wagers",
    "all": "all of their wagers or none",
    "remaining": "all of their wagers that are not decided, or none",
}


def halt_lines(halt: dict[str, Any]) -> Iterator[Labelled]:
    """What halts the table, the rules for it, and the choices of the step that is open."""
    seen = text(halt["seen"]) if "seen" in halt else "the shift manager inspects the cards"
    yield "halted", f"{halt['reason']}: {seen}"
    if halt["earlier"]:
        yield "", f"open before it: {', '.join(halt['earlier'])}"
    yield "", f"since {halt['since']}"
    yield from _rules(halt)
    if "withdrawal" in halt:
        yield "window", _window(halt["withdrawal"])
    if "counts" in halt:
        counts = halt["counts"]
        yield "counted", f"{counts['table']} by the table, {counts['shoe']} by the shoe"
    if "differential" in halt:
        yield from _differential(halt["differential"])
    yield from _choices(halt["choices"])


def waiting_lines(waiting: dict[str, Any]) -> Iterator[Labelled]:
    """What is open beside the round, and what may be chosen where it asks."""
    yield "open", f"{waiting['key']}: {text(waiting['prompt'])}"
    yield from _choices(waiting.get("choices", []))


def _rules(halt: dict[str, Any]) -> Iterator[Labelled]:
    """The rule of the step that is open, or those of all ends; a game may have none of them."""
    if halt.get("rule") is not None:
        yield "rule", halt["rule"]
        return
    numbered = {end: rule for end, rule in halt.get("rules", {}).items() if rule is not None}
    if numbered:
        yield (
            "rules",
            ", ".join(f"{end.replace('_', ' ')} {rule}" for end, rule in numbered.items()),
        )


def _choices(choices: list[dict[str, Any]]) -> Iterator[Labelled]:
    """Each as it is typed behind ``shoectl table decide``."""
    for choice in choices:
        args = "".join(f" {_argument(one)}" for one in choice.get("arguments", []))
        against = f"; not now: {text(choice['not_now'])}" if "not_now" in choice else ""
        who = f"{choice['position']}{asked_of(choice)}"
        yield "choice", f"{choice['choice']}{args} ({who}){against}"


def _argument(one: dict[str, Any]) -> str:
    """An argument as it is typed; what may be left out stands in brackets."""
    typed = f"{one['name']}={one.get('value', '...')}"
    return f"[{typed}]" if one.get("optional") else typed


def asked_of(offer: dict[str, Any]) -> str:
    """What whoever takes it must say besides: why, and who consents."""
    reason = ", with a reason" if offer.get("reason") else ""
    second = ", and another person consents" if offer.get("second_person") else ""
    return reason + second


def _window(window: dict[str, Any]) -> str:
    seats = window["seats"]
    whose = "for the whole table"
    if seats:
        whose = f"seat {', '.join(map(str, seats))} may answer"
    rule = "" if window["rule"] is None else f" ({window['rule']})"
    if seats == []:
        return f"every Player has answered{rule}"
    return f"{whose}: {_SCOPES[window['scope']]}{rule}"


def _differential(found: dict[str, Any]) -> Iterator[Labelled]:
    """Both sides of the table and what may be changed, where the ledger knows it."""
    if found["excess"] <= 0:
        return
    sides = f"player {found['player']}, banker {found['banker']}"
    yield "wagers", f"{sides}: {found['excess']} over the differential of {found['limit']}"
    for name in ("decrease", "increase"):
        rooms = [
            f"seat {room['seat']} {room['wager']} by {room['most']} at most"
            for room in found.get(name, [])
        ]
        if rooms:
            yield name, "; ".join(rooms)
    removable = [
        f"seat {held['seat']} {held['wager']} {held['amount']}" for held in found.get("remove", [])
    ]
    if removable:
        yield "remove", "; ".join(removable)
