"""``shoectl schema``: print the schemas of the events, or the texts of the messages.

In: the name of a type, or none. Out: one JSON document.
Must not know: how events come about.
"""

from __future__ import annotations

import json

import click

from firmware_proto.suggestion import nearest_name
from shoe_ctl.api import schema as requests
from shoe_ctl.errors import UsageError
from shoe_ctl.events import schema as documents
from shoe_ctl.events.catalog import EVENTS
from shoe_ctl.texts.catalogue import LANGUAGES


@click.command()
@click.argument("event_type", metavar="[TYPE]", required=False)
@click.option("as_asyncapi", "--asyncapi", is_flag=True, help="Print the AsyncAPI 3 document.")
@click.option(
    "of_requests",
    "--requests",
    is_flag=True,
    help="Print the JSON Schema of requests, answers and the status.",
)
@click.option(
    "language",
    "--messages",
    type=click.Choice(list(LANGUAGES)),
    help="Print the texts of all messages in this language.",
)
def schema(
    event_type: str | None, as_asyncapi: bool, of_requests: bool, language: str | None
) -> None:
    """Print the JSON Schema of the events.

    The document (JSON Schema 2020-12) describes whole events, with their envelope: every type, or
    the one that is named. Each type has a definition for the public stream and one for the
    restricted stream. With --asyncapi the same schemas stand in an AsyncAPI 3 document, with the
    state, the commands and their answers, the servers and the logins. With --requests those of
    commands and other requests are printed, of their answers, and of a table's status. With
    --messages the texts of all codes are printed with the kinds of their arguments, for programs
    that show events to people.

    \b
    Examples:
      shoectl schema > events.json
      shoectl schema round.outcome
      shoectl schema --asyncapi > asyncapi.json
      shoectl schema --requests > requests.json
      shoectl schema --messages zh
    """  # noqa: D301 - click wants the very character
    if sum((event_type is not None, as_asyncapi, of_requests, language is not None)) > 1:
        raise click.UsageError("Give one of TYPE, --asyncapi, --requests and --messages")
    if language is not None:
        document = documents.messages(language)
    elif of_requests:
        document = requests.json_schema()
    elif as_asyncapi:
        every = requests.schemas("#/components/schemas/")
        ways_in = documents.WaysIn(every.definitions, every.requests, every.answers, every.state)
        document = documents.asyncapi(ways_in)
    else:
        document = documents.json_schema(None if event_type is None else [_known(event_type)])
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _known(name: str) -> str:
    """Return the name of a type.

    Raises:
        UsageError: there is no such type.
    """
    if name in EVENTS:
        return name
    near = nearest_name(name, EVENTS)
    hint = f"did you mean {near}?" if near else "list them with: shoectl schema"
    raise UsageError(f"no event type {name}; {hint}")
