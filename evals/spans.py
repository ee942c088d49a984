"""Where the answers of a question set stand in its corpus, and whether that is still the corpus.

`python -m evals.spans FOLDER --corpus DIR` writes `spans` into `queries.jsonl`, made from the answers and the
qrels, and the corpus's hash into `dataset.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.datasets import Question, load_qrels, read_text
from pipeline.errors import DatasetError
from pipeline.terms import content_terms, share, text_terms
from readers.cutting import SentenceCutter
from readers.levels import Section
from readers.sections import read_sections

ABOUT = "dataset.json"
SAME = 0.5  # of the answer's content terms: a sentence that says the same in another relevant section
FIGURE = re.compile(r"\d[\d:.,]*\b")
MEND = (
    "Mend `answer` or the qrels of the questions named, raise the version in dataset.json, and run "
    "`python -m evals.spans FOLDER --corpus DIR`."
)


class About(BaseModel):
    """What `dataset.json` says: the set's version, the corpus that it was made on, and its hash."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    corpus: str  # a folder, relative to where the command is run
    sha256: str


def about(folder: Path) -> About | None:
    """What a set says of itself; None where it has no `dataset.json`. Raises `DatasetError`."""
    path = folder / ABOUT
    if not path.is_file():
        return None
    try:
        return About.model_validate_json(read_text(path))
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise DatasetError(f"Cannot read '{path}': {problem}.", "It has version, corpus, sha256.") from error


def corpus_hash(corpus: Path) -> str:
    """The hash of a folder's Markdown: of each file's path and bytes, in the order of the paths."""
    whole = hashlib.sha256()
    for path in sorted(corpus.rglob("*.md"), key=lambda path: path.relative_to(corpus).as_posix()):
        whole.update(path.relative_to(corpus).as_posix().encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def sections_by_name(corpus: Path) -> dict[str, Section]:
    """The sections of a folder's Markdown by `SOURCE#HEADING > PATH`."""
    found = {}
    for path in sorted(corpus.rglob("*.md")):
        source = path.relative_to(corpus).as_posix()
        for section in read_sections(read_text(path), source=source):
            found[f"{source}#{' > '.join(section.metadata['heading_path'])}"] = section
    return found


def spans_of(
    question: Question, relevant: Sequence[Section], *, cutter: SentenceCutter
) -> list[dict[str, Any]]:
    """Where the relevant sections answer the question; raises `ValueError` with what stands in none of them.

    Of one that says it in other words it is the sentence that shares most with the answer, if it shares
    enough.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for gold in question.gold:
        there = [section for section in relevant if gold.text in section.text]
        if not there:
            raise ValueError(gold.text)
        for section in there:
            found.setdefault(section.node_id, []).append(_exact(gold.text, section))
    if question.answer:
        for section in relevant:
            alike = None if section.node_id in found else _alike(question.answer, section, cutter)
            found |= {section.node_id: [alike]} if alike else {}
    spans = [span for spans in found.values() for span in spans]
    return [span for number, span in enumerate(spans) if span not in spans[:number]]


def _exact(answer: str, section: Section) -> dict[str, Any]:
    start = section.start_char_idx + section.text.index(answer)
    return _span(section, start, start + len(answer))


def _alike(answer: str, section: Section, cutter: SentenceCutter) -> dict[str, Any] | None:
    terms, figures = content_terms(answer), set(FIGURE.findall(answer))
    leaves = [leaf for leaf in cutter.cut(section) if figures <= set(FIGURE.findall(leaf.text))]
    scored = [(share(terms, text_terms(leaf.text)), leaf) for leaf in leaves]
    best, leaf = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return _span(section, leaf.start_char_idx, leaf.end_char_idx) if leaf and best >= SAME else None


def _span(section: Section, start: int, end: int) -> dict[str, Any]:
    return {"source": section.metadata["source"], "start": start, "end": end}


def _words(text: str) -> int:
    return len(text.split())


def rewritten(folder: Path, corpus: Path) -> str:
    """The text of `queries.jsonl` with all spans; raises `DatasetError`, naming what stands nowhere."""
    sections, qrels, cutter = sections_by_name(corpus), load_qrels(folder, "test"), SentenceCutter(_words)
    lines, lost = [], []
    for line in read_text(folder / "queries.jsonl").splitlines():
        row = {name: value for name, value in json.loads(line).items() if name != "spans"}
        relevant = [sections[name] for name in qrels.get(row["_id"], {}) if name in sections]
        try:
            spans = spans_of(Question.model_validate(row), relevant, cutter=cutter)
        except ValueError as error:
            lost.append(f"{row['_id']} ({error})")
        else:
            lines.append(json.dumps(row | ({"spans": spans} if spans else {}), ensure_ascii=False))
    if lost:
        raise DatasetError(
            f"'{folder}': these answers stand in none of their sections: {'; '.join(lost)}.", MEND
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the spans, and the corpus's hash."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    given = parser.parse_args()
    queries = given.folder / "queries.jsonl"
    if queries.is_file():
        queries.write_text(rewritten(given.folder, given.corpus), encoding="utf-8")
    said = about(given.folder)
    now = About(
        version=said.version if said else 1, corpus=str(given.corpus), sha256=corpus_hash(given.corpus)
    )
    (given.folder / ABOUT).write_text(now.model_dump_json(indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
