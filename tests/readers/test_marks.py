"""What stands in Markdown for a program is in no leaf; all else is in exactly one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.analysis import embedding_text
from pipeline.markup.readable import readable_block
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from tests.readers.oracle import check_cover, count_words, leaves_of, read, texts

MDBOOK = """<!-- Old heading. Do not remove. -->

<a id="old"></a>

# Ownership {#own}

<Listing number="4-1" file-name="src/main.rs" caption="A variable and its scope">

```rust
{{#rustdoc_include ../listings/ch04/src/main.rs:here}}
```

</Listing>

See [the book][b]<!-- ignore -->. Use `{{#include}}` so:

```
# hidden
{{#include a.rs}}
```

[b]: book.html
"""

JEKYLL = """# Terms

{% comment %}

## Not yet

Later.

{% endcomment %}

Use the `terms` query.
{: .note}

```json
{% raw %}{"a": "{{b}}"}{% endraw %}
```
{% include copy-curl.html %}

See [terms]({{site.url}}/terms/). More.

| a | b |
|---|---|
| 1<br>2 | 3 |
{: .table}
"""

MKDOCS = """# Install

!!! warning "Mind the *pump*"

    It is hot. Do not touch.

    ```yaml
    key: "{% raw %}"
    ```

=== "Linux"

    1. Run it.

        ``` sh
        run <b>
        ```

=== "Windows"
    Click it.

--8<-- "footer.md"
The end.
"""

DOCUSAURUS = """import Tabs from '@theme/Tabs';
import TabItem from '@theme/TabItem';

export const Name = () => (
  <b>hidden</b>
);

# Set up

:::note Mind this

It is hot.

:::

<Tabs>
<TabItem value="js" label="JavaScript">

Call it.

</TabItem>
</Tabs>
"""

MYST = """(install)=
# Install

```{warning} Mind this
:class: dropdown

It is hot. See {ref}`more <install>`.
```

```{code-block} python
print("{% x %}")
```

```{toctree}
one
two
```
"""

HUGO = """{{< badge >}}

# Run

{{% notice tip %}}
It is hot.
{{% /notice %}}

[![ci](https://img.shields.io/x)](https://ci) [![docs](b.svg)](https://docs)
"""

SEEN = {
    "mdBook": (
        MDBOOK,
        [
            "A variable and its scope",
            "See [the book][b]<!-- ignore -->.",
            "Use `{{#include}}` so:",
            "# hidden\n{{#include a.rs}}",
        ],
    ),
    "Jekyll": (
        JEKYLL,
        [
            "Use the `terms` query.",
            '{% raw %}{"a": "{{b}}"}{% endraw %}',
            "See [terms]({{site.url}}/terms/).",
            "More.",
            "| a | b |",
            "| 1<br>2 | 3 |",
        ],
    ),
    "MkDocs": (
        MKDOCS,
        [
            *("Mind the *pump*", "It is hot.", "Do not touch.", 'key: "{% raw %}"', "Linux", "1. Run it."),
            *("run <b>", "Windows", "Click it.", "The end."),
        ],
    ),
    "Docusaurus": (DOCUSAURUS, ["Mind this", "It is hot.", "JavaScript", "Call it."]),
    "MyST": (MYST, ["Mind this", "It is hot.", "See {ref}`more <install>`.", 'print("{% x %}")']),
    "Hugo": (HUGO, ["It is hot."]),
}


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_leaves_are_what_readers_see(name: str, ending: str) -> None:
    text, seen = SEEN[name]
    text = text.replace("\n", ending)
    assert texts(text) == [leaf.replace("\n", ending) for leaf in seen]
    check_cover(text, leaves_of(text), set())


def test_headings_lose_their_attributes() -> None:
    assert {tuple(leaf.metadata["heading_path"]) for leaf in leaves_of(MDBOOK)} == {("Ownership",)}
    assert {tuple(leaf.metadata["heading_path"]) for leaf in leaves_of(JEKYLL)} == {("Terms",)}


def test_what_is_embedded_has_no_marks() -> None:
    def embedded(text: str) -> list[str]:
        return [embedding_text(leaf) for leaf in leaves_of(text)]

    assert embedded(MDBOOK)[1] == "Ownership: See [the book][b]."
    assert embedded(JEKYLL)[2:4] == ["Terms: See [terms](/terms/).", "Terms: More."]
    assert embedded(JEKYLL)[-1] == "Terms: | a | b |\n| 1 2 | 3 |"
    assert embedded(JEKYLL)[1] == 'Terms: {% raw %}{"a": "{{b}}"}{% endraw %}'
    (section,) = read(DOCUSAURUS)
    lines = embedding_text(section).split("\n")
    assert list(filter(None, lines)) == ["Set up: Mind this", "It is hot.", "JavaScript", "Call it."]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- nothing -->",
        "---\ntitle: A\n---\n{% include page.html %}\n",
        "import A from 'a';\n\n<A />\n",
        "# A\n\n<div>\n\n</div>\n\n# B\n\n{: .x}\n",
        "[![a](b)](c)\n",
        "```\n{{#include all.rs}}\n```\n",
        "{% comment %}\n\n# A\n\ntext\n{% endcomment %}\n",
    ],
)
def test_a_page_of_nothing_but_marks_has_neither_sections_nor_leaves(text: str) -> None:
    reader = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=1)
    assert reader.cut(text, source="empty.md") == ([], [])


def test_a_tag_around_a_caption_is_whole_or_not_there() -> None:
    assert texts('The <img src="x" alt="bin">\nis full.\n\n<img src="y" alt="One. Two.">') == [
        'The <img src="x" alt="bin">\nis full.',
        "One. Two.",
    ]
    assert texts('Press <img src="x" alt="bin">') == ['Press <img src="x" alt="bin">']


def test_a_tag_is_known_by_its_closing_one_elsewhere() -> None:
    text = "Put <source> into <target>.\n\n<steps>\n\nOne.\n\n</steps>\n\n```\n</source>\n```\n"
    assert texts(text) == ["Put <source> into <target>.", "One.", "</source>"]


WORDS = st.integers(0, 999).map("w{}".format)
MARKS = st.sampled_from(
    [
        *("<!-- d -->", "<b>", "</b>", "<br>", "{% d d %}", "{{site.d}}", "{: .d}", "{#d}", "{{< d >}}"),
        *("{/* d */}", '<D d="d">', "</D>", "{{#include d}}", "![](d.png)", "{::d}", "{:/d}"),
    ]
)
PIECES = st.one_of(
    WORDS, WORDS, WORDS, MARKS, st.sampled_from([". ", ", ", "\n", " `{% c %}` ", "*", "\n> "])
)
BLOCKS = st.one_of(
    st.lists(PIECES, min_size=1, max_size=8).map(" ".join),
    st.sampled_from(
        [
            *("!!! d", ":::d", ":::", "(d)=", "{% d %}", "[d]: d", "```{note}\n:d: d", "<div>", "</div>"),
            *("- d0", "1. d0", '--8<-- "d"', "{% comment %}\nd\n\nd\n{% endcomment %}", "```\nc <b>\n```"),
            *("    {: .c}", "# d", "> [!NOTE]"),
        ]
    ),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(BLOCKS, st.sampled_from(["\n", "\n\n", "\r\n"])).map("".join), max_size=12).map(
        "".join
    )
)
def test_every_word_is_in_one_leaf_and_no_mark_is_embedded(text: str) -> None:
    leaves = leaves_of(text)
    check_cover(text, leaves, {i for word in re.finditer(r"\bw\d+", text) for i in range(*word.span())})
    for leaf in leaves:
        if leaf.metadata["kind"] != "code":
            seen = re.sub(r"`[^`]*`", "", readable_block(leaf.text))
            assert "site.d" not in seen
            assert not re.search(r"<!--|\{% d|\{: \.d|</b>|</D>|\{\{<", seen)


def test_the_sample_reads_as_files_do(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(MKDOCS, encoding="utf-8")
    reader = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=10_000)
    text = reader.read(tmp_path / "a.md", source="a.md").text
    _, sentences = reader.cut(text, source="a.md")
    lines = text.split("\n")
    for sentence in sentences:
        assert sentence.text.split("\n")[0] in lines[sentence.metadata["start_line"] - 1]
