"""``tests/README.md`` names what is there, and the unit tests lie as the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoe_ctl.games.irregularity_ends import ENDS
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_testing.paths import ROOT, SUPPORT

TESTS = ROOT / "tests"
UNIT = TESTS / "unit"
PAGE = (TESTS / "README.md").read_text("utf-8")
MODULES = {path.stem for path in (SUPPORT / "shoe_testing").glob("*.py")} - {"__init__"} | {
    path.parent.name for path in (SUPPORT / "shoe_testing").glob("*/__init__.py")
}

PACKAGES = ("firmware_proto", "shoe_bench", "simulators")
"""They have a folder in ``unit``; what ``shoe_ctl`` is made of lies beside them."""

SUBJECTS = {"table/methods", "table/secrecy", "table/search"}
"""Folders for what no package is: it runs through all of the table."""


def folders(below: Path) -> list[str]:
    with_tests = {path.parent for path in below.rglob("test_*.py")}
    return sorted(str(path.relative_to(below)) for path in with_tests if path != below)


def mirrored(folder: str) -> Path:
    """What the tests in this folder of ``unit`` test."""
    if folder.partition("/")[0] in PACKAGES:
        return ROOT / folder
    return SUPPORT / folder if folder == "shoe_testing" else ROOT / "shoe_ctl" / folder


def test_each_folder_of_unit_tests_mirrors_a_package() -> None:
    unlike = {each for each in folders(UNIT) if not (mirrored(each) / "__init__.py").is_file()}
    assert unlike == SUBJECTS


def test_a_unit_test_of_the_root_is_of_a_module_there() -> None:
    modules = sorted(f"test_{path.name}" for path in (ROOT / "shoe_ctl").glob("*.py"))
    assert {path.name for path in UNIT.glob("test_*.py")} <= set(modules)


@pytest.mark.parametrize("part", ["unit", "integration", "packaging"])
def test_every_folder_with_tests_has_its_line(part: str) -> None:
    lines = set(re.findall(rf"`{part}/([\w/]*)/`", PAGE))
    # A package's own packages lie below its line.
    missing = [
        each
        for each in folders(TESTS / part)
        if not any(each == line or each.startswith(f"{line}/") for line in lines)
    ]
    assert missing == []


def own_tests(package: str, module: Path) -> list[Path]:
    """The unit tests named after a module, given by its path inside its package."""
    folder = UNIT / ("" if package == "shoe_ctl" else package) / module.parent
    return [*folder.glob(f"test_{module.stem}.py"), *folder.glob(f"test_{module.stem}_*.py")]


def listed_tests() -> dict[str, list[str]]:
    """The modules whose test has another name, and those tests."""
    _, _, section = PAGE.partition("\n## Modules whose test has another name\n")
    found: dict[str, list[str]] = {}
    package = ""
    for line in section.partition("\n## ")[0].splitlines():
        if line.startswith("### "):
            package = line.strip("# `")
        elif line.startswith("| `"):
            _, modules, tests, _ = line.split("|")
            for module in re.findall(r"`([\w/]+\.py)`", modules):
                found[f"{package}/{module}"] = re.findall(r"`([\w/]+\.py)`", tests)
    return found


def test_the_test_of_every_module_is_found_by_its_name_or_in_the_table() -> None:
    listed = listed_tests()
    nameless = [
        f"{package}/{module}"
        for package in ("shoe_ctl", *PACKAGES)
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.name.startswith("__") and path.parent.name != "examples"
        for module in [path.relative_to(ROOT / package)]
        if f"{package}/{module}" not in listed and not own_tests(package, module)
    ]
    assert nameless == [], "write its test, or name it in tests/README.md"


def test_the_table_of_tests_with_other_names_names_what_is_there() -> None:
    listed = listed_tests()
    assert len(listed) > 100
    assert [module for module in listed if not (ROOT / module).is_file()] == []
    named = {test for tests in listed.values() for test in tests}
    assert [test for test in sorted(named) if not (TESTS / test).is_file()] == []
    assert [module for module, tests in listed.items() if not tests] == []


def test_every_folder_that_it_names_is_there() -> None:
    named = set(re.findall(r"`(?:tests/)?((?:unit|integration|packaging|simulation|corpus|captures)/[\w/]*)`", PAGE))  # fmt: skip  # noqa: E501
    assert [each for each in sorted(named) if not (TESTS / each).is_dir()] == []
    assert len(named) > 20


def test_every_module_of_shoe_testing_has_one_line_and_every_line_a_module() -> None:
    _, _, table = PAGE.partition("\n## `shoe_testing`")
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(MODULES)


def test_no_test_imports_another() -> None:
    found = re.compile(r"^\s*(?:from|import) tests\.(?:.*\.)?test_\w+|^\s*from tests[\w.]* import .*\btest_", re.MULTILINE)  # fmt: skip  # noqa: E501
    assert [path for path in TESTS.rglob("*.py") if found.search(path.read_text("utf-8"))] == []


def test_every_irregularity_has_a_file_of_its_name_or_a_line() -> None:
    table = PAGE.partition("\n## Irregularities\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    listed = {
        key: re.findall(r"`([\w/]+\.py)`", files)
        for keys, files in rows
        for key in re.findall(r"`(\w+)`", keys)
    }
    for key in sorted({*ENDS, *PROCEDURES, *RECORDED, *listed}):
        files = [UNIT / "table" / name for name in listed.get(key, [])]
        own = [
            *(UNIT / "table").rglob(f"test_{key}.py"),
            *(UNIT / "table").rglob(f"test_{key}_*.py"),
        ]
        assert files if key in listed else own, key
        assert [
            path for path in files if not re.search(rf"\b{key}\b", path.read_text("utf-8"))
        ] == []
