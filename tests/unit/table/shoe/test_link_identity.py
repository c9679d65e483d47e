"""Who is at the other end: connected is told once it is known, refused when it is not this table's.

The link alone says nothing: an open port is no shoe.
"""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    HOST_WITHOUT_KEY,
    NO_KEY,
    WRONG_PROOF,
    Authenticated,
    AuthenticationFailed,
    Challenged,
)
from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import LinkUp
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.tables import DEVICE, TableHarness

NONCE = "00" * 16


def shown(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def keyed(table: TableHarness, connection: int = 1) -> TableHarness:
    table.feed(
        LinkUp(
            t_us=table.t_us,
            connection=connection,
            profile="reference",
            arm=True,
            replay=True,
            judges=False,
            names_hands=False,
            authenticated=True,
        )
    )
    return table


def challenged() -> Challenged:
    return Challenged(device_id=DEVICE, key_id=1, nonce=NONCE)


def proves(table: TableHarness) -> None:
    table.says(challenged())
    table.says(
        Authenticated(device_id=DEVICE, boot_id=7, key_id=1, host_nonce=NONCE, shoe_nonce=NONCE)
    )


def test_an_open_port_is_no_shoe() -> None:
    table = TableHarness()
    table.connect()
    assert table.kinds == []
    assert shown(table)["link"] == "unidentified"


def test_a_shoe_without_a_key_is_connected_once_it_says_who_it_is() -> None:
    table = TableHarness()
    table.connect()
    table.hello(set_id="a1", resumed=False)
    assert table.kinds[:2] == ["shoe.connected", "shoe.loaded"]
    said = {"profile": "reference", "authenticated": False, "identified": True}
    assert table.told("shoe.connected") == [said]
    [event] = [e for e in table.events if e.type == "shoe.connected"]
    assert event.restricted_data == {**said, "device_id": DEVICE}
    assert shown(table)["link"] == "up"


def test_a_shoe_with_a_key_is_connected_only_once_it_has_proved_it() -> None:
    table = keyed(TableHarness())
    table.says(challenged())
    assert table.kinds == []
    assert shown(table)["link"] == "unidentified"
    proves(table)
    table.hello(set_id="a1", resumed=False)
    assert table.told("shoe.connected") == [
        {"profile": "reference", "authenticated": True, "identified": True}
    ]
    assert "shoe.refused" not in table.kinds


def test_a_hello_said_again_is_no_second_connection() -> None:
    table = TableHarness()
    table.connect()
    table.hello(set_id="a1", resumed=False)
    table.hello(boot=8)
    assert table.kinds.count("shoe.connected") == 1


def test_what_was_never_connected_is_not_lost() -> None:
    table = keyed(TableHarness())
    table.disconnect()
    assert table.kinds == []
    table.connect()
    table.hello(set_id="a1", resumed=False)
    table.disconnect()
    assert table.kinds.count("shoe.lost") == 1


def test_a_restart_tells_the_loss_only_of_a_shoe_that_was_connected() -> None:
    table = keyed(TableHarness())
    table.restart()
    assert "shoe.lost" not in table.kinds


@pytest.mark.parametrize(
    ("why", "code"),
    [
        (HOST_WITHOUT_KEY, "no_key"),
        (NO_KEY, "no_key"),
        (CANNOT_AUTHENTICATE, "unauthenticated"),
        (WRONG_PROOF, "wrong_key"),
        ("the shoe has no key 1", "wrong_key"),
    ],
)
def test_a_failed_proof_is_told_to_everyone_with_its_code(why: str, code: str) -> None:
    table = keyed(TableHarness())
    table.says(AuthenticationFailed(reason=why, device_id="SH-9"))
    [event] = [e for e in table.events if e.type == "shoe.refused"]
    assert event.audience is Audience.PUBLIC
    assert event.data == {"reason": code}
    assert event.restricted_data == {"reason": code, "device_id": "SH-9"}
    assert (shown(table)["link"], shown(table)["link_reason"]) == ("refused", code)
    assert "refused" in english(shown(table)["next"]["message"])


def test_who_says_hello_and_never_proves_it_is_refused_in_time() -> None:
    table = keyed(TableHarness())
    table.says(challenged())
    assert table.now.wake_us is not None
    table.tick()
    assert table.told("shoe.refused") == [{"reason": "no_proof"}]
    assert shown(table)["link"] == "refused"
    assert table.now.wake_us is None


def test_a_shoe_that_proves_itself_after_all_is_connected_and_no_more_refused() -> None:
    table = keyed(TableHarness())
    table.says(AuthenticationFailed(reason=WRONG_PROOF, device_id="SH-9"))
    proves(table)
    table.hello(set_id="a1", resumed=False)
    assert (shown(table)["link"], shown(table)["link_reason"]) == ("up", None)
    assert "refused" not in english(shown(table)["next"]["message"])


def test_a_refusal_is_remembered_until_a_shoe_is_connected() -> None:
    table = keyed(TableHarness())
    table.says(AuthenticationFailed(reason=WRONG_PROOF, device_id="SH-9"))
    table.disconnect()
    assert (shown(table)["link"], shown(table)["link_reason"]) == ("lost", "wrong_key")
    keyed(table, connection=2)
    assert (shown(table)["link"], shown(table)["link_reason"]) == ("unidentified", "wrong_key")


def test_between_rounds_next_names_the_refusal_beside_what_the_round_waits_for() -> None:
    table = TableHarness().open_shoe()
    table.disconnect()
    keyed(table)
    table.says(AuthenticationFailed(reason=WRONG_PROOF, device_id=DEVICE))
    text = english(shown(table)["next"]["message"])
    assert text.startswith("place your bets") and "refused" in text


def test_a_stranger_who_speaks_in_a_round_halts_it_and_the_shoe_stays_connected() -> None:
    table = keyed(TableHarness())
    proves(table)
    table.hello(set_id="a1", resumed=False)
    table.open_round()
    table.deal("2D 3C")
    table.says(challenged())
    assert table.now.wake_us is None
    table.says(AuthenticationFailed(reason=WRONG_PROOF, device_id=DEVICE))
    assert table.now.state == "suspended"
    assert table.told("shoe.refused") == [{"reason": "wrong_key"}]
    assert shown(table)["link"] == "up"


@pytest.mark.parametrize("shoe", ["angel_eye", "bee_tek"])
def test_a_shoe_that_cannot_say_who_it_is_is_told_as_not_identified(shoe: str) -> None:
    table = TableHarness(angel_eye=shoe == "angel_eye", bee_tek=shoe == "bee_tek")
    table.connect()
    assert table.told("shoe.connected") == [
        {"profile": shoe, "authenticated": False, "identified": False}
    ]
    assert shown(table)["link"] == "up"
