"""The auditor's page: its queries run, on a journal as the daemon writes it."""

from __future__ import annotations

import base64
import re
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from shoe_ctl.cli.export import export
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.record_format import Direction, Kind, Meta
from shoe_ctl.journal.signing import Signer, is_valid_signature, open_signer
from shoe_ctl.records import Audience
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened
from shoe_testing.paths import ROOT

PAGE = (ROOT / "docs/reference/journal-format.md").read_text("utf-8")


def journal(path: Path) -> Signer:
    group = Batch()
    group.append_meta("bac-07", Meta(game=b"x", settings={}, software="0.1.0", t_us=T_US))
    group.append_wire(
        "bac-07", connection=1, direction=Direction.TO_SHOE, offset=0, t_us=T_US, data=b"\x05\xff"
    )
    for n in range(1, 900):
        group.append_input("bac-07", b'{"n":%d}' % n, T_US + n)
    group.append_event(
        "bac-07", Audience.PUBLIC, "round.outcome", t_us=T_US, subject="ROUND", data={"a": 1}
    )
    with opened(path) as store:
        store.commit([group])
        key = open_signer(path, None)
        store.checkpoint(key, T_US + 901)
    return key


def test_the_queries_of_the_page_find_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    key = journal(path)
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    queries = [query for query in block.split(";\n") if query.strip()]
    unpacked = tmp_path / "unpacked.db"
    assert invoke(export, path, "--unpacked", "--output", unpacked).exit_code == 0
    with closing(sqlite3.connect(unpacked)) as connection:
        found = [connection.execute(query).fetchall() for query in queries]
    heads, outcomes, round_, inputs, raw, signed, games = found
    assert [head[:2] for head in heads] == [("", 904), ("bac-07", 903)]
    assert [n for n, _ in outcomes] == [902]
    assert [n for n, *_ in round_] == [903]
    assert [body for _, body in inputs] == [f'{{"n":{n}}}' for n in range(812, 828)]
    assert raw == [(2, ">", "05FF")]
    ((n, checkpoint),) = signed
    assert n == 904
    text, _, behind = checkpoint.partition("\n\n")
    line, _, details = behind.partition("\n")
    signature = base64.b64decode(line.rpartition(" ")[2])[4:]
    assert is_valid_signature(f"{text}\n".encode(), signature, key.public_key)
    assert text.endswith(f"details {sha256(details.encode()).hexdigest()}")
    assert games == [(1, "eA==")]


def test_the_page_names_every_kind_of_record() -> None:
    for kind in Kind:
        assert f"`{kind.value}`" in PAGE
