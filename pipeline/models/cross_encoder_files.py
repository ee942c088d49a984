"""Where a cross-encoder's ONNX file and tokenizer come from: folder, our cache, the hub, a conversion."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from pipeline.errors import ModelUnavailable
from pipeline.models.cross_encoder_export import CONVERTED_MODEL, METADATA, convert

if TYPE_CHECKING:
    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

DEFAULT_MAX_TOKENS = 512
CONVERSION_NEEDS = ("torch", "transformers", "onnx")
LOOK_AGAIN_AFTER_S = 3600.0
HOW_TO_GET = (
    "Connect to the internet once, or give a folder with model.onnx and tokenizer.json in "
    "ATHENA_CROSS_ENCODER; answers are good without it, too."
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The two files of a cross-encoder, how long a pair may be, and where they were found."""

    model: Path
    tokenizer: Path
    max_tokens: int
    detail: str

    def open_tokenizer(self) -> Tokenizer:
        """The tokenizer, cutting pairs to length."""
        from pipeline.models.onnx import open_tokenizer

        return open_tokenizer(self.tokenizer, max_tokens=self.max_tokens)


def find_files(name: str, *, model_cache: Path | None, fetch: bool = True, retry: bool = False) -> ModelFiles:
    """The files of a cross-encoder; raises `ModelUnavailable` with the reason and what to do.

    Without `fetch` only what is on disk counts: nothing is downloaded and nothing is converted.
    """
    cache = (model_cache or platformdirs.user_cache_path("athena")) / "cross-encoders"
    folder = Path(name).expanduser()
    if folder.is_dir():
        return files_in(folder) or _converted_or_convert(name, cache / _folder_key(folder))
    target = cache / name.replace("/", "--")
    if not fetch:
        return _on_disk(name, target)
    found = converted(target) or _from_hub(name, cache=cache, retry=retry)
    return found or _converted_or_convert(name, target)


def _on_disk(name: str, target: Path) -> ModelFiles:
    from pipeline.models.hub import on_disk

    folder = on_disk(name)
    found = converted(target) or (files_in(folder) if folder else None)
    if found is None:
        raise ModelUnavailable(
            f"The cross-encoder '{name}' is not on disk.",
            "`athena doctor` and `athena serve` fetch it where they can; answers are good without it, too.",
        )
    return found


def files_in(folder: Path) -> ModelFiles | None:
    """The files of a model published as ONNX, in its folder; None where the folder has none."""
    tokenizer = folder / "tokenizer.json"
    model = next((folder / file for file in preferred_files() if (folder / file).is_file()), None)
    model = model or next(iter(sorted(folder.glob("onnx/model*.onnx"))), None)
    if model is None or not tokenizer.is_file():
        return None
    return ModelFiles(model, tokenizer, _max_tokens(folder), f"{model.name} in {folder}")


def preferred_files() -> Iterator[str]:
    """Names of published ONNX files, the fastest for this machine first."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        yield "onnx/model_qint8_arm64.onnx"
    else:
        if _has_vnni():
            yield "onnx/model_qint8_avx512_vnni.onnx"
        yield "onnx/model_quint8_avx2.onnx"  # weights of 7 bits: without VNNI, 8 would overflow
    yield from ("onnx/model_int8.onnx", "model-int8.onnx", "onnx/model.onnx", "model.onnx")


def converted(target: Path) -> ModelFiles | None:
    """The files of a model that was converted before; None where it was not."""
    try:
        metadata = json.loads((target / METADATA).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"Cannot read the converted model in '{target}': {error}.",
            "Delete that folder; it is made again.",
        ) from error
    return ModelFiles(
        target / CONVERTED_MODEL,
        target / "tokenizer.json",
        int(metadata["max_tokens"]),
        f"int8 ONNX in {target}",
    )


def _converted_or_convert(name: str, target: Path) -> ModelFiles:
    found = converted(target)
    if found:
        return found
    if any(importlib.util.find_spec(package) is None for package in CONVERSION_NEEDS):
        raise ModelUnavailable(
            f"The cross-encoder '{name}' is not on disk, not published as ONNX or not reachable, "
            "and converting it needs torch.",
            f"{HOW_TO_GET} Or convert it: pip install 'athena-docs[hf]'",
        )
    convert(name, target)
    found = converted(target)
    if found is None:
        raise ModelUnavailable(f"The conversion of '{name}' left nothing in '{target}'.", HOW_TO_GET)
    return found


def _from_hub(name: str, *, cache: Path, retry: bool) -> ModelFiles | None:
    """The model from the hub's cache on disk, or from the hub; None where neither has it.

    A failed look at the hub is remembered on disk, so that a machine without a network is not slowed down
    at every start.
    """
    from pipeline.models.hub import download, on_disk

    folder = on_disk(name)
    if folder and (found := files_in(folder)):
        return found
    failure = cache / f"{name.replace('/', '--')}.not-found"
    if not retry and failure.is_file() and time.time() - failure.stat().st_mtime < LOOK_AGAIN_AFTER_S:
        return None
    folder = download(name, preferred=list(preferred_files()))
    if folder is None:
        failure.parent.mkdir(parents=True, exist_ok=True)
        failure.touch()
        return None
    failure.unlink(missing_ok=True)
    return files_in(folder)


def _folder_key(folder: Path) -> str:
    """A name for a folder's conversion that changes when its weights do."""
    weights = sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")])
    stamp = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in weights]
    digest = hashlib.sha256(json.dumps([str(folder.resolve()), stamp]).encode()).hexdigest()
    return f"{folder.resolve().name}-{digest[:12]}"


def _max_tokens(folder: Path) -> int:
    """The longest pair that the model takes, by its configuration files."""
    limits = [
        _number(folder / "tokenizer_config.json", "model_max_length"),
        _number(folder / "config.json", "max_position_embeddings"),
    ]
    return min((limit for limit in limits if 0 < limit < 1_000_000), default=DEFAULT_MAX_TOKENS)


def _number(path: Path, key: str) -> int:
    """A whole number in a JSON file; 0 where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8")).get(key)
    except (OSError, ValueError):
        return 0
    return int(value) if isinstance(value, int | float) else 0


def _has_vnni() -> bool:
    """True where the processor multiplies 8-bit integers without overflow (Linux says so)."""
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
