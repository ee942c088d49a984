"""Front matter: values of the types that every store takes; anything else stays text."""

from __future__ import annotations

import logging

import pytest

from readers.front_matter import MAX_CHARACTERS, read_front_matter


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
        '!!int "": 1',
        "? {a: b}\n: c",
        "a: !!python/object:os.system x",
        "a: &a {x: 1}\nb: {<<: *a}",
        "a: *nowhere",
        "a: \x07",
        "[" * 16_000,
        "a: " + "{b: " * 4_000,
        "".join("- " * 2_000),
    ],
    "+++": ["title = ", "a = " + "[" * 16_000, "a = 2024-13-45", "a = 1\na = 2"],
}


@pytest.mark.parametrize(("fence", "inside"), [(fence, text) for fence in BROKEN for text in BROKEN[fence]])
def test_what_is_broken_stays_text_and_a_warning_says_so(
    fence: str, inside: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert read_front_matter(f"{fence}\n{inside}\n{fence}\ntext", source="valves.md").end == 0
    assert "front matter of 'valves.md' is kept as text: " in caplog.text


def test_values_go_with_every_section_and_are_short_and_few() -> None:
    long = read_front_matter(f"---\ntitle: {'t' * 5_000}\nweight: 3\n---\n", source="a.md").values
    assert long == {"title": "t" * 299 + "…", "weight": 3}
    many = "".join(f"key{number}: {'v' * 90}\n" for number in range(150))
    kept = read_front_matter(f"---\n{many}---\n", source="a.md").values
    assert list(kept) == [f"key{number}" for number in range(len(kept))]
    assert 3_800 < sum(len(key) + len(str(value)) for key, value in kept.items()) <= 4_000
