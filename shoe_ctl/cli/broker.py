"""``shoectl broker``: what the logins of a broker may do there.

In: a configuration, a file of logins. Out: a table of what holds and what leaks; exit 1 on a leak.
Must not know: how a right is tried.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli.common import COLUMNS
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.broker_rights.findings import Finding
    from shoe_ctl.broker_rights.logins import BrokerLogins
    from shoe_ctl.config.schema import Config

_INTERRUPTED = 130
_RESULT = 9
_MUST = 9


@click.group
def broker() -> None:
    """Check what logins may do at a broker.

    \b
    Example:
      shoectl broker check --config table.toml --logins logins.toml
    """  # noqa: D301 - click wants the very character


@broker.command
@click.option(
    "--config",
    required=True,
    metavar="FILE",
    help="The daemon's configuration: its sinks name the brokers.",
)
@click.option(
    "--logins", metavar="FILE", help="The other logins, and what each is for: [[login]] sections."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, config: str, logins: str | None, as_json: bool) -> None:
    """Log in to each broker as the daemon and as each of the LOGINS, and try what they may do.

    It tries what must work, and what must not: to read restricted events or answers to others, to
    publish events, to command another table, to touch the consumers of other readers, to delete a
    stream.

    It can run in a live hall. It makes only what it removes again, for a table with a random name
    that nobody serves. Over MQTT a reader of the events of all tables may get a message that says
    that it is no event. Nothing is kept of it.

    Run it as the daemon's user, who can read the daemon's password. The file of logins looks so:

    \b
      [[login]]
      user = "display"
      password_file = "display-password"
      reads = "public"             # or "restricted", or "nothing"
      commands = ["bac-07"]        # the tables that it commands, if any
      witness = true               # it reads checkpoints and cosigns them
      sink = "floor"               # where the sinks go to several brokers

    Exit code 0: everything holds; 1: something leaks, or does not work.

    \b
    Example:
      shoectl broker check --config table.toml --logins logins.toml
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.broker_rights.logins import brokers, read_logins
    from shoe_ctl.config.schema import load

    loaded = load(config)
    file = None if logins is None else Path(logins)
    found = brokers(loaded, () if file is None else read_logins(file), file)
    try:
        findings = asyncio.run(_findings(loaded, found))
    except KeyboardInterrupt:
        click.echo("interrupted: what was made is removed", err=True)
        raise click.exceptions.Exit(_INTERRUPTED) from None
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"findings": findings}))
    else:
        _show(findings, has_others=bool(logins))
    ctx.exit(1 if any(finding.is_wrong for finding in findings) else 0)


async def _findings(config: Config, brokers: Sequence[BrokerLogins]) -> list[Finding]:
    """Try each broker in turn.

    Raises:
        EnvironmentFault: one is away, or refuses the daemon's login.
    """
    from shoe_ctl.config.sinks import NatsConfig
    from shoe_ctl.sinks.mqtt_connection import ConnectionLost

    found: list[Finding] = []
    for each in brokers:
        try:
            is_nats = isinstance(each.sinks[0], NatsConfig)
            found += await (_at_nats(config, each) if is_nats else _at_mqtt(each))
        except (OSError, ConnectionLost) as error:
            raise EnvironmentFault(f"sink {each.name}: {error}") from None
    return found


async def _at_nats(config: Config, at: BrokerLogins) -> list[Finding]:
    import msgspec

    from shoe_ctl.broker_rights.nats_rights import NatsRights, streams_of
    from shoe_ctl.config.sinks import NatsConfig
    from shoe_ctl.daemon.nats_sinks import target_of
    from shoe_ctl.records import Audience
    from shoe_ctl.sinks.nats_connection import STREAMS

    sinks = [each for each in at.sinks if isinstance(each, NatsConfig)]
    names = STREAMS | {each.sees: target_of(config, each).stream for each in sinks}
    daemons = target_of(config, sinks[0])
    targets = [
        (
            login,
            msgspec.structs.replace(
                daemons,
                stream=names[Audience.PUBLIC],
                user=login.user,
                password_file=login.password_file,
                certificates=login.certificates,
            ),
        )
        for login in at.all
    ]
    return await NatsRights(at.name, targets).findings(
        streams_of(names, checkpoints=at.has_checkpoints)
    )


async def _at_mqtt(at: BrokerLogins) -> list[Finding]:
    from shoe_ctl.broker_rights.mqtt_rights import MqttRights
    from shoe_ctl.config.sinks import MqttConfig
    from shoe_ctl.sinks import mqtt_connection as mqtt

    sink = at.sinks[0]
    assert isinstance(sink, MqttConfig)
    where = sink.broker
    targets = [
        (
            login,
            mqtt.Broker(
                where.host,
                where.port,
                mqtt.Login(login.user, login.password_file),
                login.certificates,
            ),
        )
        for login in at.all
    ]
    return await MqttRights(at.name, targets, checkpoints=at.has_checkpoints).findings()


def _show(findings: Sequence[Finding], *, has_others: bool) -> None:
    before: tuple[str, str | None] | None = None
    for finding in findings:
        who = finding.sink, finding.user
        if who != before:
            if before is not None:
                click.echo()
            name = "without a user" if finding.user is None else f"user {finding.user}"
            click.echo(printable(f"sink {finding.sink}, {name}"))
            before = who
        _show_one(finding)
    wrong = sum(finding.is_wrong for finding in findings)
    click.echo()
    if not has_others:
        click.echo("only the daemon's own login was tried: give the others with --logins")
    click.echo(f"{wrong} of {len(findings)} leak or fail" if wrong else "everything holds")


def _show_one(finding: Finding) -> None:
    must = "must" if finding.must_work else "must not"
    result = finding.result.value
    shown = result.upper() if finding.is_wrong else result
    click.echo(f"  {shown:<{_RESULT}} {must:<{_MUST}} {finding.what}")
    if finding.detail:
        indent = " " * (_RESULT + 3)
        text = printable(finding.detail)
        click.echo(
            textwrap.fill(
                text,
                COLUMNS,
                initial_indent=indent,
                subsequent_indent=indent,
                break_on_hyphens=False,
            )
        )
