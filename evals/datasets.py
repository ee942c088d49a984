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
    """One document of a corpus: it becomes one section under its title."""

    id: str = Field(validation_alias="_id")
    title: Annotated[str, BeforeValidator(lambda title: "" if title is None else title)] = ""
    text: str


class Span(_Row):
    """A passage of a document that answers a question by itself: its text, or offsets in its file.

    A string in the file is read as the text.
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
    """One of two questions in a message, or one side of a comparison, with its answers."""

    text: str
    answers: tuple[Span, ...]


class Question(_Row):
    """One question with its history and its right answers.

    Each of `answers` is enough; in a message with `parts` every part needs its own. `alone` is the last
    question of a history in words that need no history. `kind` sorts questions; unanswerable ones are `near`
    (about the documents' topics) or `far`. `reference` is a full right answer, `spans` are the places of the
    answers in the corpus. An answer has the fact if all regular expressions of one list of `fact` match it.
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
        """All right answers, those of the parts included."""
        spans = [span for part in self.parts for span in part.answers]
        return (*([Span(text=self.answer)] if self.answer else ()), *self.answers, *spans)


Row = TypeVar("Row", bound=BaseModel)
Answered = TypeVar("Answered", Question, Part)
Qrels = dict[str, dict[str, int]]  # query id → document id → relevance, always above 0


def default_folder() -> Path:
    """Return the folder of the data sets: `ATHENA_TEST_DATA`, else `shared/data` beside the checkout."""
    return Path(os.environ.get("ATHENA_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")


def load_corpus(folder: Path) -> list[Document]:
    """Return the documents of `corpus.jsonl`; raise `DatasetError` with the line's number."""
    path = folder / "corpus.jsonl"
    if folder.is_dir() and not path.exists():
        advice = "Name the folder of the documents with --corpus, or ask what you have indexed with --index."
        raise DatasetError(f"'{path}' does not exist.", advice)
    return load_rows(Document, path)


def load_queries(folder: Path, name: str = "queries.jsonl") -> list[Question]:
    """Return the questions of `queries.jsonl`; raise `DatasetError` with the line's number."""
    return load_rows(Question, folder / name)


def load_rows(kind: type[Row], path: Path) -> list[Row]:
    """Return the rows of a JSON Lines file; raise `DatasetError` with the line's number."""
    return [_parse(kind, line, place) for line, place in _lines(path)]


def with_texts(queries: Iterable[Question], text_of: Callable[[str], str]) -> list[Question]:
    """Return the questions with the text of every span that has offsets; `text_of` reads a source."""
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
    """Return the judgements of a split with a relevance above 0; raise `DatasetError`."""
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
    """Return a file's text without a byte order mark; raise `DatasetError`."""
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
    """Return the value of a JSON file; raise `DatasetError`."""
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
