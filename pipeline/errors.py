"""Every error that Athena raises on purpose.

A message says what failed, on what, and what to do. Only ``athena/``, ``doors/`` and ``ui/`` show messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.redaction import redacted


class AthenaError(Exception):
    """The root: ``str(error)``, the problem and the fix, can be shown to users; ``fix`` may be "".

    Known passwords and keys are removed from both.
    """

    def __init__(self, problem: str, fix: str = "") -> None:
        self.problem = redacted(problem)
        self.fix = redacted(fix)
        super().__init__(f"{self.problem} {self.fix}".strip())


class ConfigurationError(AthenaError):
    """A setting has a value that cannot work, or needs a package that is not installed."""


class StoreError(AthenaError):
    """The store cannot be read or written."""


class StoreUnavailable(StoreError):
    """A server of the store does not answer, or refuses the login."""


class DiskFull(StoreError):
    """The disk that holds the store or the uploads is full."""


class NothingIndexed(StoreError):
    """No document was ever indexed."""


class ManifestMismatch(StoreError):
    """The index was made with another embedding model or version of Athena."""


class MemoriesChanged(StoreError):
    """Another process changed a user's memories after they were read: read them again and retry."""


class TurnChanged(StoreError):
    """The turn that new memories come from was deleted in the meantime."""


class ErasureIncomplete(StoreError):
    """Deleted data can no longer be found, but its bytes may still be in a file of the store."""


class UnknownDocument(StoreError):
    """No document with this source is indexed."""


class ModelError(AthenaError):
    """A model cannot be loaded, or its answer is an error or unusable."""


class ModelUnavailable(ModelError):
    """A model is not on disk, not installed or not reachable."""


class ModelTimeout(ModelError):
    """A model did not answer, or did not finish, in time."""


class UnknownConversation(AthenaError):
    """This conversation or turn is not stored, or belongs to another user."""


class UnknownMemory(AthenaError):
    """The user has no memory with this id."""


class NotAllowed(AthenaError):
    """The API key does not have the right that the request needs."""


class DatasetError(AthenaError):
    """Evaluation data are missing, cannot be read, or already exist."""


class UploadRefused(AthenaError):
    """An uploaded file has a bad name or type, is too large, or cannot be saved or indexed."""


@contextmanager
def extra_for(purpose: str, extra: str) -> Iterator[None]:
    """Raise `ConfigurationError` with the extra to install if an import in the block finds no package."""
    try:
        yield
    except ModuleNotFoundError as error:
        problem = f"{purpose} needs the package '{error.name}', which is not installed."
        raise ConfigurationError(problem, f"Install it: `pip install 'athena-docs[{extra}]'`.") from error
