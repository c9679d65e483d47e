"""How fast one card frame per feed becomes a typed event, side by side with what others do.

In: --feeds, --runs, --json. Out: a table, or JSON: median ns a frame, median and range of the runs'
ratios. Frames compared have the same length. Runs are short and alternate, and this thread's own
time is taken: a machine that slows down slows all, and what else it does is not counted.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from time import thread_time_ns

from bellows.ash import AshProtocol, DataFrame, Reserved
from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU
from pymodbus.pdu.register_message import ReadHoldingRegistersResponse

from firmware_proto.cards import FRENCH52
from firmware_proto.events import CardDrawn, Hello
from firmware_proto.profiles import profile
from firmware_proto.reference.authentication import KeyAuthenticator
from firmware_proto.reference.codec import Message, body_of
from firmware_proto.reference.framing import frame_body
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys, SessionKeys, Transcript

WANTED = 5.0
"""The ratio that the project promises against each of the others, frame by frame, at equal length.
With keys every frame is proved, too, which neither of the others does."""

OUTER = 10
"""The range leaves out one run in so many at each end."""

LINE_BYTES_S = 115_200 / 10
WANTED_LINES = 3.0
"""Byte by byte: so many times what a line of 115,200 baud brings."""

MODBUS_OVERHEAD_BYTES = 5
"""Address, function code, byte count and CRC of a response that carries registers."""

ASH_OVERHEAD_BYTES = 4
"""Control byte, CRC and flag of a DATA frame, none of its bytes escaped."""

ASH_NUMBERS = 8

VENDORS = ("angel_eye", "bee_tek")

Run = Callable[[], None]
KEY = bytes(range(32))
TRANSCRIPT = Transcript(1, bytes(16), bytes(range(16)), 7, "SH-0042")


def bodies(count: int) -> list[bytes]:
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


def open_frames(count: int) -> list[bytes]:
    """Without MACs."""
    return [frame_body(body) for body in bodies(count)]


def sealed_frames(count: int) -> list[bytes]:
    """With MACs, as after one challenge and its answer."""
    seal = SessionKeys.by_shoe(TRANSCRIPT, KEY).signer.sign
    return [frame_body(seal(body) or b"") for body in bodies(count)]


def agreed_authenticator() -> KeyAuthenticator:
    """What a host has after the same challenge and answer."""
    auth = KeyAuthenticator(HostKeys({"SH-0042": {1: KEY}}, bytes))
    auth._session_keys = SessionKeys.by_host(TRANSCRIPT, KEY)  # noqa: SLF001 - the exchange is not measured
    return auth


def host_run(frames: list[bytes], *, keyed: bool) -> Run:
    """The daemon's way: a session that met its shoe, from bytes to events with their place."""
    hello, *cards = frames

    def run() -> None:
        session = ReferenceHost(None, auth=agreed_authenticator() if keyed else None)
        session.receive(hello, 0.0)
        receive = session.receive
        for frame in cards:
            if len(receive(frame, 1.0)) != 1:
                raise SystemExit("a frame gave no event")

    return run


def bytewise_run(frames: list[bytes], *, keyed: bool) -> Run:
    """The same, each byte in a feed of its own."""
    hello, *cards = frames
    stream = b"".join(cards)
    single = [stream[n : n + 1] for n in range(len(stream))]

    def run() -> None:
        session = ReferenceHost(None, auth=agreed_authenticator() if keyed else None)
        session.receive(hello, 0.0)
        receive = session.receive
        if sum(len(receive(byte, 1.0)) for byte in single) != len(cards):
            raise SystemExit("a frame gave no event")

    return run


def vendor_frames(name: str, count: int) -> list[bytes]:
    """A card after another, each in a frame of its own and of the same length."""
    session = profile(name).device_session(settings={})
    hand = "burn_count" if name == "angel_eye" else None
    cards = [card for card in FRENCH52.cards if card.rank.value != "T"]
    frames = []
    for n in range(count):
        event = CardDrawn(card=cards[n % len(cards)], hand=hand)
        session.send(event, seq=n, t_us=n)
        frames.append(session.outgoing())
    return frames


def vendor_run(name: str, frames: list[bytes]) -> Run:
    """The daemon's way with a vendor's shoe."""

    def run() -> None:
        receive = profile(name).host_session(resume=None, settings={}).receive
        for frame in frames:
            if len(receive(frame, 1.0)) != 1:
                raise SystemExit("a frame gave no event")

    return run


def vendor(name: str, count: int, runs: int) -> dict[str, object]:
    """A vendor's profile and pymodbus in turn, at equal length or a byte less."""
    frames = vendor_frames(name, count)
    size = len(frames[0])
    work = {"ours": vendor_run(name, frames), "pymodbus": modbus_run(size, count)}
    for run in work.values():
        run()
    times: dict[str, list[float]] = {key: [] for key in work}
    for _ in range(runs):
        for key, run in work.items():
            times[key].append(timed(run, count))
    ratios = [t / o for t, o in zip(times["pymodbus"], times["ours"], strict=True)]
    return {
        "frame_bytes": size,
        "ns": {key: median(taken) for key, taken in times.items()},
        "ratio": {"pymodbus": median(ratios)},
        "range": {"pymodbus": _range(ratios)},
    }


def modbus_run(frame_bytes: int, count: int) -> Run:
    """pymodbus, the same number of frames of the same length, or a byte less."""
    registers = (frame_bytes - MODBUS_OVERHEAD_BYTES) // 2
    framer = FramerRTU(DecodePDU(is_server=False))
    frame = framer.buildFrame(
        ReadHoldingRegistersResponse(registers=[0x1234 + n for n in range(registers)], dev_id=1)
    )
    if not 0 <= frame_bytes - len(frame) <= 1:
        raise SystemExit(f"pymodbus has no frame of {frame_bytes} bytes but of {len(frame)}")

    def run() -> None:
        handle = framer.handleFrame
        for _ in range(count):
            if handle(frame, 1, 0)[1] is None:
                raise SystemExit("pymodbus gave no response")

    return run


class _Ezsp:
    """Counts what bellows hands on."""

    def __init__(self) -> None:
        self.frames = 0

    def data_received(self, data: bytes) -> None:  # noqa: ARG002
        self.frames += 1


def _ash_frame(number: int, payload_bytes: int) -> bytes:
    """A DATA frame of which no byte has to be escaped, as short as it can be."""
    for fill in range(0x40, 0x70):
        plain = DataFrame._randomize(bytes([fill] * payload_bytes))  # noqa: SLF001
        frame = DataFrame(frm_num=number, re_tx=False, ack_num=0, ezsp_frame=plain).to_bytes()
        if AshProtocol._stuff_bytes(frame) == frame:  # noqa: SLF001
            return bytes(frame) + bytes([Reserved.FLAG])
    raise SystemExit("every payload has to be escaped")


def ash_run(frame_bytes: int, count: int) -> Run:
    """bellows, DATA frames of the same length in their turn, acknowledged by someone else."""
    frames = [_ash_frame(number, frame_bytes - ASH_OVERHEAD_BYTES) for number in range(ASH_NUMBERS)]
    if {len(frame) for frame in frames} != {frame_bytes}:
        raise SystemExit(f"bellows has no frames of {frame_bytes} bytes")

    def run() -> None:
        ezsp = _Ezsp()
        received = AshProtocol(ezsp, suppress_acks=True).data_received
        for n in range(count):
            received(frames[n % ASH_NUMBERS])
        if ezsp.frames != count:
            raise SystemExit("bellows lost a frame")

    return run


def timed(run: Run, count: int) -> float:
    """Nanoseconds a frame; the collector runs between runs, not in them."""
    gc.collect()
    gc.disable()
    try:
        start = thread_time_ns()
        run()
        return (thread_time_ns() - start) / count
    finally:
        gc.enable()


def compared(count: int, runs: int, *, keyed: bool) -> dict[str, object]:
    """Ours and the others in turn, ``runs`` times, after one run each that is not counted."""
    frames = sealed_frames(count) if keyed else open_frames(count)
    size = len(frames[1])
    work = {
        "ours": host_run(frames, keyed=keyed),
        "pymodbus": modbus_run(size, count),
        "bellows": ash_run(size, count),
        "bytewise": bytewise_run(frames, keyed=keyed),
    }
    for run in work.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(runs):
        for name, run in work.items():
            times[name].append(timed(run, count))
    ratios = {
        other: [t / o for t, o in zip(times[other], times["ours"], strict=True)]
        for other in ("pymodbus", "bellows")
    }
    bytes_s = size * 1e9 / median(times["bytewise"])
    return {
        "frame_bytes": size,
        "ns": {name: median(taken) for name, taken in times.items()},
        "ratio": {other: median(found) for other, found in ratios.items()},
        "range": {other: _range(found) for other, found in ratios.items()},
        "bytewise_bytes_s": bytes_s,
        "bytewise_lines": bytes_s / LINE_BYTES_S,
    }


def _range(found: list[float]) -> tuple[float, float]:
    """The least and the most, but for the outermost."""
    outer = len(found) // OUTER
    return sorted(found)[outer], sorted(found)[-1 - outer]


def measure(count: int, runs: int) -> dict[str, object]:
    """Everything, without keys and with."""
    return {
        "feeds": count,
        "runs": runs,
        "pymodbus": version("pymodbus"),
        "bellows": version("bellows"),
        "wanted_ratio": WANTED,
        "wanted_lines": WANTED_LINES,
        "open": compared(count, runs, keyed=False),
        "keyed": compared(count, runs, keyed=True),
        "vendors": {name: vendor(name, count, runs) for name in VENDORS},
    }


def show(result: dict[str, object]) -> None:
    """A table for people."""
    print(f"one frame a feed, {result['feeds']} feeds, median of {result['runs']} alternating runs")
    print(f"{'':42}{'without keys':>14}{'with keys':>14}")
    sides = [result["open"], result["keyed"]]

    def line(label: str, *path: str, form: str = ".0f") -> None:
        values = []
        for side in sides:
            value = side
            for key in path:
                assert isinstance(value, dict)
                value = value[key]
            both = value if isinstance(value, tuple) else (value,)
            values.append(f"{' - '.join(f'{v:{form}}' for v in both):>14}")
        print(f"{label:42}{''.join(values)}")

    line("bytes a frame", "frame_bytes")
    line("reference HostSession.receive, ns", "ns", "ours")
    line(f"pymodbus {result['pymodbus']} handleFrame, ns", "ns", "pymodbus")
    line(f"bellows {result['bellows']} ASH data_received, ns", "ns", "bellows")
    line("times pymodbus", "ratio", "pymodbus", form=".1f")
    line("  four runs in five", "range", "pymodbus", form=".1f")
    line("times bellows", "ratio", "bellows", form=".1f")
    line("  four runs in five", "range", "bellows", form=".1f")
    line("byte by byte, bytes a second", "bytewise_bytes_s")
    line("byte by byte, times 115,200 baud", "bytewise_lines", form=".1f")
    vendors = result["vendors"]
    assert isinstance(vendors, dict)
    for name, found in vendors.items():
        low, high = found["range"]["pymodbus"]
        print(
            f"{name}: {found['frame_bytes']} bytes, {found['ns']['ours']:.0f} ns a frame, "
            f"{found['ratio']['pymodbus']:.1f} times pymodbus ({low:.1f} - {high:.1f})"
        )
    print(
        f"wanted of reference, without keys and with: {WANTED:.0f} times each or better; "
        f"{WANTED_LINES:.0f} lines byte by byte"
    )


def main() -> None:
    """Reads the options, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--feeds", type=int, default=1_000, help="frames in a run")
    parser.add_argument("--runs", type=int, default=51, help="runs of each, alternating")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    result = measure(options.feeds, options.runs)
    if options.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
