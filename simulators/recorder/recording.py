"""The history of one table, in order: each input with the events that came of it.

In: plain values, as a journal holds them. Out: a Recording.
Must not know: where they are from, scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.table.expectation import Told, flat


@dataclass(frozen=True, slots=True)
class Happened:
    """One input, as the table received it, and the events of each stream that it led to.

    ``what`` is the JSON of the journal's ``input`` record: its kind is in ``input``, its time in
    ``t_us``. ``restricted`` has the public events too.
    """

    what: Mapping[str, Any]
    public: tuple[Told, ...] = ()
    restricted: tuple[Told, ...] = ()

    @property
    def kind(self) -> str:
        """``shoe``, ``command``, ``tick``, ``link_up`` and so on."""
        return str(self.what["input"])

    @property
    def shoe_event(self) -> Mapping[str, Any]:
        """The event of the shoe; empty where the input is none."""
        event: Mapping[str, Any] = self.what["event"] if self.kind == "shoe" else {}
        return event

    @property
    def refusal(self) -> str | None:
        """Why a command was refused, as a code; None where it was accepted."""
        for told in self.restricted:
            if told.type in ("command.refused", "wager.refused"):
                return str(told.data["error"]["code"])
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One table. ``table`` is its configuration as a scenario has it; ``source`` is for people.

    ``game_file`` is the source of its game, where that is known. ``begins_with`` is the round with
    which it begins, where there were others before; ``left_out`` is what they left behind.
    """

    table: Mapping[str, Any]
    profile: str
    deck: str
    decks: int
    happened: tuple[Happened, ...]
    source: str
    game_file: bytes = b""
    begins_with: str | None = None
    left_out: tuple[str, ...] = ()


def table_of_settings(
    settings: Mapping[str, Any], game: str, shoe: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the table of a configuration that has these settings, as the journal keeps them.

    Settings that are the default there are left out.
    """
    table: dict[str, Any] = {"game": game}
    for key, default in _DEFAULTS.items():
        value = settings.get(key, default)
        if value is not None and value != default:
            table[key] = value
    faces = {
        key: settings[key]
        for key, default in _FACES.items()
        if settings.get(key, default) != default
    }
    if faces:
        table["method_b"] = faces
    limits = without_nothing(settings.get("limits") or {})
    if limits and limits != {"minimum": 1}:
        table["limits"] = limits
    if shoe:
        table["shoe"] = dict(shoe)
    return table


_DEFAULTS: Mapping[str, Any] = {
    "decks": None,
    "layout": None,
    "seats": None,
    "area": "main",
    "method": None,
    "announcements": "explicit",
    "rounds_after_cutting_card": 0,
    "result_timeout_s": 5,
    "applied_within_s": None,
    "highest_position": None,
}
_FACES: Mapping[str, Any] = {"faces": "turned_by_dealer", "face_up_after_ms": 1000}


def without_nothing(value: Any) -> Any:
    """Return plain values without null, which TOML lacks, and without what is empty then."""
    if isinstance(value, Mapping):
        kept = {key: without_nothing(inner) for key, inner in value.items()}
        return {k: v for k, v in kept.items() if v is not None and v != {}}
    if isinstance(value, list | tuple):
        return [without_nothing(inner) for inner in value if inner is not None]
    return value


def in_turn(happened: Iterable[Happened]) -> Iterator[Happened]:
    """Yield what happened, without what only the speed of a host and a hand brought about.

    Where cards count as seen a while after their draw, the next card may come just when that while
    is over, and then the table says both at once: the first comes first. A card that was drawn just
    before the shoe had heard that it is free for it was free.
    """
    free = False
    for each in happened:
        event = each.shoe_event
        if event.get("type") == "status":
            locked = event.get("locked_by_key") or event.get("unacknowledged")
            free = not locked and event.get("armed") is None
        elif event.get("type") == "card_drawn":
            yield from _seen_first(_armed(each) if free else each)
            free = False
            continue
        elif event:
            free = False
        yield each


def _armed(drawn: Happened) -> Happened:
    """Return a card that the table took at once, although the shoe was not armed, as armed."""
    unarmed = [told for told in drawn.public if flat(told.data).get("seen.code") == UNARMED]
    kept = {(told.type, told.data.get("how")) for told in drawn.public}
    if drawn.shoe_event.get("armed") is not False or len(unarmed) != 1:
        return drawn
    if ("irregularity.resolved", "kept") not in kept:
        return drawn
    instance = unarmed[0].data.get("instance")

    def stays(told: Told) -> bool:
        if not told.type.startswith("irregularity."):
            return True
        return told.data.get("instance") != instance

    what = {**drawn.what, "event": {**drawn.shoe_event, "armed": True}}
    return Happened(what, tuple(filter(stays, drawn.public)), _stay(drawn.restricted))


def _stay(restricted: Iterable[Told]) -> tuple[Told, ...]:
    return tuple(
        told
        for told in restricted
        if not told.type.startswith("irregularity.") or told.data.get("key") not in DRAWN_EARLY
    )


UNARMED = "seen_drawn_unarmed"
DRAWN_EARLY = ("drawn_early", "overdraw")


def _seen_first(each: Happened) -> Iterator[Happened]:
    """Yield the cards that were seen meanwhile before the card that came then."""
    dealt = {_place(told) for told in each.public if told.type == "round.card_dealt"}

    def is_before(told: Told) -> bool:
        return told.type == "round.card_revealed" and _place(told) not in dealt

    before, after = _split(each.public, is_before)
    if before and dealt:
        secret_before, secret_after = _split(each.restricted, is_before)
        yield Happened({"input": "tick", "t_us": each.what["t_us"]}, before, secret_before)
        yield Happened(each.what, after, secret_after)
    else:
        yield each


def _place(told: Told) -> tuple[object, object]:
    return told.data.get("hand"), told.data.get("index")


def _split(
    events: Iterable[Told], is_first: Callable[[Told], bool]
) -> tuple[tuple[Told, ...], tuple[Told, ...]]:
    listed = tuple(events)
    return tuple(filter(is_first, listed)), tuple(t for t in listed if not is_first(t))
