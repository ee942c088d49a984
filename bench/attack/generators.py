"""Texts of any size, each of one construct over and over: what a reader must take in linear time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

Generator = Callable[[int], str]
"""From a number of characters to a text of about that many."""


def repeated(unit: str, *, before: str = "", after: str = "") -> Generator:
    """`unit` as often as there is room for it."""
    return lambda size: before + unit * max(1, size // len(unit)) + after


def joined(pieces: Callable[[], Iterable[str]], *, before: str = "") -> Generator:
    """The first of endless pieces, one behind the other."""

    def generate(size: int) -> str:
        taken, length = [before], 0
        for piece in pieces():
            if length >= size:
                break
            taken.append(piece)
            length += len(piece)
        return "".join(taken)

    return generate


def halves(opening: str, closing: str, *, inside: str = "a") -> Generator:
    """As many openings as closings, one within the other."""

    def generate(size: int) -> str:
        count = max(1, size // (len(opening) + len(closing)))
        return opening * count + inside + closing * count

    return generate


def _numbered(form: str) -> Callable[[], Iterable[str]]:
    return lambda: (form.format(number=number) for number in itertools.count())


def _nested(indent: str, item: str, *, depth: int) -> Callable[[], Iterable[str]]:
    return lambda: (indent * (number % depth) + item + "\n" for number in itertools.count())


def _deeper(mark: str) -> Callable[[], Iterable[str]]:
    return lambda: (mark * number + " a\n" for number in itertools.count(1))


def _wide_table(size: int) -> str:
    columns = max(1, size // 9)
    return "|aa" * columns + "|\n" + "|-" * columns + "|\n" + "|bb" * columns + "|\n"


def _wide_table_of_empty_rows(size: int) -> str:
    columns = max(1, size // 10)
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|b\n" * (2 * columns)


def _square_table(size: int) -> str:
    columns = max(1, int((size / 3) ** 0.5))
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + ("|b" * columns + "|\n") * columns


def _long_heading(size: int) -> str:
    return f"# {'long ' * (size // 10)}\n\n" + "A short paragraph.\n\n" * (size // 40)


def _long_headings(size: int) -> str:
    levels = "".join(f"{'#' * level} {'long ' * (size // 60)}\n\n" for level in range(1, 7))
    return levels + "A short one.\n\n###### again\n\n" * (size // 60)


def _long_header(size: int) -> str:
    return f"| {'long ' * (size // 10)} |\n|---|\n" + "| short |\n" * (size // 20)


def _long_front_matter(size: int) -> str:
    return f"---\ntitle: {'long ' * (min(size // 2, 16_000) // 5)}\n---\n\n" + "# a\n\nb\n\n" * (size // 16)


GENERATORS: dict[str, Generator] = {
    # what stands in paragraphs
    "words": repeated("word "),
    "sentences": joined(_numbered("Pump {number} feeds the loop at {number} litres. ")),
    "sentences a line": joined(_numbered("Valve {number} closes when the pressure falls.\n")),
    "paragraphs": joined(_numbered("Valve {number} closes. Then pump {number} stops.\n\n")),
    "short paragraphs": repeated("a\n\n"),
    "short sentences": repeated("A b. "),
    "lines": repeated("a\n"),
    "one word": repeated("x"),
    "one number": repeated("7"),
    "one compound": repeated("a-"),
    "one compound with digits": repeated("a1_"),
    "initials": repeated("S.P."),
    "a word with apostrophes": repeated("a'"),
    "stops without blanks": repeated("a!b.c?"),
    "stops": repeated(". "),
    "exclamations": repeated("!"),
    "question marks and quotes": repeated('?" '),
    "abbreviations": repeated("e.g. Dr. Fig. approx. "),
    "ellipses": repeated("... "),
    "hard breaks": repeated("a  \nb\\\n"),
    "blanks": repeated(" ", before="a", after="b"),
    "tabs": repeated("\t", before="a", after="b"),
    "blank lines": repeated("\n", before="a", after="b"),
    "blank lines of blanks": repeated("   \n", before="a", after="b"),
    "carriage returns": repeated("a\r"),
    "Windows' lines": repeated("a b.\r\n\r\n"),
    "escapes": repeated("\\*"),
    "backslashes": repeated("\\"),
    "entities": repeated("&amp;"),
    "half entities": repeated("&a"),
    "emoji": repeated("💧"),
    "joined emoji": repeated("👩‍🚀"),
    "accents": repeated("é"),
    "combining marks": repeated("a\u0301\u0323"),
    "ligatures": repeated("ﬃ"),
    "Arabic": repeated("صمام الأمان. "),
    "Hebrew": repeated("השסתום נסגר. "),
    "Chinese": repeated("阀门关闭。"),
    "Thai": repeated("วาล์วปิด"),
    "direction marks": repeated("\u202ea\u202c"),
    "blanks of no width": repeated("a\u200b\ufeff"),
    "lines of every system": repeated("a\r\nb\rc\n\r"),
    "line separators": repeated("a\u2028"),
    "no-break spaces": repeated("a\xa0"),
    "form feeds": repeated("a\x0c"),
    # emphasis, code, links, pictures
    "stars": repeated("*"),
    "opening stars": repeated("*a "),
    "closing stars": repeated("a* "),
    "stars and underscores": repeated("*a_ "),
    "underscores": repeated("_a_"),
    "strong within strong": halves("**a ", " b**"),
    "backticks": repeated("`"),
    "code spans": repeated("`a` "),
    "backticks of every length": joined(lambda: (f"{'`' * number} " for number in itertools.count(1))),
    "brackets": repeated("["),
    "closing brackets": repeated("]"),
    "brackets within brackets": halves("[", "]"),
    "opening links": repeated("[a]("),
    "link targets": repeated("]("),
    "links": repeated("[a](b.md) "),
    "links within links": halves("[", "](b)"),
    "pictures": repeated("![a](b.png) "),
    "pictures without words": repeated("![](b.png)\n"),
    "opening pictures": repeated("!["),
    "pictures within links": repeated("[![a](b.svg)](c) "),
    "reference links": repeated("[a][b] ", after="\n\n[b]: c\n"),
    "definitions": joined(_numbered("[a{number}]: b 'x'\n")),
    "the same definition": repeated("[a]: b\n"),
    "half definitions": repeated("[a]: "),
    "definition lists": repeated("Term\n: what it is\n\n"),
    "formulas": repeated("$$\na\n$$\n"),
    "footnotes in footnotes": joined(_numbered("[^{number}]: a[^{number}1]\n\n")),
    "definitions without an end": repeated("[a]: <b\n"),
    "titles without an end": repeated("[a]: b '\n"),
    "autolinks": repeated("<https://127.0.0.1/a> "),
    "bare addresses": repeated("https://127.0.0.1/a "),
    "one address": repeated("a/", before="https://127.0.0.1/"),
    "footnotes": joined(_numbered("a[^{number}]\n\n[^{number}]: b\n\n")),
    # headings
    "headings": repeated("# a\n\nb\n\n"),
    "headings without text": repeated("# a\n"),
    "headings of all levels": joined(
        lambda: (f"{'#' * (number % 6 + 1)} a{number}\n\nb\n\n" for number in itertools.count())
    ),
    "a heading of brackets": repeated("[", before="# "),
    "a heading of stars": repeated("*a ", before="# "),
    "a heading of marks": repeated("{#a} ", before="# "),
    "a heading closed late": repeated("# ", before="# a "),
    "underlined headings": repeated("a\n===\n\nb\n\n"),
    "an underlined paragraph": repeated("a\n", after="===\n\nb\n"),
    "rules": repeated("---\n"),
    "equals signs": repeated("===\n"),
    "a long heading": _long_heading,
    "long headings": _long_headings,
    # lists and quotes
    "items": repeated("- a\n"),
    "loose items": repeated("- a\n\n"),
    "numbered items": joined(_numbered("{number}. a\n")),
    "items nested": joined(_nested("  ", "- a", depth=50)),
    "items nested deeper and deeper": joined(
        lambda: ("  " * number + "- a\n" for number in itertools.count())
    ),
    "numbered items nested": joined(_nested("   ", "1. a", depth=30)),
    "bullets on a line": repeated("- "),
    "bullets on lines": repeated("- " * 200 + "a\n"),
    "numbers on a line": repeated("1. "),
    "half bullets": repeated("-\n"),
    "an item of many lines": repeated("a\n", before="- "),
    "an item of indented lines": repeated("  a\n", before="- a\n"),
    "task lists": repeated("- [ ] a\n"),
    "quotes": repeated("> a\n"),
    "quotes apart": repeated("> a\n\n"),
    "quotes nested on a line": repeated("> ", after="a"),
    "quotes nested on lines": repeated("> " * 60 + "a\n"),
    "quotes deeper and deeper": joined(_deeper(">")),
    "quotes and lists nested": repeated("> - " * 30 + "a\n"),
    "quoted lists": repeated("> - a\n>   b\n"),
    "quoted code": repeated("a\n> ", before="> ```\n> "),
    "lazy quotes": repeated("a\n", before="> "),
    "quoted fences and a line": repeated("> ```\na\n"),
    "quoted headings and a line": repeated("> # a\nb\n"),
    "quoted rules and code": repeated("> ***\n    a\n"),
    "empty quotes and a line": repeated(">\na\n"),
    "quoted items' fences and a line": repeated("> - ```\na\n"),
    "fences quoted in items and a line": repeated("- > ```\na\n"),
    "fences quoted twice and a quoted line": repeated("> > ```\n> a\n"),
    # tables
    "a long table": repeated("| a | b |\n", before="| h | i |\n|---|---|\n"),
    "many tables": repeated("| a |\n|---|\n| b |\n\n"),
    "a wide table": _wide_table,
    "a wide table of short rows": _wide_table_of_empty_rows,
    "a square table": _square_table,
    "a table with a long header": _long_header,
    "delimiters": repeated("|---"),
    "delimiter rows": repeated("a\n|---|\n"),
    "bars": repeated("|"),
    "escaped bars": repeated("\\|", before="| a |\n|---|\n| "),
    "tables in items": repeated("- a\n\n  | b |\n  |---|\n  | c |\n"),
    "a quoted table": repeated("> | a |\n", before="> | h |\n> |---|\n"),
    # code
    "fences": repeated("```\n"),
    "fences of code": repeated("```rust\nlet x = 1;\n```\n\n"),
    "a fence without an end": repeated("let x = 1;\n", before="```\n"),
    "a line of code": repeated("let x = 1; ", before="```\n"),
    "tildes": repeated("~"),
    "indented code": repeated("    a\n"),
    "indented code apart": repeated("    a\n\n"),
    "fences longer and longer": joined(_deeper("`")),
    # HTML
    "tags": repeated("<a>"),
    "half tags": repeated("<a "),
    "closing tags": repeated("</b>"),
    "tags within tags": halves("<div>\n", "</div>\n"),
    "tags with attributes": repeated('<img alt="a" src="b"> '),
    "a tag of attributes": repeated(' a="b"', before="<img", after=">"),
    "attributes without an end": repeated(' a="', before="<img"),
    "blocks of HTML": repeated("<div>\na\n</div>\n\n"),
    "comments": repeated("<!-- a -->\n"),
    "opening comments": repeated("<!--\n"),
    "half comments": repeated("<!-- "),
    "processing instructions": repeated("<? "),
    "declarations": repeated("<!A "),
    "character data": repeated("<![CDATA["),
    "scripts": repeated("<script>\n"),
    "scripts in a paragraph": repeated("a <script> "),
    "less-than signs": repeated("<"),
    "details": repeated("<details><summary>a</summary>\n\nb\n\n</details>\n"),
    # front matter and site generators
    "front matter": repeated("a: b\n", before="---\n", after="---\n\ntext\n"),
    "TOML front matter": joined(_numbered("a{number} = 1\n"), before="+++\n"),
    "front matter without an end": repeated("a: b\n", before="---\n"),
    "nested front matter": repeated("[", before="---\na: "),
    "a long title": _long_front_matter,
    "mdBook's includes": repeated("{{#include a.rs}}\n"),
    "half includes": repeated("{{#include "),
    "MkDocs' admonitions": repeated('!!! note "a"\n    b\n\n'),
    "MkDocs' admonitions nested": joined(_nested("    ", '!!! note "a"', depth=60)),
    "MkDocs' tabs": repeated('=== "a"\n    b\n\n'),
    "MkDocs' snippets": repeated('--8<-- "a.md"\n'),
    "Docusaurus' admonitions": repeated(":::note a\nb\n:::\n\n"),
    "Docusaurus' admonitions open": repeated(":::note\n"),
    "colons": repeated(":"),
    "MyST's directives": repeated("```{note} a\nb\n```\n\n"),
    "MyST's directives open": repeated("```{note}\n"),
    "MyST's directives nested": joined(lambda: (f"{'`' * count}{{note}}\n" for count in itertools.count(3))),
    "MyST's roles": repeated("{ref}`a` "),
    "MyST's options": repeated(":name: a\n", before="```{note}\n"),
    "MyST's targets": repeated("(a)=\n"),
    "Liquid's tags": repeated("{% a %}\n"),
    "Liquid's comments": repeated("{% comment %} "),
    "Liquid's half tags": repeated("{% "),
    "Liquid's output": repeated("{{ site.a }} "),
    "Liquid's raw text": repeated("{% raw %}a{% endraw %} "),
    "Liquid's raw text open": repeated("{% raw %}a "),
    "Hugo's shortcodes": repeated("{{< a >}} "),
    "Hugo's half shortcodes": repeated("{{< "),
    "kramdown's lists": repeated("{: .a}\n"),
    "kramdown's half lists": repeated("{: .a "),
    "kramdown's comments": repeated("{::comment}\n"),
    "braces": repeated("{"),
    "braces within braces": halves("{", "}"),
    "JSX": repeated("<A b={c} />\n"),
    "JSX within JSX": repeated("<A b={{", after="}}>"),
    "JSX comments": repeated("{/* a */} "),
    "JSX comments open": repeated("{/* "),
    "imports": repeated("import a from 'b'\n"),
    "exports": repeated("export const a = 1\n"),
    "alerts": repeated("> [!NOTE]\n> a\n\n"),
}
