"""The model of the benchmark streams at its rate, and Athena's own client takes it for an Ollama."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from bench.steady_model import NAME, SteadyModel, words
from pipeline.models.generation import complete
from pipeline.models.llm import choose_language_model
from pipeline.options import LanguageModelOptions

PER_SECOND, WORDS = 20.0, 30


@pytest.fixture
def server() -> Iterator[SteadyModel]:
    served = SteadyModel(words_per_second=PER_SECOND, answer_words=WORDS)
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


def test_it_streams_its_words_at_its_rate(server: SteadyModel) -> None:
    options = LanguageModelOptions(ollama_url=server.url)
    llm, choice = choose_language_model("auto", options=options)
    assert llm is not None and choice.name == f"ollama/{NAME}"
    started = time.monotonic()
    text = complete(llm, "Anything", timeout_s=20, stop=threading.Event())
    took = time.monotonic() - started
    same = [given == word.strip() for given, word in zip(text.split(), words(WORDS), strict=True)]
    assert 0.7 * WORDS < sum(same) < WORDS
    assert took >= WORDS / PER_SECOND


def test_many_at_once_take_as_long_as_one(server: SteadyModel) -> None:
    llm, _ = choose_language_model("auto", options=LanguageModelOptions(ollama_url=server.url))
    assert llm is not None
    texts: list[str] = []

    def read() -> None:
        texts.append(complete(llm, "Anything", timeout_s=20, stop=threading.Event()))

    threads = [threading.Thread(target=read) for _ in range(10)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts)) == 1 and len(texts) == 10
    assert time.monotonic() - started < 10 * WORDS / PER_SECOND  # one after the other would take this long


def test_answers_to_different_prompts_have_no_sentence_in_common() -> None:
    one, other = ("".join(words(150, seed=seed)).split(".") for seed in (123_456_789, 2_123_456_789))
    assert not {sentence for sentence in one if len(sentence) > 30} & set(other)
    assert "".join(words(150, seed=5)).count("[") == "".join(words(150)).count("[") > 5


def test_the_length_of_an_answer_is_the_prompts_own() -> None:
    served = SteadyModel(words_per_second=PER_SECOND, answer_words=100, spread=0.5)
    served.server_close()
    lengths = [served.length_for(f"Question {number}".encode()) for number in range(500)]
    assert lengths == [served.length_for(f"Question {number}".encode()) for number in range(500)]
    assert min(lengths) >= 50 and max(lengths) <= 150
    assert 95 <= sum(lengths) / len(lengths) <= 105
    assert len(set(lengths)) > 50
