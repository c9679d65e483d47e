"""The form of what is recorded: it has a number, and nothing of another form is taken for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.journal.batch import Counters, Head
from shoe_ctl.journal.chain import Checkpoint
from shoe_ctl.journal.record_format import (
    Call,
    Connection,
    DaemonStart,
    LossRuling,
    Meta,
    Snapshot,
)
from shoe_ctl.records import FORMAT, key_difference
from shoe_ctl.table import inputs
from shoe_ctl.table import state as states
from shoe_ctl.texts.message import message
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    alter_journal,
    dealt_by,
    journal_table,
    records,
    replayed_journal,
    table_meta,
    verified,
)
from shoe_testing.tables import TableHarness

SHAPES = {2: "8203ae659387aefe108198d2e083dd2b088e3a193294ce3dc2a4c435e55f19b5"}
"""By the number of a format, the fingerprint of all that is recorded in it.

A format that was released stays as it is here: what changes the form of a record or of the table's
state raises ``records.FORMAT``, and the new number gets a line.
"""


# What has a form, and whether it changed.


def shape(of: Any, inside: tuple[type, ...] = ()) -> Any:  # noqa: PLR0911 - one a kind
    """The form in which a value of this type is written: names of keys and kinds of values.

    Names of classes are no part of it.
    """
    kind = of if isinstance(of, msgspec.inspect.Type) else msgspec.inspect.type_info(of)
    match kind:
        case msgspec.inspect.StructType(cls=cls) if cls in inside:
            return ["within", inside[::-1].index(cls)]
        case msgspec.inspect.StructType(cls=cls, fields=fields, tag_field=tag_field, tag=tag):
            held = [[one.encode_name, shape(one.type, (*inside, cls))] for one in fields]
            return ["object", tag_field, tag, held]
        case msgspec.inspect.UnionType(types=types):
            return ["one of", sorted((shape(one, inside) for one in types), key=json.dumps)]
        case msgspec.inspect.LiteralType(values=values):
            return ["literal", sorted(map(str, values))]
        case msgspec.inspect.EnumType(cls=cls):
            return ["literal", sorted(str(member.value) for member in cls)]
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            return ["by key", shape(key, inside), shape(value, inside)]
        case (
            msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item)
        ):
            return ["list", shape(item, inside)]
        case msgspec.inspect.TupleType(item_types=items):
            return ["tuple", [shape(one, inside) for one in items]]
        case msgspec.inspect.CustomType(cls=cls):
            return ["custom", cls.__name__]
        case _:
            return type(kind).__name__


def fingerprint() -> str:
    recorded = (
        states.TableState, Meta, Snapshot, LossRuling, DaemonStart, Connection, Call, Checkpoint,
        *inputs.KINDS,
    )  # fmt: skip
    written = json.dumps([shape(kind) for kind in recorded])
    return hashlib.sha256(written.encode()).hexdigest()


def test_what_is_recorded_changes_its_form_with_its_format_number_alone() -> None:
    assert SHAPES[FORMAT] == fingerprint()


def test_another_key_another_kind_or_another_word_is_another_shape() -> None:
    def made(**fields: Any) -> Any:
        return shape(msgspec.defstruct("Made", list(fields.items())))

    first = made(number=int, role=str)
    assert first == made(number=int, role=str)
    assert first != made(number=int, rule=str)
    assert first != made(number=int | None, role=str)
    assert first != made(number=int, role=str, seen=bool)


# A state.


def with_other_keys(state: dict[str, Any], at: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same state with a key more there, and with a key less."""
    more, less = json.loads(json.dumps(state)), json.loads(json.dumps(state))
    for changed, found in ((more, False), (less, True)):
        *path, key = at.split(".")
        inside = changed
        for step in path:
            inside = inside[int(step) if step.isdigit() else step]
        assert (key in inside) is found or not found
        if found:
            del inside[key]
        else:
            inside[f"{key}_once"] = None
    return more, less


@pytest.mark.parametrize(
    "at",
    [
        "method", "shoe.stale_arm", "round.cards.0.entered", "arming.withdrawn", "link.up",
        "wagers.betting", "unplaced.0.role", "halt.stack.0.number", "outbox.count",
    ],
)  # fmt: skip
def test_a_state_with_a_key_more_or_less_is_refused_by_its_name(at: str) -> None:
    table = TableHarness().open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    if not at.startswith("arming"):
        table.draw("4f")
    body = states.to_bytes(table.now)
    assert states.from_bytes(body) == table.now
    more, less = with_other_keys(json.loads(body), at)
    with pytest.raises(ValueError, match=f"^{at}_once is a key that it does not know$"):
        states.from_bytes(msgspec.json.encode(more))
    with pytest.raises(ValueError, match=f"{at} is missing|missing required field"):
        states.from_bytes(msgspec.json.encode(less))


def test_a_state_that_is_written_otherwise_is_refused() -> None:
    body = states.to_bytes(TableHarness().now)
    with pytest.raises(ValueError, match="not as this version writes it"):
        states.from_bytes(b" " + body)


@pytest.mark.parametrize("kind", inputs.KINDS, ids=lambda kind: kind.__name__)
def test_an_input_with_a_key_more_is_refused(kind: type[msgspec.Struct]) -> None:
    given: Any = {"str": "x", "int": 1, "bool": True, "Message": message("done"), "tuple": ()}
    some = [
        one for one in TableHarness().open_shoe().inputs if isinstance(one, kind)
    ]  # else one is made up
    if some:
        body = inputs.to_bytes(some[0])
    else:
        needed = {f.encode_name: f for f in msgspec.structs.fields(kind) if f.required}
        made = {name: given[getattr(f.type, "__name__", "str")] for name, f in needed.items()}
        body = inputs.to_bytes(kind(**made))  # type: ignore[arg-type]
    assert inputs.to_bytes(inputs.from_bytes(body)) == body
    with pytest.raises(ValueError, match="unknown field `more`"):
        inputs.from_bytes(msgspec.json.encode({**msgspec.json.decode(body), "more": 1}))


def test_a_fault_in_any_input_is_recorded_under_a_name_that_stays() -> None:
    class Renamed(inputs.Tick, frozen=True, tag="tick"):
        pass

    assert inputs.fault_place(Renamed(t_us=1)) == inputs.fault_place(inputs.Tick(t_us=1)) == "Tick"
    assert inputs.FAULT_IN_SHOE_INPUT == "ShoeSaid"
    tags = {str(kind.__struct_config__.tag) for kind in inputs.KINDS}
    assert inputs._FAULT_PLACES.keys() == tags


def test_only_keys_are_compared() -> None:
    assert key_difference({"a": [{"b": 1}]}, {"a": ({"b": 2},)}) is None
    assert key_difference({"a": [{"b": 1}]}, {"a": [{"c": 1}]}) == (
        "a.0.b is a key that it does not know"
    )
    assert key_difference({}, {"a": 1}) == "a is missing"


# A record of a journal.


class Reading:
    """What each way to read a journal says of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def restart(self) -> str:
        with pytest.raises(JournalError) as error, journal_table(self.path, table_meta()):
            pass
        return str(error.value)

    def replay(self) -> str:
        with pytest.raises(JournalError) as error:
            replayed_journal(self.path)
        return str(error.value)

    def account(self) -> str:
        said = invoke(shoectl, "replay", str(self.path), "--last", "1")
        assert isinstance(said.exception, JournalError)
        return str(said.exception)

    def verify(self) -> str:
        with pytest.raises(JournalError) as error:
            verified(self.path)
        said = invoke(shoectl, "verify", str(self.path))
        assert str(said.exception) == str(error.value)
        return str(error.value)


def test_the_account_of_a_round_is_refused_with_the_start_that_it_was_played_under(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.db"
    change, why = FORMS["newer"]
    with with_another(path, "meta", change) as n:
        said = Reading(path).account()
    assert said == f"journal {path}: record {n} of table bac-07: {why}"


@contextmanager
def with_another(
    path: Path, kind: str, change: Callable[[dict[str, Any]], object]
) -> Iterator[int]:
    """A journal whose last record of this kind was changed, and every hash behind it."""
    with journal_table(path, table_meta(), dealt_by("2D 3C TS 4D")):
        pass
    found = [record for record in records(path) if record.kind == kind][-1]
    body = msgspec.json.decode(found.body)
    change(body)
    alter_journal(path, found.n, msgspec.json.encode(body))
    path.with_name(path.name + "-head").unlink()
    yield found.n


OTHER = (
    f"it is written {{}}; this version reads format {FORMAT}: use shoe-ctl {{}} for this journal, "
    "or begin a new one"
)
FORMS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "newer": (
        lambda body: body.update(format=FORMAT + 1, software="9.0.0"),
        OTHER.format(f"in format {FORMAT + 1}, by shoe-ctl 9.0.0", "9.0.0"),
    ),
    "without": (
        lambda body: (body.pop("format"), body.update(software="0.1.0")),
        OTHER.format("without a format number, by shoe-ctl 0.1.0", "0.1.0"),
    ),
}


@pytest.mark.parametrize("kind", ["meta", "snapshot"])
@pytest.mark.parametrize("way", ["restart", "replay", "verify"])
@pytest.mark.parametrize("form", FORMS)
def test_a_record_of_another_format_is_refused_in_one_line(
    tmp_path: Path, kind: str, way: str, form: str
) -> None:
    path = tmp_path / "j.db"
    change, why = FORMS[form]
    with with_another(path, kind, change) as n:
        assert getattr(Reading(path), way)() == f"journal {path}: record {n} of table bac-07: {why}"


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        ("meta", lambda body: body.update(once=1), "once is a key that it does not know"),
        ("meta", lambda body: body.pop("epoch"), "epoch is missing"),
        ("snapshot", lambda body: body.update(once=1), "once is a key that it does not know"),
        ("snapshot", lambda body: body.pop("outcomes"), "missing required field `outcomes`"),
        ("snapshot", lambda b: b["state"].update(once=1), "once is a key that it does not know"),
        ("snapshot", lambda b: b["state"].pop("unplaced"), "unplaced is missing"),
    ],
    ids=["meta +", "meta -", "snapshot +", "snapshot -", "state +", "state -"],
)
def test_a_record_with_other_keys_is_refused_where_a_table_goes_on_from_it(
    tmp_path: Path, kind: str, change: Callable[[dict[str, Any]], object], why: str
) -> None:
    path = tmp_path / "j.db"
    with with_another(path, kind, change) as n:
        said = Reading(path).restart()
    what = "was started" if kind == "meta" else "stood"
    where = f"journal {path} is corrupt: record {n} does not say how table bac-07 {what}: "
    assert said.startswith(where)
    assert why in said and said.endswith(f"Run: shoectl verify {path}")


@pytest.mark.parametrize(("kind", "key"), [("meta", "epoch"), ("snapshot", "answers")])
def test_verify_finds_a_record_with_other_keys_though_it_is_in_its_chain(
    tmp_path: Path, kind: str, key: str
) -> None:
    path = tmp_path / "j.db"
    with with_another(path, kind, lambda body: body.pop(key)) as n:
        bad = verified(path).first_bad
    assert bad is not None and bad.n == n
    assert bad.text.startswith(f"altered: it is no {kind} record: ") and key in bad.text


def test_a_replay_tells_a_state_with_other_keys_as_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with with_another(path, "snapshot", lambda b: b["state"].update(once=1)) as n:
        found = replayed_journal(path).differences
    assert [(one.n, one.why) for one in found] == [
        (n, "the snapshot is not what the inputs lead to")
    ]


def test_a_journal_whose_beginning_was_taken_out_is_not_gone_on_from_another_state() -> None:
    table = TableHarness().open_shoe()
    head = Head(1, b"", Counters())
    under = snapshots.start_record(table.game, table.settings, t_us=0)
    stood = snapshots.take_snapshot(table.controller, under, head, EventIndex())
    assert snapshots.from_first_snapshot(under, stood) is not None
    state = msgspec.json.decode(stood.state)
    del state["unplaced"]
    spoilt = msgspec.structs.replace(stood, state=msgspec.Raw(msgspec.json.encode(state)))
    with pytest.raises(ValueError, match="unplaced is missing"):
        snapshots.from_first_snapshot(under, spoilt)


def test_settings_with_a_key_that_this_version_does_not_know_are_refused() -> None:
    under = table_meta()
    more = msgspec.structs.replace(under, settings={**under.settings, "tips": 1})
    with pytest.raises(JournalError, match=r"settings cannot be read: .* unknown field `tips`"):
        snapshots.controller_for(more)
    less = {key: value for key, value in under.settings.items() if key != "area"}
    with pytest.raises(JournalError, match="settings cannot be read: area is missing"):
        snapshots.controller_for(msgspec.structs.replace(under, settings=less))
