"""reStructuredText as Markdown, by docutils and then as HTML. Nothing that a text names is read."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.core import publish_parts
from docutils.parsers.rst import Directive, directives, roles

from readers.converting.converted import Converted, losses
from readers.converting.html import convert_html

SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "halt_level": 5,
    "report_level": 5,
    "syntax_highlight": "none",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "stylesheet": "",
    "math_output": "LaTeX",
    "line_length_limit": 100_000,
    "smart_quotes": False,
    "toc_backlinks": False,
    "section_self_link": False,
}
REFUSED = ("include", "raw", "csv-table", "literalinclude")
SILENT = ("toctree", "index", "highlight", "currentmodule", "module", "tabularcolumns", "only", "contents")
"""Directives of Sphinx that readers are not meant to see."""
NAMES = ("ref", "doc", "term", "numref", "abbr", "guilabel", "menuselection", "dfn", "index", "download")
"""Roles of Sphinx that are words; what others enclose is code."""

_TARGET = re.compile(r"(?P<text>.+?)\s*<[^<>]*>\s*\Z", re.DOTALL)


def convert_rst(text: str, *, source: str) -> Converted:
    """A text; roles of Sphinx become their words, directives that nobody knows their content.

    Files that it names (`include`, `raw`, `csv-table :file:`) are not read, and counted as left out.
    """
    _teach_sphinx()
    parts = publish_parts(text, writer="html5", settings_overrides=SETTINGS)
    page = convert_html(f"<body>{parts['html_body']}</body>", source=source)
    refused = len(re.findall(rf"^ *\.\. (?:{'|'.join(REFUSED)})::", text, re.MULTILINE))
    return Converted(
        page.text, title=parts["title"], left_out=(*page.left_out, *losses((refused, "included file")))
    )


def _teach_sphinx() -> None:
    """Let docutils read what Sphinx adds to it: the way by which Sphinx itself adds it."""
    if getattr(directives.directive, "lenient", False):
        return
    known_directive, known_role = directives.directive, roles.role

    def directive(name: str, language: Any, document: Any) -> Any:
        found, messages = known_directive(name, language, document)
        return (found, messages) if found else (_Unknown, [])

    def role(name: str, language: Any, line: int, reporter: Any) -> Any:
        found, messages = known_role(name, language, line, reporter)
        return (found, messages) if found else (_words, [])

    directive.lenient = True  # type: ignore[attr-defined]
    directives.directive, roles.role = directive, role


class _Unknown(Directive):  # type: ignore[misc]  # docutils has no types
    """A directive that docutils does not know: its argument as a paragraph, and what it encloses."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = None

    def run(self) -> list[nodes.Node]:
        if self.name in SILENT or self.name.startswith("auto"):
            return []
        if self.name in ("code-block", "sourcecode", "prompt", "parsed-literal"):
            return [nodes.literal_block(text="\n".join(self.content))]
        made: list[nodes.Node] = []
        title = self.name.rpartition(":")[2].replace("-", " ")
        if self.arguments and self.name not in REFUSED:
            is_version = title.startswith(("version", "deprecated"))
            words = f"{title}: {self.arguments[0]}" if is_version else self.arguments[0]
            made.append(nodes.paragraph("", words))
        box = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, box)
        return [*made, *box.children]


def _words(
    name: str,
    raw: str,  # noqa: ARG001 - docutils' own signature
    text: str,
    *_: Any,
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """The words of a role: its title where it has one, else its target."""
    titled = _TARGET.match(text)
    kind = nodes.inline if titled or name.lower() in NAMES else nodes.literal
    return [kind("", "", nodes.Text(titled["text"] if titled else text.lstrip("~!")))], []
