"""The sets over our manuals: what each needs is there, and its spans and hash fit the manuals as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from evals.datasets import load_qrels, load_queries

ROOT = Path(__file__).parents[2]
DATA = ROOT / "evals" / "data"
KINDS = {"direct", "paraphrased", "game", "follow-up", "multi-section", "not answerable"}


def test_the_spans_of_the_manuals_hold_the_answers() -> None:
    texts: dict[str, str] = {}
    for question in load_queries(DATA / "manuals"):
        spans = []
        for span in question.spans:
            source = DATA.parents[1] / "docs_corpus" / span.source
            text = texts.setdefault(span.source, source.read_text(encoding="utf-8"))
            spans.append(text[span.start : span.end])
        golds = [gold.text for gold in question.gold if gold.text]
        held = not golds or any(gold in span for gold in golds for span in spans)
        assert all(spans) and held, question.id


def test_the_manuals_questions_have_all_kinds_with_references_and_spans() -> None:
    questions, qrels = load_queries(DATA / "manuals"), load_qrels(DATA / "manuals", "test")
    kinds = Counter(question.kind for question in questions)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 20
    for question in questions:
        known = (question.reference, question.spans, question.id in qrels)
        assert [bool(value) for value in known] == [question.answerable] * 3, question.id
    assert qrels.keys() <= {question.id for question in questions}
