"""An installation beside its wheel or its Debian package: each file that differs is named."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from shoe_ctl.audit import package_files
from shoe_ctl.audit.package_files import Comparison, compare
from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import EnvironmentFault, InputRefused
from shoe_testing.cli import invoke

WHEEL = {
    "shoe_ctl/__init__.py": b"",
    "shoe_ctl/table.py": b"a = 1\n",
    "simulators/shoe.py": b"b = 2\n",
    "shoe_ctl-1.dist-info/METADATA": b"Name: shoe-ctl\n",
}
DEB = {
    "opt/shoe-ctl/lib/shoe_ctl/table.py": b"a = 1\n",
    "opt/shoe-ctl/lib/msgspec/core.so": b"\x7fELF",
    "etc/udev/rules.d/60-site.rules": b"# yours\n",
    "usr/share/doc/shoe-ctl/copyright": b"Apache\n",
}


def make_wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    return path


def tar_of(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for name, content in files.items():
            one = tarfile.TarInfo(f"./{name}")
            one.size, one.mode = len(content), 0o644
            tar.addfile(one, io.BytesIO(content))
        for name, target in (links or {}).items():
            one = tarfile.TarInfo(f"./{name}")
            one.type, one.linkname = tarfile.SYMTYPE, target
            tar.addfile(one)
    return packed.getvalue()


def make_deb(path: Path, files: dict[str, bytes], package: str = "shoe-ctl") -> Path:
    """By the description of the format: an ``ar`` archive of three members."""
    control = {
        "control": f"Package: {package}\nVersion: 1\n".encode(),
        "conffiles": b"/etc/udev/rules.d/60-site.rules\n",
    }
    links = {"opt/shoe-ctl/bin/python": "/usr/bin/python3.11"}
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": tar_of(control),
        "data.tar.xz": tar_of(files, links),
    }
    whole = b"!<arch>\n"
    for name, content in members.items():
        whole += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        whole += content + b"\n" * (len(content) % 2)
    path.write_bytes(whole)
    return path


def install(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o644)
    return folder


@pytest.fixture
def wheel(tmp_path: Path) -> tuple[Path, Path]:
    made = make_wheel(tmp_path / "shoe_ctl-1-py3-none-any.whl", WHEEL)
    return made, install(tmp_path / "site", WHEEL)


@pytest.fixture
def deb(tmp_path: Path) -> tuple[Path, Path]:
    made = make_deb(tmp_path / "shoe-ctl_1_amd64.deb", DEB)
    root = install(tmp_path / "root", DEB)
    (root / "opt/shoe-ctl/bin").mkdir()
    (root / "opt/shoe-ctl/bin/python").symlink_to("/usr/bin/python3.11")
    return made, root


def found(result: Comparison) -> list[tuple[str, str]]:
    return [(one.what, one.path) for one in result.differences]


def test_an_installation_as_in_its_package_is_the_same(
    wheel: tuple[Path, Path], deb: tuple[Path, Path]
) -> None:
    for package, folder in (wheel, deb):
        result = compare(package, folder)
        assert (result.ok, found(result)) == (True, [])
    assert compare(*wheel).files == 3  # what the installer writes itself is none of them
    assert compare(*deb).files == 5


def test_every_kind_of_difference_from_a_wheel_is_named(wheel: tuple[Path, Path]) -> None:
    package, folder = wheel
    (folder / "shoe_ctl/table.py").write_bytes(b"a = 2\n")
    (folder / "simulators/shoe.py").unlink()
    (folder / "shoe_ctl/backdoor.py").write_bytes(b"")
    (folder / "shoe_ctl/__pycache__").mkdir()
    (folder / "shoe_ctl/__pycache__/table.pyc").write_bytes(b"")
    result = compare(package, folder)
    assert not result.ok
    assert found(result) == [
        ("altered", "shoe_ctl/table.py"),
        ("missing", "simulators/shoe.py"),
        ("added", "shoe_ctl/backdoor.py"),
    ]
    assert "1 files that Python compiled" in result.not_compared[0]


def test_every_kind_of_difference_from_a_debian_package_is_named(deb: tuple[Path, Path]) -> None:
    package, root = deb
    install(root, {"opt/shoe-ctl/lib/shoe_ctl/table.py": b"a = 2\n"})
    (root / "opt/shoe-ctl/lib/msgspec/core.so").unlink()
    (root / "usr/share/doc/shoe-ctl/copyright").chmod(0o666)
    (root / "opt/shoe-ctl/bin/python").unlink()
    (root / "opt/shoe-ctl/bin/python").symlink_to("/tmp/python")
    install(root, {"opt/shoe-ctl/lib/sitecustomize.py": b"", "usr/share/other": b""})
    install(root, {"etc/udev/rules.d/60-site.rules": b"mine\n"})
    assert found(compare(package, root)) == [
        ("changed", "etc/udev/rules.d/60-site.rules"),
        ("altered", "opt/shoe-ctl/bin/python"),
        ("missing", "opt/shoe-ctl/lib/msgspec/core.so"),
        ("altered", "opt/shoe-ctl/lib/shoe_ctl/table.py"),
        ("mode", "usr/share/doc/shoe-ctl/copyright"),
        ("added", "opt/shoe-ctl/lib/sitecustomize.py"),
    ]


def test_a_setting_that_the_administrator_changed_is_no_fault(deb: tuple[Path, Path]) -> None:
    package, root = deb
    install(root, {"etc/udev/rules.d/60-site.rules": b"mine\n"})
    assert compare(package, root).ok


def test_a_link_or_a_folder_in_a_file_s_place_is_found(wheel: tuple[Path, Path]) -> None:
    package, folder = wheel
    file = folder / "shoe_ctl/table.py"
    file.unlink()
    file.mkdir()
    assert ("altered", "shoe_ctl/table.py") in found(compare(package, folder))


@pytest.mark.parametrize("name", ["../evil.py", "/etc/passwd", "shoe_ctl/../../x"])
def test_a_package_with_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    package = make_wheel(tmp_path / "x.whl", {**WHEEL, name: b""})
    with pytest.raises(InputRefused, match="a file in it is named"):
        compare(package, tmp_path)


def test_what_is_no_package_of_shoe_ctl_is_one_line(
    tmp_path: Path, deb: tuple[Path, Path], wheel: tuple[Path, Path]
) -> None:
    given = {
        "nothing": b"", "text": b"hello", "ar": b"!<arch>\n" + b"x" * 70, "zip": b"PK\x03\x04",
        "cut.deb": deb[0].read_bytes()[:-400], "cut.whl": wheel[0].read_bytes()[:-10],
    }  # fmt: skip
    for name, content in given.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputRefused) as refused:
            compare(tmp_path / name, tmp_path)
        assert "\n" not in str(refused.value) and name in str(refused.value)
    other = make_deb(tmp_path / "other.deb", DEB, package="bash")
    with pytest.raises(InputRefused, match="not a Debian package of shoe-ctl"):
        compare(other, tmp_path)
    with pytest.raises(InputRefused, match="not a wheel of shoe-ctl"):
        compare(make_wheel(tmp_path / "other.whl", {"a.py": b""}), tmp_path)
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        compare(tmp_path / "none", tmp_path)


def test_a_package_that_unpacks_to_more_than_any_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = make_wheel(tmp_path / "x.whl", {**WHEEL, "shoe_ctl/big": bytes(5_000)})
    monkeypatch.setattr(package_files, "MOST_BYTES", 4_000)
    with pytest.raises(InputRefused, match="larger than any package"):
        compare(package, tmp_path)


def test_the_command_prints_a_table_and_ends_with_1_where_something_differs(
    tmp_path: Path,
) -> None:
    package = make_wheel(tmp_path / "shoe_ctl-9.whl", WHEEL)  # not what is installed here
    shown = invoke(shoectl, "--verify-install", package)
    assert shown.exit_code == 1
    assert "missing       shoe_ctl/table.py\n" in shown.stdout
    assert "added         shoe_ctl/cli/main.py\n" in shown.stdout
    assert shown.stdout.endswith("result        NOT the same\n")


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_a_package_that_dpkg_deb_built_is_read(tmp_path: Path) -> None:
    stage = install(tmp_path / "stage", DEB)
    install(stage, {
        "DEBIAN/control": b"Package: shoe-ctl\nVersion: 1\nArchitecture: all\n"
        b"Maintainer: a <a@example.org>\nDescription: x\n",
        "DEBIAN/conffiles": b"/etc/udev/rules.d/60-site.rules\n",
    })  # fmt: skip
    package = tmp_path / "built.deb"
    words = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(stage), str(package)]
    subprocess.run(words, check=True, capture_output=True)
    root = install(tmp_path / "there", DEB)
    assert compare(package, root).ok
    install(root, {"opt/shoe-ctl/lib/shoe_ctl/table.py": b"a = 3\n"})
    assert found(compare(package, root)) == [("altered", "opt/shoe-ctl/lib/shoe_ctl/table.py")]
