"""What the page on scenarios says is so: its example comes out, its tables name what there is."""

from __future__ import annotations

import re

from shoe_testing.bench import play_in_process
from shoe_testing.paths import ROOT
from simulators.table.scenario import find, parse, shipped
from simulators.table.steps import HOST_DOES, NEEDS, REQUESTS, SHOE_DOES, VERBS, VERDICTS

PAGE = (ROOT / "docs" / "guides" / "scenarios.md").read_text("utf-8")


async def test_the_example_of_the_page_comes_out_as_it_says() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    scenario = parse(example.encode(), "scenarios.md", name="example")
    bench, stuck = await play_in_process(scenario)
    assert (stuck, scenario.differences(bench.public, bench.restricted)) == (None, None)


def test_the_page_names_every_step_and_every_value_that_one_takes() -> None:
    for word in VERBS:
        assert re.search(rf"`\{{{word} = ", PAGE), word
    around = [word for words in HOST_DOES.values() for word in words]
    for word in (*SHOE_DOES, *around, *REQUESTS, *VERDICTS, *NEEDS):
        assert re.search(rf"[`\"]{word}[`\"]", PAGE), word


def test_the_scenario_that_the_page_shows_is_shipped() -> None:
    for name in re.findall(r"--scenario ([a-z_]+)", PAGE):
        assert name in shipped()
    assert find("early_draw_set_aside").title in PAGE
