"""A torch network as an int8 ONNX file; torch is imported only here, when it is called."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

from pipeline.models.onnx import send_nothing

OPSET = 17


def export(network: Any, path: Path, *, inputs: tuple[str, ...], output: tuple[str, int]) -> None:
    """Trace a network into an ONNX file, batch and length dynamic.

    `output` is the name of the network's output, and how many of its axes (batch, length) are dynamic.
    """
    import torch

    class Plain(torch.nn.Module):  # type: ignore[misc]
        """The network with positional inputs and one tensor as its output, as the exporter wants it."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *values: Any) -> Any:
            return self.network(**dict(zip(inputs, values, strict=True)))[output[0]]

    example = torch.ones((2, 8), dtype=torch.long)
    axes = {0: "batch", 1: "length"}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing cannot do without what the exporter warns of
        torch.onnx.export(
            Plain().eval(),
            (example,) * len(inputs),
            str(path),
            input_names=list(inputs),
            output_names=[output[0]],
            dynamic_axes=dict.fromkeys(inputs, axes) | {output[0]: dict(list(axes.items())[: output[1]])},
            opset_version=OPSET,
            dynamo=False,
        )


def quantize(source: Path, target: Path) -> None:
    """Weights as signed 8-bit integers, a scale a channel; activations as it runs, one range a batch."""
    send_nothing()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True)


def weights_hash(network: Any) -> str:
    """sha256 over all weights, by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
