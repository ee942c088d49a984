"""The recipe of the cross-encoder: data that are never used, wrong passages, hurried questions, the graph."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from pipeline.models.cross_encoder import OnnxCrossEncoder
from training.data import Data, Pair, permitted, under
from training.examples import draw, held_out_examples, hurried, mistyped, with_negatives
from training.graph import LAYERS, WIDTH, Graph
from training.train import encoded

HELD_OUT, TRAINED_ON = "juanfont/headscale", "ory/docs"  # by the hashes of their names


@pytest.fixture
def data() -> Data:
    """A repository that is held out and one that is not, each with a question and thirty sections."""
    answer = "There are thirty parts in the box, as the list on the lid says."
    pairs = [Pair("How many parts are there?", answer, name, False) for name in (HELD_OUT, TRAINED_ON)]
    sections = [f"Part number {number} is one of the parts: a bolt." for number in range(30)]
    return Data(pairs, {name: [*sections, answer] for name in (HELD_OUT, TRAINED_ON)})


def test_wrong_passages_are_found_and_never_repeat_the_answer(data: Data) -> None:
    asked = list(with_negatives(data))
    assert [one.pair.repository for one in asked] == [HELD_OUT, TRAINED_ON]
    assert all(len(one.wrong) >= 5 and one.pair.passage not in one.wrong for one in asked)
    assert data.held_out() == {HELD_OUT}
    (drawn,) = draw(asked[1:], Random(7), count=1)
    assert drawn == draw(asked[1:], Random(7), count=1)[0]
    assert drawn.passages[0] == data.pairs[0].passage and len(set(drawn.passages)) == 4
    assert len(held_out_examples(asked, count=1)[0].passages) == 8


def test_sources_are_permitted_and_others_refused(tmp_path: Path) -> None:
    assert len(permitted()) > 100
    for row in ("rust-lang/book\tabc\tMIT", "some/docs\tabc\tCC-BY-SA", "some/docs\tabc\tnone"):
        path = tmp_path / "sources.tsv"
        path.write_text(f"repository\tcommit\tlicence\n{row}\n", encoding="utf-8")
        with pytest.raises(SystemExit):
            permitted(path)


def test_questions_are_typed_in_a_hurry() -> None:
    asked = {hurried("Why is the pump not running?", Random(seed)) for seed in range(200)}
    assert {"Why is the pump not running?", "why is the pump not running", "pump not running"} <= asked
    words = {mistyped("coolant", Random(seed)) for seed in range(50)}
    assert all(word[0] == "c" and word[-1] == "t" and 6 <= len(word) <= 8 for word in words)
    assert under(["Pump", "Speed"], "4200 rpm.") == "Pump > Speed\n4200 rpm."


def random_weights() -> dict[str, NDArray[np.float32]]:
    """Weights of the network's shape, with a head."""
    random = np.random.default_rng(1)

    def of(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.05, shape).astype(np.float32)

    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings": (30_522, WIDTH), "embeddings.position_embeddings": (512, WIDTH),
        "embeddings.token_type_embeddings": (2, WIDTH), "pooler.dense": (WIDTH, WIDTH),
        "classifier": (1, WIDTH),
    }  # fmt: skip
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{name}.attention.{part}"] = (WIDTH, WIDTH)
        shapes[f"{name}.intermediate.dense"] = (4 * WIDTH, WIDTH)
        shapes[f"{name}.output.dense"] = (WIDTH, 4 * WIDTH)
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    weights = {f"{name}.weight": of(*shape) for name, shape in shapes.items()}
    weights |= {f"{name}.bias": of(shape[0]) for name, shape in shapes.items()}
    weights |= dict.fromkeys((f"{name}.weight" for name in norms), np.ones(WIDTH, np.float32))
    return weights | dict.fromkeys((f"{name}.bias" for name in norms), np.zeros(WIDTH, np.float32))


@pytest.mark.slow
def test_the_exported_graph_scores_each_pair_alone_and_as_in_float32(tmp_path: Path) -> None:
    weights = random_weights()
    texts = ["Pump\nIts filter lasts ninety days.", "The crew eats at noon, by turns."]
    scores = []
    ranges = dict.fromkeys((name.removesuffix(".weight") for name in weights), np.full(WIDTH, 5, np.float32))
    for quantized, given in ((False, {}), (True, {}), (True, ranges)):
        path = tmp_path / f"{len(scores)}.onnx"
        onnx.save(Graph(weights, quantized=quantized, head=True, ranges=given).model(), path)
        model = OnnxCrossEncoder(path)
        scores.append(model.score("When is the filter changed?", texts))
        alone = [model.score("When is the filter changed?", [text])[0] for text in texts]
        assert alone == list(scores[-1])
    assert all(np.abs(scores[0] - other).max() < 0.1 * np.abs(scores[0]).max() for other in scores[1:])


def test_pairs_are_encoded_as_the_product_reads_them(data: Data) -> None:
    (example,) = draw(list(with_negatives(data))[1:], Random(1), count=1)
    rows = encoded(example)
    assert len(rows["input_ids"]) == 4
    assert {len(row) for row in rows["input_ids"]} == {len(rows["input_ids"][0])}
    first = rows["token_type_ids"][0]
    assert first[0] == 0 and 1 in first
