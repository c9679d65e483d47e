"""Configurations whose tables nobody could let go on, and those that have somebody."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.config.resolve import NO_WAY_IN, NOBODY_RESUMES, warnings
from shoe_ctl.config.schema import of_plain


def of(*users: dict[str, Any], **table: Any) -> list[str]:
    shoe = {"profile": "reference", "port": "/dev/x"}
    plain: dict[str, Any] = {"table": [{"id": "t", "game": "tiger", "shoe": shoe, **table}]}
    if users:
        numbered = [{"user": number, **user} for number, user in enumerate(users)]
        plain["socket"] = {"user": numbered}
    return warnings(of_plain(plain, "x"))


def test_without_a_socket_nobody_can() -> None:
    assert of() == [NO_WAY_IN]


@pytest.mark.parametrize(
    "user",
    [
        {"position": "pit_supervisor"},
        {"position": "gaming_shift_manager"},
        {"position": "assistant_casino_manager"},
        {"position": "surveillance"},
        {"position": "dealer", "also": ["surveillance"]},
    ],
)
def test_one_user_who_may_resume_is_enough(user: dict[str, Any]) -> None:
    assert of({"position": "dealer"}, user) == []


def test_a_dealer_alone_is_not() -> None:
    assert of({"position": "dealer"}, {"position": "dealer"}) == [NOBODY_RESUMES]
