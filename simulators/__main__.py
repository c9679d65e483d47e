"""``python -m simulators``: a simulated shoe as the child of another program.

In: the options of ``shoe-sim serve``, and a stdin whose end ends it. Out: on stdout one line of
JSON once the port is open. Must not know: who its parent is.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from simulators.cli import choices_of, run, shoe_options

if TYPE_CHECKING:
    from simulators.serving import Serving


@click.command()
@shoe_options
def child(**options: Any) -> int:
    """Serve a simulated shoe until stdin ends; the first line on stdout is JSON with its port."""
    from simulators.serving import serve

    choices = choices_of(options)

    def tell(serving: Serving) -> None:
        line = {
            "port": serving.address,
            "seed": choices.seed,
            "pid": os.getpid(),
            "profile": choices.profile,
            "device_id": serving.device_id,
        }
        click.echo(json.dumps(line))

    return serve(choices, opened=tell, until_stdin_ends=True)


if __name__ == "__main__":
    sys.exit(run(child, "python -m simulators"))
