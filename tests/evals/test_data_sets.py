"""The sets over our manuals: what each needs is there, and its spans and hash fit the manuals as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evals.spans import about, corpus_hash
from evals.talks import load_talks

ROOT = Path(__file__).parents[2]
DATA = ROOT / "evals" / "data"
CHANGED = (
    "a manual changed: see that the answers still hold, raise the version in dataset.json, then run "
    "python -m evals.spans evals/data/{0} --corpus {1}"
)


@pytest.mark.parametrize("name", ["sessions"])
def test_the_hash_is_that_of_the_corpus(name: str) -> None:
    said = about(DATA / name)
    assert said is not None
    assert said.sha256 == corpus_hash(ROOT / said.corpus), CHANGED.format(name, said.corpus)


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
