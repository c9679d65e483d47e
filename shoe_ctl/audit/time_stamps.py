"""Time stamps by an authority (RFC 3161): that bytes existed at a time, by a third clock.

In: bytes; an authority's address, or the certificates to trust. Out: stamps; the time of one.
Must not know: notes, journals.

The command ``openssl ts`` encodes, signs for a test, and verifies: a stamp is signed ASN.1 with
certificates, and none of our libraries reads it. Only who uses time stamps needs the command.
"""

from __future__ import annotations

import http.client
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from shoe_ctl.errors import EnvironmentFault, InputRefused

ANSWERED_WITHIN_S = 5.0
"""An authority may take so long; a checkpoint is cosigned without a stamp then."""

DONE_WITHIN_S = 30.0

LONGEST_STAMP = 1 << 15
"""Bytes of a stamp; with the authority's certificates one has a few thousand."""

_TIME = re.compile(r"^Time stamp: (\w{3} +\d+ \d\d:\d\d:\d\d)(?:\.\d+)? (\d{4}) GMT$", re.MULTILINE)


def request_stamp(authority: str, data: bytes) -> bytes:
    """Return an authority's stamp of these bytes, of which it gets the SHA-256 alone.

    Raises:
        InputRefused: it gives none.
        EnvironmentFault: ``openssl`` is not installed.
    """
    query = _openssl("-query", "-digest", sha256(data).hexdigest(), "-sha256", "-cert").stdout
    asked = urllib.request.Request(
        authority, query, {"Content-Type": "application/timestamp-query"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=ANSWERED_WITHIN_S) as answer:
            stamp = bytes(answer.read(LONGEST_STAMP + 1))
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise InputRefused(f"{authority}: {reason}") from None
    if len(stamp) > LONGEST_STAMP:
        raise InputRefused(f"{authority}: a stamp of more than {LONGEST_STAMP:,} bytes")
    said = _text(stamp)
    if "Status: Granted." not in said:
        why = re.search(r"^Status description: (.+)$", said, re.MULTILINE)
        raise InputRefused(f"{authority}: no stamp{f': {why[1]}' if why else ''}")
    return stamp


def time_of_stamp(stamp: bytes, data: bytes, authorities: Path) -> int:
    """Return when a stamp says that these bytes existed, in µs since 1970 UTC.

    ``authorities`` is a file with the certificates to trust. Those of the stamp count as of its own
    time: they end long before a journal is of no interest any more.

    Raises:
        InputRefused: it is no stamp of these bytes, or by nobody who is trusted.
        EnvironmentFault: ``openssl`` is not installed.
    """
    found = _TIME.search(_text(stamp))
    if found is None:
        raise InputRefused("it is no time stamp")
    moment = datetime.strptime(f"{found[1]} {found[2]} +0000", "%b %d %H:%M:%S %Y %z")
    t_s = int(moment.timestamp())
    digest = sha256(data).hexdigest()
    trusted = ("-CAfile", str(authorities), "-attime", str(t_s))
    done = _openssl("-verify", "-digest", digest, *trusted, stamp=stamp)
    if done.returncode:
        raise InputRefused(f"it does not hold: {_reason(done.stderr.decode('utf-8', 'replace'))}")
    return t_s * 1_000_000


def _reason(said: str) -> str:
    """Return what openssl says is wrong: the last part of its last error."""
    errors = [line for line in said.splitlines() if line.count(":") >= 5]
    return errors[-1].split(":")[5] if errors else "it is not signed by a trusted authority"


def _text(stamp: bytes) -> str:
    return _openssl("-reply", "-text", stamp=stamp).stdout.decode("utf-8", "replace")


def _openssl(*words: str, stamp: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run ``openssl ts`` with these words, with a stamp as its input file.

    Raises:
        EnvironmentFault: it is not installed, or does not end.
    """
    program = shutil.which("openssl")
    if program is None:
        raise EnvironmentFault("time stamps need openssl: install it (apt-get install openssl)")
    with TemporaryDirectory() as folder:
        given: tuple[str, ...] = ()
        if stamp is not None:
            file = Path(folder) / "stamp"
            file.write_bytes(stamp)
            given = ("-in", str(file))
        command = [program, "ts", *words, *given]
        try:
            return subprocess.run(command, capture_output=True, timeout=DONE_WITHIN_S, check=False)
        except subprocess.TimeoutExpired:
            raise EnvironmentFault(f"openssl ts {words[0]} did not end") from None
