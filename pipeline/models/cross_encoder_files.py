"""Where a cross-encoder's ONNX file and tokenizer come from: shipped, folder, our cache, hub, a conversion.

From the hub they are fetched by its own library into its own cache: at a revision of ours, or at the newest
one of then, which the cache writes down and a later fetch asks for again. The library compares what came
with the hub's hashes, and names each file in its cache by its hash: one that is not what it is called is not
opened. The first fetch trusts the hub.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Pulling
from pipeline.models.cross_encoder_export import CONVERTED_MODEL, METADATA, convert
from pipeline.models.onnx import BUNDLED_FOLDER as EMBEDDING_FOLDER

if TYPE_CHECKING:
    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

BUNDLED = "auto"
BUNDLED_NAME = "athena-cross-encoder"
BUNDLED_MODEL = EMBEDDING_FOLDER.with_name(BUNDLED_NAME) / CONVERTED_MODEL
BUNDLED_TOKENS = 96  # of a pair, as it was trained; its words are those of the bundled embedding model

REVISIONS = {"cross-encoder/ms-marco-MiniLM-L-6-v2": "c5ee24cb16019beea0893ab7796b1df96625c6b8"}
"""The commits that models are fetched at; of others it is the newest when they are first fetched."""

BESIDES = ("tokenizer.json", "tokenizer_config.json", "config.json")
LOOK_UP_S = 3.0  # without a byte
DEFAULT_MAX_TOKENS = 512
ABOUT_MB = {"cross-encoder/ms-marco-MiniLM-L-6-v2": 24}
"""What fetching a model takes, tokenizer included, where it is published as int8 ONNX."""

HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
CONVERSION_NEEDS = ("torch", "transformers", "onnx")
FETCH_AGAIN = "Delete that folder, and fetch it again with `athena pull cross-encoder`."
NOT_BUNDLED = f"The cross-encoder that comes with Athena is not there: '{BUNDLED_MODEL}' is missing."
INSTALL_AGAIN = "Install Athena again, or set ATHENA_CROSS_ENCODER=none. Until then, nothing is reranked."
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

    def check(self) -> None:
        """Raise `ModelUnavailable` where a file of the hub's cache is not the one that its name promises."""
        for path in (self.model, self.tokenizer):
            if not _is_as_named(path):
                raise _other_file(path)

    def open_tokenizer(self) -> Tokenizer:
        """The tokenizer, cutting pairs to length."""
        from pipeline.models.onnx import open_tokenizer

        return open_tokenizer(self.tokenizer, max_tokens=self.max_tokens)


def find_files(name: str, *, model_cache: Path | None) -> ModelFiles:
    """The files of a cross-encoder that are on disk; raises `ModelUnavailable` with what to do.

    Nothing is downloaded and nothing is converted: `fetch_files` does that, where somebody asked for it.
    """
    if name == BUNDLED:
        return bundled_files()
    folder = Path(name).expanduser()
    published = folder if folder.is_dir() else on_disk(name)
    found = (files_in(published) if published else None) or converted(_target(name, model_cache))
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
    if name == BUNDLED:
        return bundled_files()
    try:
        found = find_files(name, model_cache=model_cache)
    except ModelUnavailable:
        found = None
    if found:
        found.check()
        return found
    try:
        if not Path(name).expanduser().is_dir() and download(name, on_progress=on_progress):
            return find_files(name, model_cache=model_cache)
    except _Unreached as unreached:
        logger.info("the hub has nothing for us: %s", unreached.__cause__)
    return _convert(name, _target(name, model_cache))


def bundled_files() -> ModelFiles:
    """The files that come with Athena; raises `ModelUnavailable` where they do not."""
    if not BUNDLED_MODEL.is_file():
        raise ModelUnavailable(NOT_BUNDLED, INSTALL_AGAIN)
    return ModelFiles(
        BUNDLED_MODEL, EMBEDDING_FOLDER / "tokenizer.json", BUNDLED_TOKENS, "comes with Athena, no download"
    )


def is_fetched(name: str) -> bool:
    """Whether a cross-encoder of this name is one that can be fetched."""
    return name not in ("", "none", BUNDLED)


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


# -- the hub -----------------------------------------------------------------------------------------------


def on_disk(name: str) -> Path | None:
    """The folder of a model in the hub's own cache, by its tokenizer; None where it is not there."""
    if not _cached(name).is_dir():
        return None  # the rest of the library takes .3 s to import: only for what may be there
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = [
            try_to_load_from_cache(name, "tokenizer.json", revision=revision)
            for revision in (REVISIONS.get(name), None)
        ]
    except HFValidationError:  # not a name that the hub could have
        return None
    return next((Path(path).parent for path in found if isinstance(path, str)), None)


def download(name: str, *, on_progress: Callable[[Pulling], None] | None = None) -> bool:
    """Fetch the first preferred file that a model has, and its tokenizer; False where it has none.

    Raises:
        ModelUnavailable: a file is not the one that the hub says it has; nothing of it is left.
        _Unreached: the hub is not reached, is silent, or has no such model.
    """
    from huggingface_hub import HfApi, hf_hub_download

    fetched: list[Path] = []
    try:
        info = HfApi().model_info(name, revision=_revision(name), timeout=LOOK_UP_S, files_metadata=True)
        sizes = {item.rfilename: item.size or 0 for item in info.siblings or ()}
        model = next((file for file in preferred_files() if file in sizes), None)
        if model is None or "tokenizer.json" not in sizes:
            return False
        wanted = [*(file for file in BESIDES if file in sizes), model]
        bars = _bars(sum(sizes[file] for file in wanted), on_progress)
        for file in wanted:
            came = hf_hub_download(
                name, file, revision=_revision(name), etag_timeout=LOOK_UP_S, tqdm_class=bars
            )
            fetched.append(Path(came))
    except Exception as error:
        raise _Unreached from error
    if broken := next((path for path in fetched if not _is_as_named(path)), None):
        for path in fetched:  # the next look would find them
            path.resolve().unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        raise _other_file(broken)
    return True


class _Unreached(Exception):
    """The hub gave nothing; its cause says why."""


def _revision(name: str) -> str | None:
    """The commit that a model is held to: one of ours, or the first that was fetched; None before that."""
    first = _cached(name) / "refs" / "main"
    return REVISIONS.get(name) or (first.read_text(encoding="utf-8").strip() if first.is_file() else None)


def _cached(name: str) -> Path:
    """Where the hub's cache has a model's revisions."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"


def _is_as_named(path: Path) -> bool:
    """False where a file of the hub's cache is not the one that its name, a hash, promises."""
    name = path.resolve().name
    return not HASH.fullmatch(name) or name in _hashes(path.read_bytes())


def _hashes(data: bytes) -> tuple[str, str]:
    """The names that the hub's cache gives a large file and a small one, as Git has it."""
    git = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return hashlib.sha256(data).hexdigest(), git.hexdigest()


def _other_file(path: Path) -> ModelUnavailable:
    return ModelUnavailable(
        f"'{path}' is not the file that it should be: its SHA-256 is another.", FETCH_AGAIN
    )


def _bars(total: int, on_progress: Callable[[Pulling], None] | None) -> Any:
    """The class of the library's progress bars that tells us instead of drawing."""
    from tqdm import tqdm

    done = 0

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **(kwargs | {"disable": True}))

        def update(self, n: float | None = 1) -> None:
            nonlocal done
            done += int(n or 0)
            if on_progress:
                on_progress(Pulling("Fetching", done, max(total, done)))

    return Bar


# -- a conversion ------------------------------------------------------------------------------------------


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
