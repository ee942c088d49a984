"""Convert a cross-encoder to int8 ONNX, once; needs transformers and torch, as the extra `[hf]` installs."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

from pipeline.errors import ModelUnavailable
from pipeline.models.onnx import send_nothing

logger = logging.getLogger(__name__)

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
CONVERTED_MODEL, METADATA = "model-int8.onnx", "metadata.json"
LONGEST = 512
OPSET = 17


def convert(name: str, target: Path) -> None:
    """Write `model-int8.onnx`, `tokenizer.json` and `metadata.json` of a model into a new folder.

    The folder appears whole or not at all; where another process was faster, its folder stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as scratch:
            making = Path(scratch) / target.name
            making.mkdir()
            _convert(name, making)
            _move(making, target)
    except (RuntimeError, ValueError, TypeError, OSError) as error:  # what the exporter makes of odd networks
        raise ModelUnavailable(
            f"Cannot convert the cross-encoder '{name}' to ONNX: {(str(error).splitlines() or [''])[0]}",
            "Choose another in ATHENA_CROSS_ENCODER, for example cross-encoder/ms-marco-MiniLM-L-6-v2.",
        ) from error


def _convert(name: str, folder: Path) -> None:
    network, tokenizer = _load(name)
    logger.info("converting '%s' to int8 ONNX", name)
    max_tokens = _max_tokens(network, tokenizer)
    inputs = tuple(name for name in INPUTS if name in tokenizer.model_input_names)
    _export(network, folder / "model.onnx", inputs=inputs)
    _quantize(folder / "model.onnx", folder / CONVERTED_MODEL)
    (folder / "model.onnx").unlink()
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    metadata = {"name": name, "max_tokens": max_tokens}
    (folder / METADATA).write_text(json.dumps(metadata, indent=2), encoding="utf-8")


def _load(name: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True)
        # The eager attention is the one that the exporter can follow.
        network = AutoModelForSequenceClassification.from_pretrained(name, attn_implementation="eager")
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelUnavailable(
            f"Cannot load the cross-encoder '{name}': {str(error).strip().splitlines()[0]}",
            "Check the name and the network, or set ATHENA_CROSS_ENCODER=none.",
        ) from error
    return network.eval(), tokenizer


def _max_tokens(network: Any, tokenizer: Any) -> int:
    positions = getattr(network.config, "max_position_embeddings", LONGEST)
    return min(LONGEST, int(positions), int(tokenizer.model_max_length))


def _move(source: Path, target: Path) -> None:
    """Rename a folder; where the target is there already, it stays."""
    try:
        source.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _export(network: Any, path: Path, *, inputs: tuple[str, ...]) -> None:
    """Trace a network into an ONNX file, batch and length dynamic."""
    import torch

    class Plain(torch.nn.Module):  # type: ignore[misc]
        """The network with positional inputs and one tensor as its output, as the exporter wants it."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *values: Any) -> Any:
            return self.network(**dict(zip(inputs, values, strict=True))).logits

    example = torch.ones((2, 8), dtype=torch.long)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing cannot do without what the exporter warns of
        torch.onnx.export(
            Plain().eval(),
            (example,) * len(inputs),
            str(path),
            input_names=list(inputs),
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "length"} for name in inputs} | {"logits": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )


def _quantize(source: Path, target: Path) -> None:
    """Weights as signed 8-bit integers, a scale a channel; activations as it runs, one range a batch."""
    send_nothing()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True)
