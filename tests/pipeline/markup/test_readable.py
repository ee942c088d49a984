"""What readers see of Markdown: marks go, the text between them and all code stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.markup.readable import (
    edited,
    find_edits,
    find_marks,
    readable,
    readable_block,
    readers_markdown,
)


@pytest.mark.parametrize(
    ("block", "seen"),
    [
        ("a <!-- no --> b", "a b"),
        ("a<!-- `no --> `b`", "a `b`"),
        ("[docs][d]<!-- ignore\n-->.", "[docs][d]."),
        ("<b>Stop</b> <i class='x'>now</i>", "Stop now"),
        ("one<br>two<br/>three", "one two three"),
        ("10<sup>6</sup> H<sub>2</sub>O", "10^6 H2O"),
        ("<Tabs><TabItem value={[1, {a: 2}]} label='Rust'>text</TabItem></Tabs>", "Rust text"),
        ('<Listing number="4-1" caption="A `Vec<T>`">', "A `Vec<T>`"),
        ('the <img src="x.png" alt="bin"/> icon', "the bin icon"),
        ("{{#include a.rs:2:10}}", ""),
        ("a {{#title T}} b", "a b"),
        ("{% include copy.html %}", ""),
        ("{%- if page.x == '%' -%}yes{%- endif -%}", "yes"),
        ("{% include x.html\n   a=b %} b", "b"),
        ("a {% comment %} no {% endcomment %} b", "a b"),
        ("{% raw %}{{ site.x }}{% endraw %}", "{{ site.x }}"),
        ('{% tab title="Python" %}', "Python"),
        ("[x]({{site.url}}{{ site.baseurl }}/y)", "[x](/y)"),
        ("text.\n{: .note}", "text."),
        ("[x](y){:target='_blank'} z", "[x](y) z"),
        ("{::nomarkdown}a{:/} b", "a b"),
        ("Name {#id} and { .button }", "Name and"),
        ('{{< figure src="a" title="T" >}} {{% notice tip %}}a{{% /notice %}}', "T a"),
        ("a {/* no */} b", "a b"),
        ("see {ref}`label` and {doc}`page`", "see `label` and `page`"),
        ("[!NOTE]\nText", "Text"),
        ("[![build](b.svg)](https://ci) ![cov](https://img.shields.io/c)", ""),
        ("![](x.png)", ""),
        ("<script>a < b</script>text<style>p {}</style>", "text"),
        ("<details open>", ""),
    ],
)
def test_marks_go(block: str, seen: str) -> None:
    assert readable_block(block) == seen
    assert readable(block) == seen


@pytest.mark.parametrize(
    "block",
    [
        "`{% include x %}` and ``<b>` {{ site.x }}``",
        "cp <source> <path>, <ALPHANUM>, Vec<T> and Option<String>",
        *("<https://example.org/a> <me@example.org>", "2 < 3 > 1, a <- b -> c, <3"),
        "{ } {} {a} {:?} {:#?} {:>8} {:02} ${x} {{ user }} {{{x}}}",
        *("\\{{#include a.rs}} \\<div> \\{% x %}", "{{</* ref */>}} {{%/* ref */%}}", "<!-- never closed"),
        *("{% never closed", "`` never closed `", "{% raw %"),
        *("[!no] ![a plain picture](x.png) [![big](a.png)](b.png)", "import this. export that!"),
        *("100 % {sure}", ""),
    ],
)
def test_what_looks_like_marks_stays(block: str) -> None:
    assert readable_block(block) == block
    assert readable(block) == block


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('!!! note "Mind *this*"\n    It is hot.\n\nEnd', "Mind *this*\n    It is hot.\n\nEnd"),
        ("??? tip\n    It is hot.", "It is hot."),
        ("???+ warning inline end\n    It is hot.", "It is hot."),
        ('=== "Tab"\n\n    It is hot.', "Tab\n\n    It is hot."),
        ('a\n\n--8<-- "b.md"\n\nc', "a\n\n\nc"),
        (":::note Mind this\nHot.\n:::", "Mind this\nHot."),
        ("::: tip\nHot.\n:::", "Hot."),
        (":::danger[Mind this]\nHot.\n:::", "Mind this\nHot."),
        ("::::{grid} 1 2\n:gutter: 2\nHot.\n::::", "Hot."),
        ("```{note} Mind this\n:class: x\nHot.\n```\nEnd", "Mind this\nHot.\nEnd"),
        ("```{code-block} html\n<b>\n```\n<b>x</b>", "```{code-block} html\n<b>\n```\nx"),
        ("```{toctree}\na\nb\n```\nEnd", "End"),
        ("(here)=\n# Title\n", "# Title"),
        ("Text.\n\n[r]: /url 'T'\n[s]: <b>\n", "Text."),
        ("[^1]: /note", "[^1]: /note"),
        ("a\n\n{% comment %}\n# no\n\nno\n{% endcomment %}\n\nb", "a\n\n\n\nb"),
        ("{::comment}\nno\n{:/comment}\nb", "b"),
        ("```\n{% x %}\n```\n{% x %}\n", "```\n{% x %}\n```"),
        ("~~~ html\n<b>\n```\n<b>\n~~~\n<b>x", "~~~ html\n<b>\n```\n<b>\n~~~\nx"),
        ("- a\n  ```\n  <b>\n  ```\n- <b>c</b>", "- a\n  ```\n  <b>\n  ```\n- c"),
        ("- ```\n  <b>\n<b>never closed</b>", "- ```\n  <b>\nnever closed"),
        ("> ```\n> <b>\n\n<b>b</b>", "> ```\n> <b>\n\nb"),
        ("Code:\n\n    <b>\n    {: .x}\n\n<b>b</b>", "Code:\n\n    <b>\n    {: .x}\n\nb"),
        ("- a\n\n    <b>no code</b>", "- a\n\n    no code"),
        ("!!! note\n\n    ```\n    <b>\n    ```\n    <b>b</b>", "```\n    <b>\n    ```\n    b"),
        ("a\r\n{: .x}\r\nb\r\n", "a\r\nb"),
        ("::: package.module", "::: package.module"),
        ("!!! Danger ahead", "!!! Danger ahead"),
        ("=== not a tab", "=== not a tab"),
    ],
)
def test_lines_of_marks_go(text: str, seen: str) -> None:
    assert readable(text) == seen


def test_a_part_is_read_as_part_of_the_whole() -> None:
    text = "A.\n\n```\n<b>code</b>\n```\n{% include copy.html %}\n\n<b>End</b>.\n"
    assert readable(text, text.index("<b>code"), text.index("</b>.") + 5) == "<b>code</b>\n```\n\nEnd."
    assert readable(text, 0, 2) == "A."


LISTING = "Here:\n\n```rust,ignore\n{{#rustdoc_include ../a/main.rs:here}}\n```\n\nEnd."


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[`String`][s]<!-- ignore --> is\none", "[`String`][s] is\none"),
        ("A.\n\n<!-- a\nb -->\n\nB.", "A.\n\nB."),
        ('A.\n\n<Listing file="a">\n\n```\nx\n```\n\n</Listing>\n\nB.', "A.\n\n```\nx\n```\n\nB."),
        ('A.\n\n<Listing number="1" caption="How `a` is">\n\nB.\n\n</Listing>', "A.\n\nHow `a` is\n\nB.\n\n"),
        ('<span class="filename">File: a.rs</span>', "File: a.rs"),
        ("| a<br>b | 10<sup>6</sup> |", "| a b | 10^6 |"),
        (LISTING, "Here:\n\n```rust,ignore\n(listing ../a/main.rs:here not found)\n```\n\nEnd."),
        ("> ~~~\n> {{#include a.txt}}\n> ~~~", "> ~~~\n> (listing a.txt not found)\n> ~~~"),
    ],
)
def test_what_is_for_programs_goes(written: str, shown: str) -> None:
    assert readers_markdown(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "```html\n<!-- a --> <b>\n```",
        "Write `<!-- a -->` or `{{#include a.rs}}`.",
        "```\n// as in\n{{#include a.rs}}\n```",
        "cp <source> <path>, Vec<T>",
        '!!! note "Title"\n    Text.',
        "[a]: https://example.org\n\n[!NOTE]",
    ],
)
def test_code_and_other_markdown_stay(text: str) -> None:
    assert readers_markdown(text) == text


def test_a_part_of_a_fence_is_code() -> None:
    text = "```html\n<b>a</b>\n```"
    assert find_edits(text, 8, 16) == []


def test_a_part_that_begins_with_a_caption_goes_without_the_end_of_its_tag() -> None:
    text = 'A.\n\n<Listing number="1" caption="How `a` is">\n\nB.'
    start = text.index("How")
    assert edited(text[start:], find_edits(text, start, len(text)), base=start) == "How `a` is\n\nB."


@given(st.text(alphabet="ab <!->{#}/`~\n\"'=|"), st.integers(0, 40), st.integers(0, 40))
def test_edits_of_a_part_stay_within_it(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    edits = find_edits(text, start, end)
    bounds = [bound for first, last, _ in edits for bound in (first, last)]
    assert bounds == sorted(bounds)
    assert all(start <= bound <= end for bound in bounds)
    edited(text[start:end], edits, base=start)


PIECES = st.sampled_from(
    [
        *("<", ">", "</", "<b>", "</b>", "<X a='", '="', "<!--", "-->", "{", "}", "{{", "}}", "{%", "%}"),
        *("{{<", ">}}", "{:", "`", "``", "\\", "[!", "![](", ")", "[![a](b)](c)", "{% raw %}"),
        *("{% endraw %}", "{% comment %}", "{% endcomment %}", "\n", "\n\n", "```\n", "~~~", "!!! note\n"),
        *('=== "', ":::", "    ", "- ", "> ", "word", "<script>", "</script>", "\r", "\0", "{#a}", "{.a}"),
        *("(a)=\n", "[r]: x\n", "alt='a'"),
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_marks_are_spans_in_order_and_what_is_left_is_of_the_text(text: str) -> None:
    position = 0
    for start, end in find_marks(text):
        assert position <= start < end <= len(text)
        position = end
    letters = iter(text)
    assert all(letter in letters for letter in readable(text) if letter.isalnum())
    assert readable(text.replace("\0", ""), 0, 0) == ""


HOSTILE = [
    *("<a ", "<a b=", "<a b='", '<a b="x', "<a b={", "<a b={{", "<!--", "{%a", "{% raw %}"),
    "{% comment %}",
]
HOSTILE += [
    *("{{<", "{{%a", "{{#include ", "{{site", "{:a", "{.a", "{/*", "{a}", "[!", "![", "[![a]("),
    "[![a](b)](c) ",
]
HOSTILE += [
    *("`", "` ``", "\\", "<script>", "<b>", "</b>", "{% a x=%", ":::", "!!! a\n", "    " * 40 + "!!! a\n"),
    "```\n",
]
HOSTILE += [
    *("{% comment %}\n", "```{note}\n", "[r]: <\n", "[r]: x '\n", "> ```\n", "\t", " ", "- ", "a=='' "),
    *("(a", "\0\0 "),
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    many = piece * (100_000 // len(piece))
    for text in (many, f"<b>{many}", f"x\n\n{many}>%}}"):
        started = time.process_time()
        readable(text)
        readable_block(text)
        assert time.process_time() - started < 5  # a guard against quadratic time: each takes a fraction
