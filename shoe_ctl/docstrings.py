"""The docstrings below the fields of a class, which Python itself does not keep.

In: a class. Out: texts by field. Must not know: any particular class.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping


def field_docstrings(of: type) -> Mapping[str, str]:
    """Return the docstring below each annotated field of a class and of its bases, in one line."""
    found: dict[str, str] = {}
    for each in reversed(of.__mro__):
        if getattr(each, "__annotations__", None) and each.__module__ != "builtins":
            found |= _own(each)
    return found


def _own(of: type) -> dict[str, str]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = getattr(getattr(below, "value", None), "value", None)
            if isinstance(text, str):
                found[field.target.id] = " ".join(text.split())
    return found
