"""``shoectl certify-consumer``: try a table system's receiver, and report what it holds.

In: the receiver's command line, a broker or none. Out: a line for each case, or one JSON object;
JUnit XML; exit 1 where a case failed. Must not know: what the cases are.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli.common import WholeNumber
from shoe_ctl.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    from shoe_ctl.sinks.mqtt_connection import Broker

_RECORDING = "irregular_shoe"
_WITHIN_S = 20
_MOST_WITHIN_S = 600


@click.command("certify-consumer")
@click.argument("receiver", nargs=-1, required=True)
@click.option(
    "--broker",
    "address",
    metavar="ADDRESS",
    help="A broker of yours: mqtt://HOST:PORT. Without it, mosquitto is started here.",
)
@click.option("--user", metavar="NAME", help="Log in to that broker as this user.")
@click.option("--password-file", metavar="FILE", help="A file with the password of that user.")
@click.option(
    "--within",
    "within_s",
    type=WholeNumber(1, _MOST_WITHIN_S),
    default=_WITHIN_S,
    show_default=True,
    metavar="SECONDS",
    help="The longest time that the receiver may take in a case.",
)
@click.option("--json", "shows_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", metavar="FILE", help="Also write JUnit XML to this file.")
@click.pass_context
def certify_consumer(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    receiver: tuple[str, ...],
    address: str | None,
    user: str | None,
    password_file: str | None,
    within_s: int,
    shows_json: bool,
    junit: str | None,
) -> None:
    """Try a receiver of events with all that can happen to them; report what it holds.

    RECEIVER is its command line. {host}, {port}, {url}, {user}, {sink} and {answer} in it are
    filled in. It subscribes to shoe/v1/+/public over MQTT 5 as the user {user}, asks for missing
    events by a resend of the sink {sink}, and keeps in the file {answer} what it holds.

    Events come twice, with gaps, late, under a new source; outcomes are revised or void; the
    broker is killed. The exit code is 1 if the receiver fails a case; further ones are not run.

    \b
    Example:
      shoectl certify-consumer -- ./receiver {url} {user} {sink} {answer}
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.certification import report
    from shoe_ctl.certification.cases import cases
    from shoe_ctl.certification.trial import Result, Trial
    from shoe_ctl.cli.recording import Recording
    from shoe_ctl.records import Audience

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.ERROR)
    broker: Broker | None = None
    if address is not None:
        broker = _broker(address, user, password_file)
    elif user is not None or password_file is not None:
        raise UsageError("--user and --password-file need --broker")
    recorded = [json.loads(each.body) for each in Recording(_RECORDING, Audience.PUBLIC)]

    def note(result: Result) -> None:
        if not shows_json:
            click.echo(report.line(result))

    with tempfile.TemporaryDirectory(prefix="certify-") as folder:
        trial = Trial(receiver, Path(folder), broker=broker, within_s=within_s)
        results = asyncio.run(trial.run(cases(recorded), note))
    click.echo(report.as_json(results) if shows_json else report.verdict_line(results))
    if junit is not None:
        try:
            Path(junit).write_text(report.as_junit(results), "utf-8")
        except OSError as error:
            raise EnvironmentFault(f"{junit}: {error.strerror}") from None
    ctx.exit(0 if report.has_passed(results) else 1)


def _broker(address: str, user: str | None, password_file: str | None) -> Broker:
    from shoe_ctl.config.sinks import broker_address
    from shoe_ctl.sinks.mqtt_connection import Broker, Login, read_files

    if (user is None) != (password_file is None):
        raise UsageError("--user and --password-file need each other: give both, or none")
    try:
        at = broker_address(address, "mqtt", "mqtts", (1883, 8883))
    except ValueError as error:
        raise UsageError(f"--broker: {error}") from None
    if at.tls:
        raise UsageError("--broker: expected mqtt://HOST:PORT: a trial uses no TLS")
    login = Login(user, None if password_file is None else Path(password_file))
    broker = Broker(at.host, at.port, login)
    read_files(broker)
    return broker
