"""How fast one card frame per feed becomes a typed event, side by side with pymodbus.

In: --feeds, --runs, --json. Out: a table, or JSON: median ns a frame, median of the runs' ratios.
The frames have the same length; runs alternate, so that a machine that slows down slows all.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from time import perf_counter_ns

from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU
from pymodbus.pdu.register_message import ReadHoldingRegistersResponse

from firmware_proto.cards import FRENCH52
from firmware_proto.events import CardDrawn, Hello
from firmware_proto.reference.codec import Decoder, Message, encode
from firmware_proto.reference.session import host_session

WANTED = 5.0
"""The ratio that the project promises: HostSession against FramerRTU.handleFrame."""

MODBUS_OVERHEAD_BYTES = 5
"""Address, function code, byte count and CRC of a response that carries registers."""

Run = Callable[[], None]


def card_frames(count: int) -> list[bytes]:
    """As a shoe sends them: numbered, a card after another."""
    return [
        encode(
            Message(
                said=CardDrawn(
                    card=FRENCH52.cards[n % 52], number=n % 416 + 1, armed=True, confidence=99
                ),
                seq=n + 1,
                boot_id=7,
                t_us=1_000_000 + 700_000 * n,
            )
        )
        for n in range(count)
    ]


def hello_frame() -> bytes:
    """The shoe says who it is: without it a session gives nothing."""
    hello = Hello(device_id="SH-0042", firmware="1.0", boot_id=7, deck="french52")
    return encode(Message(said=hello, seq=1, boot_id=7, t_us=1))


def host_run(frames: list[bytes]) -> Run:
    """The daemon's way: a session that met its shoe, from bytes to events with their place."""

    def run() -> None:
        session = host_session(resume=None, settings={})
        session.receive(hello_frame(), 0.0)
        receive = session.receive
        for frame in frames:
            if len(receive(frame, 1.0)) != 1:
                raise SystemExit("a frame gave no event")

    return run


def decoder_run(frames: list[bytes]) -> Run:
    """The codec's way, as for diagnosis: messages with their raw bytes."""

    def run() -> None:
        feed = Decoder().feed
        for frame in frames:
            if len(feed(frame)) != 1:
                raise SystemExit("a frame gave no message")

    return run


def modbus_run(frame_bytes: int, count: int) -> Run:
    """The same number of frames of the same length (a byte more where lengths are odd)."""
    registers = (frame_bytes - MODBUS_OVERHEAD_BYTES) // 2
    framer = FramerRTU(DecodePDU(is_server=False))
    frame = framer.buildFrame(
        ReadHoldingRegistersResponse(registers=[0x1234 + n for n in range(registers)], dev_id=1)
    )
    if len(frame) != frame_bytes:
        raise SystemExit(f"pymodbus has no frame of {frame_bytes} bytes but of {len(frame)}")

    def run() -> None:
        handle = framer.handleFrame
        for _ in range(count):
            if handle(frame, 1, 0)[1] is None:
                raise SystemExit("pymodbus gave no response")

    return run


def timed(run: Run, count: int) -> float:
    """Nanoseconds a frame; the collector runs between runs, not in them."""
    gc.collect()
    gc.disable()
    try:
        start = perf_counter_ns()
        run()
        return (perf_counter_ns() - start) / count
    finally:
        gc.enable()


def measure(count: int, runs: int) -> dict[str, object]:
    """All three in turn, ``runs`` times, after one run each that is not counted."""
    frames = card_frames(count)
    size = len(frames[0])
    ours = {"HostSession.receive": host_run(frames), "Decoder.feed": decoder_run(frames)}
    theirs = modbus_run(size, count)
    for run in (*ours.values(), theirs):
        run()
    times: dict[str, list[float]] = {name: [] for name in ours}
    reference: list[float] = []
    for _ in range(runs):
        for name, run in ours.items():
            times[name].append(timed(run, count))
        reference.append(timed(theirs, count))
    return {
        "frame_bytes": size,
        "feeds": count,
        "runs": runs,
        "pymodbus": version("pymodbus"),
        "wanted_ratio": WANTED,
        "pymodbus_ns": median(reference),
        "ours": {
            name: {
                "ns": median(taken),
                "ratio": median(r / t for r, t in zip(reference, taken, strict=True)),
            }
            for name, taken in times.items()
        },
    }


def show(result: dict[str, object]) -> None:
    """A table for people."""
    ours = result["ours"]
    assert isinstance(ours, dict)
    print(
        f"one frame of {result['frame_bytes']} bytes a feed, {result['feeds']} feeds, "
        f"median of {result['runs']} alternating runs"
    )
    print(f"{'':34}{'ns a frame':>12}{'times pymodbus':>16}")
    label = f"pymodbus {result['pymodbus']} handleFrame"
    print(f"{label:34}{result['pymodbus_ns']:>12.0f}{1.0:>16.1f}")
    for name, figures in ours.items():
        print(f"{'reference ' + name:34}{figures['ns']:>12.0f}{figures['ratio']:>16.1f}")
    print(f"wanted: HostSession.receive at {WANTED:.0f} times pymodbus or better")


def main() -> None:
    """Reads the options, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--feeds", type=int, default=20_000, help="frames in a run")
    parser.add_argument("--runs", type=int, default=15, help="runs of each, alternating")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    result = measure(options.feeds, options.runs)
    if options.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
