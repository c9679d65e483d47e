"""The configuration file: its form, and what each table is set up with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.config.resolve import TableSetup, warnings
    from shoe_ctl.config.schema import Config, TableConfig, load, parse
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Config": "schema",
            "TableConfig": "schema",
            "TableSetup": "resolve",
            "load": "schema",
            "parse": "schema",
            "warnings": "resolve",
        },
    )

__all__ = ["Config", "TableConfig", "TableSetup", "load", "parse", "warnings"]
