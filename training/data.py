"""What is mined and trained on: sections, questions whose answer is one of them, and where both come from.

A folder of data has `sections.jsonl`, `questions.jsonl` and, once they were looked for, `negatives.jsonl`.
Sections and questions are named by their lines, from 0.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).with_name("sources.tsv")
SECTIONS, QUESTIONS, NEGATIVES = "sections.jsonl", "questions.jsonl", "negatives.jsonl"

NEVER = (
    "powershell-docs", "streamlit/docs", "aegis-athena", "rust-lang/book", "rust-book", "opensearch",
    "doc2dial", "squad", "xquad", "2wiki", "scifact", "mtrag",
)  # fmt: skip
"""Parts of repositories' names: what Athena is measured with is never trained on."""

ALLOWED = re.compile(r"(Apache-2\.0|BSD|MIT|CC-BY|CC0/PD)(?!-)")
"""Licences whose texts may be learned from and the outcome given away under MIT; no share-alike, NC or ND."""

HELD_OUT_OF_100 = 18  # repositories, of those that are small enough not to fill a set alone
LARGEST_HELD_OUT = 160  # questions


@dataclass(frozen=True, slots=True)
class Source:
    """A public repository at a commit."""

    repository: str
    commit: str
    licence: str


@dataclass(frozen=True, slots=True)
class Section:
    """The text under a heading, which is the last of its headings; before the first, there are none."""

    repository: str
    file: str
    headings: tuple[str, ...]
    text: str

    def shown(self, *, own_heading: bool) -> str:
        """What the cross-encoder reads, as `pipeline/finding/reranking.py` writes it."""
        path = " > ".join(self.headings if own_heading else self.headings[:-1])
        return f"{path}\n{self.text}" if path else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the section that answers it, whose own heading it is."""

    text: str
    kind: str  # question, problem or faq
    section: int


@dataclass(frozen=True, slots=True)
class Negatives:
    """Sections that do not answer a question: what a search brings, best first, and what stands beside."""

    question: int
    found: tuple[int, ...]
    beside: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Data:
    """A folder of data; `negatives` by the question's number."""

    sections: Sequence[Section]
    questions: Sequence[Question]
    negatives: Mapping[int, Negatives]

    def repository(self, question: Question) -> str:
        """Where a question was asked."""
        return self.sections[question.section].repository

    def beside(self, number: int) -> list[int]:
        """The sections next to one in its file."""
        place = (self.sections[number].repository, self.sections[number].file)
        near = range(max(0, number - 2), min(len(self.sections), number + 4))
        return [
            other
            for other in near
            if other != number and (self.sections[other].repository, self.sections[other].file) == place
        ]

    def held_out(self) -> frozenset[str]:
        """The repositories that nothing is trained on: a share of the smaller ones, by their hashed names."""
        asked = Counter(self.repository(question) for question in self.questions)
        return frozenset(
            name for name, number in asked.items() if number <= LARGEST_HELD_OUT and _drawn(name)
        )


def _drawn(repository: str) -> bool:
    return int(hashlib.sha256(repository.encode()).hexdigest()[:8], 16) % 100 < HELD_OUT_OF_100


def load_sources(path: Path = SOURCES) -> list[Source]:
    """The repositories to mine; raises `SystemExit` where one must not be."""
    with path.open(encoding="utf-8", newline="") as file:
        sources = [Source(**row) for row in csv.DictReader(file, delimiter="\t")]
    for source in sources:
        check(source)
    return sources


def check(source: Source) -> None:
    """Stop where a repository is measured with, or where its licence does not allow what is made of it."""
    if any(name in source.repository.lower() for name in NEVER):
        raise SystemExit(f"{source.repository} is what Athena is measured on: it is never trained on.")
    if not ALLOWED.match(source.licence) or re.search(r"-(SA|NC|ND)|GPL", source.licence):
        raise SystemExit(f"{source.repository}: '{source.licence}' is neither permissive nor CC-BY.")


def load_data(folder: Path) -> Data:
    """What lies in a folder; without negatives, if none were looked for."""
    sections = [Section(**row | {"headings": tuple(row["headings"])}) for row in _rows(folder / SECTIONS)]
    questions = [Question(**row) for row in _rows(folder / QUESTIONS)]
    found = [
        Negatives(row["question"], tuple(row["found"]), tuple(row["beside"]))
        for row in (_rows(folder / NEGATIVES) if (folder / NEGATIVES).is_file() else ())
    ]
    return Data(sections, questions, {one.question: one for one in found})


def write_rows(path: Path, rows: Iterable[Section | Question | Negatives]) -> None:
    """A line of JSON for each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def data_digest(folder: Path) -> str:
    """The SHA-256 over the three files."""
    digest = hashlib.sha256()
    for name in (SECTIONS, QUESTIONS, NEGATIVES):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def plain(text: str) -> str:
    """A text's letters and digits alone, to tell the same from other texts."""
    return re.sub(r"\W+", "", text.lower())


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
