"""``shoectl decode``: decode recorded bytes of a shoe to events.

In: raw bytes, hexadecimal text or a capture. Out: one line an event, as text or JSON; fixtures.
Must not know: what any profile's bytes mean, the round, ports.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import click

from firmware_proto.capture import SHOE
from firmware_proto.events import Discarded, Repeated, to_plain
from firmware_proto.profiles import PROFILES
from firmware_proto.session import ReceivedEvent
from shoe_ctl.cli.capture_files import Captured, detect_capture, streams
from shoe_ctl.errors import EnvironmentFault, InputRefused, UsageError

CHUNK_BYTES = 65536
"""At most so many are read at once; fewer as soon as any are there."""

MOST_KEPT = 1 << 20
"""Bytes that are kept for an event still to come. No frame of any profile comes near it, and
whole streams bring no event: zeros are nothing but the ends of empty frames."""

_HEX = frozenset(b"0123456789abcdefABCDEF")
_SPACE = frozenset(b" \t\r\n")


class _Listener(Protocol):
    """The class of this name in each profile's ``codec``."""

    def feed(self, data: bytes) -> list[ReceivedEvent]: ...

    def end(self) -> list[ReceivedEvent]: ...


@click.command()
@click.option(
    "--profile",
    "name",
    metavar="PROFILE",
    help=f"The protocol of the shoe: {', '.join(PROFILES)}.  [of a capture, its own]",
)
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object per event.")
@click.option("as_hex", "--hex", is_flag=True, help="Read text: bytes as two hexadecimal digits.")
@click.option(
    "--fixture",
    metavar="FOLDER",
    help="Copy the capture FILE and its events to this folder, as a test fixture.",
)
@click.argument("file", required=False)
def decode(
    name: str | None, as_json: bool, as_hex: bool, fixture: str | None, file: str | None
) -> int:
    """Decode a shoe's bytes to events, one per line.

    The bytes come from FILE, or from stdin without FILE (or with -). FILE may also be a capture
    (see shoectl capture), a journal of one table, or an export: then each connection is decoded
    from its own beginning.

    A line has the event's offset in the input, its type, the shoe's sequence number, its fields
    and its bytes. Bytes that cannot be decoded are discarded lines with the reason; frames that
    the shoe sent again are repeated lines. Nothing is left out. The counts are printed last, on
    stderr.

    \b
    Examples:
      echo "05 31 44 81 B8 03 34 46" | shoectl decode --profile angel_eye --hex
      shoectl decode shoe.capture --json
    """  # noqa: D301 - click wants the very character
    if name is not None:
        _refuse_unknown(name)
    if fixture is not None:
        if as_json or as_hex or name is not None:
            raise UsageError("--fixture cannot be combined with other options: remove them")
        _make_fixture(file, fixture)
        return 0
    counts: Counter[str] = Counter()
    interrupted = False
    with ExitStack() as files:
        try:
            source = _opened(file, files)
            if file is not None and _is_journal(source, file):
                chunks = _from_journal(Path(file))
            else:
                chunks = _chunks(source, file or "stdin")
            for heard, raw in _all_events(chunks, name, file or "stdin", as_hex=as_hex):
                kind = (
                    heard.event.type if isinstance(heard.event, Repeated | Discarded) else "event"
                )
                counts[kind] += 1
                sys.stdout.write((_json if as_json else _text)(heard, raw) + "\n")
        except KeyboardInterrupt:
            interrupted = True
    sys.stdout.flush()
    events = "1 event" if counts["event"] == 1 else f"{counts['event']} events"
    repeated, discarded = counts[Repeated.type], counts[Discarded.type]
    until = ", interrupted" if interrupted else ""
    click.echo(f"{events}, {repeated} repeated, {discarded} discarded{until}", err=True)
    return 130 if interrupted else 0


def _make_fixture(file: str | None, folder: str) -> None:
    from shoe_ctl.cli.capture_files import make_fixture

    if file is None or file == "-":
        raise UsageError("--fixture needs the capture's FILE")
    path = make_fixture(Path(file), Path(folder), events_of_capture)
    click.echo(f"wrote {path} and its events", err=True)


def events_of_capture(captured: Captured) -> Iterator[str]:
    """Every event of a capture as a line of JSON, as ``decode --json`` prints them."""
    for heard, raw in _captured_events(captured, captured.header.profile):
        yield _json(heard, raw)


def _all_events(
    chunks: Iterable[bytes], profile: str | None, name: str, *, as_hex: bool
) -> Iterator[tuple[ReceivedEvent, bytes]]:
    """Every event of an input of any of the kinds that are read."""
    if as_hex:
        return _events(_listener(_named(profile)), _from_hex(chunks))
    found, chunks = detect_capture(chunks)
    if found:
        captured = Captured(chunks, name)
        return _captured_events(captured, profile or captured.header.profile)
    return _events(_listener(_named(profile)), chunks)


def _captured_events(captured: Captured, profile: str) -> Iterator[tuple[ReceivedEvent, bytes]]:
    """A listener for each connection; places go on counting, as if all were one stream."""
    _refuse_unknown(profile)
    before = 0
    for stream in streams(captured.entries(), SHOE):
        length = 0
        for heard, raw in _events(_listener(profile), stream):
            length = max(length, heard.last)
            first, last = before + heard.first, before + heard.last
            yield dataclasses.replace(heard, first=first, last=last), raw
        before += length


def _named(profile: str | None) -> str:
    if profile is None:
        raise UsageError(f"--profile is missing: give one of {', '.join(PROFILES)}")
    return profile


def _refuse_unknown(profile: str) -> None:
    if profile not in PROFILES:
        raise UsageError(f"--profile: unknown profile {profile!r} (have: {', '.join(PROFILES)})")


def _listener(profile: str) -> _Listener:
    module = import_module(f"firmware_proto.{profile}.codec")
    return cast(_Listener, module.Listener())


def _opened(file: str | None, files: ExitStack) -> BinaryIO:
    if file is None or file == "-":
        stdin: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        if stdin is None:
            raise EnvironmentFault("stdin is closed")
        return stdin
    try:
        return files.enter_context(Path(file).open("rb"))
    except (OSError, ValueError) as error:
        raise EnvironmentFault(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _is_journal(source: BinaryIO, name: str) -> bool:
    """True if the file begins as a journal does, or as an export: compressed."""
    peek: Callable[[int], bytes] | None = getattr(source, "peek", None)
    try:
        begins = b"" if peek is None else peek(16)
    except OSError as error:
        raise EnvironmentFault(f"{name}: {error.strerror or error}") from None
    return begins.startswith((b"SQLite format 3\0", b"\x1f\x8b\x08"))


def _from_journal(path: Path) -> Iterator[bytes]:
    from shoe_ctl.cli.capture_files import journal_lines

    return (f"{line}\n".encode() for line in journal_lines(path, None))


def _chunks(source: BinaryIO, name: str) -> Iterator[bytes]:
    """The input as it comes: what is there is handed on without waiting for more."""
    read1: Callable[[int], bytes] = getattr(source, "read1", source.read)
    while True:
        try:
            chunk = read1(CHUNK_BYTES)
        except OSError as error:
            raise EnvironmentFault(f"{name}: {error.strerror or error}") from None
        if not chunk:
            return
        yield chunk


def _from_hex(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes that hexadecimal text names; what stands before a mistake comes first."""
    text = _HexText()
    for chunk in chunks:
        found = bytearray()
        try:
            for character in chunk:
                found += text.feed(character)
        except InputRefused:
            yield bytes(found)
            raise
        yield bytes(found)
    text.end()


class _HexText:
    """Hexadecimal text, character by character; says where it is wrong."""

    def __init__(self) -> None:
        self._line, self._column = 1, 0
        self._half, self._half_at = "", ""

    def feed(self, character: int) -> bytes:
        """The byte that this character completes, or none."""
        self._column += 1
        if character == ord("\n"):
            self._line, self._column = self._line + 1, 0
        if character in _SPACE:
            self.end()
        elif character not in _HEX:
            raise InputRefused(f"hex: {self._at()}: {_not_hex(character)}")
        elif self._half:
            whole, self._half = bytes.fromhex(self._half + chr(character)), ""
            return whole
        else:
            self._half, self._half_at = chr(character), self._at()
        return b""

    def _at(self) -> str:
        return f"line {self._line}, column {self._column}"

    def end(self) -> None:
        """A byte ends here, if one began."""
        if self._half:
            raise InputRefused(
                f"hex: {self._half_at}: a byte has two digits, not {self._half!r} alone"
            )


def _not_hex(byte: int) -> str:
    shown = (
        repr(chr(byte)) if chr(byte).isascii() and chr(byte).isprintable() else f"byte {byte:02x}"
    )
    return f"{shown} is not a hexadecimal digit"


def _events(listener: _Listener, chunks: Iterable[bytes]) -> Iterator[tuple[ReceivedEvent, bytes]]:
    """Every event with its bytes; keeps only the bytes whose event is still to come."""
    kept, base = bytearray(), 0
    for chunk in chunks:
        kept += chunk
        through = base
        for heard in listener.feed(chunk):
            yield heard, bytes(kept[heard.first - base : heard.last - base])
            through = max(through, heard.last)
        through = max(through, base + len(kept) - MOST_KEPT)
        del kept[: through - base]
        base = through
        sys.stdout.flush()  # whoever watches sees an event when its bytes have come
    for heard in listener.end():
        yield heard, bytes(kept[heard.first - base : heard.last - base])


def _json(heard: ReceivedEvent, raw: bytes) -> str:
    plain = to_plain(heard.event)
    told: dict[str, object] = {"type": plain.pop("type")}
    if heard.seq is not None:
        told["seq"] = heard.seq
    return json.dumps(told | plain | {"raw": raw.hex()})


def _text(heard: ReceivedEvent, raw: bytes) -> str:
    plain = to_plain(heard.event)
    kind = plain.pop("type")
    fields = " ".join(f"{name}={_shown(value)}" for name, value in plain.items())
    seq = "" if heard.seq is None else heard.seq
    return f"{heard.first:>8}  {kind:<17} {seq:>6}  {fields:<44}  {raw.hex(' ')}".rstrip()


def _shown(value: object) -> str:
    """A word as it is; whatever could be mistaken for more, or move the cursor, as JSON."""
    text = str(value)
    plain = isinstance(value, str | int) and not isinstance(value, bool)
    return text if plain and text.isprintable() and " " not in text else json.dumps(value)
