"""reStructuredText as HTML, by docutils; files that a page names are not read."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.core import publish_parts
from docutils.parsers.rst import Directive, directives, roles

SETTINGS = {
    "_disable_config": True, "file_insertion_enabled": False, "raw_enabled": False, "halt_level": 5,
    "report_level": 5, "syntax_highlight": "none", "doctitle_xform": False, "initial_header_level": 1,
}  # fmt: skip
ROLES = "ref doc term numref abbr func class meth mod attr data exc option envvar guilabel menuselection kbd"
DIRECTIVES = "versionadded versionchanged deprecated seealso glossary"


def as_html(text: str) -> bytes:
    """The body of a page; roles and directives of Sphinx become their words."""
    for name in ROLES.split():
        roles.register_local_role(name, _words)
    for name in DIRECTIVES.split():
        directives.register_directive(name, _Words)
    return str(publish_parts(text, writer="html5", settings_overrides=SETTINGS)["html_body"]).encode()


def _words(name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[Any], list[Any]]:  # noqa: ARG001
    """Return the words of a role, without the target behind them."""
    return [nodes.inline("", re.sub(r"\s*<[^<>]*>\s*\Z", "", text))], []


class _Words(Directive):  # type: ignore[misc]  # docutils has no types
    """A directive of Sphinx: its name and argument, and the text that it encloses."""

    optional_arguments, final_argument_whitespace, has_content = 1, True, True

    def run(self) -> list[Any]:
        """Return a paragraph and the content."""
        box = nodes.container("", nodes.paragraph("", " ".join([f"{self.name}:", *self.arguments])))
        self.state.nested_parse(self.content, self.content_offset, box)
        return list(box.children)
