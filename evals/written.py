"""How a language model's answers are written, cited and warned about: `python -m evals.written --llm NAME`.

Questions over the manuals from the held-out halves of `evals/data`: answerable ones, ones that the documents
do not answer, follow-ups, and questions in other languages. A sentence counts as supported where the cited
passage has `SHARED` of its content words and all of its numbers, ids and commands: this check is independent
of the one that cited it, and knows no language.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from typer import echo

from evals.datasets import Question, load_qrels, load_queries
from evals.indexing import indexed_corpus
from evals.judging import NOBODY
from evals.metrics import mean
from evals.rules import problem_of
from pipeline.answer import Answer, Retrieval
from pipeline.answering.citations import sentences_of, without_markers
from pipeline.answering.literals import literals_of, missing_names, missing_numbers
from pipeline.answering.verification import states_something
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, RunFailed, SentencesCited, SourcesFound, TokenArrived
from pipeline.terms import content_terms, share, text_terms

if TYPE_CHECKING:
    from athena import Athena

DATA = Path("evals/data")
SHARED = 0.5
FIRST = 3  # sections in which a follow-up's search must find the right one
LEAKS = ("<source", "</source", "<think", "Rules:", "numbered sources", "](")
CONTEXT_TOKENS = 1200


@dataclass(frozen=True, slots=True)
class Written:
    """One answer with what was found, and when its first sentence ended and was cited, in seconds."""

    query: Question
    kind: str
    answer: Answer
    retrieval: Retrieval | None
    seconds: float
    first_chip_s: float | None


def questions(most: int) -> dict[str, list[Question]]:
    """At most `most` questions: half answerable, a quarter unanswerable, and the rest in two kinds."""
    strangers = load_queries(DATA / "strangers/manuals/test")
    unanswered = [*load_queries(DATA / "near/manuals"), *(q for q in strangers if not q.answerable)]
    leaning = [q for q in load_queries(DATA / "dialogues/test") if q.kind == "leaning"]
    foreign = load_queries(DATA / "languages", "manuals.jsonl")
    answerable = [q for q in strangers if q.answerable and q.gold]
    return {
        "answerable": _some(answerable, most // 2),
        "unanswerable": _some(unanswered, most // 5),
        "follow-up": _some(leaning, most // 6),
        "other language": _some(foreign, most // 12),
    }


def _some(found: Sequence[Question], most: int) -> list[Question]:
    """The first questions in the order of their ids' hashes: any sample, always the same."""
    return sorted(found, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())[:most]


def write(athena: Athena, query: Question, kind: str) -> Written:
    """Ask a question after its history; nothing of it is stored."""
    chat = athena.chat(private=True, user=NOBODY)
    retrieval, ended, chip = None, None, None
    raw, started = "", time.perf_counter()
    for event in chat.run(query.text, history=[Message(t.role, t.text) for t in query.history] or None):
        now = time.perf_counter()
        match event:
            case SourcesFound(found):
                retrieval = found
            case TokenArrived(text=text):
                raw += text
                ended = ended or (now if len(sentences_of(raw)) > 1 else None)
            case SentencesCited() if chip is None and ended:
                chip = now - ended
            case AnswerFinished(answer):
                return Written(query, kind, answer, retrieval, now - started, chip)
            case RunFailed(error=error) if error:
                raise error
    raise ValueError("the run ended without an answer")


def metrics(
    rows: Sequence[Written], qrels_of: dict[str, set[str]], names: dict[str, str]
) -> dict[str, float]:
    """The shares of the table in docs/decisions/answers.md; nan where there was nothing to measure."""
    known = [row for row in rows if row.kind in ("answerable", "other language")]
    stated = [pair for row in rows for pair in _stated(row)]
    unanswered = [row for row in rows if row.kind == "unanswerable"]
    chips = [row.first_chip_s for row in rows if row.first_chip_s is not None]
    return {
        "fact": mean([float(has_fact(row)) for row in known]),
        "cited": mean([float(cited and right) for cited, right, _ in stated]),
        "marked_wrongly": mean([float(not cited and in_sources) for cited, _, in_sources in stated]),
        "unwarned": mean([float(row.answer.verdict == "answered") for row in unanswered]),
        "follow_up_found": mean(
            [float(_found(row, qrels_of, names)) for row in rows if row.kind == "follow-up"]
        ),
        "first_chip_s": max(chips, default=float("nan")),
        "leaks": float(sum(mark in row.answer.text for row in rows for mark in LEAKS)),
        "seconds": median([row.seconds for row in rows]),
    }


def has_fact(row: Written) -> bool:
    """Whether the answer has the exact values and half of the words of a gold passage."""
    text = without_markers(row.answer.text)
    return any(not problem_of(text, gold.text) for gold in row.query.gold)


def _stated(row: Written) -> list[tuple[bool, bool, bool]]:
    """Of each sentence that states something: whether it is cited, rightly, and whether a source says it."""
    answer, found = row.answer, []
    if answer.mode != "generate":
        return []
    passages = [passage.section.text for passage in row.retrieval.passages] if row.retrieval else []
    by_marker = {citation.marker: citation for citation in answer.citations}
    for piece in sentences_of(answer.text):
        sentence = without_markers(answer.text[piece.start : piece.end])
        if not states_something(sentence):
            continue
        cited = [by_marker[number] for number in piece.numbers if number in by_marker]
        texts = ["\n".join([one.section_text, *one.heading_path]) for one in cited]
        right = any(says(text, sentence) for text in texts)
        found.append((bool(cited), right, any(says(text, sentence) for text in passages)))
    return found


def says(text: str, sentence: str) -> bool:
    """Whether a text has half of a sentence's content words, and all its numbers, ids and commands."""
    stated = literals_of(sentence)
    if missing_numbers(stated, literals_of(text)) or missing_names(stated, text, text):
        return False
    return share(content_terms(sentence), text_terms(text)) >= SHARED


def _found(row: Written, qrels_of: dict[str, set[str]], names: dict[str, str]) -> bool:
    passages = row.retrieval.passages[:FIRST] if row.retrieval else ()
    return any(names.get(p.section.node_id, "") in qrels_of.get(row.query.id, ()) for p in passages)


def main() -> None:
    """Ask, measure, print a line a question and the table."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llm", required=True)
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--hyde", action="store_true")
    parser.add_argument("--out", type=Path, help="JSON lines with every answer")
    given = parser.parse_args()
    settings = load_settings(llm=given.llm, context_tokens=CONTEXT_TOKENS, hyde="on" if given.hyde else "off")
    qrels = load_qrels(DATA / "dialogues/test", "test")
    with indexed_corpus(open_athena(settings), DATA / "manuals", Path("docs_corpus"), None) as (
        athena,
        index,
    ):
        rows = []
        for kind, asked in questions(given.questions).items():
            for query in asked:
                row = write(athena, query, kind)
                rows.append(row)
                echo(f"{kind} {query.id} {row.seconds:.0f} s {row.answer.verdict} {row.answer.mode}")
                if given.out:
                    with given.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(_line(row), ensure_ascii=False) + "\n")
        found = metrics(rows, {name: set(ids) for name, ids in qrels.items()}, dict(index.names))
    echo(json.dumps({name: round(value, 3) for name, value in found.items()}))


def _line(row: Written) -> dict[str, object]:
    answer = row.answer
    return {
        "id": row.query.id,
        "kind": row.kind,
        "question": row.query.text,
        "queries": answer.condensed_question,
        "verdict": answer.verdict,
        "text": answer.text,
        "fact": has_fact(row),
        "stated": _stated(row),
        "notices": answer.notices,
    }


if __name__ == "__main__":
    main()
