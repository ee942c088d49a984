"""`athena eval check`: what of a question set is missing, odd or wrong, before anything is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evals.datasets import Qrels, Question, Span, load_corpus, load_queries, read_text, relevant_to
from evals.judging import contains
from evals.spans import about, corpus_hash, sections_by_name
from pipeline.errors import DatasetError
from pipeline.stores.base import DocumentStore

NAMED = 10  # ids in a message
KNOWN = {name for field, info in Question.model_fields.items() for name in (field, info.validation_alias)}


@dataclass(frozen=True, slots=True)
class Checked:
    """What `athena eval check --json` prints. `wrong` is to be mended, `odd` may be meant."""

    dataset: str
    questions: int
    documents: int
    kinds: Mapping[str, int]
    counts_for: Mapping[str, int]  # what can be measured → of how many questions
    unjudged: tuple[str, ...]
    wrong: tuple[str, ...]
    odd: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Corpus:
    """The documents' sources, how to get the text of one, and the ids that qrels may name."""

    sources: Collection[str]
    text_of: Callable[[str], str]
    ids: Collection[str]


def check(folder: Path, *, corpus: Path | None = None, split: str = "test") -> Checked:
    """Look a set through; raises `DatasetError` where a file cannot be read at all."""
    queries, qrels = load_queries(folder), relevant_to(folder, split)
    documents = _markdown(corpus) if corpus else _beir(folder)
    judged = {query.id for query in queries if query.judged is not None} | qrels.keys()
    unjudged = tuple(query.id for query in queries if query.id not in judged)
    return Checked(
        dataset=folder.resolve().name,
        questions=len(queries),
        documents=len(documents.sources),
        kinds=dict(Counter(query.kind for query in queries if query.kind)),
        counts_for={
            "ranking (qrels)": sum(query.id in qrels for query in queries),
            "quotes (answer, answers, parts)": sum(bool(query.gold) for query in queries),
            "chunkings (spans)": sum(bool(query.spans) for query in queries),
            "similarity, written answers (reference)": sum(bool(query.reference) for query in queries),
            "abstaining (answerable: false)": sum(query.judged is False for query in queries),
        },
        unjudged=unjudged,
        wrong=(*_wrong(queries, qrels, documents), *_changed(folder, corpus)),
        odd=tuple(_odd(folder, queries, qrels, unjudged)),
    )


def warn_of(
    warn: Callable[[str], None],
    store: DocumentStore,
    ids: Collection[str],
    folder: Path,
    *,
    corpus: Path | None,
    split: str = "test",
) -> None:
    """Say what is wrong with a set for an index, whatever its files are; `ids` are those of its qrels."""

    def text_of(source: str) -> str:
        return store.sections.document(source).text

    sources = {info.source for info in store.sections.documents()}
    documents = _Corpus(sources, cache(text_of), frozenset(ids))
    wrong = _wrong(load_queries(folder), relevant_to(folder, split), documents)
    for line in (*wrong, *(_changed(folder, corpus) if corpus else ())):
        warn(line)


def _beir(folder: Path) -> _Corpus:
    texts = {document.id: document.text for document in load_corpus(folder)}
    return _Corpus(texts, texts.__getitem__, texts)


def _markdown(corpus: Path) -> _Corpus:
    found = {path.relative_to(corpus).as_posix(): read_text(path) for path in corpus.rglob("*.md")}
    if not found:
        raise DatasetError(f"'{corpus}' has no Markdown.", "Name the folder of the documents.")
    return _Corpus(found, found.__getitem__, sections_by_name(corpus))


def _wrong(queries: Sequence[Question], qrels: Qrels, documents: _Corpus) -> Iterator[str]:
    if not queries:
        yield "queries.jsonl has no questions"
    counts = Counter(query.id for query in queries)
    named = {name: [query for query, found in qrels.items() if name in found] for name in _ids(qrels)}
    yield from _said("questions whose id comes twice", [name for name in counts if counts[name] > 1])
    yield from _said("questions without text", [query.id for query in queries if not query.text.strip()])
    yield from _said("qrels of questions that are not there", [name for name in qrels if name not in counts])
    yield from _said(
        "documents in qrels that are not there", [name for name in named if name not in documents.ids]
    )
    yield from _said(
        "questions that are not answerable and have an answer, spans or qrels",
        [
            query.id
            for query in queries
            if not query.answerable and (query.gold or query.spans or query.id in qrels)
        ],
    )
    stands = _stands(documents)
    for query in queries:
        lost = [one for one in (*query.gold, *query.spans) if not stands(one)]
        yield from (f"{query.id}: stands in no document: {one.text or one.model_dump()}" for one in lost)


def _changed(folder: Path, corpus: Path | None) -> Iterator[str]:
    said = about(folder)
    if said and said.sha256 != corpus_hash(corpus or Path(said.corpus)):
        yield (
            "dataset.json: the corpus has changed: see that the answers hold, raise the version, then run "
            f"python -m evals.spans {folder} --corpus {said.corpus}"
        )


def _ids(qrels: Qrels) -> list[str]:
    return list(dict.fromkeys(name for found in qrels.values() for name in found))


def _stands(documents: _Corpus) -> Callable[[Span], bool]:
    """Whether a span stands where it says, or anywhere."""

    @cache
    def stands(span: Span) -> bool:
        if span.source and span.source not in documents.sources:
            return False
        if span.start is not None and span.end is not None:
            end = len(documents.text_of(span.source)) if span.source else 0
            return 0 <= span.start < span.end <= end
        sources = [span.source] if span.source else documents.sources
        return any(contains(documents.text_of(source), span.text) for source in sources)

    return stands


def _odd(folder: Path, queries: Sequence[Question], qrels: Qrels, unjudged: Sequence[str]) -> Iterator[str]:
    yield from _said("questions without judgement: they count for no share", unjudged)
    if not qrels:
        yield "no qrels: rankings cannot be measured"
    if not any(query.gold for query in queries):
        yield "no answers: quotes count only as being of a relevant document"
    if not any(query.judged is False for query in queries):
        yield 'no question with "answerable": false: abstaining cannot be measured'
    lines = read_text(folder / "queries.jsonl").split("\n")
    fields = Counter(name for line in lines if line.strip() for name in json.loads(line))
    for name in sorted(fields.keys() - KNOWN - {"metadata", "answerability"}):
        yield f"the field '{name}' ({fields[name]} lines) is not read"


def _said(what: str, ids: Sequence[str]) -> Iterator[str]:
    if ids:
        more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
        yield f"{what}: {', '.join(ids[:NAMED])}{more}"
