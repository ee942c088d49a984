"""What the verdict is calibrated on: questions over indexes, those that are answered and those that are not.

Six kinds: *answerable*; *near*, marked by people as about the topic and not answered; *taken*, answerable
ones with all gold sections taken out of the lists, where another section often still answers; *far*, marked
as about something else; *everyday*, about the world; *foreign*, asked of another collection, and now and
then near this one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evals.datasets import Document, Question, held_out, load_corpus, load_qrels, load_queries, with_texts
from evals.indexing import index_corpus, section_names, section_of
from evals.judging import holds_gold
from evals.retrieval import condensed
from pipeline.finding.fusion import fuse_sections, list_weights, sentence_scores
from pipeline.finding.passages import fetch_sections, gather
from pipeline.stores.base import Ranking, SearchRequest, SearchResponse, SentenceIndex
from pipeline.stores.embedded import EmbeddedStore

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answer import Passage
    from pipeline.options import RetrievalOptions
    from pipeline.stores.base import DocumentStore

Kind = Literal["answerable", "near", "taken", "far", "everyday", "foreign"]
STRANGERS = Path("evals/data/strangers")
MANUALS = Path("evals/data/manuals")
DOCS_CORPUS = Path("docs_corpus")
MOST_QUESTIONS = 250  # of each collection, so that none outweighs the others
MOST_FOREIGN = 60  # of each other collection
MOST_EVERYDAY = 100
MOST_ABSTRACTS = 1200  # of SciFact's 5,183, the judged ones first: enough neighbours, a quarter of the time
SPARE_HITS = 30  # hits that gold sections may take up before they are taken out
SEED = 14
# MTRAG's human rewrites of follow-ups: everyday questions that none of the collections is about.
EVERYDAY = ("clapnq", "fiqa", "govt")


@dataclass(frozen=True, slots=True)
class Ask:
    """One question with the sections that answer it; none where nothing does."""

    id: str
    text: str
    kind: Kind
    gold: frozenset[str] = frozenset()  # ids of sections


@dataclass(frozen=True, slots=True)
class Collection:
    """Questions over one index."""

    name: str
    store: DocumentStore
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class SearchedQuestion:
    """What one search found for one question."""

    collection: str
    ask: Ask
    response: SearchResponse
    passages: tuple[Passage, ...]
    sentences: SentenceIndex


def collections(athena: Athena, data: Path, indexes: Path) -> list[Collection]:
    """All of them, each indexed below `indexes` where it is not yet."""
    docs = data / "docs"
    abstracts = _judged_first(load_corpus(data / "scifact"), data / "scifact")[:MOST_ABSTRACTS]
    mtrag = data / "mtrag" / "mtragun_pooled"
    return [
        _markdown(athena, "manuals", DOCS_CORPUS, _manuals_questions(), indexes),
        _markdown(athena, "rust-book", docs / "rust-book", _strangers("rust-book"), indexes),
        _markdown(
            athena, "opensearch-docs", docs / "opensearch-docs", _strangers("opensearch-docs"), indexes
        ),
        _beir(athena, "scifact", abstracts, data / "scifact", "train", indexes),
        _beir(athena, "mtrag", load_corpus(mtrag), mtrag, "test", indexes),
    ]


def everyday(data: Path) -> list[Ask]:
    """Questions about the world."""
    folder = data / "mtrag" / "mtrag_rewrites"
    rows = [row for name in EVERYDAY for row in load_queries(folder / name, f"{name}_rewrite.jsonl")]
    return [Ask(row.id, row.text.removeprefix("|user|:").strip(), "everyday") for row in rows]


def searches(
    athena: Athena, own: Collection, others: Sequence[Collection], world: Sequence[Ask]
) -> Iterator[SearchedQuestion]:
    """What is found for a collection's questions, without their gold, and for those of the others."""
    chance = random.Random(SEED)  # noqa: S311  (a sample, not a secret)
    asks = list(own.asks)
    for ask in asks if len(asks) <= MOST_QUESTIONS else chance.sample(asks, MOST_QUESTIONS):
        yield _search(athena, own, ask)
        if ask.gold:
            yield _search(athena, own, replace(ask, kind="taken"))
    foreign = [
        Ask(f"{other.name}/{ask.id}", ask.text, "foreign")
        for other in others
        for ask in chance.sample(other.asks, min(len(other.asks), MOST_FOREIGN))
        if ask.kind in ("answerable", "far")
    ]
    # MTRAG has the answers to many of these.
    foreign += chance.sample(list(world), min(len(world), MOST_EVERYDAY)) if own.name != "mtrag" else []
    for ask in foreign:
        yield _search(athena, own, ask)


# -- what is asked ---------------------------------------------------------------------------------------


def _strangers(name: str) -> list[Question]:
    return load_queries(STRANGERS / name / "dev")


def _manuals_questions() -> list[Question]:
    """Strangers' questions, those of the game, and the half of ours that is to choose on."""
    ours = [query for query in load_queries(MANUALS) if not held_out(query.id)]
    return [*_strangers("manuals"), *_strangers("missions"), *ours]


def _kind(query: Question) -> Kind:
    if query.answerable:
        return "answerable"
    return "far" if query.kind == "far" else "near"


def _judged_first(documents: Sequence[Document], folder: Path) -> list[Document]:
    judged = {name for row in load_qrels(folder, "train").values() for name in row}
    return sorted(documents, key=lambda document: (document.id not in judged, document.id))


# -- where it is asked -----------------------------------------------------------------------------------


def _markdown(
    athena: Athena, name: str, corpus: Path, queries: Iterable[Question], indexes: Path
) -> Collection:
    """Questions over a folder of Markdown; every section with a gold span, or that is judged, is gold.

    Questions whose answer is in no indexed section are left out.
    """
    from athena import open_athena

    other = open_athena(athena.settings.model_copy(update={"data_dir": indexes / name}))
    if not other.store.sections.documents():
        other.ingest([corpus])
    store = other.store
    sections = [
        section
        for info in store.sections.documents()
        for section in store.sections.document(info.source).sections
    ]
    named: dict[str, set[str]] = {}
    for section_id, heading in section_names(store).items():
        named.setdefault(heading, set()).add(section_id)
    judged = load_qrels(MANUALS, "test") if name == "manuals" else {}
    asks = []
    for query in with_texts(queries, corpus):
        gold = {
            section.node_id
            for section in sections
            if any(holds_gold(section.text, section.metadata["source"], span) for span in query.gold)
        }
        gold |= {found for heading in judged.get(query.id, {}) for found in named.get(heading, ())}
        if gold or not query.answerable:
            asks.append(Ask(query.id, condensed(query).question, _kind(query), frozenset(gold)))
    return Collection(name, store, tuple(asks))


def _beir(
    athena: Athena, name: str, documents: Sequence[Document], folder: Path, split: str, indexes: Path
) -> Collection:
    """Questions over a BEIR corpus; those without a judged document are left out."""
    store = EmbeddedStore(indexes / name)
    if not store.sections.documents():
        index_corpus(
            documents,
            store=store,
            cutter=athena.sentence_cutter(),
            encoder=athena.encoder,
            manifest=athena.manifest,
        )
    ids = {document.id: section_of(document).node_id for document in documents}
    qrels = load_qrels(folder, split)
    asks = []
    for query in load_queries(folder):
        gold = frozenset(ids[name] for name in qrels.get(query.id, {}) if name in ids)
        if gold or not query.answerable:
            asks.append(Ask(query.id, condensed(query).question, _kind(query), gold))
    return Collection(name, store, tuple(asks))


# -- what is found ---------------------------------------------------------------------------------------


def _search(athena: Athena, own: Collection, ask: Ask) -> SearchedQuestion:
    """The search of `pipeline/retrieve.py` up to the verdict; *taken*: as if the gold were not indexed."""
    options = athena.options
    vector = athena.encoder.encode_query(ask.text)
    response = own.store.sentences.search(SearchRequest(ask.text, vector, options.candidates + SPARE_HITS))
    response = _taken_out(response, ask.gold if ask.kind == "taken" else frozenset(), options)
    weights = list_weights(options, alpha=options.alpha)
    ranking = fuse_sections(response, weights=weights)
    passages = gather(
        fetch_sections(ranking, ask.text, store=own.store, depth=options.top_k),
        sentence_scores(response, weights=weights),
        sentences=own.store.sentences,
        threshold=options.simple_ratio_thresh,
    )
    return SearchedQuestion(own.name, ask, response, tuple(passages), own.store.sentences)


def _taken_out(
    response: SearchResponse, without: frozenset[str], options: RetrievalOptions
) -> SearchResponse:
    def kept(ranking: Ranking, most: int) -> Ranking:
        return tuple(hit for hit in ranking if hit.section_id not in without)[:most]

    return SearchResponse(
        bm25_sections=kept(response.bm25_sections, options.candidates),
        bm25_sentences=kept(response.bm25_sentences, 2 * options.candidates),
        dense_sections=kept(response.dense_sections, options.candidates),
        dense_sentences=kept(response.dense_sentences, 2 * options.candidates),
    )
