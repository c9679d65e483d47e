"""The firmware kit's C code against the Python side: both ways, open and sealed, whole and damaged.

In: vectors, the frames of SPEC.md, random values. Out: that both ends say and refuse the same.
Must not know: how either of them does it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2s
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from firmware_proto.events import Discarded
from firmware_proto.kit import c_header, vectors
from firmware_proto.kit.vectors import KEY, TRANSCRIPT, generate_vectors, values_with_meaning
from firmware_proto.reference.codec import Decoder, read_with_mac, unwrap
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.fields import CardsTogether
from firmware_proto.reference.framing import frame_body
from firmware_proto.reference.mac import SessionKeys
from firmware_proto.reference.packing import FIRST_OF_HOST, CompiledLayout, Kind
from shoe_testing.examples import examples
from shoe_testing.firmware_kit import SOURCES, Kit, compile_kit
from shoe_testing.paths import ROOT
from shoe_testing.reference_protocol import (
    EXAMPLES,
    SEALED_EXAMPLES,
    SPEC,
    Example,
    by_fast_path,
    stuffed_by_the_book,
    wire_values,
)

VECTORS = list(generate_vectors())
GOOD = [v for v in VECTORS if "kind" in v]
BAD = [v for v in VECTORS if "refused" in v]
OPEN = [v for v in GOOD if "sealed_by" not in v]
SEALED_ONES = [v for v in VECTORS if "sealed_by" in v]
NO_PIECE = ("long", "cut")
"""What is given up before anyone asks what it says."""

AGREE = (
    f"key {KEY.hex()} {TRANSCRIPT.key_id} {TRANSCRIPT.host_nonce.hex()} "
    f"{TRANSCRIPT.shoe_nonce.hex()} {TRANSCRIPT.boot_id} {TRANSCRIPT.device_id.encode().hex()}"
)


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return compile_kit(tmp_path_factory.mktemp("kit"))


def said(kind: int, values: Any) -> str:
    """As ``host_harness`` takes and gives it."""
    return " ".join(str(v) for v in (kind, *values))


def taken_apart(frame: bytes, derived: CompiledLayout) -> list[int | str]:
    """The values of a frame's payload as the line carries them."""
    body = unwrap(frame[1:-1])
    wire = derived.payload.unpack(body[2 : 2 + derived.payload.size])
    return [value.hex() if isinstance(value, bytes) else value for value in wire]


def plain(frame: bytes) -> str:
    kind = unwrap(frame[1:-1])[1]
    return said(kind, taken_apart(frame, COMPILED[Kind(kind)]))


def test_the_vectors_have_every_kind_and_every_refusal() -> None:
    assert {v["kind"] for v in OPEN} == {int(kind) for kind in Kind}
    assert {v["kind"] for v in SEALED_ONES if "kind" in v} == {int(kind) for kind in Kind}
    assert {v["refused"] for v in BAD} == {
        "stuffing", "crc", "version", "mac", "sent before", "kind", "length", "field", *NO_PIECE,
    }  # fmt: skip
    names = [v["name"] for v in VECTORS]
    assert len(names) == len(set(names))


def test_the_c_decoder_reads_every_good_vector(kit: Kit) -> None:
    answers = kit.ask(*(f"decode {v['frame']}" for v in OPEN))
    assert answers == [[said(v["kind"], v["values"].values())] for v in OPEN]


def test_the_c_encoder_writes_every_good_vector(kit: Kit) -> None:
    answers = kit.ask(*(f"encode {said(v['kind'], v['values'].values())}" for v in OPEN))
    assert answers == [[v["frame"]] for v in OPEN]


def test_the_c_decoder_refuses_every_bad_vector_for_its_reason(kit: Kit) -> None:
    bad = [v for v in BAD if "sealed_by" not in v]
    for vector, answer in zip(bad, kit.ask(*(f"decode {v['frame']}" for v in bad)), strict=True):
        if vector["refused"] in NO_PIECE:
            assert answer == ["discarded 1"], vector["name"]
        else:
            assert answer == [f"refused {vector['refused']}"], vector["name"]


def test_the_c_encoder_refuses_values_without_a_meaning(kit: Kit) -> None:
    fields = [v for v in BAD if v["refused"] == "field"]
    assert len(fields) > 100
    lines = [plain(bytes.fromhex(v["frame"])) for v in fields]
    assert kit.ask(*(f"encode {line}" for line in lines)) == [["refused"]] * len(fields)
    assert kit.ask("encode 127") == [["refused"]]


@pytest.mark.parametrize(
    "vector", [v for v in BAD if "sealed_by" not in v], ids=lambda v: v["name"]
)
def test_this_side_refuses_every_bad_vector_too(vector: dict[str, Any]) -> None:
    decoder = Decoder()
    found = decoder.feed(bytes.fromhex(vector["frame"])) + decoder.end()
    if vector["name"] == "with a MAC, and no key":
        return  # the decoder looks into what it cannot check; a session does not
    assert found
    assert all(isinstance(f.content, Discarded) for f in found)


def test_both_files_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    for module, text in ((c_header, c_header.generate_header()), (vectors, vectors.text())):
        asked = [sys.executable, "-m", module.__name__]
        shown = subprocess.run(asked, check=True, capture_output=True, timeout=60, text=True)
        assert shown.stdout == text
        subprocess.run([*asked, "-o", tmp_path / "it"], check=True, timeout=60)
        assert (tmp_path / "it").read_text("utf-8") == text
    assert [json.loads(line) for line in text.splitlines()] == VECTORS


def test_a_field_that_c_has_no_rule_for_stops_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {field: rule for field, rule in c_header._RULES.items() if field is not CardsTogether}
    monkeypatch.setattr(c_header, "_RULES", others)
    with pytest.raises(TypeError, match="cards_drawn: no rule in C for CardsTogether"):
        c_header.generate_header()


def test_this_side_reads_every_good_vector() -> None:
    for vector in OPEN:
        found = Decoder().feed(bytes.fromhex(vector["frame"]))
        assert len(found) == 1
        assert not isinstance(found[0].content, Discarded), vector["name"]


def test_frames_with_a_mac_are_read_and_refused_alike_in_their_order(kit: Kit) -> None:
    lines = [f"open {v['sealed_by']} {v['frame']}" for v in SEALED_ONES]
    _, *answers = kit.ask(AGREE, *lines)
    verifiers = {
        "host": SessionKeys.by_shoe(TRANSCRIPT, KEY).verifier,
        "shoe": SessionKeys.by_host(TRANSCRIPT, KEY).verifier,
    }
    for vector, answer in zip(SEALED_ONES, answers, strict=True):
        frame = unwrap(bytes.fromhex(vector["frame"])[1:-1])
        why = verifiers[vector["sealed_by"]].check(frame) if frame[0] == 0x81 else "version"
        assert (why or "").replace("_", " ") == vector.get("refused", ""), vector["name"]
        if why is None:
            assert answer == [said(vector["kind"], vector["values"].values())]
            assert read_with_mac(frame)[0] == vector["kind"]
        else:
            assert answer == [f"refused {vector['refused']}"], vector["name"]


def test_the_c_encoder_seals_as_this_side_does(kit: Kit) -> None:
    good = [v for v in SEALED_ONES if "kind" in v]
    lines = [f"seal {v['sealed_by']} {said(v['kind'], v['values'].values())}" for v in good]
    assert kit.ask(AGREE, *lines)[1:] == [[v["frame"]] for v in good]


def test_proof_mac_keys_and_a_new_key_s_mask_are_the_same(kit: Kit) -> None:
    first = VECTORS[0]
    keys, mask = kit.ask(AGREE, "mask 20 3 " + "00" * 32)
    shoe = TRANSCRIPT.secret(KEY, b"\2").hex()
    host = TRANSCRIPT.secret(KEY, b"\3").hex()
    assert keys == [first["proof"], shoe, host]
    assert mask == [first["mask"]]


def test_hash_and_crc_are_those_of_the_libraries_at_every_length(kit: Kit) -> None:
    random = Random(7)
    data = [random.randbytes(n) for n in [*range(1, 200), 1000, 5000]]
    key = random.randbytes(32)
    answers = kit.ask(*(f"hash {key.hex()} {d.hex()}" for d in [b"", *data]))
    assert answers == [[blake2s(d, key=key).hexdigest()] for d in [b"", *data]]
    assert kit.ask(*(f"crc {d.hex()}" for d in data)) == [[str(crc32(d))] for d in data]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_of_the_spec_is_read_and_written_again_by_c(kit: Kit, example: Example) -> None:
    ((line,),) = kit.ask(f"decode {example.frame.hex()}")
    assert line == plain(example.frame)
    assert kit.ask(f"encode {line}") == [[example.frame.hex()]]


def test_the_sealed_examples_of_the_spec_are_read_by_c_in_their_order(kit: Kit) -> None:
    lines = [f"open {e.plain['sealed_by']} {e.frame.hex()}" for e in SEALED_EXAMPLES]
    assert kit.ask(AGREE, *lines)[1:] == [[plain(e.frame)] for e in SEALED_EXAMPLES]


def random_values(random: Random, derived: CompiledLayout) -> list[Any]:
    """Mostly random, where everything has a meaning; else one of what has."""
    values: list[Any] = []
    for field in derived.fields:
        choices = values_with_meaning(derived.kind, field)
        value = random.choice(choices)
        if field.name in {"seq", "boot_id", "t_us", "number", "drawn", "unix_us", "through"}:
            size = {"H": 16, "L": 32, "Q": 64}[field.format]
            value = random.getrandbits(size) or 1
        values.append(value.hex() if isinstance(value, bytes) else value)
    return values


def test_what_c_says_this_side_understands_and_says_again(kit: Kit, seed: int) -> None:
    random = Random(seed)
    asked = [
        said(kind, random_values(random, derived))
        for kind, derived in COMPILED.items()
        if kind != Kind.EVENTS_LOST  # two of its fields depend on one another: the vectors have it
        for _ in range(40)
    ]
    for line, answer in zip(asked, kit.ask(*(f"encode {a}" for a in asked)), strict=True):
        (frame,) = map(bytes.fromhex, answer)
        (found,) = Decoder().feed(frame)
        assert not isinstance(found.content, Discarded), line
        assert plain(frame) == line


PAYLOADS = st.sampled_from(list(Kind)).flatmap(
    lambda kind: st.tuples(st.just(kind), wire_values(COMPILED[kind]))
)


@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payloads=st.lists(PAYLOADS, min_size=20, max_size=40))
def test_random_payloads_are_read_by_both_or_refused_by_both(
    kit: Kit, payloads: list[tuple[Kind, bytes]]
) -> None:
    frames = [frame_body(bytes((1, kind)) + payload) for kind, payload in payloads]
    answers = kit.ask(*(f"decode {frame.hex()}" for frame in frames))
    for (kind, payload), frame, answer in zip(payloads, frames, answers, strict=True):
        values = by_fast_path(kind, payload)
        if kind == Kind.EVENTS_LOST and values and values["last"] < values["seq"]:
            values = None
        assert answer == [plain(frame) if values is not None else "refused field"]


def damaged(frame: bytes) -> Iterator[bytes]:
    """Every flipped bit, every cut."""
    for bit in range(8 * len(frame)):
        spoilt = bytearray(frame)
        spoilt[bit // 8] ^= 1 << bit % 8
        yield bytes(spoilt)
    for at in range(1, len(frame)):
        yield frame[:at]


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True], ids=["open", "keyed"])
@pytest.mark.parametrize(
    "one_in", [4, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=3))], ids=["some", "all"]
)
def test_damage_costs_c_that_frame_alone_as_it_does_here(
    kit: Kit, one_in: int, keyed: bool
) -> None:
    for example in EXAMPLES[::one_in]:
        body = unwrap(example.frame[1:-1])[:-4]
        by_host = body[1] >= FIRST_OF_HOST
        lock = bytes((1, Kind.LOCK if by_host else Kind.CUTTING_CARD)) + (
            b"" if by_host else bytes((1, *[0] * 15))
        )
        bodies = [lock, body, lock]
        who = "host" if by_host else "shoe"
        if keyed:
            ends = SessionKeys.by_host(TRANSCRIPT, KEY), SessionKeys.by_shoe(TRANSCRIPT, KEY)
            bodies = [ends[not by_host].signer.sign(b) or b"" for b in bodies]
        before, frame, behind = map(frame_body, bodies)
        lines = [(before + spoilt + behind).hex() for spoilt in damaged(frame)]
        if keyed:  # each stream starts from the first counter
            asked = [part for line in lines for part in (AGREE, f"open {who} {line}")]
            answers = kit.ask(*asked)[1::2]
        else:
            answers = kit.ask(*(f"decode {line}" for line in lines))
        ends_say = [plain(before), plain(behind)]
        for line, answer in zip(lines, answers, strict=True):
            heard = [a for a in answer if not a.startswith(("refused", "discarded"))]
            # A cut that leaves all but the last delimiter is made good by the next one.
            whole = (before + frame[:-1] + behind).hex() == line
            assert heard == ([ends_say[0], plain(frame), ends_say[1]] if whole else ends_say)


def test_streams_that_are_noise_are_told_apart_in_the_same_way(kit: Kit, seed: int) -> None:
    random = Random(seed)
    frames = [bytes.fromhex(v["frame"]) for v in OPEN]
    streams = []
    for _ in range(150):
        parts = [random.choice(frames) for _ in range(6)]
        noise = bytearray(b"".join(parts))
        for _ in range(random.randrange(12)):
            noise[random.randrange(len(noise))] = random.randrange(256)
        streams.append(bytes(noise) + b"\0")
    for stream, answer in zip(
        streams, kit.ask(*(f"decode {s.hex()}" for s in streams)), strict=True
    ):
        found = [f for f in Decoder().feed(stream) if not isinstance(f.content, Discarded)]
        heard = [a for a in answer if not a.startswith(("refused", "discarded"))]
        assert heard == [plain(b"\0" + f.raw.strip(b"\0") + b"\0") for f in found]


def test_no_vector_is_like_the_one_before_it() -> None:
    frames = [v["frame"] for v in OPEN]
    assert all(a != b for a, b in pairwise(frames))


def test_the_figures_by_which_firmware_checks_itself_are_right(kit: Kit) -> None:
    spec = SPEC.read_text("utf-8")
    key = bytes(range(32))
    nothing, abc = kit.ask(f"hash {key.hex()}", f"hash {key.hex()} {b'abc'.hex()}")
    assert f"`{nothing[0].upper()}`" in spec
    assert f"`{abc[0].upper()}`" in spec
    ((crc,),) = kit.ask(f"crc {b'123456789'.hex()}")
    assert f"`{int(crc):08X}`" in spec
    assert stuffed_by_the_book(bytes.fromhex("01 84 00 05")).hex(" ").upper() == "03 01 84 02 05"
    assert "`01 84 00 05` becomes `03 01 84 02 05`" in spec


def test_what_the_page_on_firmware_asks_for_is_there_and_works(kit: Kit) -> None:
    page = (ROOT / "docs/guides/firmware.md").read_text("utf-8")
    for path in SOURCES.glob("*.c"):
        assert f"kit/{path.name}" in page
    (asked,) = re.findall(r'echo "([^"]+)" \| \./host_harness', page)
    assert kit.ask(asked) == [[str(int(Kind.HELLO_REQUEST))]]
