"""A quoted span as a tree, as turns without units show it: rows under their header, code as code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pipeline.answer import Citation
from pipeline.answering.excerpts import in_code, readers_quote, table_header, text_before
from ui.shared.markdown_tree import Tree, markdown_tree, tree_text
from ui.shared.words import one_line

View = dict[str, Any]  # what the component gets: JSON only

BULLET = re.compile(r"^\s*[-*+]\s+")


def breadcrumb(citation: Citation) -> str:
    """Where a citation stands, in one line."""
    return " › ".join([citation.file, *citation.heading_path])


def in_words(citation: Citation) -> str:
    """A quote on one line, without the marks of Markdown."""
    return one_line(tree_text(quote_tree(citation)))


def quote_groups(citations: Sequence[Citation]) -> list[View]:
    """Quotes without units, under the section that they come from, in reading order within it."""

    def section(citation: Citation) -> tuple[str, tuple[str, ...]]:
        return citation.file, citation.heading_path

    order = {key: position for position, key in reversed(list(enumerate(map(section, citations))))}
    ranked = sorted(citations, key=lambda c: (order[section(c)], c.start))
    return [
        {
            "source": source,
            "path": list(path),
            "quotes": [{"marker": c.marker, "tree": quote_tree(c), "whole": []} for c in found],
        }
        for (source, path), found in ((key, list(group)) for key, group in groupby(ranked, key=section))
    ]


def quote_tree(citation: Citation) -> Tree:
    """A quote as it stands in its section: rows under their header, code as code, a list item's text."""
    before = text_before(citation, citation.start)
    quote = readers_quote(citation)
    if in_code(before):
        return markdown_tree(f"```\n{quote}")
    header = table_header(before)
    if header and "|" in quote.split("\n", 1)[0]:
        return markdown_tree(f"{header}\n{quote}")
    alone = "\n" not in quote.strip()
    text = BULLET.sub("", quote) if alone else quote
    return markdown_tree(text) or [{"t": "p", "c": [text]}]
