"""``shoectl table``: one command to a running daemon, or how its tables stand.

In: a command with its arguments, who gives it. Out: the daemon's answer, exit codes 0, 1, 2, 3.
Must not know: the round, what a command does, whether it may be given: the daemon says so.
"""

from __future__ import annotations

import getpass
import socket
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from shoe_ctl.errors import ConfigError, EnvironmentFault, UsageError

TIMEOUT_S = 30.0
"""Longer than the daemon takes to store and answer, even on a disk that stalls."""

ACCEPT_LOSS = "accept_loss"
"""Is taken while the journal is in doubt, when nothing else is answered."""

_PIECE = 65536


@click.command
@click.argument("command", metavar="COMMAND|status|redeliver")
@click.argument("args", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--config", "config_file", metavar="FILE", help="The daemon's configuration file.")
@click.option(
    "--socket",
    "socket_path",
    envvar="SHOECTL_SOCKET",
    metavar="PATH",
    help="The daemon's socket.  [$SHOECTL_SOCKET]",
)
@click.option("--table", help="Which table.  [the daemon's only one]")
@click.option("--person", help="Who gives the command.  [the user who calls]")
@click.option("--position", help="In which position.  [the user's highest]")
@click.option("--reason", help="Why, where a ruling or discretion wants a reason.")
@click.option("--consented-by", metavar="PERSON", help="The second person, where one is needed.")
@click.option("--round", "round_id", metavar="ID", help="Refuse it if another round is open.")
@click.option("--id", "command_id", help="The command's id: given again, it gets its first answer.")
@click.option("--json", "as_json", is_flag=True, help="The answer as one line of JSON.")
def table(  # noqa: PLR0913 - the options of the command line
    command: str,
    args: tuple[str, ...],
    config_file: str | None,
    socket_path: str | None,
    table: str | None,
    person: str | None,
    position: str | None,
    reason: str | None,
    consented_by: str | None,
    round_id: str | None,
    command_id: str | None,
    as_json: bool,
) -> int:
    """Give a table a command, or see how it stands and what it takes.

    redeliver offers events that a sink would not take to it once more.

    \b
    shoectl table status --config table.toml
    shoectl table expose hand=player
    shoectl table decide choice=play_on --reason "card found on the floor"
    """  # noqa: D301 - click wants the very character
    arguments = dict(_argument(word) for word in args)
    given = [person, position, reason, consented_by, round_id, command_id]
    if command == "redeliver" and (set(arguments) - {"sink"} or table or any(given)):
        raise UsageError("redeliver takes sink=NAME and nothing else: events keep their ids")
    if command == "status" and (arguments or any(value is not None for value in given)):
        raise UsageError("status takes --table and nothing else: it changes nothing")
    with Wire(_path(config_file, socket_path)) as wire:
        if command == "status":
            return _show_status(wire.status(table), as_json=as_json)
        if command == "redeliver":
            return _show_redelivered(wire.ask({"request": command} | arguments), as_json=as_json)
        if table is None or position is None:
            held = _status_or_doubt(wire, table, command)
            position = held["position"] if position is None else position
            table = _only(held["tables"]) if table is None else table
        envelope = {
            "command_id": command_id if command_id is not None else str(uuid.uuid4()),
            "table": table,
            "round_id": round_id,
            "command": command,
            "args": arguments,
            "person": person if person is not None else _login(),
            "position": position,
            "reason": reason,
            "consented_by": consented_by,
        }
        answer = wire.ask(envelope)
        _show_answer(answer, as_json=as_json)
        if not as_json and (answer.get("halted") or answer.get("asks")):
            _show_what_waits(answer, wire, table)
        return 0 if answer.get("accepted") is True else 1


class Wire:
    """One connection to a daemon: an object out, its answer back.

    Raises:
        EnvironmentFault: nobody is there, or who is there does not answer.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise EnvironmentFault(_no_daemon(path, error)) from None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def status(self, table: str | None) -> dict[str, Any]:
        """How the tables stand.

        Raises:
            InputRefused: the daemon refuses to say.
        """
        from shoe_ctl.errors import InputRefused

        answer = self.ask({"request": "status"} | ({} if table is None else {"table": table}))
        if "tables" not in answer:
            raise InputRefused(refusal(answer))
        return answer

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to this."""
        import msgspec

        with suppress(BrokenPipeError, ConnectionResetError):  # its last word is still to be read
            self._socket.sendall(msgspec.json.encode(asked) + b"\n")
        try:
            answer = msgspec.json.decode(self._line(), type=dict[str, Any])
        except TimeoutError:
            why = f"nothing came in {TIMEOUT_S:g} s"
        except OSError as error:
            why = error.strerror or str(error)
        except msgspec.MsgspecError:
            why = "what came is no answer"
        else:
            return answer
        raise EnvironmentFault(f"the daemon at {self._path} does not answer: {why}")

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            more = self._socket.recv(_PIECE)
            if not more:
                raise ConnectionError("it hung up")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _status_or_doubt(wire: Wire, table: str | None, command: str) -> dict[str, Any]:
    """How the tables stand; while the journal is in doubt nobody says: the ruling is for all."""
    from shoe_ctl.errors import InputRefused

    try:
        return wire.status(table)
    except InputRefused:
        if command != ACCEPT_LOSS:
            raise
    return {"position": "gaming_shift_manager", "tables": [{"table": table or "all"}]}


def refusal(answer: dict[str, Any]) -> str:
    """A refusal in one line, with what it needs."""
    error = str(answer.get("error"))
    needs = answer.get("needs") or {}
    told = "; ".join(
        f"{what}: {needed}" + (", named with --consented-by" if what == "consent" else "")
        for what, needed in needs.items()
    )
    return f"{error} (it needs {told})" if told else error


def _path(config_file: str | None, socket_path: str | None) -> Path:
    """The socket to connect to: an explicit configuration file is meant before the environment."""
    if config_file is None:
        if socket_path is None:
            raise UsageError("which daemon? give --config FILE or --socket PATH")
        return Path(socket_path)
    from shoe_ctl.config import load

    path = load(config_file).socket_path
    if path is None:
        raise ConfigError(f"{config_file}: there is no [socket]: the daemon takes no commands")
    return path


def _no_daemon(path: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"socket {path}: permission denied: is this user in the socket's group?"
    why = error.strerror or str(error)
    return f"no daemon at {path} ({why}): is `shoectl run` running there, with a [socket]?"


def _argument(word: str) -> tuple[str, Any]:
    """``hand=player``, ``index=2``: JSON where it reads as such, else the text itself.

    A number with a fraction stays text: nothing at a table is inexact.
    """
    import msgspec

    key, equals, text = word.partition("=")
    if not (key and equals):
        raise UsageError(f"expected KEY=VALUE, not {word!r}")
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return key, text
    return key, text if isinstance(value, float) else value


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError("who gives the command? this user has no name: give --person") from None


def _only(tables: list[dict[str, Any]]) -> str:
    ids = [str(held["table"]) for held in tables]
    if len(ids) != 1:
        raise UsageError(f"which table? give --table: {', '.join(ids)}")
    return ids[0]


def _show_status(answer: dict[str, Any], *, as_json: bool) -> int:
    import msgspec

    from shoe_ctl.cli.table_view import lines

    if as_json:
        click.echo(msgspec.json.encode(answer))
        return 0
    for held in answer["tables"]:
        for line in lines(held):
            click.echo(line)
    return 0


def _show_redelivered(answer: dict[str, Any], *, as_json: bool) -> int:
    """Exit code 0: everything was taken; 1: something was refused again."""
    import msgspec

    from shoe_ctl.errors import InputRefused

    if "redelivered" not in answer:
        raise InputRefused(refusal(answer))
    if as_json:
        click.echo(msgspec.json.encode(answer))
    sinks = answer["redelivered"]
    for went in sinks if not as_json else ():
        told = [f"{went[how]} {how}" for how in ("taken", "refused", "waiting") if went[how]]
        click.echo(f"{went['sink']}: {', '.join(told)}")
    if not (sinks or as_json):
        click.echo("nothing is parked")
    if any(went["refused"] for went in sinks):
        raise InputRefused("some were refused again and stay parked: the daemon's log says why")
    if any(went["waiting"] for went in sinks):
        raise EnvironmentFault("a sink is away: it gets them as soon as it is back")
    return 0


def _show_answer(answer: dict[str, Any], *, as_json: bool) -> None:
    import msgspec

    if as_json:
        click.echo(msgspec.json.encode(answer))
    elif answer.get("accepted") is True:
        click.echo("done: " + (" ".join(answer["events"]) or "nothing public came of it"))
    else:
        click.echo(f"shoectl: {refusal(answer)}", err=True)


def _show_what_waits(answer: dict[str, Any], wire: Wire, table: str | None) -> None:
    """What the table waits for once a command is done, with what is typed next.

    A command given again has its first answer: the table may be far beyond it by now. Whatever
    becomes of the question, the command is done.
    """
    from shoe_ctl.cli.table_view import open_lines
    from shoe_ctl.errors import ShoeCtlError

    named = str(answer.get("halted") or answer.get("asks"))
    try:
        lines = [line for held in wire.status(table)["tables"] for line in open_lines(held)]
    except ShoeCtlError:
        lines = [f"halted for {named}: shoectl table status says what is next"]
    for line in lines or [f"it waited for {named}, which is decided since"]:
        click.echo(line)
