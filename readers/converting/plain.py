"""Plain text as Markdown: the same words and lines, none of which is a mark."""

from __future__ import annotations

import textwrap

from readers.converting.converted import Converted, clean, escaped_line


def convert_text(text: str) -> Converted:
    """Plain text; what is indented throughout is moved to the left, so that it is not code."""
    return Converted("\n".join(map(escaped_line, textwrap.dedent(clean(text)).split("\n"))))
