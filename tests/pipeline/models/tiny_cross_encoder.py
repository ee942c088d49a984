"""A cross-encoder of a few hundred random numbers, as a real ONNX file with a real WordPiece tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "valve", "tank", "open", "close", "the", "crew", "sleep", "##s"]
WIDTH = 4


@dataclass(frozen=True)
class Weights:
    """Embeddings of words and of the two parts of a pair, and the layer that makes them one number."""

    words: NDArray[np.float32]
    parts: NDArray[np.float32]
    layer: NDArray[np.float32]
    bias: NDArray[np.float32]

    def logit(self, question: list[str], passage: list[str]) -> float:
        """The score of a pair of word lists, by hand."""
        first = ["[CLS]", *question, "[SEP]"]
        second = [*passage, "[SEP]"]
        rows = [self.words[WORDS.index(word)] + self.parts[0] for word in first]
        rows += [self.words[WORDS.index(word)] + self.parts[1] for word in second]
        return float((np.mean(rows, axis=0) @ self.layer + self.bias)[0])


def random_weights(*, labels: int = 1) -> Weights:
    random = np.random.default_rng(7)

    def draw(*shape: int) -> NDArray[np.float32]:
        return random.standard_normal(shape).astype(np.float32)

    return Weights(draw(len(WORDS), WIDTH), draw(2, WIDTH), draw(WIDTH, labels), draw(labels))


def make_cross_encoder(
    folder: Path, *, file: str = "model.onnx", max_tokens: int = 32, labels: int = 1
) -> Weights:
    """Write model, tokenizer and configuration into a folder; the weights come back."""
    weights = random_weights(labels=labels)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(weights, labels), str(folder / file))
    _tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": max_tokens}))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    return weights


def _graph(weights: Weights, labels: int) -> onnx.ModelProto:
    shape = ["batch", "length"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    constants = {
        "words": weights.words,
        "parts": weights.parts,
        "layer": weights.layer,
        "bias": weights.bias,
        "last": np.array([2], dtype=np.int64),
        "length_axis": np.array([1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word_rows"]),
        helper.make_node("Gather", ["parts", "token_type_ids"], ["part_rows"]),
        helper.make_node("Add", ["word_rows", "part_rows"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "length_axis"], ["total"], keepdims=0),
        helper.make_node("ReduceSum", ["column", "length_axis"], ["count"], keepdims=0),
        helper.make_node("Div", ["total", "count"], ["mean"]),
        helper.make_node("MatMul", ["mean", "layer"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(
        models.WordPiece({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer
