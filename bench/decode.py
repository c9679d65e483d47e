"""How fast a card's frame becomes a typed event, side by side with what others do.

In: --frames, --runs, --commit, --json. Out: a table, or JSON: each figure beside its promise, the
median of the runs' ratios and their range. Exits 1 where a promise is missed.
Each profile is fed as a serial line delivers bytes: a frame at once, in two halves, byte by byte.
So are the others, with frames of exactly the same length: pymodbus (Modbus RTU, a typed response
out), bellows (ASH, the frames of EZSP; their content is left as bytes) and a loop whose COBS, CRC
and unpacking are C. Cards repeat in a shoe, and in a run: a vendor's frame has few forms, so that
all but the first of each are looked up, and give one shared event. What a frame takes the first
time, when its layout reads it, has a row of its own. The profiles as they were at an earlier
commit, which git exports, run in the same process. Runs are short and alternate, and this thread's
own time is taken: a machine that slows down slows all, and what else it does is not counted.
"""

from __future__ import annotations

import argparse
import gc
import struct
import sys
from binascii import crc_hqx
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import thread_time_ns
from types import ModuleType
from typing import NamedTuple

from bellows.ash import AshProtocol, DataFrame, Reserved
from cobs import cobs
from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU
from pymodbus.pdu.register_message import (
    ReadHoldingRegistersResponse,
    WriteSingleRegisterResponse,
)

from bench._promises import Promise, report
from bench._table import packages_at
from firmware_proto.cards import FRENCH52, Card
from firmware_proto.events import CardDrawn, Hello
from firmware_proto.profiles import profile
from firmware_proto.reference.codec import Message, body_of
from firmware_proto.reference.framing import frame_body
from firmware_proto.reference.mac import SessionKeys, Transcript

VENDORS_LEAST = 4.0
"""Times pymodbus, for ``angel_eye`` and ``bee_tek``, however the bytes come."""

FIRST_LEAST = {"angel_eye": 0.4, "bee_tek": 0.9}
"""Times pymodbus, when a card is read for the first time, by its layout. That is slower than a fast
path of its own would be, and each card costs it once."""

REFERENCE_LEAST = 5.0
"""Times pymodbus and times bellows, for ``reference``, a frame at once. With keys every frame is
proved, too, which neither of the others does."""

BEFORE = "5c93acea"
"""The last commit before the other profiles had a fast path."""

NOT_SLOWER = 0.9
"""Times itself at that commit: on a busy machine the same code differs by less."""

OUTER = 10
"""The range leaves out one run in so many at each end."""

BYTEWISE_SHARE = 5
"""Of the frames one in so many is fed byte by byte, and one in so many is read by its layout."""

FIRST_CARDS = 48
"""Each of them another card: those of a ten are left out."""

CRC_START = 0xFFFF
ASH_NUMBERS = 8
KEY = bytes(range(32))
TRANSCRIPT = Transcript(1, bytes(16), bytes(range(16)), 7, "SH-0042")

Feed = Callable[[Sequence[bytes]], int]
"""Feeds these chunks to a fresh end of a line, and counts what they gave."""


class Way(NamedTuple):
    """One way to decode: its frames, each an event, and a fresh end of a line to feed them to."""

    frames: list[bytes]
    start: Callable[[], Feed]
    first: bytes = b""
    """What is fed before the time is taken."""


# --- the ways ------------------------------------------------------------------------------------


class Package(NamedTuple):
    """The modules of ``firmware_proto`` that are measured: today's, or those of a commit."""

    angel_eye: ModuleType
    bee_tek: ModuleType
    authentication: ModuleType
    host: ModuleType
    mac: ModuleType


MODULES = (
    "angel_eye.profile", "bee_tek.profile",
    "reference.authentication", "reference.host", "reference.mac",
)  # fmt: skip


def package(folder: Path | None = None) -> Package:
    """``firmware_proto`` as this process has it, or as a folder has it, beside the other."""
    if folder is None:
        return Package(*(import_module(f"firmware_proto.{name}") for name in MODULES))
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ours(name)}
    sys.path.insert(0, str(folder))
    try:
        found = package()
    finally:
        sys.path.remove(str(folder))
        for name in filter(_is_ours, list(sys.modules)):
            del sys.modules[name]
        sys.modules.update(ours)
    if not all(str(module.__file__).startswith(str(folder)) for module in found):
        raise SystemExit(f"the package of {folder} is not imported from there")
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "firmware_proto"


def reference(of: Package, count: int, *, keyed: bool) -> Way:
    """The reference profile: a host that met its shoe, with keys or without."""
    sign = SessionKeys.by_shoe(TRANSCRIPT, KEY).signer.sign
    hello, *cards = [
        frame_body(sign(body) or b"" if keyed else body) for body in reference_bodies(count)
    ]

    def start() -> Feed:
        auth = None
        if keyed:  # as after one challenge and its answer
            auth = of.authentication.KeyAuthenticator(of.mac.HostKeys({"SH-0042": {1: KEY}}, bytes))
            transcript = of.mac.Transcript(1, bytes(16), bytes(range(16)), 7, "SH-0042")
            auth._session_keys = of.mac.SessionKeys.by_host(transcript, KEY)  # noqa: SLF001
        return session(of.host.ReferenceHost(None, auth=auth))

    return Way(cards, start, hello)


def reference_bodies(count: int) -> list[bytes]:
    """As a shoe sends them: who it is, then a card after another, numbered."""
    hello = Hello(device_id="SH-0042", firmware="1.0", boot_id=7, deck="french52")
    said: list[tuple[Hello | CardDrawn, int]] = [(hello, 1)]
    for n in range(count):
        card = FRENCH52.cards[n % 52]
        said.append((CardDrawn(card=card, number=n % 416 + 1, armed=True, confidence=99), n + 1))
    return [
        body_of(Message(content=event, seq=seq, boot_id=7, t_us=1_000_000 + 700_000 * seq))
        for event, seq in said
    ]


def vendor(of: Package, name: str, count: int) -> Way:
    """A vendor's profile; frames of a ten are left out, as they may be longer."""
    shoe = profile(name).device_session(settings={})
    hands = [("player", 1), ("banker", 1), ("player", 2), ("banker", 2)]
    cards = [card for card in FRENCH52.cards if card.rank.value != "T"]
    frames = []
    for n in range(count):
        hand, index = hands[n % 4] if name == "angel_eye" else (None, None)
        event = CardDrawn(card=cards[n % len(cards)], hand=hand, index=index)
        shoe.send(event, seq=n, t_us=n)
        frames.append(shoe.outgoing())

    def start() -> Feed:
        return session(getattr(of, name).host_session(resume=None, settings={}))

    return Way(frames, start)


def session(host: object) -> Feed:
    """What the daemon does: a session, from bytes to events with their place."""
    receive = host.receive  # type: ignore[attr-defined]

    def feed(chunks: Sequence[bytes]) -> int:
        events = 0
        for chunk in chunks:
            events += len(receive(chunk, 1.0))
        return events

    return feed


def modbus(frame_bytes: int, count: int) -> Way:
    """pymodbus: a client's responses, its buffer kept as its transport keeps it."""
    framer = FramerRTU(DecodePDU(is_server=False))
    registers = (frame_bytes - 5) // 2  # address, function, byte count and CRC take 5 bytes
    frame = framer.buildFrame(
        WriteSingleRegisterResponse(address=0x1234, registers=[0x1234], dev_id=1)
        if frame_bytes == 8
        else ReadHoldingRegistersResponse(
            registers=[0x1234 + n for n in range(registers)], dev_id=1
        )
    )

    def start() -> Feed:
        handle = FramerRTU(DecodePDU(is_server=False)).handleFrame

        def feed(chunks: Sequence[bytes]) -> int:
            events, waiting = 0, b""
            for chunk in chunks:
                waiting += chunk
                used, response = handle(waiting, 1, 0)
                waiting = waiting[used:]
                events += response is not None
            return events

        return feed

    return Way([frame] * count, start)


class _Ezsp:
    """Counts what bellows hands on."""

    def __init__(self) -> None:
        self.frames = 0

    def data_received(self, data: bytes) -> None:  # noqa: ARG002
        self.frames += 1


def ash(frame_bytes: int, count: int) -> Way:
    """bellows: DATA frames in their turn, acknowledged by someone else."""
    frames = [_ash_frame(number, frame_bytes - 4) for number in range(ASH_NUMBERS)]

    def start() -> Feed:
        ezsp = _Ezsp()
        received = AshProtocol(ezsp, suppress_acks=True).data_received

        def feed(chunks: Sequence[bytes]) -> int:
            for chunk in chunks:
                received(chunk)
            return ezsp.frames

        return feed

    return Way([frames[n % ASH_NUMBERS] for n in range(count)], start)


def _ash_frame(number: int, payload_bytes: int) -> bytes:
    """A DATA frame of which no byte has to be escaped: control byte, CRC and flag are the rest."""
    for fill in range(0x40, 0x70):
        plain = DataFrame._randomize(bytes([fill] * payload_bytes))  # noqa: SLF001
        frame = DataFrame(frm_num=number, re_tx=False, ack_num=0, ezsp_frame=plain).to_bytes()
        if AshProtocol._stuff_bytes(frame) == frame:  # noqa: SLF001
            return bytes(frame) + bytes([Reserved.FLAG])
    raise SystemExit("every payload has to be escaped")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvent:
    """The typed event of the C-assisted loop."""

    number: int
    card: Card
    place: int
    rest: bytes


def c_loop(frame_bytes: int, count: int) -> Way:
    """What a few lines of Python make of C's COBS, CRC and struct; no sequence, no repeats."""
    card_of = dict(enumerate(FRENCH52.cards))
    layout = struct.Struct(f"<HBB{frame_bytes - 8}s2x")  # COBS, CRC and delimiter take 4 bytes
    frames = []
    for n in range(count):
        body = struct.pack(f"<HBB{frame_bytes - 8}s", n, n % 52, n % 6, bytes(frame_bytes - 8))
        whole = body + crc_hqx(body, CRC_START).to_bytes(2, "big")
        frames.append(cobs.encode(whole) + b"\0")

    def start() -> Feed:
        decode, unpack = cobs.decode, layout.unpack

        def feed(chunks: Sequence[bytes]) -> int:
            events, waiting = 0, b""
            for chunk in chunks:
                waiting += chunk
                while (end := waiting.find(0)) >= 0:
                    frame, waiting = decode(waiting[:end]), waiting[end + 1 :]
                    if not crc_hqx(frame, CRC_START):
                        number, card, place, rest = unpack(frame)
                        LoopEvent(number=number, card=card_of[card], place=place, rest=rest)
                        events += 1
            return events

        return feed

    return Way(frames, start)


# --- the measurement -----------------------------------------------------------------------------


def at_once(frame: bytes) -> list[bytes]:
    """The frame in one feed."""
    return [frame]


def in_halves(frame: bytes) -> list[bytes]:
    """The frame in two feeds."""
    half = len(frame) // 2
    return [frame[:half], frame[half:]]


def bytewise(frame: bytes) -> list[bytes]:
    """Each byte in a feed of its own."""
    return [frame[at : at + 1] for at in range(len(frame))]


DELIVERED = {"at once": at_once, "in halves": in_halves, "byte by byte": bytewise}


def timed(way: Way, chunks: Sequence[bytes], count: int) -> float:
    """Nanoseconds a frame; the collector runs between runs, not in them."""
    feed = way.start()
    if way.first:
        feed([way.first])
    before = feed([])
    gc.collect()
    gc.disable()
    try:
        start = thread_time_ns()
        events = feed(chunks)
        took = thread_time_ns() - start
    finally:
        gc.enable()
    if events - before != count:
        raise SystemExit(f"{count} frames gave {events - before} events")
    return took / count


class Figures(NamedTuple):
    """The times of one profile, and of the others at its frame's length, for one delivery."""

    name: str
    ns: dict[str, list[float]]
    """Of each way, its runs in turn."""

    def promise(self, other: str, least: float | None) -> Promise:
        """How many times as fast as another way."""
        ratios = [
            theirs / ours for theirs, ours in zip(self.ns[other], self.ns["ours"], strict=True)
        ]
        name = f"{self.name}: times {other}"
        return Promise(name, median(ratios), least=least, spread=_range(ratios))

    @property
    def own(self) -> Promise:
        """What a frame takes."""
        return Promise(
            self.name, median(self.ns["ours"]), unit="ns a frame", spread=_range(self.ns["ours"])
        )


def _range(found: list[float]) -> tuple[float, float]:
    """The least and the most, but for the outermost."""
    outer = len(found) // OUTER
    return sorted(found)[outer], sorted(found)[-1 - outer]


def measure(
    ways: dict[str, dict[str, Way]], count: int, runs: int
) -> dict[str, dict[str, Figures]]:
    """Every way of each profile, each delivery in turn, after one run each that is not counted."""
    found: dict[str, dict[str, Figures]] = {}
    work: list[tuple[list[float], Way, list[bytes], int]] = []
    for name, beside in ways.items():
        size = len(beside["ours"].frames[0])
        found[name] = {}
        for how, cut in DELIVERED.items():
            frames = count // BYTEWISE_SHARE if cut is bytewise else count
            times: dict[str, list[float]] = {other: [] for other in beside}
            found[name][how] = Figures(f"{name}, {size} bytes {how}", times)
            for other, way in beside.items():
                if {len(frame) for frame in way.frames} != {size}:
                    raise SystemExit(f"{other} has no frames of {size} bytes")
                chunks = [chunk for frame in way.frames[:frames] for chunk in cut(frame)]
                work.append((times[other], way, chunks, frames))
    for run in range(runs + 1):
        if sys.stderr.isatty():
            print(f"\rrun {run} of {runs}", end="" if run < runs else "\r\033[K", file=sys.stderr)
        for times_of, way, chunks, frames in work:
            took = timed(way, chunks, frames)
            if run:
                times_of.append(took)
    return found


def first_reading(runs: int) -> list[Promise]:
    """What a card of a vendor's shoe takes the first time, when its layout reads it.

    Each run is one of each card, beside as many frames of pymodbus.
    """
    from firmware_proto.angel_eye import frames as angel_eye
    from firmware_proto.bee_tek import lines as bee_tek

    def forget() -> None:
        angel_eye.CARDS_READ.clear()
        angel_eye._read_layout.cache_clear()  # noqa: SLF001
        bee_tek.CARD_LINES.clear()
        bee_tek.read_line.cache_clear()

    found = []
    for name, least in FIRST_LEAST.items():
        way = vendor(package(), name, FIRST_CARDS)
        beside = modbus(len(way.frames[0]), FIRST_CARDS)
        figures = Figures(f"{name}, the first time of a card", {"ours": [], "pymodbus": []})
        for run in range(runs + 1):
            forget()
            ours = timed(way, way.frames, FIRST_CARDS)
            theirs = timed(beside, beside.frames, FIRST_CARDS)
            if run:
                figures.ns["ours"].append(ours)
                figures.ns["pymodbus"].append(theirs)
        found += [figures.own, figures.promise("pymodbus", least)]
    return found


def promises(
    found: dict[str, dict[str, Figures]], ways: dict[str, dict[str, Way]]
) -> list[Promise]:
    """Every figure, with what is promised of it."""
    rows = []
    for name, by_delivery in found.items():
        is_reference = name.startswith("reference")
        for how, figures in by_delivery.items():
            whole = how == "at once"
            own = (REFERENCE_LEAST if whole else None) if is_reference else VENDORS_LEAST
            least = {
                "pymodbus": own,
                "bellows": own if is_reference else None,
                "before": NOT_SLOWER if whole else None,
            }
            rows.append(figures.own)
            rows += [figures.promise(way, least.get(way)) for way in ways[name] if way != "ours"]
    return rows


def main() -> int:
    """Exits 1 where a promise is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--frames", type=int, default=500, help="of a run (default %(default)s)")
    parser.add_argument("--runs", type=int, default=31, help="of each (default %(default)s)")
    parser.add_argument("--commit", default=BEFORE, help="before (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.frames < BYTEWISE_SHARE or options.runs < 1:
        parser.error(f"--frames: {BYTEWISE_SHARE} at least; --runs: one at least")
    count = options.frames
    with packages_at(options.commit) as folder:
        now, before = package(), package(folder)
    ways = {
        "reference": {
            "ours": reference(now, count, keyed=False),
            "before": reference(before, count, keyed=False),
        },
        "reference with keys": {
            "ours": reference(now, count, keyed=True),
            "before": reference(before, count, keyed=True),
        },
        **{
            name: {"ours": vendor(now, name, count), "before": vendor(before, name, count)}
            for name in ("angel_eye", "bee_tek")
        },
    }
    for beside in ways.values():
        size = len(beside["ours"].frames[0])
        beside |= {
            "pymodbus": modbus(size, count),
            "bellows": ash(size, count),
            "a loop in C": c_loop(size, count),
        }
    rows = promises(measure(ways, count, options.runs), ways) + first_reading(options.runs)
    libraries = {name: version(name) for name in ("pymodbus", "bellows", "cobs")}
    if not options.json:
        shown = ", ".join(f"{name} {number}" for name, number in libraries.items())
        print(f"{count} frames a run, {options.runs} runs, alternating; {shown}")
    return report(rows, as_json=options.json, before=options.commit, **libraries)


if __name__ == "__main__":
    sys.exit(main())
