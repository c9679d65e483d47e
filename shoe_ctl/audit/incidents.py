"""Incidents: what at the tables was no ordinary play, and who decided it, in order.

In: a reader, a time. Out: a line of values for each irregularity, halt, review, correction,
retraction, revision, round entered by hand, void round, start, change of rules, software or key,
and ruling on a lost part. No card is named.
Must not know: how a line is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from math import inf
from typing import Any

import msgspec

from shoe_ctl.audit import starts
from shoe_ctl.audit.ledger_money import amount, plain
from shoe_ctl.audit.starts import difference, differences
from shoe_ctl.journal.chain import read_checkpoint, signers
from shoe_ctl.journal.group import LETTERS, InvalidGroup, packed_parts, read_header
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import (
    JOURNAL,
    DaemonStart,
    InvalidRow,
    Kind,
    LossRuling,
    Meta,
    Row,
    is_loss_ruling,
)
from shoe_ctl.journal.recovery import read_meta
from shoe_ctl.records import Record, utc

KINDS: Mapping[str, str] = {
    "irregularity.raised": "irregularity",
    "irregularity.step": "decision",
    "irregularity.resolved": "resolved",
    "irregularity.retracted": "retraction",
    "table.halted": "halt",
    "table.resumed": "play_resumed",
    "review.opened": "review",
    "review.closed": "review_ended",
    "outage.opened": "outage",
    "outage.closed": "outage_ended",
    "round.card_corrected": "card_corrected",
    "round.card_moved": "card_moved",
    "round.reopened": "round_reopened",
    "round.revised": "revision",
    "round.entered": "entered_by_hand",
    "round.void": "round_void",
    "shoe.refused": "device_refused",
    "shoe.alarm": "alarm",
    "method.breached": "method_breached",
    "table.started": "start",
}
"""The kind of the incident that an event is."""

OTHER_KINDS = (
    "rules_changed",
    "software_changed",
    "configuration_changed",
    "key_changed",
    "loss_ruling",
)
"""Kinds of incidents that are no events."""

_MONEY = ("wager.settled", "wager.revised", "irregularity.alarm")
_OF_ROUNDS = ("round.opened", "round.outcome", "round.void", "round.revised", "round.reopened")
_HAS_PUBLIC_KEY = frozenset({"irregularity", "decision", "resolved", "retraction", "halt"})
"""Kinds whose key may tell a card, so that the public stream has another one or nothing."""

_TYPE = re.compile(rb'"type":"([a-z_.]+)"')


def _any_of(types: Collection[str]) -> Callable[[bytes], object]:
    """Return a search for any of these types. Looking for a dot first is ten times as fast."""
    exact = re.compile(b"|".join(re.escape(one.encode()) + b'"' for one in types)).search
    ends = {re.escape(one.partition(".")[2].encode()) for one in types}
    near = re.compile(rb'\.(?:%b)"' % b"|".join(sorted(ends))).search
    return lambda data: None if near(data) is None else exact(data)


_in_ordinary_play = _any_of([*KINDS, *_OF_ROUNDS[1:]])
_after_incidents = _any_of([*KINDS, *_OF_ROUNDS, *_MONEY])
_WANTED = frozenset(one.encode() for one in (*KINDS, *_MONEY, *_OF_ROUNDS))
_COMMAND = b'"input":"command"'

_MOST_HELD = 5_000
"""Incidents that are held for what their money will be; then the older half is given out."""

_OF_PLAY = frozenset(KINDS) - {"table.started", "shoe.refused"}
"""Events that may tell something of a card, or have a reason that does."""

AROUND_US = 24 * 3600 * 1_000_000
"""A margin around the time that is asked for: a round that was open then is not longer."""

_GROUPS = 500
"""Groups that are read at a time."""

_READ = (Kind.META, Kind.INPUT, Kind.RESTRICTED, Kind.CHECKPOINT)
_EVENTS = b"".join(LETTERS[kind] for kind in (Kind.PUBLIC, Kind.RESTRICTED))
_OTHERS = b"".join(LETTERS[kind] for kind in (Kind.META, Kind.CHECKPOINT))


class Incident(msgspec.Struct, kw_only=True):
    """An incident, from record ``n``.

    ``key`` is the irregularity and ``how`` its end, step or choice. ``person``, ``position``,
    ``login`` (the user through whom the command came), ``consented_by`` and ``reason`` are of the
    command that brought it about; None where none did. ``players_get`` is what all Players together
    get more by it, or less below 0, and ``returned`` the stakes that went back, both in minor
    units; None where no wager was touched. ``details`` name what changed.

    ``withheld``: its round has no outcome yet, or none followed it. Then only what the public
    stream says is given, and of an incident in a round no reason: people may have written a card.
    """

    n: int
    time: str
    table: str
    kind: str
    round_id: str | None = None
    key: str | None = None
    how: str | None = None
    person: str | None = None
    position: str | None = None
    login: str | None = None
    consented_by: str | None = None
    reason: str | None = None
    rule: str | None = None
    players_get: int | str | None = None
    returned: int | str | None = None
    details: list[str] = []
    withheld: bool = False


class _Command(msgspec.Struct):
    command_id: str = ""
    user: str = ""


class _Event(msgspec.Struct):
    type: str
    time: str
    data: dict[str, Any]


_event = msgspec.json.Decoder(_Event)
_command = msgspec.json.Decoder(_Command)


def incidents(
    reader: Reader,
    *,
    table: str | None = None,
    since_us: int | None = None,
    until_us: int | None = None,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
) -> Iterator[Incident]:
    """Yield the incidents of a journal or export in the order of their records.

    ``since_us`` (inclusive) and ``until_us`` (exclusive) are in µs since 1970 UTC. Of one table,
    the journal's own are left out: changes of its key and rulings, which are about every table.

    Raises:
        JournalError: the journal cannot be read.
    """
    last_n = reader.newest() or 0
    since = "" if since_us is None else utc(since_us)
    until = None if until_us is None else utc(until_us)
    walk = _Walk(reader, since_us, until_us)

    def give_out(many: int) -> Iterator[Incident]:
        for one in walk.give_out(many):
            if since <= one.time and (until is None or one.time < until):
                yield one

    for row in reader.rows(
        upto=last_n, table=table, passing=lambda n: progress(n, last_n), at_once=_GROUPS
    ):
        if walk.wants(row):
            for record in reader.unpacked((row,), _READ):
                walk.take(record)
        if len(walk.held) >= _MOST_HELD:
            yield from give_out(_MOST_HELD // 2)
    yield from give_out(len(walk.held))


class _Table:
    """One table: how it was started, who gave the last command, the incidents of its round."""

    def __init__(self) -> None:
        self.meta: Meta | None = None
        self.command = _Command()
        self.of_round: list[Incident] = []
        self.not_ended: list[Incident] = []
        self.ended: str | None = None
        self.reopened: str | None = None

    def is_open(self, round_id: str | None) -> bool:
        """Return True if this round may still have a card that nobody has turned."""
        if round_id is None or self.ended is None or round_id == self.reopened:
            return True
        return _number(round_id) > _number(self.ended)

    def end_round(self, round_id: str | None) -> None:
        """Let everything of a round that ended be shown, and what was in no round before it."""
        self.ended, self.reopened = round_id, None
        for one in self.not_ended:
            one.withheld = one.round_id not in (None, round_id)
        self.not_ended = [one for one in self.not_ended if one.withheld]


class _Walk:
    def __init__(self, reader: Reader, since_us: int | None, until_us: int | None) -> None:
        self._reader = reader
        self._since_us = -inf if since_us is None else since_us - AROUND_US
        self._until_us = inf if until_us is None else until_us + AROUND_US
        self._tables: dict[str, _Table] = {}
        self._key: str | None = None
        self._started: DaemonStart | None = None
        self.held: list[Incident] = []

    def wants(self, row: Row) -> bool:
        """Return True if this group has something to take: most have nothing, and stay packed."""
        n, table, body, _ = row
        try:
            header = read_header(body)
            if header.has(_OTHERS):
                return True
            if not header.has(_EVENTS) or not self._since_us <= header.t_us <= self._until_us:
                return False
            of = self._tables.get(table)
            find = _after_incidents if of is not None and of.of_round else _in_ordinary_play
            return find(packed_parts(body, header)) is not None
        except InvalidGroup as error:
            raise InvalidRow(self._reader.path, n, table, str(error)) from None

    def give_out(self, many: int) -> Iterator[Incident]:
        found, self.held = self.held[:many], self.held[many:]
        for one in found:
            if not one.withheld or self._as_in_public(one):
                yield one
        gone = set(map(id, found))
        for of in self._tables.values():
            of.not_ended = [one for one in of.not_ended if id(one) not in gone]

    def _as_in_public(self, one: Incident) -> bool:
        """Leave of an incident what its public copy says; False where it has none.

        A public copy stands right before the restricted one.
        """
        if one.round_id is not None:
            one.reason, one.details = None, []
        if one.kind not in _HAS_PUBLIC_KEY:
            return True
        before = self._reader.records(
            after=one.n - 2, upto=one.n - 1, table=one.table, kinds=(Kind.PUBLIC,)
        )
        for record in before:
            event = _event.decode(record.body)
            if KINDS.get(event.type) == one.kind:
                one.key, one.how, one.rule = _key(event.data), _how(event), _rule(event.data)
                return True
        return False

    def take(self, record: Record) -> None:
        """Take the next record; one that cannot be decoded is verify's to report."""
        kind = record.kind
        with suppress(ValueError):
            if kind == Kind.RESTRICTED.value:
                self._take_event(record)
            elif kind == Kind.INPUT.value:
                if _COMMAND in record.body:
                    self._table(record).command = _command.decode(record.body)
            elif kind == Kind.CHECKPOINT.value:
                self._take_checkpoint(record)
            elif record.table == JOURNAL:
                self._take_ruling(record)
            else:
                self._take_start(record)

    def _table(self, record: Record) -> _Table:
        return self._tables.setdefault(record.table, _Table())

    def _take_event(self, record: Record) -> None:
        named = _TYPE.search(record.body)
        if named is None or named[1] not in _WANTED:
            return
        event, of = _event.decode(record.body), self._table(record)
        round_id = _text(event.data.get("round_id"))
        if event.type in KINDS:
            self._add_event(record, event, of)
        elif event.type in _MONEY:
            _add_money(event, of)
        elif event.type == "round.opened":
            of.of_round = []
        if event.type == "round.reopened":
            of.reopened = round_id
        elif event.type in ("round.outcome", "round.void", "round.revised"):
            of.end_round(round_id)

    def _add_event(self, record: Record, event: _Event, of: _Table) -> None:
        data = event.data
        command_id = data.get("command_id")
        if event.type == "irregularity.step" and command_id is None:
            return  # nobody decided: what was waited for came
        login = of.command.user if command_id == of.command.command_id else ""
        round_id = _text(data.get("round_id"))
        found = Incident(
            n=record.n,
            time=event.time,
            table=record.table,
            kind="set_refused" if data.get("how") == "set_refused" else KINDS[event.type],
            round_id=round_id,
            key=_key(data),
            how=_how(event),
            person=_text(data.get("person")),
            position=_text(data.get("position")),
            login=login or None,
            consented_by=_text(data.get("consented_by")),
            reason=_text(data.get("why")),
            rule=_rule(data),
            details=_details(event),
            withheld=event.type in _OF_PLAY and of.is_open(round_id),
        )
        self.held.append(found)
        of.of_round.append(found)
        if found.withheld:
            of.not_ended.append(found)

    def _take_start(self, record: Record) -> None:
        of, started = self._table(record), read_meta(record, self._reader.path)
        before, of.meta = of.meta, started
        if before is None:
            return
        details = [*differences(before.settings, started.settings)]
        if before.game != started.game:
            details.append("game file")
        for kind, changed in (
            ("rules_changed", details),
            ("software_changed", difference("", before.software, started.software)),
        ):
            if changed:
                self.held.append(
                    Incident(
                        n=record.n,
                        time=utc(started.t_us),
                        table=record.table,
                        kind=kind,
                        details=changed,
                    )
                )

    def _take_ruling(self, record: Record) -> None:
        if DaemonStart.is_one(record.body):
            self._take_daemon_start(record)
        if not is_loss_ruling(record.body):
            return
        found = LossRuling.from_bytes(record.body)
        self.held.append(
            Incident(
                n=record.n,
                time=utc(found.t_us),
                table="",
                kind="loss_ruling",
                person=found.ruling.person,
                position=found.ruling.position,
                consented_by=found.ruling.consented_by,
                reason=found.ruling.reason,
                details=list(found.lost),
            )
        )

    def _take_daemon_start(self, record: Record) -> None:
        start = DaemonStart.from_bytes(record.body)
        change = starts.compare(record.n, self._started, start)
        self._started = start
        for kind, details in (
            ("software_changed", change.software),
            ("configuration_changed", change.configuration),
        ):
            if details:
                self.held.append(
                    Incident(n=record.n, time=change.time, table="", kind=kind, details=details)
                )

    def _take_checkpoint(self, record: Record) -> None:
        found = read_checkpoint(record.body)
        before, self._key = self._key, found.public_key
        change = found.key_change
        if before in (None, found.public_key) and change is None:
            return
        ruling, how = None, "key_change_not_recorded"
        if change is not None:
            endorsed = change.old in signers(record.body, found)
            ruling, how = change.ruling, "key_endorsed" if endorsed else "key_lost"
            before = change.old
        self.held.append(
            Incident(
                n=record.n,
                time=utc(found.t_us),
                table="",
                kind="key_changed",
                how=how,
                person=None if ruling is None else ruling.person,
                position=None if ruling is None else ruling.position,
                consented_by=None if ruling is None else ruling.consented_by,
                reason=None if ruling is None else ruling.reason,
                details=difference("", before, found.public_key),
            )
        )


def _add_money(event: _Event, of: _Table) -> None:
    """Add what a wager's settlement says to the incidents that brought it about."""
    data = event.data
    round_id = _text(data.get("round_id"))
    found = [one for one in of.of_round if round_id in (None, one.round_id)]
    if event.type == "wager.revised":
        _add_to(found, "revision", players_get=amount(data.get("change")))
    elif event.type == "irregularity.alarm":
        changes = data.get("changes")
        each = [one.get("change") for one in changes] if isinstance(changes, list) else []
        _add_to(found, "retraction", players_get=sum(map(amount, each), Fraction(0)))
    else:
        returned = amount(data.get("returned"))
        if data.get("result") == "returned":
            _add_to(found, "round_void", returned=returned)
        applied = data.get("applied")
        for one in applied if isinstance(applied, list) else []:
            _add_to(found, "resolved", key=one.get("key"), returned=returned)


def _add_to(
    found: list[Incident],
    kind: str,
    *,
    key: str | None = None,
    players_get: Fraction | None = None,
    returned: Fraction | None = None,
) -> None:
    """Add to the last of these incidents that is of this kind, and of this key if named."""
    for one in reversed(found):
        if one.kind == kind and key in (None, one.key):
            if players_get is not None:
                one.players_get = plain(amount(one.players_get) + players_get)
            if returned is not None:
                one.returned = plain(amount(one.returned) + returned)
            return


def _key(data: Mapping[str, Any]) -> str | None:
    return _text(data.get("key", data.get("reason", data.get("what"))))


def _how(event: _Event) -> str | None:
    """Return what was decided: an end, or the step that a decision leads to."""
    step = event.data.get("step") if event.type == "irregularity.step" else None
    return _text(event.data.get("how", step))


def _rule(data: Mapping[str, Any]) -> str | None:
    return _text(data.get("rule"))


def _details(event: _Event) -> list[str]:
    """Return what people changed of the cards, for a round that has its outcome."""
    data = event.data
    if event.type == "round.card_corrected":
        return [f"{_slot(data)}: {data.get('was')} -> {data.get('card')}"]
    if event.type == "round.card_moved" and isinstance(data.get("from"), dict):
        return [f"{_slot(data['from'])} -> {_slot(data)}"]
    if event.type == "round.entered":
        return [f"{hand}: {data.get(hand)}" for hand in ("player", "banker")]
    return []


def _slot(data: Mapping[str, Any]) -> str:
    hand = data.get("hand")
    return "none" if hand is None else f"{hand} {data.get('index')}"


def _number(round_id: str) -> tuple[int, ...]:
    """Return where a round stands among those of its table: its shoe and its number in that."""
    return tuple(int(number) for number in re.findall(r"-[sr]([0-9]+)", round_id)[-2:])


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
