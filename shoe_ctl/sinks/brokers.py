"""The common part of the connections to brokers: the files that TLS needs, requests of their users.

In: paths. Out: an SSL context, or one line that names the file that cannot be used; when the other
end's certificate ends; the form of a request, and of where its answer goes.
Must not know: any protocol, what an event or a request means.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from shoe_ctl.errors import ConfigError
from shoe_ctl.secret_file import read_secret


class Certificates(NamedTuple):
    """The files that TLS needs; without ``ca`` those that the host trusts count."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


def tls_context(files: Certificates) -> ssl.SSLContext:
    """Return the context of TLS with these files.

    Raises:
        ConfigError: a file cannot be read, or is none of its kind; the text names it.
    """
    try:
        context = ssl.create_default_context(cafile=files.ca)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"tls.ca: {files.ca}: {error_words(error)}") from None
    if files.cert is not None and files.key is not None:
        read_secret(files.key, "tls.key")
        try:
            context.load_cert_chain(files.cert, files.key, password=lambda: b"")
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"tls.cert, tls.key: {files.cert}, {files.key}: {error_words(error)}"
            ) from None
    return context


def certificate_ends(connection: object) -> datetime | None:
    """Return when the certificate of the other end of a socket or transport ends; None without TLS.

    The time is in UTC.
    """
    show = getattr(connection, "getpeercert", None)
    said = show() if show is not None else None
    if not said:
        return None
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(said["notAfter"]), timezone.utc)


RENEWED_BEFORE = timedelta(days=14)
"""A certificate that ends within this time is to be renewed."""


def ends_soon(ends: datetime | None) -> str | None:
    """Return that the other end's certificate ends soon, and what to do; None where it lasts."""
    if ends is None or ends - datetime.now(timezone.utc) >= RENEWED_BEFORE:
        return None
    return f"the certificate ends at {ends:%Y-%m-%d %H:%M} UTC: renew it there"


def error_words(error: BaseException) -> str:
    """Return what an error says to people, without the place in a library's source."""
    said = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
    return str(said).rpartition(" (_ssl.c")[0] or str(said)


class Reply(Protocol):
    """The place where one user, and nobody else, gets the events that it asked for."""

    @property
    def address(self) -> str:
        """Its name at the broker."""

    async def send(self, events: Sequence[bytes]) -> None:
        """Send these there, in order.

        Raises:
            OSError: they cannot be sent now.
        """


class Asked(NamedTuple):
    """A request that a user of the broker sent for a table.

    ``refused`` is why it must not be done. It must not be done after ``expires_at`` either, a time
    of the loop. Events that it asks for go to ``reply``.
    """

    table: str
    user: str
    body: bytes
    refused: Literal["retained", "response_topic"] | None = None
    expires_at: float | None = None
    reply: Reply | None = None


class Desk(Protocol):
    """Answers the broker's users, and knows how the tables stand."""

    async def answer(self, asked: Asked) -> bytes:
        """Return the answer as JSON."""

    async def state(self, table: str) -> Mapping[str, Any] | None:
        """Return how the table stands, in public; None while that is not known."""
