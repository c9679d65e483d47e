"""Build the Debian package from what `make` has built, the same bytes each time.

In: the wheel and the bill of materials in dist/, the locked requirements as wheels in
build/wheels, man pages in build/man, completion in build/completion, the files beside this one.
Out: dist/shoe-ctl_VERSION_ARCH.deb.

Needs dpkg-deb and no root. The package has a Python environment of its own in /opt/shoe-ctl, for
the system's Python of the version that built it.
"""

from __future__ import annotations

import argparse
import base64
import csv
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

HERE = Path(__file__).parent
HOME = Path("opt/shoe-ctl")
DOC = Path("usr/share/doc/shoe-ctl")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
SITE_PACKAGES = HOME / "lib" / PYTHON / "site-packages"
COMMANDS = ("shoectl", "shoe-sim")
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
QUESTIONS = "templates"
"""What debconf asks, beside the scripts."""

INSTALLED = {
    "systemd/shoectl@.service": "usr/lib/systemd/system/shoectl@.service",
    "systemd/shoectl.sysusers.conf": "usr/lib/sysusers.d/shoectl.conf",
    "systemd/broker.conf": f"{DOC}/examples/broker.conf",
    "systemd/device-server.conf": f"{DOC}/examples/device-server.conf",
    "udev/70-card-shoe.rules": "usr/lib/udev/rules.d/70-card-shoe.rules",
    "udev/60-card-shoe-site.rules": "etc/udev/rules.d/60-card-shoe-site.rules",
    "debian/main.toml": f"{DOC}/examples/main.toml",
    "debian/copyright": f"{DOC}/copyright",
    "LICENSE": f"{DOC}/LICENSE",
}
"""Files of the project, and where they go. Those in etc are the administrator's to change."""

COMPLETION = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish/vendor_completions.d",
}

PAGES = {".md", ".svg", ".png", ".conf"}
"""Files of the documentation, without the scripts that make them."""

SCENARIOS = Path("simulators/scenarios")
"""A folder that pages link to; the package has it once, among the modules."""

GLIBC = re.compile(rb"GLIBC_2\.(\d+)")


def run(*words: str | Path, **variables: str) -> str:
    """Run a command; end with what it wrote if it fails.

    Returns:
        Its standard output.

    Raises:
        SystemExit: The command failed.
    """
    done = subprocess.run(
        words, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{words[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def files(folder: Path) -> Iterator[Path]:
    """Every file and link below a folder, sorted by path."""
    return (path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())


def copy(source: Path, target: Path) -> None:
    """Copy one file and make the folders above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def compress(data: bytes, target: Path) -> None:
    """Write a file as gzip, without its name and time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))


def stage_environment(root: Path, stage: Path, wheel: Path) -> None:
    """Install the locked wheels and our own into an environment that will stand in /opt/shoe-ctl.

    Raises:
        SystemExit: cobs was built without its compiled part.
    """
    home = stage / HOME
    run(sys.executable, "-m", "venv", "--without-pip", "--symlinks", home)
    wheels = root / "build/wheels"
    required = wheels / "requirements.txt"
    run(
        *(
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--python",
            home / "bin/python",
        ),
        *("install", "--no-compile", "--no-deps", "-r", required, f"shoe-ctl @ {wheel.as_uri()}"),
        PIP_CONFIG_FILE=os.devnull,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(wheels),
    )
    if not list(stage.glob(f"{SITE_PACKAGES}/cobs/cobs/_cobs_ext.*.so")):
        raise SystemExit("cobs was not compiled: install gcc and python3-dev, then make clean")
    for path in list((home / "bin").iterdir()):
        if path.name in COMMANDS:
            first, _, rest = path.read_text("utf-8").partition("\n")
            assert first.startswith("#!")
            if rest.startswith("'''exec'"):  # a path too long for one line: two more name it
                rest = rest.split("\n", 2)[2]
            path.write_text(f"#!/{HOME}/bin/python\n{rest}", "utf-8")
        else:
            path.unlink()
    (home / "bin/python").symlink_to(f"/usr/bin/{PYTHON}")
    (home / "bin/python3").symlink_to("python")
    (home / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON[6:]}\n", "utf-8"
    )
    shutil.rmtree(home / "include", ignore_errors=True)
    for record in stage.glob(f"{SITE_PACKAGES}/*.dist-info/RECORD"):
        # Where the wheel lay is no address of anybody else's.
        (record.parent / "direct_url.json").unlink(missing_ok=True)
        mend_record(record)
    # The interpreter does not compare these with their sources, and writes no others.
    run(
        *(sys.executable, "-m", "compileall", "-q", "-j", "1"),
        *("--invalidation-mode", "unchecked-hash", "-s", stage, "-p", "/", stage / SITE_PACKAGES),
        PYTHONHASHSEED="0",
    )


def mend_record(record: Path) -> None:
    """Leave out the files that are gone, and sum the scripts anew, in a list of installed files."""
    site = record.parent.parent
    rows = []
    for name, digest, size in csv.reader(record.read_text("utf-8").splitlines()):
        path = site / name
        if not path.exists():
            continue
        if digest and path.parent.name == "bin":
            data = path.read_bytes()
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            rows.append((name, f"sha256={found}", str(len(data))))
        else:
            rows.append((name, digest, size))
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(rows))


def stage_host_files(root: Path, stage: Path) -> None:
    """Install the commands, the unit, the rules, man pages and completion."""
    for source, target in INSTALLED.items():
        copy(root / source, stage / target)
    (stage / "usr/bin").mkdir(parents=True)
    for command in COMMANDS:
        (stage / "usr/bin" / command).symlink_to(f"/{HOME}/bin/{command}")
    for page in sorted((root / "build/man").glob("*.[1-9]")):
        compress(page.read_bytes(), stage / f"usr/share/man/man{page.suffix[1:]}/{page.name}.gz")
    for shell, folder in COMPLETION.items():
        for path in sorted((root / "build/completion" / shell).glob("*")):
            copy(path, stage / folder / path.name)


def project_version(root: Path) -> str:
    """The project's version, as Python writes it."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def debian_version(project: str, revision: str) -> str:
    """The package's version: 0.3.0.dev0 is 0.3.0~dev0, which Debian sorts before 0.3.0."""
    return f"{project.replace('.dev', '~dev')}-{revision}"


def documents(root: Path) -> list[Path]:
    """The pages that are installed, with pictures and examples, by their paths in the project."""
    found = [*root.glob("*.md"), root / "tests/README.md"]
    for folder in ("docs", "firmware_proto", "simulators"):
        found += (root / folder).rglob("*")
    pages = [path for path in found if path.suffix in PAGES]
    examples = (root / "docs").rglob("*.py")
    return sorted(path.relative_to(root) for path in (*pages, *examples))


def stage_pages(root: Path, stage: Path) -> None:
    """Install the pages under their paths in the project, so that their links lead somewhere."""
    for page in documents(root):
        copy(root / page, stage / DOC / page)
    link = stage / DOC / SCENARIOS
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"/{SITE_PACKAGES / SCENARIOS}")


def stage_documents(root: Path, stage: Path, version: str, built: datetime) -> None:
    """Install the pages, the bill of materials and the package's own changelog."""
    stage_pages(root, stage)
    upstream = project_version(root)
    copy(root / f"dist/shoe_ctl-{upstream}.cdx.json", stage / DOC / "shoe-ctl.cdx.json")
    entry = (
        f"shoe-ctl ({version}) unstable; urgency=medium\n\n"
        f"  * Version {upstream}: see CHANGELOG.md.\n\n"
        f" -- shoe-ctl maintainers <maintainers@localhost>  {format_datetime(built)}\n"
    )
    compress(entry.encode(), stage / DOC / "changelog.Debian.gz")


def lowest_libc(stage: Path) -> str:
    """The oldest glibc that has every symbol that the compiled modules ask for."""
    found = [
        int(number)
        for path in (stage / HOME).rglob("*.so")
        for number in GLIBC.findall(path.read_bytes())
    ]
    return f"2.{max(found)}"


def stage_control(stage: Path, version: str, architecture: str) -> None:
    """Write the package's description, scripts, checksums and list of configuration files."""
    installed = list(files(stage))
    sizes = [-(-path.lstat().st_size // 1024) for path in installed]
    folders = [path for path in stage.rglob("*") if path.is_dir() and not path.is_symlink()]
    control = stage / "DEBIAN"
    control.mkdir()
    text = (HERE / "control").read_text("utf-8")
    values = {
        "version": version,
        "architecture": architecture,
        "size_kib": sum(sizes) + len(folders),
        "python": PYTHON,
        "libc": lowest_libc(stage),
    }
    (control / "control").write_text(text.format_map(values), "utf-8")
    names = [path.relative_to(stage) for path in installed]
    (control / "conffiles").write_text(
        "".join(f"/{name}\n" for name in names if name.parts[0] == "etc"), "utf-8"
    )
    sums = [
        f"{hashlib.md5((stage / name).read_bytes(), usedforsecurity=False).hexdigest()}  {name}\n"
        for name in names
        if name.parts[0] != "etc" and not (stage / name).is_symlink()
    ]
    (control / "md5sums").write_text("".join(sums), "utf-8")
    for name in (*SCRIPTS, QUESTIONS):
        copy(HERE / name, control / name)


def settle(stage: Path, built: datetime) -> None:
    """Give every file its mode and the release's time, whatever umask and clock are here."""
    for path in [stage, *stage.rglob("*")]:
        if not path.is_symlink():
            runs = path.parent in {stage / HOME / "bin", stage / "DEBIAN"} and (
                path.name in {*SCRIPTS, *COMMANDS}
            )
            path.chmod(0o755 if path.is_dir() or runs else 0o644)
        os.utime(path, (built.timestamp(), built.timestamp()), follow_symlinks=False)


def build(root: Path, out: Path, revision: str, built: datetime) -> Path:
    """Build the package.

    Args:
        root: The project, with what `make` has built in it.
        out: The folder for the package.
        revision: Of the package, behind the project's version.
        built: The time that everything in the package carries.

    Returns:
        The package's path.

    Raises:
        SystemExit: Something is missing, or a tool failed.
    """
    project = project_version(root)
    wheel = root / f"dist/shoe_ctl-{project}-py3-none-any.whl"
    if not wheel.is_file():
        raise SystemExit(f"{wheel} is missing: run make wheel")
    version = debian_version(project, revision)
    architecture = run("dpkg", "--print-architecture").strip()
    out.mkdir(parents=True, exist_ok=True)
    package = out / f"shoe-ctl_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-deb-") as folder:
        stage = Path(folder) / "stage"
        stage.mkdir()
        stage_environment(root, stage, wheel)
        stage_host_files(root, stage)
        stage_documents(root, stage, version, built)
        stage_control(stage, version, architecture)
        settle(stage, built)
        run(
            *("dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "-z6", "--build"),
            *(stage, package),
            SOURCE_DATE_EPOCH=str(int(built.timestamp())),
        )
    return package


def main() -> None:
    """Build the package as the command line asks."""
    parser = argparse.ArgumentParser(description="Build the Debian package.")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="the project")
    parser.add_argument(
        "--out", type=Path, default=HERE.parent / "dist", help="the folder for the package"
    )
    parser.add_argument("--revision", default="1", help="of the package, behind the version")
    asked = parser.parse_args()
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        raise SystemExit("SOURCE_DATE_EPOCH is not set: run make deb")
    built = datetime.fromtimestamp(int(epoch), UTC)
    print(build(asked.root.resolve(), asked.out.resolve(), asked.revision, built))


if __name__ == "__main__":
    main()
