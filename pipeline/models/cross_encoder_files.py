"""Where a cross-encoder's ONNX file and tokenizer come from: folder, our cache, the hub, a conversion."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Pulling
from pipeline.models.cross_encoder_export import CONVERTED_MODEL, METADATA, convert
from pipeline.models.model_lock import ModelLock

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DEFAULT_MAX_TOKENS = 512
ABOUT_MB = {"cross-encoder/ms-marco-MiniLM-L-6-v2": 24}
"""What fetching a model takes, tokenizer included, where it is published as int8 ONNX."""

CONVERSION_NEEDS = ("torch", "transformers", "onnx")
WITHOUT_IT = "Answers are good without it, too."
HOW_TO_FETCH = "Fetch it with `athena pull cross-encoder`."
HOW_TO_GET = (
    "Connect to the internet and try again, or give a folder with model.onnx and tokenizer.json in "
    f"ATHENA_CROSS_ENCODER. {WITHOUT_IT}"
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The two files of a cross-encoder, how long a pair may be, and where they were found."""

    model: Path
    tokenizer: Path
    max_tokens: int
    detail: str
    lock: ModelLock | None = None  # of a model that was fetched from the hub

    def check(self) -> None:
        """Raise `ModelUnavailable` where the files are not those that were fetched first."""
        if self.lock:
            self.lock.check(self.tokenizer.parent)

    def open_tokenizer(self) -> Tokenizer:
        """The tokenizer, cutting pairs to length."""
        from pipeline.models.onnx import open_tokenizer

        return open_tokenizer(self.tokenizer, max_tokens=self.max_tokens)


def find_files(name: str, *, model_cache: Path | None) -> ModelFiles:
    """The files of a cross-encoder that are on disk; raises `ModelUnavailable` with what to do.

    Nothing is downloaded and nothing is converted: `fetch_files` does that, where somebody asked for it.
    """
    from pipeline.models.hub import lock_of, on_disk

    folder = Path(name).expanduser()
    published = folder if folder.is_dir() else on_disk(name)
    found = (files_in(published) if published else None) or converted(_target(name, model_cache))
    if found and published and not folder.is_dir():
        found = replace(found, lock=lock_of(name))
    if found is None:
        raise ModelUnavailable(f"The cross-encoder '{name}' is not on disk.", f"{HOW_TO_FETCH} {WITHOUT_IT}")
    return found


def fetch_files(
    name: str, *, model_cache: Path | None, on_progress: Callable[[Pulling], None] | None = None
) -> ModelFiles:
    """The same files, from the hub or converted by torch where they are not on disk. May take minutes.

    Raises:
        ModelUnavailable: neither is possible; says why.
    """
    from pipeline.models.hub import download

    try:
        found = find_files(name, model_cache=model_cache)
    except ModelUnavailable:
        found = None
    if found:
        found.check()
        return found
    is_folder = Path(name).expanduser().is_dir()
    if not is_folder and download(name, preferred=list(preferred_files()), on_progress=on_progress):
        return find_files(name, model_cache=model_cache)
    return _convert(name, _target(name, model_cache))


def _target(name: str, model_cache: Path | None) -> Path:
    """Where the conversion of a model is kept."""
    cache = (model_cache or platformdirs.user_cache_path("athena")) / "cross-encoders"
    folder = Path(name).expanduser()
    return cache / (_folder_key(folder) if folder.is_dir() else name.replace("/", "--"))


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
            f"Delete that folder. {HOW_TO_FETCH}",
        ) from error
    return ModelFiles(
        target / CONVERTED_MODEL,
        target / "tokenizer.json",
        int(metadata["max_tokens"]),
        f"int8 ONNX in {target}",
    )


def _convert(name: str, target: Path) -> ModelFiles:
    if any(importlib.util.find_spec(package) is None for package in CONVERSION_NEEDS):
        raise ModelUnavailable(
            f"The cross-encoder '{name}' is not published as ONNX or not reachable, "
            "and converting it needs torch.",
            f"{HOW_TO_GET} Or convert it: pip install 'athena-docs[hf]'",
        )
    convert(name, target)
    found = converted(target)
    if found is None:
        raise ModelUnavailable(f"The conversion of '{name}' left nothing in '{target}'.", HOW_TO_GET)
    return found


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
