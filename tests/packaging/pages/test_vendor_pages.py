"""The integrators' pages of vendors' shoes: labelled, warned of, and true about the settings.

In: docs. Out: that they say what the profiles do. Must not know: prose.
"""

from __future__ import annotations

import tomllib

import pytest

from firmware_proto.angel_eye.settings import HostSettings, Redesignation, host_settings
from firmware_proto.profiles import profile
from shoe_testing.paths import ROOT

PAGES = ROOT / "docs" / "guides"
VENDORS = {"angel_eye": "angel-eye.md", "bee_tek": "bee-tek.md"}


def _page(name: str) -> str:
    return (PAGES / VENDORS[name]).read_text("utf-8")


@pytest.mark.parametrize("name", VENDORS)
def test_a_vendors_page_says_what_it_rests_on_and_warns_of_the_wiring(name: str) -> None:
    words = " ".join(_page(name).replace("> ", "").replace("*", "").split())
    assert "Community-derived, not verified on hardware." in words
    assert "read-only" in words
    assert "pins 8 and 9" in words
    assert f"{profile(name).SERIAL.baud:,} baud" in words


@pytest.mark.parametrize("name", VENDORS)
def test_the_example_of_a_vendors_page_is_taken(name: str) -> None:
    text = _page(name).split("```toml\n")[1].split("```")[0]
    shoe = tomllib.loads(text)["table"]["shoe"]
    assert shoe["profile"] == name
    commands = {"commands": shoe["commands"]} if "commands" in shoe else {}
    session = profile(name).host_session(resume=None, settings=shoe.get("options", {}) | commands)
    assert not session.capabilities.arm


def test_every_setting_is_on_the_page_with_its_default_first() -> None:
    page, default = _page("angel_eye"), HostSettings()
    for key in HostSettings.__slots__:
        if key == "commands":
            continue
        value = getattr(default, key)
        first = str(value).lower() if isinstance(value, bool) else f'"{value.value}"'
        assert f"| `{key}` | `{first}`, " in page
    assert host_settings({}) == default
    assert default.redesignation is Redesignation.NEXT_ROUND
