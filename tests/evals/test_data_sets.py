"""The sets over our manuals: what each needs is there, and its spans and hash fit the manuals as they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from evals.datasets import load_qrels, load_queries
from evals.spans import about, corpus_hash, rewritten
from evals.talks import load_talks
from pipeline.errors import DatasetError

ROOT = Path(__file__).parents[2]
DATA = ROOT / "evals" / "data"
KINDS = {"direct", "paraphrased", "game", "follow-up", "multi-section", "not answerable"}
CHANGED = (
    "a manual changed: see that the answers still hold, raise the version in dataset.json, then run "
    "python -m evals.spans evals/data/{0} --corpus {1}"
)


@pytest.mark.parametrize("name", ["manuals", "sessions"])
def test_the_hash_is_that_of_the_corpus(name: str) -> None:
    said = about(DATA / name)
    assert said is not None
    assert said.sha256 == corpus_hash(ROOT / said.corpus), CHANGED.format(name, said.corpus)


def test_the_spans_are_what_the_command_writes() -> None:
    folder = DATA / "manuals"
    wanted = rewritten(folder, ROOT / "docs_corpus")
    assert (folder / "queries.jsonl").read_text(encoding="utf-8") == wanted, CHANGED.format(
        "manuals", "docs_corpus"
    )


def test_the_manuals_questions_have_all_kinds_with_references_and_spans() -> None:
    questions, qrels = load_queries(DATA / "manuals"), load_qrels(DATA / "manuals", "test")
    kinds = Counter(question.kind for question in questions)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 20
    for question in questions:
        known = (question.reference, question.spans, question.id in qrels)
        assert [bool(value) for value in known] == [question.answerable] * 3, question.id
    assert qrels.keys() <= {question.id for question in questions}


def test_an_answer_that_moved_away_is_named(tmp_path: Path) -> None:
    corpus, folder = tmp_path / "manuals", tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    corpus.mkdir()
    text = "# Pump\n\nThe pump runs at 3600 rpm. It hums.\n\n# More\n\nOf the pump: 3600 rpm are right.\n"
    (corpus / "pump.md").write_text(text)
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "?", "answer": "pump runs at 3600 rpm"}\n')
    (folder / "qrels" / "test.tsv").write_text("1\tpump.md#Pump\t1\n1\tpump.md#Pump > More\t1\n")
    spans = json.loads(rewritten(folder, corpus))["spans"]
    found = [text[span["start"] : span["end"]] for span in spans]
    assert found == ["pump runs at 3600 rpm", "Of the pump: 3600 rpm are right."]
    (corpus / "pump.md").write_text(text.replace("3600", "3500"))
    with pytest.raises(DatasetError, match=r"1 \(pump runs at 3600 rpm\)") as raised:
        rewritten(folder, corpus)
    assert "raise the version" in raised.value.fix


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
