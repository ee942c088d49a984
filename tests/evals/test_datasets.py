"""BEIR folders: what is read, and what each fault is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.datasets import Question, load_corpus, load_qrels, load_queries
from pipeline.errors import DatasetError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    return tmp_path


def write(folder: Path, name: str, *rows: Any) -> None:
    (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def write_qrels(folder: Path, text: str) -> None:
    (folder / "qrels" / "test.tsv").write_bytes(text.encode())


# -- corpus and queries -------------------------------------------------------------------------------


def test_ids_may_be_numbers_and_titles_may_be_missing(folder: Path) -> None:
    write(folder, "corpus.jsonl", {"_id": 4983, "text": "It hums."}, {"_id": "d2", "title": None, "text": ""})
    write(folder, "queries.jsonl", {"_id": 7, "text": "Does it hum?"})
    rows = [(row.id, row.title, row.text) for row in load_corpus(folder)]
    assert rows == [("4983", "", "It hums."), ("d2", "", "")]
    assert load_queries(folder)[0].id == "7"


def test_a_byte_order_mark_is_no_fault(folder: Path) -> None:
    (folder / "corpus.jsonl").write_bytes('\ufeff{"_id": "a", "text": "one"}'.encode())
    write_qrels(folder, "\ufeffq1\td1\t1\n")
    assert [row.id for row in load_corpus(folder)] == ["a"]
    assert load_qrels(folder, "test") == {"q1": {"d1": 1}}


def test_separators_within_a_text_end_no_line(folder: Path) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive"
    line = f'{{"_id": "a", "text": "{text}"}}'.replace("\x0b", "\\u000b")
    (folder / "corpus.jsonl").write_text(line, "utf-8")
    assert load_corpus(folder)[0].text == text


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("not json", "not JSON (Expecting value"),
        ('{"_id": "b", "text": "cut o', "not JSON"),
        ('["_id", "text"]', "the line: Input should be"),
        ('{"text": "no id"}', "_id"),
        ('{"_id": "b", "title": "no text"}', "text"),
        ('{"_id": "b", "text": ["a list"]}', "text"),
    ],
)
def test_a_bad_line_is_named_with_what_is_wrong(folder: Path, line: str, fault: str) -> None:
    (folder / "corpus.jsonl").write_text(f'{{"_id": "a", "text": "good"}}\n\n{line}\n', "utf-8")
    with pytest.raises(DatasetError) as caught:
        load_corpus(folder)
    assert f"line 3 of '{folder / 'corpus.jsonl'}'" in caught.value.problem
    assert fault in caught.value.problem
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("load", [load_corpus, load_queries])
def test_a_missing_file_says_how_a_data_set_looks(folder: Path, load: Any) -> None:
    with pytest.raises(DatasetError) as caught:
        load(folder / "nowhere")
    assert "nowhere" in caught.value.problem and "qrels/test.tsv" in caught.value.fix


# -- qrels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t2\nq2\td1\t1\n",
        "query-id\tcorpus-id\tscore\r\nq1\td1\t1\r\nq1\td2\t2\r\nq2\td1\t1\r\n",
        "q1\td1\t1\nq1\td2\t2\nq2\td1\t1",  # without a header
        "query-id\tcorpus-id\tscore\n\nq1\td1\t1\n\nq1\td2\t 2 \nq2\td1\t1\n\n",
    ],
)
def test_judgements(folder: Path, text: str) -> None:
    write_qrels(folder, text)
    assert load_qrels(folder, "test") == {"q1": {"d1": 1, "d2": 2}, "q2": {"d1": 1}}


@pytest.mark.parametrize("line", ["q1\td1", "q1 d1 1", "q1\td1\tyes", "q1\td1\t0.5"])
def test_a_bad_judgement_is_named(folder: Path, line: str) -> None:
    write_qrels(folder, f"query-id\tcorpus-id\tscore\nq0\td0\t1\n{line}\n")
    with pytest.raises(DatasetError, match="line 3 of"):
        load_qrels(folder, "test")


def test_a_string_is_taken_for_a_span() -> None:
    query = Question(
        _id="q", text="?", answers=["off", {"text": "on"}], parts=[{"text": "?", "answers": ["hums"]}]
    )
    assert [span.text for span in query.gold] == ["off", "on", "hums"]


@pytest.mark.parametrize(
    ("fields", "judged"),
    [
        ({}, None),
        ({"answerable": False}, False),
        ({"answer": "off"}, True),
        ({"reference": "It is off."}, True),
    ],
)
def test_what_a_line_says_of_being_answerable(fields: dict[str, Any], judged: bool | None) -> None:
    assert Question.model_validate({"_id": "q", "text": "?", **fields}).judged is judged


def test_what_names_the_documents_is_said_where_they_are_missing(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"--corpus, or .* --index"):
        load_corpus(folder)
