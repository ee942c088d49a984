"""How much a new backend has to write."""

from __future__ import annotations

import ast
import inspect

from pipeline.stores import base, rows

PROTOCOLS = (base.DocumentStore, base.Writing, rows.Rows)


def methods(protocol: type) -> list[str]:
    """The names of a protocol's methods that have a docstring alone; properties name other protocols."""
    (found,) = ast.parse(inspect.getsource(protocol)).body
    assert isinstance(found, ast.ClassDef)
    functions = [node for node in found.body if isinstance(node, ast.FunctionDef)]
    return [
        node.name
        for node in functions
        if not node.decorator_list and len(node.body) == 1 and ast.get_docstring(node)
    ]


def test_a_backend_writes_16_methods() -> None:
    assert [len(methods(protocol)) for protocol in PROTOCOLS] == [10, 2, 4]
