"""``shoe-sim ctl``: change a served shoe from the command line, a change a command.

In: a socket, a change, its arguments. Out: what happened, in words or as JSON; exit codes.
Must not know: how a change is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firmware_proto.suggestion import nearest_name
from simulators.errors import WrongUsage

if TYPE_CHECKING:
    from simulators.arguments import Argument
    from simulators.control.client import Changed

_AT = "The socket that shoe-sim serve --control PATH serves."
_JSON = "Print what happened as JSON."


class _ArgumentOption(click.Option):
    """An argument of a change as an option: ``--number 3`` for ``number=3``."""

    def __init__(self, name: str, argument: Argument) -> None:
        self.argument = argument
        self.argument_name = name
        super().__init__([f"--{name.replace('_', '-')}", f"argument_{name}"], metavar="VALUE")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:  # noqa: ARG002
        one = self.argument
        default = "" if one.default in (None, False) else f"  [default: {one.default}]"
        needed = "  [required]" if one.required else ""
        return f"{self.argument_name}=...", f"{one.about}: {one.expected}{default}{needed}"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        incomplete: str,
    ) -> list[click.shell_completion.CompletionItem]:
        return [
            click.shell_completion.CompletionItem(word)
            for word in getattr(self.argument, "words", ())
            if word.startswith(incomplete)
        ]


class _Words(click.Argument):
    """Arguments as words; each is described where it stands as an option."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:  # type: ignore[override]  # noqa: ARG002
        return None


class _Change(click.Command):
    """One change, with a page for itself."""

    def __init__(self, name: str) -> None:
        from simulators.control.changes import CHANGES

        change = CHANGES[name]
        typed = " ".join(("shoe-sim ctl", name, *change.example.split(), "--at shoe.ctl"))
        words = _Words(["words"], nargs=-1, metavar="[NAME=VALUE]...", shell_complete=_complete)
        arguments = [_ArgumentOption(*pair) for pair in change.arguments.items()]
        super().__init__(
            name,
            callback=_run,
            params=[*([words] if arguments else []), *arguments, *_options(hidden=True)],
            help=f"{change.about}\n\n\b\nExample:\n  {typed}",
            short_help=change.about,
        )


def _options(*, hidden: bool = False) -> list[click.Parameter]:
    """Return the options that may stand before a change and behind it; the help has them once."""
    path = click.Path(path_type=Path)
    return [
        click.Option(["--at"], metavar="SOCKET", type=path, help=_AT, hidden=hidden),
        click.Option(["--json", "as_json"], is_flag=True, help=_JSON, hidden=hidden),
    ]


class _Group(click.Group):
    """The changes. Each is looked up when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        from simulators.control.changes import CHANGES

        return list(CHANGES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _Change(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = nearest_name(name, self.list_commands(ctx))
            meant = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such change {name[:64]!r}.{meant}")
        return super().resolve_command(ctx, args)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return how a word goes on: an argument's name, or one of its values."""
    from simulators.control.changes import CHANGES

    typed = {str(word).partition("=")[0] for word in ctx.params.get(str(param.name)) or ()}
    return [
        offered
        for name, argument in CHANGES[str(ctx.info_name)].arguments.items()
        if name not in typed
        for offered in _offered(name, argument)
        if offered.startswith(incomplete)
    ]


def _offered(name: str, argument: Argument) -> Iterator[str]:
    words = getattr(argument, "words", None)
    if words is None:
        yield f"{name}="
    else:
        yield from (f"{name}={word}" for word in words)


def _run(at: Path | None, as_json: bool, words: tuple[str, ...] = (), **options: str | None) -> int:
    from simulators.control.client import ShoeControl
    from simulators.control.server import read_change
    from simulators.table.fields import Wrong

    context = click.get_current_context()
    name = str(context.info_name)
    group = context.parent.params if context.parent is not None else {}
    at = group.get("at") if at is None else at
    if at is None:
        raise click.UsageError("--at is missing: give the socket of shoe-sim serve --control")
    given = _given(name, words, options)
    try:
        read_change(name, given)
    except Wrong as wrong:
        raise WrongUsage(str(wrong)) from None
    with ShoeControl(at) as shoe:
        changed = shoe.change(name, **given)
    if as_json or group.get("as_json"):
        click.echo(json.dumps(_plain(changed)))
    else:
        for line in _in_words(changed):
            click.echo(line)
    return 0


def _given(name: str, words: tuple[str, ...], options: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the arguments that were given, as words or as options.

    Raises:
        WrongUsage: a word that is no argument, or one that is given twice.
    """
    from simulators.control.changes import CHANGES

    known = CHANGES[name].arguments
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not equals:
            raise WrongUsage(f"{name}: expected NAME=VALUE, not {key!r}")
    texts = [(key, text) for key, _, text in pairs]
    texts += [
        (option.removeprefix("argument_"), text)
        for option, text in options.items()
        if text is not None
    ]
    given: dict[str, Any] = {}
    for key, text in texts:
        if key in given:
            raise WrongUsage(f"{name}.{key}: it is given twice")
        given[key] = known[key].of_text(text) if key in known else text
    return given


def _plain(changed: Changed) -> dict[str, Any]:
    return {key: getattr(changed, key) for key in changed.__dataclass_fields__}


def _in_words(changed: Changed) -> Iterator[str]:
    """Yield what happened, what the shoe reported of it, and how it stands."""
    yield f"done: {changed.did}{_pairs(changed.arguments)} at {changed.time}"
    if changed.cards:
        yield f"cards       {' '.join(changed.cards)}"
    for event in changed.reported:
        rest = {key: value for key, value in event.items() if key != "type"}
        yield f"reported    {event['type']}{_pairs(rest)}"
    yield f"shoe        {', '.join(_state(changed.shoe))}"


def _state(shoe: Mapping[str, Any]) -> Iterator[str]:
    yield "plugged in" if shoe["plugged"] else "unplugged"
    yield "with power" if shoe["powered"] else "without power"
    yield "a host" if shoe["host"] else "no host"
    yield f"{shoe['drawn']} card{'' if shoe['drawn'] == 1 else 's'} drawn"
    yield from (word for word in ("frozen", "jammed", "resting") if shoe[word])
    if shoe["locked_by_key"]:
        yield "locked by its key"
    if count := shoe.get("unacknowledged"):
        yield f"{count} event{'' if count == 1 else 's'} not acknowledged"
    if shoe["fault"]:
        yield f"faults of the line{_pairs(shoe['fault'])} (seed {shoe['seed']})"


def _pairs(values: Mapping[str, Any]) -> str:
    return "".join(
        f" {key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in values.items()
    )


@click.group(
    cls=_Group,
    params=_options(),
    subcommand_metavar="CHANGE [NAME=VALUE]...",
    short_help="Change a shoe while it is served.",
)
def ctl(**_: object) -> None:
    """Change a shoe while shoe-sim serve serves it: pull its plug, jam it, spoil its line.

    Each change returns once it has happened and prints what happened, what the shoe reported of it
    and how the shoe stands. Exit code 1: it cannot be made as the shoe stands.

    \b
    Examples:
      shoe-sim serve --profile reference --port pty:shoe --control shoe.ctl
      shoe-sim ctl --at shoe.ctl unplug
      shoe-sim ctl --at shoe.ctl fault drop=0.1 flip=0.01
      shoe-sim ctl --at shoe.ctl wait until=drawn count=4

    Arguments are written NAME=VALUE or --NAME VALUE. Each change has a help page with its
    arguments: shoe-sim ctl fault --help
    """  # noqa: D301 - click wants the very character
