"""Every error that Athena raises on purpose.

A message says what failed, on what, and what to do. Only ``athena/`` and ``ui/`` show it; a chat stores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.redaction import redacted


class AthenaError(Exception):
    """The root: ``str(error)`` is fit to be shown to a user; ``fix`` is the advice alone, or empty.

    Neither has a password or a key in it.
    """

    def __init__(self, problem: str, fix: str = "") -> None:
        self.problem = redacted(problem)
        self.fix = redacted(fix)
        super().__init__(f"{self.problem} {self.fix}".strip())


class ConfigurationError(AthenaError):
    """A setting that cannot work."""


class StoreError(AthenaError):
    """The store cannot be read or written."""


class StoreUnavailable(StoreError):
    """A server of the store does not answer, or does not let us in."""


class DiskFull(StoreError):
    """The disk of the store is full."""


class NothingIndexed(StoreError):
    """No document was ever indexed."""


class ManifestMismatch(StoreError):
    """The index was made with another model, splitter or version."""


class MemoriesChanged(StoreError):
    """Somebody else wrote to a user's memories since they were read: read again, and decide again."""


class TurnChanged(StoreError):
    """The turn of which something was to be kept is gone, or says something else by now."""


class ErasureIncomplete(StoreError):
    """Forgotten data can no longer be found, but its bytes may still be in a file of the store."""


class UnknownDocument(StoreError):
    """No document of that source is indexed."""


class ModelError(AthenaError):
    """A model cannot be loaded or answered with an error."""


class ModelUnavailable(ModelError):
    """A model is not on disk, not installed or not reachable."""


class ModelTimeout(ModelError):
    """A model gave no answer in time."""


class UnknownConversation(AthenaError):
    """No conversation of that id is stored."""


class UnknownMemory(AthenaError):
    """The user has no memory with this id."""


class NotAllowed(AthenaError):
    """The API key lacks the right for the request."""


class DatasetError(AthenaError):
    """An evaluation folder that cannot be read."""


class UploadRefused(AthenaError):
    """An upload that breaks a rule."""


@contextmanager
def extra_for(purpose: str, extra: str) -> Iterator[None]:
    """Raise `ConfigurationError`, naming the extra to install, where an import inside the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        problem = f"{purpose} needs the package '{error.name}', which is not installed."
        raise ConfigurationError(problem, f"Install it: `pip install 'athena-docs[{extra}]'`.") from error
