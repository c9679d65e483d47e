"""The way in for programs on this host: requests, and the Unix socket that takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.api.requests import (
        BadRequest,
        Caller,
        Command,
        EventsRequest,
        RedeliverRequest,
        Request,
        ResendRequest,
        StatusRequest,
        read_request,
    )
    from shoe_ctl.api.unix_socket import serving
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "BadRequest": "requests",
            "Caller": "requests",
            "Command": "requests",
            "EventsRequest": "requests",
            "RedeliverRequest": "requests",
            "Request": "requests",
            "ResendRequest": "requests",
            "StatusRequest": "requests",
            "read_request": "requests",
            "serving": "unix_socket",
        },
    )

__all__ = [
    "BadRequest",
    "Caller",
    "Command",
    "EventsRequest",
    "RedeliverRequest",
    "Request",
    "ResendRequest",
    "StatusRequest",
    "read_request",
    "serving",
]
