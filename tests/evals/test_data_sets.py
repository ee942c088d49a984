"""The sets over our manuals: what each needs is there, and its spans and hash fit the manuals as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from evals.datasets import load_qrels, load_queries
from evals.talks import load_talks

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


def test_sessions_have_enough_that_needs_what_was_said_before() -> None:
    talks = load_talks(DATA / "sessions")
    assert len(talks) >= 20
    assert all(any((step.session or 0) >= 2 for step in talk.steps) for talk in talks)
    asked = [step for talk in talks for step in talk.steps if step.ask]
    assert all(step.reference and step.any for step in asked)
    assert min(Counter(step.needs for step in asked).values()) >= 20
    assert all((ROOT / "docs_corpus" / step.source).is_file() for step in asked if step.source)


def test_what_is_asked_for_was_said_before_it() -> None:
    for talk in load_talks(DATA / "sessions"):
        said = ""
        for step in talk.steps:
            said += f" {step.say}".casefold()
            words = [word.strip("*").casefold() for words in step.any for word in words]
            assert step.source or all(word in said for word in words), (talk.name, step.ask)
            assert list(talk.steps) == sorted(talk.steps, key=lambda step: step.at)
