"""ONNX Runtime on the CPU: sessions, tokenizers, and batches that run on every core.

Measured on 2 shared cores with AVX-512 VNNI (2,000 Markdown sentences, mean 37 tokens, int8 MiniLM; sentences
a second by CPU time): batches of one length and 512 tokens 560-580, mixed lengths 512 tokens 530-550,
4,096 tokens 350-400, unsorted batches of 32 texts 55. One session for all threads is as fast as one each.
"""

from __future__ import annotations

import hashlib
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
# Of the bundled model-int8.onnx: computing it at each start would take 30 to 50 ms.
BUNDLED_SHA256 = "2b5f0f67da5239c25f31c067ab32cf1233a60e25711a9f20df884b5f1c5712c1"
BATCH_TOKENS = 512
SLOWER_FUSIONS = ["SkipLayerNormFusion"]  # as one kernel it costs an embedding 10 to 20 % (1.31, AVX-512)
REINSTALL = "Install Athena again to restore the file."


def open_session(path: Path) -> InferenceSession:
    """Open a model for the CPU: each call of `run` computes in the thread that calls it."""
    # ONNX Runtime reports its use to its maker from 1.29 on, unless this is set before its first import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER_FUSIONS
        )
    except Exception as error:  # ONNX Runtime's errors share no other base
        raise ModelUnavailable(f"Cannot load the model file '{path}': {error}.", REINSTALL) from error


@lru_cache(maxsize=8)
def open_tokenizer(path: Path, *, max_tokens: int | None) -> Tokenizer:
    """Open a tokenizer.json, once for each limit: no padding; texts are cut after `max_tokens`, if given."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the tokenizers library raises nothing finer
        raise ModelUnavailable(f"Cannot load the tokenizer '{path}': {error}.", REINSTALL) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens is not None:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def count_tokens(text: str) -> int:
    """Count a text's tokens with the bundled tokenizer, without special tokens."""
    tokenizer = open_tokenizer(BUNDLED_FOLDER / "tokenizer.json", max_tokens=None)
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def file_fingerprint(path: Path) -> str:
    """Return the SHA-256 of a model file, hexadecimal; raises `ModelUnavailable` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        problem = f"Cannot read the model file '{path}': {error.strerror or error}."
        raise ModelUnavailable(problem, "Put it back, or choose another embedding model.") from error


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def equal_length_batches(lengths: Sequence[int], *, batch_tokens: int) -> list[list[int]]:
    """Divide texts (by index) into batches of one length each, longest first; no batch needs padding.

    A batch has at most `batch_tokens` tokens, or one text. Longest first keeps the cores busy to the end.
    """
    batches: list[list[int]] = []
    longest_first = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    for length, group in groupby(longest_first, key=lengths.__getitem__):
        texts, size = list(group), max(1, batch_tokens // length)
        batches += [texts[start : start + size] for start in range(0, len(texts), size)]
    return batches


def map_batches(
    run: Callable[[list[int]], Result],
    lengths: Sequence[int],
    *,
    batch_tokens: int = BATCH_TOKENS,
    threads: int = 0,
) -> Iterator[tuple[list[int], Result]]:
    """Yield batches of texts (by index) of one length with their results, from a thread per core by default.

    After an error, or when the caller stops, batches that have not begun are dropped.
    """
    batches = equal_length_batches(lengths, batch_tokens=batch_tokens)
    if min(threads or core_count(), len(batches)) <= 1:
        yield from zip(batches, map(run, batches), strict=True)
        return
    executor = ThreadPoolExecutor(threads or core_count(), thread_name_prefix="athena-onnx")
    try:
        yield from zip(batches, executor.map(run, batches), strict=True)
    finally:
        executor.shutdown(cancel_futures=True)
