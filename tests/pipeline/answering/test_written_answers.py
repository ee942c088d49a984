"""What is kept of an answer that broke off, and how the rest is joined to it."""

from __future__ import annotations

from dataclasses import replace

from pipeline.answer import Answer
from pipeline.answering import written_answers
from pipeline.answering.prompts import Source
from tests.pipeline.answering.test_citations import citing

ANSWER = Answer("Why?", "Why?", "So.", "generate", "m", False, status="stopped")


def test_markers_become_the_numbers_of_the_sources() -> None:
    cited = replace(citing("The fan hums."), marker=1, section_id="b")
    gone = replace(citing("Call the ground."), marker=2, section_id="x")
    answer = replace(ANSWER, text="It hums [1]. It went [2].", citations=(cited, gone))
    sources = [_source(1, "a"), _source(2, "b")]
    assert written_answers.text_so_far(answer, sources) == "It hums [2]. It went ."
    raw = replace(ANSWER, text="It hums [2].")  # killed before its markers were resolved
    assert written_answers.text_so_far(raw, sources) == "It hums [2]."


def test_only_what_a_model_has_begun_can_go_on() -> None:
    assert written_answers.can_go_on(ANSWER)
    assert written_answers.can_go_on(replace(ANSWER, status="failed"))
    for change in ({"status": "complete"}, {"mode": "quote"}, {"text": " "}):
        assert not written_answers.can_go_on(replace(ANSWER, **change))  # type: ignore[arg-type]


def _source(number: int, section: str) -> Source:
    from types import SimpleNamespace

    passage = SimpleNamespace(section=SimpleNamespace(node_id=section))
    return Source(number, passage, "")  # type: ignore[arg-type]
