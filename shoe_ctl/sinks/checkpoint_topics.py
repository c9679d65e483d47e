"""The topics of checkpoints and cosignatures at a broker; with dots they are subjects of NATS.

In: a journal's name, a witness's key. Out: names. Must not know: how a broker is spoken to, what a
checkpoint says.

No table's id begins with ``_``: who may read what all tables publish reads nothing here.
"""

from __future__ import annotations

from hashlib import sha256

CHECKPOINTS = "shoe/v1/_journal/+/checkpoint"
"""The newest checkpoint of each journal."""

COSIGNATURES = "shoe/v1/cosignatures/+/+"
"""The last cosignature of each witness and journal. A user may be let write the witness's own."""


def journal_level(origin: str) -> str:
    """Return what stands for a journal in a topic: 16 hex digits of its name's SHA-256."""
    return sha256(origin.encode()).hexdigest()[:16]


def checkpoint_topic(origin: str) -> str:
    """Return the topic of a journal's checkpoints."""
    return CHECKPOINTS.replace("+", journal_level(origin))


def cosignature_topic(witness: bytes, origin: str, *, alarm: bool = False) -> str:
    """Return the topic of a witness's cosignatures of a journal; ``witness`` is its key's id.

    An alarm has a topic beside it, so that it does not replace what was cosigned last.
    """
    of = f"{journal_level(origin)}{'-alarm' if alarm else ''}"
    return COSIGNATURES.replace("+/+", f"{witness.hex()}/{of}")


def subject(topic: str) -> str:
    """Return the subject, or the pattern of subjects, that a topic is over NATS."""
    return topic.replace("/", ".").replace("+", "*")
