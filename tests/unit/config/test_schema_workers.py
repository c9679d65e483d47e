"""Workers in a configuration: what each serves, and what they cannot share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.config.schema import Config, config_of_worker, parse, with_public_output
from shoe_ctl.errors import ConfigError
from shoe_testing.config import make_config, table_section


def two_workers(*sinks: dict[str, Any], **more: Any) -> Config:
    tables = [
        table_section("t1", port="/dev/a", **more),
        table_section("t2", port="/dev/b", worker=2, **more),
        table_section("t3", port="/dev/c", worker=2),
    ]
    text = make_config(*tables, journal={"path": "data/night.db"}, sink=list(sinks))
    return msgspec.structs.replace(parse(text.encode(), "t.toml"), folder="/etc/shoe")


def test_a_worker_has_its_tables_its_journal_and_the_sinks_that_get_them() -> None:
    config = two_workers(
        {"kind": "jsonl", "path": "public.jsonl"},
        {"kind": "jsonl", "path": "first.jsonl", "table": "t1"},
        {"kind": "jsonl", "path": "second.jsonl", "table": "t2"},
        {"kind": "mqtt", "address": "mqtt://broker"},
    )
    assert config.workers == [1, 2]
    first, second = (config_of_worker(config, worker) for worker in config.workers)
    assert [table.id for table in first.table] == ["t1"]
    assert [table.id for table in second.table] == ["t2", "t3"]
    assert first.path(first.journal.path) == Path("/etc/shoe/data/night.db")
    assert second.path(second.journal.path) == Path("/etc/shoe/data/night-2.db")
    names = ["jsonl:public.jsonl", "jsonl:second.jsonl", "mqtt:broker:1883:public"]
    assert [sink.known_as for sink in second.sink] == names
    paths = [getattr(sink, "path", None) for sink in second.sink]
    assert paths == ["public-2.jsonl", "second.jsonl", None]
    assert [getattr(sink, "path", None) for sink in first.sink] == [
        "public.jsonl", "first.jsonl", None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sinks", "more", "said"),
    [
        ([{"path": "-"}], {}, "sink[0].path: several workers cannot share standard output"),
        ([{"path": "a.jsonl"}, {"path": "a-2.jsonl"}], {}, "would write to 'a-2.jsonl'"),
        ([{"path": "data/night-2.db", "table": "t1"}], {}, "would write to 'data/night-2.db'"),
        ([], {"shoe": {"key_file": "k"}}, "table t2: shoe.key_file: worker 1 uses 'k' as well"),
    ],
)
def test_what_workers_cannot_share_is_refused(
    sinks: list[dict[str, Any]], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        two_workers(*({"kind": "jsonl", **sink} for sink in sinks), **more)
    assert said in str(refused.value)


def test_events_on_standard_output_are_of_one_worker() -> None:
    config = two_workers({"kind": "jsonl", "path": "-", "table": "t1"})
    assert with_public_output(config) == config
    with pytest.raises(ConfigError, match="--json adds such a sink"):
        with_public_output(two_workers())
