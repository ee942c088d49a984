"""How much a new backend has to write."""

from __future__ import annotations

import ast
import inspect

import pytest

from pipeline.stores import base, rows

PROTOCOLS = {
    base.SectionStore: 4,
    base.SentenceIndex: 4,
    base.Writing: 2,
    base.DocumentStore: 2,
    rows.Rows: 7,
}
"""The protocols of a store, with the methods that a backend writes: those without a body."""


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


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_a_backend_writes_these_methods(protocol: type) -> None:
    assert len(methods(protocol)) == PROTOCOLS[protocol], methods(protocol)


def test_a_backend_writes_25_methods_at_most() -> None:
    assert sum(len(methods(protocol)) for protocol in PROTOCOLS) <= 25
