"""Models that a program passes."""

from __future__ import annotations

from pipeline.llamaindex.llms import language_model_of, llama_index_llm
from pipeline.models.generation import complete
from tests.fake_llm import FakeLLM


def test_any_model_of_llamaindex_answers() -> None:
    llm = FakeLLM(["B7."])
    model, chosen = language_model_of(llm)
    assert complete(model, "Which?", timeout_s=20) == "B7."
    assert (chosen.name, chosen.provider, llama_index_llm(model)) == ("fake-llm", "given", llm)
