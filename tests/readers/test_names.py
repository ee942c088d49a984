"""What a page is called: by its front matter, its first heading, its file and its folders."""

from __future__ import annotations

import pytest

from readers.names import readable_name
from tests.readers.oracle import read


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n## Two\n\ntext\n\n# One\n", "Front"),
        ("+++\ntitle = 'Front'\n+++\ntext", "Front"),
        ("## Two\n\ntext\n\n# One [link](x) <b>b</b>\n", "One link b"),
        ("## Two\n\ntext\n", "relief valves"),
        ("---\ntitle: ' '\n---\n#\n\ntext\n", "relief valves"),
        ("---\ntitle: '{{ page.name }}'\n---\n# One\n\ntext\n", "One"),
        ("---\ntitle: 2024\n---\ntext\n", "2024"),
        ("---\ntitle: [Valves, pumps]\n---\ntext\n", "Valves, pumps"),
    ],
)
def test_the_title(text: str, title: str) -> None:
    nodes = read(text, source="systems/relief_valves.md")
    assert {node.metadata["title"] for node in nodes} == {title}
    assert {node.metadata["heading_path"][0] for node in nodes} == {title}


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        *(("P-310 booster", "P-310 booster"), ("install_guide", "install guide"), ("P-310", "P-310")),
        *(("getting-started", "getting started"), ("02-wiring", "wiring"), ("2024-01-06", "2024-01-06")),
        *(("2024-01-06-new-lens", "new lens"), ("AlarmNotSent", "AlarmNotSent")),
        *(("v1-2", "v1-2"), ("utf8-bom", "utf8 bom")),
    ],
)
def test_names_of_files_as_words(name: str, readable: str) -> None:
    assert readable_name(name) == readable


@pytest.mark.parametrize(
    ("source", "title"),
    [
        *(("pumps/index.md", "pumps"), ("a/02-gear/README.md", "gear"), ("a/index.de.md", "a")),
        *(("_index.md", "index"), ("a/b-c.d.md", "b c.d")),
    ],
)
def test_a_page_without_a_title_is_called_as_its_file_or_its_folder(source: str, title: str) -> None:
    (node,) = read("The hotline is 555-0143.", source=source)
    assert node.metadata["heading_path"] == [title]


def test_the_page_s_other_names_and_words_about_it() -> None:
    text = (
        "---\ntitle: Kestrel\naliases: [The bird, /old/path/, kestrel]\nsidebar_label: K\n"
        "description: The weekly [review](x).\ntags: [pumps, open]\n---\n# About Kestrel\n\nThursdays.\n"
    )
    (node,) = read(text, source="team/2.x/01-meetings/2024-01-06-review.md")
    assert node.metadata["heading_path"] == ["Kestrel", "About Kestrel"]
    assert node.metadata["aliases"] == ["The bird", "K", "About Kestrel", "review", "2024-01-06 review"]
    assert node.metadata["keywords"] == "pumps\nopen\nThe weekly review.\nteam\n2.x\nmeetings"
    assert node.metadata["version"] == "2.x"


def test_a_heading_that_reads_as_the_title_is_not_repeated() -> None:
    (node,) = read("---\ntitle: Alarm not sent\n---\n# AlarmNotSent\n\ntext\n", source="alarm-not-sent.md")
    assert node.metadata["heading_path"] == ["Alarm not sent"]
    assert "aliases" not in node.metadata
