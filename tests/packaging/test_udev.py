"""The udev rules: well formed, and nothing in them that a device could abuse.

In: the files of udev/. Out: what udev says of them where it can (254 on), else what a reader of
their grammar says. Must not know: which devices there are.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

FOLDER = ROOT / "udev"
RULES = FOLDER / "70-card-shoe.rules"
SITE = FOLDER / "60-card-shoe-site.rules"
FILES = sorted(FOLDER.glob("*.rules"))

MATCH = {"==", "!="}
SET = {"=", "+=", ":="}
KEYS = {
    "ACTION": MATCH, "SUBSYSTEM": MATCH, "KERNEL": MATCH, "DRIVER": MATCH, "ATTR": MATCH | SET,
    "ENV": MATCH | SET, "IMPORT": {"="} | MATCH, "GOTO": {"="}, "LABEL": {"="}, "GROUP": SET,
    "MODE": SET, "OPTIONS": SET, "SYMLINK": SET,
}  # fmt: skip
WITH_NAME = {"ATTR", "ENV", "IMPORT"}
TOKEN = re.compile(r'([A-Z_]+)(?:\{([^}]*)\})?(==|!=|\+=|:=|=)"([^"]*)"')

Token = tuple[str, str, str, str]


def rules(text: str) -> list[list[Token]]:
    """Each rule's tokens.

    Raises:
        ValueError: a line is no rule.
    """
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        tokens = TOKEN.findall(line)
        if TOKEN.sub("", line).replace(", ", "").strip():
            raise ValueError(f"no rule: {line}")
        for key, name, operator, _ in tokens:
            if operator not in KEYS.get(key, ()) or bool(name) != (key in WITH_NAME):
                raise ValueError(f"{key}{{{name}}}{operator} in {line}")
        found.append(tokens)
    labels = [value for rule in found for key, _, _, value in rule if key == "LABEL"]
    for rule in found:
        for key, _, _, value in rule:
            if key == "GOTO" and value not in labels:
                raise ValueError(f"no label {value}")
    return found


def uncommented(path: Path) -> str:
    """With the examples that a site chooses from."""
    return re.sub(r"(?m)^# (SUBSYSTEM)", r"\1", path.read_text("utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_line_is_a_rule(path: Path) -> None:
    assert rules(uncommented(path))


@pytest.mark.parametrize(
    "line",
    [
        'SUBSYSTEM="tty"', 'SUBSYTEM=="tty"', "SUBSYSTEM==tty", 'ATTR=="x"', 'GOTO="nowhere"',
        'SUBSYSTEM=="tty" SYMLINK+="x"', 'KERNEL{x}=="y"',
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_seen(line: str) -> None:
    with pytest.raises(ValueError, match=r"no rule|no label| in "):
        rules(line.replace('" S', '"; S'))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_udev_finds_nothing_wrong_with_them(path: Path, tmp_path: Path) -> None:
    udevadm = shutil.which("udevadm")
    asked = [udevadm or "", "verify", "--help"]
    if not udevadm or subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("no udevadm that can verify (systemd 254 on): the grammar above has to do")
    copy = tmp_path / path.name
    copy.write_text(uncommented(path), "utf-8")
    done = subprocess.run(
        [udevadm, "verify", "--resolve-names=never", "--no-style", str(copy)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def the_rule_with(key: str, value: str) -> list[Token]:
    (rule,) = [r for r in rules(RULES.read_text()) if any((t[0], t[3]) == (key, value) for t in r)]
    return rule


def test_a_site_names_its_adapters_before_the_rules_ask_for_a_name() -> None:
    assert SITE.name < RULES.name
    for rule in rules(uncommented(SITE)):
        assert ("ENV", "CARD_SHOE", "=") in {token[:3] for token in rule}


def test_only_what_is_known_as_a_shoe_is_touched() -> None:
    named = [
        n for n, r in enumerate(rules(RULES.read_text())) if ("ENV", "CARD_SHOE", "==", "") in r
    ]
    for n, rule in enumerate(rules(RULES.read_text())):
        touches = {key for key, _, operator, _ in rule if operator in SET} - {
            "GOTO",
            "LABEL",
            "IMPORT",
        }
        names = ("ENV", "CARD_SHOE", "=") in {token[:3] for token in rule}
        assert not touches or names or n > named[-1]


def test_a_serial_number_cannot_lead_a_link_out_of_its_folder() -> None:
    rule = the_rule_with("ENV", "$attr{serial}")
    assert ("ATTR", "serial", "!=", "*/*") in rule
    assert ("ATTR", "serial", "==", "[A-Za-z0-9]*") in rule


def test_the_port_gets_its_link_group_and_no_modem_manager() -> None:
    port = the_rule_with("SYMLINK", "card-shoe/$env{CARD_SHOE}")
    assert ("GROUP", "", "=", "card-shoe") in port
    assert ("MODE", "", "=", "0660") in port
    assert ("ENV", "ID_MM_DEVICE_IGNORE", "=", "1") in the_rule_with("ENV", "1")
    assert ("ATTR", "latency_timer", "=", "1") in the_rule_with("DRIVER", "ftdi_sio")


def test_a_device_that_only_says_that_it_is_a_shoe_does_not_take_a_named_ones_link() -> None:
    said = the_rule_with("ENV", "$attr{serial}")
    assert ("ENV", "CARD_SHOE_KNOWN_BY", "=", "product") in said
    preferred = the_rule_with("OPTIONS", "link_priority=10")
    assert ("ENV", "CARD_SHOE_KNOWN_BY", "!=", "product") in preferred
    assert ("SUBSYSTEM", "", "==", "tty") in preferred
    assert all("CARD_SHOE_KNOWN_BY" not in str(rule) for rule in rules(uncommented(SITE)))
