"""Passages: fetch fused sections with the sentences found in them, and select those that fit the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from pipeline.analysis import PATH_SEPARATOR, asked_names
from pipeline.answer import Passage, Retrieval
from pipeline.finding.fusion import Fused
from pipeline.finding.merging import is_merged
from pipeline.finding.names import names_first
from pipeline.models.tokens import CountTokens
from pipeline.nodes import Node, ScoredNode, StoredNode
from pipeline.options import NO_BUDGET
from pipeline.steps.records import Step
from pipeline.stores.base import DocumentStore, sentences_by_section
from readers.dialects import display, title_key

SHORT = 1500  # characters; a section up to this length is in the prompt as a whole
MARK_TOKENS = 24  # tokens of the lines around a source in a prompt
MOST_LEAVES = 16  # most found sentences of a passage
WINDOW_WORDS, LEAD_WORDS = 70, 15  # of a passage, as in training; of these, before the best sentence
LOOKED_AT = 100  # first sections of the ranking that are searched for names and versions


def fetch_sections(
    ranking: Sequence[Fused], question: str, *, store: DocumentStore, depth: int
) -> list[tuple[Fused, StoredNode]]:
    """Return up to `depth` sections of a ranking with their nodes, in the order of `names_first`.

    Left out are pages of other versions, and sections that another process has deleted since the search.
    """
    nodes = store.get_many([item.id for item in ranking[:depth]])
    title = f"={title_key(question)}"
    is_title = not store.lacking([title])
    if is_title or asked_names(question) or any("version" in node.metadata for node in nodes.values()):
        nodes = store.get_many([item.id for item in ranking[:LOOKED_AT]])
    found = [(item, nodes[item.id]) for item in ranking if item.id in nodes]
    return names_first(found, [node for _, node in found], question)[:depth]


def gather(
    found: Sequence[tuple[Fused, StoredNode]],
    scores: Mapping[str, Mapping[str, float]],
    *,
    nodes: DocumentStore,
) -> list[Passage]:
    """Return a passage for each section, in their order, with its best sentences and their scores.

    `scores` is by section id, then sentence id. A passage is `merged` if enough of its sentences were found.
    """
    best = {
        item.id: sorted(scores.get(item.id, {}).items(), key=lambda found: -found[1])[:MOST_LEAVES]
        for item, _ in found
    }
    leaves = nodes.get_many([id_ for own in best.values() for id_, _ in own])
    passages = []
    for item, section in found:
        hits = [ScoredNode(leaves[id_], score) for id_, score in best[item.id] if id_ in leaves]
        hits.sort(key=lambda hit: (-hit.score, hit.node.metadata["position"]))
        merged = is_merged(len(scores.get(item.id, ())), len(section.sentence_ids))
        passages.append(Passage(section, tuple(hits), merged, item.score))
    return passages


def fetched(passages: Sequence[Passage]) -> list[dict[str, Any]]:
    """Return the id, source and headings of each passage's section, for the step's data."""
    return [
        {
            "section_id": passage.section.node_id,
            "source": passage.section.metadata["source"],
            "heading_path": passage.section.metadata["heading_path"],
        }
        for passage in passages
    ]


def passage_leaves(passages: Sequence[Passage], *, store: DocumentStore) -> dict[str, list[Node]]:
    """Return all sentences of each passage, in reading order, by the id of the passage's section."""
    found = sentences_by_section(store, [section for passage in passages for section in passage.section_ids])
    return {
        passage.section.node_id: [leaf for section in passage.section_ids for leaf in found.get(section, ())]
        for passage in passages
    }


def place_of(passage: Passage) -> str:
    """Return a passage's source and headings on one line: `ecs.md > ECS > Tank`."""
    section = passage.section
    return " ".join(" > ".join([section.metadata["source"], *section.metadata["heading_path"]]).split())


def prompt_text(passage: Passage) -> str:
    """Return the text of a passage for the prompt, as readers see it.

    The whole section if it is merged or short, else the paragraphs of the sentences found, with … for gaps.
    """
    section = passage.section
    text = section.metadata.get("shown", section.text)
    if passage.whole or len(text) <= SHORT:
        return display(text).strip()
    offset, spans = section.start_char_idx, list[tuple[int, int]]()
    for node in sorted((hit.node for hit in passage.sentences), key=lambda node: node.start_char_idx):
        start = text.rfind("\n\n", 0, node.start_char_idx - offset) + 2
        stop = text.find("\n\n", node.end_char_idx - offset)
        spans.append((start if start > 1 else 0, len(text) if stop == -1 else stop))
    pieces, last = list[str](), 0
    for start, end in spans:
        if end > last:
            pieces += ["…"] if start > last + 2 else []
            pieces.append(display(text[max(start, last) : end]).strip())
            last = end
    return "\n\n".join([*pieces, *(["…"] if last < len(text) else [])])


def best_window(passage: Passage) -> str:
    """Return a passage's headings, and at most `WINDOW_WORDS` words of its text around its best sentence.

    `LEAD_WORDS` of them are before the sentence, or more near the text's end. Rows get their table's header.
    """
    section = passage.section
    best = passage.sentences[0].node if passage.sentences else section
    at = best.start_char_idx - section.start_char_idx
    before, after = section.text[:at].split(), section.text[at:].split()
    first = max(0, len(before) - max(LEAD_WORDS, WINDOW_WORDS - len(after)))
    window = " ".join([*before[first:], *after][:WINDOW_WORDS])
    header = " ".join(best.metadata.get("header", "").split())
    headed = window if header in window else f"{header}\n{window}"
    return f"{PATH_SEPARATOR.join(best.metadata['heading_path'])}\n\n{headed}"


def select(step: Step, passages: Sequence[Passage], count: CountTokens) -> list[Passage]:
    """Return the passages that fit the step's `top_k` and `context_tokens`, best first; record the others.

    If a passage is too large, a smaller one further down may still fit. The best is always kept: the prompt
    is checked against its budget again. With `NO_BUDGET`, no tokens are counted.
    """
    top_k, budget = step.data["top_k"], step.data["context_tokens"]
    kept, dropped, tokens = list[Passage](), dict[str, str](), 0
    for passage in passages:
        is_counted = len(kept) < top_k and budget < NO_BUDGET
        size = count(f"{place_of(passage)}\n{prompt_text(passage)}") + MARK_TOKENS if is_counted else 0
        if len(kept) == top_k:
            dropped[passage.section.node_id] = f"beyond the first {top_k}"
        elif kept and tokens + size > budget:
            dropped[passage.section.node_id] = f"{size} tokens do not fit the budget"
        else:
            kept.append(passage)
            tokens += size
    step.data |= {
        "selected": [passage.section.node_id for passage in kept],
        "dropped": [{"section_id": id_, "why": why} for id_, why in dropped.items()],
        "tokens": tokens,
    }
    return kept


def merge_retrievals(found: Sequence[Retrieval], question: str, *, top_k: int) -> Retrieval:
    """Merge searches rank by rank, each section once, at most `top_k`; keep the most probable verdict."""
    if len(found) == 1:
        return found[0]
    ranked = chain.from_iterable(zip_longest(*(one.passages for one in found)))
    passages = {passage.section.node_id: passage for passage in ranked if passage is not None}
    surest = max((one.answerability for one in found), key=lambda verdict: verdict.probability)
    steps = tuple(step for one in found for step in one.steps)
    return Retrieval(question, tuple(passages.values())[:top_k], surest, steps)
