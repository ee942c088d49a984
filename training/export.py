"""The trained network as an int8 ONNX file, written by `minilm_graph.py` as the embedding model's is.

Activations are rounded token by token, so a pair's score does not depend on what else is scored. The last
layer is scaled so that the sigmoid of the best score is the probability that the documents answer, where half
of the questions have their answer in them.
"""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.models.onnx import file_fingerprint
from training.check import all_held_out, best_scores, line, scored
from training.data import data_digest, load_data
from training.minilm_graph import Graph, Weights
from training.network import MODEL, RECIPE, digest, empty_network, trained_weights

LARGEST_MB = 25


def export(checkpoint: Path, data: Path, *, into: Path) -> None:
    """Write the model, and its recipe: what it began with, learned from and came to, as digests."""
    import torch

    state = torch.load(checkpoint, weights_only=True)
    network = empty_network()
    network.load_state_dict(state["network"])
    weights = trained_weights(network)
    into.mkdir(parents=True, exist_ok=True)
    model = into / MODEL
    _write(weights, model)
    scale = line(*best_scores(scored(model, all_held_out(load_data(data)))))
    weights["classifier.weight"] = weights["classifier.weight"] * scale.slope
    weights["classifier.bias"] = weights["classifier.bias"] * scale.slope + scale.shift
    _write(weights, model)
    recipe = {
        "model_sha256": file_fingerprint(model),
        "weights_sha256": digest(weights),
        "begun_from_sha256": state["begun_from"],
        "data_sha256": data_digest(data),
        "licence": "MIT; what it begins from Apache-2.0; sources' licences in training/sources.tsv",
    }
    recipe |= {name: state[name] for name in ("seed", "steps", "pairs", "loss")}
    (into / RECIPE).write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")


def _write(weights: Weights, path: Path) -> None:
    import onnx

    onnx.save(Graph(weights, quantized=True, head=True).model(), path)
    if (megabytes := path.stat().st_size / 1e6) > LARGEST_MB:
        raise SystemExit(f"'{path}' has {megabytes:.1f} MB, more than {LARGEST_MB}.")
