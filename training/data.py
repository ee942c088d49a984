"""Training data: questions that people wrote in public documentation, their answers, and other sections.

A data folder has `pairs.jsonl.gz` (question, passage that answers it, headings above the passage, repository,
file, kind, licence class) and `sections.jsonl.gz` (the sections of these repositories). `sources.tsv` in this
package lists the repositories with commits and licences.
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
"""Parts of the names of repositories that Athena is measured on; training refuses them."""
ALLOWED = re.compile(r"(Apache-2\.0|BSD|MIT|CC-BY|CC0/PD)(?!-)")
"""Licences that allow training on a text and publishing the model under MIT; no -SA, -NC, -ND or GPL."""
HELD_OUT_OF_100 = 18  # per cent of the repositories
LARGEST_HELD_OUT = 160  # questions; a larger repository would dominate the held-out set


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the passage that answers it, from the same repository."""

    question: str
    passage: str  # begins with the headings above it, except its own heading, which is the question
    repository: str
    problem: bool  # a complaint ("Pump fails to start"), not a question


@dataclass(frozen=True, slots=True)
class Data:
    """Pairs of question and passage; and for each repository, its sections' texts with their headings."""

    pairs: Sequence[Pair]
    sections: Mapping[str, Sequence[str]]

    def held_out(self) -> frozenset[str]:
        """Return the repositories kept out of training: about 18 % of the smaller ones, by hash of name."""
        asked: dict[str, int] = defaultdict(int)
        for pair in self.pairs:
            asked[pair.repository] += 1
        small = (name for name, count in asked.items() if count <= LARGEST_HELD_OUT)
        hashes = ((name, hashlib.sha256(name.encode()).hexdigest()[:8]) for name in small)
        return frozenset(name for name, digest in hashes if int(digest, 16) % 100 < HELD_OUT_OF_100)


def load_data(folder: Path) -> Data:
    """Load a data folder; leave out repositories that are not `permitted`, and pairs of kind `dataset:…`."""
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
    """Return the repositories listed in the TSV file `path`; raise `SystemExit` if one must not be used."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        name, licence = row["repository"], row["licence"]
        if any(part in name.lower() for part in NEVER):
            raise SystemExit(f"Athena is measured on {name}: remove it from the training list.")
        if not ALLOWED.match(licence) or re.search(r"-(SA|NC|ND)|GPL", licence):
            raise SystemExit(f"{name}: '{licence}' is neither permissive nor CC-BY.")
    return frozenset(row["repository"] for row in rows)


def under(headings: Sequence[str], text: str) -> str:
    """Return `text` below a line with its heading path, like `best_window` of pipeline.finding.passages."""
    path = " > ".join(headings)
    return f"{path}\n{text}" if path and not text.startswith(path) else text


def digest(*files: Path) -> str:
    """Return the SHA-256 of the concatenated files, in hexadecimal."""
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.read_bytes())
    return whole.hexdigest()


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
