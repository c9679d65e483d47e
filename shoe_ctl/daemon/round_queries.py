"""Past rounds for who asks: found by the journal's index, told from their own events.

In: requests of known callers. Out: answers; refusals that say what the journal has. All that reads
or decodes runs in the thread of those who read events, never in the daemon's loop.
Must not know: the socket, brokers, how a round is shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from shoe_ctl.api.answers import RequestRefused, audience_of
from shoe_ctl.api.requests import Caller, RoundsRequest
from shoe_ctl.journal.journal import DeliveryGate
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.round_index import IndexedRound, RoundId, RoundQuery, round_id
from shoe_ctl.records import Audience, utc
from shoe_ctl.texts.message import message


class Read(Protocol):
    """Calls something with a reader of the journal, in the thread of those who read events."""

    def __call__(self, call: Callable[[Reader], Any], /) -> Awaitable[Any]:
        """Return what the call returned."""


class _Envelope(msgspec.Struct):
    """The parts of a stored event that a round is told from."""

    id: str
    type: str
    time: str
    subject: str
    data: dict[str, Any]


_envelope = msgspec.json.Decoder(_Envelope)

Stored = tuple[int, bytes]
"""An event's record and its bytes."""


class _Found(NamedTuple):
    rounds: list[IndexedRound]
    """The rounds, newest first."""
    events: list[Stored]
    """Their events of the audience, in the order of their records."""
    more: bool
    """True if there are older ones."""
    removed: bool
    """True if older ones were removed."""


class RoundQueries:
    """Answers who asks for past rounds. ``gate`` holds events back from them as from the sinks."""

    def __init__(self, read: Read, gate: DeliveryGate) -> None:
        self._read = read
        self._gate = gate

    async def answer(self, caller: Caller, asked: RoundsRequest, table: str) -> dict[str, Any]:
        """Return the rounds that were asked for, of this table.

        Raises:
            RequestRefused: the caller may not see them, or the journal has no such round or shoe.
            JournalError: the journal cannot be read.
        """
        audience = audience_of(caller, asked.audience)
        query = _query(asked, table)
        found: _Found = await self._read(lambda reader: _find(reader, asked, query, audience))
        passed = self._gate.passes(found.events)
        told = await self._read(lambda _: _told(found.rounds, passed))
        return {"table": table, "rounds": told, "more": found.more, "removed": found.removed}


def table_of(asked: RoundsRequest) -> str | None:
    """Return the table that a request names, by itself or by an id; None where it names none."""
    if asked.table is not None:
        return asked.table
    ids = (asked.round, asked.before, asked.shoe)
    return next((one.rpartition("-s")[0] for one in ids if one is not None), None)


class _Query(NamedTuple):
    table: str
    shoe: int | None
    round: RoundId | None
    before: RoundId | None


def _query(asked: RoundsRequest, table: str) -> _Query:
    """Return what is asked for.

    Raises:
        RequestRefused: an id is none of this table's.
    """
    ids = [None if one is None else _round_id(one, table) for one in (asked.round, asked.before)]
    shoe = None if asked.shoe is None else _round_id(f"{asked.shoe}-r0", table, asked.shoe).shoe
    return _Query(table, shoe, *ids)


def _round_id(text: str, table: str, named: str | None = None) -> RoundId:
    found = round_id(text)
    if found is None or found.table != table:
        raise RequestRefused(message("rounds_unknown", id=named or text, table=table))
    return found


def _find(reader: Reader, asked: RoundsRequest, query: _Query, audience: Audience) -> _Found:
    """Return the rounds by the index, with their events."""
    if query.round is not None:
        one = _existing(reader, query.round)
        return _Found([one], _events(reader, [one], audience), more=False, removed=False)
    before = None if query.before is None else _existing(reader, query.before).records[0]
    # One more than wanted says whether there are more.
    of = RoundQuery(table=query.table, shoe=query.shoe, before=before, last=asked.limit + 1)
    found = [*reader.rounds(of)]
    wanted = found[::-1][: asked.limit]
    more = len(found) > asked.limit
    removed = not more and _are_removed(reader, query.table, query.shoe)
    if not found and query.shoe is not None and before is None:
        _refuse_shoe(reader, query.table, query.shoe, removed=removed)
    return _Found(wanted, _events(reader, wanted, audience), more, removed)


def _existing(reader: Reader, of: RoundId) -> IndexedRound:
    """Return a round.

    Raises:
        RequestRefused: the journal does not have it, or not any more.
    """
    found = reader.round(of)
    if found is not None:
        return found
    first = _first_kept(reader, of.table)
    if _has_lost_events(reader, of.table) and (first is None or of < first.id):
        raise RequestRefused(message("rounds_removed", id=str(of)))
    raise RequestRefused(message("rounds_unknown", id=str(of), table=of.table))


def _refuse_shoe(reader: Reader, table: str, shoe: int, *, removed: bool) -> None:
    """Refuse a shoe of which nothing is left, or that never was; a later one may have no round."""
    if removed and shoe > 0:
        raise RequestRefused(message("rounds_removed", id=f"{table}-s{shoe}"))
    newest = next(reader.rounds(RoundQuery(table=table, last=1)), None)
    if shoe < 1 or (newest is not None and shoe > newest.id.shoe + 1):
        raise RequestRefused(message("rounds_unknown", id=f"{table}-s{shoe}", table=table))


def _first_kept(reader: Reader, table: str) -> IndexedRound | None:
    return next(reader.rounds(RoundQuery(table=table)), None)


def _has_lost_events(reader: Reader, table: str) -> bool:
    """Return True if the first events of a table were removed."""
    kept = reader.event_numbers(table, Audience.RESTRICTED)
    return kept is not None and kept[0] > 1


def _are_removed(reader: Reader, table: str, shoe: int | None) -> bool:
    """Return True if rounds of a table, or of one of its shoes, were removed."""
    if not _has_lost_events(reader, table):
        return False
    first = _first_kept(reader, table)
    return shoe is None or first is None or shoe <= first.id.shoe


def _events(reader: Reader, rounds: Iterable[IndexedRound], audience: Audience) -> list[Stored]:
    """Return the events of these rounds as an audience has them, in the order of their records.

    The index leads to restricted copies; a public one stands right before it.
    """
    numbers = sorted({n for one in rounds for n in one.records})
    if audience is Audience.RESTRICTED:
        return [
            (record.n, record.body)
            for record in reader.records_at(numbers)
            if record.kind == Kind.RESTRICTED.value
        ]
    wanted = sorted({*numbers, *(n - 1 for n in numbers if n > 1)})
    records = {record.n: record for record in reader.records_at(wanted)}
    found: list[Stored] = []
    for n in numbers:
        secret, public = records.get(n), records.get(n - 1)
        if secret is None or public is None or public.kind != Kind.PUBLIC.value:
            continue
        if public.table == secret.table and _same(public.body, secret.body):
            found.append((public.n, public.body))
    return found


def _same(public: bytes, secret: bytes) -> bool:
    """Return True if these are the two copies of one event."""
    one, other = _envelope.decode(public), _envelope.decode(secret)
    return (one.type, one.time, one.subject) == (other.type, other.time, other.subject)


def _told(rounds: Iterable[IndexedRound], events: Iterable[Stored]) -> list[msgspec.Raw]:
    """Return each round that was opened for this audience, as JSON."""
    of: dict[str, list[_Envelope]] = {str(one.id): [] for one in rounds}
    for _, body in events:
        event = _envelope.decode(body)
        of[event.subject].append(event)
    return [
        msgspec.Raw(msgspec.json.encode(_tell(one, of[str(one.id)])))
        for one in rounds
        if of[str(one.id)]
    ]


_STATES: Mapping[str, str] = {
    "round.opened": "open",
    "round.outcome": "announced",
    "round.reopened": "open",
    "round.settled": "settled",
    "round.void": "void",
}
"""Event → the state of a round after it."""


def _tell(found: IndexedRound, events: list[_Envelope]) -> dict[str, Any]:
    of_type: dict[str, list[dict[str, Any]]] = {}
    state = "open"
    for event in events:
        of_type.setdefault(event.type, []).append(event.data)
        if event.type == "round.revised" and state == "open":
            state = "announced"  # after it was reopened
        state = _STATES.get(event.type, state)
    outcomes = of_type.get("round.outcome", []) + of_type.get("round.revised", [])
    return {
        "round_id": str(found.id),
        "shoe_id": f"{found.id.table}-s{found.id.shoe}",
        "opened": utc(found.t_us),
        "state": state,
        "outcome": outcomes[-1] if outcomes else None,
        "revisions": len(of_type.get("round.revised", [])),
        "void": next(iter(of_type.get("round.void", [])), None),
        "wagers": of_type.get("wager.settled", []),
        "changes": of_type.get("wager.revised", []),
        "irregularities": [data["key"] for data in of_type.get("irregularity.raised", [])],
        "last_event": events[-1].id,
    }
