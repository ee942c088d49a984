"""The weights that training begins from are the bundled model's, and the exported graph scores pairs."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from pipeline.models.cross_encoder import OnnxCrossEncoder
from pipeline.models.onnx import BUNDLED_FOLDER, open_session
from training.minilm_graph import WIDTH, Graph
from training.network import Pairs, onnx_weights

TEXTS = ["Pump\nThe filter is changed every ninety days.", "The crew eats at noon, in the mess, by turns."]


@pytest.mark.slow
def test_an_untrained_network_embeds_as_the_bundled_model_and_scores_each_pair_alone(tmp_path: Path) -> None:
    weights = onnx_weights(BUNDLED_FOLDER / "model-int8.onnx")
    ids = np.array([Pairs().encode("filter", TEXTS[:1])[0].ids])
    onnx.save(Graph(weights, quantized=False).model(), tmp_path / "float.onnx")
    float32, int8 = (
        open_session(path).run(None, {"input_ids": ids})[0].mean(axis=1)[0]
        for path in (tmp_path / "float.onnx", BUNDLED_FOLDER / "model-int8.onnx")
    )
    assert float32 @ int8 / np.linalg.norm(float32) / np.linalg.norm(int8) > 0.99

    head = np.random.default_rng(1).normal(size=(1, WIDTH)).astype(np.float32)
    weights |= {"pooler.dense.weight": np.eye(WIDTH, dtype=np.float32), "classifier.weight": head}
    weights |= {"pooler.dense.bias": np.zeros(WIDTH, np.float32), "classifier.bias": np.zeros(1, np.float32)}
    onnx.save(Graph(weights, quantized=True, head=True).model(), tmp_path / "pairs.onnx")
    model = OnnxCrossEncoder(tmp_path / "pairs.onnx")
    together = model.score("When is the filter changed?", TEXTS)
    assert together.shape == (2,)
    assert [model.score("When is the filter changed?", [text])[0] for text in TEXTS] == list(together)
    again = onnx_weights(tmp_path / "pairs.onnx")
    assert again.keys() == weights.keys()
    assert all(
        np.abs(again[name] - value).max() <= np.abs(value).max() / 60 for name, value in weights.items()
    )
