"""The Hugging Face hub: what its cache on disk has, and what can be fetched, without ever stalling."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from huggingface_hub import HfApi

logger = logging.getLogger(__name__)

LOOK_UP_S = 3.0  # in all, with the name lookup, which HTTP timeouts do not limit
DOWNLOAD_S = 300.0
BESIDES = ("tokenizer.json", "tokenizer_config.json", "config.json")
Found = TypeVar("Found")


def on_disk(name: str) -> Path | None:
    """The folder of a model in the hub's own cache, by its tokenizer; None where it is not there."""
    from huggingface_hub.constants import HF_HUB_CACHE

    if not (Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}").is_dir():
        return None  # the rest of the library takes .3 s to import: only for what may be there
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(name, "tokenizer.json")
    except HFValidationError:  # not a name that the hub could have
        return None
    return Path(path).parent if isinstance(path, str) else None


def download(name: str, *, preferred: Sequence[str], endpoint: str | None = None) -> Path | None:
    """Fetch the first preferred file that a model has, and its tokenizer; the folder, or None."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return None
    from huggingface_hub import HfApi  # before the clock starts: importing takes seconds on a busy machine

    api = HfApi(endpoint=endpoint)
    files = _within(LOOK_UP_S, lambda: _listed(api, name))
    model = next((file for file in preferred if file in (files or ())), None)
    if files is None or model is None or "tokenizer.json" not in files:
        return None
    wanted = [file for file in BESIDES if file in files]
    return _within(DOWNLOAD_S, lambda: _fetched(api, name, [*wanted, model]))


def _listed(api: HfApi, name: str) -> set[str]:
    info = api.model_info(name, timeout=LOOK_UP_S)
    return {sibling.rfilename for sibling in info.siblings or ()}


def _fetched(api: HfApi, name: str, files: Sequence[str]) -> Path:
    paths = [api.hf_hub_download(name, file, etag_timeout=LOOK_UP_S) for file in files]
    return Path(paths[0]).parent


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
