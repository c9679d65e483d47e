"""The pytest plugin: options, markers, the fixture ``shoe_bench``, and what a report says.

In: ``pytest``, perhaps with ``--shoe-port``. Out: a bench for each test that asks for one; tests
that cannot be run there are skipped, by name and with the reason.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shoe_bench.errors import is_told_by_its_text

if TYPE_CHECKING:
    from shoe_bench.bench import Place, ShoeBench, Wanted


def _is_told_by_its_text(error: pytest.ExceptionInfo[BaseException]) -> bool:
    """As in the other modules; a marker that is wrong is a ``UsageError``."""
    return is_told_by_its_text(error) or isinstance(error.value, pytest.UsageError)


__tracebackhide__ = _is_told_by_its_text


MARKERS = (
    "simulated: a test for a simulated shoe alone; left out with --shoe-port",
    "kernel: a test for a port with a driver of this kernel; left out without one",
    "hardware: a test for the device at --shoe-port; left out without one",
    "shoe(profile=..., cards=..., ...): the simulated shoe's kind and cards, with the keys of "
    "`shoe` in a scenario; with any but `profile` a device leaves the test out",
    "shoe_table(game=..., method=..., ...): keys of the daemon's [[table]]",
    "shoe_changes(name, ...): changes that the test makes; a shoe that takes none leaves it "
    "out before it begins",
)

SETTINGS = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
"""Files with pytest's settings, and what stands in them then."""

_benches = pytest.StashKey["list[ShoeBench]"]()
"""Those of a test, in the order in which they were opened."""

_place = pytest.StashKey["Place"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the shoe is."""
    group = parser.getgroup("shoe bench")
    group.addoption(
        "--shoe-port",
        metavar="PORT",
        help="test the shoe at this port (a path such as /dev/card-shoe/SH-0042, tcp://HOST:PORT "
        "or usb:SERIAL) instead of a simulated one",
    )
    group.addoption(
        "--shoe-profile",
        metavar="PROFILE",
        default="reference",
        help="the protocol of the shoe, also of a simulated one: reference (default), angel_eye, "
        "bee_tek",
    )
    group.addoption(
        "--shoe-control",
        metavar="SOCKET",
        help="the shoe at --shoe-port takes changes at this socket, as shoe-sim serve --control "
        "makes one",
    )
    group.addoption(
        "--shoe-option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a key of the daemon's [table.shoe], such as baud=9600 or key_file='keys'",
    )
    group.addoption(
        "--shoe-wait-s",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="the longest wait for anything (default: 30)",
    )
    group.addoption(
        "--shoectl",
        metavar="COMMAND",
        help="the daemon's program (default: shoectl beside this Python, or on the PATH)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers, and check the options."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    port, control = config.getoption("--shoe-port"), config.getoption("--shoe-control")
    if control is not None and port is None:
        raise pytest.UsageError("--shoe-control: name the shoe's port with --shoe-port")
    if config.getoption("--shoe-wait-s") <= 0:
        raise pytest.UsageError("--shoe-wait-s: expected seconds above 0")
    if port is not None and config.getoption("numprocesses", None):
        raise pytest.UsageError("--shoe-port: one shoe takes one test at a time: run with -n 0")
    for option in config.getoption("--shoe-option"):
        _shoe_option(option)
    if "--shoe-port" in config.invocation_params.args:
        _check_settings(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the device, if there is one."""
    port = config.getoption("--shoe-port")
    if port is None:
        return None
    return f"shoe: {port}, profile {config.getoption('--shoe-profile')}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests that this shoe is not for, each with its reason."""
    for item in items:
        if "shoe_bench" in _fixtures(item):
            why = _left_out(item)
            if why is not None:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture
def shoe_configuration() -> str:
    """More of the daemon's configuration, such as a ``[[sink]]``: to be overridden by tests."""
    return ""


@pytest.fixture
def shoe_bench(
    request: pytest.FixtureRequest, tmp_path: Path, shoe_configuration: str
) -> Iterator[ShoeBench]:
    """A shoe at a table of its own: ``shoe``, ``table``, ``commands``, ``events``."""
    from shoe_bench.bench import Wanted

    wanted = Wanted(
        shoe=_arguments(request.node, "shoe"),
        table=_arguments(request.node, "shoe_table"),
        more=shoe_configuration,
    )
    with _opened(request, _place_of(request.config), tmp_path, wanted) as bench:
        yield bench


@pytest.fixture
def open_shoe_bench(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., ShoeBench]]:
    """Open another simulated shoe, at a table and a daemon of its own.

    It takes the keys of the marker ``shoe``, ``table`` with those of ``shoe_table``, and
    ``configuration``: ``open_shoe_bench(profile="angel_eye", table={"game": "tiger"})``.
    """
    from shoe_bench.bench import Wanted

    place = dataclasses.replace(_place_of(request.config), port=None, control=None, options={})
    with contextlib.ExitStack() as opened:

        def open_bench(
            *, table: Mapping[str, Any] | None = None, configuration: str = "", **shoe: Any
        ) -> ShoeBench:
            number = len(request.node.stash.get(_benches, [])) + 1
            folder = tmp_path / f"shoe-{number}"
            folder.mkdir()
            wanted = Wanted(shoe=shoe, table=table or {}, more=configuration)
            return opened.enter_context(_opened(request, place, folder, wanted))

        yield open_bench


@contextlib.contextmanager
def _opened(
    request: pytest.FixtureRequest, place: Place, folder: Path, wanted: Wanted
) -> Iterator[ShoeBench]:
    from shoe_bench.bench import ShoeBench

    bench = ShoeBench(place, folder, wanted, tell=_terminal(request.config))
    request.node.stash.setdefault(_benches, []).append(bench)
    try:
        bench.start()
        yield bench
    finally:
        bench.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Run the test, then look at what the shoe did to its end; skip what it cannot do."""
    if _fixtures(item).isdisjoint(("shoe_bench", "open_shoe_bench")):
        return (yield)
    from shoe_bench.errors import LeftOut, Unasked

    try:
        yield
    except LeftOut as why:
        pytest.skip(str(why))
    except Unasked:
        raise
    except (Exception, pytest.fail.Exception) as error:
        for bench in item.stash.get(_benches, []):
            bench.finish(error)
        raise
    for bench in item.stash.get(_benches, []):
        bench.finish()
    return None


def _fixtures(item: pytest.Item) -> frozenset[str]:
    return frozenset(getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show of a test that failed its events, the daemon's log and the shoe's bytes."""
    report = yield
    benches = item.stash.get(_benches, [])
    if benches and report.failed and call.when != "call":
        _show_text_alone(item, call, report)
    if benches and report.skipped and isinstance(report.longrepr, tuple):
        path, line, _ = item.reportinfo()  # where the test is, not where it was left
        report.longrepr = (str(path), (line or 0) + 1, report.longrepr[2])
    if call.when == "call" or (call.when == "setup" and report.failed):
        for number, bench in enumerate(benches, 1):
            _describe(item, report, bench, "" if number == 1 else f"{number}")
    return report


def _describe(item: pytest.Item, report: pytest.TestReport, bench: ShoeBench, number: str) -> None:
    """Say of one bench what a report of a test shows of it: its properties, and why it failed.

    The properties are those of the whole test, which the XML has at its end.
    """
    properties: list[tuple[str, object]] = []
    if report.failed:
        of = f" {number}" if number else ""
        report.sections += [(f"{title}{of}", text) for title, text in bench.sections()]
        if bench.capture.exists():
            properties.append((f"shoe{number}_capture", str(bench.capture)))
    if item.config.getoption("xmlpath", None):
        properties += [(f"shoe{number}_{name}", value) for name, value in bench.properties()]
    item.user_properties += properties
    report.user_properties += properties


def _show_text_alone(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Leave out the lines of fixtures, of pytest's and of other plugins', where a text says all."""
    error = call.excinfo
    if error is None or not _is_told_by_its_text(error) or item.config.getoption("fulltrace"):
        return
    report.longrepr = error.getrepr(style="value")


def _check_settings(config: pytest.Config) -> None:
    """Check that pytest found its settings, which it seeks where the first path leads.

    Before it knows this plugin's options, it takes the value of one for the path of a test.

    Raises:
        pytest.UsageError: it did not; says what to write.
    """
    if config.inipath is not None:
        return
    for folder in (config.invocation_params.dir, *config.invocation_params.dir.parents):
        for name, mark in SETTINGS.items():
            path = folder / name
            if path.is_file() and mark in path.read_text("utf-8", "replace"):
                port = config.getoption("--shoe-port")
                raise pytest.UsageError(
                    f"--shoe-port: write --shoe-port={port}: as two words, and with no tests named "
                    f"before it, pytest takes it for a test, and does not find {path}"
                )


def _left_out(item: pytest.Item) -> str | None:
    """Return why this shoe is not for the test, or None."""
    place = _place_of(item.config)
    return (
        _of_another_kind(item, place)
        or _of_another_profile(item, place)
        or _of_cards(item, place)
        or _of_changes(item, place)
    )


def _of_another_kind(item: pytest.Item, place: Place) -> str | None:
    from shoe_bench.shoe import has_driver

    runs = {
        "simulated": place.port is None,
        "kernel": place.port is not None and has_driver(place.port),
        "hardware": place.port is not None,
    }
    wanted = [kind for kind in runs if item.get_closest_marker(kind) is not None]
    if not wanted or any(runs[kind] for kind in wanted):
        return None
    where = "the shoe is simulated (no --shoe-port)" if place.port is None else (
        f"the shoe is at {place.port}"
        + ("" if runs["kernel"] else ", which has no driver of this kernel")
    )  # fmt: skip
    return f"{' or '.join(wanted)}: {where}"


def _of_another_profile(item: pytest.Item, place: Place) -> str | None:
    profile = _arguments(item, "shoe").get("profile", place.profile)
    if place.port is None or profile == place.profile:
        return None
    return f"profile {profile}: the shoe at {place.port} is of profile {place.profile}"


def _of_cards(item: pytest.Item, place: Place) -> str | None:
    keys = sorted(_arguments(item, "shoe").keys() - {"profile"})
    if place.port is None or not keys:
        return None
    return f"{', '.join(keys)}: the cards of a real shoe cannot be chosen"


def _of_changes(item: pytest.Item, place: Place) -> str | None:
    names = [name for marker in item.iter_markers("shoe_changes") for name in marker.args]
    _check_changes(item, names)
    if not names or place.port is None or place.control is not None:
        return None
    return f"{', '.join(names)}: the shoe at {place.port} takes no changes (no --shoe-control)"


def _check_changes(item: pytest.Item, names: Sequence[str]) -> None:
    if not names:
        return
    from simulators.control.changes import CHANGES

    for name in names:
        if name not in CHANGES:
            raise pytest.UsageError(
                f"{item.nodeid}: shoe_changes: no such change {name!r} (shoe-sim ctl --help lists "
                "them)"
            )


def _arguments(item: pytest.Item, marker: str) -> dict[str, Any]:
    """Return a marker's keys; those nearest to the test win."""
    found: dict[str, Any] = {}
    for mark in item.iter_markers(marker):
        if mark.args:
            raise pytest.UsageError(f'{item.nodeid}: {marker} takes keys, such as game="tiger"')
        found = {**mark.kwargs, **found}
    return found


def _place_of(config: pytest.Config) -> Place:
    if _place in config.stash:
        return config.stash[_place]
    from shoe_bench.bench import Place

    port, control = config.getoption("--shoe-port"), config.getoption("--shoe-control")
    options = dict(map(_shoe_option, config.getoption("--shoe-option")))
    config.stash[_place] = place = Place(
        port=None if port is None else _absolute(port),
        profile=config.getoption("--shoe-profile"),
        control=None if control is None else Path(control).absolute(),
        options=options,
        shoectl=config.getoption("--shoectl"),
        within_s=config.getoption("--shoe-wait-s"),
    )
    return place


def _absolute(port: str) -> str:
    """Return a port as the daemon finds it from its own folder."""
    is_path = "://" not in port and not port.startswith("usb:")
    return str(Path(port).absolute()) if is_path else port


def _shoe_option(given: str) -> tuple[str, Any]:
    """Return a key and its value, which is TOML, or else text."""
    key, equals, text = given.partition("=")
    if not equals or not key:
        raise pytest.UsageError(f"--shoe-option: expected KEY=VALUE, not {given!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    return key, value


def _terminal(config: pytest.Config) -> Callable[[str], None]:
    """Return what says a line on the terminal, past pytest's capture."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    def tell(line: str) -> None:
        if reporter is None:
            return
        if capture is None:
            reporter.write_line(line)
            return
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(line)

    return tell


__all__ = ["MARKERS", "open_shoe_bench", "shoe_bench"]
