"""Measure a language model's answers, citations and warnings: `python -m evals.written --llm NAME`.

The questions are about the manuals, from the held-out halves of `evals/data`: answerable ones, ones that the
documents do not answer, follow-ups, and questions in other languages. A sentence counts as supported if the
cited passage has `SHARED` of its content words and all of its numbers, ids and commands. This check is
independent of the product's own. If the product translated a sentence to check it, the translation is used.
Sentences that say that the documents do not answer are not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from typer import echo

from evals.datasets import Question, load_qrels, load_queries, read_text
from evals.indexing import indexed_corpus
from evals.judging import NOBODY, problem_of
from evals.metrics import mean
from pipeline.analysis import content_terms, share, text_terms
from pipeline.answer import Answer, Message
from pipeline.answering.citations import sentences_of, without_markers
from pipeline.answering.literals import literals_of, missing_names, missing_numbers
from pipeline.answering.verification import states_something
from pipeline.steps.events import AnswerFinished, RunFailed, SentencesCited, SourcesFound, TokenArrived

if TYPE_CHECKING:
    from athena import Athena

DATA, CORPUS = Path("evals/data"), Path("docs_corpus")
SHARED = 0.5
DENIES = re.compile(  # a sentence that says that the documents do not answer
    r"document\w* (?:do(?:es)?(?: not|n't)|(?:provide|contain|give)s? no)"
    r"|\bnot (?:\w+ )?(?:specified|mentioned|provided|stated|described|covered|given|available|found|listed)",
    re.IGNORECASE,
)
FIRST = 3  # passages among which a follow-up's right section must be
LEAKS = ("<source", "</source", "<closest", "<think", "Rules:", "numbered sources", "](")
CONTEXT_TOKENS = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One answer and its measurements; stored as a line of the file `--out`."""

    id: str
    kind: str
    question: str
    searched: str  # the standalone queries
    verdict: str
    text: str
    notices: tuple[str, ...]
    fact: bool  # the answer has the fact of the question
    stated: tuple[tuple[bool, bool, bool], ...]  # sentences: is cited, cited rightly, is in any source
    found: bool  # a section that the qrels name is among the first three passages
    leaks: int
    seconds: float
    first_chip_s: float | None  # from the end of the first sentence to its citation


def questions(most: int) -> dict[str, list[Question]]:
    """Return questions by kind: of `most`, 1/2 answerable, 1/5 not, 1/6 follow-ups, 1/12 other languages."""
    strangers = load_queries(DATA / "strangers/manuals/test")
    unanswered = [*load_queries(DATA / "near/manuals"), *(q for q in strangers if not q.answerable)]
    leaning = [q for q in load_queries(DATA / "dialogues/test") if q.kind == "leaning"]
    foreign = load_queries(DATA / "languages", "manuals.jsonl")
    return {
        "answerable": _some([q for q in strangers if q.answerable and q.gold], most // 2),
        "unanswerable": _some(unanswered, most // 5),
        "follow-up": _some(leaning, most // 6),
        "other language": _some(foreign, most // 12),
    }


def _some(found: Sequence[Question], most: int) -> list[Question]:
    """Return at most `most` questions, sampled by the hash of the id: always the same ones."""
    return sorted(found, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())[:most]


def write(
    athena: Athena, query: Question, kind: str, *, right: Set[str], names: Mapping[str, str]
) -> Written:
    """Ask a question after its history, and measure its answer; store nothing. Raises the run's error."""
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
                passages = retrieval.passages if retrieval else ()
                return Written(
                    id=query.id,
                    kind=kind,
                    question=query.text,
                    searched=answer.condensed_question,
                    verdict=answer.verdict or "",
                    text=answer.text,
                    notices=answer.notices,
                    fact=has_fact(answer.text, query),
                    stated=tuple(stated(answer, [passage.section.text for passage in passages])),
                    found=any(
                        names.get(section) in right
                        for passage in passages[:FIRST]
                        for section in passage.section_ids
                    ),
                    leaks=sum(mark in answer.text for mark in LEAKS),
                    seconds=round(now - started, 1),
                    first_chip_s=chip,
                )
            case RunFailed(error=error):
                raise error
    raise ValueError("the run ended without an answer")


def metrics(rows: Sequence[Written]) -> dict[str, float]:
    """Return the figures in docs/decisions/answers.md; a share without data is 0, `first_chip_s` nan."""
    known = [row for row in rows if row.kind in ("answerable", "other language")]
    every = [sentence for row in rows for sentence in row.stated]
    return {
        "fact": mean([float(row.fact) for row in known]),
        "cited": mean([float(cited and right) for cited, right, _ in every]),
        "marked_wrongly": mean([float(not cited and in_sources) for cited, _, in_sources in every]),
        "unwarned": mean([float(is_unwarned(row)) for row in rows if row.kind == "unanswerable"]),
        "follow_up_found": mean([float(row.found) for row in rows if row.kind == "follow-up"]),
        "first_chip_s": max((row.first_chip_s for row in rows if row.first_chip_s), default=float("nan")),
        "leaks": float(sum(row.leaks for row in rows)),
        "seconds": median([row.seconds for row in rows]),
    }


def is_unwarned(row: Written) -> bool:
    """Whether neither the verdict nor the text says that the documents may not answer the question."""
    return row.verdict == "answered" and not any(
        DENIES.search(row.text[piece.start : piece.end]) for piece in sentences_of(row.text)
    )


def has_fact(text: str, query: Question) -> bool:
    """Whether an answer has the question's `fact`, or without one a gold answer's values and words."""
    text = without_markers(text)
    if query.fact:
        plain = re.sub(r"[*`]", "", text)
        return any(all(re.search(one, plain, re.IGNORECASE) for one in every) for every in query.fact)
    return any(not problem_of(text, gold.text) for gold in query.gold)


def stated(answer: Answer, passages: Sequence[str]) -> Iterator[tuple[bool, bool, bool]]:
    """Yield for each factual sentence: is it cited, does a cited passage say it, does any passage say it?"""
    by_marker = {citation.marker: citation for citation in answer.citations}
    translations = {item.start: item.translation for item in answer.support}
    for piece in sentences_of(answer.text) if answer.mode == "generate" else ():
        sentence = translations.get(piece.start) or without_markers(answer.text[piece.start : piece.end])
        if not states_something(sentence) or DENIES.search(sentence):
            continue
        cited = [by_marker[number] for number in piece.numbers if number in by_marker]
        texts = ["\n".join([one.section_text, *one.heading_path]) for one in cited]
        right = any(says(text, sentence) for text in texts)
        yield bool(cited), right, any(says(text, sentence) for text in passages)


def says(text: str, sentence: str) -> bool:
    """Whether a text has half of a sentence's content words, and all its numbers, ids and commands."""
    stated, given = literals_of(sentence), literals_of(text)
    if missing_numbers(stated, given) or missing_names(stated, given, text, text):
        return False
    return share(content_terms(sentence), text_terms(text)) >= SHARED


def main() -> None:
    """Ask, print a line for each question, then the metrics as JSON; reuse answers in the file `--out`."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llm", required=True)
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--hyde", action="store_true")
    parser.add_argument("--out", type=Path, help="JSON Lines file of answers; an interrupted run continues")
    given = parser.parse_args()
    settings = load_settings(llm=given.llm, context_tokens=CONTEXT_TOKENS, hyde="on" if given.hyde else "off")
    qrels = load_qrels(DATA / "dialogues/test", "test")
    lines = read_text(given.out).splitlines() if given.out and given.out.exists() else []
    done = {row.id: row for row in (Written(**json.loads(line)) for line in lines)}
    rows = []
    with indexed_corpus(open_athena(settings), DATA / "manuals", CORPUS, None) as (athena, index):
        for kind, asked in questions(given.questions).items():
            for query in asked:
                right = frozenset(qrels.get(query.id, ()))
                row = done.get(query.id) or write(athena, query, kind, right=right, names=index.names)
                rows.append(row)
                echo(f"{kind} {row.id} {row.seconds:.0f} s {row.verdict}")
                if given.out and query.id not in done:
                    with given.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
    echo(json.dumps({name: round(value, 3) for name, value in metrics(rows).items()}))


if __name__ == "__main__":
    main()
