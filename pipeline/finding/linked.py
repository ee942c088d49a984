"""Linked sections: where a found sentence names a section by its code, that section is brought, too.

The row of an alarm names its procedure; a question about the alarm wants the steps, which have other words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.answer import Passage
from pipeline.finding.names import bears_names, is_named, names
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, SearchRequest
from pipeline.stores.globs import Globs
from pipeline.terms import content_terms, leaf_terms, share

READ_PASSAGES = 5  # whose sentences may name others
LEAST_COVERAGE = 0.5  # of the question's content words, in a sentence that names
MOST_CODES = 3  # of one sentence: a list may name forty procedures
CANDIDATES = 20  # sections that the search for the codes gives


def with_linked(
    passages: Sequence[Passage], question: str, *, store: DocumentStore, paths: Globs | None
) -> list[Passage]:
    """Return the passages, and the sections that found sentences name by a code, ordered by score.

    Such sentences are those found in the first passages, and those that have all codes of the question, such
    as its row in a table. A linked section's score is that of the passage (or of the first passage) times the
    share of the question's content words in the sentence. If nothing is linked and the question names the
    first section, sections without that name are left out. Raises `StoreError`.
    """
    terms, asked = content_terms(question), names(question)
    read = [(hit.node, passage.score) for passage in passages[:READ_PASSAGES] for hit in passage.sentences]
    if asked and passages:
        rows = store.sentences.search(SearchRequest(" ".join(asked), None, CANDIDATES, paths)).bm25_sentences
        nodes = store.sentences.get_many([hit.node_id for hit in rows])
        read += [(node, passages[0].score) for node in nodes.values() if asked <= names(node.text)]
    scores: dict[str, float] = {}
    for node, score in read:
        coverage = share(terms, leaf_terms(node))
        found = sorted(names(node.text) - asked - names("\n".join(node.metadata["heading_path"])))
        for code in found[:MOST_CODES] if coverage >= LEAST_COVERAGE else ():
            scores[code] = max(score * coverage, scores.get(code, 0.0))
    if not scores:  # what is named leads nowhere else: "section 2.2.1" is that section alone
        is_alone = bool(passages) and is_named(question, passages[0].section)
        return [one for one in passages if not is_alone or bears_names(question, one.section)]
    hits = store.sentences.search(SearchRequest(" ".join(scores), None, CANDIDATES, paths)).bm25_sections
    sections = store.sections.get_many([hit.node_id for hit in hits])
    known = {section_id for passage in passages for section_id in passage.section_ids}
    linked = [
        Passage(section, (), merged=True, score=score)
        for section in sections.values()
        if section.node_id not in known and (score := _named(section, scores))
    ]
    together = list(passages)
    for one in linked:
        together.insert(sum(passage.score >= one.score for passage in together), one)
    return together


def _named(section: Node, scores: Mapping[str, float]) -> float:
    """Return the best score of the codes that begin one of a section's headings; 0 if none do."""
    opening = {name for heading in section.metadata["heading_path"] for name in names(heading.split(" ")[0])}
    return max((scores[code] for code in opening if code in scores), default=0.0)
