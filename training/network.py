"""The network that is trained: another one's weights, a second kind of token, one logit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.models.cross_encoder import PAIR_TOKENS
from pipeline.models.onnx import BUNDLED_FOLDER
from training.minilm_graph import HEADS, LAYERS, WIDTH, Weights

CROSS_ENCODER = BUNDLED_FOLDER.with_name("athena-cross-encoder")
MODEL, RECIPE = "model-int8.onnx", "recipe.json"
BEGIN_FROM = BUNDLED_FOLDER / MODEL
LONGEST_PAIR = PAIR_TOKENS  # special ones included
LONGEST_QUESTION = 44
BEGIN, BETWEEN = 101, 102  # [CLS] and [SEP]
SECOND_KIND = Path(__file__).with_name("second_kind.npy")
"""What tokens of the second text have added: the published model's row of type 1 less that of type 0.

The bundled file has type 0 only, as an embedding model sees one text.
"""

PARTS = ("query", "key", "value")


@dataclass(frozen=True, slots=True)
class Pair:
    """The token ids of a question and a passage, and which of both each belongs to."""

    ids: list[int]
    kinds: list[int]


class Pairs:
    """Question and passage as one row of tokens, as `pipeline/models/cross_encoder.py` reads them."""

    def __init__(self, *, longest: int = LONGEST_PAIR) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._longest = longest

    def encode(self, question: str, passages: Sequence[str]) -> list[Pair]:
        """A row for each passage; what does not fit is cut off its end."""
        asked = self._tokenizer.encode(question, add_special_tokens=False).ids[:LONGEST_QUESTION]
        first = [BEGIN, *asked, BETWEEN]
        pairs = []
        for encoding in self._tokenizer.encode_batch(list(passages), add_special_tokens=False):
            second = [*encoding.ids[: self._longest - len(first) - 1], BETWEEN]
            pairs.append(Pair(first + second, [0] * len(first) + [1] * len(second)))
        return pairs


def padded(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Tensors of pairs of any length, as the network takes them."""
    import torch

    shape = len(pairs), max(len(pair.ids) for pair in pairs)
    ids, kinds, mask = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    for row, pair in enumerate(pairs):
        length = len(pair.ids)
        ids[row, :length] = torch.tensor(pair.ids)
        kinds[row, :length] = torch.tensor(pair.kinds)
        mask[row, :length] = 1
    return {"input_ids": ids, "token_type_ids": kinds, "attention_mask": mask}


def new_network(*, seed: int, model: Path = BEGIN_FROM) -> Any:
    """The cross-encoder that training begins with.

    Of an embedding model it has the weights, a pooler that passes on and a random logit; of a cross-encoder
    that was exported, all.
    """
    import torch

    torch.manual_seed(seed)
    network = empty_network()
    weights = {
        name if name.startswith("classifier") else f"bert.{name}": torch.tensor(value)
        for name, value in onnx_weights(model).items()
    }
    torch.nn.init.eye_(network.bert.pooler.dense.weight)
    network.load_state_dict(weights, strict=False)
    return network


def empty_network() -> Any:
    """The network's shape, with weights that mean nothing."""
    from transformers import BertConfig, BertForSequenceClassification

    shape = BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        num_labels=1,
    )
    return BertForSequenceClassification(shape)


def onnx_weights(model: Path) -> Weights:
    """The weights of an int8 file of `minilm_graph.py` as float32, by their published names."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(model).graph
    known = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
    constants = [(node.op_type, [known[name] for name in node.input if name in known]) for node in graph.node]

    def of(operator: str) -> list[list[NDArray[Any]]]:
        return [values for name, values in constants if name == operator and values]

    (words,), (scales,), *others = of("Gather")
    second = others[0][0][1] if others else np.load(SECOND_KIND)
    positions = next(value for value in known.values() if value.shape == (512, WIDTH))
    products = [(values[0].astype(np.float32) * values[2]).T for values in of("MatMulIntegerToFloat")]
    norms, sums = of("LayerNormalization"), [values[0] for values in of("Add")]
    attention, curves = [values[0] for values in of("MultiHeadAttention")], of("FastGelu")
    weights: Weights = {
        "embeddings.word_embeddings.weight": words.astype(np.float32) * scales,
        "embeddings.position_embeddings.weight": positions,
        "embeddings.token_type_embeddings.weight": np.stack([np.zeros(WIDTH), second]),
    }
    weights |= _pair("embeddings.LayerNorm", *norms[0])
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        joined, attended, inner, outer = products[4 * layer : 4 * layer + 4]
        for part, weight, bias in zip(PARTS, np.split(joined, 3), np.split(attention[layer], 3), strict=True):
            weights |= _pair(f"{name}.attention.self.{part}", weight, bias)
        weights |= _pair(f"{name}.attention.output.dense", attended, sums[2 * layer])
        weights |= _pair(f"{name}.attention.output.LayerNorm", *norms[2 * layer + 1])
        weights |= _pair(f"{name}.intermediate.dense", inner, curves[layer][0])
        weights |= _pair(f"{name}.output.dense", outer, sums[2 * layer + 1])
        weights |= _pair(f"{name}.output.LayerNorm", *norms[2 * layer + 2])
    for name, values, bias in zip(("pooler.dense", "classifier"), of("MatMul"), sums[-2:], strict=False):
        weights |= _pair(name, values[0].T, bias)  # of a cross-encoder
    return {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}


def _pair(name: str, weight: NDArray[Any], bias: NDArray[Any]) -> Weights:
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def trained_weights(network: Any) -> Weights:
    """A network's weights by the names of the graph, without the encoder's prefix."""
    state = network.state_dict()
    return {name.removeprefix("bert."): value.float().numpy() for name, value in state.items()}


def digest(weights: Weights) -> str:
    """The SHA-256 over all weights, by name."""
    found = hashlib.sha256()
    for name, value in sorted(weights.items()):
        found.update(name.encode() + np.ascontiguousarray(value, np.float32).tobytes())
    return found.hexdigest()
