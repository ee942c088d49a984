"""What is trained on: questions that people wrote in public documentation, their answers, and other sections.

A folder has `pairs.jsonl.gz` (question, passage that answers it, headings above it, repository, file, kind,
licence class) and `sections.jsonl.gz` (the sections of these repositories). `sources.tsv` beside this module
lists the repositories with commits and licences.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).with_name("sources.tsv")
PAIRS, SECTIONS = "pairs.jsonl.gz", "sections.jsonl.gz"
NEVER = (
    "powershell-docs", "streamlit/docs", "aegis-athena", "rust-lang/book", "rust-book", "opensearch",
    "doc2dial", "squad", "xquad", "2wiki", "scifact", "mtrag",
)  # fmt: skip
"""Parts of repositories' names: what Athena is measured on is never trained on."""
ALLOWED = re.compile(r"(Apache-2\.0|BSD|MIT|CC-BY|CC0/PD)(?!-)")
"""Licences whose texts may be learned from and the result given away under MIT: no share-alike, NC or ND."""
HELD_OUT_OF_100 = 18  # repositories
LARGEST_HELD_OUT = 160  # questions: one that fills the set alone is trained on


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the passage that answers it, in one repository."""

    question: str
    passage: str  # under the headings above it, without its own, which is the question
    repository: str
    problem: bool  # a complaint ("Pump fails to start"), not a question


@dataclass(frozen=True, slots=True)
class Data:
    """The pairs, and the texts of the sections of each repository, each under its headings."""

    pairs: Sequence[Pair]
    sections: Mapping[str, Sequence[str]]

    def held_out(self) -> frozenset[str]:
        """The repositories that nothing is trained on: a share of the smaller ones, by their hashed names."""
        asked: dict[str, int] = defaultdict(int)
        for pair in self.pairs:
            asked[pair.repository] += 1
        small = (name for name, count in asked.items() if count <= LARGEST_HELD_OUT)
        return frozenset(name for name in small if _hash(name) % 100 < HELD_OUT_OF_100)


def _hash(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def load_data(folder: Path) -> Data:
    """The data of a folder, of permitted repositories alone."""
    allowed = permitted()
    pairs = [
        Pair(row["q"], under(row["path_headings"], row["passage"]), row["repo"], row["kind"] == "problem")
        for row in _rows(folder / PAIRS)
        if row["repo"] in allowed and not row["kind"].startswith("dataset:")
    ]
    sections: dict[str, list[str]] = defaultdict(list)
    for row in _rows(folder / SECTIONS):
        if row["repo"] in allowed:
            sections[row["repo"]].append(under(row["headings"], row["text"]))
    return Data(pairs, sections)


def permitted(path: Path = SOURCES) -> frozenset[str]:
    """The repositories of a list; raises `SystemExit` where one must not be trained on."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        name, licence = row["repository"], row["licence"]
        if any(part in name.lower() for part in NEVER):
            raise SystemExit(f"{name} is what Athena is measured on: it is never trained on.")
        if not ALLOWED.match(licence) or re.search(r"-(SA|NC|ND)|GPL", licence):
            raise SystemExit(f"{name}: '{licence}' is neither permissive nor CC-BY.")
    return frozenset(row["repository"] for row in rows)


def under(headings: Sequence[str], text: str) -> str:
    """A text under its heading path, as `pipeline/finding/reranking.py` gives it to the cross-encoder."""
    path = " > ".join(headings)
    return f"{path}\n{text}" if path and not text.startswith(path) else text


def digest(folder: Path) -> str:
    """The SHA-256 of both files together."""
    whole = hashlib.sha256()
    for name in (PAIRS, SECTIONS):
        whole.update((folder / name).read_bytes())
    return whole.hexdigest()


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
