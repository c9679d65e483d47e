"""``python -m simulators``: a simulated shoe as the child of another program.

In: the options of ``shoe-sim serve``, and a stdin whose end ends it. Out: on stdout one line of
JSON once the port is open, with a scenario one for each act as well. Must not know: who its parent
is.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulators.cli import run, scenario_run, server_settings, shoe_options

if TYPE_CHECKING:
    from simulators.scenario_runner import ScenarioRun
    from simulators.server import Server

_PATIENCE_S = 60.0
"""A parent starts its daemon at once; on a machine that has stalled even that takes long."""


def _list_scenarios(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Every shipped scenario's name and title, a JSON object a line; nothing is served."""
    if asked:
        from simulators.table.scenario import find, shipped

        for name in shipped():
            click.echo(json.dumps({"name": name, "title": find(name).title}))
        ctx.exit()


@click.command()
@click.option(
    "--scenarios", is_flag=True, is_eager=True, expose_value=False, callback=_list_scenarios
)
@click.option(
    "--time",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file in which the daemon reads how much time has passed in the scenario.",
)
@shoe_options
def child(time: Path | None, **options: Any) -> int:
    """Serve a simulated shoe until stdin ends; the first line on stdout is JSON with its port."""
    from simulators.server import serve

    if options["scenario"] is not None:
        return _play(replace(scenario_run(options, patience_s=_PATIENCE_S), time=time))
    settings = server_settings(options)

    def tell(serving: Server) -> None:
        line = {
            "port": serving.address,
            "seed": settings.seed,
            "pid": os.getpid(),
            "profile": settings.profile,
            "device_id": serving.device_id,
            **_attachment(serving),
        }
        click.echo(json.dumps(line))

    return serve(settings, opened=tell, until_stdin_ends=True)


def _attachment(serving: Server) -> dict[str, object]:
    """Return what a host has to attach, where it has to."""
    return {} if serving.attachment is None else {"attach": asdict(serving.attachment)}


def _play(scene: ScenarioRun) -> int:
    """Play a scenario: its table first, then ``note``, ``host`` and at last ``end`` lines."""
    from simulators.scenario_runner import Progress, run_scenario
    from simulators.table.scenario import configured, second_persons

    def say(**line: object) -> None:
        click.echo(json.dumps(line))

    def opened(serving: Server) -> None:
        say(
            port=serving.address,
            pid=os.getpid(),
            device_id=serving.device_id,
            title=scene.scenario.title,
            table=configured(scene.scenario, serving.address),
            people=second_persons(scene.scenario),
            passes_time=scene.scenario.passes_time,
            **_attachment(serving),
        )

    progress = Progress(
        opened=opened,
        note=lambda words: say(note=words),
        host=lambda what, part: say(host=what, part=part),
        ended=lambda wrong: say(end=wrong),
    )
    return run_scenario(scene, progress, until_stdin_ends=True)


if __name__ == "__main__":
    sys.exit(run(child, "python -m simulators"))
