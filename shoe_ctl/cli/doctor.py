"""``shoectl doctor``: list ports and diagnose connection problems.

In: a configuration, or a profile and ports. Out: a table or JSON; 0 all well, 1 something wrong.
Must not know: how a port is tried, the daemon's insides.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from firmware_proto.profiles import PROFILES
from shoe_ctl.cli.common import Number
from shoe_ctl.errors import ConfigError, EnvironmentFault, InputRefused, PortError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shoe_ctl.cli.doctor_view import Report, TriedPort
    from shoe_ctl.link.discovery import System, UsbFound
    from shoe_ctl.link.doctor import ProbeTarget
    from shoe_ctl.link.usb_discovery import Backends


@click.command
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    help="Check the ports of its tables.",
)
@click.option(
    "--profile",
    "name",
    metavar="PROFILE",
    help=f"The protocol expected at --port: {', '.join(PROFILES)}.",
)
@click.option(
    "--port",
    "ports",
    metavar="PORT",
    multiple=True,
    help="A port: a path such as /dev/ttyUSB0, tcp://HOST:PORT or usb:SERIAL. Repeatable.",
)
@click.option(
    "--seconds",
    metavar="S",
    type=Number(0, 3600, min_open=True),
    default=5.0,
    show_default=True,
    help="Listen for S seconds at each port and baud rate.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(
    config_file: str | None, name: str | None, ports: tuple[str, ...], seconds: float, as_json: bool
) -> int:
    """List ports and diagnose connection problems.

    Without options it lists serial ports and USB devices and opens none of them. With --config (all
    tables, or those at --port), or with --profile and --port, it listens at each port and prints
    one line with the problem and what to do.

    No shoe changes its state. A vendor's shoe is sent nothing: make it send something while doctor
    listens. A reference shoe is asked for its identity, and for proof of it if there is a key
    (hello_request, challenge). A port that another process uses is not opened; if that process is a
    daemon, doctor asks for the shoe's state at the daemon's socket.

    Exit code 0: no problem; 1: a check failed; 3: this host cannot check.

    \b
    Examples:
      shoectl doctor
      shoectl doctor --config table.toml
      shoectl doctor --profile reference --port ./shoe
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli import doctor_view
    from shoe_ctl.cli.common import is_terminal
    from shoe_ctl.link.discovery import System
    from shoe_ctl.link.usb_discovery import libusb

    # what a link logs of each connection is in the line that is told of it
    logging.getLogger("shoe_ctl").addHandler(logging.NullHandler())
    targets = _targets(config_file, name, ports)
    system = System()
    report = replace(
        examine(targets, seconds, system, libusb), notes=[*_contested(system), *_notes(config_file)]
    )
    report = replace(report, tried=[_asked(one, config_file, system.proc) for one in report.tried])
    status = _daemon_status(config_file)
    report = replace(
        report,
        daemon=_daemon_trouble(status),
        notes=[*report.notes, *_of_the_disk(status), *_of_the_key(status)],
    )
    if is_terminal() and not as_json:
        doctor_view.show_on_terminal(report)
    else:
        click.echo(doctor_view.as_json(report) if as_json else doctor_view.as_text(report))
    if any(tried.diagnosis.cause == "no_libusb" for tried in report.tried):
        raise EnvironmentFault("USB cannot be checked: run pip install 'shoe-ctl[usb]'")
    wrong = sum(tried.diagnosis.well is False for tried in report.tried)
    if wrong:
        raise InputRefused(f"{wrong} of {len(report.tried)} ports failed")
    if report.daemon:
        raise InputRefused("the daemon of this configuration failed")
    return 0


def _daemon_status(config_file: str | None) -> dict[str, Any]:
    """Return the status that the daemon of this configuration answers; it is asked once.

    Empty where no daemon is there, or where it has no socket or does not answer.
    """
    if config_file is None:
        return {}
    from shoe_ctl.cli.table import Wire
    from shoe_ctl.config.schema import load

    path = load(config_file).socket_path
    if path is None:
        return {}
    try:
        with Wire(path) as wire:
            return wire.ask({"request": "status"})
    except EnvironmentFault:
        return {}


def _daemon_trouble(status: Mapping[str, Any]) -> list[str]:
    """Why the daemon serves no table, or not all: a storage fault, a journal in doubt.

    Nothing where it does not answer this user.
    """
    if not status:
        return []
    from shoe_ctl.journal.evidence import WHAT_TO_DO

    tables = status.get("tables")
    if tables is None:
        refused = str((status.get("error") or {}).get("text"))
        return [refused] if refused.endswith(WHAT_TO_DO) else []
    found = [_fault_of(each) or each.get("doubt") for each in tables]
    return list(dict.fromkeys(line for line in found if line))


def _of_the_disk(status: Mapping[str, Any]) -> list[str]:
    """The bytes that each table stores a day, and when the disk is full, as the daemon tells it."""
    disk = status.get("disk") or {}
    tables = (f"{table} {n / 1_000_000:,.0f} MB" for table, n in (disk.get("a_day") or {}).items())
    stored = ", ".join(tables)
    if not stored:
        return []
    full = disk.get("full_at")
    when = "" if full is None else f"; the disk is full on {full[:16].replace('T', ' at ')} UTC"
    return [f"stored a day at the rate of the last hour: {stored}{when}"]


def _of_the_key(status: Mapping[str, Any]) -> list[str]:
    """Why the key that signs the journal is not safe, as the daemon tells it."""
    key = status.get("key") or {}
    if key.get("state") == "open_to_others":
        return [f"the journal's key may be used by others (mode {key['mode']}): chmod 600 it"]
    if key.get("state") == "missing":
        return ["the journal's key is missing: put it back, or the next start is refused"]
    return []


def _fault_of(held: Mapping[str, dict[str, dict[str, str]]]) -> str | None:
    """Why this table cannot store anything; None while it can."""
    return held["fault"]["message"]["text"] if held.get("fault") else None


def _asked(tried: TriedPort, config_file: str | None, proc: Path) -> TriedPort:
    """The port, with what the daemon that has it says of its shoe at its socket.

    Without a socket, or where the daemon does not answer, the line says so.
    """
    found = tried.diagnosis
    if found.cause != "held_by_daemon":
        return tried
    from shoe_ctl.cli.table import Wire
    from shoe_ctl.config.schema import load
    from shoe_ctl.errors import ShoeCtlError
    from shoe_ctl.link.doctor import diagnose_from_status

    try:
        file = config_file or _config_of(found.holder, proc)
        if file is None:
            raise EnvironmentFault("give its --config to see the state of its shoe")
        config = load(file)
        if config.socket_path is None:
            raise EnvironmentFault("its configuration has no [socket]")
        at_port = (table.id for table in config.table if table.shoe.port == tried.port)
        table = tried.table or next(at_port, None)
        with Wire(config.socket_path) as wire:
            (held,) = wire.status(table)["tables"]
        told = diagnose_from_status(
            found, held["link"], held.get("link_reason"), held["next"]["message"]["text"]
        )
    except (ShoeCtlError, ValueError, KeyError) as error:
        told = replace(found, says=f"{found.says}; the daemon was not asked: {error}")
    return replace(tried, diagnosis=told)


def _config_of(pid: int | None, proc: Path) -> str | None:
    """The configuration file that the process was started with, as far as this user may know."""
    try:
        words = (proc / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        folder = (proc / str(pid) / "cwd").readlink()
    except OSError:
        return None
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--config" and following:
            return str(folder / following)
        if word.startswith("--config="):
            return str(folder / word.partition("=")[2])
    return None


def examine(
    targets: Sequence[tuple[str | None, ProbeTarget]], seconds: float, system: System, usb: Backends
) -> Report:
    """Report what is there, and what is found at each target; all are tried at the same time."""
    from shoe_ctl.cli.doctor_view import Report
    from shoe_ctl.link.discovery import find_serial_ports

    candidates, usb_note = _usb(system, usb)
    return Report(
        ports=find_serial_ports(system),
        usb=candidates,
        usb_note=usb_note,
        tried=asyncio.run(_try_all(targets, seconds, system, usb)),
        proc=system.proc,
    )


def _usb(system: System, usb: Backends) -> tuple[list[UsbFound], str | None]:
    """The USB devices, or why they cannot be looked at."""
    from shoe_ctl.link.discovery import find_usb_candidates

    try:
        return find_usb_candidates(system, usb()), None
    except PortError as error:
        return [], str(error)


async def _try_all(
    targets: Sequence[tuple[str | None, ProbeTarget]], seconds: float, system: System, usb: Backends
) -> list[TriedPort]:
    from concurrent.futures import ThreadPoolExecutor

    from shoe_ctl.cli.doctor_view import TriedPort
    from shoe_ctl.clock import SystemClock
    from shoe_ctl.link.doctor import Doctor
    from shoe_ctl.link.serial import ports_closed

    with ThreadPoolExecutor(max_workers=max(1, len(targets)), thread_name_prefix="port") as pool:
        here = Doctor(system=system, clock=SystemClock(), executor=pool, usb=usb, seconds=seconds)
        try:
            found = await asyncio.gather(*(here.diagnose(target) for _, target in targets))
        finally:
            await ports_closed()
    return [
        TriedPort(table=table, port=str(target.port), profile=target.name, diagnosis=diagnosis)
        for (table, target), diagnosis in zip(targets, found, strict=True)
    ]


def _targets(
    config_file: str | None, name: str | None, ports: tuple[str, ...]
) -> list[tuple[str | None, ProbeTarget]]:
    """Return what is to be tried, each with its table where a configuration names one."""
    if config_file is not None:
        if name is not None:
            raise UsageError("--profile cannot be combined with --config, which names it")
        return _of_config(config_file, ports)
    if name is None:
        if ports:
            raise UsageError("--profile is missing: name the protocol expected at --port")
        return []
    if not ports:
        raise UsageError("--port is missing: name the port where --profile is expected")
    if name not in PROFILES:
        raise UsageError(f"--profile: unknown profile {name!r} (have: {', '.join(PROFILES)})")
    return [(None, _named(name, port)) for port in dict.fromkeys(ports)]


def _contested(system: System) -> list[str]:
    """Return a line for each link that two devices claim."""
    from shoe_ctl.link.discovery import find_contested_links

    return [
        f"{link} is claimed by {' and '.join(ports)}: unplug the one that is no shoe of yours, or "
        "name yours by its vendor id in 60-card-shoe-site.rules, which is preferred"
        for link, ports in find_contested_links(system)
    ]


def _notes(config_file: str | None) -> list[str]:
    """Return what a configuration lacks although it can be served."""
    if config_file is None:
        return []
    from shoe_ctl.config.resolve import warnings
    from shoe_ctl.config.schema import load

    return warnings(load(config_file))


def _named(name: str, port: str) -> ProbeTarget:
    from firmware_proto.profiles import profile
    from shoe_ctl.link.address import parse_address
    from shoe_ctl.link.doctor import ProbeTarget

    try:
        where = parse_address(port)
    except ConfigError as error:
        raise UsageError(f"--{error}") from None
    chosen = profile(name)
    return ProbeTarget(port=where, name=name, profile=chosen, settings={}, serial=chosen.SERIAL)


def _of_config(config_file: str, ports: tuple[str, ...]) -> list[tuple[str | None, ProbeTarget]]:
    from shoe_ctl.config.resolve import profile_of, resolve
    from shoe_ctl.config.schema import load
    from shoe_ctl.link.address import parse_address
    from shoe_ctl.link.doctor import ProbeTarget

    config = load(config_file)
    resolve(config)  # what the daemon would not start with is told before any port is tried
    have = [table.shoe.port for table in config.table]
    for port in ports:
        if port not in have:
            raise UsageError(f"--port: no table has {port!r} (have: {', '.join(have)})")
    found: list[tuple[str | None, ProbeTarget]] = []
    for table in config.table:
        shoe = table.shoe
        chosen, settings, _ = profile_of(config, table, {})
        if not ports or shoe.port in ports:
            target = ProbeTarget(
                port=parse_address(shoe.port),
                name=shoe.profile,
                profile=chosen,
                settings=settings,
                serial=chosen.SERIAL.at(shoe.baud),
            )
            found.append((table.id, target))
    return found
