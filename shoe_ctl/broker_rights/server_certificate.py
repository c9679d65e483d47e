"""The end of a broker's certificate.

In: the end of a certificate. Out: a finding. Must not know: a protocol.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from shoe_ctl.broker_rights.findings import Findings

WARNED_BEFORE = timedelta(days=14)
"""A certificate that ends within this time is to be renewed."""


def note_certificate(noted: Findings, ends: datetime | None) -> None:
    """Note whether the certificate lasts; nothing without TLS."""
    if ends is None:
        return
    left = ends - datetime.now(timezone.utc)
    soon = f"it ends at {ends:%Y-%m-%d %H:%M} UTC: renew it" if left < WARNED_BEFORE else None
    noted.must(f"keep its certificate for {WARNED_BEFORE.days} days", soon)
