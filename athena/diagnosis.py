"""The checks of `athena doctor`: each says what it found, and how to fix it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from athena.reading import language_warning
from pipeline.errors import AthenaError
from pipeline.models.base import ModelChoice
from pipeline.stores.base import check_manifest
from pipeline.words import counted

if TYPE_CHECKING:
    from athena.assistant import Athena

RESTORE = "Put back a backup. Without one, index again in a new folder with `athena ingest FOLDER`."


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; `fix` may have advice even if `ok` is true."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The results of all checks; `ok` is true if every check is."""

    ok: bool
    checks: tuple[Check, ...]


def diagnose(athena: Athena) -> Diagnosis:
    """Run every check; an `AthenaError` fails only the check that raised it."""
    models = athena.models
    steps: dict[str, Callable[[], Check]] = {
        "python": lambda: Check("python", True, ".".join(map(str, sys.version_info[:3]))),
        "data folder": lambda: Check("data folder", True, str(athena.settings.data_dir.resolve())),
        "store": lambda: _store(athena),
        "index": lambda: _index(athena),
        "embedding works": lambda: _embedding(athena),
        "embedding": lambda: _model(models.encoder()[1]),
        "cross-encoder": lambda: _model(models.cross_encoder()[1]),
        "language model": lambda: _model(models.language_model()[1]),
    }
    if athena.settings.phoenix_url:
        tracer = athena.components.tracer
        steps["tracing"] = lambda: Check("tracing", tracer() is not None, "each turn is exported")
    checks = tuple(_run(name, step) for name, step in steps.items())
    return Diagnosis(all(check.ok for check in checks), checks)


def _run(name: str, step: Callable[[], Check]) -> Check:
    try:
        return step()
    except AthenaError as error:
        return Check(name, False, error.problem, error.fix)


def _store(athena: Athena) -> Check:
    """Check the store: return the servers' versions, or the damage that SQLite finds in the file."""
    if athena.settings.store == "server":
        from pipeline.stores.server import ServerStore

        assert isinstance(athena.store, ServerStore)  # noqa: S101  (the settings chose it)
        mongodb, weaviate = athena.store.versions()
        return Check("store", True, f"MongoDB {mongodb}, Weaviate {weaviate}")
    from pipeline.stores.embedded import EmbeddedStore

    assert isinstance(athena.store, EmbeddedStore)  # noqa: S101  (the settings chose it)
    damage = athena.store.database.check()
    return Check("store", not damage, "; ".join(damage) or "the file is whole", RESTORE if damage else "")


def _index(athena: Athena) -> Check:
    """Check the index: return its size, and advice on languages unknown to the embedding model."""
    store = athena.store
    statistics, documents = store.statistics(), store.documents()
    stored = statistics.manifest
    if stored is None or not documents:
        return Check("index", False, "nothing is indexed", "Index a folder with `athena ingest FOLDER`.")
    check_manifest(stored, athena.manifest)
    if waiting := sum(not info.indexed_at for info in documents):
        detail = f"a rebuild was interrupted: {counted(waiting, 'document')} cannot be found"
        return Check("index", False, detail, "Go on with `athena ingest FOLDER`.")
    counts = {
        "document": len(documents),
        "section": sum(info.sections for info in documents),
        "sentence": statistics.sentences,
    }
    detail = ", ".join(counted(number, noun) for noun, number in counts.items())
    advice = " ".join(language_warning(statistics.languages, athena.models))
    return Check("index", True, f"{detail}, embedded with {stored.embedding_model}", advice)


def _embedding(athena: Athena) -> Check:
    vector = athena.encoder.encode_query("Does it work?")
    return Check("embedding works", True, f"{athena.encoder.name} gave {len(vector)} dimensions")


def _model(choice: ModelChoice) -> Check:
    detail = f"{choice.name} ({choice.provider}): {choice.detail}" if choice.name else choice.detail
    # Athena works without a cross-encoder or a language model, if less well: advice, not a fault.
    return Check(choice.role, True, detail, choice.fix)
