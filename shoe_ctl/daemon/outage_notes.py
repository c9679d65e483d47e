"""What a daemon leaves for the next one while nothing can be stored: that it is so, and since when.

In: places for small files, an outage. Out: a note in each place that takes one; what was found in
them. Must not know: the journal's insides, tables, who is asked to resume.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from shoe_ctl.config.schema import Config
from shoe_ctl.daemon.outage import Outage

SUFFIX = "-outage"
"""Behind the name of what a note lies beside."""

UNTOLD = "the storage failed while an earlier daemon served, which could not note why"

log = logging.getLogger(__name__)


class OutageNotes:
    """One note in several places, the one that is likeliest to take it first.

    It is there from an outage's announcement until every table has stored that it was; whoever
    starts meanwhile finds it. That a place takes none is logged: where none does, and the daemon
    ends before the storage works, the outage is forgotten.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = tuple(places)

    def found(self) -> Outage | None:
        """The outage that an earlier daemon noted and no table has stored yet; None without one.

        A note that cannot be read, or is empty (a full disk may give a file no room for a word), is
        an outage all the same: since the file was made, for a reason not known.
        """
        found = [outage for place in self.places if (outage := _read(place)) is not None]
        return min(found, key=lambda outage: outage.since_us, default=None)

    def write(self, outage: Outage) -> None:
        """Notes it wherever that can be done, in the order of the places. Never raises."""
        noted = [place for place in self.places if _write(place, outage)]
        if not noted:
            log.error(
                "that nothing can be stored could not be noted anywhere: if this daemon ends now, "
                "the next one asks nobody to resume"
            )

    def clear(self) -> None:
        """Every table has it stored. Never raises; a note that stays asks people once more."""
        for place in self.places:
            try:
                place.unlink(missing_ok=True)
            except OSError as error:
                log.warning(
                    "%s cannot be removed (%s): the next start asks people to resume once more",
                    place, error.strerror,
                )  # fmt: skip


def notes_for(config: Config) -> OutageNotes:
    """A note beside the socket and one beside the journal.

    The first mostly lies in memory, and is made whatever became of the disk; the second, where the
    disk takes it, outlasts a reboot.
    """
    beside = (config.socket_path, config.path(config.journal.path))
    places = [path.parent / f"{path.name}{SUFFIX}" for path in beside if path is not None]
    return OutageNotes(places)


def _write(place: Path, outage: Outage) -> bool:
    """Whether there is a note now, be it an empty one."""
    try:
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        log.warning("%s cannot be made: %s", place, error.strerror)
        return False
    try:
        os.write(fd, msgspec.json.encode(outage) + b"\n")
        os.fsync(fd)
    except OSError as error:
        log.warning("%s is empty or may not last: %s", place, error.strerror)
    finally:
        os.close(fd)
    return True


def _read(place: Path) -> Outage | None:
    try:
        made_us = place.stat().st_mtime_ns // 1000
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # nor can the journal be there: it says so itself
            return None
        log.warning("%s cannot be looked at: %s", place, error.strerror)
        return None
    try:
        return msgspec.json.decode(place.read_bytes(), type=Outage)
    except (OSError, msgspec.MsgspecError):
        return Outage(since_us=made_us, what=UNTOLD)
