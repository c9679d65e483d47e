"""The journal: one SQLite file of chained and signed records, written once and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.journal.batch import Batch, CommitResult
    from shoe_ctl.journal.journal import Journal, SinkFeed
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.record_format import Kind
    from shoe_ctl.journal.signing import Signer
    from shoe_ctl.journal.store import Store
    from shoe_ctl.journal.verify import Verification
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Batch": "batch",
            "CommitResult": "batch",
            "Journal": "journal",
            "Kind": "record_format",
            "Reader": "reader",
            "Signer": "signing",
            "SinkFeed": "journal",
            "Store": "store",
            "Verification": "verify",
        },
    )

__all__ = [
    "Batch",
    "CommitResult",
    "Journal",
    "Kind",
    "Reader",
    "Signer",
    "SinkFeed",
    "Store",
    "Verification",
]
