"""Passages that a search brings for a question and that do not answer it, and what stands by the answer.

Athena's own pieces find them: its terms and BM25 over the sections of one repository, then the bundled
embeddings. An easy negative teaches nothing.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pipeline.analysis import analyse, lexical_terms
from pipeline.models.base import Encoder
from pipeline.stores.embedded.tantivy_index import create_index, open_searcher, search_index
from training.data import NEGATIVES, Data, Negatives, Question, Section, load_data, plain, write_rows

BY_WORDS = 60  # sections that BM25 brings
KEPT = 30
BY_MEANING = 16  # of these, put into the order of both
FEWEST = 5  # a question with fewer has none to learn from
EMBEDDED_CHARACTERS = 230
SAME = 0.93  # cosine above which a section says what the answer says
OF_ANSWER = 60  # letters and digits by which a copy of the answer is known
LONG_QUESTION = 14  # letters and digits; a shorter one may stand in a text by chance


def add_negatives(folder: Path, encoder: Encoder) -> int:
    """Write `negatives.jsonl` beside what was mined; returns how many questions have some."""
    data = load_data(folder)
    found = [negatives for repository in by_repository(data) for negatives in _of(repository, data, encoder)]
    write_rows(folder / NEGATIVES, found)
    return len(found)


def by_repository(data: Data) -> list[list[int]]:
    """The numbers of the sections of each repository that has questions."""
    asked = {data.repository(question) for question in data.questions}
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, section in enumerate(data.sections):
        if section.repository in asked:
            numbers[section.repository].append(number)
    return list(numbers.values())


def _of(sections: Sequence[int], data: Data, encoder: Encoder) -> Iterator[Negatives]:
    """The negatives of one repository's questions."""
    inside = set(sections)
    asked = [number for number, question in enumerate(data.questions) if question.section in inside]
    rows = ((number, 0, _terms(data.sections[number])) for number in sections)
    with tempfile.TemporaryDirectory(prefix="athena-negatives-") as scratch:
        create_index(Path(scratch) / "index", rows)
        searcher = open_searcher(Path(scratch) / "index")
        for number in asked:
            question = data.questions[number]
            hits = search_index(searcher, analyse(question.text), limit=BY_WORDS, documents=None)
            found = different([hit.number for hit in hits], question, data)[:KEPT]
            if len(found) >= FEWEST:
                near = different(data.beside(question.section), question, data)
                ordered = by_meaning(found, question, data, encoder)
                yield Negatives(number, tuple(ordered), tuple(near))


def _terms(section: Section) -> str:
    return lexical_terms(section.text, {"heading_path": list(section.headings)})


def different(numbers: Sequence[int], question: Question, data: Data) -> list[int]:
    """Those sections that neither answer the question nor are another of these, in their order."""
    answer, asked = plain(data.sections[question.section].text), plain(question.text)
    seen: set[str] = set()
    kept = []
    for number in numbers:
        section = data.sections[number]
        text = plain(section.text)
        headings = [plain(heading) for heading in section.headings]
        repeated = text[:80] in seen or answer[:OF_ANSWER] in text or text[:OF_ANSWER] in answer
        named = asked in headings or (
            len(asked) > LONG_QUESTION and any(asked in place for place in (*headings, text))
        )
        if number != question.section and not repeated and not named:
            seen.add(text[:80])
            kept.append(number)
    return kept


def by_meaning(found: Sequence[int], question: Question, data: Data, encoder: Encoder) -> list[int]:
    """The first sections by their cosine, which counts twice, and by their place; what says the same goes."""
    first, rest = found[:BY_MEANING], found[BY_MEANING:]
    texts = [data.sections[number].shown(own_heading=True) for number in (*first, question.section)]
    vectors = encoder.encode_passages([text[:EMBEDDED_CHARACTERS] for text in texts])
    cosines = vectors[:-1] @ encoder.encode_query(question.text)
    places = np.argsort(np.argsort(-cosines)) * 2 + np.arange(len(first))
    others = vectors[:-1] @ vectors[-1] < SAME
    return [first[place] for place in np.argsort(places, kind="stable") if others[place]] + list(rest)
