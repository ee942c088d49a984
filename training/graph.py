"""The network of all-MiniLM-L6-v2 as an ONNX graph: in float32 as published, or with int8 matrix products.

With a head it is a cross-encoder: its input is a pair of texts, marked by token types, its output one logit.

In the int8 graph, each row (a token) is quantised by its own largest value or by ranges measured beforehand,
so its rounding does not depend on any other token, of its own text or another. Integer products are exact,
and all other operators work on one row or, in attention, on one text. ONNX's own `DynamicQuantizeLinear`
takes one range for the whole batch, and so the vector of a text would depend on the other texts in the batch.
`docs/decisions/vectors.md` has the measurements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Weight: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = dict[str, Weight]
Ranges: TypeAlias = Mapping[str, Weight]
"""The largest absolute value of each output column, by name of the layer normalisation or attention node."""

LAYERS, HEADS, WIDTH = 6, 12, 384
NORM_EPSILON = 1e-12
OPSET, IR_VERSION = 21, 10
RUNTIME = "com.microsoft"  # the domain of ONNX Runtime's own operators
INPUT, TYPES = "input_ids", "token_type_ids"
OUTPUT, LOGITS = "last_hidden_state", "logits"
FLOAT = 1  # ONNX's number for the type float32
LARGEST = 127  # of a signed 8-bit integer
ZERO = 128  # zero point of activations, which are unsigned 8-bit integers
SMOOTHING = 0.8  # a column is divided by its range to this power: one is ten times as large as most
ROOM = 1.05  # factor on the ranges, for texts with larger values than those measured
GELU_BELOW = np.array(0.1701, np.float32)  # no value of GELU is this far below 0


def read_weights(path: Path) -> Weights:
    """Return a safetensors file's float32 tensors by name; the file is a length, a JSON header, and bytes."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    weights = {}
    for name, entry in json.loads(content[8:start]).items():
        if entry.get("dtype") == "F32":
            begin, end = (start + offset for offset in entry["data_offsets"])
            weights[name] = np.frombuffer(content[begin:end], np.float32).reshape(entry["shape"])
    return weights


def quantize_columns(weight: Weight) -> tuple[NDArray[np.int8], Weight]:
    """Return a weight of shape (in, out) as signed 8-bit integers, and each column's scale, shape (out,).

    The integers of rows 2n and 2n + 1 of a column add up to at most ±128: CPUs with AVX2 but without VNNI add
    two products in 16 bits, and 255 · 128 fits there. So no CPU overflows, and all compute the same sums.
    """
    pairs = weight[0::2] + weight[1::2]
    largest = np.maximum(np.abs(weight).max(axis=0), np.abs(pairs).max(axis=0))
    scale = (largest / LARGEST).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


class Graph:
    """Collects the network's nodes and constants; `rows` is a value's name, its shape (batch, length, width).

    With `head`, the weights also need a pooler and a classifier, and token types are a second input. Values
    that `ranges` names are quantised by these fixed ranges, the others by each row's largest value.
    """

    def __init__(
        self, weights: Weights, *, quantized: bool, head: bool = False, ranges: Ranges | None = None
    ) -> None:
        self._weights = weights
        self._quantized = quantized
        self._ranges = ranges or {}
        self._head = head
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        """Return the ONNX model: ids (batch, length) → (batch, length, width), or (batch, 1) with a head."""
        from onnx import TensorProto, helper

        self._shape = self._add("Shape", INPUT)
        self._one = self._constant(np.array([1], np.int64))
        rows = self._embed()
        if self._quantized:
            each = self._add("Concat", self._shape, self._one, axis=0)
            self._zeros = self._add("Expand", self._constant(np.array([ZERO], np.uint8)), each)
        for layer in range(LAYERS):
            rows = self._layer(rows, f"encoder.layer.{layer}")
        if self._head:
            output = LOGITS
            shape: list[str | int | None] = ["batch", 1]
            self._classify(rows)
        else:
            output, shape = OUTPUT, ["batch", "length", WIDTH]
            self._node("Identity", [rows], [OUTPUT], name=OUTPUT)
        inputs = [INPUT, TYPES] if self._head else [INPUT]
        graph = helper.make_graph(
            self._nodes,
            "athena-cross-encoder" if self._head else "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _embed(self) -> str:
        """Add the normalised sum of the embeddings of word, position and type; without a head, type is 0."""
        prefix = "embeddings.{}_embeddings.weight"
        words, positions, types = (
            self._weights[prefix.format(name)] for name in ("word", "position", "token_type")
        )
        length = self._add("Slice", self._shape, self._one, self._constant(np.array([2], np.int64)))
        start = self._constant(np.array([0], np.int64))
        places = self._add("Slice", self._constant(positions + types[0]), start, length)
        rows = self._add("Add", self._look_up(words), places)
        if self._head:
            kinds = self._constant(types - types[0])
            rows = self._add("Add", rows, self._add("Gather", kinds, TYPES))
        return self._normalize(rows, "embeddings.LayerNorm")

    def _look_up(self, words: Weight) -> str:
        if not self._quantized:
            return self._add("Gather", self._constant(words), INPUT)
        scale = (np.abs(words).max(axis=1, keepdims=True) / LARGEST).astype(np.float32)
        integers = self._add("Gather", self._constant(np.rint(words / scale).astype(np.int8)), INPUT)
        floats = self._add("Cast", integers, to=FLOAT)
        return self._add("Mul", floats, self._add("Gather", self._constant(scale), INPUT))

    def _classify(self, rows: str) -> None:
        """Add the classifier: one float32 logit for each text, computed from its first token."""
        first = self._add("Gather", rows, self._constant(np.array(0, np.int64)), axis=1)
        pooled = self._add("MatMul", first, self._constant(self._transposed("pooler.dense")))
        pooled = self._add("Tanh", self._add("Add", pooled, self._bias("pooler.dense")))
        logit = self._add("MatMul", pooled, self._constant(self._transposed("classifier")))
        self._node("Add", [logit, self._bias("classifier")], [LOGITS], name=LOGITS)

    def _layer(self, rows: str, name: str) -> str:
        attended = self._linear(
            self._attend(rows, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        rows = self._normalize(self._add("Add", attended, rows), f"{name}.attention.output.LayerNorm")
        (inner,) = self._products(rows, [self._transposed(f"{name}.intermediate.dense")])
        curve = "FastGelu" if self._quantized else "BiasGelu"  # by tanh, 5 % faster; by erf
        inner = self._add(curve, inner, self._bias(f"{name}.intermediate.dense"), domain=RUNTIME)
        outer = self._linear(inner, f"{name}.output.dense", below=self._constant(GELU_BELOW))
        return self._normalize(self._add("Add", outer, rows), f"{name}.output.LayerNorm")

    def _attend(self, rows: str, name: str) -> str:
        """Add self-attention within each text; query, key and value share one quantised input."""
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        weights = [self._transposed(part) for part in parts]
        biases = [self._weights[f"{part}.bias"] for part in parts]
        if name in self._ranges:  # attention returns means of values, so smoothed values smooth its output
            weights[2] = weights[2] / self._smoothing(name)
            biases[2] = biases[2] / self._smoothing(name)
        values = [*self._products(rows, weights), self._constant(np.concatenate(biases))]
        self._node("MultiHeadAttention", values, [name], name=name, domain=RUNTIME, num_heads=HEADS)
        return name

    def _linear(self, rows: str, name: str, *, below: str = "") -> str:
        (product,) = self._products(rows, [self._transposed(name)], below=below)
        return self._add("Add", product, self._bias(name))

    def _products(self, rows: str, weights: Sequence[Weight], *, below: str = "") -> list[str]:
        """Add the product of `rows` with each weight, in integers if quantised; return the values' names.

        No row may be all 0. `below` names a bound on how far values lie below 0; "" takes each row's minimum.
        """
        if not self._quantized:
            return [self._add("MatMul", rows, self._constant(weight)) for weight in weights]
        if rows in self._ranges:
            return self._products_by_range(rows, weights)
        last = self._constant(np.array([-1], np.int64))
        below = below or self._add("Neg", self._add("ReduceMin", rows, last, keepdims=1))
        # The largest absolute value, without writing all of them: this takes half the time of `Abs`.
        largest = self._add("Max", self._add("ReduceMax", rows, last, keepdims=1), below)
        row_scale = self._add("Mul", largest, self._constant(np.array(1 / LARGEST, np.float32)))
        width = len(weights[0])  # of a block: each row has its own scale
        integers = self._add("QuantizeLinear", rows, row_scale, self._zeros, axis=2, block_size=width)
        return [self._add("Mul", self._integer_product(integers, weight), row_scale) for weight in weights]

    def _products_by_range(self, rows: str, weights: Sequence[Weight]) -> list[str]:
        """Add the product of `rows`, which have ranges, with each weight; all rows share one scale.

        Large columns are divided, and the weights' rows for them multiplied (SmoothQuant, arXiv 2211.10438).
        """
        smoothing = self._smoothing(rows)
        scale = np.array(ROOM * (self._ranges[rows] / smoothing).max() / LARGEST, np.float32)
        if rows.endswith("LayerNorm"):
            rows = self._add("Mul", rows, self._constant(1 / smoothing))
        zero = self._constant(np.array(ZERO, np.uint8))
        integers = self._add("QuantizeLinear", rows, self._constant(scale), zero)
        return [
            self._integer_product(integers, weight * smoothing[:, None], scale=scale) for weight in weights
        ]

    def _smoothing(self, rows: str) -> Weight:
        """Return the divisor of each column of `rows`, shape (width,)."""
        return self._ranges[rows] ** SMOOTHING

    def _integer_product(self, integers: str, weight: Weight, *, scale: Any = 1) -> str:
        """Add the product of quantised rows and a weight, times `scale`; with 1, the caller must scale it."""
        columns, column_scale = quantize_columns(weight)
        return self._add(
            "MatMulIntegerToFloat",
            integers,
            self._constant(columns),
            self._constant(np.array(scale, np.float32)),
            self._constant(column_scale),
            self._constant(np.array(ZERO, np.uint8)),
            domain=RUNTIME,
        )

    def _normalize(self, rows: str, name: str) -> str:
        weight, bias = (self._constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        inputs = [rows, weight, bias]
        self._node("LayerNormalization", inputs, [name], name=name, axis=-1, epsilon=NORM_EPSILON)
        return name

    def _transposed(self, name: str) -> Weight:
        return self._weights[f"{name}.weight"].T

    def _bias(self, name: str) -> str:
        return self._constant(self._weights[f"{name}.bias"])

    def _constant(self, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def _add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return self._add_many(operator, 1, *inputs, **attributes)[0]

    def _add_many(self, operator: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        name = f"{operator}_{len(self._nodes)}"
        outputs = [f"{name}_{number}" for number in range(count)]
        self._node(operator, inputs, outputs, name=name, **attributes)
        return outputs

    def _node(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
