"""A damaged journal may hold anything: whatever reading it comes to is told in one line.

In: a journal's path, what is done with it. Out: where it is damaged, if that is why it failed.
Must not know: what is read, and what for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoe_ctl.errors import JournalError, ShoeCtlError


@contextmanager
def told_of(journal: Path) -> Iterator[None]:
    """Verifies the journal where the body fails in a way that nobody foresaw.

    Raises:
        JournalError: it is not what was written. Of a whole journal the error itself is raised.
    """
    try:
        yield
    except (ShoeCtlError, OSError):
        raise
    except Exception:
        from shoe_ctl.journal.reader import Reader
        from shoe_ctl.journal.verify import verify

        with Reader.open(journal) as reader:
            bad = verify(reader).first_bad
        if bad is None:
            raise
        said = f"journal {journal} is damaged: record {bad.n}, {bad.why}"
        raise JournalError(f"{said}; shoectl verify tells more") from None
