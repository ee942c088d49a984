"""ONNX Runtime on the CPU: one session, tokenization, and batches that are run on every core.

Measured on 2 shared cores with AVX-512 VNNI (2,000 Markdown sentences, mean 37 tokens, int8 MiniLM; sentences
a second by CPU time): batches of one length and 512 tokens 560-580, mixed lengths 512 tokens 530-550,
4,096 tokens 350-400, unsorted batches of 32 texts 55. One session that several threads call is as fast as
a session a thread (554 and 549), and keeps the weights in memory once.

NumPy is imported where it counts: naming a model, which an ingest with nothing to do does, takes none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pipeline.errors import ModelUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

TokenIds: TypeAlias = "NDArray[np.int64]"
Result = TypeVar("Result")
BUNDLED_NAME = "all-MiniLM-L6-v2"
BUNDLED_FOLDER = Path(__file__).parent / "bundled" / BUNDLED_NAME
BATCH_TOKENS = 512
SLOWER_FUSIONS = ["SkipLayerNormFusion"]
"""Optimisations of ONNX Runtime that slow a CPU down: this fused kernel is slower than its parts,
and costs an embedding 10 to 20 % (1.31, AVX-512)."""
TOKENIZE_AT_ONCE = 2048  # texts; more would only hold more of the tokenizer's large records in memory


def send_nothing() -> None:
    """Keep ONNX Runtime from sending what it runs to its maker, which it does from 1.29 on by default.

    It looks when it is first imported; a user who has set the variable is obeyed.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def open_session(path: Path) -> InferenceSession:
    """Open a model for the CPU: each call of `run` computes in the thread that calls it."""
    send_nothing()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER_FUSIONS
        )
    except Exception as error:  # ONNX Runtime's errors share no other base
        raise ModelUnavailable(
            f"Cannot load the model file '{path}': {error}.", "Delete it and get it again."
        ) from error


def open_tokenizer(path: Path, *, max_tokens: int | None) -> Tokenizer:
    """Open a tokenizer.json without padding; it cuts off after `max_tokens`, if given."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the tokenizers library raises nothing finer
        raise ModelUnavailable(
            f"Cannot load the tokenizer '{path}': {error}.", "Delete it and get it again."
        ) from error
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def file_fingerprint(path: Path) -> str:
    """The SHA-256 of a model file, hexadecimal; raises `ModelUnavailable` where it cannot be read.

    Reading the bundled model takes 30 to 50 ms, which every start of the program would pay: `FILE.json`
    beside it has its size and its hash, and counts while the file has that size.
    """
    try:
        note = path.with_name(f"{path.name}.json")
        if note.is_file():
            known = json.loads(note.read_text(encoding="utf-8"))
            if known["bytes"] == path.stat().st_size:
                return str(known["sha256"])
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(
            f"Cannot read the model file '{path}': {error.strerror or error}.",
            "Put it back, or choose another embedding model.",
        ) from error


def core_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def equal_length_batches(lengths: Sequence[int], *, batch_tokens: int = BATCH_TOKENS) -> list[list[int]]:
    """Divide texts (by index) into batches of one length each, longest first; no batch needs padding.

    A batch has at most `batch_tokens` tokens, or one text. Longest first keeps the cores busy to the end.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        last = batches[-1] if batches else []
        length = lengths[index]
        if last and lengths[last[0]] == length and (len(last) + 1) * length <= batch_tokens:
            last.append(index)
        else:
            batches.append([index])
    return batches


def map_batches(
    run: Callable[[list[int]], Result], batches: Sequence[list[int]], *, threads: int
) -> Iterator[tuple[list[int], Result]]:
    """Yield each batch with its result, as they finish; batches not yet begun are dropped on an error."""
    if min(threads, len(batches)) <= 1:
        yield from ((batch, run(batch)) for batch in batches)
        return
    executor = ThreadPoolExecutor(min(threads, len(batches)), thread_name_prefix="athena-onnx")
    try:
        futures: dict[Future[Result], list[int]] = {executor.submit(run, batch): batch for batch in batches}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> list[TokenIds]:
    """Token ids of each text, special tokens included; the Rust threads share the work."""
    import numpy as np

    ids: list[TokenIds] = []
    for start in range(0, len(texts), TOKENIZE_AT_ONCE):
        encodings = tokenizer.encode_batch_fast(list(texts[start : start + TOKENIZE_AT_ONCE]))
        ids.extend(np.array(encoding.ids, dtype=np.int64) for encoding in encodings)
    return ids


def model_inputs(
    session: InferenceSession, ids: NDArray[np.int64], *, types: NDArray[np.int64] | None = None
) -> dict[str, Any]:
    """The inputs that a BERT-like model asks for, of a batch without padding: shape (texts, length)."""
    import numpy as np

    values = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids) if types is None else types,
    }
    wanted = {put.name for put in session.get_inputs()}
    return {name: value for name, value in values.items() if name in wanted}
