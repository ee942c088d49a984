"""Embeddings over real HTTP: batches, dimensions, and every way to fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pipeline.errors import ModelError, ModelTimeout, ModelUnavailable
from pipeline.models.base import prefixes
from pipeline.models.embedding import MOST_CHARACTERS, RemoteEncoder
from pipeline.options import ModelServerOptions
from tests.servers import DIMENSIONS, ModelServer, OllamaServer, OpenAIServer, embedding

MODEL = "all-minilm"
BATCH_TEXTS = RemoteEncoder.batch_texts


@pytest.fixture(params=["ollama", "openai"])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    ollama = request.param == "ollama"
    with OllamaServer(models=[MODEL]) if ollama else OpenAIServer(models=[MODEL], key="sk-right") as server:
        yield server


def encoder_of(server: ModelServer, *, model: str = MODEL, timeout_s: float = 10) -> RemoteEncoder:
    is_openai = isinstance(server, OpenAIServer)
    url = {"openai_base_url": f"{server.url}/v1"} if is_openai else {"ollama_url": server.url}
    options = ModelServerOptions(**url, openai_api_key="sk-right", request_timeout_s=timeout_s)
    return RemoteEncoder("openai" if is_openai else "ollama", model, options=options)


def path(server: ModelServer) -> str:
    return "/api/embed" if isinstance(server, OllamaServer) else "/v1/embeddings"


def embeds(server: ModelServer) -> list[list[str]]:
    return [request.body["input"] for request in server.requests if request.path == path(server)]


def test_vectors_in_order_of_unit_length(server: ModelServer) -> None:
    texts = [f"valve {number}" for number in range(BATCH_TEXTS + 3)]
    seen: list[int] = []
    encoder = encoder_of(server)
    vectors = encoder.encode_passages(texts, on_progress=seen.append)
    expected = np.array([embedding(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert seen == [BATCH_TEXTS, BATCH_TEXTS + 3]
    assert encoder.dimensions == DIMENSIONS
    assert [len(batch) for batch in embeds(server)] == [1, BATCH_TEXTS, 3]  # the dimensions are asked once


def test_an_empty_text_is_sent_as_a_space_and_a_long_one_is_cut(server: ModelServer) -> None:
    encoder_of(server).encode_query("")
    encoder_of(server).encode_query("x" * 100_000)
    assert embeds(server) == [[" "], ["x" * MOST_CHARACTERS]]


def test_errors_say_what_failed_and_what_to_do(server: ModelServer) -> None:
    encoder = encoder_of(server)
    with pytest.raises(ModelUnavailable, match=r"pull mxbai|mxbai.*Name a"):
        encoder_of(server, model="mxbai").encode_query("x")
    for status, says in ((400, "HTTP 400"), (500, r"HTTP 500.: boom")):
        server.fail(path(server), status, "boom", times=3 if status == 500 else 1)  # OpenAI's tries again
        with pytest.raises(ModelError, match=says) as raised:
            encoder.encode_query("x")
        assert encoder.server.url in str(raised.value)
    server.go_away()
    with pytest.raises(ModelUnavailable, match="Cannot reach"):
        encoder.encode_query("x")


def test_silence_times_out(server: ModelServer) -> None:
    server.stalled_paths.add(path(server))
    with pytest.raises(ModelTimeout, match=r"nothing for 0\.3"):
        encoder_of(server, timeout_s=0.3).encode_query("x")


@pytest.mark.parametrize(
    ("vector", "says"),
    [
        ([0.0] * 4, "vector of zeros"),
        ([float("nan")] * 4, "vector of zeros"),
        ([1e30] * 4, "vector of zeros"),
        ([], "vector of zeros"),
        (["a"], "not numbers|protocol"),
        ([10**400], "not numbers|protocol|too large"),
        ([[1.0]], "numbers of the shape|protocol"),
        (None, "numbers of the shape|protocol"),
    ],
    ids=["zeros", "nan", "infinite", "empty", "a text", "too large", "nested", "null"],
)
def test_an_unusable_vector_is_an_error(server: ModelServer, vector: Any, says: str) -> None:
    server.embed = lambda text: vector
    with pytest.raises(ModelError, match=says):
        encoder_of(server).encode_query("x")


def test_openai_needs_a_key_and_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match=r"needs a key.*ATHENA_OPENAI_API_KEY"):
        RemoteEncoder("openai", "m", options=ModelServerOptions())
    monkeypatch.setattr("pipeline.models.failures.find_spec", lambda _: None)
    with pytest.raises(ModelUnavailable, match=r"athena-docs\[openai\]"):
        RemoteEncoder("openai", "m", options=ModelServerOptions(openai_api_key="sk-x"))


def test_texts_are_sent_with_the_prefixes_of_the_model() -> None:
    with OllamaServer(models=["nomic-embed-text"]) as server:
        encoder = encoder_of(server, model="nomic-embed-text")
        encoder.encode_query("Where?")
        encoder.encode_passages(["Here.", ""])
        assert embeds(server)[0] == ["search_query: Where?"]
        assert embeds(server)[-1] == ["search_document: Here.", "search_document: "]
        assert encoder.fingerprint == "search_document: "


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("snowflake-arctic-embed:33m", "Represent this sentence", ""),
        ("mxbai-embed-large", "Represent this sentence", ""),
        ("bge-large:335m", "Represent this sentence", ""),
        *((name, "", "") for name in ("bge-m3", "bge-large-zh-v1.5", "e5-mistral-7b-instruct", "all-minilm")),
    ],
)
def test_prefixes(model: str, query: str, passage: str) -> None:
    found = prefixes(model)
    assert found[0].startswith(query) and bool(found[0]) == bool(query)
    assert found[1] == passage
