"""Converted documents as pages show them: what they were made from, in words, and the text without that."""

from __future__ import annotations

from collections.abc import Sequence

from readers.converting.converted import conversion_of
from ui.shared.markdown_tree import Span, Tree, markdown_tree


def converted_from(text: str) -> str:
    """What a document was converted from and what was lost, in words; "" for Markdown from the beginning."""
    made = conversion_of(text)
    return f"Converted from {made.summary}" if made else ""


def document_tree(text: str, *, spans: Sequence[Span] = ()) -> Tree:
    """The tree of a document, without the front matter that its conversion wrote."""
    tree = markdown_tree(text, spans=spans)
    if conversion_of(text) is None:
        return tree
    return [node for node in tree if isinstance(node, str) or node.get("k") != "front-matter"]
