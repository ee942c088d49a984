"""Data sets in BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv` in one folder.

docs/evaluation-format.md describes the fields.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import DatasetError

HEADERS = ("query-id", "query_id", "qid", "query")  # the first cell of a header line in qrels
MEND = "Mend the line and evaluate again."


class HistoryTurn(BaseModel):
    """One earlier message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class Document(_Row):
    """One document of a corpus; it is indexed as one section under its title."""

    id: str = Field(validation_alias="_id")
    title: Annotated[str, BeforeValidator(lambda title: "" if title is None else title)] = ""
    text: str


class Span(_Row):
    """A passage that alone answers a question: its text, or its character offsets in the file `source`.

    A plain string in the data set is read as the text, of any document.
    """

    text: str = ""
    source: str = ""  # "" = any document
    start: int | None = None
    end: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, row: object) -> object:
        return {"text": row} if isinstance(row, str) else row


class Part(_Row):
    """One of several questions in a message, or one side of a comparison, with its right answers."""

    text: str
    answers: tuple[Span, ...]


class Question(_Row):
    """One question with its history and its right answers.

    Any one of `answers` is enough; in a message with `parts`, each part needs one of its own. `alone` is the
    question in words that need no history. `kind` groups questions; unanswerable ones are `near` (about the
    documents' topics) or `far`. `reference` is a complete right answer, `spans` are the places of the answers
    in the corpus. An answer has the fact if all regular expressions of one list in `fact` match it.
    """

    id: str = Field(validation_alias="_id")
    text: str
    history: tuple[HistoryTurn, ...] = ()
    answer: str | None = None
    answers: tuple[Span, ...] = ()
    parts: tuple[Part, ...] = ()
    answerable: bool = True
    kind: str = ""
    alone: str = ""
    reference: str = ""
    spans: tuple[Span, ...] = ()
    fact: tuple[tuple[str, ...], ...] = ()

    @property
    def judged(self) -> bool | None:
        """Whether the documents answer the question; None if its line does not say."""
        if "answerable" in self.model_fields_set or self.gold or self.reference or self.spans:
            return self.answerable
        return None

    @property
    def gold(self) -> tuple[Span, ...]:
        """All right answers, including those of the parts."""
        spans = [span for part in self.parts for span in part.answers]
        return (*([Span(text=self.answer)] if self.answer else ()), *self.answers, *spans)


Row = TypeVar("Row", bound=BaseModel)
Answered = TypeVar("Answered", Question, Part)
Qrels = dict[str, dict[str, int]]  # query id → document id → relevance, always above 0


def default_folder() -> Path:
    """Return the folder of the data sets: `ATHENA_TEST_DATA`, else `shared/data` beside the checkout."""
    return Path(os.environ.get("ATHENA_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")


def load_corpus(folder: Path) -> list[Document]:
    """Return the documents of `corpus.jsonl`; raise `DatasetError`, with the number of a wrong line."""
    path = folder / "corpus.jsonl"
    if folder.is_dir() and not path.exists():
        advice = "Name the folder of the documents with --corpus, or ask what you have indexed with --index."
        raise DatasetError(f"'{path}' does not exist.", advice)
    return load_rows(Document, path)


def load_queries(folder: Path, name: str = "queries.jsonl") -> list[Question]:
    """Return the questions of a file in the folder; raise `DatasetError`, with the number of a wrong line."""
    return load_rows(Question, folder / name)


def load_rows(kind: type[Row], path: Path) -> list[Row]:
    """Return the rows of a JSON Lines file; raise `DatasetError`, with the number of a wrong line."""
    return [_parse(kind, line, place) for line, place in _lines(path)]


def with_texts(queries: Iterable[Question], text_of: Callable[[str], str]) -> list[Question]:
    """Return the questions with the text of each answer that has offsets filled in from `text_of(source)`."""
    texts = cache(text_of)

    def read(span: Span) -> Span:
        if span.start is None:
            return span
        return span.model_copy(update={"text": texts(span.source)[span.start : span.end]})

    def read_all(row: Answered) -> Answered:
        return row.model_copy(update={"answers": tuple(map(read, row.answers))})

    return [
        read_all(query).model_copy(update={"parts": tuple(map(read_all, query.parts))}) for query in queries
    ]


def relevant_to(folder: Path, split: str = "test") -> Qrels:
    """Like `load_qrels`, but return {} if the folder has no such file."""
    return load_qrels(folder, split) if (folder / "qrels" / f"{split}.tsv").exists() else {}


def load_qrels(folder: Path, split: str) -> Qrels:
    """Return a split's judgements above 0; raise `DatasetError` if its file is missing or a line is wrong."""
    path = folder / "qrels" / f"{split}.tsv"
    qrels: Qrels = {}
    rows = csv.reader(read_text(path).splitlines(), delimiter="\t")
    for number, row in enumerate(rows, start=1):
        if not row or (number == 1 and row[0].strip().lower() in HEADERS):
            continue
        try:
            query_id, document_id, relevance = row[0], row[1], int(row[2])
        except (IndexError, ValueError) as error:
            raise DatasetError(
                f"Cannot read line {number} of '{path}': it is not 'query<tab>document<tab>relevance'.", MEND
            ) from error
        if relevance > 0:
            qrels.setdefault(query_id, {})[document_id] = relevance
    return qrels


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    # Not `splitlines`: JSON strings may hold U+2028 and other characters that it splits at.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield line, f"line {number} of '{path}'"


def read_text(path: Path) -> str:
    """Return a file's text without a byte order mark; raise `DatasetError` if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise DatasetError(
            f"'{path}' does not exist.",
            "A data set is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR's layout).",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"Cannot read '{path}': {error}.", "It must be a UTF-8 text file.") from error


def read_json(path: Path) -> Any:
    """Return the value of a JSON file; raise `DatasetError` if it is missing or not JSON."""
    try:
        return json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"'{path}' is not JSON: {error}.", "Mend the file and evaluate again.") from error


def _parse(kind: type[Row], line: str, place: str) -> Row:
    try:
        return kind.model_validate(json.loads(line))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"Cannot read {place}: not JSON ({error}).", MEND) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the line"
        raise DatasetError(f"Cannot read {place}: {name}: {first['msg']}.", MEND) from error
