"""Linked sections: if a found sentence names a section by its code, that section is added.

The row of an alarm names its procedure; a question about the alarm wants the steps, which have other words.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.analysis import content_terms, leaf_terms, share
from pipeline.answer import Passage
from pipeline.finding.names import bears_names, names, opening_names
from pipeline.stores.base import DocumentStore, SearchRequest
from pipeline.stores.globs import Globs

READ_PASSAGES = 5  # passages whose sentences are read for codes
LEAST_COVERAGE = 0.5  # of the question's content words, in a sentence that names a code
MOST_CODES = 3  # of one sentence: a list may name forty procedures
CANDIDATES = 20  # sections that the search for the codes returns


def with_linked(
    passages: Sequence[Passage], question: str, *, store: DocumentStore, paths: Globs | None
) -> list[Passage]:
    """Return the passages and the sections that found sentences name by a code, ordered by score.

    Also read are sentences with all codes of the question, such as its row in a table. A linked section's
    score is its passage's (or the first one's) times the share of the question's content words in the
    sentence. If nothing is linked, and the first section's heading begins with the names of the question,
    passages without them are left out. Raises `StoreError`.
    """
    terms, asked = content_terms(question), names(question)
    read = [(hit.node, passage.score) for passage in passages[:READ_PASSAGES] for hit in passage.sentences]
    if asked and passages:
        rows = store.search(SearchRequest(" ".join(asked), None, CANDIDATES, paths)).bm25_sentences
        nodes = store.get_many([hit.node_id for hit in rows])
        read += [(node, passages[0].score) for node in nodes.values() if asked <= names(node.text)]
    scores: dict[str, float] = {}
    for node, score in read:
        coverage = share(terms, leaf_terms(node))
        found = sorted(names(node.text) - asked - names("\n".join(node.metadata["heading_path"])))
        for code in found[:MOST_CODES] if coverage >= LEAST_COVERAGE else ():
            scores[code] = max(score * coverage, scores.get(code, 0.0))
    if not scores:  # "section 2.2.1" is that section alone
        own = passages[0].section.metadata["heading_path"][-1:] if passages else []
        is_alone = bool(asked) and asked <= opening_names(own)
        return [one for one in passages if not is_alone or bears_names(question, one.section)]
    hits = store.search(SearchRequest(" ".join(scores), None, CANDIDATES, paths)).bm25_sections
    known = {section_id for passage in passages for section_id in passage.section_ids}
    linked = []
    for section in store.get_many([hit.node_id for hit in hits]).values():
        opening = opening_names(section.metadata["heading_path"])
        score = max((scores[code] for code in opening & scores.keys()), default=0.0)
        if score and section.node_id not in known:
            linked.append(Passage(section, (), merged=True, score=score))
    return sorted([*passages, *linked], key=lambda passage: -passage.score)
