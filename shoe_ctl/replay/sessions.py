"""Makes the session of a recorded connection again, with the keys of its shoe or without.

In: connections as the journal has them, keys. Out: sessions; what could not be checked.
Must not know: bytes, what was heard.
"""

from __future__ import annotations

from collections.abc import Mapping

from firmware_proto.profiles import profile, recorded
from firmware_proto.session import HostSession, Resume
from shoe_ctl.journal.bodies import Connection
from shoe_ctl.replay.wire_replay import VerdictOf


class Sessions:
    """Is a ``SessionOf``. ``authenticated`` counts connections whose shoe had to prove itself.

    With ``keys`` every proof and MAC is checked again; ``missing`` are those that were not among
    them, by device and key id. Without, the verdicts that were recorded are taken as they are.
    """

    def __init__(self, keys: Mapping[str, Mapping[int, bytes]] | None = None) -> None:
        self.authenticated = 0
        self.missing: set[tuple[str, int]] = set()
        self._keys = keys

    @property
    def checks(self) -> bool:
        """Whether keys were given."""
        return self._keys is not None

    def forget(self) -> None:
        """Counts from the beginning."""
        self.authenticated = 0
        self.missing.clear()

    def __call__(self, opened: Connection, verdict_of: VerdictOf) -> HostSession:
        """See ``SessionOf``."""
        chosen = profile(opened.profile)
        if opened.authenticated:
            self.authenticated += 1
            chosen = recorded(chosen, verdict_of, self._keys, self._miss)
        resume = next((Resume(known.device_id, known.seq) for known in opened.resume), None)
        return chosen.host_session(resume=resume, settings=opened.settings)

    def _miss(self, device_id: str, key_id: int) -> None:
        self.missing.add((device_id, key_id))
