"""What happened, in words: who said or did what, with every value that was recorded.

In: an input as it was recorded. Out: a headline, and the lines that belong to it.
Must not know: what came of it, the page it is laid out on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FACTS = {
    "link_lost": ("the link was lost", "reason"),
    "not_told": ("the shoe could not be told", "why"),
    "storage_restored": ("the journal takes records again; it had failed", "what"),
}
"""What happened of itself, and where its reason stands."""

_PLAIN = {
    "tick": "time passed",
    "commands_refused": "more commands were refused than are recorded of one user",
}

_RANGE = frozenset({"input", "t_us", "event", "connection", "seq", "first", "last"})


def words(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    """A headline, and more to be said beneath it."""
    match happened["input"]:
        case "shoe":
            return _shoe(happened)
        case "command":
            return _command(happened)
        case "link_up":
            return _link_up(happened)
        case "restarted":
            again = "the controller went on with the journal after the storage had failed"
            started = again if happened.get("reopened") else "the controller was started"
            return started, [f"host boot: {happened.get('host_boot')}"]
        case "tick" | "commands_refused" as kind:
            return _PLAIN[kind], []
        case "link_lost" | "not_told" | "storage_restored" as kind:
            sentence, why = _FACTS[kind]
            return f"{sentence}: {happened.get(why)}", []
        case "fault":
            where = f"{happened.get('where')}: {happened.get('what')}"
            return "a fault of the controller; the input before it was not taken", [where]
    return "an input that cannot be read", [values(happened)]


def said_name(name: str) -> str:
    """A name of the programs as people say it."""
    return name.replace("_", " ")


def value(of: object) -> str:
    """A value in a few words."""
    match of:
        case bool():
            return "yes" if of else "no"
        case None:
            return "none"
        case Mapping():
            return values(of)
        case list() | tuple():
            between = "; " if any(isinstance(one, Mapping) for one in of) else " and "
            return between.join(value(one) for one in of)
    return str(of)


def values(of: Mapping[str, Any]) -> str:
    """Names and values; a name that has none is left out."""
    return ", ".join(
        f"{said_name(name)} {value(one)}" for name, one in of.items() if one not in (None, {}, [])
    )


def who(by: Mapping[str, Any]) -> str:
    """A person and the position held."""
    position = said_name(str(by.get("position") or "nobody"))
    person = by.get("person")
    return f"{person} ({position})" if person else position


def _shoe(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    event = dict(happened["event"])
    kind = said_name(str(event.pop("type", "?")))
    more = [values(event)] if event else []
    number = "" if happened.get("seq") is None else f" (event {happened['seq']})"
    return f"the shoe: {kind}{number}", more


def _command(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    args = dict(happened.get("args") or {})
    command = str(happened["command"])
    what = said_name(command)
    if command == "decide" and "choice" in args:
        what = f"decides: {said_name(str(args.pop('choice')))}"
    elif command == "declare" and "key" in args:
        what = f"declares: {said_name(str(args.pop('key')))}"
    more = [values(args)] if args else []
    if happened.get("reason"):
        more.append(f"reason: {happened['reason']}")
    if happened.get("consented_by"):
        more.append(f"second person: {happened['consented_by']}")
    if happened.get("user"):
        more.append(f"through user {happened['user']}")
    if happened.get("round_id"):
        more.append(f"for round {happened['round_id']}")
    return f"{who(happened)}: {what}", more


def _link_up(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    more = {key: one for key, one in happened.items() if key not in _RANGE | {"profile"}}
    can = [said_name(key) for key, one in more.items() if one is True]
    return (
        f"connection {happened.get('connection')} to the shoe was opened"
        f" ({happened.get('profile')})",
        [f"it can: {', '.join(can) or 'only be listened to'}"],
    )
