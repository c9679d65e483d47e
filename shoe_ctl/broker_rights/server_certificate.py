"""The end of a broker's certificate.

In: the end of a certificate. Out: a finding. Must not know: a protocol.
"""

from __future__ import annotations

from datetime import datetime

from shoe_ctl.broker_rights.findings import Findings
from shoe_ctl.sinks.brokers import RENEWED_BEFORE, ends_soon


def note_certificate(noted: Findings, ends: datetime | None) -> None:
    """Note whether the certificate lasts; nothing without TLS."""
    if ends is None:
        return
    noted.must(f"keep its certificate for {RENEWED_BEFORE.days} days", ends_soon(ends))
