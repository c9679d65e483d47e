"""Time stamps of what a witness cosigned: by a real authority, which openssl's `ts` command plays.

In: an authority with certificates of its own, behind an HTTP server. Out: what verify says of its
stamps, and what the witness does where it gets none.
"""

from __future__ import annotations

import base64
import http.server
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click.testing
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import UsageError
from shoe_ctl.journal.cosignatures import cosignatures_path
from shoe_ctl.journal.signing import open_signer
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, records, stored_round
from shoe_testing.ports import HOST, free_port

CONFIG = """
[ tsa ]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no

[ extensions ]
extendedKeyUsage = critical,timeStamping
"""

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")


class Authority(NamedTuple):
    """A time-stamp authority: its address, and the certificate to trust."""

    url: str
    ca: Path


def openssl(*words: object) -> bytes:
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, check=True)
    return done.stdout


def certificates(folder: Path) -> Path:
    """An authority's key and certificate for time stamps, and the one that signed it."""
    folder.mkdir()
    (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))
    (folder / "serial").write_text("01\n")
    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    ca, key = folder / "ca.pem", folder / "ca.key"
    openssl(*new, "-x509", "-subj", "/CN=hall test CA", "-keyout", key, "-out", ca)
    request = folder / "tsa.csr"
    openssl(*new, "-subj", "/CN=hall test TSA", "-keyout", folder / "tsa.key", "-out", request)
    extensions = ("-extfile", folder / "tsa.cnf", "-extensions", "extensions")
    signer = ("-CA", ca, "-CAkey", key, "-CAcreateserial", "-days", 2)
    openssl("x509", "-req", "-in", request, *signer, *extensions, "-out", folder / "tsa.pem")
    return ca


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    folder = tmp_path_factory.mktemp("authority") / "tsa"
    ca = certificates(folder)

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            query, answer = folder / "query", folder / "answer"
            query.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/refuses":  # it knows no such digest
                openssl("ts", "-query", "-data", query, "-sha512", "-out", query)
            config = ("-config", folder / "tsa.cnf", "-section", "tsa", "-chain", ca)
            by = ("-inkey", folder / "tsa.key", "-signer", folder / "tsa.pem")
            openssl("ts", "-reply", "-queryfile", query, *config, *by, "-out", answer)
            body = answer.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = http.server.HTTPServer((HOST, 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Authority(f"http://{HOST}:{server.server_port}", ca)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Seen(NamedTuple):
    """A journal, its witness's verifier key, and the lines that the witness handed out."""

    journal: Path
    witness: str
    lines: list[dict[str, Any]]
    told: str

    def verify(self, *words: object) -> click.testing.Result:
        return invoke(shoectl, "verify", self.journal, "--witness", self.witness, *words)

    def store(self, lines: list[dict[str, Any]]) -> None:
        """Put these lines beside the journal, as anybody may who has the folder."""
        text = "".join(json.dumps(line) + "\n" for line in lines)
        cosignatures_path(self.journal).write_text(text)


def cosigned(folder: Path, url: str, rounds: int = 2) -> Seen:
    """A journal with a checkpoint behind each round; the witness asks this authority."""
    journal, key = folder / "journal.db", folder / "w1.key"
    own = ("witness", "--signing-key", key, "--name", "gaming.example/w1")
    witness = invoke(shoectl, *own, "--show-key").stdout.strip()
    lines, told = "", ""
    for number in range(1, rounds + 1):
        with opened(journal) as store:
            store.commit([stored_round(number)])
            store.checkpoint(open_signer(journal, None), T_US + number)
        event = invoke(shoectl, "checkpoint", journal).stdout
        journals = invoke(shoectl, "checkpoint", journal, "--key").stdout.strip()
        done = invoke(shoectl, *own, "--journal", journals, "--tsa", url, "-", stdin=event)
        assert done.exit_code == 0, done.output
        lines, told = lines + done.stdout, told + done.stderr
    stored = invoke(shoectl, "cosignatures", journal, "-", "--witness", witness, stdin=lines)
    assert stored.stdout.endswith(f": {rounds} added, 0 there before\n")
    return Seen(journal, witness, [json.loads(line) for line in lines.splitlines()], told)


def test_verify_shows_up_to_which_record_the_journal_existed_at_the_authoritys_time(
    tmp_path: Path, authority: Authority
) -> None:
    began = time.time() - 1
    seen = cosigned(tmp_path, authority.url)

    found = seen.verify("--tsa-ca", authority.ca, "--json")

    assert (found.exit_code, seen.told) == (0, "")
    plain = json.loads(found.stdout)
    (stamped,) = plain["stamped"]
    last = [record.n for record in records(seen.journal) if record.kind == "checkpoint"][-1]
    assert (stamped["upto"], stamped["why"]) == (last - 1, None)
    assert began <= stamped["t_us"] / 1_000_000 <= time.time()
    shown = " ".join(seen.verify("--tsa-ca", authority.ca).stdout.split())
    assert f"stamped gaming.example/w1: records up to {last - 1} existed 20" in shown


def test_an_authority_that_is_away_or_refuses_leaves_a_cosignature_without_a_stamp(
    tmp_path: Path, authority: Authority
) -> None:
    for url in (f"http://{HOST}:{free_port()}/", f"{authority.url}/refuses"):
        folder = tmp_path / url.rpartition("/")[2]
        folder.mkdir(exist_ok=True)
        seen = cosigned(folder, url)
        assert seen.told.count(f"cosigned without a time stamp: {url}: ") == 2
        assert ["stamp" in line["data"] for line in seen.lines] == [False, False]
        assert seen.verify().exit_code == 0
        found = seen.verify("--tsa-ca", authority.ca)
        assert (found.exit_code, "no time stamp is stored" in found.stdout) == (1, True)


def test_a_stamp_that_is_altered_or_another_notes_or_a_strangers_is_wrong_in_one_line(
    tmp_path: Path, authority: Authority
) -> None:
    seen = cosigned(tmp_path, authority.url)
    first, last = seen.lines
    whole = base64.b64decode(last["data"]["stamp"])
    spoilt = bytearray(whole)
    spoilt[-20] ^= 1
    wrong = {
        "altered": bytes(spoilt),
        "another note's": base64.b64decode(first["data"]["stamp"]),
        "none": b"no stamp",
        "cut": whole[: len(whole) // 2],
    }
    for name, stamp in wrong.items():
        data = {**last["data"], "stamp": base64.b64encode(stamp).decode()}
        seen.store([first, {**last, "data": data}])
        found = seen.verify("--tsa-ca", authority.ca)
        assert found.exit_code == 1, name
        assert "the time stamp of record" in " ".join(found.stdout.split()), name
        assert seen.verify().exit_code == 0  # the cosignature holds all the same
    seen.store(seen.lines)
    stranger = certificates(tmp_path / "stranger")
    assert seen.verify("--tsa-ca", stranger).exit_code == 1
    assert seen.verify("--tsa-ca", authority.ca).exit_code == 0


def test_what_does_not_fit_is_refused_in_one_line(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    with opened(journal) as store:
        store.commit([stored_round(1)])
        store.checkpoint(open_signer(journal, None), T_US)
    found = invoke(shoectl, "verify", journal, "--tsa-ca", "x.pem")
    assert isinstance(found.exception, UsageError)
    assert str(found.exception).startswith("--tsa-ca needs --witness")
    words = ("--signing-key", tmp_path / "k", "--name", "w", "--tsa", "ftp://x", "-")
    refused = invoke(shoectl, "witness", *words)
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception).startswith("--tsa: expected http://HOST/")
