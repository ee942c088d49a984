"""Markdown becomes a tree of text and allowed elements, each text knowing its place in the source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readers.converting.converted import Converted, as_document

from ui.shared.markdown_tree import Span, Tree, converted_from, document_tree, markdown_tree, tree_text

CORPUS = sorted(Path(__file__).parents[3].joinpath("docs_corpus").rglob("*.md"))
TAGS = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "thead", "tbody"),
    *("tr", "th", "td", "em", "strong", "s", "code", "pre", "br", "hr", "span", "a", "mark", "chip"),
    "unsupported",
}


def text_of(tree: Tree) -> str:
    return "".join(node if isinstance(node, str) else text_of(node["c"]) for node in tree)


def found(tree: Tree, tag: str) -> list[dict[str, object]]:
    hits = []
    for node in tree:
        if not isinstance(node, str):
            hits += [node] if node["t"] == tag else []
            hits += found(node["c"], tag)
    return hits


def marked(tree: Tree) -> str:
    return "".join(text_of(node["c"]) for node in found(tree, "mark"))  # type: ignore[arg-type]


def test_links_by_label_and_tasks_are_shown_as_such() -> None:
    tree = markdown_tree(
        "See [“Data Types”][data-types], [Cargo][] and [web][w]; not a[i][j].\n\n[w]: https://x.y"
    )
    assert text_of(tree) == "See “Data Types”, Cargo and web; not a[i][j]."
    assert [link["href"] for link in found(tree, "a")] == ["https://x.y"]
    tasks = markdown_tree("- [ ] Open *it*\n- [x] Close it", spans=[Span(6, 10, "mark")])
    assert text_of(tasks) == "☐ Open it☑ Close it"
    assert marked(tasks) == "Open"


def test_marks_a_sentence_across_bold_and_code() -> None:
    text = "One. The **LN2** tank shows `OFFLINE` now. Three."
    start, end = text.index("The"), text.index(" Three")
    tree = markdown_tree(text, spans=[Span(start, end, "mark")])
    assert marked(tree) == "The LN2 tank shows OFFLINE now."


def test_marks_by_offsets_of_the_whole_file() -> None:
    file = "# Title\n\nBefore. Cited here. After.\n"
    body = file[9:]
    start = file.index("Cited")
    tree = markdown_tree(body, spans=[Span(start, start + len("Cited here."), "mark")], base=9)
    assert marked(tree) == "Cited here."


def test_marks_the_second_of_two_equal_sentences() -> None:
    text = "Check it.\n\nCheck it.\n"
    tree = markdown_tree(text, spans=[Span(11, 20, "mark")])
    assert [bool(found(node["c"], "mark")) for node in tree] == [False, True]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("| a | b |\n|---|---|\n| 1 | 22 |\n| 3 | 4 |\n", "| 1 | 22 |"),
        ("- one\n- two\n- three\n", "two"),
        ("> quoted\n> text here\n", "text here"),
        ("```\nx = 1\ny = 2\n```\n", "y = 2"),
        ("1. first\n   - inner item\n2. second\n", "inner item"),
    ],
)
def test_marks_inside_blocks(text: str, cited: str) -> None:
    start = text.index(cited)
    tree = markdown_tree(text, spans=[Span(start, start + len(cited), "mark")])
    assert marked(tree).replace("\n", "") == "".join(cited.replace("|", " ").split()) or marked(tree) == cited


def test_escapes_and_entities_keep_their_offsets() -> None:
    text = r"A \* star &amp; more. Cited."
    start = text.index("Cited")
    tree = markdown_tree(text, spans=[Span(start, len(text), "mark")])
    assert text_of(tree) == "A * star & more. Cited."
    assert marked(tree) == "Cited."


def test_markers_become_chips_even_with_a_reference_at_the_end() -> None:
    text = "It is shut [1].\n\n[1]: https://example.org\n"
    spans = [Span(11, 14, "chip", 1)]
    tree = markdown_tree(text, spans=spans, references=False)
    assert [chip["n"] for chip in found(tree, "chip")] == [1]
    assert not found(tree, "a")


def test_html_and_scripts_are_text() -> None:
    text = "<script>alert(1)</script>\n\nHi <img src=x onerror=alert(1)> there <b>bold</b>."
    tree = markdown_tree(text)
    assert "<script>alert(1)</script>" in text_of(tree)
    assert "<img src=x onerror=alert(1)>" in text_of(tree)
    assert {node["t"] for node in found(tree, "p")} == {"p"}


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/passwd", "other.md"],
)
def test_only_web_and_mail_addresses_are_links(address: str) -> None:
    assert not found(markdown_tree(f"[name]({address})"), "a")
    assert "name" in text_of(markdown_tree(f"[name]({address})"))


def test_web_links_stay_links_and_images_are_words() -> None:
    tree = markdown_tree("[a](https://example.org/x) ![the panel](http://example.org/i.png)")
    assert [link["href"] for link in found(tree, "a")] == ["https://example.org/x"]
    assert "Image: the panel" in text_of(tree)


def test_front_matter_is_shown_as_it_is() -> None:
    tree = markdown_tree("---\ntitle: A\n---\n\nText.\n")
    assert tree[0]["k"] == "front-matter"
    assert text_of(tree[1:]) == "Text."


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=st.sampled_from(list("ab *_`[]()#>-|\\\n<&;!1.~"))),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_any_text_gives_json_of_allowed_elements(text: str, start: int, length: int) -> None:
    tree = markdown_tree(text, spans=[Span(start, start + length, "mark")])
    assert json.loads(json.dumps(tree)) == tree
    assert all(node["t"] in TAGS for tag in TAGS for node in found(tree, tag))
    assert set(_tags(tree)) <= TAGS


def _tags(tree: Tree) -> list[str]:
    return [tag for node in tree if not isinstance(node, str) for tag in (node["t"], *_tags(node["c"]))]


def test_every_line_of_prose_of_the_manuals_can_be_marked() -> None:
    """What is marked is what stands there: the offsets hold over a whole file."""
    assert CORPUS
    for path in CORPUS:
        text = path.read_text(encoding="utf-8")
        lines = dict(enumerate(_prose(text)))
        spans = [Span(start, start + len(words), "mark", n) for n, (start, words) in lines.items()]
        shown = dict.fromkeys(lines, "")
        for mark in found(markdown_tree(text, spans=spans), "mark"):
            shown[int(str(mark["n"]))] += text_of(mark["c"])  # type: ignore[arg-type]
        assert shown == {n: words for n, (_, words) in lines.items()}, path.stem
        assert lines, path.stem


def _prose(text: str) -> list[tuple[int, str]]:
    """Lines without Markdown's own characters, with their offsets, after the front matter."""
    position = text.index("\n---\n", 4) + 5 if text.startswith("---\n") else 0
    lines = []
    for line in text[position:].splitlines(keepends=True):
        words = line.strip()
        if words and words[0].isalpha() and not set(words) & set("`*_[]\\|&<"):
            lines.append((position + line.index(words), words))
        position += len(line)
    return lines


def test_where_a_page_of_a_converted_document_begins_its_number_stands() -> None:
    text = "Press the button until the <!-- page 2 -->\nlamp is green.\n\n<!-- page 3 -->\n\nEnd."
    cited = "until the <!-- page 2 -->\nlamp"
    start = text.index(cited)
    tree = markdown_tree(text, spans=[Span(start, start + len(cited), "mark")])
    assert [node["c"] for node in found(tree, "span")] == [["Page 2"], ["Page 3"]]
    assert marked(tree).split() == ["until", "the", "lamp"]
    assert "<!--" not in text_of(tree)
    assert tree_text(tree).split() == [
        "Press",
        "the",
        "button",
        "until",
        "the",
        "lamp",
        "is",
        "green.",
        "End.",
    ]


MADE = as_document(Converted("# Lamp\n\nTurn the ring.", left_out=("1 image",)), title="DOCX")
OWN = "---\ntitle: Lamp\n---\n\n# Lamp\n"


def test_a_conversion_is_said_in_words() -> None:
    assert converted_from(MADE) == "Converted from DOCX; left out: 1 image"
    assert converted_from(OWN) == ""


def test_front_matter_is_left_out_only_where_a_conversion_wrote_it() -> None:
    assert document_tree(MADE) == markdown_tree("# Lamp\n\nTurn the ring.\n")
    assert document_tree(OWN) == markdown_tree(OWN)
