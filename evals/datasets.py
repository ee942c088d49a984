"""Evaluation folders in BEIR's layout: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from pipeline.errors import DatasetError
from pipeline.given_files import DATA_BYTES, read_given

HEADERS = ("query-id", "query_id", "qid", "query")  # how the first line of qrels may begin
MEND = "Mend the line and evaluate again."


class HistoryTurn(BaseModel):
    """One earlier message of a conversation."""

    role: Literal["user", "assistant"] = Field(json_schema_extra={"enum": ["user", "assistant", "agent"]})
    text: str = Field(validation_alias=AliasChoices("text", "content"))

    @field_validator("role", mode="before")
    @classmethod
    def _known_role(cls, value: object) -> object:
        """Other collections call the assistant `agent`, `system` or `bot`."""
        return "user" if value in ("user", "human") else "assistant"


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class Document(_Row):
    """One document of a corpus: it becomes one section under its title."""

    id: str = Field(validation_alias="_id")
    title: Annotated[str, BeforeValidator(lambda title: "" if title is None else title)] = ""
    text: str


def _or_text(schema: dict[str, Any]) -> None:
    """A JSON Schema that takes a string as well."""
    whole = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string"}, whole]


class Span(_Row):
    """Words of a document that answer a question by themselves: as text, or by offsets in the file.

    A string is taken for its text.
    """

    model_config = ConfigDict(json_schema_extra=_or_text)

    text: str = ""
    source: str = ""  # "" = wherever they stand
    start: int | None = None
    end: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, row: object) -> object:
        return {"text": row} if isinstance(row, str) else row


class Part(_Row):
    """One of two questions in a message, or one side of a comparison: its words, and what answers it."""

    text: str
    answers: tuple[Span, ...]


class Question(_Row):
    """One question, with what was said before, and what a right answer contains.

    `answers` are alternatives: each of them is enough; of a message with `parts` each wants its own. `alone`
    is a question after a history in words that need none. `kind` says what sort of question it is; of those
    that the documents do not answer, `near` ones are about their topics and `far` ones are not. `reference`
    is a right answer in full, `spans` are where the corpus has what answers, `scope` are
    globs of the documents that were asked where a case was made of it (`evals.cases`). MTRAG-UN says
    `"answerability": ["UNANSWERABLE"]` for `"answerable": false`.
    """

    id: str = Field(validation_alias="_id", json_schema_extra={"type": ["string", "integer"]})
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
    scope: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _answerability(cls, row: object) -> object:
        if isinstance(row, dict) and "answerable" not in row and row.get("answerability"):
            return {**row, "answerable": "UNANSWERABLE" not in row["answerability"]}
        return row

    @property
    def judged(self) -> bool | None:
        """Whether the documents answer it; None where its line does not say."""
        if "answerable" in self.model_fields_set or self.gold or self.reference or self.spans:
            return self.answerable
        return None

    @property
    def gold(self) -> tuple[Span, ...]:
        """The spans of which a right answer contains one."""
        spans = [span for part in self.parts for span in part.answers]
        return (*([Span(text=self.answer)] if self.answer else ()), *self.answers, *spans)


Row = TypeVar("Row", bound=BaseModel)
Answered = TypeVar("Answered", Question, Part)
Qrels = dict[str, dict[str, int]]  # query id → document id → relevance, above 0 only


def default_folder() -> Path:
    """Where the data sets are: `ATHENA_TEST_DATA`, else `shared/data` beside the checkout."""
    return Path(os.environ.get("ATHENA_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")


def load_corpus(folder: Path) -> list[Document]:
    """The documents of `corpus.jsonl`; raises `DatasetError`, naming the line."""
    path = folder / "corpus.jsonl"
    if folder.is_dir() and not path.exists():
        advice = "Name the folder of the documents with --corpus, or ask what you have indexed with --index."
        raise DatasetError(f"'{path}' does not exist.", advice)
    return load_rows(Document, path)


def load_queries(folder: Path, name: str = "queries.jsonl") -> list[Question]:
    """The questions of `queries.jsonl`; raises `DatasetError`, naming the line."""
    return load_rows(Question, folder / name)


def load_rows(kind: type[Row], path: Path) -> list[Row]:
    """What a file of JSON lines holds; raises `DatasetError`, naming the line."""
    return [_parse(kind, line, place) for line, place in _lines(path)]


def with_texts(queries: Iterable[Question], corpus: Path | Callable[[str], str]) -> list[Question]:
    """The questions with the text of each span that is given by offsets in a file.

    `corpus` is the folder of the files, or has their texts by source.

    Raises:
        DatasetError: a file cannot be read, or there is no such folder.
    """
    if isinstance(corpus, Path) and not corpus.is_dir():
        raise DatasetError(f"The folder '{corpus}' does not exist.", "Name the folder of the documents.")
    texts = cache(corpus if callable(corpus) else lambda source: read_text(corpus / source))

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
    """The judgements of a split; none where the folder has no such file. Raises as `load_qrels` does."""
    return load_qrels(folder, split) if _qrels_file(folder, split).is_file() else {}


def load_qrels(folder: Path, split: str) -> Qrels:
    """The judgements of `qrels/<split>.tsv` (query, document, relevance); those of 0 are left out.

    Raises `DatasetError` where it cannot be read, and for a split that is a path instead of a name.
    """
    path = _qrels_file(folder, split)
    qrels: Qrels = {}
    rows = csv.reader(read_text(path).splitlines(), delimiter="\t")
    for number, row in enumerate(rows, start=1):
        if not row or (number == 1 and row[0].strip().lower() in HEADERS):
            continue
        try:
            query_id, document_id, relevance = row[0], row[1], int(row[2])
        except (IndexError, ValueError) as error:
            raise DatasetError(
                f"Cannot read line {number} of '{path}': it is not 'query<tab>document<tab>relevance'.",
                MEND,
            ) from error
        if relevance > 0:
            qrels.setdefault(query_id, {})[document_id] = relevance
    return qrels


def _qrels_file(folder: Path, split: str) -> Path:
    name = f"{split}.tsv"
    if not split or Path(name).name != name:
        raise DatasetError(
            f"'{split:.80}' is no split.", "Name one as its file in the folder qrels is, without .tsv."
        )
    return folder / "qrels" / name


def held_out(question_id: str) -> bool:
    """Whether a question belongs to the half that nothing is chosen on: by the hash of its id, for good."""
    return hashlib.sha256(question_id.encode()).digest()[0] % 2 == 1


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    # Not `splitlines`: JSON strings may hold U+2028 and other characters that it would split at.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield line, f"line {number} of '{path}'"


def read_text(path: Path) -> str:
    """A file's text without a byte order mark; raises `DatasetError`."""
    try:
        return read_given(path, most_bytes=DATA_BYTES, encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise DatasetError(
            f"'{path}' does not exist.",
            "A data set is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR's layout).",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"Cannot read '{path}': {error}.", "It must be a UTF-8 text file.") from error


def _parse(kind: type[Row], line: str, place: str) -> Row:
    try:
        return kind.model_validate(json.loads(line))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"Cannot read {place}: not JSON ({error}).", MEND) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the line"
        raise DatasetError(f"Cannot read {place}: {name}: {first['msg']}.", MEND) from error
