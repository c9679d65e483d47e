"""Records as the file holds them: number a batch's events, pack its records, unpack them again.

In: a batch and the tables' counters; or a stored record and the one before it. Out: packed records
with the ids of their events; or a body. Must not know: files, chains. Hashes are made over what the
file holds.

The first byte of a packed body names its form. No unpacked body begins with such a byte: JSON
begins with ``{``, and raw bytes with a connection's number, of whose eight bytes the first is 0.
In the forms below, numbers are big-endian, and the digits are lengths in bytes.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.journal.batch import Batch, ChunkEntry, Counters, Entry, EventEntry, EventIds
from shoe_ctl.journal.record_format import LONGEST_UNPACKED_BYTES, WIRE_HEAD, Kind, Wire
from shoe_ctl.records import source_of, utc

DEFLATED: Final = 1
"""The form of JSON: raw deflate (RFC 1951) with the preset dictionary ``DICTIONARY``."""

COPY: Final = 2
"""The form of a restricted event that follows its public copy: the number in its id, without
leading zeros. Everything else is in the record before it."""

CHANGED_COPY: Final = 3
"""As ``COPY``, if the data differs: the length of the number (1) and the number; how many bytes
after the id are those of the public copy (2), and how many at the end (2); then the bytes between.
"""

FROM_SHOE: Final = 4
"""The form of raw bytes ``<``: the lengths of the connection's number (upper four bits) and of the
offset (lower four bits) in one byte; both numbers, without leading zeros; ``t_us`` (7); the bytes.
"""

TO_SHOE: Final = 5
"""As ``FROM_SHOE``, for raw bytes ``>``."""

EVENT: Final = 6
"""The form of an event: the epoch in its source (4), ``t_us`` (7), the length of the number in its
id (1) and the number. Then, deflated: the type, its closing quote, and what follows the time."""

INPUT: Final = 7
"""The form of an input: ``t_us`` (7). Then, deflated: the value of ``input``, its closing quote,
and what follows ``t_us``. Inputs in which a shoe identifies itself, and faults, are not packed:
verifying searches the stored bytes for them."""

HELLO: Final = b'"type":"hello"'
FAULT_INPUT: Final = b'{"input":"fault"'
"""An input that contains ``HELLO``, or begins with ``FAULT_INPUT``, is not packed."""

MOST_CHANGED: Final = 128
"""The most bytes that a changed copy may have of its own; with more, the event is deflated."""

# Each body is packed by itself, with a copy of one compressor, and a copy costs as much as its
# tables are large: a window of 8 KiB, which holds the dictionary, and a small hash table.
_WINDOW = 13
_MEMORY = 3
_LEVEL = 3
_MOST_BITS = -15  # raw deflate of any window
_LENGTHS = struct.Struct(">HH")
_LONGEST_START = 32
"""Bytes of an event that hold its type."""

_WAGERS = (
    '"dragon_bonus_banker","dragon_bonus_player","fabulous_4_banker","fabulous_4_player",'
    '"fabulous_pairs","fa_fa","dragon","egalite","pair_square","big","small","lucky_6",'
    '"odds":"1/2","odds":"11","odds":"20","odds":"35","odds":"50","odds":"8","odds":"12",'
    '"result":"push"},"result":"returned"},"banker_pair":{"player_pair":{"either_pair":{'
)

_RARE = (
    '"method.breached""withdrawal.closed""withdrawal.opened""wagers.restricted""wager.refused"'
    '"outage.opened""outage.closed""review.opened""review.closed""shoe.line_suspended"'
    '"shoe.holder_changed""shoe.not_aligned""shoe.unanswered""shoe.arm_refused""shoe.arm_taken"'
    '"shoe.change_due""shoe.connected","shoe.answered""shoe.counted""shoe.cleared""shoe.refused"'
    '"shoe.opened""shoe.loaded""shoe.alarm""shoe.fault""shoe.noted""shoe.told""shoe.lost"'
    '"table.resumed","table.halted","table.started""method.changed","round.card_corrected"'
    '"round.card_entered""round.entry_compared""round.first_hand""round.revised""round.void"'
    '"delivery.parked""delivery.taken""command.unrecorded""command.refused""frame.discarded"'
    '"irregularity.resolved"irregularity.raised"irregularity.step"instance_id":"key":"choices":['
    '"choice":"reason":"person":"position":"gaming_shift_manager""pit_manager""pit_supervisor"'
    '"consented_by":"message":{"code":"args":{"by":"command_id":"'
    '{"after":"state":{"state":"betting","t_us":,"inputs":,"shoes":,"rounds":,"irregularities":'
    ',"instances":{"public":,"restricted":},"host_boot":null,"shoe":{"round":{"link":{"up":true,'
    '"arm":false,"replay":false,"judges":true,"names_hands":true,"commands":false,'
    '"commands_known":[],"queries_known":[],"authenticated":false,"identified":true,'
    '"aligned":true,"device_id":"boot_id":null,"reports_arming":false,"connected":true,'
    '"claim":null,"refusal":null,"suspended":null,"since_us":0},"halt":null,'
    '"pending_irregularities":[],"unplaced":[],"pending_set":null,"arming":null,"wake_us":null,'
    '"answered":{},"answers":{},"outcomes":[["last_settled":null,"outbox":{"count":0,'
    '"waiting":[],"last":null},"undelivered":[]},"rules":"software":"0.2.0","format":2}'
    '{"input":"link_up","t_us":,"connection":,"profile":"reference","arm":true,"replay":true}'
    '{"input":"link_lost","t_us":,"connection":,"reason":"{"input":"restarted","t_us":'
    '{"call":"desire","armed":[{"call":"tick","t_s":{"call":"command","calls":[],"connection":'
    '"set_id":"deck":"french52","decks":8,"device_id":"firmware":"boot_id":"drawn":,"resumed":true'
    '"type":"hello","type":"shoe_loaded","type":"cutting_card","type":"discarded","count":1,'
    '"type":"cards_drawn","cards":["order_known":false,"type":"card_returned","type":"alarm",'
    '"type":"shuffled","type":"started","type":"gap","hand":"burn","index":null,"placed":false,'
)

_FREQUENT = (
    'tick"}command","command_id":"","command":"'
    '"place_your_bets","no_more_bets","announce_totals","announce_outcome","settle","expose",'
    '"args":{"hand":"player"},"args":{"hand":"banker"},"args":{},"person":"","position":"dealer",'
    '"user":"","on_behalf_of":null,"reason":null,"consented_by":null}'
    'shoe","event":{"type":"result","winner":"player","player_pair":true,"banker_pair":true},'
    '"connection":1,"seq":"'
    'shoe","event":{"type":"result","winner":"tie","player_pair":false,"banker_pair":false},'
    '"connection":1,"seq":"'
    'shoe","event":{"type":"result","winner":"banker","player_pair":false,"banker_pair":false},'
    '"connection":1,"seq":"'
    'shoe","event":{"type":"standby"},"connection":1,"seq":"'
    '"hand":"player","index":3,"face_up":false},"hand":"banker","index":3,"face_up":false},'
    '"hand":"banker","index":1,"face_up":false},"hand":"banker","index":2,"face_up":false},'
    '"hand":"player","index":2,"face_up":false},'
    'shoe","event":{"type":"card_drawn","card":"8C","hand":"player","index":1,"face_up":false},'
    '"connection":1,"seq":"1","first":'
    'shoe","event":{"type":"card_drawn","card":"KD","number":1,"armed":true,"face_up":false,'
    '"confidence":100},"connection":1,"seq":1,"first":'
    'shoe","event":{"type":"status","armed":1,"drawn":1,"unacknowledged":0,'
    '"locked_by_key":false},"connection":1,"seq":null,"first":'
    'shoe","event":{"type":"status","drawn":1,"unacknowledged":1,"locked_by_key":false},'
    '"connection":1,"seq":null,"first":1,"last":1}'
    'round.outcome","subject":""data":{"banker":{"cards":["4H","KS","2D"],"natural":true,'
    '"total":8},"game":"tiger","game_sha256":'
    '"c0bb5bd25a3e1a2b960d1e77470d2258e2a5115ddf0fef8b4e06d8866e815ab9",'
    '"inferred":true,"manual":false,"method":"B","player":{"cards":["AC","9H","TD"],'
    '"natural":false,"total":0},"round_id":"","rules":["3.16"],"shoe_id":"","table":"",'
    '"wagers":{"banker":{"result":"lose"},"big_tiger":{"result":"lose"},"player":{"odds":"1",'
    '"result":"win"},"small_tiger":{"result":"lose"},"tie":{"odds":"8","result":"win"},"tiger":{'
    '"tiger_pair":{"odds":"8","result":"win"},"tiger_tie":{"odds":"35","result":"win"}},'
    '"winner":"tie"},"player":{"result":"push"},"banker":{"result":"push"},'
    '"wagers":{"banker":{"odds":"19/20","result":"win"},"big_tiger":{"result":"lose"},'
    '"player":{"result":"lose"},"small_tiger":{"result":"lose"},"tie":{"result":"lose"},'
    '"tiger":{"result":"lose"},"tiger_pair":{"result":"lose"},"tiger_tie":{"result":"lose"}},'
    '"winner":"player"},"winner":"banker"},"specversion":"1.0"}'
    'round.settled","subject":"-s1-r1","data":{"inferred":false,"round_id":"'
    'round.bets_closed","subject":"-s1-r1","data":{"inferred":true,"round_id":"'
    'round.opened","subject":"-s1-r1","data":{"inferred":true,"round_id":"","shoe_id":"'
    'round.total_announced","subject":"-s1-r1","data":{"hand":"player","inferred":true,'
    '"round_id":"","total":"hand":"banker","inferred":true,"round_id":"'
    'round.card_drawn","subject":"-s1-r1","data":{"card":"8C","hand":"player","index":2,"number":'
    '"hand":"banker","index":2,"number":"hand":"player","index":1,"number":'
    '"hand":"banker","index":1,"number":"hand":"player","index":3,"number":'
    '"hand":"banker","index":3,"number":1'
    'round.card_revealed","subject":"-s1-r1","data":{"card":"KH","hand":"player","index":2,'
    '"round_id":"round.card_dealt","subject":"-s1-r1","data":{"face":"up","hand":"player","index":1,'
    '"round_id":"","hand":"player","index":2,"round_id":"","hand":"player","index":3,"round_id":"'
    '","hand":"banker","index":3,"round_id":"","hand":"banker","index":2,"round_id":"'
    'round.card_dealt","subject":"bac-01-s1-r1","data":{"face":"up","hand":"banker","index":1,'
    '"round_id":"bac-01-s1-r1","total":0},"specversion":"1.0"}'
    '","data":{"round_id":"bac-01-s1-r1"},"specversion":"1.0"}'
)

DICTIONARY: Final = (_WAGERS + _RARE + _FREQUENT).encode()
"""The preset dictionary of deflated bodies. It never changes: another one needs another form."""

_deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, -_WINDOW, _MEMORY, zdict=DICTIONARY)
_new_deflater = _deflater.copy

COPIES: Final = frozenset((bytes((COPY,)), bytes((CHANGED_COPY,))))
"""The first bytes of copies: to unpack one, the record before it is needed."""

_1970 = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DEFLATED = bytes((DEFLATED,))
_EVENT, _INPUT_FORM = bytes((EVENT,)), bytes((INPUT,))
_COPY = bytes((COPY,))
_CHANGED_COPY = bytes((CHANGED_COPY,))
_PUBLIC, _RESTRICTED = Kind.PUBLIC.value, Kind.RESTRICTED.value
_INPUT, _WIRE, _CHECKPOINT = Kind.INPUT.value, Kind.WIRE.value, Kind.CHECKPOINT.value
_DIRECTIONS = {b"<": FROM_SHOE, b">": TO_SHOE}
_END_US = 10**16
_WIRE_SIZE = WIRE_HEAD.size
_BRACE = 0x7B
_BYTE = tuple(bytes((value,)) for value in range(256))


_event = re.compile(
    rb'\{"id":"([^"\\]*)/([pr])([1-9][0-9]{0,17})","source":"/journal/([0-9a-f]{8})/table/([^"\\]*)",'
    rb'"type":"([^"\\]*)","time":"([^"\\]*)",'
).match
_input = re.compile(rb'\{"input":"([^"\\]*)","t_us":(0|[1-9][0-9]{0,15}),').match

# A batch as records.

_MOST_US = 1 << 56  # a packed body has seven bytes for a time
_plain = re.compile(r"[ !#-\[\]-~]*").fullmatch
_eight_digits = re.compile(r"[0-9a-f]{8}").fullmatch
_encoder = msgspec.json.Encoder(order="deterministic")


class EncodedRecord(msgspec.Struct, frozen=True):
    """A record ready to be stored, but for its number and its hash."""

    table: str
    kind: str
    body: bytes
    connection: int | None = None
    t_us: int | None = None


class EncodedBatch(msgspec.Struct, frozen=True):
    """A batch encoded for storing: records, the events' ids, the devices' last event numbers."""

    records: list[EncodedRecord]
    ids: dict[int, EventIds]
    devices: list[tuple[str, str, int]]


PackedRecord = tuple[str, str, bytes, bytes | None, int | None, int | None]
"""A record ready to be stored: table, kind, and the bytes for the file; then the envelope's bytes
(None unless it is an event), and the connection and the time for the table's head (None if not
given)."""


class PackedBatch(msgspec.Struct, frozen=True):
    """As ``EncodedBatch``, with its records as the file holds them."""

    records: list[PackedRecord]
    ids: dict[int, EventIds]
    devices: list[tuple[str, str, int]]


class _Outgoing(msgspec.Struct, frozen=True):
    """``records.Envelope`` whose data is encoded already."""

    id: str
    source: str
    type: str
    time: str
    subject: str | UnsetType
    data: msgspec.Raw
    specversion: str = "1.0"


def encode_batch(batch: Batch, counters: Callable[[str], Counters]) -> EncodedBatch:
    """Give the events their ids and every record its exact bytes.

    ``counters`` returns the counters of a table, which are then increased.
    """
    found = pack_batch(batch, counters, packs=False)
    records = [
        EncodedRecord(table, kind, body, connection, t_us)
        for table, kind, body, _, connection, t_us in found.records
    ]
    return EncodedBatch(records, found.ids, found.devices)


def pack_batch(batch: Batch, counters: Callable[[str], Counters], *, packs: bool) -> PackedBatch:
    """Give the events their ids and every record its exact bytes, packed for the file or not.

    ``counters`` returns the counters of a table, which are then increased.

    This runs for every card. What a card brings is therefore packed from its parts, and no body is
    made of them first. The bytes are those that a ``Packer`` would return; it packs the rest.
    """
    packer = Packer() if packs else None
    records: list[PackedRecord] = []
    ids: dict[int, EventIds] = {}
    devices: list[tuple[str, str, int]] = []
    epoch, of = batch.epoch, Counters()
    last: str | None = None
    for handle, entry in enumerate(batch.entries):
        if isinstance(entry, EventEntry):
            if entry.table != last:  # mostly all of them are of one table
                last, of = entry.table, counters(entry.table)
            common = _common_parts(entry, epoch)
            if common is None:
                ids[handle] = _add_escaped_event(entry, epoch, of, packer, records)
            else:
                ids[handle] = _add_event(entry, common, of, records, packs=packs)
        elif isinstance(entry, ChunkEntry):
            stored = None if packer is None else _pack_chunk(entry)
            if stored is None:
                stored = _wire_body(entry)
            records.append((entry.table, _WIRE, stored, None, None, None))
        elif isinstance(entry, Entry):
            table, kind, stored = entry.table, entry.kind._value_, entry.body
            if packer is not None:
                stored = _pack_entry(entry, kind, packer)
            records.append((table, kind, stored, None, entry.connection, entry.t_us))
        else:
            devices.append((entry.table, entry.device_id, entry.seq))
    return PackedBatch(records, ids, devices)


def _pack_chunk(chunk: ChunkEntry) -> bytes | None:
    return pack_wire(
        chunk.connection, chunk.direction._value_, chunk.offset, chunk.t_us, chunk.data
    )


def _pack_entry(entry: Entry, kind: str, packer: Packer) -> bytes:
    packed, body = None, entry.body
    if entry.t_us is not None:
        packed = pack_shoe_input(body, entry.t_us)
    if packed is None:
        return packer.pack(entry.table, kind, body)
    return _shorter(packed, body)


def _wire_body(chunk: ChunkEntry) -> bytes:
    return Wire(
        connection=chunk.connection,
        direction=chunk.direction,
        offset=chunk.offset,
        t_us=chunk.t_us,
        data=chunk.data,
    ).to_bytes()


def _add_event(
    event: EventEntry,
    common: _Common,
    counters: Counters,
    records: list[PackedRecord],
    *,
    packs: bool,
) -> EventIds:
    """Add an event's copies: one, or two which share most of what follows their ids."""
    epoch, start, source_and_type, type_, before_data = common
    table, t_us, data, secret = event.table, event.t_us, event.public, event.restricted
    behind_id = b"".join((source_and_type, type_, _time_in_json(t_us), before_data))
    public, public_body = None, None
    if data is not None:
        counters.public = number = counters.public + 1
        public = f"{table}/p{number}"
        stored = public_body = b'%bp%d%b%b,"specversion":"1.0"}' % (start, number, behind_id, data)
        if packs:
            rest = b'%b"%b%b,"specversion":"1.0"}' % (type_, before_data, data)
            stored = _shorter(pack_event(epoch, t_us, number, rest), public_body)
        records.append((table, _PUBLIC, stored, public_body, None, None))
    counters.restricted = number = counters.restricted + 1
    stored = body = b'%br%d%b%b,"specversion":"1.0"}' % (start, number, behind_id, secret)
    if packs:
        copy = None
        if public_body is not None:
            copy = pack_same_copy(number) if secret is data else pack_copy(body, public_body)
        if copy is None:
            rest = b'%b"%b%b,"specversion":"1.0"}' % (type_, before_data, secret)
            copy = pack_event(epoch, t_us, number, rest)
        stored = _shorter(copy, body)
    records.append((table, _RESTRICTED, stored, body, None, None))
    return EventIds(public, f"{table}/r{number}")


def _shorter(packed: bytes, body: bytes) -> bytes:
    return packed if len(packed) < len(body) <= LONGEST_UNPACKED_BYTES else body


def _add_escaped_event(
    event: EventEntry,
    epoch: str,
    counters: Counters,
    packer: Packer | None,
    records: list[PackedRecord],
) -> EventIds:
    """Add an event with a name in which JSON escapes something."""
    table, public = event.table, None
    source = source_of(epoch, table)
    copies = []
    if event.public is not None:
        counters.public += 1
        public = f"{table}/p{counters.public}"
        copies.append((_PUBLIC, _envelope(event, source, public, event.public)))
    counters.restricted += 1
    restricted = f"{table}/r{counters.restricted}"
    copies.append((_RESTRICTED, _envelope(event, source, restricted, event.restricted)))
    for kind, body in copies:
        stored = body if packer is None else packer.pack(table, kind, body)
        records.append((table, kind, stored, body, None, None))
    return EventIds(public, restricted)


_Common = tuple[bytes, bytes, bytes, bytes, bytes]


def _common_parts(event: EventEntry, epoch: str) -> _Common | None:
    """Return what both copies of an event share.

    That is the epoch's bytes, and of the envelope its start, the part from the source to the type,
    the type, and the part between the time and the data. None if JSON escapes something in a name,
    or the epoch or the time cannot be packed.
    """
    table, type_ = _as_in_json(event.table), _as_in_json(event.type)
    binary = _epoch_bytes(epoch)
    if table is None or type_ is None or binary is None or not 0 <= event.t_us < _MOST_US:
        return None
    if event.subject is None:
        data = b',"data":'
    else:
        subject = _as_in_json(event.subject)
        if subject is None:
            return None
        data = b',"subject":"%b","data":' % subject
    source = b'","source":"/journal/%b/table/%b","type":"' % (epoch.encode(), table)
    return binary, b'{"id":"%b/' % table, source, type_, data


@lru_cache(1 << 14)
def _as_in_json(name: str) -> bytes | None:
    """Return a name as JSON has it between quotes; None if something in it is escaped."""
    return name.encode() if _plain(name) else None


@lru_cache(64)
def _time_in_json(t_us: int) -> bytes:
    """Return the part of an envelope with the time. All events of an input share it."""
    return f'","time":"{utc(t_us)}"'.encode()


@lru_cache(64)
def _epoch_bytes(epoch: str) -> bytes | None:
    return bytes.fromhex(epoch) if _eight_digits(epoch) else None


def _envelope(event: EventEntry, source: str, id_: str, data: bytes) -> bytes:
    return _encoder.encode(
        _Outgoing(
            id=id_,
            source=source,
            type=event.type,
            time=utc(event.t_us),
            subject=UNSET if event.subject is None else event.subject,
            data=msgspec.Raw(data),
        )
    )


# Bodies, one by one.


class Packer:
    """Packs bodies in the order of their records, within one commit."""

    def __init__(self) -> None:
        self._public: tuple[str, bytes] | None = None
        self._time = (b"", 0)

    def pack(self, table: str, kind: str, body: bytes) -> bytes:
        """Return the bytes that the file holds for the next record."""
        public, self._public = self._public, None
        if kind == _WIRE:
            return _pack_wire(body)
        if kind == _CHECKPOINT:
            return body  # its signature comes first, and may begin with any byte
        packed = None
        if kind == _PUBLIC:
            self._public = (table, body)
            packed = self._pack_event(table, b"p", body)
        elif kind == _RESTRICTED:
            if public is not None and public[0] == table:
                packed = pack_copy(body, public[1])
            if packed is None:
                packed = self._pack_event(table, b"r", body)
        elif kind == _INPUT:
            packed = _pack_input(body)
        if packed is None:
            if body[:1] != b"{" or (kind == _INPUT and is_landmark(body)):
                return body
            packed = _DEFLATED + _deflate(body)
        return packed if len(packed) < len(body) <= LONGEST_UNPACKED_BYTES else body

    def _pack_event(self, table: str, audience: bytes, body: bytes) -> bytes | None:
        found = _event(body)
        if found is None:
            return None
        by_id, letter, number, epoch, by_source, type_, time = found.groups()
        if letter != audience or not by_id == by_source == table.encode():
            return None
        if self._time[0] != time:
            t_us = _time_us(time)
            if t_us is None:
                return None
            self._time = (time, t_us)
        rest = type_ + body[found.end() - 2 :]
        return pack_event(bytes.fromhex(epoch.decode()), self._time[1], int(number), rest)


def pack_event(epoch: bytes, t_us: int, number: int, rest: bytes) -> bytes:
    """Pack an event: see ``EVENT``. ``number`` is the one in its id, ``rest`` what is deflated."""
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    deflater = _new_deflater()
    deflated = deflater.compress(rest)
    return b"".join(
        (
            *(_EVENT, epoch, t_us.to_bytes(7, "big"), _BYTE[len(digits)], digits),
            *(deflated, deflater.flush()),
        )
    )


def pack_same_copy(number: int) -> bytes:
    """Pack the restricted copy of the public event before it, if only the id differs."""
    return _COPY + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _time_us(time: bytes) -> int | None:
    """Return a time in µs since 1970 UTC; None if it is not in the format of events."""
    try:
        text = time.decode("ascii")
        since = datetime.fromisoformat(text) - _1970
        t_us = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    except (ValueError, TypeError):
        return None
    return t_us if 0 <= t_us < 1 << 56 and utc(t_us) == text else None


def is_landmark(input_: bytes) -> bool:
    """Return True if an input is never packed."""
    return HELLO in input_ or input_.startswith(FAULT_INPUT)


def pack_shoe_input(body: bytes, t_us: int) -> bytes | None:
    """Pack an input from a shoe, of this time; None if it is another input, or is never packed.

    It returns what ``Packer.pack`` does, without a search for the time.
    """
    if not 0 <= t_us < _END_US or HELLO in body:
        return None
    start = b'{"input":"shoe","t_us":%d,' % t_us
    if not body.startswith(start):
        return None
    deflater = _new_deflater()
    deflated = deflater.compress(b'shoe"' + body[len(start) :])
    return b"".join((_INPUT_FORM, t_us.to_bytes(7, "big"), deflated, deflater.flush()))


def _pack_input(body: bytes) -> bytes | None:
    found = _input(body)
    if found is None or is_landmark(body):
        return None
    what, t_us = found.groups()
    return _INPUT_FORM + int(t_us).to_bytes(7, "big") + _deflate(what + b'"' + body[found.end() :])


def _deflate(body: bytes) -> bytes:
    deflater = _new_deflater()
    return deflater.compress(body) + deflater.flush()


def pack_copy(body: bytes, public: bytes) -> bytes | None:
    """Pack the restricted copy of a public event as what differs; None if too much does."""
    at, at_public = body.find(b'"', 7), public.find(b'"', 7)
    start = public.rfind(b"/p", 7, at_public) + 2
    number = body[start:at]
    if start < 2 or at < 0 or not number.isdigit() or number[:1] == b"0":
        return None
    if body[: start - 1] != public[: start - 1] or body[start - 1 : start] != b"r":
        return None
    digits = _plain_bytes(int(number))
    rest, of_public = body[at:], public[at_public:]
    if rest == of_public:
        return _COPY + digits
    first, last = _shared(rest, of_public)
    between = rest[first : len(rest) - last]
    if len(between) > MOST_CHANGED or max(first, last) > 0xFFFF:
        return None
    return b"".join(
        (_CHANGED_COPY, bytes((len(digits),)), digits, _LENGTHS.pack(first, last), between)
    )


def _shared(one: bytes, other: bytes) -> tuple[int, int]:
    """Return how many bytes both share at the beginning, and how many of the rest at the end."""
    most = min(len(one), len(other))
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    first, low, high = low, 0, most - low
    while low < high:
        middle = (low + high + 1) // 2
        if one[-middle:] == other[-middle:]:
            low = middle
        else:
            high = middle - 1
    return first, low


def _plain_bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def pack_wire(
    connection: int, direction: bytes, offset: int, t_us: int, data: bytes
) -> bytes | None:
    """Pack raw bytes with their head; None if the form has no room for a value of it."""
    form = _DIRECTIONS.get(direction)
    if form is None or not 0 <= t_us < 1 << 56:
        return None
    at = connection.to_bytes((connection.bit_length() + 7) // 8, "big")
    since = offset.to_bytes((offset.bit_length() + 7) // 8, "big")
    lengths = _BYTE[len(at) << 4 | len(since)]
    return b"".join((_BYTE[form], lengths, at, since, t_us.to_bytes(7, "big"), data))


def _pack_wire(body: bytes) -> bytes:
    if len(body) < _WIRE_SIZE:
        return body
    connection, offset, t_us, direction = WIRE_HEAD.unpack_from(body)
    packed = pack_wire(connection, direction, offset, t_us, body[_WIRE_SIZE:])
    return body if packed is None else packed


def unpack(table: str, kind: str, stored: bytes) -> bytes:
    """Return a record's body from what the file holds. A copy needs ``unpack_copy``.

    Bytes that cannot be unpacked are returned as they are: their hash shows that they were altered.
    """
    form = stored[0] if stored else None
    if form == _BRACE or kind == _CHECKPOINT:
        return stored
    if form in (FROM_SHOE, TO_SHOE):
        return _unpack_wire(stored)
    if form == EVENT:
        return _unpack_event(table, kind, stored)
    if form == INPUT:
        rest = _inflate(stored[8:])
        end = -1 if rest is None else rest.find(b'"')
        if rest is None or end < 0:
            return stored
        t_us = int.from_bytes(stored[1:8], "big")
        return b'{"input":"%b","t_us":%d,%b' % (rest[:end], t_us, rest[end + 1 :])
    if form == DEFLATED and (body := _inflate(stored[1:])) is not None:
        return body
    return stored


def _inflate(deflated: bytes) -> bytes | None:
    """Return what was deflated; None if it is damaged."""
    inflater = zlib.decompressobj(_MOST_BITS, DICTIONARY)
    try:
        body = inflater.decompress(deflated, LONGEST_UNPACKED_BYTES)
    except zlib.error:
        return None
    return body if inflater.eof and not inflater.unused_data else None


def may_begin_with(stored: bytes, types: tuple[bytes, ...]) -> bool:
    """Return False if an event's type surely begins with none of these, without unpacking it all.

    A copy has no type of its own: ask for the record before it.
    """
    if stored[:1] != _EVENT or len(stored) < 13:
        return True
    inflater = zlib.decompressobj(_MOST_BITS, DICTIONARY)
    try:
        return inflater.decompress(stored[13 + stored[12] :], _LONGEST_START).startswith(types)
    except zlib.error:
        return True


def _unpack_event(table: str, kind: str, stored: bytes) -> bytes:
    start = 13 + stored[12] if len(stored) > 12 else len(stored)
    rest = _inflate(stored[start:])
    end = -1 if rest is None else rest.find(b'"')
    if rest is None or end < 0:
        return stored
    name = table.encode()
    return b'{"id":"%b/%b%d","source":"/journal/%b/table/%b","type":"%b","time":"%b"%b' % (
        name,
        b"p" if kind == _PUBLIC else b"r",
        int.from_bytes(stored[13:start], "big"),
        stored[1:5].hex().encode(),
        name,
        rest[:end],
        _time_of(stored[5:12]),
        rest[end + 1 :],
    )


@lru_cache(64)
def _time_of(t_us: bytes) -> bytes:
    try:
        return utc(int.from_bytes(t_us, "big")).encode()
    except OverflowError:
        return t_us


def _unpack_wire(stored: bytes) -> bytes:
    if len(stored) < 2:
        return stored
    middle = 2 + (stored[1] >> 4)
    end = middle + (stored[1] & 15)
    if len(stored) < end + 7 or max(middle - 2, end - middle) > 8:
        return stored
    connection = int.from_bytes(stored[2:middle], "big")
    offset = int.from_bytes(stored[middle:end], "big")
    t_us = int.from_bytes(stored[end : end + 7], "big")
    direction = b"<" if stored[0] == FROM_SHOE else b">"
    return WIRE_HEAD.pack(connection, offset, t_us, direction) + stored[end + 7 :]


def unpack_copy(stored: bytes, public: bytes) -> bytes:
    """Return the body of a restricted copy of this public event; the stored bytes if it is none."""
    at = public.find(b'"', 7)
    start = public.rfind(b"/p", 7, at) + 1
    if start < 1 or at < 0:
        return stored
    name = public[:start]
    if stored[0] == COPY:
        return b"%br%d%b" % (name, int.from_bytes(stored[1:], "big"), public[at:])
    of_public = public[at:]
    digits = stored[1] if len(stored) > 1 else 0
    body = 2 + digits + _LENGTHS.size
    if len(stored) < body:
        return stored
    number = int.from_bytes(stored[2 : 2 + digits], "big")
    first, last = _LENGTHS.unpack_from(stored, 2 + digits)
    if first + last > len(of_public):
        return stored
    rest = of_public[:first] + stored[body:] + of_public[len(of_public) - last :]
    return b"%br%d%b" % (name, number, rest)
