"""What was tested stands in the XML that pytest writes: shoe, firmware, versions, seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from firmware_proto.profiles import PROFILES
from firmware_proto.version import describe_version
from shoe_testing.bench_runs import BenchRun

pytestmark = pytest.mark.slow

TESTS = """
import pytest

@pytest.mark.parametrize("profile", [
    pytest.param(each, marks=pytest.mark.shoe(profile=each, seed=41))
    for each in ("reference", "angel_eye", "bee_tek")
])
def test_each(shoe_bench, profile): ...

def test_two(shoe_bench, open_shoe_bench):
    open_shoe_bench(profile="angel_eye", seed=5)
    assert False
"""


def properties(xml: Path) -> dict[str, dict[str, str]]:
    return {
        case.attrib["name"]: {
            each.attrib["name"]: each.attrib["value"] for each in case.iter("property")
        }
        for case in ET.parse(xml).iter("testcase")
    }


def test_the_xml_names_shoe_firmware_versions_and_seed_of_each_test(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(TESTS)
    xml = pytester.path / "night.xml"
    bench_run(f"--junitxml={xml}")
    found = properties(xml)
    versions = {
        "shoe_daemon": describe_version().split()[0],
        "shoe_shoe_bench": describe_version(),
    }
    for profile in PROFILES:
        of = found[f"test_each[{profile}]"]
        assert of.items() >= {"shoe_profile": profile, "shoe_seed": "41", **versions}.items()
    assert found["test_each[reference]"]["shoe_serial"].startswith("SIM-")
    assert found["test_each[reference]"]["shoe_firmware"] == "sim-1.0"
    assert "shoe_firmware" not in found["test_each[angel_eye]"]
    two = found["test_two"]
    assert (two["shoe_seed"], two["shoe2_seed"], two["shoe2_profile"]) == ("1", "5", "angel_eye")
    assert Path(two["shoe2_capture"]).is_file()


def test_of_a_device_the_xml_names_the_port(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester, served_port: str
) -> None:
    pytester.makepyfile("def test_one(shoe_bench): ...")
    xml = pytester.path / "night.xml"
    assert bench_run(f"--junitxml={xml}", f"--shoe-port={served_port}").verdicts == {
        "test_one": "passed"
    }
    of = properties(xml)["test_one"]
    assert of["shoe_port"] == served_port
    assert of["shoe_serial"]
    assert "shoe_seed" not in of
