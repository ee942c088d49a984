"""Front matter: the texts of its keys; anything else stays text."""

from __future__ import annotations

import logging

import pytest

from readers.front_matter import LONGEST_VALUE, MAX_CHARACTERS, MOST_ITEMS, FrontMatter, read_front_matter


def values(text: str) -> FrontMatter:
    return read_front_matter(text, source="a.md")[0]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Valves\nversion: 2.10\ndraft: on\ntags: [air, 1, {b: c}]\nempty: ~\n---\n# Text\n",
        '+++\r\ntitle = "Valves"\r\nversion = "2.10"\r\ndraft = "on"\r\n'
        'tags = ["air", 1]\r\nempty = []\r\n+++\r\n# Text\n',
    ],
)
def test_yaml_and_toml(text: str) -> None:
    matter, end = read_front_matter(text, source="a.md")
    assert matter == {
        "title": ("Valves",), "version": ("2.10",), "draft": ("on",), "tags": ("air", "1"), "empty": (),
    }  # fmt: skip
    assert text[end:] == "# Text\n"


@pytest.mark.parametrize("text", ["---\n---\n", "---\n# only a comment\n...\n", "+++\n+++\n", "---\r---\r"])
def test_empty_front_matter_is_no_text(text: str) -> None:
    assert read_front_matter(text + "rest", source="a.md") == ({}, len(text))


def test_values_are_short_few_and_well_formed() -> None:
    assert values(f"---\ntitle: {'t' * 5_000}\n---\n") == {"title": ("t" * (LONGEST_VALUE - 1) + "…",)}
    assert len(values(f"---\na: {[*range(99)]}\n---\n")["a"]) == MOST_ITEMS
    assert values('---\na: "\\ud800b"\n---\n') == {"a": ("?b",)}


@pytest.mark.parametrize(
    "text",
    [
        *("no front matter", "---\nunclosed: true\n", "----\na: 1\n----\n", " ---\na: 1\n---\n"),
        *("---\na: 1\n+++\n", "---\n\nA text between two rules\n\n---\n", "---\n- a\n- list\n---\n"),
        *(f"---\na: {'x' * MAX_CHARACTERS}\n---\n", "---\n? {a: b}\n: c\n---\n"),
        *(f"---\n{'[' * 16_000}\n---\n", f"---\n{'- ' * 2_000}\n---\n"),
    ],
)
def test_what_is_no_front_matter_stays_text(text: str) -> None:
    assert read_front_matter(text, source="a.md") == ({}, 0)


BROKEN = {
    "---": ["title: a: b", "title: 'unclosed", "a: *nowhere", "a: \x07", "a: " + "{b: " * 4_000],
    "+++": ["title = ", "a = " + "[" * 16_000, "a = 2024-13-45", "a = 1\na = 2", f"a = {'1' * 5_000}"],
}


@pytest.mark.parametrize(("fence", "inside"), [(fence, text) for fence in BROKEN for text in BROKEN[fence]])
def test_broken_front_matter_is_no_text_and_a_warning_says_so(
    fence: str, inside: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"{fence}\n{inside}\n{fence}\ntext"
    with caplog.at_level(logging.WARNING):
        _, end = read_front_matter(text, source="valves.md")
    assert text[end:] == "text"
    assert "cannot be read" in caplog.text


def test_the_title_of_broken_front_matter_is_kept() -> None:
    assert values("---\nlayout: {{ x }}\ntitle: Valves: all\n---\n") == {"title": ("Valves: all",)}


def test_anchors_and_merge_keys_multiply_nothing() -> None:
    laughs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    assert values(f"---\na0: &a0 ha\n{laughs}---\n")["a8"] == ()
    assert values("---\na: &a {x: 1}\nb: {<<: *a}\nc: !!python/object:os.system x\n---\n")["c"] == ("x",)
