r"""The marks that site generators add to Markdown: one table, and the mask that hides them from readers.

`mask` returns a text of the same length, so an offset in the mask is an offset in the file. A mark that takes
whole lines becomes spaces; a mark within a line becomes `FILL`, which the block parser takes for a character
and `display` removes. To support another construct, add a row to `DIALECTS`: its capturing groups are the
text that readers see. Patterns must not scan past the next opening mark, so that masking stays linear.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

FILL = "\u2060"
LABEL = f"{FILL} {FILL}"
"""Begins a line that is a block of its own, such as the title of an admonition."""
ITEM = f"-   {FILL}"
"""Begins a block of MkDocs whose text is indented by four; to the parser it is a list item."""
_LOOKED_BACK = 100
_CODE = "\ue000"  # stands for a character of code while marks are looked for

_Replace = Callable[[re.Match[str]], str]
_VISIBLE = re.compile(r"[^\n]")
_BRACE = re.compile(r"\{")
_MARGIN = re.compile(r"(?>[ \t>]*)(?>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)")
_SHOWN = r"(?<=[\s\"'])(?:{})\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')"
_ATTRIBUTE = re.compile(_SHOWN.format("alt|alt-text|caption|label|title|description|heading|summary|text"))
_FIELD = re.compile(_SHOWN.format("path|query|body|header|name|type|default"))  # Mintlify's parameters
_ALT = re.compile(_SHOWN.format("alt"))
_BADGE = r"(?:shields\.io|badge|/workflows/|codecov|travis-ci|zenodo|\.svg\b)"


def _fill(found: re.Match[str]) -> str:
    return _VISIBLE.sub(FILL, found[0])


def _blank(found: re.Match[str]) -> str:
    return _VISIBLE.sub(" ", found[0])


def _text(found: re.Match[str]) -> str:
    """Keep the groups of a mark within a line."""
    return _kept(found, _groups(found), FILL)


def _title(found: re.Match[str]) -> str:
    """Keep the groups, else the shown attributes of a mark."""
    return _labelled(found, _groups(found) or _attributes(found, _ATTRIBUTE))


def _labelled(found: re.Match[str], spans: list[tuple[int, int]]) -> str:
    """Keep `spans`, as a block of its own where the mark has its line alone."""
    margin = _margin(found)
    first, end = found.start() + len(margin), found.end()
    if not spans:
        return margin + _VISIBLE.sub(FILL, found.string[first:end])
    alone = _begins_line(found) and found.string[end : end + 1] in ("", "\n")
    opening = LABEL if alone and spans[0][0] - first >= len(LABEL) else ""
    return margin + _kept(found, spans, " ", start=first, opening=opening)


def _begins_line(found: re.Match[str]) -> bool:
    """Whether nothing but blanks and marks is before the match on its line."""
    before = found.string[max(0, found.start() - _LOOKED_BACK) : found.start()]
    return not before.rpartition("\n")[2].strip(f" \t>{FILL}") and ("\n" in before or found.start() < _LOOKED_BACK)


def _item(found: re.Match[str]) -> str:
    margin = _margin(found)
    return margin + _kept(found, _groups(found), FILL, start=found.start() + len(margin), opening=ITEM)


def _fence(found: re.Match[str]) -> str:
    margin = _margin(found)
    return margin + "```" + " " * (len(found[0]) - len(margin) - 3)


def _heading(found: re.Match[str]) -> str:
    """`<h2>X</h2>` as `##  X`; a tag without attributes has room for three signs."""
    first, last = found.span(3)
    room = first - found.start()
    signs = "#" * min(int(found[2]), room - 1) + " "
    return signs + FILL * (room - len(signs)) + found[3] + " " * (found.end() - last)


def _margin(found: re.Match[str]) -> str:
    margin = _MARGIN.match(found[0])
    return margin[0] if margin else ""


def _groups(found: re.Match[str]) -> list[tuple[int, int]]:
    return [found.span(number + 1) for number, group in enumerate(found.groups()) if group and group.strip()]


def _attributes(found: re.Match[str], attribute: re.Pattern[str]) -> list[tuple[int, int]]:
    if "=" not in found[0]:
        return []
    values = attribute.finditer(found.string, *found.span())
    return [value.span(1 if value[1] is not None else 2) for value in values if (value[1] or value[2] or "").strip()]


def _kept(
    found: re.Match[str], spans: list[tuple[int, int]], joint: str, *, start: int = -1, opening: str = ""
) -> str:
    """The match from `start` with only `spans` left; `opening` and then `joint` stand where a filler may."""
    pieces, position = [], found.start() if start < 0 else start
    for first, last in [*spans, (found.end(), found.end())]:
        gap = _VISIBLE.sub(FILL, found.string[position:first])
        mark = opening or (joint if last > first and pieces else "")
        if len(gap) >= len(mark) and "\n" not in gap[: len(mark)]:
            gap = mark + gap[len(mark) :]
        pieces += [gap, found.string[first:last]]
        position, opening = last, ""
    return "".join(pieces)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One construct; `guard` is a string without which no text has it.

    With `closing`, the construct reaches from `pattern` to the next `closing`, and `inside` replaces each
    character between them.
    """

    name: str
    guard: str
    pattern: re.Pattern[str]
    replace: _Replace
    closing: re.Pattern[str] | None = None
    inside: str = FILL
    mdx: bool = False
    """Whether only MDX has it."""

    def mask(self, text: str) -> str:
        """`text`, of the same length, without this construct."""
        if self.guard not in text:
            return text
        if self.closing is None:
            return self.pattern.sub(self.replace, text)
        pieces, position = [], 0
        while (opening := self.pattern.search(text, position)) and (
            closing := self.closing.search(text, opening.end())
        ):
            between = _VISIBLE.sub(self.inside, text[opening.end() : closing.start()])
            pieces += [text[position : opening.start()], self.replace(opening), between, self.replace(closing)]
            position = closing.end()
        return "".join([*pieces, text[position:]])


def _row(
    name: str,
    guard: str,
    pattern: str,
    replace: _Replace,
    closing: str = "",
    *,
    inside: str = FILL,
    mdx: bool = False,
) -> Dialect:
    flags = re.MULTILINE | re.IGNORECASE
    closed = re.compile(closing, flags) if closing else None
    return Dialect(name, guard, re.compile(pattern, flags), replace, closed, inside, mdx)


_ARGUMENTS = r"(?>(?:[^%{\n]++|%(?!\})|\n(?![ \t]*\n))*)"
_NAMES = "note|tip|important|warning|caution|info|danger|example|question|todo|abstract|summary|tldr|hint|success|check|done|help|faq|attention|failure|fail|missing|error|bug|quote|cite"  # noqa: E501

IN_CODE = (
    _row("VitePress: marks in code", "[!code", r"[ \t]*(?://|#|<!--|/\*|--|;)[ \t]*\[!code[^\]\n]*\][ \t]*(?:-->|\*/)?", _fill),
    _row("mdBook: include", "{{#", r"^[ \t>]*\{\{#(?:(?:rustdoc_|shift)?include|playground|playpen)\b[^{}\n]*+\}\}[ \t]*$", _blank),
    _row("MkDocs: snippet", "8<", r"^[ \t>]*(?:;?-+8<-+)[^\n]*$", _blank),
    _row("Jekyll: raw", "raw", r"\{%[-+]?\s*(?:end)?raw\s*[-+]?%\}", _fill),
)
"""Constructs that stand in code, too."""

DIALECTS = (
    _row("HTML: comment", "<!--", r"<!--", _fill, "-->"),
    _row("HTML: no text", "<s", r"<(?:script|style|svg)\b[^<>]*>", _fill, r"</(?:script|style|svg)\s*>"),
    _row("MDX: comment", "{/*", r"\{/\*", _fill, r"\*/\}"),
    _row("Liquid: comment", "endcomment", r"\{%-?\s*comment\s*-?%\}", _fill, r"\{%-?\s*endcomment\s*-?%\}"),
    _row("kramdown: comment", "{::comment}", r"\{::comment\}", _fill, r"\{:/(?:comment)?\}"),
    _row("Obsidian: comment", "%%", r"^%%[ \t]*$", _fill, r"^%%[ \t]*$"),
    _row("Obsidian: comment in a line", "%%", r"%%[^%\n]{1,2000}%%", _fill),
    _row("MDX: import", "import", r"^import\s+(?:[\w*{}\s,$]{1,2000}?\s+from\s+)?[\"'][^\"'\n]+[\"'];?[ \t]*$", _blank),
    _row("MDX: export", "export", r"^export[ \t]+(?:const|default|function|let|var|class|async)\b(?:[^\n]|\n(?![ \t]*\n))*", _blank, mdx=True),
    _row("MDX: blank", "{", r"\{(?:\"\s*\"|'\s*')\}", _fill, mdx=True),
    _row("Data URI", "base64,", r"data:[\w/+.;=-]{0,100}base64,[\w+/=%-]*+", _fill),
    _row("Link definition", "]:", r"^ {0,3}\[(?!\^)[^\[\]\n]{1,999}\]:[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$", _blank),
    _row("Reference link", "][", r"(?<![\w\])\\])!?\[([^\[\]\n]{1,500})\]\[[^\[\]\n]{0,500}\]", _text),
    _row("Badge", "](", rf"\[!\[[^\[\]\n]{{0,300}}\]\([^()\n]{{0,1000}}?{_BADGE}[^()\n]{{0,1000}}\)\]\([^()\n]{{0,1000}}\)|!\[[^\[\]\n]{{0,300}}\]\([^()\n]{{0,1000}}?(?:shields\.io|badge|/workflows/)[^()\n]{{0,1000}}\)|!\[\s*+\]\([^()\n]*+\)", _fill),
    _row("MS Learn: include", "[!", r"\[!(?:include|video|code[\w-]*|notebook)\b[^\[\]\n]{0,300}(?:\[[^\[\]\n]{0,300}\])?(?:\([^()\n]{0,500}\))?\]?(?:\([^()\n]{0,500}\))?", _fill),
    _row("MS Learn: division", "[!div", r"\[!div\b[^\[\]\n]{0,300}\]", _fill),
    _row("MS Learn: tab", "](#tab/", r"^#{1,6} \[([^\[\]\n]{1,200})\]\(#tab/[^()\n]{0,200}\)[ \t]*$", _title),
    _row("Alert", "[!", rf"^(?=[ \t>]*>)[ \t>]*\[!(?:{_NAMES})(?:\|[^\]\n]{{0,99}})?\][+-]?[ \t]*([^\n]*)$", _title),
    _row("Alert of its own kind", "[!", r"^(?=[ \t>]*>)[ \t>]*\[![a-z][\w -]{0,40}\][+-]?[ \t]*([^\n]*)$", _title),
    _row("MkDocs: API pages", ":::", r"^::: ?[A-Za-z_]\w*(?:\.\w+)+[ \t]*(?:\n(?:[ \t]*\n)*+(?: {4}|\t)[^\n]*)*+", _blank),
    _row("Directive", ":::", r"^(?>[ \t>]*)(?>(?:[-*+][ \t]+)*):{3,}+[ \t]*(?:image|code|zone|moniker|row|column)\b[^\n]*$", _title),
    _row("Directive with a title", ":::", r"^(?>[ \t>]*)(?>(?:[-*+][ \t]+)*):{3,}+[ \t]*(?:\{(?:figure|image|grid|card-carousel)\}[^\n]*|(?:\{[\w:+-]+\}|[A-Za-z][\w-]*)?(?:\[([^\[\]\n]*)\])?(?:[ \t]+\{[^{}\n]*\})?(?:[ \t]+([^\s{:][^{}\n]*?))?[ \t]*(?:\{[^{}\n]*\})?[ \t]*:*)(?:\n[ \t]*:[\w-]+:(?=[ \t\n])[^\n]*)*+$", _title),
    _row("MkDocs: block", "///", r"^(?>[ \t>]*)/{3,}(?:[ \t]+[\w-]+(?:[ \t]*\|[ \t]*([^\n]*))?)?[ \t]*(?:\n {4}[\w-]+:[^\n]*)*+$", _title),
    _row("MkDocs: admonition", " ", r"^(?>[ \t>]*)(?:!!!|\?\?\?\+?)[ \t]+[a-z][\w-]*+(?:[ \t]+(?:inline|end|annotate))*+(?:[ \t]+\"([^\"\n]*)\")?[ \t]*$", _item),
    _row("MkDocs: tab", "===", r"^(?>[ \t>]*)===[+!]?[ \t]+\"([^\"\n]*)\"[ \t]*$", _item),
    _row("Include that was not found", "{", r"^[ \t]*(?:\{\*[^{}\n]*\*\}|\{![^{}\n]*!\})[ \t]*$", _blank),
    _row("VitePress: code from a file", "<<<", r"^[ \t]*<<<[ \t]*[^\n]+$", _blank),
    _row("Jekyll: code", "highlight", r"^[ \t]*\{%-?\s*highlight\b[^{}\n]*%\}[ \t]*$", _fence, r"^[ \t]*\{%-?\s*endhighlight\s*-?%\}[ \t]*$", inside=_CODE),
    _row("Hugo: code", "highlight", r"^[ \t]*\{\{[<%]\s*highlight\b[^{}\n]*[>%]\}\}[ \t]*$", _fence, r"^[ \t]*\{\{[<%]\s*/\s*highlight\s*[>%]\}\}[ \t]*$", inside=_CODE),
    _row("HTML: code", "<pre", r"^[ \t]*<pre\b[^<>\n]*>(?:<code\b[^<>\n]*>)?[ \t]*$", _fence, r"^[ \t]*(?:</code>)?</pre>[ \t]*$", inside=_CODE),
    _row("Hugo: shortcode with a name", "{{", r"\{\{[<%]\s*(?:tab|details|expand|heading|tabitem)\s+\"([^\"\n{}]{1,300})\"[^{}\n]{0,500}[>%]\}\}", _title),
    _row("Hugo: shortcode", "{{", rf"\{{\{{<(?!/\*)(?>(?:[^>{{]++|>(?!\}}\}}))*)>\}}\}}|\{{\{{%(?!%|/\*){_ARGUMENTS}%\}}\}}", _title),
    _row("Liquid: tag", "{%", rf"\{{%[-+]?\s*+[A-Za-z_]{_ARGUMENTS}%\}}", _title),
    _row("Liquid: address", "{{", r"\{\{-?\s*+['\"]([^'\"{}\n]*)['\"]\s*+(?:\|[^{}\n]*+)?\}\}", _text),
    _row("Liquid, Jinja, Vue: variable", "{{", r"(?<!\\)\{\{[-#]?\s*+[$@]?[A-Za-z_][^{}\n]*+\}\}", _fill),
    _row("kramdown: contents", ":toc}", r"^[-*1][.]? +[^\n]*\n\{:\s*toc\}[^\n]*$", _blank),
    _row("Attribute list", "{", r"\{:(?:/|:?/?\s*+(?:[.#][A-Za-z]|[A-Za-z][\w-])[^{}\n]*+)\}|(?<![\w$@#])\{\s*+[.#][A-Za-z][\w:.-]*+(?:\s[^{}\n]*+)?\}|(?<=[)\]])\{[ \t]*+[\w:-]+=[^{}\n]*+\}", _fill),
    _row("HTML: heading", "<h", r"^([ \t]{0,3})<h([1-6])\b[^<>\n]*>[ \t]*(\S[^\n]{0,1000}?)</h\2\s*>[ \t]*$", _heading),
    _row("HTML: block indented", "<", r"^ {0,3}</?(?:div|p|center|details|section|figure|ul|ol|li|dl|table|picture|nav)\b[^\n]*(?:\n(?![ \t]*\n)[^\n]+)*+", lambda found: re.sub(r"(?m)^ {4,}|^[ \t]*\t[ \t]*", lambda indent: FILL * len(indent[0]), found[0])),
    _row("HTML: line", "</", r"^[ \t>]*<(?:summary|dt|dd|figcaption|caption|p)\b[^<>\n]*>([^\n]*)</(?:summary|dt|dd|figcaption|caption|p)>[ \t]*$", _title),
    _row("Blank", "&nbsp;", r"&nbsp;", lambda found: " " + FILL * 5),
    _row("Obsidian: embed", "![[", r"!\[\[[^\[\]\n]{1,500}\]\]", _fill),
    _row("Obsidian: link", "[[", r"\[\[(?:toc\]\]|[^\[\]|\n]{0,500}\\?\|([^\[\]|\n]{1,500})\]\]|#?([^\[\]|\n]{1,500})\]\])", _text),
    _row("Obsidian: block", "^", r"(?:(?<=[ \t])|^)\^[A-Za-z0-9-]+[ \t]*$", _fill),
    _row("Highlight", "==", r"(?<![=\w])==(?=[^\s=])([^=\n]{1,500})(?<=\S)==(?![=\w])", _text),
    _row("MyST: role", "}`", r"\{[a-z][\w:.+-]*\}(?=`)", _fill),
    _row("MyST: target", ")=", r"^\([\w .:/-]+\)=[ \t]*$", _blank),
    _row("Icon", ":", r":(?:material|fontawesome|octicons|simple)-[a-z0-9-]+:", _fill),
)


_WITHIN_WORDS = frozenset(
    "a abbr b cite code del dfn em font i ins kbd mark nobr q s samp small span strike strong sub sup tt u var wbr".split()
)
_PLAIN = _WITHIN_WORDS | frozenset(
    "blockquote br center dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr iframe img li nav ol p "
    "picture pre section summary table tbody td tfoot th thead tr ul video".split()
)
"""HTML's own tags; of others, a bare `<name>` is one only if `</name>` is there, too: else it is a placeholder."""
_TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[A-Za-z][\w.-]*+)
        (?P<attributes>(?>(?:\s++[A-Za-z_@:\#][\w:.@-]*+
            (?>(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|\{(?>(?:[^{}]++|\{(?>(?:[^{}]++|\{[^{}]*+\})*)\})*)\}|[^\s"'=<>`{]++))?)
            |\s++\{\.\.\.[^{}]*+\})*))
        \s*+(?P<empty>/?)>|<>|</>""",
    re.VERBOSE,
)
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w.:-]*+)\s*+>")


def _tag(found: re.Match[str]) -> str:
    """What is left of a tag: a shown attribute, a sign for a power, the edge of a cell, an item's bullet."""
    name = (found["name"] or "").lower()
    if name and not _is_tag(found):
        return found[0]
    before, after = found.string[max(0, found.start() - 1) : found.start()], found.string[found.end() : found.end() + 1]
    if name == "sup" and not found["close"] and before.isalnum() and (after.isdigit() or after in "-+"):
        return "^" + FILL * (len(found[0]) - 1)
    if name in _WITHIN_WORDS:
        return _fill(found)
    if name in ("td", "th") and found["close"]:
        return FILL * (len(found[0]) - 3) + " | "
    if name == "li" and not found["close"] and _begins_line(found):
        return "- " + FILL * (len(found[0]) - 2)
    attribute = _ALT if name in _PLAIN else _FIELD if name.endswith("field") else _ATTRIBUTE
    if name not in ("a", "iframe") and (values := _attributes(found, attribute)):
        return _labelled(found, values)
    return " " + _fill(found)[1:]


def _is_tag(found: re.Match[str]) -> bool:
    name, attributes = found["name"], found["attributes"]
    if found["close"]:
        return not attributes
    return bool(found["empty"]) or name.lower() in _PLAIN or name in _closed(found.string) or "=" in attributes


@lru_cache(maxsize=2)
def _closed(text: str) -> frozenset[str]:
    """The names that have a closing tag in the text."""
    return frozenset(_CLOSING_TAG.findall(text)) if "</" in text else frozenset()


DIALECTS += (Dialect("HTML and JSX: tag", "<", _TAG, _tag),)

TEXT_DIRECTIVES = frozenset(
    "admonition attention caution card card-carousel danger deprecated div dropdown error example exercise "
    "figure grid grid-item grid-item-card hint image important margin note proof seealso sidebar solution "
    "tab-item tab-set theorem tip todo topic versionadded versionchanged warning aside".split()
)
"""MyST's directives whose fence encloses Markdown."""
LISTS_OF_FILES = frozenset("toctree contents tableofcontents bibliography include autosummary".split())
"""MyST's directives that enclose no text."""
_FENCE = re.compile(
    r"^(?>[ \t>]*)(?>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<run>`{3,}+(?=[^`\n]*$)|~{3,}+)(?P<info>[^\n]*)$",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(r"\{([\w:-]+)\}")
_TICKS = re.compile(r"`++|\n(?=(?>[ \t>]*)(?:\n|[-*+|#]|\d{1,9}[.)] ))")
_RAW = re.compile(r"\{%[-+]?\s*(raw|endraw)\s*[-+]?%\}|<\w+[^<>]*\s(v-pre)\b[^<>]*>|</(\w+)>")
_LINE = re.compile(r"([ \t]*)([^\n]*)\n?")
_OPENS_BLOCK = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|(?:!!!|\?\?\?\+?|===[+!]?)[ \t]|\[\^[^\]\n]+\]:")
_HAS_INDENT = re.compile(r"(?:\A|\n)(?: {4}| {0,3}\t)")
_INTERESTING = re.compile(r"[`<{}:\[^&%=!?]|///|8<|import|export|[!-~]{200}")
_IMPORT = re.compile(r"^import\b[^\n]*[\"']", re.MULTILINE)
LONGEST_ADDRESS = 2_000
"""Characters of an address; a longer one is taken for data."""
_CODE_RUN = re.compile(f"{_CODE}+")
_LINE_OF_FILL = re.compile(rf"^([ \t>]*){FILL}[{FILL} \t]*$", re.MULTILINE)
_INDENT_OF_FILL = re.compile(rf"^(?: {{4,}}|[ ]{{0,3}}\t[ \t]*)(?={FILL}(?! {FILL}))", re.MULTILINE)
_MINIFIED = re.compile(r"[!-~]{200,}+")
_GAP = re.compile(rf"([ \t]*){FILL}[{FILL} \t]*")
_BLANK_LINES = re.compile(r"(?:\A|\r?\n)(?>(?:[ \t]*\r?\n)+)")
_ITEM_WITHOUT_TITLE = re.compile(rf"-   {FILL}[{FILL} \t]*(?>(?:\r?\n[ \t]*)+)(?=\S)")


def mask(text: str, *, suffix: str = ".md") -> str:
    """`text` as its readers see it, of the same length, with its line endings.

    `suffix` is the file's: in `.mdx`, nothing is code because of its indent.
    """
    if not _INTERESTING.search(text):
        return text
    mdx = suffix.lower() == ".mdx"
    plain = text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text
    raw = _raw_spans(plain)
    for dialect in IN_CODE:
        plain = dialect.mask(plain)
    masked = _without_code(plain, indented=not mdx)
    masked = _covered(masked, raw, _BRACE)
    mdx = mdx or bool(_IMPORT.search(masked))
    for dialect in DIALECTS:
        if mdx or not dialect.mdx:
            masked = dialect.mask(masked)
    masked = _CODE_RUN.sub(lambda run: plain[run.start() : run.end()], masked)
    masked = _MINIFIED.sub(_minified, masked)
    if FILL in masked:
        masked = _LINE_OF_FILL.sub(lambda line: line[1].ljust(len(line[0])), masked)
        if ITEM not in masked:
            masked = _INDENT_OF_FILL.sub(lambda indent: "   " + FILL * (len(indent[0]) - 3), masked)
    return _with_line_endings(masked, text)


def display(masked: str) -> str:
    """A mask as text: without fillers, and without the blanks and empty lines that marks leave."""
    if FILL in masked:
        masked = _GAP.sub(_closed_up, _ITEM_WITHOUT_TITLE.sub("-   ", masked))
    return _BLANK_LINES.sub(_one_blank_line, masked).strip("\n")


def _one_blank_line(lines: re.Match[str]) -> str:
    return "\n\n" if lines[0].strip("\r\n") else lines[0]


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of inline code, backticks included: a run of backticks, up to the next one of its length."""
    runs: list[tuple[int, int]] = []
    for found in _TICKS.finditer(text):
        if found[0] == "\n":  # code ends with its block
            yield from _paired(runs)
            runs = []
        else:
            runs.append(found.span())
    yield from _paired(runs)


def _paired(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for start, end in runs:
        by_length[end - start].append(start)
    position = 0
    for start, end in runs:
        closers = by_length[end - start]
        closer = bisect_left(closers, end)
        if start >= position and closer < len(closers):
            position = closers[closer] + end - start
            yield start, position


def _without_code(text: str, *, indented: bool) -> str:
    """`text` with `_CODE` for each character of code, and colons for the fences of MyST's directives."""
    if "```" in text or "~~~" in text:
        text = _without_fences(text)
    if indented and _HAS_INDENT.search(text):
        text = _covered(text, _indented_code(text))
    if "`" in text:
        text = _covered(text, _inner_spans(text))
    return text


def _without_fences(text: str) -> str:
    pieces: list[str] = []
    position, code, inside = 0, "", _CODE  # where the open fence's code begins, and its backticks
    directives: list[str] = []
    for line in _FENCE.finditer(text):
        run, info = line["run"], line["info"].strip()
        name = _DIRECTIVE.match(info)
        start, end = line.start(), line.end()
        if code:
            if info or not run.startswith(code):
                continue
            pieces.append(_VISIBLE.sub(inside, text[position:start]) + (text[start:end] if inside == _CODE else " " * (end - start)))
            code = ""
        elif (directives and not info and run.startswith(directives[-1])) or (name and name[1] in TEXT_DIRECTIVES):
            if name:
                directives.append(run)
            else:
                directives.pop()
            pieces += [text[position : line.start("run")], ":" * len(run), text[line.end("run") : end]]
        else:
            hidden = name is not None and name[1] in LISTS_OF_FILES
            pieces += [text[position:start], " " * (end - start) if hidden else text[start : line.start("info")] + _CODE * len(line["info"])]
            code, inside = run, " " if hidden else _CODE
        position = end
    rest = text[position:]
    return "".join([*pieces, _VISIBLE.sub(inside, rest) if code else rest])


def _indented_code(text: str) -> Iterator[tuple[int, int]]:
    """Lines that are code by their indent: after a blank line, outside of lists and of MkDocs' blocks."""
    inside, blank, code = False, True, False
    for line in _LINE.finditer(text):
        if not line[2]:
            blank = True
        elif line[2][0] != _CODE:
            deep = len(line[1].expandtabs(4)) >= 4
            code = deep and (code or blank) and not inside
            if code:
                yield line.span(2)
            elif _OPENS_BLOCK.match(line[2]):
                inside = True
            elif not line[1] and blank:
                inside = False
            blank = False


def _inner_spans(text: str) -> Iterator[tuple[int, int]]:
    for start, end in code_spans(text):
        length = len(text[start:end]) - len(text[start:end].lstrip("`"))
        yield start + length, end - length


def _raw_spans(text: str) -> list[tuple[int, int]]:
    """The insides of `{% raw %}` and of Vue's `v-pre`, where braces are text."""
    found = list(_RAW.finditer(text)) if "endraw" in text or "v-pre" in text else []
    return [(one.end(), other.start()) for one, other in itertools.pairwise(found) if one[1] == "raw" or one[2]]


def _covered(
    text: str, spans: Iterable[tuple[int, int]], characters: re.Pattern[str] = _VISIBLE
) -> str:
    """`text` with `_CODE` for these characters of `spans`."""
    pieces, position = [], 0
    for start, end in spans:
        pieces += [text[position:start], characters.sub(_CODE, text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])


def _minified(run: re.Match[str]) -> str:
    """Nothing of base64 and minified code; tables, long addresses and rows of signs stay."""
    word = run[0]
    if word.count("|") > 3 or ("://" in word and len(word) < LONGEST_ADDRESS):
        return word
    return FILL * len(word) if 5 * sum(map(str.isalnum, word)) >= 3 * len(word) else word


def _closed_up(gap: re.Match[str]) -> str:
    """What is left of marks and the blanks among them: a blank at most, or the line's indent."""
    start, end = gap.span()
    if start == 0 or gap.string[start - 1] == "\n":
        return gap[1]
    if end == len(gap.string) or gap.string[end] == "\n":
        return ""
    return " " if gap[0].strip(FILL) else ""


def _with_line_endings(masked: str, text: str) -> str:
    if "\r" not in text:
        return masked
    pieces, position = [], 0
    for found in re.finditer(r"\r\n?", text):
        pieces += [masked[position : found.start()], found[0]]
        position = found.end()
    return "".join([*pieces, masked[position:]])
