"""The corpus of whole files, and the questions."""

import json
from pathlib import Path

import pytest

from bench.embedded.corpora import (
    Exported,
    Share,
    copy_sources,
    count_by_source,
    docs_folder,
    make_questions,
    scifact_as_markdown,
    scifact_folder,
    select_sources,
)
from pipeline.errors import DatasetError


def exported(name: str, folder: Path = Path("unused"), **sentences: int) -> Exported:
    return Exported(name, folder, Path("unused"), {f"{key}.md": n for key, n in sentences.items()}, 0.0)


def section(number: int, *, path: list[str], sentences: int = 3) -> dict[str, object]:
    return {"id": f"{number:04}", "heading_path": path, "sentences": sentences}


def test_whole_files_are_taken_in_order_until_there_are_enough():
    first, second = exported("first", b=30, a=20), exported("second", c=40, d=1, e=500)
    shares = select_sources([first, second], sentences=90)
    # 20 + 30 = 50, + 40 = 90: enough, so d and e stay out
    assert shares == [Share(first, ("a.md", "b.md")), Share(second, ("c.md",))]


def test_the_file_that_crosses_the_number_is_taken_whole():
    shares = select_sources([exported("only", a=60, b=60, c=60)], sentences=100)
    assert [share.sources for share in shares] == [("a.md", "b.md")]


def test_a_folder_that_is_not_needed_has_no_share():
    shares = select_sources([exported("first", a=5), exported("second", b=5)], sentences=5)
    assert [share.of.name for share in shares] == ["first"]


def test_too_few_sentences_are_an_error_with_both_numbers():
    with pytest.raises(DatasetError, match="have 1,100 sentences of 2,000"):
        select_sources([exported("first", a=1000), exported("second", b=100)], sentences=2000)


def test_files_of_the_same_name_are_copied_side_by_side(tmp_path):
    shares = []
    for name in ("one", "two"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "README.md").write_text(name)
        (tmp_path / name / "other.md").write_text("not chosen")
        part = Exported(name, tmp_path / name, Path("unused"), {"sub/README.md": 7, "other.md": 100}, 0.0)
        shares.append(Share(part, ("sub/README.md",)))
    assert copy_sources(shares, tmp_path / "out") == 14
    copied = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.md")}
    assert copied == {"one/sub/README.md", "two/sub/README.md"}
    assert (tmp_path / "out/two/sub/README.md").read_text() == "two"


def test_leaves_are_counted_by_source():
    assert count_by_source([{"source": "a"}, {"source": "b"}, {"source": "a"}]) == {"a": 2, "b": 1}


def test_questions_do_not_depend_on_the_order_of_the_sections():
    sections = [section(n, path=["Book", f"Topic {n}"]) for n in range(8)]
    questions = make_questions(sections, count=5)
    assert questions == make_questions(reversed(sections), count=5)
    assert questions[:2] == ["What is Topic 0?", "How do I use Topic 1 in Book?"]
    assert len(set(questions)) == 5


def test_fewer_questions_are_the_first_of_more():
    sections = [section(n, path=["Book", f"Topic {n}"]) for n in range(30)]
    assert make_questions(sections, count=20)[:7] == make_questions(sections, count=7)


def test_sections_that_are_short_or_have_no_parent_are_not_asked_about():
    sections = [
        section(1, path=["Alone"]),
        section(2, path=["Book", "Short"], sentences=2),
        section(3, path=["Book", "Good"]),
    ]
    assert make_questions(sections, count=5) == ["What is Good?"]


def test_the_same_question_is_asked_once():
    sections = [section(n, path=["Book", "Same"]) for n in range(40)]
    questions = make_questions(sections, count=40)
    assert len(questions) == len(set(questions)) > 1


def test_scifact_becomes_a_markdown_file_an_abstract(tmp_path):
    folder = tmp_path / "scifact"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": 7, "title": "Cells", "text": "They divide."}))
    target = scifact_as_markdown(tmp_path, tmp_path / "markdown")
    assert (target / "7.md").read_text() == "# Cells\n\nThey divide.\n"


@pytest.mark.parametrize("find", [scifact_folder, lambda data: docs_folder(data, "rust-book")])
def test_missing_data_are_named_with_what_to_do(tmp_path, find):
    with pytest.raises(DatasetError, match=r"'.*' does not exist\. Name the folder .* ATHENA_TEST_DATA"):
        find(tmp_path)
