"""Conversations: kept, listed, renamed, deleted, exported, rated; from several threads."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Answer, Citation, Support
from pipeline.finding.fusion import Fused
from pipeline.messages import Message
from pipeline.steps.records import (
    CondenseStep,
    Dropped,
    FetchedSection,
    FuseStep,
    GenerateStep,
    MergeStep,
    PromptStep,
    Quoted,
    QuoteStep,
    Reranked,
    RerankStep,
    SearchStep,
    SelectStep,
)
from pipeline.stores.base import Hit
from pipeline.stores.conversations import answer_from, answer_json, title_of
from tests.contracts.test_conversations import answer
from tests.pipeline.answering.test_citations import citing

WORDS = st.text(max_size=20)
CITATIONS = st.builds(
    Citation,
    verified=st.booleans(),
    **{name: st.integers() for name in ("marker", "start", "end", "start_line", "end_line", "section_start")},
    heading_path=st.lists(WORDS, max_size=2).map(tuple),
    **dict.fromkeys(("source", "quote", "section_id", "file_hash", "quote_hash", "section_text"), WORDS),
)
HITS = st.lists(st.builds(Hit, WORDS, WORDS, st.floats(0, 9)), max_size=2).map(tuple)
STEPS = st.one_of(
    st.builds(CondenseStep, ms=st.floats(0, 9), message=WORDS, messages=st.integers()),
    st.builds(SearchStep, text=WORDS, paths=st.none() | WORDS, bm25_sections=HITS, dense_sentences=HITS),
    st.builds(
        FuseStep,
        weights=st.dictionaries(WORDS, st.floats(0, 1), max_size=2),
        ranking=st.lists(
            st.builds(Fused, WORDS, st.floats(0, 1), st.dictionaries(WORDS, st.floats(0, 1), max_size=2)),
            max_size=2,
        ).map(tuple),
    ),
    st.builds(
        MergeStep,
        sections=st.lists(
            st.builds(FetchedSection, WORDS, WORDS, st.tuples(WORDS, WORDS), st.integers()), max_size=2
        ).map(tuple),
    ),
    st.builds(
        RerankStep,
        before=st.tuples(WORDS),
        after=st.tuples(st.builds(Reranked, WORDS, st.floats(0, 1), st.none() | st.floats(0, 1))),
    ),
    st.builds(SelectStep, selected=st.tuples(WORDS), dropped=st.tuples(st.builds(Dropped, WORDS, WORDS))),
    st.builds(PromptStep, messages=st.tuples(st.builds(Message, st.sampled_from(["system", "user"]), WORDS))),
    st.builds(GenerateStep, finish_reason=WORDS, answer_tokens=st.none() | st.integers(0, 9)),
    st.builds(QuoteStep, quotes=st.tuples(st.builds(Quoted, WORDS, st.floats(0, 1)))),
)
ANSWERS = st.builds(
    Answer,
    mode=st.sampled_from(["quote", "generate"]),
    status=st.sampled_from(["complete", "stopped", "failed"]),
    abstained=st.booleans(),
    **dict.fromkeys(("question", "condensed_question", "text", "model"), WORDS),
    citations=st.lists(CITATIONS, max_size=2).map(tuple),
    nearest=st.lists(CITATIONS, max_size=1).map(tuple),
    support=st.lists(
        st.builds(
            Support,
            start=st.integers(),
            end=st.integers(),
            supported=st.booleans(),
            markers=st.lists(st.integers(1, 9)).map(tuple),
            missing=st.lists(WORDS).map(tuple),
            score=st.floats(0, 1),
        ),
        max_size=2,
    ).map(tuple),
    steps=st.lists(STEPS, max_size=4).map(tuple),
    notices=st.lists(WORDS, max_size=2).map(tuple),
    seconds=st.floats(0, 9),
    settings=st.dictionaries(WORDS, WORDS, max_size=2),
)


@given(ANSWERS)
def test_an_answer_survives_its_json(given_answer: Answer) -> None:
    assert answer_from(json.loads(answer_json(given_answer))) == given_answer


def test_keys_of_a_later_version_are_ignored() -> None:
    stored = json.loads(answer_json(answer(citations=(citing("The fan hums."),), steps=(QuoteStep(),))))
    stored["mood"] = stored["citations"][0]["mood"] = stored["steps"][0]["mood"] = "good"
    stored["steps"].append({"name": "ponder", "ms": 1.0})
    assert answer_from(stored) == answer(citations=(citing("The fan hums."),), steps=(QuoteStep(),))


def test_titles_are_first_words() -> None:
    assert title_of(" Why\n so? ") == "Why so?"
    assert title_of("word " * 40) == " ".join(["word"] * 11) + " …" or len(title_of("word " * 40)) <= 63
