"""What readers see of each dialect's constructs, and that masks keep every offset and take linear time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.analysis import embedding_text
from readers.commonmark import parse_blocks
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.dialects import FILL, display, mask
from readers.sections import read_sections
from tests.readers.oracle import check_cover, count_words, leaves_of, read, shown_texts, texts

SEEN_IN_A_LINE = [
    # HTML
    ("H<sub>2</sub>O is 10<sup>5</sup>, the 1<sup>st</sup>.", "H2O is 10^5, the 1st."),
    ("One<br>two <b>three</b>", "One two three"),
    ("Copy <source> to <target path>.", "Copy <source> to <target path>."),
    ("Put <steps>it</steps> so.", "Put it so."),
    ('Press <img src="x" alt="bin"> now.', "Press bin now."),
    ("`<b>` and ``{% x %}`` stay, <!-- no -->so", "`<b>` and ``{% x %}`` stay, so"),
    ("a&nbsp;b", "a b"),
    # links and pictures
    ("See [the book][b], not a[0][1].", "See the book, not a[0][1]."),
    ("![](a.png) A ![wheel](b.png)", "A ![wheel](b.png)"),
    ("[![ci](https://img.shields.io/x)](https://ci) Text", "Text"),
    ("![dot](data:image/png;base64,QUJD+/==) Text", "![dot]() Text"),
    # Obsidian
    ("See [[Page|the page]], [[Page#Part]] and [[#Part]].", "See the page, Page#Part and Part."),
    ("A ![[picture.png|300]] ==mark== %%hidden%% end ^a1-b2", "A mark end"),
    # Jekyll, kramdown
    ("[t]({{ site.url }}/terms/){:target='_blank'} {{ page.title }}", "[t](/terms/)"),
    ("[t]({{ '/docs/' | relative_url }})", "[t](/docs/)"),
    ("{% raw %}{{ kept }}{% endraw %} {%- if x -%}y{% endif %}", "{{ kept }} y"),
    ("Words.{: .note}", "Words."),
    # MkDocs, Docusaurus
    ("Words. { .annotate } { #id }", "Words."),
    (":material-check: yes", "yes"),
    # Hugo
    ('See {{< ref "a.md" >}}x {{< param "v" >}}', "See x"),
    ('{{< figure src="a.png" title="The wheel" >}}', "The wheel"),
    ("{{</* kept */>}}", "{{</* kept */>}}"),
    # MyST
    ("See {ref}`install` and {kbd}`Ctrl`.", "See `install` and `Ctrl`."),
    # Vue
    ("<span v-pre>{{ kept }}</span> {{ message }}", "{{ kept }}"),
]


@pytest.mark.parametrize(("text", "seen"), SEEN_IN_A_LINE)
def test_marks_in_a_line(text: str, seen: str) -> None:
    assert display(mask(text)) == seen


PAGES = {
    "mdBook": (
        '<!-- Do not remove. -->\n\n<a id="old"></a>\n\n# Ownership {#own}\n\n'
        '<Listing number="4-1" caption="A variable and its scope">\n\n```rust\n'
        "{{#rustdoc_include ../ch04/main.rs:here}}\n```\n\n</Listing>\n\n"
        "See [the book][b]<!-- ignore -->. Use `{{#include}}` so:\n\n```\n# hidden\n```\n\n[b]: book.html\n",
        ["A variable and its scope", "See the book.", "Use `{{#include}}` so:", "# hidden"],
    ),
    "Jekyll": (
        "# Terms\n\n{% comment %}\n\n## Not yet\n\nLater.\n\n{% endcomment %}\n\nUse the `terms` query.\n"
        '{: .note}\n\n```json\n{% raw %}{"a": "{{b}}"}{% endraw %}\n```\n{% include copy.html %}\n\n'
        "{% highlight ruby %}\nputs '<b>'\n{% endhighlight %}\n\n| a | b |\n|---|---|\n| 1<br>2 | 3 |\n{: .t}\n",
        ["Use the `terms` query.", '{"a": "{{b}}"}', "puts '<b>'", "| a | b |", "| 1 2 | 3 |"],
    ),
    "MkDocs": (
        '# Install\n\n!!! warning "Mind the *pump*"\n\n    It is hot. Do not touch.\n\n    ```yaml\n'
        '    key: "{% x %}"\n    ```\n\n=== "Linux"\n\n    1. Run it.\n\n        ``` sh\n        run <b>\n'
        '        ```\n\n=== "Windows"\n    Click it.\n\n??? note\n    Fold it.\n\n--8<-- "footer.md"\nThe end.\n'
        "\n/// details | The gap\n    type: warning\nIt is 3 mm.\n///\n\n{* ../code/run.py hl[7] *}\n\n"
        "::: kite.Kite\n    options:\n        members: no\n",
        ["Mind the *pump*", "It is hot.", "Do not touch.", 'key: "{% x %}"', "Linux", "1. Run it."]
        + ["run <b>", "Windows", "Click it.", "Fold it.", "The end.", "The gap", "It is 3 mm."],
    ),
    "Docusaurus": (
        "import Tabs from '@theme/Tabs';\nimport {\n  TabItem,\n} from '@theme/TabItem';\n\n"
        "export const Name = () => (\n  <b>hidden</b>\n);\n\n# Set up\n\n:::note Mind this\n\nIt is hot.\n\n:::\n\n"
        ':::tip[A *label*]\nDo it.\n:::\n\n<Tabs>\n<TabItem value="js" label="JavaScript">\n\nCall it.\n\n'
        '</TabItem>\n<TabItem label="Rust">Build it.</TabItem>\n</Tabs>\n',
        ["Mind this", "It is hot.", "A *label*", "Do it.", "JavaScript", "Call it.", "Rust Build it."],
    ),
    "VitePress": (
        "::: details Click me\nFolded.\n:::\n\n[[toc]]\n\n```js{2}\nrun() // [!code focus]\n```\n\n"
        "<!--@include: ./gone.md-->\n\n<<< ./gone.py\n\nEnd.\n",
        ["Click me", "Folded.", "run()", "End."],
    ),
    "MyST": (
        "(install)=\n# Install\n\n```{warning} Mind this\n:class: dropdown\n\nIt is hot. See {ref}`more`.\n```\n\n"
        ':::{note}\n:class: x\nKeep it.\n:::\n\n```{code-block} python\nprint("{% x %}")\n```\n\n'
        "```{toctree}\none\ntwo\n```\n",
        ["Mind this", "It is hot.", "See `more`.", "Keep it.", 'print("{% x %}")'],
    ),
    "Hugo": (
        '{{< badge >}}\n\n# Run\n\n{{% notice tip %}}\nIt is hot.\n{{% /notice %}}\n\n{{< tab "Linux" >}}\nGo.\n'
        "{{< /tab >}}\n\n{{< highlight sh >}}\n# go\n{{< /highlight >}}\n\n[![d](b.svg)](https://docs)\n",
        ["It is hot.", "Linux", "Go.", "# go"],
    ),
    "MS Learn": (
        ':::zone pivot="linux"\n\nPort 8080.\n\n:::zone-end\n\n:::image source="a.png" alt-text="The wiring.":::\n\n'
        "> [!NOTE]\n> Mind it.\n> And this.\n\n[!INCLUDE [x](../y.md)]\n\n# [Linux](#tab/linux)\n\nA tab.\n",
        ["Port 8080.", "The wiring.", "Mind it.", "And this.", "Linux", "A tab."],
    ),
    "Obsidian": (
        "> [!info]- A title\n> The text.\n\n%%\nhidden\n%%\n\nShown. ^block-1\n",
        ["A title", "The text.", "Shown."],
    ),
    "GitBook": (
        '{% hint style="info" %}\nMind it.\n{% endhint %}\n\n{% tabs %}\n{% tab title="Linux" %}\nGo.\n{% endtab %}\n'
        '{% endtabs %}\n\n{% content-ref url="a.md" %}\n[a.md](a.md)\n{% endcontent-ref %}\n',
        ["Mind it.", "Linux", "Go.", "[a.md](a.md)"],
    ),
    "Mintlify and Starlight": (
        'import { Card } from "x"\n\n<Steps>\n  <Step title="Get it">\n    ```sh\n    get it\n    ```\n  </Step>\n'
        '</Steps>\n\n<Card\n  title="The card"\n  href="/x"\n  onClick={() => { go({a: 1}) }}\n>\n  Its text.\n'
        '</Card>\n\n<ParamField path="size" type="number">\n  In mm.\n</ParamField>\n\n{/* hidden */}\n',
        ["Get it", "get it", "The card", "Its text.", "size number", "In mm."],
    ),
    "HTML": (
        "<h2>Yearly care</h2>\n\n<div>\n    <p>\n        Some text.\n    </p>\n</div>\n\n<ul>\n  <li>One</li>\n"
        "  <li>Two</li>\n</ul>\n\n<details>\n<summary>More</summary>\nFolded.\n</details>\n\n<pre>\n# code <b>\n</pre>\n"
        "<script>\nhidden()\n</script>\n",
        ["Some text.", "One", "Two", "More", "Folded.", "# code <b>"],
    ),
}
MDX = {"Mintlify and Starlight"}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_leaves_are_what_readers_see(name: str, ending: str) -> None:
    text, seen = PAGES[name]
    source = "a.mdx" if name in MDX else "a.md"
    text = text.replace("\n", ending)
    assert shown_texts(text, source=source) == seen
    check_cover(text, leaves_of(text, source=source), set())


def test_the_rows_of_html_tables_have_their_column_names() -> None:
    text = "<table>\n<tr><th>Part</th><th>Limit</th></tr>\n<tr>\n <td>Belt</td>\n <td>900 h</td>\n</tr>\n</table>\nEnd."
    rows = [(leaf.metadata["kind"], leaf.metadata.get("header")) for leaf in leaves_of(text)]
    assert rows == [("table_row", None), ("table_row", "| Part | Limit |"), ("prose", None)]
    assert [" ".join(row.split()) for row in shown_texts(text)] == [
        "Part | Limit |",
        "Belt | 900 h |",
        "End.",
    ]


def test_html_headings_begin_sections() -> None:
    text = '# A\n\n<h2 id="x">One</h2>\n\nfirst\n\n<h3>Two</h3>\n\nsecond\n'
    found = [(node.metadata["heading_path"], node.metadata["level"]) for node in read(text, "a.md")]
    assert found == [(["A", "One"], 2), (["A", "One", "Two"], 3)]


def test_code_is_left_as_it_is() -> None:
    for text in ("```html\n<b>{{ x }}</b>\n```\n", "    <b>{% x %}\n", "~~~\n:::note\n[[a]]\n~~~", "`[[a]]`"):
        assert mask(text) == text
    assert mask("- item\n\n    <b>text</b>\n") != "- item\n\n    <b>text</b>\n"
    assert FILL in mask("    <b>x</b>", suffix=".mdx")


def test_data_and_minified_lines_are_no_text() -> None:
    data = "QUJDREVGR0hJ" * 20_000
    started = time.process_time()
    leaves = shown_texts(f"Before ![dot](data:image/png;base64,{data}) after.\n\n{data}\n")
    assert time.process_time() - started < 2
    assert leaves == ["Before ![dot](", ") after."]
    address = "https://example.org/" + "a/" * 150
    table = "|a" * 200 + "|"
    assert (mask(address), mask(table), mask("字" * 400)) == (address, table, "字" * 400)


def test_what_is_embedded_has_no_marks() -> None:
    text, _ = PAGES["Docusaurus"]
    (section,) = read_sections(text, source="a.md")
    lines = embedding_text(section).split("\n")
    assert list(filter(None, lines))[1:] == [
        "It is hot.",
        "A *label*",
        "Do it.",
        "JavaScript",
        "Call it.",
        "Rust Build it.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- nothing -->",
        "---\ntitle: A\n---\n{% include page.html %}\n",
        "import A from 'a';\n\n<A />\n",
        "# A\n\n<div>\n\n</div>\n\n# B\n\n{: .x}\n",
        "[![a](b.svg)](c)\n",
        "```\n{{#include all.rs}}\n```\n",
        "{% comment %}\n\n# A\n\ntext\n{% endcomment %}\n",
        "- <b></b>\n\n> [!NOTE]\n",
    ],
)
def test_a_page_of_nothing_but_marks_has_neither_sections_nor_leaves(text: str) -> None:
    reader = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=1)
    assert reader.cut(text, source="empty.md") == ([], [])


def test_a_tag_is_known_by_its_closing_one_elsewhere() -> None:
    text = "Put <source> into <target>.\n\n<steps>\n\nOne.\n\n</steps>\n\n```\n</source>\n```\n"
    assert texts(text) == ["Put <source> into <target>.", "One.", "</source>"]


PIECES = [
    *(
        "<",
        ">",
        "</",
        "<b>",
        "</b>",
        "<X a='",
        '="',
        "<!--",
        "-->",
        "{",
        "}",
        "{{",
        "}}",
        "{%",
        "%}",
        "{{<",
        ">}}",
    ),
    *("{:", "`", "``", "\\", "[!", "![](", ")", "[![a](b)](c)", "{% raw %}", "{% endraw %}", "{% comment %}"),
    *(
        "{% endcomment %}",
        "\n",
        "\n\n",
        "```\n",
        "~~~",
        "!!! note\n",
        '=== "',
        ":::",
        "    ",
        "- ",
        "> ",
        "word",
    ),
    *(
        "<script>",
        "</script>",
        "\r",
        "\0",
        "{#a}",
        "{.a}",
        "(a)=\n",
        "[r]: x\n",
        "alt='a'",
        "<table>",
        "<tr>",
    ),
    *(
        "<td>",
        "</table>",
        "%%",
        "[[",
        "]]",
        "/// a | b\n",
        "<h2>",
        "</h2>",
        "<pre>\n",
        "\n</pre>",
        "```{note}\n",
    ),
]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from([".md", ".mdx"]))
def test_a_mask_has_the_text_s_length_lines_and_letters(text: str, suffix: str) -> None:
    masked = mask(text, suffix=suffix)
    assert len(masked) == len(text)
    assert re.sub(r"[^\r\n]", "", masked) == re.sub(r"[^\r\n]", "", text)
    letters = iter(text)
    assert all(letter in letters for letter in display(masked) if letter.isalnum())
    assert FILL not in display(masked)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from([*PIECES, "w1 ", "w2. ", "w3\n\n"]), max_size=20).map("".join))
def test_leaves_are_spans_in_order_of_marks_of_any_shape(text: str) -> None:
    check_cover(text, leaves_of(text), set())


HOSTILE = [
    *(
        "<a ",
        "<a b=",
        "<a b='",
        '<a b="x',
        "<a b={",
        "<a b={{",
        "<!--",
        "{%a",
        "{% raw %}",
        "{% comment %}",
        "{{<",
    ),
    *(
        "{{%a",
        "{{#include ",
        "{{site",
        "{:a",
        "{.a",
        "{/*",
        "{a}",
        "[!",
        "![",
        "[![a](",
        "[![a](b)](c) ",
        "`",
    ),
    *(
        "` ``",
        "\\",
        "<script>",
        "<b>",
        "</b>",
        ":::",
        "!!! a\n",
        "    " * 40 + "!!! a\n",
        "```\n",
        "```{note}\n",
    ),
    *(
        "[r]: <\n",
        "[r]: x '\n",
        "> ```\n",
        "\t",
        " ",
        "- ",
        "a=='' ",
        "(a",
        "\0\0 ",
        "[[",
        "[[a|",
        "%%",
        "%%\n",
    ),
    *(
        "<table>",
        "<tr>",
        "<table><tr>",
        "<td>",
        "<h2>",
        "<h2>a",
        "<div>\n",
        "<div>\n   ",
        "<pre>\n",
        "==a",
        "^a",
    ),
    *(
        "import {\n",
        "export const a\n",
        "data:a;base64,",
        ":::a[",
        ":::a {",
        "::: a.b\n    c\n",
        "/// a\n    b: c\n",
    ),
    *(
        "<p>",
        "<li>",
        "[a][",
        "][",
        "&nbsp;",
        "{ a=",
        "){a=",
        "<X title='a' ",
        "<img alt='a'>",
        "{% a='b' %}",
        "!",
    ),
    *(
        "> [!a] b\n",
        "* a\n{:toc}\n",
        "{% highlight a %}\n",
        "v-pre>",
        "<a v-pre>",
        "x \n",
        FILL,
        f"{FILL} {FILL}",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    """Twice the text takes at most thrice the time, or little."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        for variant in (text, f"<b>{text}", f"x\n\n{text}>%}}"):
            display(mask(variant))
        return time.process_time() - started

    assert seconds(60_000) < 2 or grows(seconds) < 3


def grows(seconds: Callable[[int], float]) -> float:
    return seconds(120_000) / seconds(60_000)


def test_short_lines_of_tables_and_items_are_parsed_in_linear_time() -> None:
    started = time.process_time()
    text = "<table><tr><td>a</td></tr></table>\n" * 4_000
    parse_blocks(mask(text), text=text)
    assert time.process_time() - started < 5
