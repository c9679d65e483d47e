"""Generates the reference pages that follow from the code.

``make docs`` writes them, and a test compares the committed pages with what this module returns.
In: the click commands, the configuration's types, the table's commands, the errors. Out: Markdown.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.inspect import Field, LiteralType, Type, UnionType, type_info

from shoe_ctl.docstrings import field_docstrings

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

_MADE = "<!-- Generated from the code: change the code, then run `make docs`. -->"

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"*\[])")


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", _MADE, *(part.strip("\n") for part in parts if part)]) + "\n"


def _sentences(text: str) -> str:
    """Return a paragraph with one sentence a line."""
    return _SENTENCE.sub("\n", " ".join(text.split()))


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in escaped)


# The command line.


def cli() -> str:
    """Return the page on the commands of ``shoectl`` and ``shoe-sim`` with their options."""
    from shoe_ctl.cli.main import shoectl
    from simulators.cli import cli as shoe_sim

    return _page(
        "Command line",
        "Two programs: `shoectl` for tables, `shoe-sim` for simulated shoes.\n"
        "`--help` behind any command shows the same text.\n"
        "All commands share their [exit codes](exit-codes.md).\n"
        "Results go to standard output, everything else to standard error.\n"
        "A table begins with a header line, on a terminal and in a pipe.\n"
        "For programs there are `--json` and `--csv`: the text may change with any version.",
        *_commands(shoectl, "shoectl"),
        *_commands(shoe_sim, "shoe-sim"),
    )


def _commands(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, help_option_names=["-h", "--help"])
    yield f"## `{name}`"
    yield f"```text\n{command.get_usage(context)}\n```"
    yield _description(command.help or "")
    yield _options(command, context)
    if name == "shoectl table":
        yield "Each command of a table has its section in [Commands of a table](commands.md)."
    elif isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None and not found.hidden:
                yield from _commands(found, f"{name} {each}")


_TYPED = ("shoectl ", "shoe-sim ", "echo ")


def _description(text: str) -> str:
    """Return a help text as Markdown: its paragraphs, and its examples as code."""
    parts: list[str] = []
    plain = inspect.cleandoc(text).replace("\b", "").replace("\f", "")
    for paragraph in re.split(r"\n\s*\n", plain):
        shown = re.sub(r"^\s*Examples?:", "", paragraph)
        lines = [line.strip() for line in shown.splitlines() if line.strip()]
        if shown != paragraph or all(line.startswith(_TYPED) for line in lines):
            code = "\n".join(lines)
            parts += [f"```sh\n{code}\n```"] if lines else []
        else:
            parts.append(_sentences(paragraph))
    return "\n\n".join(parts)


def _options(command: click.Command, context: click.Context) -> str:
    records = (param.get_help_record(context) for param in command.get_params(context))
    rows = [(f"`{name}`", " ".join(text.split())) for name, text in filter(None, records)]
    return _table(("option", "meaning"), rows) if rows else ""


# The configuration file.

_ENDLESS = 10**9
"""Numbers up to this or more are shown without their highest value."""

_NOT_IN_THE_FILE = {"folder", "file"}


def configuration() -> str:
    """Return the page on the keys of the configuration file."""
    from shoe_ctl.config import schema, sinks
    from shoe_ctl.table.wagers.limits import TableLimits, WagerLimits
    from shoe_ctl.table.wagers.money import Currency

    sections: tuple[tuple[str, type[msgspec.Struct], str], ...] = (
        ("Sections", schema.Config, ""),
        ("`[[table]]`", schema.TableConfig, "One section for each table."),
        ("`[table.method_b]`", schema.MethodBConfig, ""),
        ("`[table.limits]`", TableLimits, "[Wagers](../guides/wagers.md) explains each limit."),
        ("`[table.limits.wagers.NAME]`", WagerLimits, ""),
        ("`currency` in `[table.limits]`", Currency, ""),
        ("`[table.shoe]`", schema.ShoeConfig, "See [ports](../guides/ports.md)."),
        ("`[journal]`", schema.JournalConfig, ""),
        ('`[[sink]]`, `kind = "jsonl"`', sinks.JsonlConfig, "One section for each sink."),
        (
            '`[[sink]]`, `kind = "mqtt"`',
            sinks.MqttConfig,
            "See [publish over MQTT](../guides/mqtt.md).",
        ),
        (
            '`[[sink]]`, `kind = "nats"`',
            sinks.NatsConfig,
            "See [publish over NATS JetStream](../guides/nats.md).",
        ),
        ("`[sink.tls]`", sinks.TlsConfig, ""),
        ("`[[sink.sender]]`", sinks.Sender, "One section for each."),
        ("`[socket]`", schema.SocketConfig, "See [the socket](socket.md)."),
        ("`[[socket.user]]`", schema.SocketUser, "One section for each user."),
    )
    return _page(
        "Configuration keys",
        "Every key of the configuration file, with its values and its default.\n"
        "[Configure](../guides/configure.md) explains them with an example.\n"
        "`shoectl run` checks every key before it opens anything.\n"
        "A relative path starts at the folder of the configuration file.",
        *(_section(*section) for section in sections),
    )


def _section(title: str, struct: type[msgspec.Struct], more: str) -> str:
    meanings = descriptions(struct)
    about = (struct.__doc__ or "").partition("\n\n")[0].replace("``", "`")
    info = type_info(struct)
    assert isinstance(info, msgspec.inspect.StructType)
    rows = [("`kind`", f'`"{info.tag}"`', "required", "The kind of sink.")] if info.tag else []
    rows += [
        (f"`{f.encode_name}`", _values(f.type), _default(f), meanings[f.name])
        for f in info.fields
        if f.encode_name not in _NOT_IN_THE_FILE
    ]
    table = _table(("key", "values", "default", "meaning"), rows)
    return "\n\n".join(filter(None, [f"## {title}", _sentences(f"{about} {more}"), table]))


def descriptions(struct: type) -> Mapping[str, str]:
    """Return the docstring below each field of a struct, in one line.

    Raises:
        KeyError: a field has none.
    """
    found = {
        name: re.sub(r"[.;] (None|[Uu]nset): ", ". Without it, ", text.replace("``", "`"))
        for name, text in field_docstrings(struct).items()
    }
    missing = [name for name in struct.__struct_fields__ if name not in found]  # type: ignore[attr-defined]
    if missing:
        raise KeyError(f"{struct.__name__}: no docstring below {', '.join(missing)}")
    return found


def _values(kind: Type) -> str:
    i = msgspec.inspect
    match kind:
        case LiteralType():
            return ", ".join(f'`"{value}"`' for value in kind.values)
        case UnionType():
            some = (one for one in kind.types if not isinstance(one, i.NoneType))
            return " or ".join(_values(one) for one in some)
        case i.IntType():
            return _number(kind.ge, kind.le)
        case i.ListType() | i.VarTupleType():
            return f"list of {_values(kind.item_type)}"
    return _PLAIN.get(type(kind), "any")


_PLAIN = {
    msgspec.inspect.BoolType: "`true`, `false`",
    msgspec.inspect.StrType: "text",
    msgspec.inspect.DictType: "section",
    msgspec.inspect.StructType: "section",
}


def _number(low: int | None, high: int | None) -> str:
    if low is not None and high is not None and high < _ENDLESS:
        return f"{low:,} to {high:,}"
    return "number" if low is None else f"{low:,} or more"


def _default(field: Field) -> str:
    if field.required:
        return "required"
    value: Any = field.default
    if value is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT:
        return "-"  # it may be unset
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    if value is None or isinstance(value, msgspec.Struct) or value in ([], {}):
        return "-"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


# The commands of a table.


def commands() -> str:
    """Return the page on the commands that a table takes."""
    from shoe_ctl.cli import table_pages as pages

    parts: list[str] = []
    for situation in pages.SITUATIONS:
        parts.append(f"## {situation}")
        names = [name for name, page in pages.PAGES.items() if page.situation == situation]
        parts += [_command(name) for name in names]
    return _page(
        "Commands of a table",
        "Staff and table systems give these commands, through `shoectl table` or at the "
        "[socket](socket.md).\n"
        "A higher position may do what a lower one may (6.2).\n"
        "A command that is refused changes nothing.",
        *parts,
        "## What can be declared",
        "`declare key=KEY`, with these arguments and the lowest position.",
        _table(
            ("key", "arguments and position"),
            [(f"`{line.name}`", line.text) for line in pages.declared()],
        ),
        "## What can be decided",
        "`decide choice=CHOICE`, by the irregularity that is open, with the arguments and the "
        "lowest position of each choice.\n"
        "The status shows which choices a table offers now.",
        _choices(),
    )


def _command(name: str) -> str:
    from shoe_ctl.cli import table_pages as pages

    page = pages.PAGES[name]
    rows: list[tuple[str, ...]] = []
    if name not in pages.REQUESTS:
        rows = [
            ("position", pages.given_by(name)),
            ("states", pages.taken_in(name)),
            ("rule", pages.rules(name)),
        ]
        rows += [(what, text) for what, text in _conditions(name) if text]
    rows += [(f"`{line.name}`", line.text) for line in pages.arguments(name)]
    return "\n\n".join(
        filter(
            None,
            [
                f"### `{name}`",
                _sentences(f"{page.summary} {page.more}"),
                f"```sh\n{' '.join(f'shoectl table {name} {page.example}'.split())}\n```",
                _table(("", ""), rows) if rows else "",
            ],
        )
    )


def _conditions(name: str) -> Iterator[tuple[str, str]]:
    from shoe_ctl.table.commands import COMMANDS

    command = COMMANDS.get(name)
    if command is None:
        return
    if command.reason is not None:
        yield "reason", "required"
    elif command.discretion is not None:
        yield "reason", "required in games whose rules want a reason for discretion"
    if command.consent:
        yield "second person", "must consent"


def _choices() -> str:
    from shoe_ctl.cli import table_pages as pages

    parts: list[str] = []
    for line in pages.choices():
        each = "\n".join(f"* `{choice.partition(' ')[0]}` {choice.partition(' ')[2]}".rstrip()
                         for choice in line.text.split("; "))  # fmt: skip
        parts.append(f"### `{line.name}`\n\n{each}")
    return "\n\n".join(parts)


# Events.


def events() -> str:
    """Return the page on the events."""
    from tools import events_page

    return _page(events_page.TITLE, events_page.body(_table))


# Exit codes.


def exit_codes() -> str:
    """Return the page on the exit codes."""
    from shoe_ctl import errors

    kinds = [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.ShoeCtlError)
    ]
    rows = []
    for code, meaning in errors.EXIT_CODES.items():
        raised = [
            f"`{kind.__name__}`"
            for kind in kinds
            if kind.exit_code == code and kind is not errors.ShoeCtlError
        ]
        rows.append((f"{code}", meaning, ", ".join(raised) or "-"))
    return _page(
        "Exit codes",
        "Every command of `shoectl` and `shoe-sim` ends with one of these codes.\n"
        "An error is one line on standard error, never a traceback.\n"
        "The line names what failed and, where there is one, the next thing to do.",
        _table(("code", "meaning", "errors in `shoe_ctl/errors.py`"), rows),
        "What 1 means, command by command:",
        _table(
            ("command", "exit code 1"),
            [
                (
                    "`demo --scenario`, `shoe-sim serve --scenario`, `shoe-sim run`",
                    "the events are not as expected",
                ),
                ("`doctor`", "at least one port has a problem"),
                ("`games --check`", "the game file is wrong"),
                ("`replay`", "something differs from the record, or a key is missing"),
                ("`shoe-sim record`", "the scenario does not play as it was recorded"),
                ("`settle`", "at least one round could not be settled"),
                (
                    "`shoe-sim ctl`",
                    "the shoe cannot do that now, or its protocol has no message for it",
                ),
                (
                    "`shoe-sim floor`",
                    "no card was measured, one was not acknowledged, or a table never connected or "
                    "was never armed",
                ),
                ("`table`", "the table refused the command; the line says what it needs"),
                ("`verify`", "the journal is not what was written"),
            ],
        ),
        "The daemon under systemd: codes 1 and 2 leave the unit *failed*, because only a person "
        "can correct the file.\n"
        "After code 3 systemd starts it again.",
    )


PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli,
    "commands.md": commands,
    "configuration.md": configuration,
    "events.md": events,
    "exit-codes.md": exit_codes,
}
"""Every generated page, by its file's name in ``reference/``."""


def main() -> int:
    """Write every page."""
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), "utf-8")
        sys.stdout.write(f"docs/reference/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
