"""The effective configuration: every setting that holds, also where the file leaves it out.

Secrets stand in files of their own, which are named and never read here.

In: a configuration. Out: plain values and their digest. Must not know: what a setting does.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from shoe_ctl.config.schema import Config

_json = msgspec.json.Encoder(order="deterministic")


def effective(config: Config) -> dict[str, Any]:
    """Return every setting of the file's sections, with the defaults; no secret is among them."""
    plain: dict[str, Any] = msgspec.to_builtins(config)
    for name in ("folder", "file"):  # where the file lies says nothing of who may do what
        del plain[name]
    return plain


def digest(plain: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an effective configuration as deterministic JSON, in hex."""
    return sha256(_json.encode(plain)).hexdigest()
