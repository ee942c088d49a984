"""Markdown on a terminal."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.padding import Padding
from rich.syntax import Syntax


class Code(CodeBlock):
    """A block of code with a column around it.

    rich breaks the lines of a padded `Syntax` at the full width, and then cuts two columns off.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True)
        yield Padding(code, 1)


class Rendered(Markdown):
    """rich's Markdown, with every letter of its code."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": Code,
        "code_block": Code,
    }
