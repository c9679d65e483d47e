"""What is derived from the construct layouts is committed as they give it, and runs without them.

In: the layouts, the files. Out: that they agree, for all that is read and written. Must not know:
what an event means.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import construct
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_proto.angel_eye import compiled_layouts as angel_eye
from firmware_proto.angel_eye.fields import REFUSALS
from firmware_proto.angel_eye.frames import (
    pack_command,
    pack_event,
    unpack_command,
    unpack_event,
)
from firmware_proto.angel_eye.layouts import COMMAND, DATA, EVENT, REPLY
from firmware_proto.bee_tek import compiled_layouts as bee_tek
from firmware_proto.bee_tek import layouts as bee_tek_layouts
from firmware_proto.kit import compile_layouts
from firmware_proto.kit.angel_eye_layouts import compile_layout
from firmware_proto.kit.spec_tables import replace_generated
from firmware_proto.profiles import PROFILES

DERIVED = list(compile_layouts.derived_files())


# --- the files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "wanted"), DERIVED, ids=[Path(d[0]).name for d in DERIVED]
)
def test_what_is_committed_is_what_the_layouts_give(path: str, text: str, wanted: str) -> None:
    assert text == wanted, f"{path}: run make layouts"


def test_every_profile_has_its_layouts_compiled_and_its_tables_derived() -> None:
    wanted = {f"{name}/{file}" for name in PROFILES for file in ("compiled_layouts.py", "SPEC.md")}
    assert {"/".join(Path(path).parts[-2:]) for path, _, _ in DERIVED} == wanted


def test_no_session_and_no_listener_pays_for_construct() -> None:
    code = (
        "import sys\n"
        "from importlib import import_module\n"
        "from firmware_proto.profiles import PROFILES, profile\n"
        "for name in PROFILES:\n"
        "    profile(name).host_session(resume=None, settings={})\n"
        "    profile(name).device_session(settings={})\n"
        "    import_module(f'firmware_proto.{name}.codec').Listener()\n"
        "sys.exit('construct' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_construct_is_imported_by_the_layouts_and_by_what_derives_from_them_alone() -> None:
    importing = re.compile(r"^(?:from|import) construct\b", re.MULTILINE)
    root = Path(compile_layouts.ROOT)
    found = {
        p.relative_to(root) for p in root.rglob("*.py") if importing.search(p.read_text("utf-8"))
    }
    assert {p for p in found if p.parts[0] != "kit"} == {Path(f"{n}/layouts.py") for n in PROFILES}


def test_check_names_what_is_out_of_date_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old = tmp_path / "compiled_layouts.py"
    old.write_text("before")
    monkeypatch.setattr(compile_layouts, "derived_files", lambda: [(str(old), "before", "after")])
    monkeypatch.setattr(sys, "argv", ["compile_layouts", "--check"])
    with pytest.raises(SystemExit):
        compile_layouts.main()
    assert capsys.readouterr().out == f"out of date: {old}\n"
    assert old.read_text() == "before"
    monkeypatch.setattr(sys, "argv", ["compile_layouts"])
    compile_layouts.main()
    assert old.read_text() == "after"


def test_a_page_without_the_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="no markers"):
        replace_generated("# A page\n", ["a row"])


# --- angel_eye ---------------------------------------------------------------------------------


def event_by_construct(body: bytes) -> tuple[str, str, dict[str, Any]] | None:
    try:
        frame = EVENT.parse(body)
    except construct.ConstructError:
        return None
    return chr(frame.seq), frame.code, flat(frame.data)


def flat(container: Any) -> dict[str, Any]:
    """Fields of a container and of those in it; lists of characters as text."""
    found: dict[str, Any] = {}
    for name, value in (container or {}).items():
        if isinstance(value, construct.Container):
            found |= flat(value)
        elif isinstance(value, list):
            found[name] = bytes(value).decode()
        elif name != "_io":
            found[name] = value
    return found


def event_compiled(body: bytes) -> tuple[str, str, dict[str, Any]] | None:
    try:
        return unpack_event(body)
    except KeyError:
        return None


def nested(code: str, fields: dict[str, Any]) -> Any:
    """The fields as the layout has them: in the containers of their bytes."""

    def of(layout: Any) -> Any:
        if layout is construct.Pass:
            return None
        if isinstance(layout, construct.Struct):
            return {f.name: of(f.subcon) for f in layout.subcons if f.name}
        if isinstance(layout, construct.Array):
            return None
        names = [f.name for f in layout.subcon.subcons if f.name]
        return {name: fields[name] for name in names}

    data = of(DATA[code])
    for name in ("address", "value"):
        if name in fields:
            data[name] = list(fields[name].encode())
    return data


CODES = sorted(DATA)
bodies = st.one_of(
    st.binary(max_size=12),
    st.builds(
        lambda seq, code, payload, end: b"\x05" + seq + code.encode() + payload + end,
        st.sampled_from([b"0", b"z", b"-", b"\x05", b""]),
        st.sampled_from([*CODES, "X"]),
        st.binary(max_size=7),
        st.sampled_from([b"\x03", b"\x03\x03", b"", b"\x02"]),
    ),
    st.builds(
        lambda code, payload: b"\x051" + code.encode() + payload + b"\x03",
        st.sampled_from(CODES),
        st.binary(min_size=1, max_size=2)
        | st.text("019A ~", min_size=6, max_size=6).map(str.encode)
        | st.just(b""),
    ),
)


@given(bodies)
@example(b"\x051D\x81\xb8\x03")
@example(b"\x051M030012\x03")
@example(b"\x051M03001\x7f\x03")
def test_an_event_is_read_alike_or_refused_by_both_ways(body: bytes) -> None:
    assert event_compiled(body) == event_by_construct(body)


@pytest.mark.parametrize("code", "GEeL")
def test_every_byte_of_a_payload_is_read_alike_by_both_ways(code: str) -> None:
    for byte in range(256):
        body = b"\x051" + code.encode() + bytes((byte,)) + b"\x03"
        assert event_compiled(body) == event_by_construct(body)


@pytest.mark.parametrize("code", "DRd")
def test_every_byte_of_a_card_is_read_alike_by_both_ways(code: str) -> None:
    for byte in range(256):
        for payload in (bytes((byte, 0xB8)), bytes((0x81, byte))):
            body = b"\x051" + code.encode() + payload + b"\x03"
            assert event_compiled(body) == event_by_construct(body)


names = ["player", "banker", "burn", "lock", "tie", "overdraw", "cannot_read", "no such name"]
values = st.fixed_dictionaries(
    {
        "hand": st.sampled_from(names),
        "index": st.integers(-1, 17),
        "mode": st.sampled_from(names),
        "code": st.integers(-1, 17) | st.sampled_from(names),
        "suit": st.sampled_from(["", "D", "C", "S", "H", "X"]),
        "rank": st.integers(-1, 15) | st.sampled_from([*"A23456789TJQK", "1"]),
        "winner": st.sampled_from(names),
        "banker_pair": st.booleans() | st.integers(-1, 2),
        "player_pair": st.booleans(),
        "in_error_mode": st.booleans(),
        "locked": st.booleans() | st.integers(-1, 2),
        "address": st.text("0aé\x03~", max_size=3),
        "value": st.text("0aé\x1f~", min_size=3, max_size=5),
    }
)


@given(st.sampled_from(CODES), st.sampled_from(["0", "Z", "-", "é"]), values)
def test_an_event_is_written_alike_or_refused_by_both_ways(
    code: str, seq: str, fields: dict[str, Any]
) -> None:
    own = {name: fields[name] for name in angel_eye.EVENTS[code].names}
    try:
        built = EVENT.build({"seq": ord(seq), "code": code, "data": nested(code, own)})
    except construct.ConstructError:
        built = None
    try:
        packed = pack_event(seq, code, own)
    except KeyError:
        packed = None
    assert packed == built


@given(
    st.binary(max_size=11)
    | st.builds(lambda middle: b"\x02OP" + middle + b"\x03", st.binary(max_size=5))
    | st.builds(lambda m: b"\x02OP" + m.encode() + b"\x03", st.text("LK012 ", max_size=5))
)
def test_a_command_is_read_alike_or_refused_by_both_ways(body: bytes) -> None:
    try:
        asked = COMMAND.parse(body)
        parsed = (bytes(asked.kind).decode(), bytes(asked.data).decode())
    except construct.ConstructError:
        parsed = None
    try:
        unpacked = unpack_command(body)
    except KeyError:
        unpacked = None
    assert unpacked == parsed


@given(st.text("LKé\x03 ", max_size=3), st.text("012\x7f", max_size=3))
def test_a_command_is_written_alike_or_refused_by_both_ways(kind: str, data: str) -> None:
    try:
        built = COMMAND.build({"kind": list(kind.encode()), "data": list(data.encode())})
    except construct.ConstructError:
        built = None
    try:
        packed = pack_command(kind, data)
    except KeyError:
        packed = None
    assert packed == built


def test_every_reply_of_one_or_two_bytes_is_read_alike_by_both_ways() -> None:
    starts = [bytes((byte,)) for byte in range(256)]
    for bare in [b"", *starts, *(a + b for a in (b"\x06", b"\x15", b"\x05") for b in starts)]:
        try:
            reply = REPLY.parse(bare)
        except construct.ConstructError:
            assert bare not in angel_eye.REPLIES
            continue
        refusal = reply.refusal.reason if reply.answer == "refused" else None
        assert angel_eye.REPLIES[bare] == refusal
        assert REPLY.build(reply) == bare
    assert set(angel_eye.REPLIES.values()) == {None, *REFUSALS}


def test_a_payload_that_is_no_whole_byte_or_has_no_form_cannot_be_compiled() -> None:
    seven = construct.Struct("bits" / construct.BitStruct("few" / construct.BitsInteger(16)))
    for layout in (seven, construct.Struct("text" / construct.CString("ascii"))):
        with pytest.raises(TypeError, match="no compiled form"):
            compile_layout(layout)


# --- bee_tek -----------------------------------------------------------------------------------

PATTERNS = {
    "TAGGED_LINE": bee_tek.TAGGED_LINE,
    "BARE_LINE": bee_tek.BARE_LINE,
    "ALARM_WITH_TEXT": bee_tek.ALARM_WITH_TEXT,
    "ALARM_CODE": bee_tek.ALARM_CODE,
    "WARNING": bee_tek.WARNING,
}
LAYOUTS = {name: (getattr(bee_tek_layouts, name), found) for name, found in PATTERNS.items()} | {
    form: (layout, bee_tek.CARDS[form]) for form, layout in bee_tek_layouts.CARDS.items()
}
TEXTS = {name: getattr(bee_tek, f"{name}_TEXT") for name in PATTERNS} | bee_tek.CARD_TEXTS
pieces = st.sampled_from(
    [
        *("[", "]", "<", ">", ":", " ", "\t", "4", "S", "t", "W", "0", "x", "F", "10"),
        *("Game", "game", "Card", "card", "Alarm", "ALARM", "E3", "e12ab", "W0x01", "w0X", "no"),
    ]
)
printable = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x7E) | st.just("\t"), max_size=12
)
texts = st.lists(pieces, max_size=9).map("".join) | printable
likely = st.one_of(
    st.builds("[{}]<{}>".format, printable, printable),
    st.builds(" [{}{}]\t< {}>".format, pieces, pieces, pieces),
    st.builds("Card{}:{}{}{}".format, *[pieces] * 4),
    st.builds("{}{}".format, pieces, pieces),
    st.builds("alarm :{}{}{}".format, *[pieces] * 3),
    st.builds("W0x{}{}".format, pieces, pieces),
)


@pytest.mark.parametrize("name", LAYOUTS)
@given(text=texts | likely)
@example(text=" [Game]<Card:4S> ")
@example(text="Alarm:E3  Card Not Read")
@example(text="W0x")
def test_a_line_is_read_alike_or_refused_by_both_ways(name: str, text: str) -> None:
    layout, compiled = LAYOUTS[name]
    try:
        parsed = {k: v for k, v in layout.parse(text.encode()).items() if k != "_io"}
    except construct.ConstructError:
        parsed = None
    found = compiled.fullmatch(text)
    assert (None if found is None else found.groupdict()) == parsed


@given(text=texts | likely)
def test_the_start_of_an_alarm_is_found_alike_by_both_ways(text: str) -> None:
    try:
        bee_tek_layouts.ALARM_START.parse(text.encode())
        parsed = True
    except construct.ConstructError:
        parsed = False
    assert (bee_tek.ALARM_START.match(text) is not None) == parsed


@pytest.mark.parametrize("name", LAYOUTS)
@given(data=st.data())
def test_a_line_is_written_alike_by_both_ways_and_read_again(
    name: str, data: st.DataObject
) -> None:
    layout, compiled = LAYOUTS[name]
    names = re.findall(r"\{(\w+)\}", TEXTS[name])
    values = {field: data.draw(pieces | texts, label=field) for field in names}
    text = TEXTS[name].format(**values)
    try:
        built = layout.build(values).decode()
    except construct.ConstructError:
        found = compiled.fullmatch(text)
        assert found is None or found.groupdict() != values
        return
    assert built == text


def test_a_layout_without_a_pattern_cannot_be_compiled() -> None:
    layout = construct.Struct(construct.Byte)
    with pytest.raises(TypeError, match="no pattern"):
        bee_tek_layouts.pattern(layout)
    with pytest.raises(TypeError, match="no text"):
        bee_tek_layouts.template(layout)
