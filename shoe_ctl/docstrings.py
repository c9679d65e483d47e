"""The docstrings below the fields of a class, which Python itself does not keep.

In: a class. Out: texts by field. Must not know: any particular class.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping
from itertools import pairwise
from types import ModuleType


def field_docstrings(of: type) -> Mapping[str, str]:
    """Return the docstring below each annotated field of a class and of its bases, in one line."""
    found: dict[str, str] = {}
    for each in reversed(of.__mro__):
        if getattr(each, "__annotations__", None) and each.__module__ != "builtins":
            found |= _own(each)
    return found


def _own(of: type) -> dict[str, str]:
    module = inspect.getmodule(of)
    assert module is not None
    body = _classes(module)[of.__qualname__].body
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = getattr(getattr(below, "value", None), "value", None)
            if isinstance(text, str):
                found[field.target.id] = " ".join(text.split())
    return found


@functools.cache
def _classes(module: ModuleType) -> Mapping[str, ast.ClassDef]:
    """Return the classes of a module by their qualified names; its source is parsed once."""
    found: dict[str, ast.ClassDef] = {}
    below: list[tuple[str, ast.AST]] = [("", ast.parse(inspect.getsource(module)))]
    while below:
        prefix, node = below.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found[prefix + child.name] = child
                below.append((f"{prefix}{child.name}.", child))
            elif isinstance(child, ast.FunctionDef):
                below.append((f"{prefix}{child.name}.<locals>.", child))
    return found
