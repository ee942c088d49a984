"""The Hugging Face hub: what its cache on disk has, and what can be fetched, without ever stalling."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Pulling
from pipeline.models.model_lock import ModelLock, read_lock, sha256, write_lock

if TYPE_CHECKING:
    from huggingface_hub import HfApi

logger = logging.getLogger(__name__)

LOOK_UP_S = 3.0  # in all, with the name lookup, which HTTP timeouts do not limit
DOWNLOAD_S = 600.0
REVISIONS = {
    "cross-encoder/ms-marco-MiniLM-L-6-v2": "c5ee24cb16019beea0893ab7796b1df96625c6b8",
}
"""The commits that models are fetched at; of others it is the newest when they are first fetched."""

BESIDES = ("tokenizer.json", "tokenizer_config.json", "config.json")
Found = TypeVar("Found")


def on_disk(name: str) -> Path | None:
    """The folder of a model in the hub's own cache, by its tokenizer; None where it is not there."""
    if not model_folder(name).is_dir():
        return None  # the rest of the library takes .3 s to import: only for what may be there
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    lock = lock_of(name)
    try:
        path = try_to_load_from_cache(name, "tokenizer.json", revision=lock.revision if lock else None)
    except HFValidationError:  # not a name that the hub could have
        return None
    return Path(path).parent if isinstance(path, str) else None


def model_folder(name: str) -> Path:
    """Where the hub's cache has a model's revisions."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"


def lock_of(name: str) -> ModelLock | None:
    """Which files `download` found first; None for a model that it did not fetch."""
    return read_lock(model_folder(name))


def download(
    name: str,
    *,
    preferred: Sequence[str],
    endpoint: str | None = None,
    on_progress: Callable[[Pulling], None] | None = None,
) -> Path | None:
    """Fetch the first preferred file that a model has, and its tokenizer; the folder, or None.

    Raises:
        ModelUnavailable: a file is not the one that was fetched before, or that the hub says it has.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return None
    from huggingface_hub import HfApi  # before the clock starts: importing takes seconds on a busy machine

    api = HfApi(endpoint=endpoint)
    lock = lock_of(name)
    revision = lock.revision if lock else REVISIONS.get(name)
    listing = _within(LOOK_UP_S, lambda: _listed(api, name, revision))
    model = next((file for file in preferred if file in (listing.files if listing else ())), None)
    if listing is None or model is None or "tokenizer.json" not in listing.files:
        return None
    wanted = [*(file for file in BESIDES if file in listing.files), model]
    bars = _bars(sum(listing.files[file].size for file in wanted), on_progress)
    folder = _within(DOWNLOAD_S, lambda: _fetched(api, name, wanted, listing.revision, bars))
    if folder is not None:
        _lock(name, folder, wanted, listing, lock)
    return folder


@dataclass(frozen=True, slots=True)
class _File:
    size: int  # bytes; 0 = the hub does not say
    sha256: str  # "" = the hub does not say: it does of large files


@dataclass(frozen=True, slots=True)
class _Listing:
    """What the hub has of a model at one revision."""

    revision: str
    files: Mapping[str, _File]


def _listed(api: HfApi, name: str, revision: str | None) -> _Listing:
    info = api.model_info(name, revision=revision, timeout=LOOK_UP_S, files_metadata=True)
    files = {
        item.rfilename: _File(item.size or 0, item.lfs.sha256 if item.lfs else "")
        for item in info.siblings or ()
    }
    return _Listing(info.sha or revision or "main", files)


def _fetched(api: HfApi, name: str, files: Sequence[str], revision: str, bars: Any) -> Path:
    paths = [
        api.hf_hub_download(name, file, revision=revision, etag_timeout=LOOK_UP_S, tqdm_class=bars)
        for file in files
    ]
    return Path(paths[0]).parent


def _lock(name: str, folder: Path, files: Sequence[str], listing: _Listing, known: ModelLock | None) -> None:
    """Compare what came with what was promised and with what came before, and write it down."""
    promised = {file: listing.files[file].sha256 for file in files if listing.files[file].sha256}
    for lock in (ModelLock(listing.revision, promised), known):
        if lock:
            _keep_if(lock, {file: folder / file for file in files}, folder)
    found = {file: sha256(folder / file) for file in files}
    write_lock(model_folder(name), ModelLock(listing.revision, {**(known.files if known else {}), **found}))


def _keep_if(lock: ModelLock, files: Mapping[str, Path], folder: Path) -> None:
    """Leave nothing of files that are not what they should be: the next look would find them."""
    try:
        lock.check(folder, files)
    except ModelUnavailable:
        for path in files.values():
            path.resolve().unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        raise


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


def _within(seconds: float, look: Callable[[], Found]) -> Found | None:
    """What a look at the network finds; None when it fails or takes too long (its thread is left behind)."""
    found: list[Found] = []

    def run() -> None:
        try:
            found.append(look())
        except Exception as error:  # noqa: BLE001 - whatever the network does, the answer is "not found"
            logger.info("the hub has nothing for us: %s", error)

    thread = threading.Thread(target=run, name="athena-hub", daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None
