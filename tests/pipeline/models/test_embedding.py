"""The bundled encoder, and the choice of an encoder by name."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigurationError
from pipeline.models.embedding import OnnxEncoder, choose_encoder
from pipeline.models.onnx import BUNDLED_FOLDER
from pipeline.options import ModelServerOptions

TEXTS = [
    "The LN2 tank feeds the cabin's nitrogen supply.",
    "Liquid nitrogen is stored in a tank.",
    "The crew sleeps for eight hours.",
    "x",
    "",
    "Close valve V-12, then open valve V-13 and wait until the pressure is below 2 bar.",
] + [f"Sensor {number} reports its temperature every {number} seconds." for number in range(40)]


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder()


def test_vectors_have_unit_length_and_near_texts_are_near(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode_passages(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    scores = vectors @ encoder.encode_query("Where is the nitrogen kept?")
    assert scores[1] > scores[0] > scores[2] + 0.2
    assert encoder.encode_passages([]).shape == (0, 384)
    assert encoder.languages == {"en"}


@st.composite
def _companies(draw: st.DrawFn) -> tuple[list[str], list[list[int]]]:
    """Texts, and their indexes in a random order, divided into calls at random places."""
    words = st.sampled_from(
        ["valve", "LN2", "bus A", "3.14", "é", "----", "nitrogen tank", "antidisestablish"]
    )
    texts = draw(
        st.lists(st.lists(words, max_size=12).map(" ".join) | st.text(max_size=40), min_size=1, max_size=40)
    )
    order = draw(st.permutations(range(len(texts))))
    cuts = sorted(draw(st.sets(st.integers(1, len(texts)), max_size=4)) | {0, len(texts)})
    return texts, [order[begin:end] for begin, end in itertools.pairwise(cuts)]


@settings(max_examples=15)
@given(companies=_companies())
def test_same_text_same_vector_whatever_the_company(
    encoder: OnnxEncoder, companies: tuple[list[str], list[list[int]]]
) -> None:
    texts, calls = companies
    alone = [encoder.encode_query(text) for text in texts]
    other = OnnxEncoder()
    for call in calls:
        vectors = other.encode_passages([texts[index] for index in call])
        np.testing.assert_array_equal(vectors, [alone[index] for index in call])


LONG = "Tanks > LN2: " + "The LN2 tank feeds the cabin. " * 40


@pytest.mark.parametrize("text", [LONG, "", "Short.", "\u200b" * 300, "x" * 5000, "한국어 " * 100])
def test_of_a_section_the_beginning_is_embedded(encoder: OnnxEncoder, text: str) -> None:
    opening = encoder.opening(text)
    assert text.startswith(opening)
    assert encoder.opening(opening) == opening
    assert (text == LONG) * 120 <= encoder.count_tokens(opening) <= 126  # 128 with the special ones


def test_agrees_with_the_float32_model(encoder: OnnxEncoder) -> None:
    """The model file itself, against the vector that the published float32 weights give."""
    vector = encoder.encode_query("The quick brown fox jumps over the lazy dog.")
    assert float(vector @ np.load(Path(__file__).parent / "minilm_fox.npy")) > 0.995


def test_bundled_files_are_the_recorded_ones() -> None:
    readme = (BUNDLED_FOLDER.parent / "README.md").read_text(encoding="utf-8")
    for file in ("model-int8.onnx", "tokenizer.json", "../cl100k_base.tiktoken"):
        assert hashlib.sha256((BUNDLED_FOLDER / file).read_bytes()).hexdigest() in readme
    model = (BUNDLED_FOLDER / "model-int8.onnx").read_bytes()
    assert OnnxEncoder().fingerprint == hashlib.sha256(model).hexdigest()


@pytest.mark.parametrize(
    ("name", "chosen", "provider"),
    [
        *((name, "all-MiniLM-L6-v2", "bundled") for name in ("auto", "all-MiniLM-L6-v2")),
        *((name, name, "sentence-transformers") for name in ("/models/minilm", "BAAI/bge-m3", "minilm")),
        ("ollama/nomic-embed-text", "ollama/nomic-embed-text", "ollama"),
        ("openai/text-embedding-3-small", "openai/text-embedding-3-small", "openai"),
    ],
)
def test_choice_by_name(name: str, chosen: str, provider: str) -> None:
    encoder, choice = choose_encoder(name, options=ModelServerOptions(openai_api_key="sk-x"))
    assert (encoder.name, choice.name, choice.provider) == (chosen, chosen, provider)
    assert "sk-x" not in repr(choice)


@pytest.mark.parametrize("name", ["none", "ollama/"])
def test_a_name_of_no_embedding_model_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="names no model"):
        choose_encoder(name, options=ModelServerOptions())
