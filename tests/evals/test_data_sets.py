"""The spans of the questions to our manuals fit the manuals as they are."""

from __future__ import annotations

from pathlib import Path

from evals.datasets import load_queries

ROOT = Path(__file__).parents[2]
DATA = ROOT / "evals" / "data"


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
