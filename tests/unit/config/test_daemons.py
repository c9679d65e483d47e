"""Several configurations: the files in a folder, and what two daemons cannot share."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.config.daemons import collisions, configuration_files
from shoe_ctl.config.schema import Config, load
from shoe_ctl.errors import ConfigError
from shoe_testing.config import make_config, table_section, this_user


def config(folder: Path, name: str, table: str, port: str | Path, **sections: Any) -> Config:
    """A daemon of one table, with a journal and a socket of its own where no other is given."""
    path = folder / name
    kept = {
        "journal": {"path": f"{path.stem}.db"},
        "socket": {"path": f"{path.stem}.sock", "user": [this_user("dealer")]},
    }
    path.write_text(make_config(table_section(table, port=str(port)), **{**kept, **sections}))
    return load(path)


def jsonl(path: str | Path, **more: Any) -> dict[str, Any]:
    return {"kind": "jsonl", "path": str(path), **more}


def test_a_folder_stands_for_its_configurations_and_a_file_is_not_taken_twice(
    tmp_path: Path,
) -> None:
    for name in ("b.toml", "a.toml", "notes.txt", ".#a.toml", "shoes.keys"):
        (tmp_path / name).touch()
    (tmp_path / "other").mkdir()
    found = [str(tmp_path / "a.toml"), str(tmp_path / "b.toml")]
    assert configuration_files([str(tmp_path)]) == found
    assert configuration_files([found[1], str(tmp_path)]) == found[::-1]
    assert configuration_files(["x.toml", "x.toml"]) == ["x.toml"]


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        configuration_files([str(tmp_path)])
    assert str(refused.value) == f"{tmp_path}: it has no configuration: expected a file NAME.toml"


def test_daemons_that_share_nothing_may_serve_beside_one_another(tmp_path: Path) -> None:
    ones = [
        config(tmp_path, "a.toml", "bac-07", "/dev/none-a", sink=[jsonl("a.jsonl"), jsonl("-")]),
        config(tmp_path, "b.toml", "bac-08", "/dev/none-b", sink=[jsonl("b.jsonl"), jsonl("-")]),
        config(tmp_path, "c.toml", "bac-09", "tcp://hall:7000", sink=[jsonl("c.jsonl")]),
        config(tmp_path, "d.toml", "bac-10", "tcp://hall:7001"),
        config(tmp_path, "e.toml", "bac-11", "usb:SH-0042"),
    ]
    assert collisions(ones) == []


def test_each_thing_that_two_daemons_would_both_use_has_its_line(tmp_path: Path) -> None:
    shared: dict[str, Any] = {
        "journal": {"path": "journal.db"},
        "socket": {"path": "way-in", "user": [this_user("dealer")]},
        "sink": [jsonl("public.jsonl")],
    }
    one = config(tmp_path, "a.toml", "bac-07", "/dev/none", **shared)
    other = config(tmp_path, "b.toml", "bac-07", "/dev/none", **shared)
    a, b = tmp_path / "a.toml", tmp_path / "b.toml"
    assert collisions([one, other]) == [
        f"{b}: table bac-07: id: table bac-07 of {a} has bac-07 already: "
        "give each table an id of its own",
        f"{b}: table bac-07: shoe.port: table bac-07 of {a} has /dev/none already: "
        "give each table a port of its own",
        f"{b}: journal.path: the journal of {a} has {tmp_path / 'journal.db'} already: "
        "give each daemon a journal of its own",
        f"{b}: socket.path: the socket of {a} has {tmp_path / 'way-in'} already: "
        "give each daemon a socket of its own",
        f"{b}: sink[0].path: sink[0] of {a} has {tmp_path / 'public.jsonl'} already: "
        "give each sink a file of its own",
    ]


@pytest.mark.parametrize("same", ["link", "hard link", "folder", "dots", "not there yet"])
def test_a_file_is_found_under_another_name(tmp_path: Path, same: str) -> None:
    first, other = tmp_path / "first.jsonl", tmp_path / "other.jsonl"
    if same != "not there yet":
        first.touch()
    if same == "link":
        other.symlink_to(first)
    elif same == "hard link":
        other.hardlink_to(first)
    elif same == "folder":
        (tmp_path / "linked").symlink_to(tmp_path)
        other = tmp_path / "linked" / "first.jsonl"
    elif same == "dots":
        (tmp_path / "sub").mkdir()
        other = tmp_path / "sub" / ".." / "first.jsonl"
    else:
        other.symlink_to(first)
    one = config(tmp_path, "a.toml", "bac-07", "/dev/a", sink=[jsonl(first)])
    two = config(tmp_path, "b.toml", "bac-08", "/dev/b", sink=[jsonl(other)])
    assert collisions([one, two]) == [
        f"{tmp_path / 'b.toml'}: sink[0].path: {other} is {first}, which sink[0] of "
        f"{tmp_path / 'a.toml'} has already: give each sink a file of its own"
    ]


def test_two_sinks_or_tables_of_one_daemon_are_found_too(tmp_path: Path) -> None:
    (tmp_path / "shoe-2").symlink_to(tmp_path / "shoe-1")
    (tmp_path / "copy.jsonl").symlink_to(tmp_path / "public.jsonl")
    path = tmp_path / "table.toml"
    path.write_text(
        make_config(
            table_section("bac-07", port=str(tmp_path / "shoe-1")),
            table_section("bac-08", port=str(tmp_path / "shoe-2")),
            sink=[jsonl("public.jsonl"), jsonl("copy.jsonl"), jsonl("journal.db")],
        )
    )
    assert collisions([load(path)]) == [
        f"{path}: table bac-08: shoe.port: {tmp_path / 'shoe-2'} is {tmp_path / 'shoe-1'}, which "
        "table bac-07 has already: give each table a port of its own",
        f"{path}: sink[1].path: {tmp_path / 'copy.jsonl'} is {tmp_path / 'public.jsonl'}, which "
        "sink[0] has already: give each sink a file of its own",
        f"{path}: sink[2].path: the journal has {tmp_path / 'journal.db'} already: "
        "give each sink a file of its own",
    ]


def test_a_port_at_a_device_server_is_the_same_in_capitals(tmp_path: Path) -> None:
    one = config(tmp_path, "a.toml", "bac-07", "tcp://Hall-1:7000")
    two = config(tmp_path, "b.toml", "bac-08", "tcp://hall-1:7000")
    (line,) = collisions([one, two])
    assert "tcp://hall-1:7000 is tcp://Hall-1:7000, which table bac-07 of" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a device")
def test_two_devices_of_one_number_are_one_port(tmp_path: Path) -> None:
    ports = [tmp_path / "ttyA", tmp_path / "ttyB"]
    try:
        for port in ports:
            os.mknod(port, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this container makes no devices")
    ones = [config(tmp_path, f"{n}.toml", f"bac-{n}", port) for n, port in enumerate(ports)]
    (line,) = collisions(ones)
    assert f"{ports[1]} is {ports[0]}, which table bac-0 of" in line


def test_a_socket_that_is_served_is_found_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "also").symlink_to("run")
    with socket.socket(socket.AF_UNIX) as served:
        served.bind(str(tmp_path / "run" / "way-in"))
        user = [this_user("dealer")]
        ones = [
            config(tmp_path, f"{at}.toml", table, f"/dev/{at}", socket={"path": path, "user": user})
            for at, table, path in (("a", "t1", "run/way-in"), ("b", "t2", "also/way-in"))
        ]
        (line,) = collisions(ones)
    assert "socket.path: " in line and "which the socket of" in line
