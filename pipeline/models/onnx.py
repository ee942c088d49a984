"""ONNX Runtime on the CPU: sessions, tokenizers, and batches that run on every core.

CPU time on 2 shared cores with AVX-512 VNNI (Markdown sentences, mean 37 to 53 tokens, int8 MiniLM): batches
of 384 tokens and one length are 2 % faster than batches of 256 or 512 tokens; mixed lengths are 5 % slower,
4,096 tokens take 1.5 times as long, unsorted batches of 32 texts 10 times. All threads share one session.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import ModelUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

Result = TypeVar("Result")
BUNDLED_NAME = "all-MiniLM-L6-v2"
BUNDLED_FOLDER = Path(__file__).parent / "bundled" / BUNDLED_NAME
# SHA-256 of model-int8.onnx; computing it at each start would take 30 to 50 ms.
BUNDLED_SHA256 = "9c5739c6e27c7834a772a917659b762675ec40d142a9a984fabf426114483cd6"
BATCH_TOKENS = 384
# Cores that this process may use.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SLOWER_FUSIONS = ["SkipLayerNormFusion"]  # as one kernel it costs an embedding 10 to 20 % (1.31, AVX-512)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise every error in the block as a `ModelUnavailable` that names the file."""
    try:
        yield
    except Exception as error:  # errors of ONNX Runtime and tokenizers have no other common base
        fix = "Put it back, or install Athena again if it came with Athena."
        raise ModelUnavailable(f"Cannot load the model file '{path}': {error}.", fix) from error


@lru_cache(maxsize=4)
def open_session(path: Path) -> InferenceSession:
    """Load a model for the CPU, once; `run` computes in the calling thread. Raises `ModelUnavailable`."""
    # From 1.29 on, ONNX Runtime sends usage data to its maker unless this is set before its first import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    with _reading(path):
        return InferenceSession(str(path), options, providers=providers, disabled_optimizers=SLOWER_FUSIONS)


@lru_cache(maxsize=8)
def open_tokenizer(folder: Path = BUNDLED_FOLDER, *, max_tokens: int | None) -> Tokenizer:
    """Load a tokenizer.json, once per limit: it never pads, and cuts texts to `max_tokens` (None: never)."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    with _reading(path):
        tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens is not None:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def map_batches(
    run: Callable[[list[int]], Result], lengths: Sequence[int], *, batch_tokens: int = BATCH_TOKENS
) -> Iterator[tuple[list[int], Result]]:
    """Divide texts into batches, and yield (indexes of the texts, `run` of them), longest texts first.

    `lengths` are the texts' token counts. The texts of a batch have the same length, so none is padded, and
    together at most `batch_tokens`, unless one text has more. One thread per core runs the batches. After an
    error, or when the caller stops, batches that have not begun are dropped.
    """
    batches: list[list[int]] = []
    longest_first = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    for length, group in groupby(longest_first, key=lengths.__getitem__):
        texts, size = list(group), max(1, batch_tokens // length)
        batches += [texts[start : start + size] for start in range(0, len(texts), size)]
    if len(batches) == 1:  # it needs no thread
        yield batches[0], run(batches[0])
        return
    executor = ThreadPoolExecutor(CORES, thread_name_prefix="athena-onnx")
    try:
        yield from zip(batches, executor.map(run, batches), strict=True)
    finally:
        executor.shutdown(cancel_futures=True)
