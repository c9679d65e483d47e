"""``shoectl table``: send commands to a running daemon and show how its tables stand.

In: a command with its arguments, who gives it. Out: the daemon's answer, exit codes 0, 1, 2, 3.
Must not know: the round, what a command does, whether it may be given: the daemon says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from shoe_ctl.cli.common import language_option, words_in
from shoe_ctl.cli.help_language import said
from shoe_ctl.errors import EnvironmentFault, ShoeCtlError, UsageError

if TYPE_CHECKING:
    from shoe_ctl.cli.daemons import Daemon
    from shoe_ctl.cli.table_pages import ArgumentOption
    from shoe_ctl.texts.screen import Words

TIMEOUT_S = 30.0
"""Longer than the daemon takes to store and answer, even on a disk that stalls."""

SHORT_TIMEOUT_S = 1.0
"""The time that somebody who presses Tab may wait for the daemon."""

ACCEPT_LOSS = "accept_loss"
"""Is taken while the journal is in doubt, when nothing else is answered."""

_PIECE = 65536


# The commands of the group: each is made when it is asked for.

CONFIG = (
    "The daemon's configuration file: it names the socket. Of several files, or a folder of them, "
    "the one that has the table."
)
SOCKET = "The daemon's socket.  [$SHOECTL_SOCKET]"
TABLE = "The table.  [$SHOECTL_TABLE, else the daemon's only one]"


def _make_options(*, plain: bool, environment: bool) -> list[click.Parameter]:
    """The options of every command; a ``plain`` request shows few of them in its help."""
    read = {"socket": "SHOECTL_SOCKET", "table": "SHOECTL_TABLE"} if environment else {}
    about = {"hidden": plain}
    return [
        click.Option(["--config", "config_files"], metavar="FILE", multiple=True, help=CONFIG),
        click.Option(
            ["--socket", "socket_path"], metavar="PATH", help=SOCKET, envvar=read.get("socket")
        ),
        click.Option(["--table"], metavar="ID", help=TABLE, envvar=read.get("table")),
        click.Option(
            ["--person"], metavar="NAME", help="Who gives the command.  [the logged-in user]",
            **about,
        ),
        click.Option(
            ["--position"], metavar="POSITION",
            help="The position to act in.  [the user's highest]", **about,
        ),
        click.Option(
            ["--reason"], metavar="TEXT",
            help="Why: required for rulings, declarations and discretion.", **about,
        ),
        click.Option(
            ["--consented-by"], metavar="NAME",
            help="The second person, where one must consent.", **about,
        ),
        click.Option(
            ["--round", "round_id"], metavar="ID",
            help="Reject the command unless round ID is open.", **about,
        ),
        click.Option(
            ["--id", "command_id"], metavar="ID",
            help="The command's id. Given again, it gets its first answer and does nothing.",
            **about,
        ),
        click.Option(
            ["--preview"], is_flag=True,
            help="Do nothing; show what the command would change, and who must consent.",
            **about,
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the answer as JSON."),
        language_option(),
    ]  # fmt: skip


class _Group(click.Group):
    """The table's commands, by situation. Their pages are made when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        from shoe_ctl.cli import table_pages

        return sorted(table_pages.commands())

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        from shoe_ctl.cli import table_pages

        if cmd_name not in table_pages.commands():
            return None
        return _Command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named first, or the one that was likely meant."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            unknown = said("No such command {name!r}.", name=name[:64])
            ctx.fail(f"{unknown}{_suggestion(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from shoe_ctl.cli import table_pages

        names = self.list_commands(ctx)
        for situation in table_pages.SITUATIONS:
            of_it = [name for name in table_pages.commands() if name in names]
            rows = [
                (name, table_pages.summary(name))
                for name in of_it
                if table_pages.situation_of(name) == situation
            ]
            with formatter.section(situation):
                formatter.write_dl(rows, col_max=22)


def _suggestion(name: str, commands: Sequence[str]) -> str:
    """Return what somebody who typed this most likely meant."""
    from firmware_proto.suggestion import nearest_name
    from shoe_ctl.cli import table_pages

    if name in table_pages.choice_names():
        return said(" It is a choice: shoectl table decide choice={name}", name=name)
    if name in (line.name for line in table_pages.declared()):
        return said(" It is declared: shoectl table declare key={name}", name=name)
    near = nearest_name(name, commands)
    return said(" Did you mean {near!r}?", near=near) if near else ""


class _Choice(click.Choice[str]):
    """One of many values: an error suggests the nearest instead of listing them all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        chosen = super().convert(value, param, ctx)
        return {"true": True, "false": False}.get(chosen, chosen)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        from firmware_proto.suggestion import nearest_name

        near = nearest_name(str(value), self.choices)
        if near:
            return said(
                "{value!r} is not one of its values. Did you mean {near!r}?", value=value, near=near
            )
        return super().get_invalid_choice_message(value, ctx)


class _Value(click.ParamType[object]):
    """A value that cannot be listed: a number where only that is taken, else a text."""

    name = "value"

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = tuple(kinds)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if self._kinds == ("str",):
            return value
        read = _read_value(str(value))
        if self._kinds == ("int",) and not (read is None or type(read) is int):
            self.fail(said("{value!r} is not a whole number.", value=value), param, ctx)
        return _NULL if read is None else read


_NULL = object()
"""``--number null``: None would mean that the option is not there."""


class _ArgumentOption(click.Option):
    """An argument of the command as an option: ``--hand player`` for ``hand=player``."""

    def __init__(self, argument: ArgumentOption) -> None:
        self.argument = argument.name
        self.is_needed = not argument.optional
        values = argument.values
        super().__init__(
            [argument.option, f"{ARGUMENT_PREFIX}{argument.name}"],
            type=_Choice(values) if values else _Value(argument.kinds),
            help=argument.text,
            shell_complete=_complete_choice if argument.name == "choice" else None,
        )


ARGUMENT_PREFIX = "argument_"
"""Before the name of an argument among click's parameters, where options have names as well."""


class _Command(click.Command):
    """One command of the table, with a page of its own."""

    def __init__(self, name: str) -> None:
        from shoe_ctl.cli import table_pages

        plain = name in table_pages.REQUESTS
        words = click.Argument(
            ["args"], nargs=-1, metavar="[NAME=VALUE]...", shell_complete=_complete
        )
        super().__init__(
            name,
            callback=_run,
            params=[words, *_make_options(plain=plain, environment=False)],
            short_help=table_pages.summary(name),
        )

    @cached_property
    def arguments(self) -> list[_ArgumentOption]:
        """The command's arguments as options, made from the table's own list when asked for."""
        from shoe_ctl.cli import table_pages

        return [_ArgumentOption(one) for one in table_pages.argument_options(str(self.name))]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        common = super().get_params(ctx)
        return common if self._skips_arguments else [*self.arguments, *common]

    _skips_arguments = False
    """None of them is given as an option: the table's own list need not be imported."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; without any ``NAME=VALUE`` all that are needed must be among them.

        What is given as ``NAME=VALUE`` is checked by the daemon alone, which knows the table.
        """
        from shoe_ctl.cli.table_pages import takes_arguments

        known = {name for one in super().get_params(ctx) for name in one.opts}
        given = {word.partition("=")[0] for word in args if word.startswith("-")}
        takes = takes_arguments(str(self.name))
        has_words = bool(set(args) - given)
        self._skips_arguments = (
            given <= known and (has_words or not takes) and not ctx.resilient_parsing
        )
        rest = super().parse_args(ctx, args)
        if takes and not ctx.params["args"] and not ctx.resilient_parsing:
            for one in self.arguments:
                if one.is_needed and ctx.params.get(str(one.name)) is None:
                    if one.argument == "choice":  # few of all the choices are open at a time
                        text = (
                            "choice=... is missing: shoectl table status lists what may be chosen"
                        )
                        raise click.UsageError(said(text), ctx=ctx)
                    raise click.MissingParameter(ctx=ctx, param=one)
        return rest

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The page: what it does, an example, its arguments, who, when, under which rule."""
        from shoe_ctl.cli import table_pages

        name = str(self.name)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(table_pages.summary(name))
            if more := table_pages.PAGES[name].more:
                formatter.write_text(more)
            formatter.write_paragraph()
            formatter.write_text("Example:")
            for line in _example_lines(table_pages.example(name), formatter.width):
                formatter.write(line)
        _definitions(formatter, ARGUMENTS, table_pages.arguments(name))
        if name not in table_pages.REQUESTS:
            facts = [
                ("given by", table_pages.given_by(name)),
                ("when", table_pages.taken_in(name)),
                ("rule", table_pages.rules(name)),
            ]
            _definitions(formatter, "Who, when, under which rule", facts)
        if name == "declare":
            _definitions(formatter, "What can be declared", table_pages.declared())
        if name == "decide":
            _definitions(formatter, "Choices, by what is open", table_pages.choices())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options that every command has: its arguments stand above."""
        options = (one for one in super().get_params(ctx) if isinstance(one, click.Option))
        records = (option.get_help_record(ctx) for option in options)
        _definitions(formatter, "Options", [one for one in records if one is not None])


ARGUMENTS = "Arguments, as NAME=VALUE or as --NAME VALUE"
"""The title of a command's arguments on its page."""


def _example_lines(command: str, width: int) -> Iterator[str]:
    """A command of the help on lines of its own, that can be copied."""
    from shoe_ctl.cli.table_view import wrap_command

    for line in wrap_command(command, indent="    ", width=width):
        yield f"{line}\n"


def _definitions(
    formatter: click.HelpFormatter, title: str, lines: Sequence[tuple[str, str]]
) -> None:
    if lines:
        with formatter.section(title):
            formatter.write_dl(lines, col_max=26)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return how an argument may go on, as far as the table's own tables say."""
    from shoe_ctl.cli import table_pages

    typed = [str(word) for word in ctx.params.get(str(param.name)) or ()]
    command = str(ctx.info_name)
    open_now = _open_choices(ctx) if command == "decide" else None
    return table_pages.completions(command, typed, incomplete, open_now)


def _complete_choice(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[str]:
    """Return how the option --choice may go on: the open choices, or all if they are not known."""
    from shoe_ctl.cli import table_pages

    open_now = _open_choices(ctx)
    every = table_pages.choice_names() if open_now is None else open_now
    return [choice for choice in every if choice.startswith(incomplete)]


def _open_choices(ctx: click.Context) -> list[str] | None:
    """The choices that the table would take now; None if its daemon does not say."""
    from shoe_ctl.cli.daemons import daemon_of, find_daemons
    from shoe_ctl.cli.table_view import open_choices

    before = {} if ctx.parent is None else ctx.parent.params
    config_files, socket_path, table = (
        _chosen(ctx.params.get(name), before.get(name))
        for name in ("config_files", "socket_path", "table")
    )
    try:
        daemon = daemon_of(find_daemons(config_files or (), socket_path), table)
        with Wire(daemon.path, timeout_s=SHORT_TIMEOUT_S) as wire:
            tables = wire.status(table)["tables"]
    except ShoeCtlError:
        return None
    choices = [choice for held in tables for choice in open_choices(held)]
    names = (str(choice["choice"]) for choice in choices if "not_now" not in choice)
    return list(dict.fromkeys(names))


@click.group(
    cls=_Group,
    params=_make_options(plain=False, environment=True),
    subcommand_metavar="COMMAND [NAME=VALUE]...",
    context_settings={"max_content_width": 80},
)
def table(**_: object) -> None:
    """Send commands to a running daemon's tables and show their status.

    \b
    Examples:
      shoectl table status --config table.toml
      shoectl table status --config /etc/shoectl
      shoectl table expose hand=player
      shoectl table decide choice=play_on --reason "link back"

    Arguments are written NAME=VALUE or --NAME VALUE. Each command has a help page with its
    arguments, who may give it and when: shoectl table expose --help
    """  # noqa: D301 - click wants the very character


class _Options(NamedTuple):
    """The options given with a command: behind its name, or else before it."""

    config_files: tuple[str, ...]
    socket_path: str | None
    table: str | None
    person: str | None
    position: str | None
    reason: str | None
    consented_by: str | None
    round_id: str | None
    command_id: str | None
    as_json: bool
    preview: bool
    language: str | None


@click.pass_context
def _run(ctx: click.Context, /, args: tuple[str, ...], **own: Any) -> int:
    """Give the command that the context is of."""
    command, before = str(ctx.info_name), ctx.parent
    assert before is not None
    arguments = _collect_arguments(args, own)
    options = _Options(**{name: _chosen(own[name], before.params[name]) for name in own})
    words = words_in(options.language)
    _refuse_placeholders(arguments, options, words)
    names_table = own["table"] is not None or _is_on_command_line(before, "table")
    _refuse_what_it_takes_not(command, arguments, options, names_table=names_table)
    connection = _connection_words(own, before)
    from shoe_ctl.cli.daemons import daemon_of, find_daemons

    daemons = find_daemons(options.config_files, options.socket_path)
    if command == "status" and options.table is None:
        return _show_every_status(daemons, connection, words, as_json=options.as_json)
    if command == "redeliver" and len(daemons) > 1:
        raise UsageError(said("redeliver is for one daemon: give its --config alone"))
    table = _table_of(str(arguments["after"])) if command == "resend" else options.table
    daemon = daemon_of(daemons, table)
    if len(daemons) > 1:
        connection = _words_of(daemon, connection)
    with Wire(daemon.path, words) as wire:
        if command == "status":
            return _show_status(wire.status(table), connection, words, as_json=options.as_json)
        if command == "redeliver":
            asked = {"request": command} | arguments
            return _show_redelivered(wire.ask(asked), words, as_json=options.as_json)
        if command == "resend":
            asked = {"request": command} | arguments
            return _show_resent(wire.ask(asked), words, as_json=options.as_json)
        if command == "events":
            asked = {"request": command, "table": options.table} | arguments
            return _print_events(wire, asked, words, as_json=options.as_json)
        return _give(wire, command, arguments, options, connection)


def _refuse_what_it_takes_not(
    command: str, arguments: dict[str, Any], options: _Options, *, names_table: bool
) -> None:
    """Refuse what a plain request does not take.

    Raises:
        UsageError: it says what the request takes.
    """
    given = [*options[3:9]]
    if options.preview and command in ("redeliver", "resend", "status", "events"):
        text = "{command} has no preview: it changes nothing at a table"
        raise UsageError(said(text, command=command))
    if command == "redeliver" and (set(arguments) - {"sink"} or names_table or any(given)):
        text = "redeliver takes sink=NAME and no other argument: events keep their ids"
        raise UsageError(said(text))
    if command == "resend" and (set(arguments) != {"sink", "after"} or names_table or any(given)):
        raise UsageError(said("resend takes sink=NAME and after=ID and no other argument"))
    if command == "status" and (arguments or any(value is not None for value in given)):
        raise UsageError(said("status takes --table and no other argument: it changes nothing"))
    if command == "events" and (set(arguments) - {"after", "source", "audience"} or any(given)):
        text = (
            "events takes after=ID, source=SOURCE, audience=NAME and --table, and no other argument"
        )
        raise UsageError(said(text))


def _collect_arguments(words: Sequence[str], own: dict[str, Any]) -> dict[str, Any]:
    """The arguments from ``NAME=VALUE`` and from options; these are taken out of ``own``.

    Raises:
        UsageError: a word is no ``NAME=VALUE``, or an argument is given in both forms.
    """
    arguments = dict(_argument(word) for word in words)
    for parameter in [name for name in own if name.startswith(ARGUMENT_PREFIX)]:
        value = own.pop(parameter)
        if value is None:
            continue
        name = parameter.removeprefix(ARGUMENT_PREFIX)
        if name in arguments:
            raise UsageError(
                said("{name} is given twice: as {name}=... and as an option", name=name)
            )
        arguments[name] = None if value is _NULL else value
    return arguments


def _chosen(own: Any, before: Any) -> Any:
    """Return what stands behind the command's name, where anything does."""
    return before if own in (None, False, ()) else own


def _give(
    wire: Wire,
    command: str,
    arguments: dict[str, Any],
    options: _Options,
    connection: Sequence[str],
) -> int:
    """Give the table a command and show its answer."""
    import uuid

    table, position = options.table, options.position
    if table is None or position is None:
        held = _status_or_doubt(wire, table, command)
        position = held["position"] if position is None else position
        table = _only(held["tables"], wire.words) if table is None else table
    envelope = {
        "command_id": options.command_id if options.command_id is not None else str(uuid.uuid4()),
        "table": table,
        "round_id": options.round_id,
        "command": command,
        "args": arguments,
        "person": options.person if options.person is not None else _login(),
        "position": position,
        "reason": options.reason,
        "consented_by": options.consented_by,
    } | ({"preview": True} if options.preview else {})
    answer = wire.ask(envelope)
    _show_answer(answer, wire.words, as_json=options.as_json)
    if not options.as_json and (answer.get("halted") or answer.get("asks")):
        _show_what_waits(answer, wire, table, connection)
    return 0 if answer.get("accepted") is True else 1


def _is_on_command_line(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _connection_words(own: dict[str, Any], before: click.Context) -> list[str]:
    """Options that say the same again; none of what the environment says."""
    words: list[str] = []
    named = {"config_files": "--config", "socket_path": "--socket", "language": "--language"}
    for name, option in named.items():
        typed = own[name] or (before.params[name] if _is_on_command_line(before, name) else None)
        values = [typed] if isinstance(typed, str) else typed or ()
        words += [word for value in values for word in (option, value)]
    return words


def _refuse_placeholders(arguments: dict[str, Any], options: _Options, words: Words) -> None:
    """A command that was pasted as it was shown, with nothing filled in, does nothing.

    Raises:
        UsageError: it names what is to be filled in.
    """
    from shoe_ctl.cli.table_view import PLACEHOLDER

    named = {f"{key}=": value for key, value in arguments.items()}
    named |= {"--reason": options.reason, "--consented-by": options.consented_by}
    empty = [name for name, value in named.items() if value == PLACEHOLDER]
    if empty:
        raise UsageError(words("incomplete", names=empty))


class Wire:
    """One connection to a daemon: an object out, its answer back.

    Raises:
        EnvironmentFault: nobody is there, or who is there does not answer.
    """

    def __init__(
        self, path: Path, words: Words | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        import socket

        self.path = path
        self.words = words_in("en") if words is None else words
        self._timeout_s = timeout_s
        self._rest = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise EnvironmentFault(_no_daemon(path, error, self.words)) from None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def status(self, table: str | None) -> dict[str, Any]:
        """Return how the tables stand.

        Raises:
            InputRefused: the daemon refuses to say.
        """
        from shoe_ctl.errors import InputRefused

        answer = self.ask({"request": "status"} | ({} if table is None else {"table": table}))
        if "tables" not in answer:
            raise InputRefused(refusal(answer, self.words))
        return answer

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to this."""
        import msgspec

        self._send(asked)
        try:
            answer = msgspec.json.decode(self._line(), type=dict[str, Any])
        except TimeoutError:
            why = f"no answer within {self._timeout_s:g} s"
        except OSError as error:
            why = error.strerror or str(error)
        except msgspec.MsgspecError:
            why = "its answer is not a JSON object"
        else:
            return answer
        raise EnvironmentFault(self.words("no_answer", path=self.path, why=why))

    def follow(self, asked: dict[str, Any]) -> Iterator[list[bytes]]:
        """The lines that come for this, until the daemon hangs up.

        Raises:
            BrokenPipeError: nobody reads stdout any more, where they are to be written.
        """
        import select
        import sys

        self._send(asked)
        self._socket.settimeout(None)
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        with suppress(OSError):  # it has no number: nobody can close its other end
            if sys.stdout is not None:
                poll.register(sys.stdout, 0)
        while True:
            if any(fd != self._socket.fileno() for fd, _ in poll.poll()):
                raise BrokenPipeError
            try:
                more = self._socket.recv(_PIECE)
            except ConnectionError:
                return
            if not more:
                return
            *lines, self._rest = (self._rest + more).split(b"\n")
            yield lines

    def _send(self, asked: dict[str, Any]) -> None:
        import msgspec

        try:
            line = msgspec.json.encode(asked) + b"\n"
        except UnicodeEncodeError:
            raise UsageError("a text is not UTF-8: type it again") from None
        with suppress(BrokenPipeError, ConnectionResetError):  # its last word is still to be read
            self._socket.sendall(line)

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            more = self._socket.recv(_PIECE)
            if not more:
                raise ConnectionError("it hung up")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _status_or_doubt(wire: Wire, table: str | None, command: str) -> dict[str, Any]:
    """Return how the tables stand, or all as one while the journal is in doubt."""
    from shoe_ctl.errors import InputRefused

    try:
        return wire.status(table)
    except InputRefused:
        if command != ACCEPT_LOSS:
            raise
    return {"position": "gaming_shift_manager", "tables": [{"table": table or "all"}]}


def refusal(answer: dict[str, Any], words: Words) -> str:
    """A refusal in one line, with what it needs."""
    why = answer.get("error") or {}
    error = words.text(why) if "code" in why else str(why.get("text"))
    needs = answer.get("needs") or {}
    if "consent" in needs:  # the error says whose
        return words("needs_consent", error=error)
    told = [
        words("need", what=what, value=_needed(what, str(needed), words))
        for what, needed in needs.items()
    ]
    return words("needs", error=error, needs=words.join(told, "clauses")) if told else error


def _needed(what: str, needed: str, words: Words) -> str:
    """A position or states in words; anything else as it is."""
    if what not in ("position", "state"):
        return needed
    return words.join(words.name(what, one) for one in needed.split(", "))


def _no_daemon(path: Path, error: OSError, words: Words) -> str:
    if isinstance(error, PermissionError):
        return words("no_permission", path=path)
    why = error.strerror or str(error)
    return words("no_daemon", path=path, why=why)


def _argument(word: str) -> tuple[str, Any]:
    """``hand=player``, ``index=2``: the name and the value."""
    key, equals, text = word.partition("=")
    if not (key and equals):
        raise UsageError(said("expected NAME=VALUE, not {word!r}", word=word))
    return key, _read_value(text)


def _read_value(text: str) -> Any:
    """JSON where it reads as such, else the text itself.

    A number with a fraction stays text: nothing at a table is inexact.
    """
    import msgspec

    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return text if isinstance(value, float) else value


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError(
            said("no person is named and this user has no login name: give --person NAME")
        ) from None


def _only(tables: list[dict[str, Any]], words: Words) -> str:
    ids = [str(held["table"]) for held in tables]
    if len(ids) != 1:
        raise UsageError(words("no_table_named", tables=ids))
    return ids[0]


def _table_of(event: str) -> str:
    """The table in an event's id, such as ``bac-07/p31``."""
    return event.partition("/")[0]


def _words_of(daemon: Daemon, connection: Sequence[str]) -> list[str]:
    """The words that name this daemon, one of several; what else was said stays."""
    kept = connection[connection.index("--language") :][:2] if "--language" in connection else ()
    return ["--config", str(daemon.file), *kept]


def _show_every_status(
    daemons: Sequence[Daemon], connection: Sequence[str], words: Words, *, as_json: bool
) -> int:
    """Show how the tables of all daemons stand, also where one of them does not answer.

    Raises:
        ShoeCtlError: a daemon does not answer, or has a storage fault; the others are shown.
    """
    from shoe_ctl.terminal_text import printable, shortened

    errors: list[ShoeCtlError] = []
    shown = 0
    for daemon in daemons:
        named = connection if len(daemons) == 1 else _words_of(daemon, connection)
        try:
            with Wire(daemon.path, words) as wire:
                answer = wire.status(None)
            if shown and not as_json:
                click.echo()
            shown += 1
            _show_status(answer, named, words, as_json=as_json)
        except ShoeCtlError as error:
            errors.append(error)
    for each in errors[:-1]:
        click.echo(f"shoectl: {shortened(printable(str(each)))}", err=True)
    if errors:
        raise errors[-1]
    return 0


def _show_status(
    answer: dict[str, Any], connection: Sequence[str], words: Words, *, as_json: bool
) -> int:
    """Exit code 0; 3 while nothing can be stored, with what each table was at that moment."""
    from shoe_ctl.cli.common import is_terminal
    from shoe_ctl.cli.table_view import lines, show_on_terminal
    from shoe_ctl.terminal_text import printable

    position = answer.get("position")
    if as_json:
        _print_json(answer, words)
    for number, held in enumerate(answer["tables"] if not as_json else ()):
        if number:
            click.echo()
        if is_terminal():
            show_on_terminal(held, connection, position, words)
            continue
        for line in lines(held, connection, position, words):
            click.echo(line)
    wrong = [sink for sink in answer.get("sinks", ()) if sink.get("message")]
    for number, sink in enumerate(wrong if not as_json else ()):
        if not number:
            click.echo()
        click.echo(printable(words.text(sink["message"])))
    faults = (held["fault"]["message"] for held in answer["tables"] if held.get("fault"))
    if (fault := next(faults, None)) is not None:
        raise EnvironmentFault(words.text(fault))
    return 0


def _print_json(answer: dict[str, Any], words: Words) -> None:
    """The answer as one line; its texts in the language that was asked for."""
    import msgspec

    from shoe_ctl.texts.catalogue import with_texts

    translated = answer if words.language == "en" else with_texts(answer, words.language)
    click.echo(msgspec.json.encode(translated))


def _went(went: dict[str, Any], words: Words) -> list[str]:
    """Return how many events were taken, refused, or wait."""
    told = {
        "taken": words("taken", number=went["taken"]),
        "refused": words("refused", number=went["refused"]),
        "waiting": words("waiting", number=went["waiting"]),
    }
    return [text for how, text in told.items() if went[how]]


def _show_redelivered(answer: dict[str, Any], words: Words, *, as_json: bool) -> int:
    """Exit code 0: everything was taken; 1: something was refused again."""
    from shoe_ctl.errors import InputRefused

    if "redelivered" not in answer:
        raise InputRefused(refusal(answer, words))
    if as_json:
        _print_json(answer, words)
    sinks = answer["redelivered"]
    for went in sinks if not as_json else ():
        click.echo(words("redelivered", sink=went["sink"], told=words.join(_went(went, words))))
    if not (sinks or as_json):
        click.echo(words("nothing_parked"))
    if any(went["refused"] for went in sinks):
        raise InputRefused(words("rejected_again"))
    if any(went["waiting"] for went in sinks):
        raise EnvironmentFault(words("sink_offline"))
    return 0


def _show_resent(answer: dict[str, Any], words: Words, *, as_json: bool) -> int:
    """Exit code 0: everything was taken; 1: something was refused; 3: the sink is away."""
    from shoe_ctl.errors import InputRefused

    if "resent" not in answer:
        raise InputRefused(refusal(answer, words))
    went = answer["resent"]
    if as_json:
        _print_json(answer, words)
    else:
        sink, events, after = went["sink"], went["events"], went["after"]
        if told := words.join(_went(went, words)):
            click.echo(words("resent_how", sink=sink, events=events, after=after, told=told))
        else:
            click.echo(words("resent", sink=sink, events=events, after=after))
    if went["refused"]:
        raise InputRefused(words("rejected"))
    if went["waiting"]:
        raise EnvironmentFault(words("sink_offline"))
    return 0


def _print_events(wire: Wire, asked: dict[str, Any], words: Words, *, as_json: bool) -> int:
    """Print each event as it comes. It ends when the daemon does: exit code 3; 1: refused."""
    import msgspec

    from shoe_ctl.errors import InputRefused

    last = None
    for lines in wire.follow(asked):
        for line in lines:
            answer = msgspec.json.decode(line, type=dict[str, Any])
            if answer.get("accepted") is False:
                if as_json:
                    click.echo(line)
                raise InputRefused(refusal(answer, words))
            last = answer["id"]
            click.echo(line)
    if last is None:
        raise EnvironmentFault(words("hung_up", path=wire.path))
    raise EnvironmentFault(words("hung_up_after", path=wire.path, after=last))


def _show_answer(answer: dict[str, Any], words: Words, *, as_json: bool) -> None:
    if as_json:
        _print_json(answer, words)
    elif answer.get("accepted") is True:
        from shoe_ctl.cli.table_view import answer_lines, preview_lines

        shown = preview_lines if "preview" in answer else answer_lines
        for line in shown(answer, words):
            click.echo(line)
    else:
        todo = answer.get("message")
        said = [refusal(answer, words), *([] if todo is None else [words.text(todo)])]
        click.echo(f"shoectl: {words.join(said, 'clauses')}", err=True)


def _show_what_waits(
    answer: dict[str, Any], wire: Wire, table: str | None, connection: Sequence[str]
) -> None:
    """Show what the table waits for once a command is done, with what is typed next.

    A command given again has its first answer: the table may be far beyond it by now. Whatever
    becomes of the question, the command is done.
    """
    from shoe_ctl.cli.table_view import open_lines

    words, named = wire.words, str(answer.get("halted") or answer.get("asks"))
    try:
        told = wire.status(table)
        position = told["position"]
        lines = [
            x for held in told["tables"] for x in open_lines(held, connection, position, words)
        ]
    except ShoeCtlError:
        lines = [words("halted_for", key=named)]
    for line in lines or [words("was_decided", key=named)]:
        click.echo(line)
