"""Front matter: values of the types that every store takes; anything else stays text."""

from __future__ import annotations

import logging

import pytest

from readers.front_matter import MAX_CHARACTERS, MOST_ITEMS, read_front_matter


def values(text: str) -> dict[str, object]:
    return dict(read_front_matter(text, source="a.md").values)


def test_yaml() -> None:
    text = "---\ntitle: Valves\norder: 3\nratio: .5\ndraft: false\ndate: 2026-11-21\n---\n# Text\n"
    matter = read_front_matter(text, source="a.md")
    assert matter.values == {
        "title": "Valves",
        "order": 3,
        "ratio": 0.5,
        "draft": False,
        "date": "2026-11-21",
    }
    assert text[matter.end :] == "# Text\n"


def test_toml() -> None:
    text = '+++\r\ntitle = "Valves"\r\nat = 07:30:00\r\norder = 3\r\n+++\r\ntext'
    matter = read_front_matter(text, source="a.md")
    assert matter.values == {"title": "Valves", "at": "07:30:00", "order": 3}
    assert text[matter.end :] == "text"


@pytest.mark.parametrize("text", ["---\n---\n", "---\n# only a comment\n...\n", "+++\n+++\n", "---\r---\r"])
def test_empty_front_matter_is_no_text(text: str) -> None:
    matter = read_front_matter(text + "rest", source="a.md")
    assert (matter.values, matter.end) == ({}, len(text))


def test_only_values_that_every_store_keeps() -> None:
    text = f"---\na: [1]\nb: {{c: 1}}\nc: .nan\nd: .inf\ne: 0x{'f' * 40}\nf: null\n1: one\n---\n"
    assert values(text) == {"1": "one"}
    assert values('---\na: "\\ud800b"\n---\n') == {"a": "?b"}


@pytest.mark.parametrize(
    "text",
    [
        "no front matter",
        "---\nunclosed: true\n",
        "----\na: 1\n----\n",
        " ---\na: 1\n---\n",
        "---\na: 1\n+++\n",
        "---\n\nA text between two rules\n\n---\n",
        "---\n- a\n- list\n---\n",
        f"---\na: {'x' * MAX_CHARACTERS}\n---\n",
    ],
)
def test_what_is_no_front_matter_stays_text(text: str) -> None:
    assert read_front_matter(text, source="a.md").end == 0


BROKEN = {
    "---": [
        "title: a: b",
        "title: 'unclosed",
        "a: 2024-13-45",
        "a: !!bool x",
        "a: !!timestamp x",
        "a: !!python/object:os.system x",
        "a: &a {x: 1}\nb: {<<: *a}",
        "a: *nowhere",
        "a: \x07",
        "a: " + "{b: " * 4_000,
    ],
    "+++": ["title = ", "a = " + "[" * 16_000, "a = 2024-13-45", "a = 1\na = 2"],
}


@pytest.mark.parametrize(("fence", "inside"), [(fence, text) for fence in BROKEN for text in BROKEN[fence]])
def test_broken_front_matter_is_no_text_and_a_warning_says_so(
    fence: str, inside: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"{fence}\n{inside}\n{fence}\ntext"
    with caplog.at_level(logging.WARNING):
        matter = read_front_matter(text, source="valves.md")
    assert text[matter.end :] == "text"
    assert "front matter of 'valves.md' cannot be read" in caplog.text


def test_the_title_of_broken_front_matter_is_kept() -> None:
    assert values("---\nlayout: {{ x }}\ntitle: Valves: all\n---\n") == {"title": "Valves: all"}
    assert values("---\ntitle: 'Valves: all\n---\n") == {"title": "Valves: all"}


@pytest.mark.parametrize("inside", ['!!int "": 1', "? {a: b}\n: c", "[" * 16_000, "- " * 2_000])
def test_a_block_that_begins_with_no_key_is_text(inside: str) -> None:
    assert read_front_matter(f"---\n{inside}\n---\n", source="a.md").end == 0


def test_lists_of_texts() -> None:
    matter = read_front_matter("---\ntags: [a, 1, {b: c}]\nalias: one\nx: 1\n---\n", source="a.md")
    assert matter.lists == {"tags": ("a", "1")}
    assert matter.texts("tags", "alias", "missing") == ["a", "1", "one"]
    assert len(read_front_matter(f"---\na: {[*range(99)]}\n---\n", source="a.md").lists["a"]) == MOST_ITEMS


def test_values_go_with_every_section_and_are_short_and_few() -> None:
    long = read_front_matter(f"---\ntitle: {'t' * 5_000}\nweight: 3\n---\n", source="a.md").values
    assert long == {"title": "t" * 299 + "…", "weight": 3}
    many = "".join(f"key{number}: {'v' * 90}\n" for number in range(150))
    kept = read_front_matter(f"---\n{many}---\n", source="a.md").values
    assert list(kept) == [f"key{number}" for number in range(len(kept))]
    assert 3_800 < sum(len(key) + len(str(value)) for key, value in kept.items()) <= 4_000
