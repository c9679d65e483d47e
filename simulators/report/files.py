"""Write reports: an HTML page, its data, JUnit XML.

In: reports, paths. Out: files. Must not know: what stands in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from simulators.report.junit import junit_xml
from simulators.report.observations import RunReport, to_json, write
from simulators.report.options import DATA
from simulators.report.page import page


def write_reports(reports: Sequence[RunReport], *, report: Path | None, junit: Path | None) -> None:
    """Write what is asked for about these playings; data is of the first.

    Raises:
        simulators.errors.PortFault: a file cannot be written.
    """
    if report is not None:
        if report.suffix != DATA:
            write(report, page(reports, now=datetime.now(timezone.utc)))
        else:
            write(report, to_json(reports[0]))
    if junit is not None:
        write(junit, junit_xml(reports))
